"""Methods of experience: like cases, known patterns, and how sure one was against what came true."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Annotated, Any, NamedTuple

from memfolio.errors import InputError
from memfolio.knowledge.cases import SimilarCase
from memfolio.reason.inputs import Computed, Several, Share, Texts, World, between, method, number_in

# Cases: what was done before in like situations, how that went, and what is different this time.

SURE = "the confidence is how alike the case is times how often its solution worked, not a probability"
NONE = "no case that worked is like this: nothing is concluded"
Limit = Annotated[int, between(1, 100)]


class SituationInputs(NamedTuple):
    context: str = ""
    beliefs: Texts = ()
    desires: Texts = ()
    limit: Limit = 5


@method
def case_based(given: SituationInputs, world: World) -> Computed:
    """The solution of the most similar case that worked, with what is different, and the warnings beside it."""
    found = world.cases.retrieve(given.beliefs, given.desires, given.context, limit=given.limit)
    worked = [each for each in found if not each.is_warning and each.similarity]
    first = worked[0] if worked else None
    others = [each for each in worked if first and _solution(each) != _solution(first)]
    done = f"{_solution(first)}{_different(first, {*given.beliefs, *given.desires})}" if first else ""
    return Computed(
        f"Do as in {first.case.id}: {done}" if first else "",
        confidence=first.similarity * first.case.standing if first else None,
        steps=[f"{each.case.id} is {each.similarity:.2f} like this: {_reasons(each)}" for each in found],
        would_change=[f"{it.case.id} ({it.similarity:.2f}) would lead to: {_solution(it)}" for it in others[:1]],
        answer={
            "best": _solution(first) if first else None,
            "options": list(dict.fromkeys(map(_solution, worked))),
            "similarities": {each.case.id: each.similarity for each in found},
            "warnings": {each.case.id: _solution(each) for each in found if each.is_warning},
        },
        notes=[*found.degraded, SURE if first else NONE],
    )


def _solution(found: SimilarCase) -> str:
    return ", ".join(found.case.solution.actions) or found.case.solution.plan_id


def _reasons(found: SimilarCase) -> str:
    said = [each for each in found.why if not each.endswith(": a warning")]
    return "; ".join([*said, *(["a warning"] if found.is_warning else [])])


def _different(found: SimilarCase, here: set[str]) -> str:
    """What was so in one of the two situations only."""
    there = {*found.case.situation.beliefs, *found.case.situation.desires}
    sides = {"there": there - here, "here": here - there}
    told = "; ".join(f"{where} also {', '.join(sorted(some))}" for where, some in sides.items() if some)
    return f" (different: {told})" if told else ""


# Patterns: to which of known kinds something belongs.

SHOWN = 10


class Example(NamedTuple):
    values: Several[float]
    label: str


class Unknown(NamedTuple):
    item: Several[float]
    examples: Several[Example]
    k: int | None = None


@method
def pattern_recognition(given: Unknown, world: World) -> Computed:
    """The label that most of the nearest examples have."""
    item, examples = given.item, given.examples
    if odd := [each for each in examples if len(each.values) != len(item)]:
        hint = "give as many for each"
        raise InputError(f"an example has {len(odd[0].values)} values, the item {len(item)}", hint=hint)
    k = int(number_in("k", given.k or min(3, len(examples)), 1, len(examples)))
    distances = [math.dist(item, each.values) for each in examples]
    near = sorted((far, at, each.label) for at, (far, each) in enumerate(zip(distances, examples, strict=True), 1))
    labels = [label for _, _, label in near]
    best, votes = _vote(labels, k)
    others = {each: _vote(labels, each)[0] for each in range(1, min(len(near), SHOWN) + 1)}
    return Computed(
        f"It is {best}: so are {votes[best]} of the {k} nearest examples.",
        confidence=votes[best] / k,
        steps=[f"number {number} ({label}) is {far:.4g} away" for far, number, label in near[: max(k, SHOWN)]],
        would_change=[f"with k = {each} it would be {label}" for each, label in others.items() if label != best],
        answer={"best": best, "options": sorted({*labels}), "votes": dict(votes), "distances": distances},
    )


def _vote(labels: Sequence[str], k: int) -> tuple[str, Counter[str]]:
    """What most of the first k say; among equals, what comes first."""
    votes = Counter(labels[:k])
    return max(votes, key=lambda label: votes[label]), votes


# How well forecasts, or the judgements of the past, were calibrated: how sure one was against what came true.

CAUTION = 2.0
"""So many forecasts that came true as often as they said count beside those of a group (Cestnik's m-estimate)."""
ABOUT = 0.05
"""Forecasts that are no further from each other are about as sure."""
FEW = 20
"""Below so many forecasts, a note says that little follows from them."""

Forecast = tuple[float, float]


def score(forecasts: Sequence[Forecast], bins: int = 10) -> dict[str, Any]:
    """The scores of (probability, outcome) pairs, with Murphy's partition of the Brier score (1973).

    brier = reliability - resolution + uncertainty + within, which is 0 where every probability is a group of its own.
    A `bias` above 0 is too sure.
    """
    count = len(forecasts)
    base, groups = fmean([outcome for _, outcome in forecasts]), _groups(forecasts, bins)
    brier = fmean([(chance - outcome) ** 2 for chance, outcome in forecasts])
    reliability = math.fsum(each["count"] * (each["forecast"] - each["came_true"]) ** 2 for each in groups) / count
    resolution = math.fsum(each["count"] * (each["came_true"] - base) ** 2 for each in groups) / count
    uncertainty = base * (1 - base)
    return {
        "count": count,
        "brier": brier,
        "reliability": reliability,
        "resolution": resolution,
        "uncertainty": uncertainty,
        "within": brier - (reliability - resolution + uncertainty),
        "bias": fmean([chance for chance, _ in forecasts]) - base,
        "bins": groups,
    }


def calibrated(confidence: float, forecasts: Sequence[Forecast]) -> float:
    """How sure to be in place of `confidence`, by what came true of forecasts that were about as sure."""
    came = [outcome for chance, outcome in forecasts if abs(chance - confidence) <= ABOUT]
    return (math.fsum(came) + CAUTION * confidence) / (len(came) + CAUTION)


class Forecasted(NamedTuple):
    probability: Share
    outcome: bool | Share


class ForecastRecord(NamedTuple):
    forecasts: Several[Forecasted]
    confidence: Share | None = None
    bins: Annotated[int, between(1, 100)] = 10
    method: str | None = None


@method
def calibration(given: ForecastRecord, world: World) -> Computed:
    """The scores of the forecasts that are given, and the confidence that follows from them."""
    forecasts = [(chance, float(outcome)) for chance, outcome in given.forecasts]
    answer = score(forecasts, given.bins)
    verdict = _verdict(answer, forecasts)
    if given.confidence is not None:
        answer["calibrated"] = calibrated(given.confidence, forecasts)
        verdict += f" Say {answer['calibrated']:.2f} in place of {given.confidence:g}."
    parts = " {} ".join(f"{name} {answer[name]:.4f}" for name in ("reliability", "resolution", "uncertainty", "within"))
    groups = [
        f"{it['count']} of about {it['forecast']:.2f} came true in {it['came_true']:.2f}" for it in answer["bins"]
    ]
    return Computed(
        verdict,
        steps=[*groups, f"Brier score {answer['brier']:.4f} = {parts.format('-', '+', '+')}"],
        would_change=[f"being less sure by {answer['bias']:.2f} on average would take the bias away"],
        answer=answer,
        notes=[f"{len(forecasts)} forecasts show little: {FEW} would show more" if len(forecasts) < FEW else ""],
    )


def _groups(forecasts: Sequence[Forecast], bins: int) -> list[dict[str, float]]:
    """Groups of equal width, or one a probability where there are few different ones."""
    # With few different probabilities, Murphy's partition is exact.
    is_exact = len({chance for chance, _ in forecasts}) <= bins
    found: dict[float, list[Forecast]] = defaultdict(list)
    for each in forecasts:
        found[each[0] if is_exact else min(int(each[0] * bins), bins - 1) / bins].append(each)
    return [
        {
            "low": low,
            "high": low if is_exact else low + 1 / bins,
            "count": len(members),
            "forecast": fmean([chance for chance, _ in members]),
            "came_true": fmean([outcome for _, outcome in members]),
        }
        for low, members in sorted(found.items())
    ]


def _verdict(answer: dict[str, Any], forecasts: Sequence[Forecast]) -> str:
    """Whether there is a bias beyond two standard errors of what well calibrated forecasts would show."""
    bias, chance = answer["bias"], 2 * math.sqrt(math.fsum(p * (1 - p) for p, _ in forecasts)) / len(forecasts)
    found = "were too sure" if bias > chance else "were not sure enough" if bias < -chance else "show no clear bias"
    return f"The {answer['count']} forecasts {found} ({bias:+.2f}); their Brier score is {answer['brier']:.4f}."
