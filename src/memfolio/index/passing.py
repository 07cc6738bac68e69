"""Which memories pass a filter: of all, or of some that were found already."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import apsw

from memfolio.index.filter import Filter

FEW = 4000
"""Up to how many memories that pass a filter are compared one by one."""
WIDER = 8
"""By how much a search widens while too few of the best pass the filter."""


def passing(connection: apsw.Connection, wanted: Filter, rows: Sequence[int]) -> dict[int, str]:
    """Those of these rows that pass, with their ids."""
    if not rows:
        return {}  # SQLite takes no array of nothing
    condition, values = wanted.where()
    sql = f"SELECT m.row, m.id FROM memories m WHERE m.row IN carray(?) AND {condition}"
    return dict(connection.execute(sql, (apsw.carray(array("q", rows)), *values)))


def few_passing(connection: apsw.Connection, wanted: Filter) -> dict[int, str] | None:
    """All memories that pass, with their ids; None when they are not few."""
    if not wanted.is_narrow:
        return None
    condition, values = wanted.where()
    sql = f"SELECT m.row, m.id FROM memories m WHERE {condition} LIMIT ?"
    found = dict(connection.execute(sql, (*values, FEW + 1)))
    return found if len(found) <= FEW else None
