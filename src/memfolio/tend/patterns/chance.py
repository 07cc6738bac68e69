"""How likely something is by chance alone. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence


def at_least(hits: int, tries: int, chance: float) -> float:
    """The probability of so many hits or more in independent tries of the same chance: a binomial tail."""
    if hits <= 0 or chance >= 1:
        return 1.0
    if hits > tries or chance <= 0:
        return 0.0
    if hits <= tries * chance:  # the first terms would vanish
        return 1 - at_least(tries - hits + 1, tries, 1 - chance)
    odds = math.log(chance) - math.log1p(-chance)
    term = whole = math.exp(_ways(tries, hits) + hits * odds + tries * math.log1p(-chance))
    for nth in range(hits, tries):
        term *= (tries - nth) / (nth + 1) * math.exp(odds)
        whole += term
    return min(1.0, whole)


def drawn_at_least(hits: int, draws: int, marked: int, total: int) -> float:
    """The probability of so many marked ones or more among `draws` without return: a hypergeometric tail."""
    if hits <= max(0, draws + marked - total):
        return 1.0
    if hits > min(draws, marked):
        return 0.0
    if hits * total <= draws * marked:
        return 1 - drawn_at_least(draws - hits + 1, draws, total - marked, total)
    ways = _ways(marked, hits) + _ways(total - marked, draws - hits) - _ways(total, draws)
    term = whole = math.exp(ways)
    for nth in range(hits, min(draws, marked)):
        term *= (marked - nth) * (draws - nth) / ((nth + 1) * (total - marked - draws + nth + 1))
        whole += term
    return min(1.0, whole)


def _ways(total: int, chosen: int) -> float:
    """The logarithm of how many ways there are to choose."""
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)


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


def promising(least: Sequence[float], level: float) -> int:
    """How many tests count, of which each can give at least so small a chance whatever happens.

    The others could never find anything, and must not make it harder for those that can (Tarone 1990, Gilbert 2005).
    """
    ordered = sorted(least)
    return next((count for count in range(1, len(ordered) + 1) if bisect_right(ordered, level / count) <= count), 0)
