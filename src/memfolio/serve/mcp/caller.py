"""Call tools on one memory, which is opened in the background at the start."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from memfolio.arguments import check_known
from memfolio.errors import MemfolioError, NotFoundError, PolicyError, ProposedError
from memfolio.serve.hooks.pause import check_unpaused
from memfolio.verbs.documents import packed, told_inside
from memfolio.verbs.verb import OnProgress, Verb

if TYPE_CHECKING:
    from memfolio.memory import Memory

Open = Callable[[], "Memory"]
AT_ONCE = 8
"""Calls that run at the same time; others wait."""
SCOPE = "write by a token that may read: refuse"
logger = logging.getLogger(__name__)


class CallResult(NamedTuple):
    """The answer of a call as a JSON object, or its error in the same form."""

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
        """Run a function in a thread; once begun, it is finished even if nobody waits."""
        call = self._threads.submit(function, *args)
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return call

    def asked(self, function: Callable[..., Any], *args: Any, audience: str | None = None) -> Any:
        """What a function of the memory, as the audience hears it, returns."""
        memory = self.memory.heard_by(audience)
        with told_inside(memory.vault.config.home):
            return function(memory, *args)

    def offered(self, *, may_write: bool) -> dict[str, Verb]:
        """The tools for one who may write, or may not."""
        return {name: tool for name, tool in self.tools.items() if may_write or tool.is_reading}

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        on_progress: OnProgress | None = None,
        *,
        may_write: bool = True,
        audience: str | None = None,
    ) -> CallResult:
        """Call a tool. What goes wrong is told, not raised; what needs leave was proposed, which is an answer."""
        try:
            tool = self._tool(name, arguments, may_write)
            if tool.scope_for(arguments) != "read":
                check_unpaused(self.memory.vault.config.home)
            result = self.asked(tool, arguments, on_progress, audience=audience)
            return CallResult(json.loads(packed({"result": result})))
        except ProposedError as error:
            return CallResult({"result": {"proposed": error.proposal, "policy": error.row, "hint": error.hint}})
        except MemfolioError as error:
            return _failed(error.code, error.message, error.hint)
        except Exception:  # the outer edge: an agent gets an answer, a person finds the cause in the log
            logger.exception("%s failed", name[:40])
            return _failed("internal", f"{name[:40]} failed", "the log of the server has the cause; please report it")

    def _tool(self, name: str, arguments: Mapping[str, Any], may_write: bool) -> Verb:
        check_known("there is no tool", [name], self.tools, NotFoundError)
        tool = self.tools[name]
        if not may_write and tool.scope_for(arguments) != "read":
            hint = "have the owner make a token with --scope write"
            raise PolicyError(f"this token may only read, and {name} writes", row=SCOPE, hint=hint)
        return tool

    def close(self) -> None:
        """Finish running calls, and close the memory if it was opened."""
        self._threads.shutdown(cancel_futures=True)
        self._opener.shutdown()
        if not self._opening.exception():
            self._opening.result().close()


def _failed(code: str, message: str, hint: str) -> CallResult:
    return CallResult({"error": {"code": code, "message": message, "hint": hint}}, is_error=True)
