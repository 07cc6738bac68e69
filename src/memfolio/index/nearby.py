"""Search by meaning: the nearest vectors among what passes the filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw

from memfolio.index.filter import Filter
from memfolio.index.matrix import Neighbour, Scan
from memfolio.index.passing import WIDER, few_passing, passing


def neighbours(connection: apsw.Connection, scan: Scan, wanted: Filter, limit: int) -> list[Neighbour]:
    """The nearest `limit` of the memories that pass the filter, nearest first, equal ones by id."""
    few = few_passing(connection, wanted)
    if few is not None:
        return _in_order(scan.among(list(few), limit), few)[:limit]
    reach = limit + limit // 4
    while True:
        candidates = scan.nearest(reach)
        ids = passing(connection, wanted, [each.row for each in candidates])
        if len(ids) >= limit or len(candidates) < reach:
            return _in_order([each for each in candidates if each.row in ids], ids)[:limit]
        reach *= WIDER


def _in_order(found: Sequence[Neighbour], ids: Mapping[int, str]) -> list[Neighbour]:
    return sorted(found, key=lambda each: (-each.similarity, ids[each.row]))
