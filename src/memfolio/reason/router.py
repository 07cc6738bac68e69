"""Which methods fit a problem: a score by its classification, with the reason for each part of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from memfolio.reason.classify import ProblemClassification
from memfolio.reason.method import Method
from memfolio.types import EMPTY

WEIGHTS: Mapping[str, float] = {
    "uncertainty": 0.18,
    "complexity": 0.18,
    "domain": 0.27,
    "time_pressure": 0.10,
    "data_availability": 0.135,
    "stakes": 0.135,
}
"""What a dimension counts; all but time pressure, a tenth, are to each other as 20 : 20 : 30 : 15 : 15."""
UNKNOWN = 0.75
"""The standing of a method of which no result was judged: that of somebody who says 0.5 to everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A method with how well it fits; `parts` is what each dimension adds, `why` says the same in words.

    `is_ready` is whether it can compute from what is given, `standing` how well its past results came true.
    """

    method: str
    score: float
    parts: Mapping[str, float]
    why: tuple[str, ...]
    is_ready: bool
    standing: float


def rank(
    methods: Iterable[Method],
    classification: ProblemClassification,
    *,
    text: str = "",
    given: Mapping[str, Collection[str]] = EMPTY,
    standing: Mapping[str, float] = EMPTY,
) -> list[Ranked]:
    """The methods, the best fitting first; `given` has the names of the inputs that there are for each.

    Among equals come first those that can compute at once, then those that the words of the problem call for, then
    those whose results came true, those that are made for fewer kinds of problems, and the first of the table.
    """
    every = list(methods)
    found = [
        _ranked(each, classification, given.get(each.name, ()), standing.get(each.name, UNKNOWN)) for each in every
    ]
    breadth = {each.name: sum(map(len, each.ideals.values())) for each in every}
    called = {each.name: bool(re.search(rf"\b(?:{each.cues})\b", text, re.IGNORECASE)) for each in every}
    return sorted(
        found,
        key=lambda it: (-it.score, not it.is_ready, not called[it.method], -it.standing, breadth[it.method]),
    )


def _ranked(method: Method, problem: ProblemClassification, given: Collection[str], standing: float) -> Ranked:
    parts, why = dict[str, float](), list[str]()
    for name, value in problem.said.items():
        ideal = method.ideals[name]
        parts[name] = WEIGHTS[name] if value in ideal else 0.0
        why.append(f"{name} {value}: " + (f"+{parts[name]:g}" if parts[name] else f"made for {' or '.join(ideal)}"))
    total, is_ready = round(sum(parts.values()), 9), method.is_ready(given)
    return Ranked(method=method.name, score=total, parts=parts, why=tuple(why), is_ready=is_ready, standing=standing)
