"""A limit on what is sent to a server that is paid for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from threading import Lock

from memfolio.errors import EmbedderError
from memfolio.text import estimate_tokens

DAY = 86_400.0


class Spending:
    """How many tokens were sent to one server within a day. Threads may share it."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self.lock = Lock()
        self._now = now
        self._began = now()
        self._spent = 0

    @property
    def spent(self) -> int:
        """The tokens of this day, which begins with the first question after the day before."""
        if self._now() - self._began >= DAY:
            self._spent, self._began = 0, self._now()
        return self._spent

    def add(self, tokens: int) -> None:
        self._spent = self.spent + tokens


_KNOWN: dict[tuple[str, str], Spending] = {}


def spending(url: str, model: str) -> Spending:
    """What this process sends to a model: one count for all embedders that ask it."""
    return _KNOWN.setdefault((url, model), Spending())


class Budget:
    """So many tokens a day, by an estimate; 0 is no limit."""

    def __init__(self, limit: int, spending: Spending | None = None) -> None:
        self._limit = limit
        self._spending = spending or Spending()

    def spend(self, texts: Sequence[str]) -> int:
        """Count the first of these texts, as many as can be paid for, and say how many; EmbedderError for none."""
        costs = list(accumulate(map(estimate_tokens, texts)))
        with self._spending.lock:
            spent = self._spending.spent
            paid = [cost for cost in costs if not self._limit or spent + cost <= self._limit]
            if costs and not paid:
                raise self._used_up(spent, costs[0])
            self._spending.add(paid[-1] if paid else 0)
            return len(paid)

    def _used_up(self, spent: int, cost: int) -> EmbedderError:
        return EmbedderError(
            f"the embedding budget is used up: {spent:,} of {self._limit:,} tokens are spent, and the next text has "
            f"{cost:,}",
            hint="wait until tomorrow, or raise embedding.budget",
        )
