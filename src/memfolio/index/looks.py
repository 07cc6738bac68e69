"""A look at some memories: what ranking wants to know about the best of the candidates."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import apsw

from memfolio.decay import Life
from memfolio.sources import OVERHEARD

LIFE = "m.kind, m.form, m.store, m.role, m.created_at, m.accessed_at, m.access_count, m.decay_rate, m.pinned"
_LOOK = "m.content, m.source, m.importance, m.confidence, m.origin, m.valid_from, m.valid_until"
DERIVED = f"""CASE WHEN m.source IN {OVERHEARD} THEN 2
    WHEN m.more IS NOT NULL AND instr(m.more, '"derived_from":') > 0 THEN 1 ELSE 0 END"""


class Look(NamedTuple):
    """What a memory says, and what is known about it."""

    content: str
    source: str
    importance: float
    confidence: float
    origin: str
    valid_from: int | None
    valid_until: int | None
    life: Life


def look_at(connection: apsw.Connection, rows: Sequence[int]) -> dict[int, Look]:
    """These rows, as far as they are there."""
    if not rows:
        return {}
    sql = f"SELECT m.row, {_LOOK}, {LIFE}, {DERIVED} FROM memories m WHERE m.row IN carray(?)"
    found = connection.execute(sql, (apsw.carray(array("q", rows)),))
    return {row[0]: Look._make((*row[1:8], Life._make(row[8:]))) for row in found}


def short_texts(connection: apsw.Connection, rows: Sequence[int], most: int) -> dict[int, str]:
    """What those of these rows say that say it in at most so many bytes."""
    if not rows:
        return {}
    sql = "SELECT m.row, m.content FROM memories m WHERE m.row IN carray(?) AND octet_length(m.content) <= ?"
    return dict(connection.execute(sql, (apsw.carray(array("q", rows)), most)))
