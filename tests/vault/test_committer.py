"""Changes get into git soon, and in company: a steady stream makes a commit now and then, not one for every few."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memfolio.vault.committer import MAX_BATCH
from memfolio.vault.vault import Vault
from tests.disks import QuickDisk
from tests.vault.proof import BOT, configured, item

DELAY = 0.5


class BustlingDisk(QuickDisk):
    """Somebody does something in the middle of every commit."""

    during_commit: Callable[[], object] = staticmethod(lambda: None)

    def sync_dir(self, path: Path) -> None:
        super().sync_dir(path)
        if path.parts[-2:] == (".git", "objects"):
            self.during_commit()


def commits(vault: Vault) -> int:
    return len(set(vault.history.seqs().values()))


def opened(home: Path) -> Vault:
    return Vault.open(config=configured(home, commit_delay=DELAY))


def seconds_until(is_so: Callable[[], bool], *, patience: float = 10) -> float:
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < patience
        time.sleep(0.01)
    return time.monotonic() - began


def add_for(vault: Vault, seconds: float) -> list[float]:
    """When each of a steady stream of changes was made."""
    made: list[float] = []
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        vault.add("main", [item(f"turn {len(made)}")], BOT)
        made.append(time.monotonic())
    return made


def test_a_steady_stream_makes_few_commits_and_is_in_git_within_five_seconds(home: Path) -> None:
    with opened(home) as vault:
        vault.commit()
        before, first = commits(vault), vault.journal.head.seq + 1
        made = add_for(vault, 6)
        old = sum(each < made[-1] - 5 for each in made)
        assert vault.journal.committed >= first + old - 1
        vault.commit()
        assert commits(vault) - before <= (made[-1] - made[0]) / DELAY + len(made) / MAX_BATCH + 3
        assert vault.history.seqs().keys() >= set(range(first, first + len(made)))


@pytest.mark.serial
def test_a_change_is_in_git_within_a_second_of_a_pause(home: Path) -> None:
    with opened(home) as vault:
        vault.commit()
        waits = []
        for _ in range(3):
            add_for(vault, 0.3)
            waits.append(seconds_until(lambda: vault.journal.committed == vault.journal.head.seq))
        assert min(waits) < 1


@pytest.mark.serial
def test_a_change_made_while_another_process_commits_follows_within_a_second(home: Path) -> None:
    with opened(home) as vault, opened(home) as other:
        vault.commit()
        with other.committer.holding():
            vault.add("main", [item("Alex prefers tea")], BOT)
            time.sleep(1.2)
            assert vault.journal.pending
        assert seconds_until(lambda: not vault.journal.pending) < 1


def test_what_arrives_during_a_commit_is_left_to_the_next(home: Path) -> None:
    disk = BustlingDisk()
    with Vault.open(config=configured(home), disk=disk) as vault, Vault.open(config=configured(home)) as other:
        vault.commit()
        added: list[int] = []

        def add() -> None:
            assert not added
            added.append(other.add("main", [item("It rains")], BOT).seq)

        disk.during_commit = add
        vault.add("main", [item("Alex prefers tea")], BOT)
        assert vault.committer.commit_now() == 0
        assert [record.line.seq for record in vault.journal.pending] == added
        disk.during_commit = lambda: None
