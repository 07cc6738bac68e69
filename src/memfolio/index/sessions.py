"""Memories in their company: what was said just before and after, and who the speakers are."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import count

import apsw

from memfolio.index.rows import ROLES
from memfolio.index.schema import NAMELESS


def around(connection: apsw.Connection, rows: Sequence[int], reach: int) -> dict[int, list[tuple[int, int]]]:
    """For each of these the rows up to `reach` places away in the same session and file, each with its distance.

    What happened at the same moment has an order within a file, and none between two.
    """
    if not rows:
        return {}
    found = connection.execute(_AROUND, {"rows": apsw.carray(array("q", rows)), "reach": reach})
    return {row: [*_distant(after), *_distant(before)] for row, after, before in found}


def _distant(listed: str | None) -> Iterable[tuple[int, int]]:
    return zip(map(int, listed.split(",")), count(1), strict=False) if listed else ()


def _side(comparison: str, order: str) -> str:
    return f"""(SELECT group_concat(row) FROM (SELECT row FROM memories n
        WHERE n.session = m.session AND n.file = m.file
        AND (n.happened_at, n.ordinal) {comparison} (m.happened_at, m.ordinal)
        ORDER BY n.happened_at {order}, n.ordinal {order} LIMIT :reach))"""


_AROUND = f"""SELECT m.row, {_side(">", "ASC")}, {_side("<", "DESC")} FROM memories m
    WHERE m.row IN carray(:rows) AND m.session IS NOT NULL"""
"""In one statement for all: one by one, most of the time would go into asking."""


def speakers(connection: apsw.Connection) -> list[str]:
    """Everybody who speaks under a name of their own, in what is neither forgotten nor archived."""
    sql = f"""
    WITH RECURSIVE each(role) AS (
        SELECT min(role) FROM memories WHERE role NOT IN {NAMELESS}
        UNION ALL
        SELECT (SELECT min(m.role) FROM memories m
                WHERE m.role > each.role AND m.role NOT IN {NAMELESS})
        FROM each WHERE each.role IS NOT NULL
    ) SELECT role FROM each WHERE role IS NOT NULL AND EXISTS (
        SELECT 1 FROM memories m WHERE m.role = each.role AND m.forgotten_at IS NULL AND m.archived = 0
    ) LIMIT 1000
    """
    return [role for (role,) in connection.execute(sql) if role.casefold() not in ROLES]


def latest(connection: apsw.Connection) -> int | None:
    """When the last thing happened."""
    found: int | None = connection.execute("SELECT max(happened_at) FROM memories").get
    return found
