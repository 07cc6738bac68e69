"""Looking after a home: what is due, once, by one process, and each job on its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import HomeBusyError, InputError, NotOwnerError
from memfolio.memory import Memory
from memfolio.tend.tend import JOBS, alone
from tests.serve.calls import program

PERIODIC = {job.name for job in JOBS if job.period != "always"}


def talk(memory: Memory, clock: SettableClock, days: int = 10) -> None:
    """A conversation a day, and then a day of silence."""
    lines = ("I live in Berlin.", "We decided to use PostgreSQL.", "Anna works at Siemens.", "ok", "I like green tea.")
    for day in range(days):
        for text in lines:
            memory.observe("user", f"{text[:-1]} {day}." if day % 2 else text, session=f"s-{day}")
        clock.advance(days=1)


def run(memory: Memory) -> set[str]:
    return {done.job for done in memory.tend().done}


def test_everything_is_due_at_first_and_only_once_in_its_time(memory: Memory, clock: SettableClock) -> None:
    clock.advance(days=2)  # a Tuesday
    assert run(memory) == {job.name for job in JOBS}
    assert run(memory) & PERIODIC == set()
    clock.advance(days=1)
    assert run(memory) & PERIODIC == {job.name for job in JOBS if job.period in ("beat", "daily")}


def test_second_tending_changes_nothing(memory: Memory, clock: SettableClock) -> None:
    talk(memory, clock)
    first = memory.tend()
    assert not any(done.error for done in first.done)
    assert any(done.changes for done in first.done)
    before = memory.vault.head
    memory.tend()
    memory.tend(jobs=[job.name for job in JOBS])
    assert memory.vault.head == before


def test_dry_run_shows_everything_and_changes_no_byte(memory: Memory, clock: SettableClock, home: Path) -> None:
    talk(memory, clock)
    memory.vault.commit()
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and ".git" not in path.parts}
    shown = memory.tend(dry_run=True)
    after = {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and ".git" not in path.parts}
    assert after == before
    assert "Berlin" in next(done.diff for done in shown.done if done.job == "sessions")


def test_idle_home_is_not_written(memory: Memory, clock: SettableClock) -> None:
    talk(memory, clock)
    memory.tend()
    before = memory.vault.head
    for _ in range(5):
        clock.advance(days=1)
        assert not any(done.error for done in memory.tend().done)
    changed = memory.vault.head - before
    assert changed <= 3  # the week that ended meanwhile


def test_what_was_slept_through_is_caught_up(memory: Memory, clock: SettableClock, home: Path) -> None:
    talk(memory, clock, days=20)
    clock.advance(days=200)
    memory.tend()
    weekly = sorted(path.name for path in (home / "agents/main/memory/weekly").iterdir())
    assert weekly == ["2026-W46.md", "2026-W47.md", "2026-W48.md", "2026-W49.md"]


def test_every_original_text_is_reached_from_what_was_made_of_it(memory: Memory, clock: SettableClock) -> None:
    talk(memory, clock)
    for number in range(6):
        memory.remember(f"Note {number} on tea", tags=["tea"], importance=0.9, store="short_term")
    said = [item for item in memory.vault.entries("main") if not item.derived_from]
    memory.tend()
    clock.advance(days=400)
    memory.tend()
    for item in said:
        found = memory.explain(item.id)
        assert found.memory.content == item.content
    made = [item for item in memory.vault.entries("main") if item.derived_from]
    assert made
    known = {item.id for item in said} | {item.id for item in made}
    for item in made:
        assert {each.id for each in memory.explain(item.id).sources} <= known
        assert memory.explain(item.id).sources


def test_one_process_tends_at_a_time(memory: Memory) -> None:
    with alone(memory.vault), pytest.raises(HomeBusyError, match="another process is tending this home"):
        memory.tend()
    memory.tend()


def test_clock_that_was_ahead_once_does_not_stop_the_daily_jobs(memory: Memory, clock: SettableClock) -> None:
    now = clock.now()
    clock.set(now.replace(year=2099))
    run(memory)
    clock.set(now)
    assert run(memory) >= PERIODIC
    assert run(memory) & PERIODIC == set()


def test_home_of_another_machine_is_not_written_and_shows_what_would_be_done(
    memory: Memory, clock: SettableClock, home: Path
) -> None:
    talk(memory, clock, days=2)
    memory.close()
    owner = home / ".memfolio/owner"
    owner.write_text(json.dumps({**json.loads(owner.read_text()), "machine": "f" * 32, "name": "elsewhere"}))
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    with Memory.open(home, clock=clock, background=False) as reading:
        for verb in (reading.tend, reading.consolidate, lambda: reading.end_session("s-0")):
            with pytest.raises(NotOwnerError):
                verb()
        shown = {done.job: done for done in reading.tend(dry_run=True).done}
        assert reading.end_session("s-0", dry_run=True) is not None
    assert shown["sessions"].did.startswith("2 conversations")
    assert "elsewhere" in shown["sessions"].notes[0]
    assert not any(done.error for done in shown.values())
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_named_conversations_are_over(memory: Memory) -> None:
    for session in ("s-1", "s-2", "s-3"):
        memory.observe("user", f"I live in the town of {session}.", session=session)
    [done] = memory.tend(sessions=["s-1", "s-3"]).done
    assert done.did == "2 conversations, 2 statements learned"


def test_values_that_make_no_sense_are_refused(memory: Memory) -> None:
    calls: list[Callable[[Any], object]] = [
        lambda bad: memory.consolidate(min_importance=bad),
        lambda bad: memory.consolidate(min_access_count=bad),
        lambda bad: memory.tend(jobs=[bad]),
        lambda bad: memory.heed(bad),
        lambda bad: memory.weak(limit=bad),
        lambda bad: memory.used([bad]),
    ]
    for call in calls:
        for bad in (b"", -1, 0.5j):
            with pytest.raises(InputError):
                call(bad)


def test_one_id_may_be_given_as_it_is(memory: Memory) -> None:
    item = memory.remember("The kettle is blue")
    memory.used(item.id)
    found = memory.get(item.id)
    assert found is not None
    assert found.access_count == 1


DIES = """
import os, sys
from datetime import timedelta
from memfolio import Memory

memory = Memory.open(sys.argv[1], background=False)
object.__setattr__(memory.vault.config.learn, "idle", timedelta(0))
memory.tend(on_progress=lambda job, done, total: os.kill(os.getpid(), 9) if done == 12 else None)
"""


def test_killed_tending_leaves_no_lock_and_is_done_again(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        for number in range(30):
            memory.observe("user", f"I live in town {number}.", session=f"s-{number}")
    killed = subprocess.run([sys.executable, "-c", DIES, str(home)], timeout=60, check=False)
    assert killed.returncode == -9
    with Memory.open(home, background=False) as memory:
        for number in range(30):
            memory.end_session(f"s-{number}")
        facts = [item for item in memory.vault.entries("main") if item.source == "extraction"]
        assert len(facts) == len({item.content for item in facts}) == 30


def test_damaged_hint_is_only_a_hint(memory: Memory, home: Path) -> None:
    run(memory)
    for text in ("nonsense", "[]", json.dumps({"main": {"digest": "soon"}}), json.dumps({"main": 3})):
        (home / ".memfolio/tended").write_text(text)
        assert "digest" in run(memory)


def test_unknown_job_is_refused_with_the_nearest(memory: Memory) -> None:
    with pytest.raises(InputError) as caught:
        memory.tend(jobs=["digset"])
    assert caught.value.hint == "did you mean digest?"


def test_job_that_fails_is_told_and_the_others_go_on(memory: Memory, clock: SettableClock, home: Path) -> None:
    talk(memory, clock, days=2)
    (home / "agents/main/memory/weekly").mkdir(parents=True)
    (home / "agents/main/memory/weekly/2026-W46.md").mkdir()
    clock.advance(days=8)
    done = {each.job: each for each in memory.tend().done}
    assert done["sessions"].did
    assert done["retention"].error == ""


def test_command_ends_conversations_and_names_the_first_changes(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        for number in range(7):
            memory.observe("user", f"I live in town {number}.", session=f"s-{number}")
    named = [word for number in range(7) for word in ("--session", f"s-{number}")]
    done = program("--home", str(home), "tend", *named)
    assert done.stdout.startswith("sessions: 7 conversations, 7 statements learned  (change ")
    assert done.stdout.endswith(", …)\n")
