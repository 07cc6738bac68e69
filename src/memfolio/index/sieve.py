"""What passes a filter: each memory is looked up once for a whole question."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import NamedTuple

import apsw

from memfolio.index.filter import Condition, Filter

FEW = 4000
"""Up to how many memories that pass a filter are compared one by one."""
WIDER = 8
"""By how much a search widens while too few of the best pass the filter."""


class Turn(NamedTuple):
    """What ranking asks about a memory beside its words: who said it, where and when."""

    row: int
    id: str
    session: str | None
    role: str | None
    happened_at: int
    file: int
    kind: str
    superseded_by: str | None


_TURN = ", ".join(f"m.{name}" for name in Turn._fields)
_turn = partial(tuple.__new__, Turn)
"""A third of the time of Turn._make."""


class Sieve:
    """A filter over the memories of one moment."""

    def __init__(self, connection: apsw.Connection, wanted: Filter) -> None:
        self.connection = connection
        self._wanted = wanted
        self._asked: set[int] = set()
        self._passed: dict[int, Turn] = {}

    def passing(self, rows: Iterable[int]) -> dict[int, Turn]:
        """Those of these rows that pass."""
        rows, passed = list(rows), self._passed
        if new := set(rows) - self._asked:
            self._asked |= new
            passed.update({turn.row: turn for turn in self._read(new)})
        return {row: passed[row] for row in rows if row in passed}

    def best(self, scores: Mapping[int, float], limit: int) -> list[int]:
        """The best `limit` of those that pass, best first, equal ones by id."""
        rows: Iterable[int] = scores
        if len(scores) > limit:  # most often all pass, and the rest need not be looked up
            least = sorted(scores.values(), reverse=True)[limit - 1]
            rows = [row for row, score in scores.items() if score >= least]
        turns = self.passing(rows)
        if len(turns) < limit:
            turns = self.passing(scores)
        return sorted(turns, key=lambda row: (-scores[row], turns[row].id))[:limit]

    def _read(self, rows: Iterable[int]) -> Iterator[Turn]:
        condition, values = self.where
        # A join, and not IN, for which SQLite would sort the rows first.
        sql = f"SELECT {_TURN} FROM carray(?) asked CROSS JOIN memories m ON m.row = asked.value WHERE {condition}"
        return map(_turn, self.connection.execute(sql, (apsw.carray(array("q", rows)), *values)))

    @cached_property
    def where(self) -> Condition:
        """The condition on `memories m`, with its values."""
        return self._wanted.where()

    @cached_property
    def few(self) -> list[int] | None:
        """The rows of all memories that pass; None when they are not few."""
        if not self._wanted.is_narrow:
            return None
        condition, values = self.where
        sql = f"SELECT m.row FROM memories m WHERE {condition} LIMIT ?"
        found = [row for (row,) in self.connection.execute(sql, (*values, FEW + 1))]
        return found if len(found) <= FEW else None
