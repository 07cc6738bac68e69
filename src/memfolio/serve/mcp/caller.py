"""Calls tools on one memory, which is opened beside whatever else takes its time at the start."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memfolio.arguments import nearest
from memfolio.errors import MemfolioError, NotFoundError, PolicyError, ProposedError, RefusedError
from memfolio.serve.hooks.pause import is_paused
from memfolio.verbs.documents import as_json, told_inside
from memfolio.verbs.verb import OnProgress, Verb

if TYPE_CHECKING:
    from memfolio.memory import Memory

Open = Callable[[], "Memory"]
AT_ONCE = 8
"""Calls that run at the same time; others wait."""
RESUME = "ask the person; `memfolio doctor` shows how to end the pause"
SCOPE = "write by a token that may read: refuse"
logger = logging.getLogger(__name__)


class CallResult(NamedTuple):
    """What a call answers, as a JSON object; or the error that it ended with, in the same form."""

    document: dict[str, Any]
    is_error: bool = False


class Caller:
    """The tools that are offered, and the memory that they are called on; threads may share it."""

    def __init__(self, tools: Mapping[str, Verb], open: Open) -> None:
        self.tools = tools
        self._open = open
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="memfolio-open")
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="memfolio-call")
        self._lock = threading.Lock()
        # Hosts wait for the list of tools, not for the memory.
        self._opening: Future[Memory] = self._opener.submit(open)
        self._calls: set[Future[Any]] = set()

    @property
    def is_in_use(self) -> bool:
        """Whether the memory is being opened or embedded, or somebody waits for an answer."""
        if self._calls or not self._opening.done():
            return True
        return self._opening.exception() is None and self._opening.result().searcher.is_embedding

    @property
    def memory(self) -> Memory:
        """The memory, waited for where it is still being opened; what keeps it from being opened is tried again."""
        opening = self._opening
        try:
            return opening.result()
        except MemfolioError:
            # Of many who wait, one tries again.
            with self._lock:
                if self._opening is opening:
                    self._opening = self._opener.submit(self._open)
            raise

    def begin(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Have a thread do something; what is begun is finished, whoever waits for it."""
        call = self._threads.submit(function, *args)
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return call

    def asked(self, function: Callable[..., Any], *args: Any) -> Any:
        """What a function of the memory returns."""
        memory = self.memory
        with told_inside(memory.vault.config.home):
            return function(memory, *args)

    def offered(self, *, may_write: bool) -> dict[str, Verb]:
        """The tools for one who may write, or may not."""
        return {name: tool for name, tool in self.tools.items() if may_write or tool.is_reading}

    def call(
        self, name: str, arguments: Mapping[str, Any], on_progress: OnProgress | None = None, *, may_write: bool = True
    ) -> CallResult:
        """Call a tool. What goes wrong is told, not raised; what needs leave was proposed, which is an answer."""
        try:
            tool = self._tool(name, arguments, may_write)
            if tool.scope_for(arguments) != "read" and is_paused(self.memory.vault.config.home, str(Path.cwd())):
                raise RefusedError("memory is paused, and nothing is kept", hint=RESUME)
            return CallResult(json.loads(as_json({"result": self.asked(tool, arguments, on_progress)})))
        except ProposedError as error:
            return CallResult({"result": {"proposed": error.proposal, "policy": error.row, "hint": error.hint}})
        except MemfolioError as error:
            return _failed(error.code, error.message, error.hint)
        except Exception:  # the outer edge: an agent gets an answer, a person finds the cause in the log
            logger.exception("%s failed", name[:40])
            return _failed("internal", f"{name[:40]} failed", "the log of the server has the cause; please report it")

    def _tool(self, name: str, arguments: Mapping[str, Any], may_write: bool) -> Verb:
        tool = self.tools.get(name)
        if tool is None:
            raise NotFoundError(f"there is no tool {name[:40]!r}", hint=nearest(name, list(self.tools)))
        if not may_write and tool.scope_for(arguments) != "read":
            hint = "have the owner make a token with --scope write"
            raise PolicyError(f"this token may only read, and {name} writes", row=SCOPE, hint=hint)
        return tool

    def close(self) -> None:
        """Finish what was begun, and close the memory if it was opened."""
        self._threads.shutdown(cancel_futures=True)
        self._opener.shutdown()
        if not self._opening.exception():
            self._opening.result().close()


def _failed(code: str, message: str, hint: str) -> CallResult:
    return CallResult({"error": {"code": code, "message": message, "hint": hint}}, is_error=True)
