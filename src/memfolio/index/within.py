"""Which memories are within short-term memory: that follows from when they came and how important they are.

Nothing is written when a memory leaves it: the text stays in its log, and from then on it counts as long-term memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import apsw

from memfolio.clock import to_ms
from memfolio.types import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortTerm:
    """What is in short-term memory at a moment: the most important of what came since then."""

    since: datetime
    capacity: int

    @classmethod
    def at(cls, now: datetime, ttl: timedelta, capacity: int) -> ShortTerm:
        return cls(since=now - ttl, capacity=capacity)

    @property
    def values(self) -> tuple[str, int]:
        """What `WITHIN` asks for. Ids begin with the time of creation, so they tell it without a look at the rows."""
        return f"M-{max(0, to_ms(self.since)):013d}", self.capacity


_RECENT = """FROM memories s WHERE s.id >= ? AND s.id < 'M-:' AND s.store = 'short_term' AND s.forgotten_at IS NULL
    AND s.archived = 0"""
WITHIN = f"m.row IN (SELECT s.row {_RECENT} ORDER BY s.importance DESC, s.id DESC LIMIT ?)"


def count_within(connection: apsw.Connection, short_term: ShortTerm) -> int:
    """How many memories are within short-term memory."""
    found: int = connection.execute(f"SELECT count(*) FROM (SELECT 1 {_RECENT} LIMIT ?)", short_term.values).get or 0
    return found


def stores_of(stores: Sequence[Store], short_term: ShortTerm) -> tuple[str, tuple[str | int, ...]]:
    """The condition that a memory is in one of these stores, with its values; what left short-term is long-term."""
    recent, lasting = Store.SHORT_TERM in stores, Store.LONG_TERM in stores
    plain = tuple(each.value for each in stores if each is not Store.SHORT_TERM or lasting)
    sql = f"m.store IN ({', '.join('?' * len(plain))})"
    if recent == lasting:
        return sql, plain
    within = WITHIN if recent else f"(m.store = 'short_term' AND NOT {WITHIN})"
    return f"{sql} OR {within}", (*plain, *short_term.values)
