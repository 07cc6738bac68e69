"""Nothing lost: what was acknowledged is stored, once, however servers and the database end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.errors import StoreUnavailableError
from memfolio.vault.postgres.server import OwnServer
from tests.index.proof import assert_index_equals_rebuilt
from tests.postgres.proxy import Proxy, by_proxy

ROOT = Path(__file__).parents[2]


@dataclass
class Worker:
    """A server in a process of its own, and what it has acknowledged."""

    name: str
    home: Path
    cache: Path
    acknowledged: list[int] = field(default_factory=list)
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        environ = os.environ | {"MEMFOLIO_CACHE": str(self.cache), "PYTHONPATH": str(ROOT)}
        following = self.acknowledged[-1] + 1 if self.acknowledged else 0
        command = [sys.executable, "-m", "tests.postgres.worker", str(self.home), self.name, str(following)]
        self.process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._listen, args=(self.process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        with process.stdout as lines:
            self.acknowledged += (int(line) for line in lines if line.endswith("\n"))

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()
        time.sleep(0.05)  # for what it had said to be read

    def await_more(self, count: int = 2) -> None:
        wanted, end = len(self.acknowledged) + count, time.monotonic() + 60
        while len(self.acknowledged) < wanted:
            assert self.process is not None
            if time.monotonic() > end:
                self.process.send_signal(signal.SIGUSR1)  # it says where it hangs
                time.sleep(1)
                pytest.fail(f"{self.name} acknowledges nothing")
            assert self.process.poll() is None, f"{self.name} ended by itself"
            time.sleep(0.01)


@pytest.fixture
def crashing(
    own_server: OwnServer, quick_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[OwnServer, list[Worker]]]:
    monkeypatch.setenv("MEMFOLIO_STORE", "postgres")
    monkeypatch.setenv("MEMFOLIO_DATABASE_URL", own_server.url)
    monkeypatch.setenv("MEMFOLIO_EMBEDDER", "none")
    workers = [Worker(each, quick_path / name, quick_path / f"cache-{each}") for each in ("one", "other")]
    for worker in workers:
        worker.start()
    yield own_server, workers
    for worker in workers:
        if worker.process and worker.process.poll() is None:
            worker.kill()


def kill_at_random(server: OwnServer, workers: list[Worker], times: int, seed: int) -> None:
    """End the database or one of the servers at a random moment, so many times."""
    chance = random.Random(seed)
    for turn in range(times):
        for worker in workers:
            worker.await_more()
        time.sleep(chance.random() * 0.1)
        if turn % 2:
            worker = chance.choice(workers)
            worker.kill()
            worker.start()
        else:
            assert server.pid is not None
            os.kill(server.pid, signal.SIGKILL)
            server.start()


def check_nothing_lost(workers: list[Worker], home: Path) -> int:
    """Whether each acknowledged memory is stored once, with the trail whole and the index equal to one built anew."""
    for worker in workers:
        worker.await_more()
        worker.kill()
    with Memory.open(home, background=False) as memory:
        stored = [item.content for item in memory.vault.entries("main")]
        assert len(stored) == len(set(stored)), "none is doubled"
        for worker in workers:
            wanted = [f"{worker.name} {number}" for number in range(worker.acknowledged[-1] + 1)]
            assert set(wanted) <= set(stored)
            assert len(set(worker.acknowledged)) == len(worker.acknowledged)
        assert memory.vault.trail.problems() == []
        assert all(each.level == "ok" for each in memory.vault.verify())
    for worker in workers:  # each has followed in its own cache
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MEMFOLIO_CACHE", str(worker.cache))
            with Memory.open(home, background=False) as memory:
                assert_index_equals_rebuilt(memory, [f"{worker.name} 1"])
    return len(stored)


def test_killed_servers_and_a_killed_database_lose_nothing(crashing: tuple[OwnServer, list[Worker]]) -> None:
    server, workers = crashing
    kill_at_random(server, workers, 3, seed=1)
    assert check_nothing_lost(workers, workers[0].home) > 10


@pytest.mark.long
def test_two_hundred_kills_lose_nothing(crashing: tuple[OwnServer, list[Worker]]) -> None:
    server, workers = crashing
    kill_at_random(server, workers, 200, seed=2)
    check_nothing_lost(workers, workers[0].home)


@pytest.fixture
def proxied(
    server: OwnServer, quick_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Proxy, Path]]:
    """A home that is reached through a way that may fail."""
    with by_proxy(server) as (proxy, url):
        monkeypatch.setenv("MEMFOLIO_STORE", "postgres")
        monkeypatch.setenv("MEMFOLIO_DATABASE_URL", url)
        monkeypatch.setenv("MEMFOLIO_EMBEDDER", "none")
        yield proxy, quick_path / name


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_lost_answer_to_commit_makes_the_change_once(proxied: tuple[Proxy, Path], moment: str) -> None:
    proxy, home = proxied
    with Memory.open(home, background=False) as memory:
        memory.remember("the first")
        for number in range(5):
            proxy.arm(moment)
            made = memory.remember(f"told {number}")
            assert proxy.dropped == number + 1
            assert memory.get(made.id) is not None
        proxy.arm(moment)
        with memory.vault.exclusive() if moment == "after" else pytest.raises(StoreUnavailableError) as caught:
            made_inside(memory, moment)
        stored = [item.content for item in memory.vault.entries("main")]
        wanted = ["the first", *(f"told {number}" for number in range(5))]
        assert sorted(stored) == sorted([*wanted, "inside"] if moment == "after" else wanted)
        if moment == "before":
            assert caught is not None
            assert not caught.value.may_have_happened
        assert memory.vault.trail.problems() == []
        assert memory.recall("told 3")[0].memory.content == "told 3"


def test_a_change_takes_one_round_trip_where_one_server_writes(proxied: tuple[Proxy, Path]) -> None:
    proxy, home = proxied
    with Memory.open(home, background=False) as memory:
        memory.remember("the first")
        before = proxy.requests
        for number in range(5):
            memory.remember(f"told {number}", key=f"key {number}")
        assert proxy.requests == before + 5
        assert len(memory.vault.entries("main")) == 6


def made_inside(memory: Memory, moment: str) -> None:
    if moment == "after":
        memory.remember("inside")
        return
    with memory.vault.exclusive():
        memory.remember("inside")


def test_a_database_that_goes_away_is_answered_for_from_the_index(
    own_server: OwnServer, quick_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMFOLIO_STORE", "postgres")
    monkeypatch.setenv("MEMFOLIO_DATABASE_URL", own_server.url)
    monkeypatch.setenv("MEMFOLIO_EMBEDDER", "none")
    monkeypatch.setenv("MEMFOLIO_LOCK_TIMEOUT", "1")
    with Memory.open(quick_path / name, background=False) as memory:
        memory.remember("the well is in the garden")
        assert memory.recall("where is the well")
        own_server.stop("immediate")
        hits = memory.recall("where is the well")
        assert [hit.memory.content for hit in hits] == ["the well is in the garden"]
        assert any("does not answer" in each for each in hits.degraded)
        began = time.monotonic()
        with pytest.raises(StoreUnavailableError) as caught:
            memory.remember("nobody takes this")
        assert not caught.value.may_have_happened
        assert time.monotonic() - began < 10
        own_server.start()
        memory.remember("it is back")
        assert [item.content for item in memory.vault.entries("main")] == ["the well is in the garden", "it is back"]
        assert not memory.recall("where is the well").degraded
