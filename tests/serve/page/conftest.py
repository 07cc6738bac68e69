"""One home, one server and one browser for all tests of a module.

Not for all tests: a browser that is open keeps others of the same process from running event loops of their own.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from memfolio.memory import Memory
from tests.serve.page.browser import CHROMIUM, MISSING, Site, Watched, chromium, served, signed_in
from tests.serve.page.hostile import FEW, LEAD
from tests.serve.page.world import furnish


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """The page over a home of some forty memories, of which ten are hostile."""
    folder = Path(tempfile.mkdtemp(prefix="memfolio-page-"))
    before = os.environ.get("MEMFOLIO_CACHE")
    os.environ["MEMFOLIO_CACHE"] = str(folder / "cache")
    try:
        furnish(folder / "home")
        with Memory.open(folder / "home", background=False, speaker="owner") as memory:
            for text in FEW:
                memory.remember(text, tags=[LEAD])
        with served(folder / "home") as site:
            yield site
    finally:
        os.environ.pop("MEMFOLIO_CACHE")
        if before is not None:
            os.environ["MEMFOLIO_CACHE"] = before
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def cache(site: Site) -> Path:
    """The cache of the shared home, in place of one for each test."""
    return Path(os.environ["MEMFOLIO_CACHE"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        if os.environ.get("MEMFOLIO_TEST_PAGE"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with chromium() as browser:
        yield browser


@pytest.fixture
def tab(browser: Browser, site: Site) -> Iterator[Page]:
    """A tab of somebody who is signed in; whatever it does that it should not fails the test."""
    with signed_in(browser, site) as (page, watched):
        yield page
        check_quiet(watched)


def check_quiet(watched: Watched) -> None:
    assert watched.troubles == []
