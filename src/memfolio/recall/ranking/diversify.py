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
    fits = _fits(order, scores)
    likeness = dict.fromkeys(order, 0.0)
    chosen: list[int] = []
    left = list(order)
    while left:
        row = max(left, key=lambda each: (1 - weight) * fits[each] - weight * likeness[each])
        left.remove(row)
        chosen.append(row)
        for other in left:
            likeness[other] = max(likeness[other], _likeness(words[row], words[other]))
    return chosen


def _fits(order: Sequence[int], scores: Mapping[int, float]) -> dict[int, float]:
    """The scores from 0 for the least to 1 for the best, whatever their signs."""
    given = {row: scores.get(row, 0.0) for row in order}
    least, most = min(given.values()), max(given.values())
    return {row: (score - least) / (most - least) if most > least else 1.0 for row, score in given.items()}


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of words that two texts have in common: Jaccard's index."""
    return len(one & other) / len(one | other) if one or other else 0.0
