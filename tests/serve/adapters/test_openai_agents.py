"""A session of the OpenAI Agents SDK keeps its items as they are, and a real run uses it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from agents import Agent, Runner, SessionSettings, SQLiteSession, Usage, set_tracing_disabled
from agents.items import ModelResponse
from agents.memory import Session
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from memfolio.clock import SettableClock
from memfolio.errors import InputError
from memfolio.memory import Memory
from memfolio.serve.adapters.anthropic_memory import MemfolioAsyncMemoryTool
from memfolio.serve.adapters.langgraph import MemfolioStore
from memfolio.serve.adapters.openai_agents import MemfolioSession, memory_tools
from memfolio.types import HUMAN

ITEMS: list[Any] = [
    {"role": "user", "content": "I prefer oolong tea"},
    {"role": "user", "content": "ok"},
    {"role": "user", "content": "ok"},
    {"role": "user", "content": [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": "x:y"}]},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "call_id": "c1", "name": "recall", "arguments": '{"query": "tea"}', "id": "fc_1"},
    {"type": "function_call_output", "call_id": "c1", "output": "  spaces \r\n and \u2028 lines\n\n# heading\n"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "é", "annotations": []}]},
    {"role": "user", "content": ""},
    {"role": "developer", "content": "<!-- odd --> · text ^M-1-00000000", "extra": {"n": 1.5, "none": None}},
]


def test_items_come_back_as_they_were_in_their_order_and_with_a_limit(memory: Memory) -> None:
    async def live() -> None:
        ours, theirs = MemfolioSession("s-1", memory), SQLiteSession("s-1")
        assert isinstance(ours, Session)
        for session in (ours, theirs):
            await session.add_items(ITEMS[:4])
            await session.add_items([])
            await session.add_items(ITEMS[4:])
        for limit in (None, 1, 3, 0, 100, -1, -7):
            assert await ours.get_items(limit) == await theirs.get_items(limit), limit
        assert await ours.get_items() == ITEMS
        ours.session_settings = SessionSettings(limit=2)
        assert await ours.get_items() == ITEMS[-2:]
        assert await MemfolioSession("s-1", memory, session_settings={"limit": 3}).get_items() == ITEMS[-3:]
        assert await MemfolioSession("s-2", memory).get_items() == []

    asyncio.run(live())


def test_order_holds_where_the_clock_goes_back_and_after_another_opening(home: Path, clock: SettableClock) -> None:
    async def live() -> None:
        for at, item in enumerate(ITEMS):
            clock.advance(hours=-1)
            with Memory.open(home, clock=clock, background=False) as memory:
                session = MemfolioSession("s-1", memory)
                await session.add_items([item])
                assert await session.get_items() == ITEMS[: at + 1]

    asyncio.run(live())


def test_popped_and_cleared_items_are_forgotten_and_can_be_brought_back(memory: Memory) -> None:
    async def live() -> None:
        session, other = MemfolioSession("s-1", memory), MemfolioSession("s-2", memory)
        await session.add_items(ITEMS)
        await other.add_items(ITEMS[:1])
        assert await session.pop_item() == ITEMS[-1]
        assert await session.get_items() == ITEMS[:-1]
        await session.add_items(ITEMS[-1:])
        assert await session.get_items() == ITEMS
        before = memory.vault.head
        await session.clear_session()
        assert memory.vault.head == before + 1
        assert (await session.get_items(), await session.pop_item()) == ([], None)
        await session.clear_session()
        assert await other.get_items() == ITEMS[:1]
        memory.audit.undo(before + 1, by=HUMAN)
        assert await session.get_items() == ITEMS

    asyncio.run(live())


def test_what_was_undone_is_gone_and_what_was_archived_is_still_told(memory: Memory) -> None:
    async def live() -> None:
        session = MemfolioSession("s-1", memory)
        await session.add_items(ITEMS[:3])
        await session.add_items(ITEMS[3:5])
        memory.audit.undo(memory.vault.head, by=HUMAN)
        assert await session.get_items() == ITEMS[:3]
        memory.archive(memory.vault.entries("main")[0].id, by=HUMAN)
        assert await session.get_items() == ITEMS[:3]

    asyncio.run(live())


def test_words_of_a_message_stand_in_the_file_once_and_an_edit_of_them_counts(home: Path) -> None:
    said = [{"role": "user", "content": "I drink oolong"}, {"role": "user", "content": "  with \r\n milk\n"}]
    with Memory.open(home, background=False) as memory:
        asyncio.run(MemfolioSession("s-1", memory).add_items(cast(Any, said)))
    [log] = home.glob("agents/main/memory/*.md")
    assert log.read_text().count("I drink oolong") == 1
    log.write_text(log.read_text().replace("oolong", "sencha"))
    with Memory.open(home, background=False) as memory:
        found = asyncio.run(MemfolioSession("s-1", memory).get_items())
    assert found == [{"role": "user", "content": "I drink sencha"}, said[1]]


def test_what_others_noted_in_a_session_is_no_item_and_hides_none(memory: Memory) -> None:
    async def live() -> None:
        session = MemfolioSession("s-1", memory)
        await session.add_items(ITEMS[:3])
        memory.observe_many([{"role": "user", "content": f"noted {n}", "session": "s-1"} for n in range(20)])
        assert await session.get_items(2) == ITEMS[1:3]
        await session.add_items(ITEMS[3:])
        assert await session.get_items() == ITEMS

    asyncio.run(live())


@pytest.mark.serial
def test_last_items_of_a_long_session_cost_what_those_of_a_short_one_cost(memory: Memory) -> None:
    def seconds(session: MemfolioSession) -> float:
        started = time.perf_counter()
        asyncio.run(session.get_items(2))
        return time.perf_counter() - started

    short, long = MemfolioSession("short", memory), MemfolioSession("long", memory)
    asyncio.run(short.add_items(ITEMS))
    for start in range(0, 4000, 500):
        asyncio.run(long.add_items([{"role": "user", "content": f"turn {n}"} for n in range(start, start + 500)]))
    assert asyncio.run(long.get_items(1)) == [{"role": "user", "content": "turn 3999"}]
    assert min(seconds(long) for _ in range(20)) < 3 * min(seconds(short) for _ in range(20))


async def add_five(memory: Memory, name: str) -> None:
    for number in range(5):
        await MemfolioSession("s-1", memory).add_items([{"role": "user", "content": f"{name} {number}"}])


def test_processes_that_share_a_session_lose_and_double_nothing(home: Path) -> None:
    code = """
import asyncio, sys
from memfolio.memory import Memory
from tests.serve.adapters.test_openai_agents import add_five
with Memory.open(sys.argv[1], background=False) as memory:
    print("ready", flush=True)
    asyncio.run(add_five(memory, "b"))
"""
    with Memory.open(home, background=False) as memory:
        command = [sys.executable, "-c", code, str(home)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
            assert other.stdout
            assert other.stdout.readline() == b"ready\n"
            asyncio.run(add_five(memory, "a"))
        assert other.returncode == 0
        items = cast(list[Any], asyncio.run(MemfolioSession("s-1", memory).get_items()))
        places = [each.attributes["place"] for each in memory.vault.entries("main")]
    for name in "ab":
        said = [each["content"] for each in items if each["content"].startswith(name)]
        assert said == [f"{name} {number}" for number in range(5)]
    assert sorted(places) == list(range(10))


def test_event_loop_goes_on_while_somebody_else_holds_the_home(memory: Memory) -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with memory.vault.writer.ready():
            held.set()
            done.wait(30)

    async def live() -> None:
        threading.Thread(target=hold).start()
        held.wait(30)
        session, store = MemfolioSession("s-1", memory), MemfolioStore(memory)
        tool = MemfolioAsyncMemoryTool(memory)
        note = {"command": "create", "path": "/memories/a.md", "file_text": "x"}
        work = (session.add_items(ITEMS[:1]), store.aput(("a",), "k", {"n": 1}), tool.call(note))
        waiting = [asyncio.ensure_future(each) for each in work]
        await asyncio.sleep(0.1)
        assert not any(each.done() for each in waiting)
        done.set()
        await asyncio.gather(*waiting)

    asyncio.run(live())


def test_tasks_that_share_a_session_lose_and_double_nothing(memory: Memory) -> None:
    async def live() -> None:
        sessions = [MemfolioSession("s-1", memory) for _ in range(3)]
        batches = [[{"role": "user", "content": f"{batch} {n}"} for n in range(3)] for batch in range(9)]
        await asyncio.gather(*(sessions[at % 3].add_items(cast(Any, batch)) for at, batch in enumerate(batches)))
        found = cast(list[Any], await sessions[0].get_items())
        assert len(found) == 27
        assert all(found[at : at + 3] in batches for at in range(0, 27, 3))
        popped = await asyncio.gather(*(sessions[at % 3].pop_item() for at in range(5)))
        assert sorted(map(str, popped)) == sorted(map(str, found[-5:]))

    asyncio.run(live())


def test_what_was_said_is_recalled_and_what_tools_gave_back_is_nobodys_word(memory: Memory) -> None:
    asyncio.run(MemfolioSession("s-1", memory, user="alex").add_items(ITEMS))
    assert [hit.memory.content for hit in memory.recall("oolong")][:1] == ["I prefer oolong tea"]
    seen, hidden = ([hit.memory.role for hit in memory.recall("heading", include=each)] for each in ((), "quarantined"))
    assert "tool" in hidden
    assert "tool" not in seen


@pytest.mark.parametrize(
    "item", ["text", None, {"role": "user", "content": object()}, {1: 2}, {"output": "x" * 2_000_000}]
)
def test_item_that_json_cannot_hold_is_refused_as_a_whole(memory: Memory, item: Any) -> None:
    async def live() -> None:
        session = MemfolioSession("s-1", memory)
        with pytest.raises(InputError):
            await session.add_items([ITEMS[0], item])
        assert await session.get_items() == []

    asyncio.run(live())
    with pytest.raises(InputError):
        MemfolioSession("two words", memory)


class Scripted(Model):
    """A model that answers with what it was given, one answer a call, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), list[Any]()

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        self.asked.append(input)
        return ModelResponse(output=[self.answers.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def spoken(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[content])


def called(name: str, **arguments: Any) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        id="f", call_id=f"call-{name}", type="function_call", name=name, arguments=json.dumps(arguments)
    )


def test_run_of_the_sdk_goes_on_where_the_last_one_ended_and_calls_the_tools(memory: Memory) -> None:
    set_tracing_disabled(True)
    model = Scripted(
        called("remember", text="Alex drinks oolong", type="preference"),
        spoken("Noted."),
        called("recall", query="What does Alex drink?"),
        spoken("Oolong."),
        called("recall", nonsense=1),
        spoken("Sorry."),
    )
    agent = Agent(name="tea", model=model, tools=cast(Any, memory_tools(memory)))

    async def live() -> None:
        for prompt in ("I am Alex, I drink oolong", "What do I drink?", "And now?"):
            await Runner.run(agent, prompt, session=MemfolioSession("s-1", memory))
        assert len(await MemfolioSession("s-1", memory).get_items()) == 12

    asyncio.run(live())
    assert "I am Alex" in str(model.asked[2][0])
    outputs = [json.loads(each[-1]["output"]) for each in model.asked[1::2]]
    assert outputs[0]["result"]["content"] == "Alex drinks oolong"
    assert "Alex drinks oolong" in [hit["content"] for hit in outputs[1]["result"]["hits"]]
    assert outputs[2]["error"]["code"] == "input"
