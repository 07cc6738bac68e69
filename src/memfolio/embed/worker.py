"""Embedding in the background: a thread that works while there is something to do, and then ends."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from memfolio.embed.meaning import SOME, Meaning
from memfolio.errors import MemfolioError
from memfolio.index.index import Index

logger = logging.getLogger("memfolio")
CALM = 0.2
"""Seconds without a call after which the thread begins, so that it does not compete with what woke it."""
LINGER = 5.0
"""Seconds without a call after which the thread ends; the next call starts another one."""
GO = 0.02
"""Seconds for which it works before it looks whether somebody asks something."""
LONGEST_WAIT = 1.0
"""Seconds for which it gives way at most, so that who asks all the time gets vectors too."""


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
        self._changed = threading.Condition()
        self._asked = 0
        self._thread: threading.Thread | None = None

    def notify(self) -> None:
        """There may be something to do."""
        if self._process != os.getpid():
            self._begin()  # a forked process has none of its parent's threads
        self._woken.set()
        with self._lock:
            if not self.is_running and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="memfolio-embed", daemon=True)
                self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether there is a thread: it works, or did a moment ago."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def _run(self) -> None:
        while self._woken.wait(LINGER) or not self._is_over():
            self._wait_for_calm()
            if self._stopping.is_set():
                return
            for index in self._indexes():
                self._fill(index)

    def _is_over(self) -> bool:
        """Whether nobody has called: then the next call finds no thread, and starts one."""
        with self._lock:
            if not self._woken.is_set():
                self._thread = None
            return self._thread is None

    def _wait_for_calm(self) -> None:
        """Clear the call, and wait until no other follows for a moment; but not for ever."""
        for _ in range(10):
            self._woken.clear()
            if self._stopping.wait(CALM) or not self._woken.is_set():
                return
        self._woken.clear()

    def _fill(self, index: Index) -> None:
        try:
            while not self._stopping.is_set() and self._meaning.fill(index, seconds=GO, batch=SOME, is_patient=True):
                if self._meaning.is_stuck(index):
                    break
                self._give_way()
            index.tidy()
        except MemfolioError as error:
            logger.debug("embedding stopped: %s", error)  # the next call tries again

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Keep the thread from competing while a question is answered."""
        with self._changed:
            self._asked += 1
        try:
            yield
        finally:
            with self._changed:
                self._asked -= 1
                self._changed.notify_all()

    def _give_way(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._asked or self._stopping.is_set(), timeout=LONGEST_WAIT)

    def close(self) -> None:
        """Stop after the batch under way."""
        if self._process != os.getpid():
            return
        self._stopping.set()
        self._woken.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5)
