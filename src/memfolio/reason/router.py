"""Which methods fit a problem: a score by its classification, with the reason for each part of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from memfolio.reason.classify import ProblemClassification
from memfolio.reason.methods import Method
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
    is_guess: bool = False,
    given: Mapping[str, Collection[str]] = EMPTY,
    standing: Mapping[str, float] = EMPTY,
) -> list[Ranked]:
    """The methods, the best fitting first; `given` has the names of the inputs that there are for each.

    Before all others come those that can compute at once, as whoever gives inputs wants them used. Among equals come
    first those that the words of the problem call for, the longest words first, then those whose results came true,
    then those that are made for fewer kinds of problems, and the first of the table. Where the classification is a
    guess by single words, those that call for a method tell more, and count before the score.
    """
    every = {each.name: each for each in methods}
    found = [_ranked(each, classification, given.get(name, ()), standing) for name, each in every.items()]

    def place(it: Ranked) -> tuple[float, ...]:
        method, used = every[it.method], len(given.get(it.method, ())) if it.is_ready else 0
        calls = sum(map(len, re.findall(rf"\b(?:{method.cues})\b", text, re.IGNORECASE)))
        fit = (-calls, -it.score) if is_guess else (-it.score, -calls)
        return -used, *fit, -it.standing, sum(map(len, method.ideals.values()))

    return sorted(found, key=place)


def _ranked(
    method: Method, problem: ProblemClassification, given: Collection[str], standing: Mapping[str, float]
) -> Ranked:
    parts, why = dict[str, float](), list[str]()
    for name, value in problem.said.items():
        ideal = method.ideals[name]
        parts[name] = WEIGHTS[name] if value in ideal else 0.0
        why.append(f"{name} {value}: " + (f"+{parts[name]:g}" if parts[name] else f"made for {' or '.join(ideal)}"))
    return Ranked(
        method=method.name,
        score=round(sum(parts.values()), 9),
        parts=parts,
        why=tuple(why),
        is_ready=method.is_ready(given),
        standing=standing.get(method.name, UNKNOWN),
    )
