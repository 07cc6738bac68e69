"""What is forgotten or corrected does not live on in what was made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.memory import Memory
from memfolio.tend.tend import JOBS
from memfolio.types import MemoryItem, Store
from memfolio.vault.vault import OWNER

SECRET = "Quendolina hides the key under the mat"


@pytest.fixture
def memory(home: Path, clock: SettableClock) -> Memory:
    return Memory.open(home, clock=clock, background=False, speaker="owner")


def tended(memory: Memory, clock: SettableClock) -> None:
    clock.advance(days=40)
    found = memory.tend(jobs=[job.name for job in JOBS])
    assert not [done.error for done in found.done if done.error]


def read(home: Path) -> str:
    with Memory.open(home, background=False) as memory:
        pages = [path for path in sorted(memory.vault.states()) if path.endswith(".md") and "/archive/" not in path]
        return "\n".join((memory.vault.read(path) or b"").decode() for path in pages)


def talk(memory: Memory) -> MemoryItem:
    for number in range(6):
        memory.observe("user", f"We talked about the garden, part {number}.", session="s-1")
    return memory.observe("user", f"{SECRET}.", session="s-1")


def test_forgotten_turn_is_on_no_page_and_in_no_context(memory: Memory, clock: SettableClock, home: Path) -> None:
    turn = talk(memory)
    memory.core.pin(turn.id)
    tended(memory, clock)
    assert "Quendolina" in read(home)
    memory.forget(turn.id)
    assert "Quendolina" not in read(home)
    assert not any("Quendolina" in hit.memory.content for hit in memory.recall("Quendolina key"))
    assert "Quendolina" not in (memory.context("Where does Quendolina hide the key?", include=["core"]) or "")


def test_forgetting_is_one_change_with_the_pages_that_cite_it_and_its_undo_brings_back_both(
    memory: Memory, clock: SettableClock, home: Path
) -> None:
    turn = talk(memory)
    memory.core.pin(turn.id)
    tended(memory, clock)
    before, head = read(home), memory.vault.head
    shown = memory.forget(turn.id, dry_run=True)
    assert shown.diff.count(f"-{SECRET}") == 1
    assert "b/agents/main/MEMORY.md" in shown.diff
    assert (read(home), memory.vault.head) == (before, head)
    done = memory.forget(turn.id)
    assert done.diff == shown.diff
    assert done.receipt is not None
    assert "agents/main/MEMORY.md" in done.receipt.paths
    lines = [line for line in memory.vault.trail.lines() if line.seq > head]
    assert [line.seq for line in lines if line.paths] == [done.receipt.seq]
    memory.audit.undo([done.receipt.seq], by=OWNER)
    assert read(home) == before
    assert [hit.memory.id for hit in memory.recall("Quendolina key", limit=1)] == [turn.id]


def test_forgetting_a_turn_leaves_what_was_remembered_on_purpose(memory: Memory, clock: SettableClock) -> None:
    kept = memory.remember("The user lives in Berlin")
    memory.pin(kept.id)
    turn = memory.observe("user", "I live in Berlin.", session="s-1")
    memory.end_session("s-1")
    memory.forget(turn.id)
    found = memory.get(kept.id)
    assert found is not None
    assert found.forgotten_at is None


def test_what_is_in_the_vault_stays_there_when_its_company_is_forgotten(memory: Memory, clock: SettableClock) -> None:
    kept = memory.remember("We never sell data", type="decision", store="vault")
    turn = talk(memory)
    tended(memory, clock)
    memory.forget(turn.id)
    found = memory.get(kept.id)
    assert found is not None
    assert found.store is Store.VAULT


def test_what_two_turns_told_goes_with_the_second(memory: Memory, clock: SettableClock) -> None:
    turns = []
    for number in range(2):
        turns.append(memory.observe("user", "I live in Berlin.", session=f"s-{number}"))
        memory.end_session(f"s-{number}")
        clock.advance(days=1)
    memory.forget(turns[0].id)
    memory.forget(turns[1].id)
    assert memory.recall("Berlin", kinds=["semantic"]) == []


def test_forgetting_what_was_learned_wrongly_brings_back_what_it_replaced(memory: Memory, clock: SettableClock) -> None:
    memory.observe("user", "I live in Berlin.", session="s-1")
    memory.end_session("s-1")
    clock.advance(days=1)
    memory.observe("user", "I live in Paris.", session="s-2")
    memory.end_session("s-2")
    [wrong] = memory.recall("Where does the user live?", kinds=["semantic"])
    edit_result = memory.forget(wrong.memory.id)
    assert len(edit_result.memories) == 1
    [right] = memory.recall("Where does the user live?", kinds=["semantic"])
    assert "Berlin" in right.memory.content


def test_correction_reaches_summaries_and_core_memory(memory: Memory) -> None:
    wrong = memory.remember("The password hint is Rosebud", tags=["hint"], importance=0.9, store="short_term")
    memory.remember("Hints are kept in the vault", tags=["hint"], importance=0.9, store="short_term")
    memory.core.pin(wrong.id)
    memory.consolidate()
    right = memory.correct(wrong.id, "The password hint is Tulip")
    assert not any("Rosebud" in hit.memory.content for hit in memory.recall("password hint"))
    assert "Rosebud" not in memory.core.read().text
    assert right.id in memory.core.read().text


def test_correction_takes_the_place_of_what_was_learned_from_it(memory: Memory) -> None:
    turn = memory.observe("user", "I live in Berlin.", session="s-1")
    memory.end_session("s-1")
    memory.correct(turn.id, "I live in Bern.")
    assert not any("Berlin" in hit.memory.content for hit in memory.recall("Berlin", kinds=["semantic"]))


def test_words_that_a_turn_and_its_conclusion_share_mean_the_turn(memory: Memory) -> None:
    turn = memory.observe("user", "I live in Berlin.", session="s-1")
    memory.end_session("s-1")
    edit_result = memory.forget("live Berlin")
    assert edit_result.memories[0].id == turn.id
    assert len(edit_result.memories) == 2
