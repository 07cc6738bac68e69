"""`memfolio status` and `memfolio reindex`: the home in numbers, and the index built anew."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from memfolio.serve.cli.output import readable
from memfolio.text import counted
from tests.serve.calls import Run, RunJson, terminal


@pytest.fixture
def lived(cli: Run, cli_json: RunJson) -> None:
    """Two sessions' turns, a corrected memory and a forgotten one."""
    wrong = cli_json("remember", "Alex prefers tea", "--type", "preference", "--tag", "drinks")["id"]
    cli("correct", wrong, "Alex prefers green tea")
    cli("observe", "user", "Hello", "--session", "s-1")
    cli("observe", "user", "Bye", "--session", "s-1")
    cli("forget", cli_json("remember", "A secret")["id"], "--yes")


@pytest.mark.usefixtures("lived")
def test_programs_get_every_number(cli_json: RunJson, home: Path) -> None:
    found = cli_json("status")
    assert (found["home"], found["agent"], found["memories"]) == (str(home), "main", 4)
    counts = found["counts"]
    assert counts["stores"] == {"long_term": 2, "short_term": 2}
    assert counts["kinds"] == {"episodic": 2, "semantic": 2}
    assert counts["edges"] == {"temporal": 1, "supersedes": 1}
    assert (counts["forgotten"], counts["superseded"]) == (1, 1)
    assert set(found["bytes"]) == {"files", "trail", "git", "internal", "index"}
    assert (found["degraded"], found["problems"], found["trouble"]) == ([], {}, None)
    assert [each["content"] for each in found["recent"]] == ["Bye", "Hello", "Alex prefers green tea"]


def test_words_of_strangers_are_counted_until_they_are_confirmed(cli_json: RunJson) -> None:
    heard = cli_json("observe", "tool", "the vendor moved")["id"]
    assert cli_json("status")["counts"]["quarantined"] == 1
    cli_json("confirm", heard)
    assert cli_json("status")["counts"]["quarantined"] == 0


@pytest.mark.usefixtures("lived")
def test_people_get_a_page_that_fits(cli: Run) -> None:
    said = cli("status")
    for line in ("stores   2 long-term · 2 short-term", "superseded 1"):
        assert line in said
    assert "Alex prefers green tea" in said
    assert "orphans" not in said


def test_imported_notes_are_counted_as_notes_and_taken_back_as_pages(cli: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("bees", "tea"):
        (notes / f"{name}.md").write_text(f"Kim likes {name}.\n")
    cli("import", str(notes))
    assert "notes      2 searchable blocks" in cli("status")
    said = cli("undo", "--source", "import:markdown", "--dry-run")
    assert "2 pages from this source" in said
    assert "memories" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.usefixtures("lived")
@pytest.mark.parametrize("width", [40, 80, 120])
def test_page_keeps_to_the_width_of_the_terminal(width: int) -> None:
    _, _, page = terminal(width, "status").partition(", agent main")  # above it are paths, which are not cut
    assert max(map(len, page.splitlines())) <= width


def test_empty_home_has_a_status(cli: Run, cli_json: RunJson) -> None:
    cli("init")
    assert cli_json("status")["counts"]["memories"] == 0
    said = cli("status")
    assert not any(word in said for word in ("long_term", "episodic", "\nties"))


@pytest.mark.skipif(sys.platform == "win32", reason="locks differ")
@pytest.mark.usefixtures("lived")
def test_home_that_somebody_else_writes_is_told_once(cli: Run, home: Path) -> None:
    import fcntl

    with (home / ".memfolio/lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert cli("status").count("another process has been writing here") == 1


@pytest.mark.usefixtures("lived")
def test_reindex_counts_what_it_reads(cli: Run, cli_json: RunJson, home: Path) -> None:
    shutil.rmtree(home.parent / "cache")
    done = cli_json("reindex")
    assert list(done) == ["files", "memories", "seconds", "degraded"]
    assert (done["files"], done["memories"], done["degraded"]) == (3, 4, [])
    assert cli("reindex").startswith("3 files with 4 memories indexed in ")
    assert len(cli_json("recall", "green tea", "--type", "preference")["hits"]) == 1


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (15_499, "15 kB"), (2_500_000, "2.5 MB"), (10**16, "10000 TB")],
)
def test_bytes_are_said_as_people_say_them(size: int, words: str) -> None:
    assert readable(size) == words


def test_one_thing_is_not_called_several() -> None:
    assert (counted(1, "file"), counted(2_000, "file")) == ("1 file", "2,000 files")
    assert counted(0, "memory", "memories") == "0 memories"
