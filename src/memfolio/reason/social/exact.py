"""Numbers from outside as exact fractions, so that ties are ties."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from memfolio.reason.given import number_in

LARGEST = 1e12
FINEST = 10**12


def exact(place: str, number: float) -> Fraction:
    """A number as it was written, to twelve places."""
    return Fraction(str(number_in(place, number, -LARGEST, LARGEST))).limit_denominator(FINEST)


def betters(one: Iterable[Fraction], other: Iterable[Fraction]) -> bool:
    """Whether something is worth more to somebody and less to nobody."""
    pairs = list(zip(one, other, strict=True))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)
