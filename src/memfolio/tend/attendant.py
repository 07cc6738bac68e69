"""Learning in the background: when a conversation begins, those before it are over and are learned from."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

from memfolio.errors import MemfolioError

logger = logging.getLogger("memfolio")
QUIET = 2.0
"""Seconds without a turn after which the thread begins, so that it never competes with a conversation."""
PATIENCE = 30.0
"""Seconds for which closing waits for the conversation under way, since a model may be reading it."""


class Attendant:
    """Watches conversations change; what a process leaves undone is done when the home is tended."""

    def __init__(self, learn: Callable[[str], object]) -> None:
        self._learn = learn
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._woken = threading.Condition()
        self._current: str | None = None
        self._turns = 0
        self._has_changed = False
        self.is_closed = False
        """Whether the thread should stop after the conversation under way."""
        self._thread: threading.Thread | None = None

    def saw(self, session: str | None) -> None:
        """A turn of this conversation was noted."""
        if session is None or (session == self._current and not self._has_changed):
            return
        if self._process != os.getpid():
            self._begin()  # a forked process has none of its parent's threads
        with self._woken:
            self._has_changed = self._has_changed or self._current not in (None, session)
            self._current = session
            self._turns += 1
            if self._has_changed and not self.is_running and not self.is_closed:
                self._thread = threading.Thread(target=self._run, name="memfolio-attend", daemon=True)
                self._thread.start()
            self._woken.notify_all()

    @property
    def is_running(self) -> bool:
        """Whether there is a thread; one that a defect ended is started anew for the next conversation."""
        return self._thread is not None and self._thread.is_alive()

    def _run(self) -> None:
        while session := self._ended():
            try:
                self._learn(session)
            except MemfolioError as error:
                logger.debug("learning stopped: %s", error)  # tending does it later

    def _ended(self) -> str | None:
        """Wait until conversations have changed and it is quiet; the one that goes on, or None when all is closed."""
        with self._woken:
            while not self.is_closed:
                turns = self._turns
                self._woken.wait(QUIET if self._has_changed else None)
                if self._has_changed and turns == self._turns and not self.is_closed:
                    self._has_changed = False
                    return self._current
            return None

    def close(self) -> None:
        """Stop after the conversation under way."""
        if self._process != os.getpid():
            return
        with self._woken:
            self.is_closed = True
            self._woken.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=PATIENCE)
