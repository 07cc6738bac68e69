"""Calls tools on one memory, which is opened beside whatever else takes its time at the start."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from memfolio.errors import MemfolioError, NotFoundError, PolicyError, ProposedError
from memfolio.govern.gate import SELF
from memfolio.intake import nearest
from memfolio.memory import Memory
from memfolio.serve.cli.output import as_json
from memfolio.serve.tools.tool import AGENT, Tool

Open = Callable[[], Memory]


class Told(NamedTuple):
    """What a call answers, as a JSON object; or the error that it ended with, in the same form."""

    document: dict[str, Any]
    is_error: bool = False


class Caller:
    """The tools that are offered, and the memory that they are called on; threads may share it."""

    def __init__(self, tools: Mapping[str, Tool], open: Open) -> None:
        self.tools = tools
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="memfolio-open")
        self._opening: Future[Memory] = self._thread.submit(open)

    @property
    def memory(self) -> Memory:
        """The memory, waited for where it is still being opened."""
        return self._opening.result()

    def call(self, name: str, arguments: Mapping[str, Any]) -> Told:
        """Call a tool. What goes wrong is told, not raised; what needs leave was proposed, which is an answer."""
        try:
            return Told(json.loads(as_json({"result": self._called(name, arguments)})))
        except ProposedError as error:
            return Told({"result": {"proposed": error.proposal, "policy": error.row, "hint": error.hint}})
        except MemfolioError as error:
            return Told({"error": {"code": error.code, "message": error.message, "hint": error.hint}}, is_error=True)

    def _called(self, name: str, arguments: Mapping[str, Any]) -> Any:
        tool = self.tools.get(name)
        if tool is None:
            raise NotFoundError(f"there is no tool {name[:40]!r}", hint=nearest(name, list(self.tools)))
        memory = self.memory
        agent = arguments.get(AGENT)
        if agent not in (None, memory.agent):
            hint = "leave agent_id out: this door is open for one agent"
            raise PolicyError(f"{memory.agent} cannot act as {str(agent)[:64]!r}", row=SELF, hint=hint)
        return tool(memory, arguments)

    def close(self) -> None:
        """Close the memory, if it was opened."""
        self._thread.shutdown()
        if not self._opening.exception():
            self._opening.result().close()
