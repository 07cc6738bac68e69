"""A running page, and a real browser that looks at it: Chromium on the path or in `$CHROMIUM`."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, sync_playwright

from memfolio.config import load_config
from memfolio.memory import Memory
from memfolio.serve.http.server import listen, server_of
from memfolio.serve.page.app import LIMITS, OwnerPage
from memfolio.serve.page.launch import Address
from memfolio.serve.page.session import COOKIE
from tests.serve.http.conftest import in_thread

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
MISSING = "no browser: install Chromium (Debian: apt install chromium), or name one in $CHROMIUM"


@dataclass(kw_only=True)
class Site:
    """A page that is served, and how to come in."""

    home: Path
    page: OwnerPage
    address: Address

    @property
    def origin(self) -> str:
        return f"http://{self.address.hosts[0]}"

    def link(self, page: str = "", agent: str = "main") -> str:
        return f"{self.origin}/enter?agent={agent}&page={page}#{self.page.board.add_key()}"

    def session(self) -> str:
        """A cookie for a key, as the page's script gets it; that the script does so has a test of its own."""
        headers = {"host": self.address.hosts[0], "origin": self.origin, "sec-fetch-site": "same-origin"}
        url = f"http://127.0.0.1:{self.address.port}/enter"
        answer = httpx.post(url, content=self.page.board.add_key(), headers=headers, timeout=30)
        return answer.cookies[COOKIE]

    def url(self, path: str, agent: str = "main") -> str:
        return f"{self.origin}/a/{agent}/{path}"

    @contextmanager
    def memory(self, agent: str = "main") -> Iterator[Memory]:
        """The same home, as another process of the owner has it."""
        with Memory.open(self.home, agent, background=False, speaker="owner") as memory:
            yield memory


@contextmanager
def served(home: Path) -> Iterator[Site]:
    """The page of a home, served as long as this lasts."""
    with listen("127.0.0.1", 0) as door:
        address = Address(pid=0, port=door.getsockname()[1], name=f"mf-{secrets.token_hex(4)}")
        page = OwnerPage(load_config(home), address)
        with in_thread(server_of(page.app, LIMITS, page.end_streams), door):
            yield Site(home=home, page=page, address=address)


@dataclass
class Watched:
    """What a browser does that it should not: messages, reports, and requests to anybody else."""

    origin: str
    troubles: list[str] = field(default_factory=list)

    def watch(self, tab: Page) -> None:
        tab.on("console", lambda message: self._note(message.type in ("error", "warning"), f"console: {message.text}"))
        tab.on("pageerror", lambda error: self._note(True, f"error: {error}"))
        tab.on("dialog", self._dismiss)
        tab.on("request", lambda request: self._note(not self._is_ours(request.url), f"request: {request.url}"))
        tab.on("popup", lambda popup: self._note(True, f"popup: {popup.url}"))

    def _dismiss(self, dialog: Dialog) -> None:
        self._note(True, f"dialog: {dialog.message}")
        dialog.dismiss()

    def _is_ours(self, url: str) -> bool:
        return url.startswith((f"{self.origin}/", "about:blank"))

    def _note(self, is_trouble: bool, what: str) -> None:
        expected = ("status of 409", "status of 404", "status of 401", "status of 403", "status of 422")
        if is_trouble and not any(each in what for each in expected):
            self.troubles.append(what)


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def signed_in(browser: Browser, site: Site, **options: Any) -> Iterator[tuple[Page, Watched]]:
    """A tab that came in with a key, and what is wrong with what it did."""
    settings: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", **options}
    context: BrowserContext = browser.new_context(**settings)
    context.set_default_timeout(10_000)
    try:
        cookie = {"name": COOKIE, "value": site.session(), "url": site.origin, "httpOnly": True, "sameSite": "Strict"}
        context.add_cookies([cookie])  # type: ignore[list-item]
        page, watched = context.new_page(), Watched(site.origin)
        watched.watch(page)
        yield page, watched
    finally:
        context.close()


def keyboard(tab: Page, *keys: str) -> None:
    for key in keys:
        tab.keyboard.press(key)


def until(tab: Page, is_so: Callable[[], bool], seconds: float = 10) -> None:
    for _ in range(int(seconds * 50)):
        if is_so():
            return
        tab.wait_for_timeout(20)
    raise AssertionError("it never came to be")
