"""Cases: what was done before in like situations, how that went, and what is different this time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from memfolio.knowledge.cases import SimilarCase
from memfolio.reason.inputs import Finding, Share, Texts, World, between, method, number_in, only
from memfolio.types import EMPTY

SURE = "the confidence is how alike the case is times how often its solution worked, not a probability"
NONE = "no case that worked is like this: nothing is concluded"
Limit = Annotated[int, between(1, 100)]


class Situation(NamedTuple):
    context: str = ""
    beliefs: Texts = ()
    desires: Texts = ()
    limit: Limit = 5


class GivenCase(NamedTuple):
    features: Mapping[str, Any]
    solution: str
    name: str = ""
    success: bool = True


class Likeness(NamedTuple):
    """How alike the values of a feature are: numbers by a range, words by a table."""

    range: Annotated[float, between(1e-9, math.inf)] | None = None
    values: Mapping[str, Mapping[str, Share]] = EMPTY

    def of(self, name: str, one: Any, other: Any) -> float:
        if one == other:
            return 1.0
        if self.range is not None:
            return max(0.0, 1 - abs(number_in(name, one) - number_in(name, other)) / self.range)
        rows = [self.values.get(str(first), {}).get(str(second)) for first, second in ((one, other), (other, one))]
        return next((each for each in rows if each is not None), 0.0)


class Compared(NamedTuple):
    features: Mapping[str, Any]
    cases: Sequence[GivenCase]
    weights: Mapping[str, Annotated[float, between(0, math.inf)]] = EMPTY
    similarities: Mapping[str, Likeness] = EMPTY
    limit: Limit = 5


class Candidate(NamedTuple):
    """A case that is like the situation; `standing` is how likely its solution is to work again."""

    name: str
    solution: str
    similarity: float
    standing: float
    is_warning: bool
    why: str
    differs: str


@method
def case_based(given: Situation | Compared, world: World) -> Finding:
    """The solution of the most similar case that worked, with what is different, and the warnings beside it."""
    degraded: tuple[str, ...] = ()
    if isinstance(given, Compared):
        found = sorted(_compared(given), key=lambda each: -each.similarity)[: given.limit]
    else:
        kept = world.cases.retrieve(given.beliefs, given.desires, given.context, limit=given.limit)
        found, degraded = [_kept(each, {*given.beliefs, *given.desires}) for each in kept], kept.degraded
    worked = [each for each in found if not each.is_warning and each.similarity]
    first = worked[0] if worked else None
    others = [each for each in worked if first and each.solution != first.solution]
    return Finding(
        f"Do as in {first.name}: {first.solution}{first.differs}" if first else "",
        confidence=first.similarity * first.standing if first else None,
        steps=[
            f"{each.name} is {each.similarity:.2f} like this: {each.why}{'; a warning' if each.is_warning else ''}"
            for each in found
        ],
        would_change=[f"{each.name} ({each.similarity:.2f}) would lead to: {each.solution}" for each in others[:1]],
        answer={
            "best": first.solution if first else None,
            "options": list(dict.fromkeys(each.solution for each in worked)),
            "similarities": {each.name: each.similarity for each in found},
            "warnings": {each.name: each.solution for each in found if each.is_warning},
        },
        notes=[*degraded, SURE if first else NONE],
    )


def _kept(found: SimilarCase, here: set[str]) -> Candidate:
    case, there = found.case, {*found.case.situation.beliefs, *found.case.situation.desires}
    differs = [f"there also {', '.join(sorted(there - here))}"] if there - here else []
    differs += [f"here also {', '.join(sorted(here - there))}"] if here - there else []
    done = ", ".join(case.solution.actions) or case.solution.plan_id
    why = "; ".join(each for each in found.why if not each.endswith(": a warning"))
    return Candidate(case.id, done, found.similarity, case.standing, found.is_warning, why, _adapted(differs))


def _compared(given: Compared) -> list[Candidate]:
    """The given cases with how alike their features are: the weighted mean over the features that both have."""
    only("features", (*given.weights, *given.similarities), given.features)
    found = [_candidate(case, number, given) for number, case in enumerate(given.cases, 1)]
    uses = Counter(each.solution for each in found)
    worked = Counter(each.solution for each in found if not each.is_warning)
    return [each._replace(standing=(worked[each.solution] + 1) / (uses[each.solution] + 2)) for each in found]


def _candidate(case: GivenCase, number: int, given: Compared) -> Candidate:
    here, there = given.features, case.features
    plain = Likeness()
    alike = {
        name: given.similarities.get(name, plain).of(name, here[name], there[name]) for name in here if name in there
    }
    weights = {name: given.weights.get(name, 1.0) for name in alike}
    total = math.fsum(weights.values())
    similarity = math.fsum(weights[name] * each for name, each in alike.items()) / total if total else 0.0
    why = ", ".join(f"{name} {each:.2f}" for name, each in alike.items()) or "no feature in common"
    differs = [f"{name} was {there.get(name, 'unknown')}" for name in here if here[name] != there.get(name)]
    name = case.name or f"case {number}"
    return Candidate(name, case.solution, similarity, 0.0, not case.success, why, _adapted(differs))


def _adapted(differs: Sequence[str]) -> str:
    return f" (different: {'; '.join(differs)})" if differs else ""
