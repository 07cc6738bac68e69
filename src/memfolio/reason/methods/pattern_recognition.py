"""Patterns: to which of known kinds something belongs, and which rhythm numbers have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Annotated, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import Finding, Several, World, method, number_in, sized

LAGS = 500
"""Periods of a series are looked for up to this length."""
SHOWN = 10


class Example(NamedTuple):
    values: Several[float]
    label: str


class Unknown(NamedTuple):
    item: Several[float]
    examples: Several[Example]
    k: int | None = None


class Series(NamedTuple):
    series: Annotated[Sequence[float], sized(4)]


@method
def pattern_recognition(given: Unknown | Series, world: World) -> Finding:
    """The label or the period, with the distances or correlations it rests on."""
    return _period(given.series) if isinstance(given, Series) else _recognise(given)


def _recognise(given: Unknown) -> Finding:
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
    return Finding(
        f"It is {best}: so are {votes[best]} of the {k} nearest examples.",
        confidence=votes[best] / k,
        steps=[f"number {number} ({label}) is {far:.4g} away" for far, number, label in near[: max(k, SHOWN)]],
        would_change=[f"with k = {each} it would be {label}" for each, label in others.items() if label != best],
        answer={"best": best, "options": sorted({*labels}), "votes": dict(votes), "distances": distances},
        notes=["the confidence is the share of votes, not a probability"],
    )


def _vote(labels: Sequence[str], k: int) -> tuple[str, Counter[str]]:
    """What most of the first k say; among equals, what comes first."""
    votes = Counter(labels[:k])
    return max(votes, key=lambda label: votes[label]), votes


def correlations(series: Sequence[float], lags: int) -> list[float]:
    """The autocorrelations of a series at lags 0, 1, ... as Box and Jenkins estimate them."""
    mean = fmean(series)
    around = [each - mean for each in series]
    whole = math.fsum(each * each for each in around) or 1.0
    return [math.fsum(a * b for a, b in zip(around, around[lag:], strict=False)) / whole for lag in range(lags + 1)]


def _period(series: Sequence[float]) -> Finding:
    found, band = correlations(series, min(LAGS, len(series) // 2)), 1.96 / math.sqrt(len(series))
    tops = [lag for lag in range(2, len(found) - 1) if found[lag - 1] < found[lag] >= found[lag + 1]]
    peaks = sorted((lag for lag in tops if found[lag] > band), key=lambda lag: -found[lag])
    return Finding(
        f"It repeats about every {peaks[0]} steps." if peaks else "No period shows.",
        steps=[f"at lag {lag} the autocorrelation is {found[lag]:.2f}" for lag in peaks[:SHOWN]],
        would_change=[f"an autocorrelation within ±{band:.2f} could be chance"],
        answer={"period": peaks[0] if peaks else None, "autocorrelations": found[1:], "band": band},
        notes=["a trend raises all autocorrelations: take it out first where there is one"],
    )
