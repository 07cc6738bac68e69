"""Search by meaning: the nearest vectors among what passes the filter."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw

from memfolio.index.filter import Filter
from memfolio.index.vectors import Matrix, Neighbour, among, best

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WIDER = 8
"""By how much the search widens while too few of the nearest pass the filter."""


def neighbours(
    connection: apsw.Connection, matrix: Matrix, query: NDArray[np.float32], wanted: Filter, limit: int
) -> list[Neighbour]:
    """The nearest `limit` of the memories that pass the filter, nearest first."""
    similarities = matrix.similarities(connection, query)
    if wanted.is_narrow:
        return among(similarities, _passing(connection, wanted), limit)
    reach = 2 * limit
    while True:
        candidates = best(similarities, reach)
        passing = set(_passing(connection, wanted, [each.row for each in candidates]))
        found = [each for each in candidates if each.row in passing]
        if len(found) >= limit or len(candidates) < reach:
            return found[:limit]
        reach *= WIDER


def _passing(connection: apsw.Connection, wanted: Filter, rows: Sequence[int] | None = None) -> list[int]:
    """Which rows pass: of all memories, or of these."""
    if rows is not None and not rows:
        return []  # SQLite takes no array of nothing
    condition, values = wanted.where()
    if rows is not None:
        condition += " AND m.row IN carray(?)"
        values = (*values, apsw.carray(array("q", rows)))
    return [row for (row,) in connection.execute(f"SELECT m.row FROM memories m WHERE {condition}", values)]
