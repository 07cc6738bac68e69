"""pydantic-ai: a capability that gives an agent the tools of a memory, and what it knows about each prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any

from memfolio.memory import Memory
from memfolio.recall.context import Context
from memfolio.serve import text_of
from memfolio.serve.adapters import Given, acted_on, caller_of, memory_of, missing, schema_of
from memfolio.serve.mcp.caller import Caller

try:
    from pydantic_ai import RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise missing("pydantic-ai-slim", "pydantic-ai") from error


MOST_TOLD = 1_000
"""How many prompts are remembered with their context."""


@dataclass(init=False)
class MemfolioCapability(AbstractCapability[Any]):
    """Tools, how to use them, and beside each prompt what is remembered about it.

    What is remembered goes to the model with the prompt, since it is data: it is neither part of the instructions nor
    of the message history. With later prompts it stands where it stood, so that providers find what they have cached,
    and nothing is told twice in a conversation.
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
        self._caller = caller_of(self.memory.heard_by(user), tools)
        self._compose = partial(self.memory.compose, budget=budget, user=user)
        self._act_on = partial(acted_on, self.memory, user=user)
        self._told: dict[str, Context] = {}
        """The context of each prompt, by a hash of all prompts of its conversation up to it."""
        self._asked = ""

    async def for_run(self, ctx: RunContext[Any]) -> MemfolioCapability:
        """One of its own for each run, which asks for what is known about a prompt once."""
        # Runs share what was told, but each decides for itself whether it has asked.
        own = object.__new__(type(self))
        own.__dict__.update(self.__dict__, _asked="")
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
        """The same request with what is remembered beside the latest prompt, and what was told beside earlier ones."""
        messages, known = list(request_context.messages), set[str]()
        prompts = {at: prompt for at, each in enumerate(messages) if (prompt := _prompt(each))}
        conversation = blake2b(digest_size=16)
        for at, prompt in prompts.items():
            # The length keeps two prompts from looking like another two put together.
            conversation.update(f"{len(prompt)} {prompt}".encode("utf-8", "replace"))
            mark = conversation.hexdigest()
            if at == max(prompts) and mark != self._asked:
                self._note(mark, await asyncio.to_thread(self._tell, prompt, known))
            told, message = self._told.get(mark), messages[at]
            if told and told.text and isinstance(message, ModelRequest):
                messages[at] = replace(message, parts=[*message.parts, UserPromptPart(told.text)])
                known.update(told.ids)
        return replace(request_context, messages=messages)

    def _note(self, mark: str, told: Context) -> None:
        # Oldest first, since dictionaries keep their order.
        while len(self._told) >= MOST_TOLD:
            self._told.pop(next(iter(self._told)), None)
        self._asked, self._told[mark] = mark, told

    def _tell(self, prompt: str, known: set[str]) -> Context:
        """Return the answer to what a prompt asks of the memory, and the context for it."""
        acted, told = self._act_on(prompt), self._compose(prompt, known=known)
        return replace(told, text="\n".join(filter(None, (acted, told.text)))) if acted else told


async def _called(caller: Caller, name: str, /, **arguments: Any) -> dict[str, Any]:
    return (await asyncio.to_thread(caller.call, name, arguments)).document


def _prompt(message: ModelMessage) -> str:
    """The words of the prompts in a message."""
    parts = message.parts if isinstance(message, ModelRequest) else ()
    prompts = [part.content for part in parts if isinstance(part, UserPromptPart)]
    pieces = [[each] if isinstance(each, str) else each for each in prompts]
    return "\n".join(text for piece in pieces for text in piece if isinstance(text, str))
