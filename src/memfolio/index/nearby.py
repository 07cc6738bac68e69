"""Search by meaning: the nearest vectors among what passes the filter."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

import apsw

from memfolio.index.filter import Filter
from memfolio.index.vectors import Neighbour, Scan, among, best

WIDER = 8
"""By how much the search widens while too few of the nearest pass the filter."""


def neighbours(connection: apsw.Connection, scan: Scan, wanted: Filter, limit: int) -> list[Neighbour]:
    """The nearest `limit` of the memories that pass the filter, nearest first, equal ones by id."""
    similarities = scan.values
    if wanted.is_narrow:
        ids = _passing(connection, wanted)
        return _in_order(among(similarities, ids, limit), ids)[:limit]
    reach = 2 * limit
    while True:
        candidates = best(similarities, reach)
        ids = _passing(connection, wanted, [each.row for each in candidates])
        if len(ids) >= limit or len(candidates) < reach:
            return _in_order([each for each in candidates if each.row in ids], ids)[:limit]
        reach *= WIDER


def _in_order(found: Sequence[Neighbour], ids: Mapping[int, str]) -> list[Neighbour]:
    return sorted(found, key=lambda each: (-each.similarity, ids[each.row]))


def _passing(connection: apsw.Connection, wanted: Filter, rows: Sequence[int] | None = None) -> dict[int, str]:
    """The ids of the rows that pass: of all memories, or of these."""
    if rows is not None and not rows:
        return {}  # SQLite takes no array of nothing
    condition, values = wanted.where()
    if rows is not None:
        condition += " AND m.row IN carray(?)"
        values = (*values, apsw.carray(array("q", rows)))
    return dict(connection.execute(f"SELECT m.row, m.id FROM memories m WHERE {condition}", values))
