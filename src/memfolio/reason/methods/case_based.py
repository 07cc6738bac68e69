"""Cases: what was done before in like situations, how that went, and what is different this time.

context: the situation in words; without it, the problem itself
beliefs: ids of what is believed, to meet those of the kept cases
desires: ids of what is wanted, to meet those of the kept cases
features: the situation as an object of features, such as {"battery": 12.6, "light": "ok"}; then `cases` are compared
cases: with features, a list of {name, features, solution, success}; success is true or false, true if not given
weights: with features, an object: how much each feature counts, 1 if not given
similarities: with features, for each {"range": n} for numbers or {"values": {a: {b: 0.8}}} for words; else equal is 1,
  other 0
limit: how many cases are looked at; 5 without it"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memfolio.errors import InputError
from memfolio.knowledge.cases import SimilarCase
from memfolio.reason.inputs import Given, Result, World, number_in

SURE = "the confidence is how alike the case is times how often its solution worked, not a probability"
NONE = "no case that worked is like this: nothing is concluded"


class Candidate(NamedTuple):
    """A case that is like the situation; `standing` is how likely its solution is to work again."""

    name: str
    solution: str
    similarity: float
    standing: float
    is_warning: bool
    why: str
    differs: str


def reason(given: Given, world: World) -> Result:
    """The solution of the most similar case that worked, with what is different, and the warnings beside it."""
    given.only("context", "beliefs", "desires", "features", "cases", "weights", "similarities", "limit")
    limit = given.whole("limit", 5, low=1, high=100)
    degraded: tuple[str, ...] = ()
    if "features" in given:
        found = sorted(_compared(given), key=lambda each: -each.similarity)[:limit]
    else:
        held, wanted = given.texts("beliefs", []), given.texts("desires", [])
        kept = world.cases.retrieve(held, wanted, given.value("context", ""), limit=limit)
        found, degraded = [_kept(each, {*held, *wanted}) for each in kept], kept.degraded
    worked = [each for each in found if not each.is_warning and each.similarity]
    first = worked[0] if worked else None
    others = [each for each in worked if first and each.solution != first.solution]
    return Result(
        method="case-based",
        conclusion=f"Do as in {first.name}: {first.solution}{first.differs}" if first else "",
        confidence=first.similarity * first.standing if first else None,
        steps=tuple(
            f"{each.name} is {each.similarity:.2f} like this: {each.why}{'; a warning' if each.is_warning else ''}"
            for each in found
        ),
        would_change=tuple(
            f"{each.name} ({each.similarity:.2f}) would lead to: {each.solution}" for each in others[:1]
        ),
        inputs=given.used,
        answer={
            "best": first.solution if first else None,
            "options": list(dict.fromkeys(each.solution for each in worked)),
            "similarities": {each.name: each.similarity for each in found},
            "warnings": {each.name: each.solution for each in found if each.is_warning},
        },
        notes=(*degraded, SURE if first else NONE),
    )


def _kept(found: SimilarCase, here: set[str]) -> Candidate:
    case, there = found.case, {*found.case.situation.beliefs, *found.case.situation.desires}
    differs = [f"there also {', '.join(sorted(there - here))}"] if there - here else []
    differs += [f"here also {', '.join(sorted(here - there))}"] if here - there else []
    done = ", ".join(case.solution.actions) or case.solution.plan_id
    why = "; ".join(each for each in found.why if not each.endswith(": a warning"))
    return Candidate(case.id, done, found.similarity, case.standing, found.is_warning, why, _adapted(differs))


def _compared(given: Given) -> list[Candidate]:
    """The given cases with how alike their features are: the weighted mean over the features that both have."""
    here = _features(given)
    weights = given.weights("weights", low=0) if "weights" in given else {}
    tables = given.by_name("similarities", {})
    if unknown := [name for name in (*weights, *tables) if name not in here]:
        raise InputError(f"the situation has no feature {unknown[0]!r:.60}", hint=f"it has {', '.join(here)[:80]}")
    found = [_candidate(part, number, here, weights, tables) for number, part in enumerate(given.parts("cases"), 1)]
    uses = Counter(each.solution for each in found)
    worked = Counter(each.solution for each in found if not each.is_warning)
    return [each._replace(standing=(worked[each.solution] + 1) / (uses[each.solution] + 2)) for each in found]


def _candidate(
    part: Given, number: int, here: Mapping[str, Any], weights: Mapping[str, float], tables: Mapping[str, Given]
) -> Candidate:
    part.only("name", "features", "solution", "success")
    there = _features(part)
    local = {name: _alike(name, here[name], there[name], tables.get(name)) for name in here if name in there}
    total = math.fsum(weights.get(name, 1.0) for name in local)
    like = math.fsum(weights.get(name, 1.0) * each for name, each in local.items()) / total if total else 0.0
    why = ", ".join(f"{name} {each:.2f}" for name, each in local.items()) or "no feature in common"
    differs = [f"{name} was {there.get(name, 'unknown')}" for name in here if here[name] != there.get(name)]
    called, is_warning = part.text("name", f"case {number}"), not part.flag("success", True)
    return Candidate(called, part.text("solution"), like, 0.0, is_warning, why, _adapted(differs))


def _features(part: Given) -> dict[str, Any]:
    inside = part.part("features")
    return {name: inside.value(name) for name in inside.names()}


def _adapted(differs: Sequence[str]) -> str:
    return f" (different: {'; '.join(differs)})" if differs else ""


def _alike(name: str, one: Any, other: Any, table: Given | None) -> float:
    """How alike two values of a feature are, from 0 to 1."""
    if one == other or table is None:
        return float(one == other)
    table.only("range", "values")
    if "range" in table:
        gap = abs(number_in(name, one) - number_in(name, other))
        return max(0.0, 1 - gap / table.number("range", low=1e-9))
    rows = table.part("values")
    pairs = [(str(one), str(other)), (str(other), str(one))]
    found = [rows.part(first).share(second) for first, second in pairs if first in rows and second in rows.part(first)]
    return found[0] if found else 0.0
