"""The command line: every command with good and bad input, what programs get, and what people see."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memfolio import Action, Memory, errors
from memfolio.serve.cli.derive import below, listed
from memfolio.serve.cli.errors import exit_code
from memfolio.serve.cli.output import safe
from memfolio.serve.cli.typed import find_time
from tests.serve.calls import PROGRAM, Run, RunJson, program, today

COMMANDS = [name for name in listed() if not below(name)]
pytestmark = pytest.mark.usefixtures("settled")


def test_init_makes_a_home_once(cli: Run, cli_json: RunJson, home: Path) -> None:
    assert cli("init") == f"created a home in {home}\n"
    assert cli("init") == f"{home} is already a home\n"
    nothing: dict[str, object] = {"owner": None, "hosts": [], "notes": [], "first": None, "dry_run": False}
    assert cli_json("init") == {"home": str(home), "agent": "main", "created": False, **nothing}
    assert (home / "memfolio.toml").is_file()


def test_remember_says_where_it_is(cli: Run, home: Path) -> None:
    said = cli("remember", "Alex prefers tea", "--type", "preference", "--tag", "drinks", "--tag", "alex")
    assert re.fullmatch(r"M-\d+-[0-9a-f]{8}  agents/main/memory/\d{4}-\d\d-\d\d\.md\n", said)
    assert "preference · 0.5 · #drinks #alex ^M-" in today(home).read_text()


def test_remember_gives_programs_the_stored_memory(cli_json: RunJson) -> None:
    stored = cli_json(
        "remember", "Tea", "--tier", "short_term", "--source", "chat", "--session", "s-1", "--user", "alex"
    )
    assert {"id", "content", "created_at", "type", "kind", "store", "path"} <= stored.keys()
    assert (stored["content"], stored["store"], stored["source"]) == ("Tea", "short_term", "chat")
    assert (stored["session"], stored["user"], stored["path"][:12]) == ("s-1", "alex", "agents/main/")


@pytest.mark.parametrize(
    ("given", "kept"), [("0.8", 0.8), ("1", 1), ("7", 0.7), ("10", 1), ("high", 0.9), ("LOW", 0.3)]
)
def test_importance_may_be_a_fraction_a_grade_or_a_word(cli_json: RunJson, given: str, kept: float) -> None:
    assert cli_json("remember", "x", "--importance", given)["importance"] == kept


def test_same_key_twice_is_one_memory(cli_json: RunJson) -> None:
    assert cli_json("remember", "x", "--key", "k")["id"] == cli_json("remember", "x", "--key", "k")["id"]
    assert cli_json("remember", "y", "--key", "k", status=4)["error"]["code"] == "conflict"


def test_text_comes_from_standard_input(cli_json: RunJson, type_in: Callable[[bytes], None]) -> None:
    type_in("Käse\nund Brot\n".encode())
    assert cli_json("remember", "-")["content"] == "Käse\nund Brot"
    type_in(b"hello")
    assert cli_json("observe", "user", "-")["content"] == "hello"
    type_in(b"\xff\xfe")
    assert cli_json("remember", "-", status=2)["error"]["code"] == "content"
    type_in(b"")
    assert cli_json("remember", "-", status=2)["error"]["code"] == "content"


def test_text_that_looks_like_an_option_comes_behind_two_dashes(cli: Run, home: Path) -> None:
    cli("remember", "--", "--json")
    assert "\n--json\n" in today(home).read_text()


def test_observe_notes_a_turn(cli_json: RunJson) -> None:
    turn = cli_json("observe", "user", "Hello", "--session", "s-1", "--at", "2026-03-01T12:00")
    assert (turn["role"], turn["session"], turn["store"]) == ("user", "s-1", "short_term")
    assert (turn["event_time"], turn["path"]) == ("2026-03-01T12:00:00.000Z", "agents/main/memory/2026-03-01.md")


def test_options_stand_before_or_after_the_command(cli_json: RunJson, cli: Run, home: Path) -> None:
    other = home.parent / "other"
    cli("--home", other, "--agent", "scout", "remember", "before")
    cli("remember", "after", "--home", other, "--agent", "scout")
    found = cli_json("show", "--home", other, "--agent", "scout")
    assert [item["content"] for item in found["memories"]] == ["before", "after"]
    assert not home.exists()


def test_show_prints_the_day_as_it_stands_in_the_file(cli: Run, home: Path) -> None:
    assert cli("init")
    assert cli("show") == "No memories today.\n"
    cli("remember", "one")
    cli("remember", "two", "--at", "2026-03-01")
    assert cli("show") == cli("show", "today") == today(home).read_text()
    assert cli("show", "2026-03-01") == (home / "agents/main/memory/2026-03-01.md").read_text()
    cli("show", "2026-03-02", status=3)


def test_show_prints_a_memory_also_from_the_archive(cli: Run, cli_json: RunJson) -> None:
    one = cli_json("remember", "one\ntwo", "--tag", "t")["id"]
    assert re.search(rf"{one}  \d{{4}}.*observation · 0.5  #t\n.*\.md\n\none\ntwo\n", cli("show", one))
    assert cli_json("show", one)["archived"] is False
    cli("undo", 2)
    assert "(archived)" in cli("show", one)
    assert cli_json("show", one)["archived"] is True
    assert cli_json("show", "M-1-00000000", status=3)["error"]["code"] == "not-found"


def test_show_prints_a_page_by_any_of_its_names(cli: Run, cli_json: RunJson, home: Path) -> None:
    cli("init")
    page = home / "agents/main/MEMORY.md"
    page.parent.mkdir(parents=True)
    page.write_text("# Core\n")
    for name in ("MEMORY.md", "agents/main/MEMORY.md"):
        assert cli("show", name) == "# Core\n"
    assert cli_json("show", "MEMORY.md")["path"] == "agents/main/MEMORY.md"
    assert cli("show", "memfolio.toml").startswith("# Configuration")
    cli("show", "NOTHING.md", status=3)
    for name in ("../secret", "/etc/passwd", "a//b"):
        cli("show", name, status=2)


def test_status_shows_people_and_programs_the_same(cli: Run, cli_json: RunJson, home: Path) -> None:
    cli("remember", "one")
    found = cli_json("status")
    assert (found["home"], found["memories"], found["changes"], found["waiting"]) == (str(home), 1, 2, 0)
    assert re.search(r"memories +1", cli("status"))
    (home / ".git/HEAD").write_text("ref: refs/heads/elsewhere\n")
    cli("remember", "two")
    assert "1 change waits: on branch elsewhere" in cli("status")


@pytest.fixture
def story(cli: Run, home: Path) -> None:
    """Changes 1 to 5: the home, two of a session, one of a source, one by hand."""
    cli("init")
    cli("remember", "tea", "--session", "s-1")
    cli("observe", "user", "coffee", "--session", "s-1")
    cli("remember", "milk", "--source", "import")
    (home / "agents/main/USER.md").write_text("# Alex\n\nLikes tea.\n")


@pytest.mark.usefixtures("story")
def test_log_tells_who_did_what_newest_first(cli_json: RunJson, cli: Run) -> None:
    entries = cli_json("log")["entries"]
    wanted = {"seq", "at", "action", "actor", "approval", "trigger", "paths", "summary", "commit"}
    assert all(wanted <= entry.keys() for entry in entries)
    assert [entry["seq"] for entry in entries] == [5, 4, 3, 2, 1]
    assert entries[0]["actor"] == "human"
    table = cli("log").splitlines()
    assert table[0].split() == ["#", "when", "action", "actor", "about", "commit"]
    assert len(table) == 6


@pytest.mark.usefixtures("story")
@pytest.mark.parametrize(
    ("filters", "seqs"),
    [
        (["--actor", "human"], [5]),
        (["--actor", "bot:*"], [4, 3, 2]),
        (["--action", "append"], [4, 3, 2]),
        (["--action", "CREATE"], [5, 1]),
        (["--session", "s-1"], [3, 2]),
        (["--source", "import"], [4]),
        (["--about", "COFFEE"], [3]),
        (["--limit", "2"], [5, 4]),
        (["USER.md"], [5]),
        (["agents"], [5, 4, 3, 2]),
        (["--session", "nothing"], []),
    ],
)
def test_log_filters(cli_json: RunJson, filters: list[str], seqs: list[int]) -> None:
    assert [entry["seq"] for entry in cli_json("log", *filters)["entries"]] == seqs


@pytest.mark.usefixtures("story")
def test_log_makes_the_page_of_a_month(cli: Run, cli_json: RunJson, home: Path) -> None:
    month = f"{datetime.now(UTC):%Y-%m}"
    assert "## By actor" in cli("log", "--digest", month)
    assert cli_json("log", "--digest", month)["text"] == (home / f"audit/{month}/digest.md").read_text()
    cli("log", "--digest", "2026-13", status=2)


@pytest.mark.usefixtures("story")
def test_diff_shows_a_change_a_page_or_a_span(cli: Run, cli_json: RunJson) -> None:
    assert "+coffee" in cli("diff", 3)
    assert "+Likes tea." in cli("diff")
    assert "+Likes tea." in cli("diff", "USER.md")
    first = cli_json("log", "--action", "create")["entries"][-1]["commit"]
    assert "+milk" in cli("diff", "--since", first)
    assert "+milk" not in cli("diff", "USER.md", "--since", first)
    assert cli("diff", "--since", "now") == "No difference.\n"
    assert cli_json("diff", 2)["seq"] == 2
    cli("diff", 99, status=3)
    cli("diff", "NOTHING.md", status=3)
    cli("diff", "--since", "0000000", status=3)
    cli("diff", 2, "--since", "now", status=2)


def test_diff_tells_the_records_of_a_ledger_in_words(cli: Run, cli_json: RunJson) -> None:
    cli("fact", "assert", "Acme", "hasRevenue", "5")
    ledger = "agents/main/knowledge/facts/0001.jsonl"
    assert cli("diff") == f"1 line added to {ledger}\n+assert Acme hasRevenue 5\n"
    assert '"subject"' in cli_json("diff")["diff"]


@pytest.mark.usefixtures("story")
def test_undo_takes_back_one_change_without_asking(cli: Run, cli_json: RunJson, home: Path) -> None:
    assert "-coffee" in cli("undo", 3, "--dry-run")
    assert "coffee" in today(home).read_text()
    assert cli("undo", 3).endswith("change 3 undone (change 6)\n")
    assert "coffee" not in today(home).read_text()
    newest = cli_json("log", "--limit", 1)["entries"][0]
    assert (newest["action"], newest["actor"], newest["trigger"]) == ("REVERT", "human", "cli")
    cli("undo", 3, status=3)
    cli("undo", 6)
    assert "coffee" in today(home).read_text()


@pytest.mark.usefixtures("story")
@pytest.mark.parametrize("which", [["--session", "s-1"], ["--actor", "bot:trigger-remember"], [2, 3]])
def test_undo_of_several_wants_a_yes(cli: Run, cli_json: RunJson, home: Path, which: list[object]) -> None:
    before = today(home).read_text()
    assert "add --yes" in cli("undo", *which, status=5)
    assert cli_json("undo", *which, status=5)["error"]["code"] == "refused"
    assert cli_json("undo", *which, "--dry-run")["dry_run"] is True
    assert today(home).read_text() == before
    done = cli_json("undo", *which, "--yes")
    assert (len(done["undone"]), done["seq"], done["dry_run"]) == (2, 6, False)
    assert today(home).read_text() != before


@pytest.mark.usefixtures("story")
def test_undo_of_a_source_leaves_the_rest(cli: Run, home: Path) -> None:
    cli("undo", "--source", "import")
    assert "tea" in today(home).read_text()
    assert "milk" not in today(home).read_text()


@pytest.mark.usefixtures("story")
def test_undo_that_later_edits_overlap_is_a_conflict_that_shows_them(cli: Run, cli_json: RunJson, home: Path) -> None:
    cli("status")
    page = home / "agents/main/USER.md"
    page.write_text("# Alex\n\nLikes coffee.\n")
    cli("status")
    page.write_text("# Alex\n\nLikes water.\n")
    assert "+Likes water." in cli("undo", 6, status=4)
    error = cli_json("undo", 6, status=4)["error"]
    assert (error["code"], "+Likes water." in error["diff"]) == ("undo-conflict", True)


def test_undo_wants_to_know_what(cli: Run) -> None:
    cli("init")
    cli("undo", status=2)
    cli("undo", 1, "--session", "s-1", status=2)
    cli("undo", 99, status=3)
    cli("undo", "one", status=2)
    cli("undo", "--session", "none", "--yes", status=3)


@pytest.mark.usefixtures("story")
def test_rollback_brings_the_home_back(cli: Run, cli_json: RunJson, home: Path) -> None:
    commit = cli_json("log")["entries"][3]["commit"]
    before = today(home).read_text()
    assert "add --yes" in cli("rollback", "--to", commit, status=5)
    assert "-milk" in cli("rollback", "--to", commit, "--dry-run")
    assert today(home).read_text() == before
    done = cli_json("rollback", "--to", commit, "--yes")
    assert (done["seq"], len(done["paths"])) == (6, 3)  # the log, a page, and the archive with what left the log
    assert "milk" not in today(home).read_text()
    assert not (home / "agents/main/USER.md").exists()
    assert cli("rollback", "--to", "now", "--yes") == "No difference.\n"


@pytest.mark.usefixtures("story")
def test_rollback_of_a_page_leaves_the_rest(cli: Run, cli_json: RunJson, home: Path) -> None:
    cli("status")
    page = home / "agents/main/USER.md"
    page.write_text("# Nobody\n")
    cli("remember", "bread")
    assert "USER.md as at HEAD~2 (change 8)" in cli("rollback", "USER.md", "--to", "HEAD~2", "--yes")
    assert page.read_text() == "# Alex\n\nLikes tea.\n"
    assert "bread" in today(home).read_text()


def test_rollback_wants_a_time_or_commit_that_exists(cli: Run) -> None:
    cli("init")
    cli("rollback", status=2)
    cli("rollback", "--to", "2001-01-01", status=3)
    cli("rollback", "--to", "no such thing", status=3)
    cli("rollback", "NOTHING.md", "--to", "now", status=3)


def test_verify_finds_a_forged_trail(cli: Run, cli_json: RunJson, home: Path) -> None:
    cli("remember", "one")
    assert "error" not in cli("verify")
    assert cli_json("verify")["ok"] is True
    assert cli_json("doctor")["ok"] is True
    trail = next((home / "audit").rglob("*.jsonl"))
    trail.write_text(trail.read_text().replace("bot:trigger-remember", "human", 1))
    assert "the trail could not be read" in str(cli_json("verify"))  # and its lines were put back
    assert "altered" in cli("alerts")


def test_alert_stands_until_it_is_acknowledged(cli: Run, cli_json: RunJson, home: Path) -> None:
    cli("remember", "one")
    assert cli("alerts") == "No alerts.\n"
    (home / "agents/main/SOUL.md").write_text("# Soul\n")
    (home / "agents/main/IDENTITY.md").write_text("# Me\n")
    said = cli("alerts")
    assert "agents/main/SOUL.md was changed by human" in said
    assert "memfolio diff " in said
    first, second = cli_json("alerts")["alerts"]
    assert {"seq", "at", "change", "action", "actor", "paths"} <= first.keys()
    cli("alerts", "--ack", 1, status=3)
    assert cli_json("alerts", "--ack", first["seq"])["alerts"] == [second]
    assert cli_json("alerts", "--ack-all") == {"alerts": [], "acknowledged": [second["seq"]]}
    assert cli_json("log", "--action", "ack")["entries"][0]["actor"] == "human"


def test_adopt_makes_this_machine_the_writer(cli: Run, cli_json: RunJson, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("remember", "one")
    monkeypatch.setenv("MEMFOLIO_MACHINE", "laptop")
    assert "memfolio adopt" in cli("remember", "two", status=5)
    assert "one" in cli("show")
    assert cli_json("adopt")["machine"] == "laptop"
    cli("remember", "two")


def test_adopt_accepts_that_files_are_gone(cli: Run, home: Path) -> None:
    for day in (1, 2, 3, 4):
        cli("remember", "x", "--at", f"2026-03-0{day}")
    for log in (home / "agents/main/memory").glob("2026-*.md"):
        log.unlink()
    assert "--accept-missing" in cli("status", status=3)
    cli("adopt", status=3)
    cli("adopt", "--accept-missing")
    cli("status")


@pytest.mark.parametrize("command", ["show", "status", "log", "diff", "verify", "doctor", "alerts", "adopt"])
def test_looking_at_a_home_that_is_not_there_creates_nothing(cli: Run, home: Path, command: str) -> None:
    assert "memfolio init" in cli(command, status=3)
    assert not home.exists()


@pytest.mark.parametrize(
    "args",
    [
        ["rememebr", "x"],
        ["remember"],
        ["remember", "x", "--importance"],
        ["remember", "x", "--colour", "red"],
        ["remember", "x", "--type", "decison"],
        ["remember", "x", "--importance", "11"],
        ["remember", "x", "--importance", "much"],
        ["remember", "x", "--store", "cellar"],
        ["remember", "x", "--at", "soon"],
        ["remember", "x", "--agent", "../x"],
        ["remember", ""],
        ["remember", "x", "y"],
        ["observe", "user"],
        ["observe", "two words", "x"],
        ["log", "--limit", "0"],
        ["log", "--action", "explode"],
        ["alerts", "--ack", "x"],
    ],
)
def test_bad_usage_is_explained_and_writes_nothing(cli: Run, cli_json: RunJson, home: Path, args: list[str]) -> None:
    cli("init")
    said = cli(*args, status=2)
    assert said.startswith("memfolio: ")
    assert said.count("\n") >= 2
    error = cli_json(*args, status=2)["error"]
    assert all(error[name] for name in ("code", "message", "hint"))
    assert not (home / "agents").exists()


def test_wrong_configuration_is_an_error_with_a_hint(cli: Run, home: Path) -> None:
    cli("init")
    (home / "memfolio.toml").write_text("timezone = 'Europe/Berln'\n")
    assert "timezone is 'Europe/Berln'; wanted an IANA time zone" in cli("status", status=1)


def test_status_names_a_misspelt_setting_and_the_home_opens(cli: Run, home: Path) -> None:
    cli("init")
    (home / "memfolio.toml").write_text("timezon = 'UTC'\n")
    cli("remember", "one")
    told = "configuration: memfolio.toml, line 1: unknown key 'timezon'; did you mean timezone?"
    assert told in " ".join(cli("status").split())


def test_home_that_is_a_file_is_said_to_be_one(cli: Run, home: Path) -> None:
    home.write_text("")
    assert "is a file" in cli("remember", "x", status=3)


def test_every_error_has_an_exit_code() -> None:
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.MemfolioError)
    ]
    codes = {kind.__name__: exit_code(kind.__new__(kind)) for kind in kinds}
    assert (codes["NaiveTimeError"], codes["NotFoundError"], codes["PageChangedError"]) == (2, 3, 4)
    assert (codes["NotOwnerError"], codes["DiskError"], codes["ConfigError"]) == (5, 1, 1)


def test_without_a_command_there_is_help(cli: Run, cli_json: RunJson) -> None:
    assert "Usage: memfolio" in cli()
    assert cli_json(status=2)["error"]["code"] == "input"
    assert cli("--version") == "memfolio 0.1.0\n"
    assert cli_json("--version") == {"version": "0.1.0"}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_an_example(cli: Run, command: str) -> None:
    said = " ".join(cli(command, "--help").split())
    assert f"Example: memfolio {command}" in said
    assert "--json" in said


def test_help_names_the_actions(cli: Run) -> None:
    said = cli("log", "--help").replace("│", "")
    assert all(action.lower() in said for action in Action)


def test_stored_text_cannot_steer_the_terminal(cli: Run, home: Path) -> None:
    cli("remember", "a\x1b[31mred\x07 [bold]b[/bold]", "--key", "k")
    assert "\x1b" not in cli("log")
    assert "[bold]b[/bold]" in cli("log")
    assert safe("a\x1b[0m\u009b\tb\n") == "a\ufffd[0m\ufffd\tb\n"


NOW = datetime(2026, 11, 15, 14, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", NOW),
        ("today", datetime(2026, 11, 15, tzinfo=BERLIN)),
        ("Yesterday", datetime(2026, 11, 14, tzinfo=BERLIN)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=BERLIN)),
        ("2026-03-01T12:00", datetime(2026, 3, 1, 12, tzinfo=BERLIN)),
        ("2026-03-01 12:00:30", datetime(2026, 3, 1, 12, 0, 30, tzinfo=BERLIN)),
        ("2026-03-01T12:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01T12:00+02:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2h ago", datetime(2026, 11, 15, 12, 30, tzinfo=UTC)),
        ("30 minutes ago", datetime(2026, 11, 15, 14, 0, tzinfo=UTC)),
        ("1 day ago", datetime(2026, 11, 14, 14, 30, tzinfo=UTC)),
        ("2 weeks ago", datetime(2026, 11, 1, 14, 30, tzinfo=UTC)),
        ("2w", datetime(2026, 11, 1, 14, 30, tzinfo=UTC)),
        ("999999 weeks ago", None),
        ("20261115", None),
        ("2026-13-01", None),
        ("2026-03-01T25:00", None),
        ("deadbeef", None),
        ("tomorrow", None),
        ("", None),
    ],
)
def test_times_are_read_as_people_write_them(text: str, moment: datetime | None) -> None:
    assert find_time(text, BERLIN, NOW) == moment


def test_program_keeps_answers_and_errors_apart() -> None:
    assert program("remember", "-", stdin="from a pipe").returncode == 0
    done = program("--json", "show")
    assert json.loads(done.stdout)["memories"][0]["content"] == "from a pipe"
    failed = program("show", "M-1-00000000")
    assert (failed.returncode, failed.stdout) == (3, "")
    assert "\x1b" not in failed.stderr


def test_program_ends_quietly_when_nobody_reads_on(home: Path) -> None:
    with Memory.open(home) as memory:
        memory.observe_many([{"role": "user", "content": "x" * 1000} for _ in range(300)])
    done = subprocess.run(
        ["bash", "-c", f'"{PROGRAM}" show | head -n 1'], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""


def test_processes_may_write_at_once(home: Path) -> None:
    started = [subprocess.Popen([PROGRAM, "remember", f"note {n}"], stdout=subprocess.DEVNULL) for n in range(6)]
    assert [each.wait(60) for each in started] == [0] * 6
    with Memory.open(home) as memory:
        assert {item.content for item in memory.vault.entries("main")} == {f"note {n}" for n in range(6)}
        assert memory.status().waiting == 0


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("memfolio re", "remember recall restore reflect reject reason reindex"),
        ("memfolio fact as", "assert"),
        ("memfolio --json mind wa", "want"),
    ],
)
def test_shell_completion_offers_the_commands(words: str, offered: str) -> None:
    count = str(len(words.split()) - 1)
    environ = {**os.environ, "_MEMFOLIO_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": count}
    done = subprocess.run([PROGRAM], env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == offered.split()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("reply", "status", "kept"), [("y\n", 0, False), ("n\n", 1, True)])
def test_person_is_asked_before_several_changes_are_taken_back(
    cli: Run, home: Path, reply: str, status: int, kept: bool
) -> None:
    import pty

    cli("remember", "tea", "--session", "s-1")
    cli("remember", "milk", "--session", "s-1")
    master, terminal = pty.openpty()
    asked = subprocess.Popen([PROGRAM, "undo", "--session", "s-1"], stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    said = ""
    while "[y/N]" not in said:
        said += os.read(master, 65536).decode()
    os.write(master, reply.encode())
    time.sleep(0.1)
    assert asked.wait(60) == status
    os.close(master)
    assert "Undo 2 changes of agents/main/" in said
    assert "-tea" in said
    assert today(home).exists() is kept


def test_the_module_is_the_same_program(home: Path, cli_json: RunJson) -> None:
    cli_json("remember", "Alex prefers tea")
    asked = [sys.executable, "-m", "memfolio", "recall", "tea", "--json"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    assert [hit["content"] for hit in json.loads(done.stdout)["hits"]] == ["Alex prefers tea"]
    wrong = subprocess.run([*asked[:3], "recal"], capture_output=True, text=True, timeout=60, check=False)
    assert (wrong.returncode, wrong.stderr.splitlines()[0]) == (
        2,
        "memfolio: No such command 'recal'. Did you mean 'recall'?",
    )
