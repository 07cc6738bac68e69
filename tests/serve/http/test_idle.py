"""Memories that nobody uses are closed by the server, and opened again for the next request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from memfolio.embed import vectorizer
from memfolio.errors import HomeError
from memfolio.memory import Memory
from memfolio.serve import idle
from memfolio.serve.http.app import ServedMemory
from memfolio.serve.mcp.http import callers_of
from memfolio.vault.disk import Disk, FileLock
from memfolio.verbs.verb import tools_of
from tests.serve.http.conftest import Served, serving, until


class Seconds:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "EVERY", 0.01)
    monkeypatch.setattr(vectorizer, "LINGER", 0.05)


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def served(home: Path, seconds: Seconds) -> Iterator[Served]:
    with serving(home, now=seconds) as served:
        yield served


def is_closed(memory: Memory) -> bool:
    try:
        memory.searcher.index.read(lambda connection: None)
    except HomeError:
        return True
    return False


def opened(served: Served) -> Memory:
    """The memory of the agent that asks; what it embeds is done first, since that is a use."""
    assert served.client().recall(query="tea")["hits"]
    [room] = served.hall.rooms.values()
    memory = room.memory()
    until(lambda: not memory.searcher.is_embedding, seconds=30)
    return memory


def test_idle_memory_is_closed_and_opened_again_for_the_next_request(served: Served, seconds: Seconds) -> None:
    first = opened(served)
    seconds.now += idle.IDLE - 1
    threading.Event().wait(0.1)
    assert not is_closed(first)
    seconds.now += 2
    until(lambda: is_closed(first))
    assert len(served.hall.rooms) == 0
    assert "memfolio_http_open_memories 0" in served.hall.metrics.text()
    assert opened(served) is not first


def test_memory_with_a_listener_stays_open_and_tells_of_changes(served: Served, seconds: Seconds) -> None:
    memory = opened(served)
    with closing(served.client().events()) as heard:
        told = threading.Thread(target=lambda: next(iter(heard)))
        told.start()
        [room] = served.hall.rooms.values()
        until(lambda: room.listeners)
        for _ in range(3):
            seconds.now += idle.IDLE + 1
            threading.Event().wait(0.05)
        assert not is_closed(memory)
        served.client().remember(text="Kim plays the cello")
        told.join(30)
        assert not told.is_alive()
    until(lambda: not room.listeners, seconds=30)
    until(lambda: not memory.searcher.is_embedding, seconds=30)
    seconds.now += idle.IDLE + 1
    threading.Event().wait(0.05)
    seconds.now += idle.IDLE + 1
    until(lambda: is_closed(memory))


def test_memory_with_a_call_under_way_stays_open(served: Served, seconds: Seconds) -> None:
    memory = opened(served)
    [room] = served.hall.rooms.values()
    lock = FileLock(served.home / ".memfolio" / "lock", Disk(), timeout=5)
    with ThreadPoolExecutor(1) as thread:
        with lock():  # for which every writer waits
            call = thread.submit(served.client().remember, text="Kim plays the cello")
            until(lambda: room.calls)
            seconds.now += idle.IDLE + 1
            threading.Event().wait(0.1)
            assert not is_closed(memory)
            assert served.hall.rooms.values() == [room]
        assert call.result(10)["id"]
    lock.close()


def test_request_that_comes_while_a_memory_is_being_closed_is_served(served: Served, seconds: Seconds) -> None:
    first = opened(served)
    first.remember("Zoe paints zeppelins")
    until(lambda: not first.searcher.is_embedding)
    lock = FileLock(served.home / ".memfolio" / "commit.lock", Disk(), timeout=5)
    with lock():  # without which nothing can be committed, so that closing waits
        seconds.now += idle.IDLE + 1
        until(lambda: len(served.hall.rooms) == 0)
        found = served.client().recall(query="What does Zoe paint?")
        assert [each["content"] for each in found["hits"]][:1] == ["Zoe paints zeppelins"]
        [room] = served.hall.rooms.values()
        assert room.memory() is not first
    lock.close()
    until(lambda: is_closed(first))
    assert served.client().remember(text="Kim plays the cello")["id"]


def test_many_requests_during_many_closings_are_all_served(
    served: Served, seconds: Seconds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectorizer, "LINGER", 0.001)
    monkeypatch.setattr(vectorizer, "CALM", 0.001)
    stop, failures, rooms = threading.Event(), list[Exception](), set[ServedMemory]()

    def ask(number: int) -> None:
        client = served.client()
        try:
            for nth in range(8):
                client.remember(text=f"Note {nth} of {number}")
                assert client.recall(query=f"Note {nth} of {number}")["hits"]
                stop.wait(0.1 * (nth % 2))  # so that the memory is idle now and then
        except Exception as error:  # noqa: BLE001 - told by the thread that asserts
            failures.append(error)

    def hurry() -> None:
        while not stop.wait(0.002):
            seconds.now += idle.IDLE + 1
            rooms.update(served.hall.rooms.values())

    clock = threading.Thread(target=hurry)
    clock.start()
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    stop.set()
    clock.join()
    assert failures == []
    assert len(rooms) > 1
    with Memory.open(served.home, background=False) as memory:
        assert len({item.content for item in memory.vault.entries("main") if item.content.startswith("Note")}) == 24


def test_mcp_over_http_closes_idle_memories_and_opens_them_again(home: Path, seconds: Seconds) -> None:
    made: list[Memory] = []

    def open_(agent: str) -> Memory:
        made.append(Memory.open(home, agent, speaker="agent"))
        return made[-1]

    async def life() -> None:
        callers = callers_of(tools_of("core"), open_, seconds)
        for nth in range(2):
            caller = callers.of("main")
            found = await asyncio.wrap_future(caller.begin(caller.call, "remember", {"text": f"Tea {nth}"}))
            assert not found.is_error, found
            while caller.is_in_use:
                await asyncio.sleep(0.01)
            assert len(callers) == 1
            await asyncio.sleep(0.03)
            seconds.now += idle.IDLE + 1
            while len(callers):
                await asyncio.sleep(0.01)
        callers.close()

    asyncio.run(asyncio.wait_for(life(), 60))
    assert len(made) == 2
    assert all(map(is_closed, made))
