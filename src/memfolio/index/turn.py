"""Turns: a lock among the threads of a process."""

from __future__ import annotations

import os
import threading
from types import TracebackType


class Turn:
    """One thread at a time; who has its turn may take it again.

    A forked process begins anew, since a thread of its parent that had its turn is not there to end it.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.RLock()

    def take(self, *, timeout: float = -1) -> bool:
        """Wait for the turn, for ever or for so many seconds; whether it came."""
        if self._process != os.getpid():
            self._begin()
        return self._lock.acquire(timeout=timeout) if timeout else self._lock.acquire(blocking=False)

    def end(self) -> None:
        self._lock.release()

    def __enter__(self) -> None:
        self.take()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
