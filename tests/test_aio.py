"""AsyncMemory: the verbs of Memory, awaited, with nothing left out and nothing broken by tasks or cancellation."""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memfolio import AsyncMemory, Memory, NotFoundError
from memfolio.vault.vault import Vault

ROOMS = (
    "account agents audit cases core facts graph inference mind notes ontology procedures proposals questions reason "
    "reflections rules runs typedb"
).split()
NOT_AWAITED = {*ROOMS, "subscribe", "heard_by"}
PUBLIC = sorted(name for name in dir(Memory) if not name.startswith("_"))
VERBS = [name for name in PUBLIC if name not in NOT_AWAITED]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMFOLIO_TIMEZONE", "UTC")
    monkeypatch.setenv("MEMFOLIO_CACHE", str(tmp_path / "cache"))


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "memfolio-watch"]


def soon(check: Callable[[], bool], *, seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not (found := check()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def test_every_public_name_is_there_and_no_other() -> None:
    assert sorted(name for name in vars(AsyncMemory) if not name.startswith("_")) == PUBLIC


@pytest.mark.parametrize("name", VERBS)
def test_verb_is_awaited_and_has_the_same_parameters_and_words(name: str) -> None:
    verb, awaited = getattr(Memory, name), getattr(AsyncMemory, name)
    assert inspect.iscoroutinefunction(awaited)
    assert inspect.signature(awaited).parameters == inspect.signature(verb).parameters
    assert awaited.__doc__


def test_subscribe_has_the_same_parameters() -> None:
    assert inspect.signature(AsyncMemory.subscribe) == inspect.signature(Memory.subscribe)


def test_memory_lives_through_every_verb(home: Path) -> None:
    async def live() -> None:
        async with await AsyncMemory.open(home, "main") as memory:
            turn = await memory.observe("user", "I drink tea at four", session="s-1")
            turns = await memory.observe_many([{"role": "user", "content": "and coffee at six"}])
            item = await memory.remember("Alex prefers tea", type="preference", tags=["drinks"])
            hits = await memory.recall("what does Alex prefer", limit=3)
            assert item.id in [hit.memory.id for hit in hits]
            assert await memory.get(turn.id) == turn
            located = await memory.find(turns[0].id)
            assert located is not None
            assert (await memory.confirm(item.id)).id == item.id
            assert (await memory.pin(item.id)).pinned
            better = await memory.correct(item.id, "Alex prefers green tea")
            assert (await memory.explain(better.id)) is not None
            await memory.forget(turn.id)
            await memory.restore(turn.id)
            assert (await memory.status()).memories >= 3
            assert await memory.sync() == []
            assert await memory.reindex() >= 1
            assert memory.audit is memory.memory.audit

    asyncio.run(live())


def test_error_of_a_verb_reaches_the_one_who_awaits(home: Path) -> None:
    async def ask() -> None:
        async with await AsyncMemory.open(home, "main") as memory:
            await memory.explain("M-1794753005123-a3f2c91d")

    with pytest.raises(NotFoundError):
        asyncio.run(ask())


def test_fifty_calls_at_once_all_do_their_work(home: Path) -> None:
    async def work() -> None:
        async with await AsyncMemory.open(home, "main") as memory:
            items = await asyncio.gather(*(memory.remember(f"animal{number} eats grass") for number in range(50)))
            assert len({item.id for item in items}) == 50
            answers = await asyncio.gather(*(memory.recall(f"animal{number}") for number in range(50)))
            contents = [{hit.memory.content for hit in hits} for hits in answers]
            assert all(f"animal{number} eats grass" in found for number, found in enumerate(contents))

    asyncio.run(work())


def test_writes_and_questions_at_once_do_not_hinder_each_other(home: Path) -> None:
    async def work() -> None:
        async with await AsyncMemory.open(home, "main") as memory:
            await memory.remember("Alex prefers tea")
            writes = [memory.remember(f"animal{number} eats grass") for number in range(25)]
            answers = await asyncio.gather(*writes, *(memory.recall("Alex tea") for _ in range(25)))
            assert all(hits[0].memory.content == "Alex prefers tea" for hits in answers[25:])

    asyncio.run(work())


@pytest.mark.serial
def test_loop_goes_on_while_a_verb_waits_for_the_home(home: Path) -> None:
    async def work() -> float:
        async with await AsyncMemory.open(home, "main") as memory:
            with Vault.open(home) as other, other.writer.ready():
                waiting = asyncio.ensure_future(memory.remember("Alex prefers tea"))
                began = time.monotonic()
                await asyncio.sleep(0.1)
                took = time.monotonic() - began
                assert not waiting.done()
            assert (await waiting).content == "Alex prefers tea"
            return took

    assert asyncio.run(work()) < 1


def test_memory_works_on_after_a_call_was_cancelled(home: Path) -> None:
    async def work() -> None:
        async with await AsyncMemory.open(home, "main") as memory:
            with Vault.open(home) as other, other.writer.ready(), pytest.raises(TimeoutError):
                await asyncio.wait_for(memory.remember("begun and left alone"), timeout=0.1)
            await memory.remember("Alex prefers tea")
            assert (await memory.recall("Alex"))[0].memory.content == "Alex prefers tea"
            assert [hit.memory.content for hit in await memory.recall("begun alone")][:1] == ["begun and left alone"]

    asyncio.run(work())


def test_many_cancelled_calls_leave_whole_memories(home: Path) -> None:
    async def work() -> None:
        async with await AsyncMemory.open(home, "main") as memory:
            tasks = [asyncio.ensure_future(memory.remember(f"animal{number} eats grass")) for number in range(30)]
            await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            item = await memory.remember("Alex prefers tea")
            assert await memory.get(item.id) == item

    asyncio.run(work())
    with Memory.open(home, "main", background=False) as memory:
        assert not memory.vault.problems
        assert [each for each in memory.vault.verify() if each.level == "error"] == []


def test_home_that_nobody_waits_for_is_closed_again(home: Path) -> None:
    Memory.open(home, "main", background=False).close()

    async def give_up() -> None:
        with Vault.open(home) as other, other.writer.ready(), pytest.raises(TimeoutError):
            await asyncio.wait_for(AsyncMemory.open(home, "main"), timeout=0.1)
        await asyncio.sleep(0.2)

    asyncio.run(give_up())
    assert soon(lambda: watchers() == [])


def test_home_that_was_open_already_when_its_opening_was_cancelled_is_closed_again(home: Path) -> None:
    async def give_up() -> None:
        opening = asyncio.ensure_future(AsyncMemory.open(home, "main"))
        await asyncio.sleep(0)
        assert soon(lambda: watchers() != [])  # without a turn for the loop, which does not hear of it
        time.sleep(0.3)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    asyncio.run(give_up())
    assert soon(lambda: watchers() == [])


def test_subscriber_hears_of_a_change_on_another_thread(home: Path) -> None:
    heard: list[tuple[int, int]] = []

    async def work() -> None:
        async with await AsyncMemory.open(home, "main") as memory:
            memory.subscribe(lambda line: heard.append((line.seq, threading.get_ident())))
            await memory.remember("Alex prefers tea")

    asyncio.run(work())
    assert len(heard) == 1
    assert heard[0][1] != threading.get_ident()


@pytest.mark.serial
def test_edit_is_noticed_under_a_running_loop_and_signals_stay_the_users(home: Path) -> None:
    before = signal.getsignal(signal.SIGINT)

    async def work() -> bool:
        async with await AsyncMemory.open(home, "main") as memory:
            await asyncio.sleep(0.6)
            page = home / "agents/main/memory/procedures/zebra.md"
            page.parent.mkdir(parents=True)
            page.write_text("# A page\n\nzebras eat grass\n")
            for _ in range(40):
                if await memory.recall("zebras"):
                    return True
                await asyncio.sleep(0.05)
            return False

    assert asyncio.run(work())
    assert signal.getsignal(signal.SIGINT) is before
