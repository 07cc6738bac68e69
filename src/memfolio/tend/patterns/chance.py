"""How likely something is by chance alone. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

NEGLIGIBLE = 1e-17


def at_least(hits: int, tries: int, chance: float) -> float:
    """The probability of so many hits or more in independent tries of the same chance: a binomial tail."""
    if hits <= 0 or chance >= 1:
        return 1.0
    if hits > tries or chance <= 0:
        return 0.0
    odds = math.log(chance) - math.log1p(-chance)
    ways = math.lgamma(tries + 1) - math.lgamma(hits + 1) - math.lgamma(tries - hits + 1)
    term = math.exp(ways + hits * odds + tries * math.log1p(-chance))
    total, rising = term, hits < tries * chance
    for nth in range(hits, tries):
        step = (tries - nth) / (nth + 1) * math.exp(odds)
        term *= step
        total += term
        if step < 1 and not rising and term < NEGLIGIBLE * total:
            break
        rising = rising and step >= 1
    return min(1.0, total)


def corrected(chances: Sequence[float], tests: int) -> list[float]:
    """The share of false ones to expect among all that are at least as unlikely, as Benjamini and Hochberg have it.

    `tests` is how many were made; those that are not listed found nothing.
    """
    order = sorted(range(len(chances)), key=lambda at: chances[at], reverse=True)
    found = [1.0] * len(chances)
    least = 1.0
    for place, at in enumerate(order):
        least = min(least, chances[at] * tests / (len(chances) - place))
        found[at] = least
    return found
