"""`memfolio open`: starts the server of a home once, lets browsers in by a link, and ends it again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from memfolio.serve.page.session import SECONDS
from tests.pages import surroundings

PROGRAM = Path(sys.executable).parent / "memfolio"


class Terminal:
    """Runs commands on a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.environ = surroundings(folder)
        self.home = folder / "home"

    def __call__(self, *args: str, status: int = 0) -> dict[str, Any]:
        command = [str(PROGRAM), "--home", str(self.home), *args, "--json"]
        done = subprocess.run(command, env=self.environ, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


@pytest.fixture
def terminal(quick_path: Path) -> Any:
    terminal = Terminal(quick_path)
    terminal("init", "--host", "none")
    yield terminal
    terminal("open", "--end")


def enter(url: str) -> httpx.Response:
    """Come in as a browser does, whose script takes the key from the fragment."""
    parts = urlsplit(url)
    headers = {"host": parts.netloc, "origin": f"http://{parts.netloc}", "sec-fetch-site": "same-origin"}
    address = f"http://127.0.0.1:{parts.port}/enter?{parts.query}"
    return httpx.post(address, content=parts.fragment, headers=headers, timeout=30, verify=False)


def test_page_opens_is_found_again_and_ends(terminal: Terminal) -> None:
    first = terminal("open", "history", "--no-browser")
    assert first["started"]
    assert ".localhost:" in first["url"]
    assert first["plain"].startswith("http://127.0.0.1:")
    again = terminal("open", "--no-browser")
    assert not again["started"]
    assert urlsplit(again["url"]).netloc == urlsplit(first["url"]).netloc
    inside = enter(first["url"])
    assert (inside.status_code, inside.text) == (200, "/a/main/history")
    assert enter(first["url"]).status_code == 403
    assert enter(again["plain"]).status_code == 200
    assert terminal("open", "--end") == {"ended": True}
    assert terminal("open", "--end") == {"ended": False}
    with pytest.raises(httpx.HTTPError):
        enter(again["url"])


def test_page_that_is_not_there_is_named_before_anything_starts(terminal: Terminal) -> None:
    error = terminal("open", "memory", status=2)["error"]
    assert "there is no page 'memory'" in error["message"]
    assert "memories" in error["hint"]


@pytest.mark.parametrize("option", ["--end", "--no-browser"])
def test_no_home_is_made_on_the_way(tmp_path: Path, option: str) -> None:
    terminal = Terminal(tmp_path)
    error = terminal("open", option, status=3)["error"]
    assert "there is no home" in error["message"]
    assert "memfolio init" in error["hint"]
    assert not terminal.home.exists()


def test_browser_that_somebody_chose_is_opened_with_the_link(terminal: Terminal, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n', encoding="utf-8")
    browser.chmod(0o755)
    command = [str(PROGRAM), "--home", str(terminal.home), "open", "mind"]
    environ = terminal.environ | {"BROWSER": str(browser)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=True)
    assert "is open in the browser" in done.stdout
    assert f"for {SECONDS // 3600} hours; `memfolio open --end` closes it" in done.stdout
    assert "#" not in done.stdout
    answer = enter((tmp_path / "opened").read_text("utf-8").strip())
    assert (answer.status_code, answer.text) == (200, "/a/main/mind")


def test_demo_leaves_a_home_that_is_open(tmp_path: Path) -> None:
    environ = surroundings(tmp_path) | {"TMPDIR": str(tmp_path)}
    command = [str(PROGRAM), "demo", "--open", "--json"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    try:
        assert enter(answer["page"]["url"]).status_code == 200
    finally:
        subprocess.run([str(PROGRAM), "--home", answer["home"], "open", "--end"], env=environ, timeout=60, check=True)
