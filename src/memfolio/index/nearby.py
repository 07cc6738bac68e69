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
        candidates = scan.nearest(reach)
        ids = {row: turn.id for row, turn in sieve.passing(each.row for each in candidates).items()}
        if len(ids) >= limit or len(candidates) < reach:
            return _in_order([each for each in candidates if each.row in ids], ids)[:limit]
        reach *= WIDER


def _in_order(found: Sequence[Neighbour], ids: Mapping[int, str]) -> list[Neighbour]:
    return sorted(found, key=lambda each: (-each.similarity, ids[each.row]))
