"""The command `open`: finds the page of a home or starts its server, and makes a link that lets one browser in."""

from __future__ import annotations

import os
import platform
import signal
import socket
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec

from memfolio.arguments import check_known
from memfolio.config import Config
from memfolio.errors import MemfolioError
from memfolio.machine import install_command
from memfolio.serve.cli.call import Answer, Options, leave_logging_to_us
from memfolio.serve.cli.output import Line
from memfolio.serve.page import PAGES
from memfolio.serve.page.launch import PATIENCE, Address, Noticeboard
from memfolio.vault.vault import Vault

LIBRARIES = ("fastapi", "uvicorn", "jinja2", "markdown_it", "nh3")
LASTS = "The page stays there for 12 hours; `memfolio open --end` closes it at once."
TERMINAL = ("www-browser", "links", "elinks", "lynx", "w3m")
"""Browsers that Python knows and that have no window."""


def open_(options: Options, page: str = "", /, no_browser: bool = False, end: bool = False) -> Answer:
    leave_logging_to_us()
    if missing := [name for name in LIBRARIES if find_spec(name) is None]:
        raise MemfolioError(f"the page needs {', '.join(missing)}", hint=install_command("http"))
    if page:
        check_known("there is no page", [page], PAGES)
    if not end:
        return opened(options, options.config(), page, shows=not no_browser)
    with Vault.open(config=options.config()) as vault:
        was_open = end_page(vault)
    return Answer({"ended": was_open}, "the page is closed" if was_open else "the page was not open")


def opened(options: Options, config: Config, page: str = "", *, shows: bool = True) -> Answer:
    """Open the page of a home, or say by which link it is opened where there is no browser or nobody who looks."""
    with Vault.open(config=config) as vault:  # not the memory, which takes longer to load than the browser to start
        options.tell(vault.notices)
        url, plain, is_new = link_to(vault, page, config.agent)
    document = {"url": url, "plain": plain, "started": is_new}
    if shows and not options.as_json and show(url):
        return Answer(document, f"{config.home} is open in the browser. {LASTS}")
    lines: list[Line] = [
        "Open this within a minute; it lets one browser in, once:\n",
        (url, "bold"),
        (f"\nIf your browser cannot open that address: {plain}", "dim"),
        LASTS,
    ]
    return Answer(document, lines)


def link_to(vault: Vault, page: str, agent: str) -> tuple[str, str, bool]:
    """Return the link that admits one browser, the same without a host name, and whether a server was started.

    A server is started if none answers, and outlives this process.
    """
    board = Noticeboard(vault)
    address = board.address
    if is_new := address is None or not address.answers():
        from memfolio.serve.hooks.kept import run

        board.announce(None)
        config = vault.config
        given = (str(config.home), agent, str(config.cache.parent))
        run(["-m", "memfolio.serve.page.launch", *given], str(config.home))
    _wait(lambda: board.address is not None)
    if (address := board.address) is None:
        raise MemfolioError("the page did not start", hint="`memfolio serve` says what is in its way")
    key = board.add_key()
    start = f"enter?agent={agent}{f'&page={page}' if page else ''}#{key}"
    usual, plain = (f"http://{host}/{start}" for host in address.hosts)
    return usual if _is_found(address) else plain, plain, is_new


def _is_found(address: Address) -> bool:
    """Whether browsers find the name: all know what ends in `.localhost`, but for Safari, which asks the system."""
    with suppress(OSError):
        return platform.system() != "Darwin" or bool(socket.getaddrinfo(address.hosts[0].partition(":")[0], None))
    return False


def _wait(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not is_so() and time.monotonic() < until:
        time.sleep(0.02)


def show(url: str) -> bool:
    """Open a graphical browser, if there is one: a terminal browser cannot show the page."""
    with suppress(webbrowser.Error):
        browser = webbrowser.get()
        is_terminal = isinstance(browser, webbrowser.GenericBrowser) and browser.name in TERMINAL
        return not is_terminal and browser.open(url)
    return False


def end_page(vault: Vault) -> bool:
    """End the server and with it all sessions; whether there was one."""
    board = Noticeboard(vault)
    address = board.address
    if address is None or not address.answers():
        return False
    with suppress(ProcessLookupError):
        os.kill(address.pid, signal.SIGTERM)
    _wait(lambda: board.address != address)
    return True
