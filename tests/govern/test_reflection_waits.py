"""A reflection that waits takes up what comes meanwhile, and one that nobody answers blocks nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.types import Approval, Attribution

OWNER = Attribution(actor="human", approval=Approval.APPROVED, trigger="approve")


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(datetime(2026, 5, 4, 16, tzinfo=UTC))


@pytest.fixture
def memory(home: Path, clock: SettableClock) -> Iterator[Memory]:
    with Memory.open(home, clock=clock, background=False) as memory:
        yield memory


def a_day(memory: Memory, clock: SettableClock, text: str) -> None:
    session = f"s-{clock.now():%m%d}"
    memory.observe("user", text, session=session)
    clock.advance(hours=2)
    memory.end_session(session)
    clock.advance(hours=22)
    memory.tend()


def waiting(memory: Memory) -> str:
    pending = memory.reflections.pending()
    assert pending is not None
    return pending.text


def test_what_comes_while_a_reflection_waits_is_added_to_it(memory: Memory, clock: SettableClock) -> None:
    a_day(memory, clock, "My name is Nuala Brandt and I live in Leeds.")
    assert "Nuala" in waiting(memory)
    a_day(memory, clock, "I am allergic to hazelnuts.")
    assert "Nuala" in waiting(memory)
    assert "hazelnuts" in waiting(memory)


def test_page_that_a_person_edits_is_left_to_them_for_two_weeks(
    memory: Memory, clock: SettableClock, home: Path
) -> None:
    a_day(memory, clock, "My name is Nuala Brandt and I live in Leeds.")
    pending = memory.reflections.pending()
    assert pending is not None
    page = home / pending.path
    page.write_text(page.read_text().replace("Nuala Brandt", "Nuala B."))
    a_day(memory, clock, "I am allergic to hazelnuts.")
    assert "Nuala B." in waiting(memory)
    assert "hazelnuts" not in waiting(memory)
    clock.advance(days=14)
    a_day(memory, clock, "My sister Mia lives in Oslo.")
    assert page.exists()
    assert "Nuala B." not in waiting(memory)


def test_what_is_forgotten_leaves_core_memory_and_what_reflections_tell(
    memory: Memory, clock: SettableClock, home: Path
) -> None:
    a_day(memory, clock, "I am allergic to latex.")
    memory.reflections.approve(by=OWNER)
    meta = home / "agents/main/memory/meta"
    core, log = home / "agents/main/MEMORY.md", meta / "reflections/log.md"
    assert "allergic to latex" in core.read_text()
    assert "- Learned: The user is allergic to latex" in log.read_text()
    evolution = "# Evolution\n\n## Summary\n\n**What became known, after 10 reflections** (2026-05-05): "
    (meta / "evolution.md").write_text(
        f"{evolution}Learned since 2026-05-05: It rains; The user is allergic to latex.\n"
    )
    memory.sync()
    memory.forget("allergic to latex")
    assert "latex" not in core.read_text() + log.read_text()
    assert (meta / "evolution.md").read_text() == f"{evolution}Learned since 2026-05-05: It rains.\n"


def test_approval_learns_nothing_twice(memory: Memory, clock: SettableClock, home: Path) -> None:
    a_day(memory, clock, "My name is Nuala Brandt and I live in Leeds.")
    pending = memory.reflections.pending()
    assert pending is not None
    memory.reflections.approve(shown=pending.shown, by=OWNER)
    a_day(memory, clock, "I live in Leeds, as you know.")
    assert (home / "agents/main/MEMORY.md").read_text().count("Leeds") == 1
    learned = [each for each in memory.vault.entries("main") if each.source == "extraction"]
    assert len([each for each in learned if "lives in Leeds" in each.content]) == 1
