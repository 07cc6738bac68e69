"""What stands at the moment: recent memories and active facts for a user, and the newest state lines of a kind."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import apsw

from memfolio.index.filter import Filter
from memfolio.index.lookup import by_rows
from memfolio.index.rows import clean
from memfolio.types import Kind, MemoryItem, Type

KNOWN = (Type.FACT, Type.PREFERENCE, Type.DECISION, Type.LESSON, Type.CORRECTION)
MEMORIES = ("memory",)


def recent(connection: apsw.Connection, since: datetime, user: str | None, limit: int) -> list[MemoryItem]:
    """What happened since then with this user or nobody in particular, or with anybody, the last first."""
    return _chosen(connection, Filter(since=since, forms=MEMORIES), user, "m.happened_at DESC", limit)


def active_facts(connection: apsw.Connection, now: datetime, user: str | None, limit: int) -> list[MemoryItem]:
    """What is known and true, the pinned and the most important first."""
    kinds = (Kind.SEMANTIC, Kind.OPINION)
    order = "m.pinned DESC, m.importance DESC, m.happened_at DESC"
    return _chosen(connection, Filter(kinds=kinds, types=KNOWN, valid_at=now, forms=MEMORIES), user, order, limit)


def _chosen(connection: apsw.Connection, wanted: Filter, user: str | None, order: str, limit: int) -> list[MemoryItem]:
    condition, values = wanted.where()
    about, whose = ("(m.user IS NULL OR m.user = ?)", clean((user,))) if user is not None else ("1", ())
    sql = f"SELECT m.row FROM memories m WHERE {condition} AND {about} ORDER BY {order}, m.id LIMIT ?"
    rows = [row for (row,) in connection.execute(sql, (*values, *whose, limit))]
    return [each.item for each in by_rows(connection, rows)]


def newest_line(connection: apsw.Connection, op: str, name: str, value: str | None) -> dict[str, Any] | None:
    """The newest state line of an operation whose field has this value, or with None lacks it."""
    sql = (
        "SELECT s.line FROM states s JOIN files f ON f.number = s.file WHERE s.op = ? "
        "AND json_extract(s.line, '$.' || ?) IS ? ORDER BY length(f.path) DESC, f.path DESC, s.ordinal DESC LIMIT 1"
    )
    found = connection.execute(sql, clean((op, name, value))).fetchone()
    return dict(json.loads(found[0])) if found else None
