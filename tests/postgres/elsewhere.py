"""A plugin of pytest for suites that were written for files: each test has names of homes to itself.

A test that writes or lists files of a home by itself plays a person with an editor, which only a folder can have; it
is skipped at that moment.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

OWNER_URL = "MEMFOLIO_TEST_OWNER_URL"
HANDS = ("open", "os.mkdir", "os.listdir", "os.scandir", "os.rename", "os.remove", "os.utime", "os.chmod", "os.symlink")
"""The events of Python's audit that tell of a file."""
HOME = re.compile(r"(home(-.*)?|agents|audit|shared|memfolio\.toml|\.memfolio|\.git)\Z")
"""What the folder of a home is called in most tests, and what lies in it."""
TESTS = str(Path(__file__).parents[1])
BETWEEN = ("pathlib.py", "shutil.py", "os.py", "<frozen os>")
"""Code between a test and the event."""
_playing = False


@pytest.fixture(scope="session")
def owner() -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(os.environ[OWNER_URL], autocommit=True) as conn:
        yield conn


@pytest.fixture(autouse=True, scope="module")
def cleared_module(owner: psycopg.Connection[Any]) -> Iterator[None]:
    yield
    rename(owner, [])


@pytest.fixture(autouse=True)
def cleared(owner: psycopg.Connection[Any]) -> Iterator[None]:
    """Give other names to the homes of a test; those that all tests of a module share were made before this."""
    global _playing
    kept = [home for (home,) in owner.execute("SELECT home FROM memfolio.homes").fetchall()]
    _playing = True
    yield
    _playing = False
    rename(owner, kept)


def rename(owner: psycopg.Connection[Any], kept: list[int]) -> None:
    """Homes are told apart by the last part of their path, which many tests have in common."""
    sql = "UPDATE memfolio.homes SET name = name || '#' || home WHERE home <> ALL(%s) AND name NOT LIKE '%%#%%'"
    owner.execute(sql, [kept])


def watch(event: str, args: tuple[Any, ...]) -> None:
    if not _playing or event not in HANDS or not isinstance(args[0], str | os.PathLike):
        return
    path = Path(os.fsdecode(args[0]))
    if tempfile.gettempdir() not in str(path) or not any(map(HOME.match, path.parts)):
        return
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.endswith(BETWEEN):
        frame = frame.f_back
    if frame.f_code.co_filename.startswith(TESTS):
        pytest.skip("touches files of the home by hand")


def pytest_configure() -> None:
    sys.addaudithook(watch)
