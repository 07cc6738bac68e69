"""What a server keeps open for each agent or home, and closes when nobody has used it for a while."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, Protocol, TypeVar

from memfolio.errors import MemfolioError

IDLE = 300.0
"""Seconds without use after which it is closed."""
EVERY = 30.0
"""Seconds between two looks at what is open; there are none while nothing is."""
logger = logging.getLogger("memfolio")


class Closable(Protocol):
    """Something that holds files, threads and memory while it is open."""

    @property
    def is_in_use(self) -> bool:
        """Whether a request, a reader or a job of its own needs it at the moment."""

    def close(self) -> None:
        """Let go of everything; waits for what is under way."""


T = TypeVar("T", bound=Closable)


class OpenByAgent(Generic[T]):
    """One open thing for each agent that asks, or for each home, made when it first does. For the event loop alone.

    Whoever asks while the one before is being closed gets a new one at once. Where there are more than `most`, the one
    is closed that nobody has used for longest.
    """

    def __init__(
        self, make: Callable[[str], T], now: Callable[[], float] = time.monotonic, *, most: int = sys.maxsize
    ) -> None:
        self._make, self._now, self._most = make, now, most
        self._known: dict[str, T] = {}
        self._used: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._closer = ThreadPoolExecutor(1, thread_name_prefix="memfolio-close")

    def __len__(self) -> int:
        return len(self._known)

    def values(self) -> list[T]:
        return list(self._known.values())

    def of(self, agent: str) -> T:
        """What is open for an agent; it must be in use before the event loop goes on."""
        if agent not in self._known:
            if len(self._known) >= self._most:
                self._close_oldest()
            self._known[agent] = self._make(agent)
        self._used[agent] = self._now()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY, self._look)
        return self._known[agent]

    def _look(self) -> None:
        self._timer = None
        self.close_idle()
        if self._known:
            self._timer = asyncio.get_running_loop().call_later(EVERY, self._look)

    def close_idle(self) -> None:
        """Close what was not used for a while, in a thread of its own."""
        now = self._now()
        for agent, each in list(self._known.items()):
            if each.is_in_use:
                self._used[agent] = now
            elif now - self._used[agent] >= IDLE:
                self.let_go(agent)

    def _close_oldest(self) -> None:
        unused = [agent for agent, each in self._known.items() if not each.is_in_use]
        if unused:
            self.let_go(min(unused, key=self._used.__getitem__))

    def let_go(self, agent: str) -> None:
        """Close what is open for an agent, in a thread of its own."""
        if agent in self._known:
            del self._used[agent]
            self._closer.submit(_close, self._known.pop(agent))

    def close(self) -> None:
        """Close everything, and wait for what is being closed."""
        if self._timer is not None:
            self._timer.cancel()
        for each in self._known.values():
            each.close()
        self._closer.shutdown()


def _close(each: Closable) -> None:
    try:
        each.close()
    except MemfolioError as error:
        logger.warning("closing an idle memory: %s", error)
