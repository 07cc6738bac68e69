"""Memories in their company: what was said just before and after, and who the speakers are."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw

from memfolio.index.filter import Filter
from memfolio.index.rows import ROLES
from memfolio.index.schema import NAMELESS

AT_ONCE = 3000
"""Up to how many turns whole sessions are read for the neighbours of some; else these are asked for one by one."""


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


def around(connection: apsw.Connection, some: Iterable[Turn], reach: int) -> dict[int, list[tuple[int, int]]]:
    """For each of these the rows up to `reach` places away in the same session, each with its distance."""
    spoken = [turn for turn in some if turn.session is not None]
    order = _orders(connection, tuple({turn.session: None for turn in spoken}))
    if order is None:
        return {turn.row: list(_around(connection, turn, reach)) for turn in spoken}
    return {turn.row: list(_near(order[turn.session], turn.row, reach)) for turn in spoken if turn.session is not None}


def _orders(connection: apsw.Connection, sessions: Sequence[str | None]) -> dict[str, list[int]] | None:
    """The rows of each session in their order; None where that would be too much."""
    if not sessions:
        return {}
    found: dict[str, list[int]] = {}
    order = "ORDER BY session, happened_at, ordinal LIMIT ?"
    sql = f"SELECT session, row FROM memories WHERE session IN carray(?) {order}"
    rows: list[Any] = connection.execute(sql, (apsw.carray(tuple(sessions)), AT_ONCE)).fetchall()
    for session, row in rows:
        found.setdefault(session, []).append(row)
    return None if len(rows) == AT_ONCE else found


def _near(order: Sequence[int], row: int, reach: int) -> Iterator[tuple[int, int]]:
    at = order.index(row)
    first = max(0, at - reach)
    return ((other, abs(at - nth)) for nth, other in enumerate(order[first : at + reach + 1], first) if nth != at)


def _around(connection: apsw.Connection, turn: Turn, reach: int) -> Iterator[tuple[int, int]]:
    """The same for one turn of a long session."""
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
