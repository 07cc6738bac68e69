"""A limit on what is sent to a server that is paid for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from threading import Lock

from memfolio.errors import EmbedderError
from memfolio.text import estimate_tokens

DAY = 86_400.0


class Budget:
    """So many tokens a day, by an estimate, and for this process alone; 0 is no limit. Threads may share it."""

    def __init__(self, limit: int, *, now: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._now = now
        self._lock = Lock()
        self._spent = 0
        self._began = now()

    def spend(self, texts: Iterable[str]) -> None:
        """Count texts that are about to be sent; EmbedderError, and nothing counted, where they are too many."""
        if not self._limit:
            return
        cost = sum(map(estimate_tokens, texts))
        with self._lock:
            if self._now() - self._began >= DAY:
                self._spent, self._began = 0, self._now()
            if self._spent + cost > self._limit:
                raise EmbedderError(
                    f"the embedding budget is used up: {self._spent:,} of {self._limit:,} tokens are spent, and the "
                    f"next texts have {cost:,}",
                    hint="wait until tomorrow, or raise embedding.budget",
                )
            self._spent += cost
