"""What passes a filter: each memory is looked up once for a whole question."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import apsw

from memfolio.index.filter import Filter

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


class Sieve:
    """A filter over the memories of one moment."""

    def __init__(self, connection: apsw.Connection, wanted: Filter) -> None:
        self.connection = connection
        self._wanted = wanted
        self._known: dict[int, Turn | None] = {}

    def passing(self, rows: Iterable[int]) -> dict[int, Turn]:
        """Those of these rows that pass."""
        rows = list(rows)
        known = self._known
        if new := [row for row in rows if row not in known]:
            condition, values = self._wanted.where()
            sql = f"SELECT {_TURN} FROM memories m WHERE m.row IN carray(?) AND {condition}"
            known.update(dict.fromkeys(new))
            for found in self.connection.execute(sql, (apsw.carray(array("q", new)), *values)):
                known[found[0]] = tuple.__new__(Turn, found)  # a third of the time of Turn._make
        return {row: turn for row in rows if (turn := known[row]) is not None}

    @cached_property
    def few(self) -> dict[int, str] | None:
        """All memories that pass, with their ids; None when they are not few."""
        if not self._wanted.is_narrow:
            return None
        condition, values = self._wanted.where()
        sql = f"SELECT m.row, m.id FROM memories m WHERE {condition} LIMIT ?"
        found = dict(self.connection.execute(sql, (*values, FEW + 1)))
        return found if len(found) <= FEW else None
