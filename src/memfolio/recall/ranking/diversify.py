"""Maximal marginal relevance: each next hit is one that fits and is not like those above it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memfolio.text import terms


def diversify(
    order: Sequence[int], scores: Mapping[int, float], contents: Mapping[int, str], weight: float
) -> list[int]:
    """The rows in an order in which likeness to those before costs `weight` of fitting; 0 leaves them as they are."""
    if not weight or len(order) < 3:
        return list(order)
    words = {row: frozenset(term.casefold() for term in terms(contents[row], limit=64)) for row in order}
    best = max(scores[row] for row in order) or 1.0
    likeness = dict.fromkeys(order, 0.0)
    chosen: list[int] = []
    left = list(order)
    while left:
        row = max(left, key=lambda each: (1 - weight) * scores[each] / best - weight * likeness[each])
        left.remove(row)
        chosen.append(row)
        for other in left:
            likeness[other] = max(likeness[other], _likeness(words[row], words[other]))
    return chosen


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of words that two texts have in common: Jaccard's index."""
    return len(one & other) / len(one | other) if one or other else 0.0
