"""Embedding in the background: a thread that works while there is something to do and sleeps otherwise."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence

from memfolio.embed.meaning import Meaning
from memfolio.errors import MemfolioError
from memfolio.index.index import Index

logger = logging.getLogger("memfolio")
CALM = 0.2
"""Seconds without a call after which the thread begins, so that it does not compete with what woke it."""


class Worker:
    """Fills indexes with vectors, off everybody's way."""

    def __init__(self, meaning: Meaning, indexes: Callable[[], Sequence[Index]]) -> None:
        self._meaning = meaning
        self._indexes = indexes
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def notify(self) -> None:
        """There may be something to do."""
        if self._process != os.getpid():
            self._begin()  # a forked process has none of its parent's threads
        self._woken.set()
        with self._lock:
            if not (self._thread and self._thread.is_alive()) and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="memfolio-embed", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            self._woken.wait()
            self._wait_for_calm()
            if self._stopping.is_set():
                return
            for index in self._indexes():
                self._fill(index)

    def _wait_for_calm(self) -> None:
        """Clear the call, and wait until no other follows for a moment; but not for ever."""
        for _ in range(10):
            self._woken.clear()
            if self._stopping.wait(CALM) or not self._woken.is_set():
                return
        self._woken.clear()

    def _fill(self, index: Index) -> None:
        try:
            while not self._stopping.is_set() and self._meaning.fill(index, seconds=0.1):
                if self._meaning.is_stuck(index):
                    break
            index.tidy()
        except MemfolioError as error:
            logger.debug("embedding stopped: %s", error)  # the next call tries again

    def close(self) -> None:
        """Stop after the batch under way."""
        if self._process != os.getpid():
            return
        self._stopping.set()
        self._woken.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5)
