"""Where a conclusion turns over: at which value of an input another one leads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

CLOSE = 1e-9
MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Flip:
    """The value of an input past which another leads, and on which side of it."""

    at: float
    leader: str
    rises: bool

    def past(self, present: float) -> str:
        """To where the input has to go from where it is."""
        return f"{'rises above' if self.rises else 'falls below'} {brief(self.at)} (it is {brief(present)})"


def brief(value: float) -> str:
    """A number as a person reads it; what is nearly 1 is not called 1."""
    if 0.9999 < value < 1:
        return f"{value:.8g}"
    return f"{value:,.0f}" if 10_000 <= abs(value) < 1e15 else f"{value:.4g}"


def listed(values: Mapping[str, float]) -> str:
    """Numbers with their names, the largest first."""
    return _shown([f"{name} {brief(value)}" for name, value in sorted(values.items(), key=lambda each: -each[1])], ", ")


def either(names: Iterable[str]) -> str:
    """Names of which each will do."""
    return _shown(list(names), " or ")


def _shown(texts: list[str], joint: str) -> str:
    more = len(texts) - MOST_SHOWN
    return joint.join(texts[:MOST_SHOWN]) + (f"{joint}{more:,} more" if more > 0 else "")


def leaders(values: Mapping[str, float], scale: float | None = None) -> list[str]:
    """Which have the largest value; several when they tie, up to rounding of numbers as large as the scale."""
    top = max(values.values())
    slack = CLOSE * (max(map(abs, values.values())) if scale is None else scale)
    return [name for name, value in values.items() if value >= top - slack]


def linear_flip(at_zero: Mapping[str, float], at_one: Mapping[str, float], leader: str, present: float) -> Flip | None:
    """The nearest share at which another overtakes, where every score is linear in that share."""
    found, slack = [], CLOSE * max(map(abs, (*at_zero.values(), *at_one.values())))
    for other in at_zero:
        start, end = at_zero[leader] - at_zero[other], at_one[leader] - at_one[other]
        if min(start, end) < -slack and max(start, end) > slack:
            found.append((start / (start - end), end < 0))
    if not found:
        return None
    at, rises = min(found, key=lambda each: abs(each[0] - present))
    past = at + (rises - at) * 1e-6
    return Flip(at, max(at_zero, key=lambda name: at_zero[name] * (1 - past) + at_one[name] * past), rises)
