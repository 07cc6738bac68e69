"""Monte Carlo: what a formula over uncertain quantities comes to, by drawing them many times.

formula: a formula over the variables, such as price * volume - cost
variables: an object, each variable with `is` and its numbers: normal (mean, sd), uniform (low, high), triangular or
  pert (low, mode, high), lognormal (log_mean, log_sd), beta (a, b), bernoulli (p), discrete (values, chances)
condition: a formula over the variables and `result`, such as result > 0: how probable it is
confidence: of the intervals; 0.95
samples: how many draws; the setting reason.samples, which is also the most
seed: where the drawing starts: the same seed gives the same draws; 0
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

from memfolio.errors import InputError
from memfolio.reason.given import Given, adding_up
from memfolio.reason.probabilistic.expression import evaluate
from memfolio.reason.probabilistic.flips import brief, listed
from memfolio.reason.result import Result
from memfolio.reason.world import World

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
LARGEST = 1e150
"""Beyond it a variance cannot be computed."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def reason(given: Given, world: World) -> Result:
    """The mean of the formula, its spread, how probable the condition is, and which variable matters most."""
    import numpy

    given.only("formula", "variables", "condition", "confidence", "samples", "seed")
    samples = given.whole("samples", world.settings.samples, low=100, high=world.settings.samples)
    parts, confidence = given.by_name("variables", least=1), given.number("confidence", 0.95, low=0.5, high=0.9999)
    if "result" in parts:
        raise InputError("a variable is called result", hint="call it something else: that is what the formula gives")
    if len(parts) * samples > MOST_NUMBERS:
        raise InputError(f"{len(parts)} variables × {samples:,} samples are too many", hint="give fewer of either")
    draws = numpy.random.default_rng(given.whole("seed", 0))
    drawn = {name: _drawn(part, f"variables.{name}", draws, samples) for name, part in parts.items()}
    found = evaluate("formula", given.text("formula"), drawn) * numpy.ones(samples)
    if bad := int((~(abs(found) < LARGEST)).sum()):
        raise InputError(
            f"formula gives no number in {bad:,} of {samples:,} draws", hint="keep it defined and below 1e150"
        )
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    mean, error = float(found.mean()), float(found.std(ddof=1)) / math.sqrt(samples)
    interval = [mean - z * error, mean + z * error]
    quantiles = {f"{q:g}": float(numpy.quantile(found, q)) for q in QUANTILES}
    influence = {name: _rank_correlation(each, found) for name, each in drawn.items()}
    answer = {"mean": mean, "interval": interval, "quantiles": quantiles, "influence": influence, "error": error}
    steps = [
        f"{samples:,} draws: mean {brief(mean)}, {confidence:.0%} from {brief(interval[0])} to {brief(interval[1])}.",
        "Quantiles: " + ", ".join(f"{float(q):.0%} {brief(each)}" for q, each in quantiles.items()) + ".",
        f"Rank correlation with the result: {listed(influence)}.",
    ]
    conclusion, sure = f"The mean is {brief(mean)}, from {brief(interval[0])} to {brief(interval[1])}.", confidence
    flips = [_tornado(name, each, found) for name, each in drawn.items()]
    if "condition" in given:
        met = evaluate("condition", given.text("condition"), {**drawn, "result": found}) * numpy.ones(samples) != 0
        share = float(met.mean())
        low, high = wilson(int(met.sum()), samples, z)
        answer |= {"probability": share, "probability_interval": [low, high]}
        conclusion = f"{given.text('condition')} has a probability of {brief(share)} ({brief(low)} to {brief(high)})."
        flips = [*_split(max(influence, key=lambda name: abs(influence[name])), drawn, met), *flips]
    half = abs(float(found[: samples // 2].mean()) - float(found[samples // 2 :].mean()))
    calm = "agree" if half <= 2 * z * error else "differ: draw more"
    return Result(
        method="monte-carlo",
        conclusion=conclusion,
        confidence=sure,
        steps=tuple(steps),
        would_change=tuple(flips),
        inputs=given.used,
        answer=answer,
        notes=(
            f"The two halves of the draws {calm}; four times the draws halve the error of {brief(error)}.",
            "The confidence is the one of the interval; it says nothing about the formula or the distributions.",
            "The variables are drawn independently of each other.",
        ),
    )


def _drawn(part: Given, place: str, draws: Any, samples: int) -> Any:
    kind = part.choice("is", list(KINDS))
    part.only("is", *KINDS[kind])
    if kind == "discrete":
        values, chances = part.numbers("values", least=1), part.numbers("chances", low=0, high=1)
        adding_up(f"{place}.chances", {str(i): each for i, each in enumerate(chances)})
        if len(values) != len(chances):
            raise InputError(f"{place} has {len(values)} values and {len(chances)} chances", hint="give as many")
        return draws.choice(values, samples, p=[each / math.fsum(chances) for each in chances])
    numbers = [part.number(name) for name in KINDS[kind]]
    makes_sense = {
        "bernoulli": 0 <= numbers[0] <= 1,
        "beta": min(numbers) > 0,
        "normal": numbers[-1] >= 0,
        "lognormal": numbers[-1] >= 0 and max(numbers) < 300,
    }.get(kind, numbers == sorted(numbers) and numbers[0] < numbers[-1])
    if not makes_sense:
        wanted = "p from 0 to 1; a, b over 0; sd not negative; low ≤ mode ≤ high"
        raise InputError(f"{place} is {kind} with {', '.join(map(brief, numbers))}", hint=wanted)
    if kind == "bernoulli":
        return draws.binomial(1, numbers[0], samples).astype(float)
    if kind == "pert":
        low, mode, high = numbers
        span = high - low
        return low + span * draws.beta(1 + 4 * (mode - low) / span, 1 + 4 * (high - mode) / span, samples)
    return getattr(draws, kind)(*numbers, samples)


def wilson(hits: float, count: float, z: float) -> tuple[float, float]:
    """The interval of a share (Wilson 1927)."""
    share, spread = hits / count, z * z / count
    centre = (share + spread / 2) / (1 + spread)
    half = math.sqrt(spread * (share * (1 - share) + spread / 4)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def _ranks(values: Any) -> Any:
    import numpy

    _, places, counts = numpy.unique(values, return_inverse=True, return_counts=True)
    return (numpy.cumsum(counts) - (counts - 1) / 2)[places]


def _rank_correlation(one: Any, other: Any) -> float:
    import numpy

    first, second = _ranks(one), _ranks(other)
    is_flat = first.std() == 0 or second.std() == 0
    return 0.0 if is_flat else float(numpy.corrcoef(first, second)[0, 1])


def _tornado(name: str, values: Any, found: Any) -> str:
    import numpy

    low, high = numpy.quantile(values, [0.1, 0.9])
    below, above = float(found[values <= low].mean()), float(found[values >= high].mean())
    return f"The mean goes from {brief(below)} to {brief(above)} as {name} goes from its lowest to its highest tenth."


def _split(name: str, drawn: Mapping[str, Any], met: Any) -> list[str]:
    """The value of a variable that best parts the draws that meet the condition from those that do not."""
    import numpy

    order = numpy.argsort(drawn[name], kind="stable")
    gap = numpy.cumsum(numpy.where(met[order], 1, -1) - met.mean() * 2 + 1)
    place = int(numpy.abs(gap).argmax())
    if met.all() or not met.any():
        return []
    word = "above" if gap[place] < 0 else "below"
    return [f"The condition is met mostly where {name} is {word} {brief(float(drawn[name][order[place]]))}."]
