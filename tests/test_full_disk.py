"""A disk without room, acted out below the Memory object: every verb says so, and nothing is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from memfolio import DiskFullError, Memory
from memfolio.clock import SettableClock
from memfolio.types import Attribution
from memfolio.vault.disk import Disk
from memfolio.vault.vault import Vault
from tests.disks import FullDisk, QuickDisk
from tests.vault.proof import configured

PERSON = Attribution(actor="human", trigger="cli")
Verb = Callable[[Memory, list[str]], object]
VERBS: dict[str, Verb] = {
    "remember": lambda memory, ids: memory.remember("Bo prefers milk"),
    "observe": lambda memory, ids: memory.observe("user", "I like ham", session="s-2"),
    "correct": lambda memory, ids: memory.correct(ids[0], "Alex prefers coffee"),
    "forget": lambda memory, ids: memory.forget(ids[1]),
    "confirm": lambda memory, ids: memory.confirm(ids[2]),
    "pin": lambda memory, ids: memory.pin(ids[2]),
    "archive": lambda memory, ids: memory.archive(ids[2]),
    "purge": lambda memory, ids: memory.purge(ids[3]),
    "used": lambda memory, ids: memory.used(ids[0]),
    "checkpoint": lambda memory, ids: memory.checkpoint("Migrating the login"),
    "flush": lambda memory, ids: memory.flush([{"role": "user", "content": "We decided to use PKCE."}], session="s-3"),
    "end of a session": lambda memory, ids: memory.end_session("s-1"),
    "core": lambda memory, ids: memory.core.add("Active Context", "Moving"),
    "fact": lambda memory, ids: memory.facts.assert_("Acme", "hasCity", "Rome"),
    "case": lambda memory, ids: memory.cases.store(
        {"context": "Tests fail"}, {"actions": ["rerun"]}, {"success": True}
    ),
    "mind": lambda memory, ids: memory.mind.add("belief", "Sky is blue"),
    "procedure": lambda memory, ids: memory.procedures.add("Test", steps=["Run"]),
    "propose": lambda memory, ids: memory.propose("Di prefers wine"),
    "reflect": lambda memory, ids: memory.reflect(),
    "approve": lambda memory, ids: memory.reflections.approve(edited=True, by=PERSON),
    "agent": lambda memory, ids: memory.agents.create("other", by=PERSON),
    "undo": lambda memory, ids: memory.audit.undo([3], by=PERSON),
    "rollback": lambda memory, ids: memory.audit.rollback(to=memory.vault.home.now(), by=PERSON),
}


def opened(home: Path, disk: Disk, clock: SettableClock) -> Memory:
    vault = Vault.open(config=configured(home, speaker="owner"), clock=clock, disk=disk)
    return Memory(vault, "main", background=False)


def furnished(memory: Memory) -> list[str]:
    ids = [memory.remember(f"Alex prefers tea number {number}").id for number in range(4)]
    memory.observe("user", "I live in Rome and I prefer green tea.", session="s-1")
    memory.reflect()
    return ids


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_that_the_disk_is_full_and_works_when_there_is_room(
    verb: str, home: Path, clock: SettableClock
) -> None:
    disk = FullDisk()
    with opened(home, disk, clock) as memory:
        ids = furnished(memory)
        disk.room = 0
        for _ in range(2):
            with pytest.raises(DiskFullError) as caught:
                VERBS[verb](memory, ids)
            assert "disk is full" in caught.value.message
            assert "free some space" in caught.value.hint
            assert memory.get(ids[0])
            assert memory.recall("tea")
            assert memory.status().memories
        disk.room = None
        VERBS[verb](memory, ids)
    with opened(home, QuickDisk(), clock) as memory:
        assert [each.level for each in memory.vault.verify() if each.level != "ok"] == []


def test_a_home_on_a_full_disk_opens_to_be_read_with_what_a_person_wrote_meanwhile(
    home: Path, clock: SettableClock
) -> None:
    with opened(home, QuickDisk(), clock) as memory:
        furnished(memory)
    with (home / "agents/main/MEMORY.md").open("a", encoding="utf-8") as file:
        file.write("\n## Critical Facts\n\n- The boiler is in the attic\n")
    disk = FullDisk()
    disk.room = 0
    with opened(home, disk, clock) as memory:
        assert memory.recall("tea")
        assert "the disk is full" in str(memory.status().trouble)
        assert any("boiler" in line.text for block in memory.core.read().blocks for line in block.items)
        with pytest.raises(DiskFullError):
            memory.remember("Bo prefers milk")
        disk.room = None
        memory.remember("Bo prefers milk")
        assert memory.status().trouble is None


def check_tending(home: Path, clock: SettableClock, step: int) -> None:
    """Have the disk fill up at one step of tending after the other, each time in the same home."""
    with opened(home, QuickDisk(), clock) as memory:
        furnished(memory)
        asked = memory.vault.states().keys()
    clock.advance(days=15)
    disk, room = FullDisk(), 0
    while room == 0 or disk.refused:
        copy = home.parent / f"home-{room}"
        shutil.copytree(home, copy, symlinks=True)
        disk = FullDisk()
        with opened(copy, disk, clock) as memory:
            disk.room = room
            with suppress(DiskFullError):
                errors = [each.error for each in memory.tend().done if each.error]
                assert all("the disk is full" in each for each in errors), errors
                assert errors or not disk.refused
            disk.room = None
            assert not [each.error for each in memory.tend().done if each.error]
            assert [each.level for each in memory.vault.verify() if each.level != "ok"] == []
            assert memory.vault.states().keys() >= asked
            learned = [each.content for each in memory.vault.entries("main") if each.source == "extraction"]
            assert len(learned) == len(set(learned))
        shutil.rmtree(copy)
        room += step
    assert room > 2 * step


def test_tending_tells_of_a_disk_that_fills_up_meanwhile_and_goes_on_when_there_is_room(
    home: Path, clock: SettableClock
) -> None:
    check_tending(home, clock, step=7)


@pytest.mark.long
def test_tending_tells_of_a_disk_that_fills_up_at_any_step(home: Path, clock: SettableClock) -> None:
    check_tending(home, clock, step=1)
