"""Patterns: to which of known kinds something belongs, which rhythm numbers have, and how a sequence repeats."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from memfolio.errors import InputError
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from memfolio.reason.world import World

NAME = "pattern-recognition"
LAGS = 500
"""Periods of a series are looked for up to this length."""
SHOWN = 10

Example = tuple[str, Sequence[float]]


def reason(given: Given, world: World) -> Result:
    """The label, the period or the repetition, with the distances or correlations it rests on."""
    if "series" in given:
        return _period(given)
    return _repetition(given) if "sequence" in given else _recognise(given)


def _recognise(given: Given) -> Result:
    given.only("item", "examples", "k", "prototypes")
    item = given.numbers("item", least=1)
    examples = [_example(each, len(item)) for each in given.parts("examples", least=1)]
    is_mean = given.flag("prototypes")
    known = _means(examples) if is_mean else examples
    k = 1 if is_mean else given.whole("k", min(3, len(examples)), low=1, high=len(examples))
    near = sorted((math.dist(item, values), number, label) for number, (label, values) in enumerate(known, 1))
    labels = [label for _, _, label in near]
    best, votes = _vote(labels, k)
    others = {} if is_mean else {each: _vote(labels, each)[0] for each in range(1, min(len(near), SHOWN) + 1)}
    told = "its mean is nearest" if is_mean else f"so are {votes[best]} of the {k} nearest examples"
    return Result(
        method=NAME,
        conclusion=f"It is {best}: {told}.",
        confidence=None if is_mean else votes[best] / k,
        steps=tuple(f"number {number} ({label}) is {far:.4g} away" for far, number, label in near[: max(k, SHOWN)]),
        would_change=tuple(f"with k = {each} it would be {label}" for each, label in others.items() if label != best),
        inputs=given.used,
        answer={"label": best, "votes": dict(votes), "distances": [math.dist(item, values) for _, values in known]},
        notes=(() if is_mean else ("the confidence is the share of votes, not a probability",)),
    )


def _example(part: Given, size: int) -> Example:
    part.only("values", "label")
    values = part.numbers("values", least=1)
    if len(values) != size:
        raise InputError(f"an example has {len(values)} values, the item {size}", hint="give as many for each")
    return part.text("label"), values


def _means(examples: Sequence[Example]) -> list[Example]:
    grouped: dict[str, list[Sequence[float]]] = defaultdict(list)
    for label, values in examples:
        grouped[label].append(values)
    return [
        (label, [math.fsum(each) / len(rows) for each in zip(*rows, strict=True)]) for label, rows in grouped.items()
    ]


def _vote(labels: Sequence[str], k: int) -> tuple[str, Counter[str]]:
    """What most of the first k say; among equals, what comes first."""
    votes = Counter(labels[:k])
    return max(votes, key=lambda label: votes[label]), votes


def correlations(series: Sequence[float], lags: int) -> list[float]:
    """The autocorrelations of a series at lags 0, 1, ... as Box and Jenkins estimate them."""
    mean = math.fsum(series) / len(series)
    around = [each - mean for each in series]
    whole = math.fsum(each * each for each in around) or 1.0
    return [math.fsum(a * b for a, b in zip(around, around[lag:], strict=False)) / whole for lag in range(lags + 1)]


def _period(given: Given) -> Result:
    given.only("series")
    series = given.numbers("series", least=4)
    found, band = correlations(series, min(LAGS, len(series) // 2)), 1.96 / math.sqrt(len(series))
    tops = [lag for lag in range(2, len(found) - 1) if found[lag - 1] < found[lag] >= found[lag + 1]]
    peaks = sorted((lag for lag in tops if found[lag] > band), key=lambda lag: -found[lag])
    told = f"It repeats about every {peaks[0]} steps." if peaks else "No period shows."
    return Result(
        method=NAME,
        conclusion=told,
        steps=tuple(f"at lag {lag} the autocorrelation is {found[lag]:.2f}" for lag in peaks[:SHOWN]),
        would_change=(f"an autocorrelation within ±{band:.2f} could be chance",),
        inputs=given.used,
        answer={"period": peaks[0] if peaks else None, "autocorrelations": found[1:], "band": band},
        notes=("a trend raises all autocorrelations: take it out first where there is one",),
    )


def _repetition(given: Given) -> Result:
    given.only("sequence")
    signs = given.texts("sequence", least=2)
    period = len(signs) - _border(signs)
    repeats, following = 2 * period <= len(signs), signs[len(signs) % period]
    told = f"It repeats every {period} signs: {' '.join(signs[:period])}; next comes {following}."
    often = Counter(pairwise(signs)).most_common(SHOWN)
    return Result(
        method=NAME,
        conclusion=told if repeats else "It does not repeat as a whole.",
        steps=tuple(f"{' '.join(pair)} comes {count} times" for pair, count in often if count > 1),
        would_change=(f"any other sign than {following} next",) if repeats else (),
        inputs=given.used,
        answer={"period": period if repeats else None, "next": following if repeats else None, "shortest": period},
    )


def _border(signs: Sequence[str]) -> int:
    """How long the longest end is that is a beginning, too (Knuth, Morris and Pratt)."""
    found = [0]
    for sign in signs[1:]:
        length = found[-1]
        while length and sign != signs[length]:
            length = found[length - 1]
        found.append(length + (sign == signs[length]))
    return found[-1]
