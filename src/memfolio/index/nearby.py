"""Search by meaning: the nearest vectors among what passes the filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memfolio.index.matrix import Neighbour, Scan
from memfolio.index.sieve import WIDER, Sieve


def neighbours(scan: Scan, sieve: Sieve, limit: int) -> list[Neighbour]:
    """The nearest `limit` of the memories that pass, nearest first, equal ones by id."""
    if sieve.few is not None:
        return _in_order(scan.among(list(sieve.few), limit), sieve.few)[:limit]
    reach = limit + limit // 4
    while True:
        found = dict(scan.nearest(reach))
        best = sieve.best(found, limit)
        if len(best) == limit or len(found) < reach:
            return [Neighbour(row, found[row]) for row in best]
        reach *= WIDER


def _in_order(found: Sequence[Neighbour], ids: Mapping[int, str]) -> list[Neighbour]:
    return sorted(found, key=lambda each: (-each.similarity, ids[each.row]))
