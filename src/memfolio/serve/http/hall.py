"""What all requests share: the memories that are kept open, the tokens, the threads, and the counters."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

from memfolio.config import Config
from memfolio.memory import Memory
from memfolio.serve.http.events import Listener, change
from memfolio.serve.http.metrics import Metrics
from memfolio.serve.idle import OpenByAgent
from memfolio.serve.tokens import Tokens
from memfolio.serve.tools.place import told_inside
from memfolio.vault.audit import TrailLine

T = TypeVar("T")


class Room:
    """The memory of one agent, opened when it is first used, those who listen to its changes, and calls under way."""

    def __init__(self, config: Config, agent: str) -> None:
        self.listeners: set[Listener] = set()
        self.calls: set[Future[Any]] = set()
        self._config, self._agent, self._lock = config, agent, Lock()
        self._memory: Memory | None = None

    @property
    def is_in_use(self) -> bool:
        """Whether somebody waits for an answer, listens, or memories are being embedded."""
        memory = self._memory
        return bool(self.calls or self.listeners) or (memory is not None and memory.library.is_embedding)

    def memory(self) -> Memory:
        """The memory; the first who asks waits until it is open."""
        with self._lock:
            if self._memory is None:
                self._memory = Memory.open(self._config.home, self._agent, speaker="agent")
                self._memory.subscribe(self._tell)
            return self._memory

    def _tell(self, line: TrailLine) -> None:
        for each in [*self.listeners]:
            each.hear(change(line))

    def close(self) -> None:
        """Close the memory where it was opened."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()


class Hall:
    """Open from its making until `close`; threads may share it."""

    def __init__(self, config: Config, now: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self.rooms = OpenByAgent(lambda agent: Room(config, agent), now)
        # Held as long as the server runs: what is wrong with the home is known at once.
        self._first = Memory.open(config.home, config.agent, background=False, speaker="agent")
        self.tokens = Tokens(self._first.vault.home)
        self.metrics = Metrics(open_memories=lambda: len(self.rooms))
        # More threads than cores only make each other wait; what takes long has its own, and holds up nobody.
        self._quick = ThreadPoolExecutor(max(2, os.cpu_count() or 2), thread_name_prefix="memfolio-http")
        self._slow = ThreadPoolExecutor(2, thread_name_prefix="memfolio-http-long")

    def room(self, agent: str) -> Room:
        """Where an agent's memory is; one that nobody uses is closed after a while, and opened again."""
        return self.rooms.of(agent)

    def run(self, agent: str, work: Callable[[Memory], T], *, is_long: bool = False) -> asyncio.Future[T]:
        """What a thread does with an agent's memory."""
        room = self.room(agent)

        def done() -> T:
            with told_inside(self._config.home):
                return work(room.memory())

        call = (self._slow if is_long else self._quick).submit(done)
        room.calls.add(call)
        call.add_done_callback(room.calls.discard)
        return asyncio.wrap_future(call)

    def end_streams(self) -> None:
        """Have everybody who listens come to an end."""
        for listener in [each for room in self.rooms.values() for each in room.listeners]:
            listener.hear(None)

    def close(self) -> None:
        """Let what runs come to its end, write all of it, and leave no lock."""
        for pool in (self._quick, self._slow):
            pool.shutdown()
        self.rooms.close()
        self._first.close()
