"""What all requests share: the memories that are kept open, the tokens, the threads, and the counters."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from memfolio.config import Config
from memfolio.errors import HomeBusyError
from memfolio.memory import Memory
from memfolio.serve.http.errors import Refusal
from memfolio.serve.http.events import Changes
from memfolio.serve.http.limits import Limits
from memfolio.serve.http.metrics import Metrics
from memfolio.serve.tokens import Tokens

T = TypeVar("T")


class Kept:
    """A memory that is opened when it is first used, with those who listen to its changes."""

    def __init__(self, open: Callable[[], Memory]) -> None:
        self.users, self.changes = 0, Changes()
        self._open, self._lock = open, Lock()
        self._memory: Memory | None = None

    def memory(self) -> Memory:
        """The memory, opened by the first who asks."""
        with self._lock:
            if self._memory is None:
                self._memory = self._open()
                self._memory.subscribe(self.changes.tell)
            return self._memory

    def close(self) -> None:
        """Close it where it was opened."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()


class Hall:
    """Open from its making until `close`; threads may share it."""

    def __init__(self, config: Config, limits: Limits) -> None:
        self._config, self._limits, self._lock, self._busy = config, limits, Lock(), 0
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        # Held as long as the server runs: what is wrong with the home is known at once.
        self._first = Memory.open(config.home, config.agent, background=False, speaker="agent")
        self.tokens = Tokens(self._first.vault.home)
        self.metrics = Metrics(open_memories=lambda: len(self._kept))
        # More threads than cores only make each other wait; what takes long has its own, and holds up nobody.
        self._quick = ThreadPoolExecutor(max(2, os.cpu_count() or 2), thread_name_prefix="memfolio-http")
        self.long = ThreadPoolExecutor(2, thread_name_prefix="memfolio-http-long")

    @contextmanager
    def place(self) -> Iterator[None]:
        """One of the places for requests, taken by whoever was let in until the answer begins."""
        if self._busy >= self._limits.requests:
            raise Refusal(503, "busy", "too many requests at once", "try again in a moment", retry_after="1")
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1

    @contextmanager
    def held(self, agent: str) -> Iterator[Kept]:
        """An agent's memory, which is not closed as long as this lasts."""
        kept, left = self._taken(agent)
        if left is not None:
            left.close()
        try:
            yield kept
        finally:
            with self._lock:
                kept.users -= 1

    def _taken(self, agent: str) -> tuple[Kept, Kept | None]:
        """The memory of an agent, and the one that was not used for longest where that has to go."""
        with self._lock:
            left = None
            if agent not in self._kept and len(self._kept) >= self._limits.agents:
                idle = next((each for each, kept in self._kept.items() if not kept.users), None)
                if idle is None:
                    raise HomeBusyError("too many agents are served at once", hint="try again in a moment")
                left = self._kept.pop(idle)
            kept = self._kept.setdefault(agent, Kept(lambda: self._opened(agent)))
            kept.users += 1
            self._kept.move_to_end(agent)
            return kept, left

    def _opened(self, agent: str) -> Memory:
        return Memory.open(self._config.home, agent, speaker="agent")

    def on_memory(self, agent: str, work: Callable[[Memory], T]) -> T:
        """Do something with an agent's memory; for threads that may wait."""
        with self.held(agent) as kept:
            return work(kept.memory())

    async def run(self, agent: str, work: Callable[[Memory], T], *, is_long: bool = False) -> T:
        """The same on a thread, waited for."""
        pool: Any = self.long if is_long else self._quick
        return await asyncio.get_running_loop().run_in_executor(pool, self.on_memory, agent, work)

    def end_streams(self) -> None:
        """Have everybody who listens come to an end."""
        for each in [*self._kept.values()]:
            each.changes.end()

    def close(self) -> None:
        """Let what runs come to its end, write all of it, and leave no lock."""
        for pool in (self._quick, self.long):
            pool.shutdown()
        for each in self._kept.values():
            each.close()
        self._first.close()
