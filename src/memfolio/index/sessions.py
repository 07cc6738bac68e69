"""Memories in their company: what was said just before and after, and who the speakers are."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import apsw

from memfolio.index.filter import Filter
from memfolio.index.rows import ROLES
from memfolio.index.schema import NAMELESS


class Turn(NamedTuple):
    """What ranking asks about a memory beside its words: who said it, where and when."""

    row: int
    id: str
    session: str | None
    role: str | None
    happened_at: int
    ordinal: int
    file: int
    kind: str
    superseded_by: str | None


_TURN = ", ".join(f"m.{name}" for name in Turn._fields)


def turns(connection: apsw.Connection, rows: Sequence[int], wanted: Filter) -> dict[int, Turn]:
    """These rows, as far as they pass the filter."""
    if not rows:
        return {}
    condition, values = wanted.where()
    sql = f"SELECT {_TURN} FROM memories m WHERE m.row IN carray(?) AND {condition}"
    found = connection.execute(sql, (apsw.carray(array("q", rows)), *values))
    return {row[0]: Turn._make(row) for row in found}


def around(connection: apsw.Connection, turn: Turn, reach: int) -> Iterable[tuple[int, int]]:
    """The rows up to `reach` places away in the same session, each with its distance."""
    if turn.session is None:
        return
    for comparison, order in ((">", "ASC"), ("<", "DESC")):
        sql = (
            f"SELECT row FROM memories WHERE session = ? AND (happened_at, ordinal) {comparison} (?, ?) "
            f"ORDER BY happened_at {order}, ordinal {order} LIMIT ?"
        )
        found = connection.execute(sql, (turn.session, turn.happened_at, turn.ordinal, reach))
        yield from ((row, distance) for distance, (row,) in enumerate(found, start=1))


def speakers(connection: apsw.Connection) -> list[str]:
    """Everybody who speaks under a name of their own."""
    sql = f"""
    WITH RECURSIVE each(role) AS (
        SELECT min(role) FROM memories WHERE role NOT IN {NAMELESS}
        UNION ALL
        SELECT (SELECT min(m.role) FROM memories m
                WHERE m.role > each.role AND m.role NOT IN {NAMELESS})
        FROM each WHERE each.role IS NOT NULL
    ) SELECT role FROM each WHERE role IS NOT NULL LIMIT 1000
    """
    return [role for (role,) in connection.execute(sql) if role.casefold() not in ROLES]
