"""How well forecasts, or the judgements of the past, were calibrated: how sure one was against what came true."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Annotated, Any, NamedTuple

from memfolio.reason.inputs import Finding, Several, Share, World, between, method

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


class Record(NamedTuple):
    forecasts: Several[Forecasted]
    confidence: Share | None = None
    bins: Annotated[int, between(1, 100)] = 10
    method: str | None = None


@method
def calibration(given: Record, world: World) -> Finding:
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
    return Finding(
        verdict,
        steps=[*groups, f"Brier score {answer['brier']:.4f} = {parts.format('-', '+', '+')}"],
        would_change=[f"being less sure by {answer['bias']:.2f} on average would take the bias away"],
        answer=answer,
        notes=[f"{len(forecasts)} forecasts show little: {FEW} would show more" if len(forecasts) < FEW else ""],
    )


def _groups(forecasts: Sequence[Forecast], bins: int) -> list[dict[str, float]]:
    """Groups of equal width, or one a probability where there are few different ones."""
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
