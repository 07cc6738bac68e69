"""pydantic-ai: a capability that gives an agent the tools of a memory, and what it knows about each prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memfolio.memory import Memory
from memfolio.serve import text_of
from memfolio.serve.adapters import Given, caller_of, memory_of, missing, schema_of
from memfolio.serve.mcp.caller import Caller

try:
    from pydantic_ai import RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelRequest, UserPromptPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise missing("pydantic-ai-slim", "pydantic-ai") from error


@dataclass(init=False)
class MemfolioCapability(AbstractCapability[Any]):
    """Tools, how to use them, and beside each prompt what is remembered about it.

    What is remembered goes to the model with the prompt, since it is data: it is neither part of the instructions nor
    of the message history.
    """

    memory: Memory

    def __init__(
        self,
        memory: Given = None,
        *,
        tools: Sequence[str] = ("core",),
        budget: int | None = None,
        user: str | None = None,
    ) -> None:
        self.memory = memory_of(memory)
        self._caller = caller_of(self.memory, tools)
        self._context = partial(self.memory.context, budget=budget, user=user)
        self._known: tuple[str, str | None] | None = None

    async def for_run(self, ctx: RunContext[Any]) -> MemfolioCapability:
        """One of its own for each run, which asks for what is known about a prompt once."""
        own = object.__new__(type(self))
        own.__dict__.update(self.__dict__, _known=None)
        return own

    def get_instructions(self) -> str:
        """How an agent uses its memory."""
        return text_of("capability.txt")

    def get_toolset(self) -> FunctionToolset[Any]:
        """The tools; errors are told as answers, not raised."""
        tools = [
            Tool[Any].from_schema(
                partial(_called, self._caller, tool.name), tool.name, tool.description, schema_of(tool)
            )
            for tool in self._caller.tools.values()
        ]
        return FunctionToolset(tools)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """The same request with what is remembered beside the latest prompt."""
        messages = list(request_context.messages)
        for at, message in reversed([*enumerate(messages)]):
            if isinstance(message, ModelRequest) and (prompt := _prompt(message)):
                if known := await self._about(prompt):
                    messages[at] = replace(message, parts=[*message.parts, UserPromptPart(known)])
                break
        return replace(request_context, messages=messages)

    async def _about(self, prompt: str) -> str | None:
        """What is known about a prompt; asked once, so that each step of a run sees the same."""
        if self._known is None or self._known[0] != prompt:
            self._known = prompt, await asyncio.to_thread(self._context, prompt)
        return self._known[1]


async def _called(caller: Caller, name: str, /, **arguments: Any) -> dict[str, Any]:
    return (await asyncio.to_thread(caller.call, name, arguments)).document


def _prompt(message: ModelRequest) -> str:
    """The words of the prompts in a message."""
    prompts = [part.content for part in message.parts if isinstance(part, UserPromptPart)]
    pieces = [[each] if isinstance(each, str) else each for each in prompts]
    return "\n".join(text for piece in pieces for text in piece if isinstance(text, str))
