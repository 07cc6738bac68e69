"""A home that somebody else holds: it can be read at once, and written as soon as it is free."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memfolio.errors import HomeBusyError
from memfolio.memory import Memory
from memfolio.vault.disk import Disk, FileLock
from memfolio.vault.vault import PATIENCE, Vault
from tests.vault.proof import BOT, check_home, configured, item

LOG = "agents/main/memory/2026-11-15.md"


@contextmanager
def held(home: Path) -> Iterator[None]:
    """Somebody else has the write lock: to the system, another handle of its file is another process."""
    lock = FileLock(home / ".memfolio" / "lock", Disk(), timeout=5)
    with lock():
        yield
    lock.close()


@pytest.fixture
def furnished(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMFOLIO_EMBEDDING_PROVIDER", "hashed")
    monkeypatch.setenv("MEMFOLIO_LOCK_TIMEOUT", "3")
    with Memory.open(home, background=False) as memory:
        memory.remember("Alex prefers tea")
    return home


def contents(memory: Memory, query: str) -> list[str]:
    return [hit.memory.content for hit in memory.recall(query)]


@pytest.mark.serial
def test_a_held_home_opens_for_reading_and_says_so(furnished: Path) -> None:
    began = time.monotonic()
    with held(furnished), Memory.open(furnished, background=False) as memory:
        assert contents(memory, "tea") == ["Alex prefers tea"]
        assert any("another process" in each for each in memory.recall("tea").degraded)
        assert memory.status().changes == 2
        assert memory.vault.commit() == -1
        assert "another process" in str(memory.vault.committer.obstacle)
    assert time.monotonic() - began < PATIENCE + 1.5


def test_edits_of_a_held_home_are_found(furnished: Path) -> None:
    [log] = furnished.glob("agents/main/memory/*.md")
    with held(furnished), Memory.open(furnished, background=False) as memory:
        log.write_text(log.read_text().replace("tea", "coffee"))
        assert contents(memory, "coffee") == ["Alex prefers coffee"]


@pytest.mark.serial
def test_a_write_waits_for_the_whole_timeout_then_fails_with_a_hint(furnished: Path) -> None:
    with held(furnished), Memory.open(furnished, background=False) as memory:
        began = time.monotonic()
        with pytest.raises(HomeBusyError) as caught:
            memory.remember("too early")
        assert 2.9 < time.monotonic() - began < 5
        assert caught.value.hint


def test_a_home_that_is_free_again_is_written_and_told_apart_from_a_held_one(furnished: Path) -> None:
    with held(furnished):
        memory = Memory.open(furnished, background=False)
        assert memory.vault.may_pass
    with memory:
        memory.remember("Bo prefers milk")
        assert memory.vault.trouble is None
        assert contents(memory, "milk")[:1] == ["Bo prefers milk"]
        assert memory.recall("milk").degraded == ()


def test_a_reader_notices_by_itself_that_the_home_is_free_again(furnished: Path) -> None:
    with held(furnished):
        memory = Memory.open(furnished, background=False)
        contents(memory, "tea")
    with memory, Memory.open(furnished, background=False) as other:
        other.remember("Bo prefers milk")
        assert contents(memory, "milk")[:1] == ["Bo prefers milk"]
        assert memory.vault.trouble is None


@pytest.mark.serial
def test_a_home_that_is_held_while_it_is_open_still_answers(furnished: Path) -> None:
    with Memory.open(furnished, background=False) as memory:
        contents(memory, "tea")
        with Memory.open(furnished, background=False) as other:
            other.remember("Bo prefers milk")
        with held(furnished):
            began = time.monotonic()
            assert contents(memory, "milk")[:1] == ["Bo prefers milk"]
            assert contents(memory, "tea")[:1] == ["Alex prefers tea"]
            assert time.monotonic() - began < PATIENCE + 1
        memory.remember("Cy prefers water")
        assert contents(memory, "water")[:1] == ["Cy prefers water"]


def test_what_was_written_before_the_home_was_held_reaches_git(home: Path) -> None:
    with Vault.open(config=configured(home)) as first:
        first.add("main", [item("first")], BOT)
        with Vault.open(config=configured(home)) as second:
            done = {second.add("main", [item("second")], BOT).ids[0]: "second"}
        with held(home):
            assert first.refresh()
            assert first.may_pass
    check_home(home, done)


def test_a_person_who_edited_a_held_home_is_in_the_trail_when_it_is_free(furnished: Path) -> None:
    [log] = furnished.glob("agents/main/memory/*.md")
    log.write_text(log.read_text().replace("tea", "coffee"))
    with held(furnished):
        vault = Vault.open(furnished)
    with vault:
        assert [line.by.actor for line in vault.trail.lines()][-1] != "human"
        vault.refresh()
        assert [line.by.actor for line in vault.trail.lines()][-1] == "human"
