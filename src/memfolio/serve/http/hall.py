"""What all requests share: the memories that are kept open, the tokens, the threads, and the counters."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

from memfolio.config import Config
from memfolio.memory import Memory
from memfolio.serve.http.events import Listener, change
from memfolio.serve.http.metrics import Metrics
from memfolio.serve.tokens import Tokens
from memfolio.serve.tools.place import told_inside
from memfolio.vault.audit import TrailLine

T = TypeVar("T")


class Room:
    """The memory of one agent, opened when it is first used, and those who listen to its changes."""

    def __init__(self, config: Config, agent: str) -> None:
        self.listeners: set[Listener] = set()
        self._config, self._agent, self._lock = config, agent, Lock()
        self._memory: Memory | None = None

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

    def __init__(self, config: Config) -> None:
        self._config = config
        self._rooms: dict[str, Room] = {}
        # Held as long as the server runs: what is wrong with the home is known at once.
        self._first = Memory.open(config.home, config.agent, background=False, speaker="agent")
        self.tokens = Tokens(self._first.vault.home)
        self.metrics = Metrics(open_memories=lambda: len(self._rooms))
        # More threads than cores only make each other wait; what takes long has its own, and holds up nobody.
        self._quick = ThreadPoolExecutor(max(2, os.cpu_count() or 2), thread_name_prefix="memfolio-http")
        self._slow = ThreadPoolExecutor(2, thread_name_prefix="memfolio-http-long")

    def room(self, agent: str) -> Room:
        """Where an agent's memory is; there are as many as there are agents with tokens."""
        return self._rooms.setdefault(agent, Room(self._config, agent))

    def run(self, agent: str, work: Callable[[Memory], T], *, is_long: bool = False) -> asyncio.Future[T]:
        """What a thread does with an agent's memory."""
        room = self.room(agent)

        def done() -> T:
            with told_inside(self._config.home):
                return work(room.memory())

        return asyncio.get_running_loop().run_in_executor(self._slow if is_long else self._quick, done)

    def end_streams(self) -> None:
        """Have everybody who listens come to an end."""
        for listener in [each for room in self._rooms.values() for each in room.listeners]:
            listener.hear(None)

    def close(self) -> None:
        """Let what runs come to its end, write all of it, and leave no lock."""
        for pool in (self._quick, self._slow):
            pool.shutdown()
        for each in self._rooms.values():
            each.close()
        self._first.close()
