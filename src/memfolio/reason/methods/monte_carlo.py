"""Monte Carlo: what a formula over uncertain quantities comes to, by drawing them many times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.expression import evaluate
from memfolio.reason.inputs import (
    LARGEST,
    Amount,
    Confidence,
    Finding,
    Inputs,
    Named,
    Share,
    Whole,
    World,
    adding_up,
    method,
    number_in,
    one_of,
    only,
    read,
    wilson,
)
from memfolio.reason.methods.flips import brief

KINDS = {
    "normal": ("mean", "sd"),
    "uniform": ("low", "high"),
    "triangular": ("low", "mode", "high"),
    "pert": ("low", "mode", "high"),
    "lognormal": ("log_mean", "log_sd"),
    "beta": ("a", "b"),
    "bernoulli": ("p",),
    "discrete": ("values", "chances"),
}
MOST_NUMBERS = 50_000_000
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_SHOWN = 20


class Simulation(NamedTuple):
    formula: str
    variables: Named[Inputs]
    condition: str | None = None
    confidence: Confidence = 0.95
    samples: int | None = None
    seed: Whole = 0


@method
def monte_carlo(given: Simulation, world: World) -> Finding:
    """The mean of the formula, its spread, how probable the condition is, and which variable matters most."""
    import numpy

    most = world.settings.samples
    samples = int(number_in("samples", given.samples or most, 100, most))
    drawn = _draws(given, samples)
    found = _computed("formula", given.formula, drawn, samples)
    z = NormalDist().inv_cdf((1 + given.confidence) / 2)
    mean, error = float(found.mean()), float(found.std(ddof=1)) / math.sqrt(samples)
    interval = [mean - z * error, mean + z * error]
    quantiles = {f"{q:g}": float(numpy.quantile(found, q)) for q in QUANTILES}
    answer = {"mean": mean, "interval": interval, "quantiles": quantiles, "error": error}
    what, summary = "mean", f"The mean is {brief(mean)}, from {brief(interval[0])} to {brief(interval[1])}."
    conclusion = summary
    if given.condition:
        what, found = "probability", _computed("condition", given.condition, {**drawn, "result": found}, samples) != 0
        low, high = wilson(int(found.sum()), samples, z)
        share = float(found.mean())
        answer |= {"probability": share, "probability_interval": [low, high]}
        conclusion = f"{given.condition} has a probability of {brief(share)} ({brief(low)} to {brief(high)})."
    swings = {name: _swing(each, found) for name, each in drawn.items()}
    order = sorted(swings, key=lambda name: -abs(swings[name][1] - swings[name][0]))
    return Finding(
        conclusion,
        confidence=given.confidence,
        steps=[
            f"{samples:,} draws. {summary}",
            "Quantiles: " + ", ".join(f"{float(q):.0%} {brief(each)}" for q, each in quantiles.items()) + ".",
        ],
        would_change=[
            f"The {what} goes from {brief(swings[name][0])} to {brief(swings[name][1])} as {name} goes from its lowest "
            "to its highest tenth."
            for name in order[:MOST_SHOWN]
        ],
        answer=answer | {"influence": {name: swings[name][1] - swings[name][0] for name in order}},
        notes=[
            f"Four times the draws halve the error of {brief(error)}; what is so rare that no draw met it is missed."
        ],
    )


def _draws(given: Simulation, samples: int) -> dict[str, Any]:
    """Every variable drawn; one that is not called by a formula is drawn all the same."""
    import numpy

    parts = given.variables
    if "result" in parts:
        raise InputError("a variable is called result", hint="call it something else: that is what the formula gives")
    if len(parts) * samples > MOST_NUMBERS:
        raise InputError(f"{len(parts)} variables × {samples:,} samples are too many", hint="give fewer of either")
    draws = numpy.random.default_rng(given.seed)
    return {name: _drawn(part, f"variables.{name}", draws, samples) for name, part in parts.items()}


def _computed(name: str, text: str, drawn: Mapping[str, Any], samples: int) -> Any:
    """A formula for each draw; one that gives no number somewhere is refused."""
    import numpy

    found = evaluate(name, text, drawn) * numpy.ones(samples)
    if bad := int((~(abs(found) <= LARGEST)).sum()):
        hint = f"keep it defined and below {LARGEST:g}"
        raise InputError(f"{name} gives no number in {bad:,} of {samples:,} draws", hint=hint)
    return found


def _drawn(given: Inputs, place: str, draws: Any, samples: int) -> Any:
    kind = one_of(f"{place}.is", read(str, given.get("is"), f"{place}.is"), KINDS)
    only(place, given, ("is", *KINDS[kind]))
    if kind == "discrete":
        values = read(Sequence[Amount], given.get("values"), f"{place}.values")
        chances = read(Sequence[Share], given.get("chances"), f"{place}.chances")
        adding_up(f"{place}.chances", {str(i): each for i, each in enumerate(chances)})
        if len(values) != len(chances):
            raise InputError(f"{place} has {len(values)} values and {len(chances)} chances", hint="give as many")
        return draws.choice(values, samples, p=[each / math.fsum(chances) for each in chances])
    most = 100 if kind == "lognormal" else LARGEST
    numbers = [
        number_in(f"{place}.{name}", read(float, given.get(name), f"{place}.{name}"), -most, most)
        for name in KINDS[kind]
    ]
    makes_sense = {
        "bernoulli": 0 <= numbers[0] <= 1,
        "beta": min(numbers) > 0,
        "normal": numbers[-1] >= 0,
        "lognormal": 0 <= numbers[-1] <= 10,
    }.get(kind, numbers == sorted(numbers) and numbers[0] < numbers[-1])
    if not makes_sense:
        wanted = "p from 0 to 1; a, b over 0; sd not negative, log_sd to 10; low ≤ mode ≤ high"
        raise InputError(f"{place} is {kind} with {', '.join(map(brief, numbers))}", hint=wanted)
    if kind == "bernoulli":
        return draws.binomial(1, numbers[0], samples).astype(float)
    if kind == "pert":
        low, mode, high = numbers
        span = high - low
        return low + span * draws.beta(1 + 4 * (mode - low) / span, 1 + 4 * (high - mode) / span, samples)
    return getattr(draws, kind)(*numbers, samples)


def _swing(values: Any, found: Any) -> tuple[float, float]:
    """What the mean is where a variable is in its lowest and in its highest tenth."""
    import numpy

    low, high = numpy.quantile(values, [0.1, 0.9])
    return float(found[values <= low].mean()), float(found[values >= high].mean())
