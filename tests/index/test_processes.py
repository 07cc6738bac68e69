"""Many processes and threads on one home: none is in another's way, and the index stays that of the files."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.errors import ConflictError, HomeBusyError, IndexBusyError, NotFoundError
from tests.index.proof import assert_index_equals_rebuilt, opened
from tests.vault.conftest import Tally
from tests.vault.proof import entries, fork, kill, wait

pytestmark = pytest.mark.serial

BUSY = (HomeBusyError, IndexBusyError)
GONE = (ConflictError, NotFoundError)
Log = Callable[[str, str, str], None]


class Diary:
    """What a process was promised, kept outside of the home line by line."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, deed: str, mark: str, content: str = "") -> None:
        os.write(self._fd, json.dumps([deed, mark, content]).encode() + b"\n")


def work(home: Path, name: str, diary: Diary, seconds: float, chance: random.Random) -> None:
    """Use every verb for a while; what is acknowledged is noted."""
    until, number, mine = time.monotonic() + seconds, 0, list[str]()
    with opened(home, background=chance.random() < 0.5) as memory:
        while time.monotonic() < until:
            number += 1
            with suppress(*BUSY):
                act(memory, f"{name} number {number}", mine, diary, chance)


def act(memory: Memory, text: str, mine: list[str], diary: Diary, chance: random.Random) -> None:
    deed = chance.random()
    mark = chance.choice(mine) if mine else "M-1-00000000"
    if deed < 0.35:
        item = memory.remember(f"tea {text}")
        diary.note("added", item.id, item.content)
        mine.append(item.id)
    elif deed < 0.5:
        for item in memory.observe_many([{"role": "user", "content": f"rain {text} {n}"} for n in range(3)]):
            diary.note("added", item.id, item.content)
    elif deed < 0.75:
        hits = memory.recall(f"tea {text}", limit=5)
        assert len({hit.memory.id for hit in hits}) == len(hits)
    elif deed < 0.85:
        found = memory.get(mark)
        assert (found is not None) == bool(mine)
    elif deed < 0.9:
        with suppress(*GONE):
            diary.note("begun", mark)  # who is killed now may have done it without being able to say so
            for item in memory.forget(mark).memories:
                diary.note("forgotten", item.id)
            mine.remove(mark)
    elif deed < 0.95:
        with suppress(*GONE):
            diary.note("begun", mark)
            item = memory.correct(mark, f"better tea {text}")
            diary.note("added", item.id, item.content)
            diary.note("corrected", mark)
            mine.remove(mark)
    elif deed < 0.96:
        memory.reindex()
    else:
        with suppress(*GONE):
            memory.pin(mark)


def edit(home: Path, seconds: float, chance: random.Random) -> None:
    """A person writes pages and notes by hand."""
    until, number = time.monotonic() + seconds, 0
    with opened(home) as memory:
        while time.monotonic() < until:
            number += 1
            name = chance.choice(["mind/Goals.md", "memory/2025-01-01.md", "memory/graph/entities/person--alex.md"])
            page = home / "agents/main" / name
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(f"# Page\n\n- coffee in the morning {number}\n- {chance.random()}\n")
            time.sleep(0.05)
            with suppress(*BUSY):
                memory.sync()


def promises(folder: Path) -> tuple[dict[str, str], set[str], set[str], set[str]]:
    added, deeds = dict[str, str](), {name: set[str]() for name in ("forgotten", "corrected", "begun")}
    for path in folder.glob("*.diary"):
        for line in path.read_text().splitlines():
            deed, mark, content = json.loads(line)
            if deed == "added":
                added[mark] = content
            else:
                deeds[deed].add(mark)
    return added, deeds["forgotten"], deeds["corrected"], deeds["begun"]


@pytest.mark.parametrize("seconds", [2.5, pytest.param(300.0, marks=pytest.mark.long)])
def test_eight_processes_share_a_home_and_its_index(seconds: float, quick_path: Path, tally: Tally) -> None:
    home, until = quick_path / "home", time.monotonic() + seconds
    with opened(home) as memory:
        memory.remember("the first tea")

    def start(number: int, seconds: float) -> int:
        diary = Diary(quick_path / f"{number}.diary")
        chance = random.Random(time.time_ns())
        if number == 0:
            return fork(lambda: edit(home, seconds, chance))
        return fork(lambda: work(home, f"p{number}-{time.time_ns()}", diary, seconds, chance))

    processes = {number: start(number, seconds) for number in range(8)}
    killed = 0
    while time.monotonic() < until - 1:
        time.sleep(random.uniform(0.2, 1.0))
        kill(processes[7])
        killed += 1
        processes[7] = start(7, until - time.monotonic())
    assert {number: wait(pid) for number, pid in processes.items()} == dict.fromkeys(range(8), 0)
    operations = check_promises(home, quick_path)
    tally("operations of eight processes on one index", operations)
    tally("processes killed beside seven others", killed)


def check_promises(home: Path, folder: Path) -> int:
    added, forgotten, corrected, begun = promises(folder)
    there = entries(home)
    with opened(home) as memory:
        for mark, content in added.items():
            item = memory.get(mark)
            assert item is not None, mark
            is_gone = mark in forgotten or (mark in begun and item.forgotten_at is not None)
            assert there.get(mark) == (None if is_gone else [content]), mark
        found = {hit.memory.id for hit in memory.recall("tea rain", limit=1000)}
        assert not found & forgotten
        assert not found & corrected
        for mark in random.Random(1).sample(
            sorted(added.keys() - forgotten - corrected - begun), min(50, len(added) // 3)
        ):
            assert mark in {hit.memory.id for hit in memory.recall(added[mark], limit=20)}, added[mark]
        assert_index_equals_rebuilt(memory)
        assert memory.searcher.notices() == []
    return len(added) + len(forgotten) + len(corrected)


@pytest.mark.parametrize("seconds", [1.5, pytest.param(60.0, marks=pytest.mark.long)])
def test_eight_threads_share_a_memory(seconds: float, quick_path: Path, tally: Tally) -> None:
    home, until, errors = quick_path / "home", time.monotonic() + seconds, list[BaseException]()
    with opened(home, background=True) as memory:

        def run(number: int) -> None:
            diary, mine, chance = Diary(quick_path / f"{number}.diary"), list[str](), random.Random(number)
            try:
                while time.monotonic() < until:
                    with suppress(*BUSY):
                        act(memory, f"t{number}-{time.monotonic_ns()}", mine, diary, chance)
            except BaseException as error:  # noqa: BLE001 - told where the test can see it
                errors.append(error)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert_index_equals_rebuilt(memory)
        assert memory.searcher.notices() == []
    tally("operations of eight threads on one index", check_promises(home, quick_path))


@pytest.mark.parametrize("background", [False, True])
def test_forked_process_and_its_parent_both_go_on(home: Path, background: bool) -> None:
    with opened(home, background=background) as memory:
        first = memory.remember("tea before the fork")
        assert memory.recall("tea")

        def child() -> None:
            assert first.id in {hit.memory.id for hit in memory.recall("tea")}
            item = memory.remember("tea of the child")
            assert item.id in {hit.memory.id for hit in memory.recall("tea")}
            memory.reindex()
            memory.close()

        pids = [fork(child) for _ in range(3)]
        mine = [memory.remember(f"tea of the parent {number}").id for number in range(10)]
        assert [wait(pid) for pid in pids] == [0, 0, 0]
        found = [hit.memory for hit in memory.recall("tea", limit=100)]
        assert {*mine, first.id} <= {item.id for item in found}
        assert [item.content for item in found].count("tea of the child") == 3
        assert_index_equals_rebuilt(memory)


def test_process_forked_while_threads_work_does_not_wait_for_them(quick_path: Path) -> None:
    home, stop = quick_path / "home", threading.Event()
    with opened(home, background=True) as memory:
        memory.remember("tea")
        memory.recall("tea")  # what is imported while a process is forked is Python's own affair

        def run() -> None:
            while not stop.is_set():
                memory.reindex()
                memory.recall("tea")

        thread = threading.Thread(target=run)
        thread.start()

        def child() -> None:
            assert memory.recall("tea")
            memory.remember("tea of the child")
            memory.reindex()
            assert len(memory.recall("tea")) >= 2

        try:
            pids = [fork(child) for _ in range(10)]
            until = time.monotonic() + 30
            ended: dict[int, int] = {}
            while len(ended) < len(pids) and time.monotonic() < until:
                for pid in set(pids) - ended.keys():
                    if (found := os.waitpid(pid, os.WNOHANG))[0]:
                        ended[pid] = os.waitstatus_to_exitcode(found[1])
                time.sleep(0.01)
            stuck = [kill(pid) for pid in set(pids) - ended.keys()]
        finally:
            stop.set()
            thread.join()
        assert stuck == []
        assert set(ended.values()) == {0}
