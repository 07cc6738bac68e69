"""One order out of several: each list's scores are measured against its own best, weighed and added. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memfolio.recall.hit import Reason

TEXT = "text"
VECTOR = "vector"
WEIGHTS: Mapping[str, float] = {TEXT: 1.0, VECTOR: 0.5}
SURE: Mapping[str, float] = {VECTOR: 0.5}
"""From which score on the best of a list counts in full: something is always nearest, however far away it is."""

Ranked = Sequence[tuple[int, float]]
"""Rows with their scores, best first."""


def fuse(lists: Mapping[str, Ranked], weights: Mapping[str, float] = WEIGHTS) -> dict[int, tuple[float, list[Reason]]]:
    """Each row's score among all lists, from 0 to 1, and where it was found."""
    total = sum(weights[name] for name in lists)
    found: dict[int, tuple[float, list[Reason]]] = {}
    for name, ranked in lists.items():
        best = max((score for _, score in ranked), default=0.0)
        best = max(best, SURE.get(name, best))
        for rank, (row, score) in enumerate(ranked, start=1):
            before, why = found.get(row, (0.0, []))
            share = weights[name] / total * (score / best if best > 0 else 1)
            found[row] = before + share, [*why, Reason(name, rank, round(score, 4))]
    return found
