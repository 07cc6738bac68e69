"""What the command line says is short, said once, and in plain words."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from memfolio.serve.cli.output import for_people
from tests.serve.calls import Run, RunJson, program, terminal

TERMINAL = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
LONG = "tea and more\n" * 70_000


@pytest.fixture
def long(settled: None) -> str:
    """The id of a memory of nearly a megabyte."""
    return program("remember", "-", stdin=LONG).stdout.split()[0]


@pytest.mark.serial
def test_long_memory_is_printed_at_once(long: str) -> None:
    program("recall", "tea")
    for args in (["recall", "tea"], ["recall", "tea", "--explain"], ["show", long], ["explain", long]):
        started = time.monotonic()
        done = program(*args)
        assert time.monotonic() - started < 3
        assert done.stdout.count("tea and more") == 70_000


@pytest.mark.serial
@TERMINAL
def test_long_memory_is_shown_at_a_terminal_at_once(long: str) -> None:
    started = time.monotonic()
    assert terminal(80, "explain", long).count("tea and more") == 70_000
    assert terminal(80, "recall", "tea").count("\n") < 10
    assert time.monotonic() - started < 6


def test_text_that_moves_is_shown_once(cli: Run, cli_json: RunJson) -> None:
    secret = cli_json("remember", "a secret\n-- with a signature")["id"]
    for said in (cli("forget", secret, "--yes"), cli("undo", 3), cli("undo", 2)):
        assert sum(line[1:] == "a secret -- with a signature" for line in said.splitlines()) == 1
    assert cli_json("restore", secret)["diff"].count("-- with a signature") == 2


def test_difference_of_archives_alone_is_shown() -> None:
    path = "agents/main/memory/archive/2026-11/2026-11-15.md"
    archive = f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
    page = "--- a/agents/main/USER.md\n+++ b/agents/main/USER.md\n@@ -1 +1 @@\n--- a/memory/archive/x\n+b\n"
    assert for_people(archive) == archive
    assert for_people(page + archive) == page
    assert for_people("") == ""


def test_undo_of_the_settings_wants_a_yes(cli: Run, cli_json: RunJson, home: Path) -> None:
    cli("init")
    assert "undo 1 change of memfolio.toml" in cli("undo", 1, status=5)
    assert (home / "memfolio.toml").exists()
    assert cli_json("undo", 1, "--yes")["undone"] == [1]


@pytest.mark.parametrize("what", ["session", "source", "actor"])
def test_undo_of_what_never_was_says_so(cli: Run, what: str) -> None:
    cli("remember", "x", "--session", "s-1")
    said = cli("undo", f"--{what}", "nosuch", status=3)
    assert f"{what} nosuch left nothing" in said
    assert "nothing of it was recorded" in said


@TERMINAL
def test_log_keeps_room_for_what_happened(cli: Run) -> None:
    words = "the quick brown fox jumps over the dog"
    cli("remember", words)
    for width, wanted in ((40, "the quick brown"), (80, words), (120, "bot:trigger-remember")):
        shown = terminal(width, "log")
        assert wanted in shown
        assert max(map(len, shown.splitlines())) <= width
        assert shown.splitlines()[1].startswith("2  ")


def test_log_tells_pinned_from_unpinned(cli: Run, cli_json: RunJson) -> None:
    x = cli_json("remember", "x")["id"]
    cli("pin", x)
    cli("pin", x, "--off")
    assert [entry["summary"] for entry in cli_json("log", "--limit", 2)["entries"]] == [f"unpin {x}", f"pin {x}"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["log", "--limit", "x"], "wanted a whole number"),
        (["log", "--limit", "0"], "wanted 1 or more"),
        (["undo", "one"], "wanted a whole number"),
    ],
)
def test_wrong_number_is_refused_in_plain_words(cli: Run, args: list[str], words: str) -> None:
    said = cli(*args, status=2)
    assert words in said
    assert "Input" not in said


@pytest.mark.parametrize("args", [["-h"], ["undo", "-h"]])
def test_help_has_a_short_name(cli: Run, args: list[str]) -> None:
    assert "Usage: memfolio" in cli(*args)


def test_doctor_diagnoses_a_wrong_configuration(cli: Run, cli_json: RunJson, home: Path) -> None:
    cli("init")
    (home / "memfolio.toml").write_text("format = 1\ntimezone = 'Mars/Olympus'\n")
    document = cli_json("doctor", status=1)
    assert [(each["level"], each["where"]) for each in document["findings"]] == [("error", "configuration")]
    assert "line 2" in document["findings"][0]["message"]


def test_doctor_names_unknown_settings_one_by_one_and_retired_ones_once(
    cli: Run, cli_json: RunJson, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("init")
    (home / "memfolio.toml").write_text("timezon = 'UTC'\n[recall]\necho = 0\n[mind]\nchunk = 'many'\n")
    monkeypatch.setenv("MEMFOLIO_LEARN_PAGES", "3")
    found = [each for each in cli_json("doctor")["findings"] if each["where"] == "configuration"]
    assert [each["level"] for each in found] == ["warning", "note"]
    assert (found[0]["message"], found[0]["hint"]) == (
        "memfolio.toml, line 1: unknown key 'timezon'",
        "did you mean timezone?",
    )
    assert found[1]["message"].endswith(": recall.echo, mind.chunk, MEMFOLIO_LEARN_PAGES")


def test_unknown_type_in_a_heading_is_reported(cli: Run, cli_json: RunJson, home: Path) -> None:
    path = home / cli_json("remember", "Chose files", "--type", "decision")["path"]
    path.write_text(path.read_text().replace(" decision · ", " decison · "))
    assert "type 'decison' is not known" in cli("verify")


def test_shared_memory_is_forgotten_by_its_words_and_said_to_be_shared(cli: Run, cli_json: RunJson) -> None:
    shared = cli_json("remember", "The office is on floor six", "--agent", "shared")["id"]
    own = cli_json("remember", "My office is blue")["id"]
    assert cli_json("forget", "office", "--yes")["memories"][0]["id"] == own
    said = cli("forget", "office", "--yes")
    assert f"{shared}, shared by all agents, forgotten" in said
    assert "agent main has no memory" in cli("forget", "office", "--yes", status=3)
    assert cli_json("restore", shared)["memories"][0]["id"] == shared


def test_embedder_has_the_name_it_has_in_the_settings(cli_json: RunJson) -> None:
    cli_json("remember", "x")
    assert cli_json("status")["embedder"] == "local"


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (["recall", "tea", "--limt"], "No such option: --limt. Did you mean --limit?", "`memfolio recall --help`"),
        (["recall", "--xyzzy"], "No such option: --xyzzy", "`memfolio recall -- --xyzzy`"),
        (["forget", "tea", "and", "milk"], "unexpected: and milk", '`memfolio forget "…"`'),
        (["status", "now"], "unexpected: now", "`memfolio status --help`"),
        (["confirm", "M-1795111111111-abcdef01", "M-1795111111111-abcdef02"], "unexpected: M-", "one memory at a time"),
    ],
)
def test_slip_is_answered_with_what_was_meant(
    cli: Run, cli_json: RunJson, args: list[str], message: str, hint: str
) -> None:
    cli("init")
    error = cli_json(*args, status=2)["error"]
    assert error["message"].startswith(message)
    assert hint in error["hint"]
    assert "quotes" not in cli("status", "now", status=2)


def test_what_must_be_confirmed_says_what_it_would_do_and_how_to_go_on(cli: Run) -> None:
    cli("remember", "Kim keeps bees")
    said = cli("forget", "--about", "Kim", status=5)
    assert "this would forget 1 memory about Kim; there is no terminal to confirm in" in said
    assert "see it with --dry-run, then add --yes" in said
