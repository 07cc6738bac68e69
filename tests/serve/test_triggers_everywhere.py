"""What a person asks their memory for in a message is done at every door: hooks, MCP, HTTP, commands and adapters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memfolio.memory import Memory
from memfolio.serve.adapters.openai_agents import MemfolioSession
from memfolio.serve.adapters.pydantic_ai import MemfolioCapability
from memfolio.serve.cli.app import run
from memfolio.serve.hooks.door import ACTS, PROMPT
from tests.serve.adapters.test_pydantic_ai import texts
from tests.serve.http.conftest import serving
from tests.serve.test_hooks import caller, until, warmth
from tests.serve.test_mcp import host

Say = Callable[[str], str]
"""Says something at a door; what whoever speaks with the person is told."""


@contextmanager
def through_hooks(home: Path, name: str) -> Iterator[Say]:
    event = next(event for event, act in ACTS[name].items() if act == PROMPT)
    with warmth(home):
        yield lambda text: json.dumps(caller(home)(name, event, {"prompt": text}), ensure_ascii=False)


@contextmanager
def through_http(home: Path) -> Iterator[Say]:
    with serving(home) as served:
        yield lambda text: str(served.client().act_on(text=text)["answer"])


@contextmanager
def through_mcp(home: Path) -> Iterator[Say]:
    async def call(text: str) -> str:
        async with host(home) as session:
            result = await session.call_tool("use_tool", {"name": "act_on", "arguments": {"text": text}})
            return str(result.structured_content)

    yield lambda text: asyncio.run(call(text))


@contextmanager
def by_command(home: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Say]:
    def say(text: str) -> str:
        capsys.readouterr()
        assert run(["--home", str(home), "tool", "act_on", text, "--json"]) == 0
        return json.dumps(json.loads(capsys.readouterr().out), ensure_ascii=False)

    yield say


@contextmanager
def through_pydantic_ai(home: Path) -> Iterator[Say]:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart("\n".join(texts(messages)))])

    with Memory.open(home, background=False) as memory:
        agent = Agent(FunctionModel(answer), capabilities=[MemfolioCapability(memory)])
        yield lambda text: asyncio.run(agent.run(text)).output


@contextmanager
def through_openai_agents(home: Path) -> Iterator[Say]:
    with Memory.open(home, background=False) as memory:
        session = MemfolioSession("s-1", memory)

        def say(text: str) -> str:
            asyncio.run(session.add_items([{"role": "user", "content": text}]))
            return ""  # a session notes what is said and has no say in what the model is told

        yield say


@pytest.fixture(
    params=["claude-code", "codex", "gemini", "cursor", "http", "mcp", "command", "pydantic-ai", "openai-agents"]
)
def door(request: pytest.FixtureRequest, home: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[tuple[str, Say]]:
    """Every door at which the words of a person arrive; LangGraph's store and Anthropic's tool get none."""
    with Memory.open(home, background=False):
        pass
    name: str = request.param
    further = {
        "http": lambda: through_http(home),
        "mcp": lambda: through_mcp(home),
        "command": lambda: by_command(home, capsys),
        "pydantic-ai": lambda: through_pydantic_ai(home),
        "openai-agents": lambda: through_openai_agents(home),
    }
    with further[name]() if name in further else through_hooks(home, name) as say:
        yield name, say


def critical(home: Path) -> list[str]:
    with Memory.open(home, background=False) as memory:
        return [
            line.says for block in memory.core.read().blocks if block.name == "Critical Facts" for line in block.items
        ]


def found(home: Path, query: str) -> list[str]:
    with Memory.open(home, background=False) as memory:
        return [hit.memory.content for hit in memory.recall(query) if hit.memory.source == "trigger"]


def test_remember_note_know_and_forget_are_heard(door: tuple[str, Say], home: Path) -> None:
    name, say = door
    say("Remember that I am allergic to latex.")
    until(lambda: critical(home) == ["The user is allergic to latex"])
    say("Note to self: the spare key is at Joan's.")
    until(lambda: any("spare key" in text for text in found(home, "Where is the spare key?")))
    known = say("What do you know about me?")
    shown = say("Forget about the latex")
    if name not in ("openai-agents", "cursor"):  # these cannot be told anything about a prompt
        assert "allergic to latex" in known
        assert "M-" in shown
        assert "Nothing is forgotten yet" in shown
    assert critical(home) == ["The user is allergic to latex"]  # until the person agrees
