"""What was acknowledged is there for every verb that takes its id, whatever state the index is in.

An id is in a file and not in the index while
- its writer could not file it, because another process had the index, or had none that was up to date;
- others change files as quickly as a reader compares them;
- its line in the trail could not be written, or whoever wrote it died before it was;
- a file could not be read when it was to be filed.
A look-up that finds nothing makes sure of the files before it says so, or says that it cannot.
"""

from __future__ import annotations

import errno
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import apsw
import pytest

from memfolio import Memory
from memfolio.embed.embedder import HashedEmbedder
from memfolio.errors import ConflictError, HomeBusyError, IndexBusyError, MemfolioError, NotFoundError
from memfolio.index.database import newest
from memfolio.vault.journal import FileState
from memfolio.vault.vault import OWNER, Vault
from tests.disks import Crash, CrashingDisk, QuickDisk
from tests.index.proof import opened
from tests.vault.conftest import Tally
from tests.vault.proof import BOT, configured, fork, item, kill


def restore(memory: Memory, mark: str) -> None:
    with pytest.raises(ConflictError, match="is not forgotten"):
        memory.restore(mark)


VERBS: dict[str, Callable[[Memory, str], object]] = {
    "get": lambda memory, mark: memory.get(mark) or pytest.fail("not found"),
    "correct": lambda memory, mark: memory.correct(mark, "Alex prefers coffee"),
    "confirm": lambda memory, mark: memory.confirm(mark),
    "pin": lambda memory, mark: memory.pin(mark),
    "forget": lambda memory, mark: memory.forget(mark),
    "explain": lambda memory, mark: memory.explain(mark),
    "archive": lambda memory, mark: memory.archive(mark, by=OWNER),
    "restore": restore,
    "purge": lambda memory, mark: memory.purge(mark, dry_run=True),
}


class PressedVault(Vault):
    """Somebody else writes whenever the files are looked at, if the home can be had for it."""

    other: Vault | None = None

    def states(self, earlier: Mapping[str, FileState] | None = None) -> dict[str, FileState]:
        if self.other is not None:
            with suppress(HomeBusyError):
                self.other.add("main", [item("It rains")], BOT)
        return super().states(earlier)


class LosingDisk(QuickDisk):
    """Has no room for the trail, while `is_full`."""

    is_full = False

    def append(self, path: Path, data: bytes, *, sync: bool) -> object:  # type: ignore[override]
        if self.is_full and "audit" in path.parts:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return super().append(path, data, sync=sync)


def remembering(vault: Vault) -> Memory:
    return Memory(vault, "main", embedder=HashedEmbedder(16), background=False)


@contextmanager
def held(memory: Memory) -> Iterator[None]:
    """Another process is writing to the index."""
    path = newest(memory.vault.config.cache, "main")
    assert path is not None
    connection = apsw.Connection(str(path))
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close(True)


def behind(memory: Memory, text: str) -> str:
    """The id of something acknowledged that could not be filed."""
    memory.recall("tea")
    with held(memory):
        return memory.observe("user", text).id


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS.keys())
def test_every_verb_finds_what_could_not_be_filed_though_others_write_all_the_time(
    home: Path, verb: Callable[[Memory, str], object]
) -> None:
    vault = PressedVault.open(config=configured(home), disk=QuickDisk())
    with remembering(vault) as memory:
        other = Vault.open(config=configured(home, lock_timeout=0.05), disk=QuickDisk())
        with other:
            mark = behind(memory, "Alex prefers tea")
            vault.other = other
            verb(memory, mark)
            vault.other = None


def test_a_memory_is_not_said_to_be_missing_while_another_process_has_the_index(home: Path) -> None:
    with opened(home) as memory:
        memory.recall("tea")
        with held(memory):
            mark = memory.observe("user", "Alex prefers tea").id
            with pytest.raises(IndexBusyError):
                memory.correct(mark, "Alex prefers coffee")
        assert memory.correct(mark, "Alex prefers coffee").content == "Alex prefers coffee"


@pytest.mark.parametrize("is_killed", [False, True])
def test_what_could_not_be_entered_in_the_trail_is_found(home: Path, is_killed: bool) -> None:
    disk = LosingDisk()
    writer = remembering(Vault.open(config=configured(home), disk=disk))
    with opened(home) as other:
        writer.observe("user", "It rains")
        other.recall("rain")
        disk.is_full = True
        mark = writer.observe("user", "Alex prefers tea").id
        if is_killed:  # then nobody is left who knows of it
            assert other.correct(mark, "Alex prefers coffee").content == "Alex prefers coffee"
        disk.is_full = False
        found = writer.get(mark)
        assert found is not None
        assert found.content == "Alex prefers tea"
    writer.close()


def test_an_id_that_never_was_is_still_not_found(home: Path) -> None:
    with opened(home) as memory:
        memory.observe("user", "It rains")
        head = memory.vault.head
        for mark in ("M-1-00000000", "M-999999999999999-00000000", "P-0123456789abcdef", "nothing"):
            assert memory.get(mark) is None
        with pytest.raises(NotFoundError):
            memory.correct("M-1-00000000", "Alex prefers coffee")
        assert memory.vault.head == head


def test_what_was_acknowledged_is_found_wherever_another_writer_dies(home: Path, tally: Tally) -> None:
    """The other one dies at every step of a write, having been acknowledged one before."""
    with opened(home, git_enabled=False) as memory:
        for k in count(1):
            disk = CrashingDisk(0)
            dying = remembering(Vault.open(config=configured(home, git_enabled=False), disk=disk))
            theirs = dying.observe("user", f"It rains for the {k}th time").id
            disk.die_in(k)
            with suppress(Crash, MemfolioError):
                dying.observe("user", f"It snows for the {k}th time")
            if disk.last is None:
                disk.die_in(0)  # never
                dying.close()
                break
            mine = memory.observe("user", f"Alex prefers tea number {k}").id
            assert memory.correct(theirs, "It does not rain").content == "It does not rain"
            assert memory.correct(mine, "Alex prefers coffee").content == "Alex prefers coffee"
        tally("writer killed beside one that asks for its ids", k)
    assert k > 5


def observe_and_correct(home: Path, name: str, seconds: float, said: Path) -> None:
    """Note whatever is acknowledged and then said not to be there."""
    until = time.monotonic() + seconds
    with opened(home, background=True, commit_delay=0.1) as memory:
        for number in count():
            if time.monotonic() > until:
                return
            with suppress(HomeBusyError, IndexBusyError):
                mark = memory.observe("user", f"{name} says {number}").id
                try:
                    memory.correct(mark, f"{name} says {number} and more")
                except NotFoundError as error:
                    said.write_text(f"{mark}: {error!r}")
                    raise


def two_writers(home: Path, said: Path, trials: int, seed: int) -> None:
    """Two processes that ask for what they wrote, one of which is killed at any moment, again and again."""
    chance = random.Random(seed)
    opened(home).close()
    for trial in range(trials):
        crew = [
            fork(lambda n=n, t=trial: observe_and_correct(home, f"writer {n} in {t}", 3, said))  # type: ignore[misc]
            for n in range(2)
        ]
        time.sleep(chance.uniform(0.2, 1.2))
        kill(crew[0])
        time.sleep(chance.uniform(0.0, 0.5))
        kill(crew[1])
        assert not said.exists(), said.read_text()


def test_two_writers_are_never_told_that_what_they_wrote_is_not_there(home: Path, tmp_path: Path, tally: Tally) -> None:
    two_writers(home, tmp_path / "said", 4, 1)
    tally("two writers that read their own writes, one killed", 4)


@pytest.mark.long
def test_two_writers_many_times(home: Path, tmp_path: Path, tally: Tally) -> None:
    two_writers(home, tmp_path / "said", 309, 2)
    tally("two writers that read their own writes, one killed", 309)
