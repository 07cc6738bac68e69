"""A gate at which a fork waits: a lock of SQLite's that a thread holds would stay shut in the new process for ever."""

from __future__ import annotations

import os
import threading
from types import TracebackType

PATIENCE = 5.0
"""Seconds for which a fork waits at most."""


class Gate:
    """Counts the threads that are inside SQLite, and keeps others out while a process is forked."""

    def __init__(self) -> None:
        self._begin(0)
        os.register_at_fork(
            before=self._shut, after_in_parent=self._reopen, after_in_child=lambda: self._begin(self._mine())
        )

    def _begin(self, inside: int) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._inside, self._is_forking = inside, False
        self._thread = threading.local()
        self._thread.depth = inside

    def _mine(self) -> int:
        """How often this thread is inside; what it began it must be able to end."""
        depth: int = getattr(self._thread, "depth", 0)
        return depth

    def __enter__(self) -> None:
        depth = self._mine()
        with self._changed:
            while self._is_forking and not depth:
                self._changed.wait()
            self._inside += 1
        self._thread.depth = depth + 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.depth = self._mine() - 1
        with self._changed:
            self._inside -= 1
            if self._is_forking:
                self._changed.notify_all()

    def _shut(self) -> None:
        self._changed.acquire()
        self._is_forking = True
        self._changed.wait_for(lambda: self._inside == self._mine(), timeout=PATIENCE)

    def _reopen(self) -> None:
        self._is_forking = False
        self._changed.notify_all()
        self._changed.release()
