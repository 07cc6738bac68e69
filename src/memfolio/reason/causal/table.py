"""Observed rows, counted: the mean of an outcome at two levels of a treatment, plain and adjusted."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from memfolio.errors import InputError
from memfolio.reason.causal.graph import Names
from memfolio.reason.causal.model import Value, as_value, said
from memfolio.reason.given import Given, number_in

LARGEST, SHOWN = 1e100, 50
Cells = dict[Value, tuple[float, float]]
"""For each level of the treatment the number of rows, and the sum of their outcomes."""


def estimate(given: Given, x: str, y: str, by: Names) -> tuple[dict[str, float], list[str]]:
    """The means at two levels, and their difference: in each stratum of some variables, weighted by its size.

    The second is how it was reached, stratum by stratum.
    """
    names, strata = sorted(by), _strata(given, x, y, sorted(by))
    levels = _levels(given, x, list(dict.fromkeys(level for cells in strata.values() for level in cells)))
    shared = {key: cells for key, cells in strata.items() if all(level in cells for level in levels)}
    sizes = {key: math.fsum(count for count, _ in cells.values()) for key, cells in shared.items()}
    if not shared:
        raise InputError(f"data has both levels of {x} in no stratum of {', '.join(names)}", hint="give rows for both")
    high = low = 0.0
    left = len(strata) - len(shared)
    steps = [f"Left out: {left} strata of {', '.join(names)} with one level only."] if left else []
    for key, cells in shared.items():
        share = sizes[key] / math.fsum(sizes.values())
        one, other = (cells[level][1] / cells[level][0] for level in levels)
        high, low = high + share * one, low + share * other
        where = f"Where {said(dict(zip(names, key, strict=True)))} ({share:.1%})" if names else "Without adjusting"
        steps.append(f"{where}: {y} is {one:.4g} with {said({x: levels[0]})}, {other:.4g} with {said({x: levels[1]})}.")
    return {"high": high, "low": low, "effect": high - low}, steps[:SHOWN]


def _strata(given: Given, x: str, y: str, names: list[str]) -> dict[tuple[Value, ...], Cells]:
    strata: dict[tuple[Value, ...], Cells] = defaultdict(dict)
    for at, part in enumerate(given.parts("data", least=1)):
        *key, level, found = (as_value(f"data[{at}].{name}", part.value(name)) for name in (*names, x, y))
        outcome = number_in(f"data[{at}].{y}", found, -LARGEST, LARGEST)
        if count := part.number("count", 1, low=0, high=LARGEST):
            before, total = strata[tuple(key)].get(level, (0.0, 0.0))
            strata[tuple(key)][level] = before + count, total + outcome * count
    return strata


def _levels(given: Given, x: str, seen: list[Value]) -> list[Value]:
    named: Any = given.value("levels", sorted(seen, key=lambda each: (isinstance(each, str), each), reverse=True))
    levels = [as_value("levels", each) for each in named] if isinstance(named, list) else []
    if len(levels) != 2 or levels[0] == levels[1] or not set(levels) <= set(seen):
        raise InputError(f"levels is {named!r:.60}", hint=f"name two of the {len(seen)} values of {x} in data")
    return levels
