"""What a person reads after a command: what went and what came back, in words."""

from __future__ import annotations

import json
import time
from datetime import date
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.serve.cli.call import PERSON
from memfolio.serve.cli.daily import cost
from memfolio.serve.cli.output import Screen
from memfolio.serve.hooks.desk import Desk
from memfolio.serve.hooks.door import PROMPT
from memfolio.serve.hooks.event import HookEvent
from memfolio.serve.hooks.kept import keep
from memfolio.status import Cost, DayTold
from tests.serve.calls import Run, RunJson, program
from tests.serve.test_first_day import talk

TECHNICAL = ("--- a/", "+++ b/", "@@", '{"', "source:", "## ")


def is_plain(said: str) -> bool:
    return not any(each in said for each in TECHNICAL)


# Forget and undo.


def test_forgetting_and_taking_that_back_are_told_in_a_line_each(cli: Run, cli_json: RunJson) -> None:
    cli("remember", "Alex prefers tea", "--tag", "drinks")
    forgotten = cli("forget", "tea", "--yes").splitlines()
    assert forgotten[0] == "-Alex prefers tea"
    assert len(forgotten) == 2
    back = cli("undo", cli_json("log", "--limit", 1)["entries"][0]["seq"]).splitlines()
    assert back[0] == "+Alex prefers tea"
    assert len(back) == 2


def test_undoing_a_session_tells_its_turns_and_no_lines_of_files(cli: Run) -> None:
    cli("observe", "user", "The launch is on Thursday", "--session", "s-1")
    cli("observe", "assistant", "Noted.\n\nIt is in the calendar.", "--session", "s-1")
    said = cli("undo", "--session", "s-1", "--yes")
    assert said.splitlines()[:2] == ["-The launch is on Thursday", "-Noted. It is in the calendar."]
    assert is_plain(said)


def test_undone_page_is_named_above_its_lines(cli: Run, cli_json: RunJson, home: Path) -> None:
    cli("remember", "Alex prefers tea")
    (home / "agents/main/USER.md").write_text("Alex moved to Bergen.\n")
    assert cli_json("log")["entries"][0]["paths"] == ["agents/main/USER.md"]
    said = cli("undo", "3").splitlines()
    assert said[:2] == ["agents/main/USER.md", "-Alex moved to Bergen."]


def test_undone_pin_names_the_memory_by_its_words(cli: Run, cli_json: RunJson) -> None:
    cli("pin", cli_json("remember", "Alex prefers tea")["id"])
    said = cli("undo", "3")
    assert "-pin Alex prefers tea" in said
    assert is_plain(said)


def test_raw_difference_is_still_there_for_programs_and_on_request(cli: Run, cli_json: RunJson) -> None:
    cli("remember", "Alex prefers tea")
    done = cli_json("forget", "tea", "--yes")
    assert "--- a/agents/main/memory/" in done["diff"]
    assert "--- a/agents/main/memory/" in cli("diff", done["seq"])
    assert "--- a/agents/main/memory/" in cli_json("undo", done["seq"])["diff"]


@pytest.mark.parametrize("more", [[], ["--yes"]], ids=["unasked", "yes"])
def test_description_that_fits_several_names_each_with_its_id(cli: Run, cli_json: RunJson, more: list[str]) -> None:
    fitting = {cli_json("remember", text)["id"]: text for text in ("bike cellar 4712", "bike cellar, left of the door")}
    said = cli("forget", "bike cellar", *more, status=4)
    assert all(f"{each} {text}" in said for each, text in fitting.items())
    assert "-bike cellar 4712" in cli("forget", next(iter(fitting)), "--yes")


# Hosts and homes.


@pytest.fixture
def person(settled: None, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user who has Codex and Claude Code."""
    monkeypatch.delenv("MEMFOLIO_HOME", raising=False)
    for name in (".codex", ".claude"):
        (home.parent / name).mkdir()
    return home.parent


@pytest.mark.parametrize("host", ["codex", "claude-code", "cursor", "gemini", "openclaw"])
def test_host_taken_from_another_home_says_from_which_and_how_to_go_back(cli: Run, person: Path, host: str) -> None:
    first, second = person / "memfolio", person / "second"
    assert "no longer uses" not in cli("init", "--host", host)
    words = f"no longer uses {first}, which stays as it is; `memfolio install {host}` switches back"
    assert words in cli("init", second, "--host", host, "--dry-run")
    assert words in cli("init", second, "--host", host)
    back = cli("install", host)
    assert f"no longer uses {second}, which stays as it is" in back
    assert f"`memfolio --home {second} install {host}` switches back" in back
    assert "no longer uses" not in cli("install", host)


def test_uninstalling_from_a_project_says_what_else_uses_the_memory(
    cli: Run, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = person / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    cli("install", "claude-code")
    cli("install", "claude-code", "--scope", "project")
    said = cli("uninstall", "claude-code", "--scope", "project")
    assert f"For all your work it still uses {person / 'memfolio'}; `memfolio uninstall claude-code` ends that" in said
    assert list(project.iterdir()) == []
    assert "does not use memfolio any more" in cli("uninstall", "claude-code")
    assert "still uses" not in cli("uninstall", "claude-code", "--scope", "project")
    (project / ".claude").mkdir()
    (project / ".claude/mine.md").write_text("mine")
    cli("install", "claude-code", "--scope", "project")
    cli("uninstall", "claude-code", "--scope", "project")
    assert [each.name for each in (project / ".claude").iterdir()] == ["mine.md"]


def test_new_home_is_closed_to_other_users_and_an_old_one_is_left_and_told(cli: Run, person: Path) -> None:
    cli("init")
    assert (person / "memfolio").stat().st_mode & 0o777 == 0o700
    assert "other users" not in cli("doctor")
    (person / "memfolio").chmod(0o755)
    cli("remember", "Alex prefers tea")
    assert (person / "memfolio").stat().st_mode & 0o777 == 0o755
    assert f"`chmod 700 {person / 'memfolio'}` keeps it to you" in cli("doctor")


# Export and import.


@pytest.fixture
def watched(cli: Run, home: Path) -> Path:
    """A folder of notes that a home watches."""
    notes = home.parent / "notes"
    notes.mkdir()
    (notes / "kim.md").write_text("Kim keeps bees on the roof.\n")
    cli("remember", "Alex prefers tea")
    cli("watch", notes)
    return notes


def test_ending_of_the_file_decides_how_an_export_is_written(cli: Run, cli_json: RunJson, watched: Path) -> None:
    folder = watched.parent
    assert ".jsonl, .tar.gz" in cli("export", folder / "x.zip", status=2)
    assert not (folder / "x.zip").exists()
    assert cli_json("export", folder / "mine.jsonl")["as"] == "jsonl"
    assert (folder / "mine.jsonl").read_text().startswith('{"record": "export"')
    for name in ("mine.tar.gz", "mine.tgz", "mine"):
        assert cli_json("export", folder / name)["as"] == "archive"
        assert (folder / name).read_bytes()[:2] == b"\x1f\x8b"
    assert cli_json("export", folder / "x.zip", "--as", "archive")["as"] == "archive"


def test_export_says_that_watched_notes_stay_out_and_import_that_they_are_searched(cli: Run, watched: Path) -> None:
    folder = watched.parent
    assert f"The notes in {watched} are not in it" in cli("export", folder / "mine.tar.gz")
    came = cli("--home", folder / "other", "import", folder / "mine.tar.gz")
    assert f"`memfolio watch {watched} --stop` ends that" in came


def test_import_of_an_export_says_how_to_undo_it_and_what_came(cli: Run, cli_json: RunJson, watched: Path) -> None:
    folder = watched.parent
    cli("export", folder / "mine.tar.gz")
    other = ("--home", folder / "other")
    came = cli(*other, "import", folder / "mine.tar.gz")
    assert "`memfolio undo 2` undoes it" in came
    entry = cli_json(*other, "log")["entries"][0]
    assert (entry["action"], entry["summary"]) == ("RESTORE", "brought back 2 files of an export")
    assert "imported: 1" in cli(*other, "changed")
    assert "-Alex prefers tea" in cli(*other, "undo", "2")
    assert cli_json(*other, "recall", "tea")["hits"] == []


def test_import_says_that_it_made_a_home(cli: Run, watched: Path) -> None:
    cli("export", watched.parent / "mine.tar.gz")
    for other, source in (("one", "mine.tar.gz"), ("two", "notes")):
        done = program("--home", str(watched.parent / other), "import", str(watched.parent / source))
        assert f"made a home in {watched.parent / other}" in done.stderr


def test_waiting_reflection_is_named_beside_the_proposals(cli: Run, home: Path) -> None:
    cli("remember", "Alex prefers tea")
    assert "No pending proposals" in cli("proposals")
    with Memory.open(home, background=False, speaker="owner") as memory:
        for number in range(12):
            memory.remember(f"Deploy {number} failed because the disk of the build server was full", type="error")
        assert memory.reflections.reflect(memory.vault.home.now(), by=PERSON).items
    said = cli("proposals")
    assert "`memfolio approve`" in said
    assert "Nothing waits" not in said


# What is told and shown of what happened.


def test_counts_of_what_was_told_are_folded_and_shown_on_request(cli: Run, cli_json: RunJson, home: Path) -> None:
    first = cli_json("remember", "Alex prefers tea")["id"]
    with Memory.open(home, background=False) as memory:
        memory.used([first])
        memory.used([first])
    cli("remember", "Kim keeps bees")
    shown = cli("log")
    assert [line.split()[0] for line in shown.splitlines()] == ["#", "5", "2", "1", "and"]
    assert "and 2 counts of what was added to prompts and used; --all shows them" in shown
    assert len(cli("log", "--all").splitlines()) == 6
    assert len(cli("log", "--actor", "bot:auto-detect").splitlines()) == 3
    assert [entry["seq"] for entry in cli_json("log")["entries"]] == [5, 4, 3, 2, 1]
    told = cli("changed")
    assert "and 2 counts of what was added to prompts and used; --all lists them" in told
    assert "  #4  " not in told
    assert "  #4  " in cli("changed", "--all")


def test_watching_notes_and_hiding_one_are_told_in_words(cli: Run, cli_json: RunJson, watched: Path) -> None:
    note = cli_json("recall", "bees")["hits"][0]["id"]
    forgotten = cli("forget", note, "--yes")
    assert forgotten.splitlines()[0] == "-Kim keeps bees on the roof."
    assert "forget Kim keeps bees on the roof." in cli("log")
    told = cli("changed")
    assert "settings and maintenance: 2" in told
    assert "corrected and changed" not in told
    back = cli("undo", "4")
    assert "-forget Kim keeps bees on the roof." in back
    assert note not in back


def test_session_begins_with_what_was_said_and_without_unanswered_questions(home: Path, clock: SettableClock) -> None:
    with Memory.open(home, clock=clock, background=False) as memory:  # all turns are of the same millisecond
        for number in range(8):
            memory.observe("user", f"Where is the door number {number}?", session=f"s-{number}")
        for thing in ("launch", "fair", "exam", "review"):
            memory.observe("user", f"When is the {thing}?", session=f"s-{thing}")
            memory.observe("assistant", f"The {thing} is on Thursday.", session=f"s-{thing}")
        memory.observe("user", "The vault is green", session="s-21")
        told = memory.load_context(session="s-30").to_prompt()
        assert "The vault is green" in told
        for thing in ("launch", "fair", "exam", "review"):
            assert f"When is the {thing}?" in told
            assert f"The {thing} is on Thursday." in told
        assert "the door" not in told
        for number in range(30):
            memory.observe("user", f"Statement number {number}", session=f"t-{number}")
        told = memory.load_context(session="s-31").to_prompt()
        assert told.count("Statement number") == 10
        assert "Statement number 29" in told


# Notes, origins and tags.


def test_forgotten_note_says_that_its_file_keeps_the_text(cli: Run, watched: Path) -> None:
    words = f"{watched / 'kim.md'} keeps the text: notes are only hidden here"
    looked = cli("forget", "--about", "Kim", "--dry-run")
    assert words in looked
    assert max(map(len, looked.splitlines())) <= 160
    assert words in cli("forget", "bees", "--yes")


def test_files_that_are_no_notes_are_named_when_a_folder_is_watched(cli: Run, home: Path) -> None:
    notes = home.parent / "notes"
    notes.mkdir()
    for name in ("a.md", "b.txt", "c.org", "d.org", "e.png"):
        (notes / name).write_text("Kim keeps bees.\n")
    said = cli("watch", notes)
    assert "3 files are passed over (2 .org, 1 .txt): notes end in .md or .markdown" in said
    assert "passed over" not in cli("watch", notes, "--stop")


def test_why_does_not_call_the_words_of_a_person_those_of_an_agent(cli: Run, home: Path, watched: Path) -> None:
    (home / "agents/main/USER.md").write_text("Alex moved to Bergen last spring.\n")
    (watched / "2026-10-19.md").write_text("The roof was mended by Lindqvist.\n")
    cli("observe", "user", "The pool locker is number nine", "--session", "s-1")
    for asked in ("Alex moved to Bergen", "The roof was mended by Lindqvist", "The pool locker is number nine"):
        said = cli("why", asked)
        assert "origin agent" not in said
        assert "It rests on what is remembered:" in said
    assert "written       2026-10-19\n" in cli("why", "The roof was mended by Lindqvist")
    assert "origin owner" in cli("why", "Alex prefers tea")


def test_tags_of_what_is_remembered_by_a_prompt_are_no_words_of_it(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        for asked in ("Remember that the pool locker code is #4712", "Merke dir: Der Schlüssel liegt unter der Matte"):
            assert memory.act_on(asked) is not None
        kept = [hit.memory for hit in memory.recall("pool locker code Schlüssel Matte")]
    assert len(kept) == 2
    tags = {tag for each in kept for tag in each.tags}
    assert not tags & {"4712", "pool", "locker", "code", "liegt", "der", "der-schlüssel"}


# Init.


def test_init_takes_no_for_an_answer_about_hosts(person: Path) -> None:
    for number, word in enumerate(("n", "No", "none")):
        status, heard = talk("init", str(person / f"mine-{number}"), answers=["Alex", word])
        assert (status, "there is no host" in heard) == (0, False), heard
    assert not (person / ".codex/config.toml").exists()


def test_init_names_the_notes_that_are_there_and_how_to_search_them(cli: Run, person: Path) -> None:
    assert "There are notes" not in cli("init", "--dry-run")
    (person / "notes").mkdir()
    (person / "notes/kim.md").write_text("Kim keeps bees.\n")
    status, heard = talk("init", answers=["", "Alex", "n"])
    assert status == 0, heard
    assert f"There are notes in {person / 'notes'}: `memfolio watch {person / 'notes'}`" in " ".join(heard.split())
    assert "There are notes" not in cli("init", person / "other", "--notes", person / "notes", "--dry-run")


def test_request_to_forget_finds_what_the_prompt_before_it_asked_to_remember(home: Path) -> None:
    Memory.open(home, background=False).close()

    def prompt(words: str) -> HookEvent:
        return HookEvent(
            host="claude-code",
            name="UserPromptSubmit",
            act=PROMPT,
            agent=None,
            session="s-1",
            turn="",
            words=words,
            source="",
            transcript="",
            is_heard=True,
        )

    asked, forgetting = prompt("Remember that the shed key is blue"), prompt("Forget about the shed key")
    keep(home, f"{time.time_ns():020d}-1", asked)
    keep(home, f"{time.time_ns():020d}-2", forgetting)
    desk = Desk(home)
    told = json.loads(desk.answer(forgetting))["hookSpecificOutput"]["additionalContext"]
    desk.close()
    with Memory.open(home, background=False) as memory:
        kept = [hit.memory for hit in memory.recall("shed key") if hit.memory.source == "trigger"]
    assert len(kept) == 1
    assert kept[0].id in told


# Help.


def test_help_and_version_are_understood_as_people_type_them(cli: Run) -> None:
    assert cli("help", "recall") == cli("recall", "--help")
    assert cli("help", "fact", "assert") == cli("fact", "assert", "--help")
    assert cli("version") == cli("--version")


def test_missing_argument_says_what_is_wanted_with_an_example(cli: Run) -> None:
    said = cli("core", "add", "I am vegetarian", status=2)
    assert 'wanted: memfolio core add BLOCK TEXT, as in: memfolio core add "Active Context"' in said


@pytest.mark.parametrize("group", ["entity", "fact", "mind"])
def test_group_without_a_command_lists_its_commands(cli: Run, cli_json: RunJson, group: str) -> None:
    assert cli(group).rstrip() == cli(group, "--help").rstrip()
    assert f"`memfolio {group} --help`" in cli_json(group, status=2)["error"]["hint"]


def test_few_known_words_are_all_named_and_far_ones_not_suggested(cli: Run, settled: None) -> None:
    assert "known are claude-code, codex, gemini, cursor, openclaw" in cli("uninstall", "vscode", status=2)
    cli("init")
    assert "did you mean" not in cli("recall", "x", "--type", "nothing", status=2)
    assert "did you mean preference?" in cli("recall", "x", "--type", "preferance", status=2)
    assert "did you mean" not in cli("install", "vscode", status=2)


def test_service_status_says_that_nothing_is_installed(cli: Run, settled: None) -> None:
    cli("init")
    assert "has no service for this home" in cli("service", "status", "--platform", "systemd")


def test_changes_of_a_time_in_words_name_notes_and_fold_turns(cli: Run, watched: Path) -> None:
    for text in ("hello", "how are you"):
        cli("observe", "user", text, "--session", "s-1")
    told = cli("changed", "this", "week")
    assert "notes added or edited: 1\n  20" in told
    assert str(watched / "kim.md") in told
    assert "2 turns of conversation s-1, the last: #5  how are you" in told
    assert "hello" not in told
    assert "which folders of notes are searched" in told
    assert "is not a time" in cli("changed", "gibberish", status=2)


def test_cost_says_what_hooks_added_and_when_that_is_counted(
    cli: Run, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli("init")
    told = DayTold(day=date(2026, 11, 15), conversations=2, times=3, silent=1, tokens=90, told=5, cited=1)
    with Memory.open(home, background=False) as memory:
        Screen().show(cost(Cost(told=(told,)), memory))
    said = capsys.readouterr().out
    assert "counted when a conversation ends" in said
    assert (
        "context added 3 times: 5 memories, 1 cited, 0 corrected; 90 tokens, 45 a conversation; none for 1 prompt"
        in said
    )
