"""Where a conclusion turns over: at which value of an input another one leads."""

from __future__ import annotations

from collections.abc import Callable, Mapping

GRID = 64
"""In how many steps a range is searched on each side of the present value."""
CLOSE = 1e-9


def brief(value: float) -> str:
    """A number as a person reads it; what is nearly 1 is not called 1."""
    if 0.9999 < value < 1:
        return f"{value:.8g}"
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def listed(values: Mapping[str, float]) -> str:
    """Numbers with their names, the largest first."""
    return ", ".join(f"{name} {brief(value)}" for name, value in sorted(values.items(), key=lambda each: -each[1]))


def passing(flip: float, present: float) -> str:
    """To where an input has to go from where it is."""
    return f"{'rises above' if flip > present else 'falls below'} {brief(flip)} (it is {brief(present)})"


def leaders(values: Mapping[str, float]) -> list[str]:
    """Which have the largest value; several when they tie."""
    top = max(values.values())
    slack = CLOSE * max(1.0, abs(top)) if abs(top) > CLOSE else CLOSE * abs(top)
    return [name for name, value in values.items() if value >= top - slack]


def linear_flip(
    at_zero: Mapping[str, float], at_one: Mapping[str, float], leader: str, present: float
) -> tuple[float, str] | None:
    """The nearest share at which another overtakes, where every score is linear in that share."""
    found = []
    for other in at_zero:
        start, end = at_zero[leader] - at_zero[other], at_one[leader] - at_one[other]
        if other != leader and start != end and 0 <= start / (start - end) <= 1:
            found.append((start / (start - end), other))
    return min(found, key=lambda each: abs(each[0] - present), default=None)


def searched_flip(
    leader_at: Callable[[float], str], present: float, low: float, high: float
) -> tuple[float, str] | None:
    """The nearest value of a range at which another leads, found in steps and then by halving."""
    leader, found = leader_at(present), []
    for end in (low, high):
        near = present
        for step in range(1, GRID + 1):
            far = present + (end - present) * step / GRID
            if leader_at(far) != leader:
                found.append(_halved(leader_at, leader, near, far))
                break
            near = far
    return min(found, key=lambda each: abs(each[0] - present), default=None)


def _halved(leader_at: Callable[[float], str], leader: str, near: float, far: float) -> tuple[float, str]:
    for _ in range(48):
        middle = (near + far) / 2
        near, far = (middle, far) if leader_at(middle) == leader else (near, middle)
    return far, leader_at(far)
