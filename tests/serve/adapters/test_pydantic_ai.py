"""A capability for pydantic-ai: a scripted model gets the tools, and what is known about each prompt."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from memfolio.errors import InputError
from memfolio.memory import Memory
from memfolio.serve.adapters.pydantic_ai import MemfolioCapability


def texts(messages: list[ModelMessage]) -> list[str]:
    parts = [part for each in messages if isinstance(each, ModelRequest) for part in each.parts]
    return [str(part.content) for part in parts if isinstance(part, UserPromptPart)]


def test_model_sees_what_is_known_and_calls_the_tools(memory: Memory) -> None:
    memory.remember("Alex prefers oolong tea", type="preference")
    seen: list[tuple[list[str], AgentInfo]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append((texts(messages), info))
        returned = [p for each in messages for p in each.parts if isinstance(p, ToolReturnPart)]
        calls = [
            ToolCallPart("remember", {"text": "Alex wants tea at four"}),
            ToolCallPart("recall", {"query": "When does Alex want tea?"}),
            ToolCallPart("recall", {"nonsense": 1}),
        ]
        return ModelResponse(parts=[calls[len(returned)] if len(returned) < 3 else TextPart("At four.")])

    agent = Agent(FunctionModel(answer), capabilities=[MemfolioCapability(memory)])
    result = asyncio.run(agent.run("What tea does Alex prefer?"))
    assert result.output == "At four."
    assert {tool.name for tool in seen[0][1].function_tools} >= {"remember", "recall", "forget"}
    assert "agent_id" not in str([tool.parameters_json_schema for tool in seen[0][1].function_tools])
    assert "recall" in str(seen[0][1].instructions)
    assert "oolong" not in str(seen[0][1].instructions)
    prompt, known = seen[0][0]
    assert prompt == "What tea does Alex prefer?"
    assert "Alex prefers oolong tea" in known
    assert all(each[0] == seen[0][0] for each in seen)
    assert texts(result.all_messages()) == [prompt]
    returned: list[Any] = [p.content for m in result.all_messages() for p in m.parts if isinstance(p, ToolReturnPart)]
    assert "Alex wants tea at four" in [hit["content"] for hit in returned[1]["result"]["hits"]]
    assert returned[2]["error"]["code"] == "input"


def test_prompt_about_nothing_known_is_sent_as_it_is(memory: Memory) -> None:
    seen: list[list[str]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(texts(messages))
        return ModelResponse(parts=[TextPart("Hello.")])

    agent = Agent(FunctionModel(answer), capabilities=[MemfolioCapability(memory)])
    assert asyncio.run(agent.run("Hello")).output == "Hello."
    assert seen == [["Hello"]]


def test_what_was_told_stays_where_it_was_and_is_told_once_in_a_conversation(memory: Memory) -> None:
    memory.remember("Alex prefers oolong tea", type="preference")
    seen: list[list[str]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(texts(messages))
        return ModelResponse(parts=[TextPart("Oolong.")])

    agent = Agent(FunctionModel(answer), capabilities=[MemfolioCapability(memory)])
    first = asyncio.run(agent.run("What tea does Alex prefer?"))
    memory.remember("Alex prefers the tea hot", type="preference")
    asyncio.run(agent.run("How does Alex prefer tea?", message_history=first.all_messages()))
    asyncio.run(agent.run("What tea does Alex prefer?"))
    assert seen[1][: len(seen[0])] == seen[0]  # what a provider has cached
    assert "oolong" not in "".join(seen[1][2:])
    assert "hot" in seen[1][-1]
    assert "hot" in seen[2][-1]  # another conversation is told what is known by then


def test_prompt_that_asks_to_remember_is_acted_on_once_in_a_run(memory: Memory) -> None:
    seen: list[list[str]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(texts(messages))
        is_first = len(seen) == 1
        return ModelResponse(parts=[ToolCallPart("status", {}) if is_first else TextPart("Noted.")])

    agent = Agent(FunctionModel(answer), capabilities=[MemfolioCapability(memory)])
    asyncio.run(agent.run("Remember that I am allergic to latex."))
    assert len(seen) == 2
    assert seen[0] == seen[1]
    assert "latex" in seen[0][1]
    lines = [line.says for block in memory.core.read().blocks for line in block.items]
    assert lines == ["The user is allergic to latex"]


def test_runs_at_once_do_not_see_each_others_prompts(memory: Memory) -> None:
    for name in ("Alex", "Kim", "Sam"):
        memory.remember(f"{name} prefers the tea that {name} grows in the garden of {name}", type="preference")

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart("\n".join(texts(messages)))])

    agent = Agent(FunctionModel(answer), capabilities=[MemfolioCapability(memory)])

    async def live() -> None:
        names = ["Alex", "Kim", "Sam"] * 2
        runs = await asyncio.gather(*(agent.run(f"Which tea does {name} prefer?") for name in names))
        for name, run in zip(names, runs, strict=True):
            assert run.output.startswith(f"Which tea does {name} prefer?\n")
            assert f"{name} prefers the tea" in run.output

    asyncio.run(live())


def test_every_tool_of_a_set_is_called_by_the_test_model_without_failing_the_run(memory: Memory) -> None:
    agent = Agent(TestModel(), capabilities=[MemfolioCapability(memory, tools=["core"])])
    assert "recall" in asyncio.run(agent.run("Try everything")).output
    with pytest.raises(InputError):
        MemfolioCapability(memory, tools=["nonsense"])


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("openai_agents", "agents", "openai-agents"),
        ("langgraph", "langgraph", "langgraph"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("anthropic_memory", "anthropic", "anthropic"),
    ],
)
def test_missing_library_says_the_line_that_installs_it(module: str, library: str, extra: str) -> None:
    code = f"""
import sys
sys.modules[{library!r}] = None
from memfolio.errors import MemfolioError
try:
    import memfolio.serve.adapters.{module}
except MemfolioError as error:
    print(error.hint)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == f"pip install 'memfolio[{extra}]'\n"
