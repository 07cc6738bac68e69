"""Search by meaning: the nearest vectors among what passes the filter."""

from __future__ import annotations

from memfolio.index.matrix import Neighbour, Scan
from memfolio.index.sieve import WIDER, Sieve


def neighbours(scan: Scan, sieve: Sieve, limit: int) -> list[Neighbour]:
    """The nearest `limit` of the memories that pass, nearest first, equal ones by id."""
    if sieve.few is not None:
        found = dict(scan.among(sieve.few, limit))
        return [Neighbour(row, found[row]) for row in sieve.best(found, limit)]
    reach = limit + limit // 4
    while True:
        found = dict(scan.nearest(reach))
        best = sieve.best(found, limit)
        if len(best) == limit or len(found) < reach:
            return [Neighbour(row, found[row]) for row in best]
        reach *= WIDER
