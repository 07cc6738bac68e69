"""The documentation is complete, its links lead somewhere, and what it shows is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from memfolio.settings import RETIRED
from tests.pages import (
    ROOT,
    Step,
    anchors,
    by_bash,
    links,
    matches,
    missing,
    pages,
    run_page,
    run_step,
    steps,
    surroundings,
    unshown,
)
from tools import reference

DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "memfolio"
MODULE = re.compile(r"`((?:[a-z_]+/)*[a-z_]+\.py)`")
PAGES = {
    "verbs": "http.md",
    "index": "search-index.md",
    "govern": "policy.md",
    "redact": "redaction.md",
    "knowledge": "facts.md",
    "reason": "reasoning.md",
    "exchange": "import.md",
}
"""Rooms whose page is not called after them: `index.md` is the page that links to all others."""
DIFFERING = re.compile(
    r"\b(?:terminal|memfolio|[MN])-[\da-f-]+|\d{4}-\d\d-\d\d(?: \d\d:\d\d)?|\d+\s+[A-Z][a-z]+\s+\d{4}|\b0\.\d\d\b"
)
"""What two pictures of one session do not share: ids, times and scores."""
TEXTS = [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_page_does_what_it_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("MEMFOLIO_", "GIT_"))]:
        monkeypatch.delenv(name)
    for name, value in surroundings(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    run_page(page)


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_relative_links_lead_somewhere(page: Path) -> None:
    for target in links(page):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def test_every_room_has_a_page_that_the_index_links_to() -> None:
    rooms = {path.parent.name for path in PACKAGE.glob("*/*.py")}
    linked = set(links(DOCS / "index.md"))
    assert {PAGES.get(room, f"{room}.md") for room in rooms} <= {path.name for path in DOCS.glob("*.md")}
    assert {path.name for path in DOCS.glob("*.md")} - {"index.md"} <= linked


def test_every_module_that_a_page_names_is_there() -> None:
    modules = {path.as_posix() for path in PACKAGE.rglob("*.py")}
    pages = [*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    named = {(page.name, name) for page in pages for name in MODULE.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 50
    missing = [each for each in named if not any(path.endswith(f"/{each[1]}") for path in modules)]
    assert [(page, name) for page, name in missing if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", reference.TABLES)
def test_table_that_is_made_from_code_is_up_to_date(page: str) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == reference.updated(page), "run python -m tools.reference"


def test_no_page_names_a_setting_that_is_retired() -> None:
    pages = [page for page in (*DOCS.rglob("*.md"), ROOT / "README.md") if page.name != "configuration.md"]
    named = {(page.name, name) for page in pages for name in RETIRED if f"`{name}`" in page.read_text(encoding="utf-8")}
    assert named == set()


def test_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_picture_of_a_terminal_is_made_from_what_the_program_prints(tmp_path: Path) -> None:
    made, told = tmp_path / "terminal.svg", list[str]()
    subprocess.run([sys.executable, "-m", "tools.terminal", made], cwd=ROOT, check=True, timeout=120)
    for picture in (made.read_text(encoding="utf-8"), (DOCS / "terminal.svg").read_text(encoding="utf-8")):
        words = " ".join(ElementTree.fromstring(picture).itertext()).replace("\N{NO-BREAK SPACE}", " ")
        assert not re.search(r"/(?:tmp|home|work|root|Users)\b", words)
        assert len(picture) < 40_000
        told.append(" ".join(DIFFERING.sub("…", words).split()))
    assert "Kim keeps bees on the roof." in told[0]
    assert told[1] == told[0], "run python -m tools.terminal"


def test_console_block_is_read_as_commands_with_their_output() -> None:
    found = steps("$ one \\\n  --two\nshown\n\n$ three # exit 4\n")
    assert found == [Step(command="one    --two", shown=["shown"]), Step(command="three", status=4)]


@pytest.mark.parametrize(
    ("shown", "real"),
    [("a … z", "a b c z"), ("a  b", "a b "), ("…", ""), ("M-…", "M-1-2"), ("│ a │ b │", "│ a   │ b │")],
)
def test_shown_line_matches_the_real_one(shown: str, real: str) -> None:
    assert matches(shown, real)


def test_shown_lines_must_come_whole_and_in_order() -> None:
    assert missing(["a", "…", "c"], "a\nb\nc") is None
    assert missing(["c", "a"], "a\nb\nc") == "a"
    assert missing(["b"], "abc") == "b"


def test_readme_shows_every_line_of_the_output() -> None:
    assert unshown(["a", "…", "c"], "a\nb\nb\nc\n") is None
    assert unshown(["a"], "a\nb\n") == "b"
    assert unshown([], "a\n") == "a"
    assert unshown(["a", "b"], "a\n") == "b"
    assert unshown(["…", "c"], "a\nb\n") == "c"


@pytest.mark.parametrize(
    "step", [Step(command="false"), Step(command="true", status=1), Step(command="echo a", shown=["b"])]
)
def test_page_that_shows_something_else_fails(step: Step) -> None:
    with pytest.raises(AssertionError):
        run_step(step, by_bash)
