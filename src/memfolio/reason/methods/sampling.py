"""Methods of samples: drawing uncertain quantities many times, and tests of statistics."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from statistics import NormalDist, fmean
from typing import Annotated, Any, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.expression import evaluate
from memfolio.reason.inputs import (
    LARGEST,
    Amount,
    Computed,
    Confidence,
    Inputs,
    Matrix,
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
    sized,
    wilson,
)
from memfolio.reason.methods.flips import brief

# Monte Carlo: what a formula over uncertain quantities comes to, by drawing them many times.

KINDS = {
    "normal": ("mean", "sd"),
    "uniform": ("low", "high"),
    "triangular": ("low", "mode", "high"),
    "lognormal": ("log_mean", "log_sd"),
    "beta": ("a", "b"),
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
def monte_carlo(given: Simulation, world: World) -> Computed:
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
    return Computed(
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
        "beta": min(numbers) > 0,
        "normal": numbers[-1] >= 0,
        "lognormal": 0 <= numbers[-1] <= 10,
    }.get(kind, numbers == sorted(numbers) and numbers[0] < numbers[-1])
    if not makes_sense:
        wanted = "a, b over 0; sd not negative, log_sd to 10; low ≤ mode ≤ high"
        raise InputError(f"{place} is {kind} with {', '.join(map(brief, numbers))}", hint=wanted)
    return getattr(draws, kind)(*numbers, samples)


def _swing(values: Any, found: Any) -> tuple[float, float]:
    """What the mean is where a variable is in its lowest and in its highest tenth."""
    import numpy

    low, high = numpy.quantile(values, [0.1, 0.9])
    return float(found[values <= low].mean()), float(found[values >= high].mean())


# Statistics: whether data speak against chance, and how large the effect is.

MOST_COUNTED = 1_000_000
Groups = Sequence[Sequence[float]]


class Samples(NamedTuple):
    samples: Annotated[Mapping[str, Annotated[Sequence[Amount], sized(2)]], sized(1, 20)]
    paired: bool = False
    relation: bool = False
    against: Amount | None = None
    confidence: Confidence = 0.95


class CountTable(NamedTuple):
    table: Matrix
    chance: Share = 0.5
    confidence: Confidence = 0.95


class Tested(NamedTuple):
    """What a test found; for some effects there is no interval."""

    test: str
    statistic: float
    p: float
    effect: str
    size: float
    interval: Any = None
    note: str = ""


@method
def statistical(given: Samples | CountTable, world: World) -> Computed:
    """What the fitting test says, with the size of the effect and what was assumed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _of_counts(given) if isinstance(given, CountTable) else _of_samples(given)
    if not math.isfinite(found.p):
        raise InputError(f"{found.test} gives no p-value for these data", hint="give more data, and data that vary")
    level = 1 - given.confidence
    is_significant, size = bool(found.p <= level), f"{found.effect}: {brief(found.size)}"
    if found.interval is not None:
        size += f" ({given.confidence:.4g} interval {' to '.join(map(brief, found.interval))})"
    verdict = "The data speak against chance alone" if is_significant else "The data do not rule out chance alone"
    interval = None if found.interval is None else [_finite(each) for each in found.interval]
    return Computed(
        f"{verdict} ({found.test}, p = {brief(found.p)}); {size}.",
        steps=[f"{found.test}: statistic {brief(found.statistic)}, p = {brief(found.p)} (two-sided).", f"{size}."],
        would_change=[f"It turns over at a level of significance of {brief(found.p)} ({brief(level)} was asked for)."],
        answer={
            "test": found.test,
            "statistic": _finite(found.statistic),
            "p": float(found.p),
            "significant": is_significant,
            "effect": {"name": found.effect, "size": _finite(found.size), "interval": interval},
        },
        notes=[found.note],
    )


def _scipy_stats() -> Any:
    """The module of scipy, which is an extra; InputError with the line that installs it."""
    try:
        return import_module("scipy.stats")
    except ImportError as error:
        hint = "pip install 'memfolio[reason]'"
        raise InputError("this method needs scipy, which is not installed", hint=hint) from error


def _of_samples(given: Samples) -> Tested:
    stats, data, paired, relation = _scipy_stats(), list(given.samples.values()), given.paired, given.relation
    if (paired or relation) and (paired == relation or len(data) != 2 or len(data[0]) != len(data[1])):
        raise InputError("the groups do not fit", hint="say paired or relation, with two groups of one length")
    if given.against is not None and len(data) > 1:
        raise InputError("against is given for several groups", hint="give it for one group only")
    if relation:
        found = stats.pearsonr(*data)
        interval = found.confidence_interval(given.confidence) if len(data[0]) > 3 else None
        note = "Pearson's correlation sees straight lines only."
        return Tested("Pearson", found.statistic, found.pvalue, "correlation", found.statistic, interval, note)
    if len(data) > 2:
        found, free = stats.f_oneway(*data), len(data) - 1
        size = found.statistic * free / (found.statistic * free + sum(map(len, data)) - len(data))
        return Tested("one-way ANOVA", found.statistic, found.pvalue, "eta squared", size, note=NORMAL)
    if len(data) == 2 and not paired:
        test, against, found = "Welch t", 0.0, stats.ttest_ind(*data, equal_var=False)
        gap = fmean(data[0]) - fmean(data[1])
    else:
        test, against = ("paired t", 0.0) if paired else ("one-sample t", given.against or 0.0)
        numbers = [a - b for a, b in zip(*data, strict=True)] if paired else data[0]
        found, gap = stats.ttest_1samp(numbers, against), fmean(numbers) - against
    interval = [each - against for each in found.confidence_interval(given.confidence)]
    return Tested(test, found.statistic, found.pvalue, "difference of means", gap, interval, NORMAL)


NORMAL = "The numbers, or their means where there are many, are taken as normal."


def _of_counts(given: CountTable) -> Tested:
    stats, table = _scipy_stats(), given.table
    if any(not 0 <= each <= MOST_COUNTED or each != int(each) for row in table for each in row):
        raise InputError("a count is negative or no whole number", hint=f"give counts from 0 to {MOST_COUNTED:,}")
    rows = [[int(each) for each in row] for row in table]
    columns = [sum(column) for column in zip(*rows, strict=True)]
    if len(rows) == 1 and len(columns) == 2 and sum(columns):
        hits, trials = rows[0][0], sum(columns)
        found = stats.binomtest(hits, trials, given.chance)
        return Tested("binomial", hits, found.pvalue, "share", hits / trials, found.proportion_ci(given.confidence))
    if min(len(rows), len(columns)) < 2 or not all(columns) or not all(map(sum, rows)):
        hint = "give two or more of each, not empty"
        raise InputError("a row or a column of the counts is empty or alone", hint=hint)
    if len(rows) == len(columns) == 2:
        ratio, p = stats.contingency.odds_ratio(rows), stats.fisher_exact(rows).pvalue
        interval = ratio.confidence_interval(given.confidence)
        return Tested("Fisher exact", ratio.statistic, p, "odds ratio", ratio.statistic, interval)
    found = stats.chi2_contingency(rows, correction=False)
    size = math.sqrt(found.statistic / (sum(columns) * (min(len(rows), len(columns)) - 1)))
    note = "Some expected counts are below 5: chi-square is rough." if found.expected_freq.min() < 5 else ""
    return Tested("chi-square", found.statistic, found.pvalue, "Cramér's V", size, note=note)


def _finite(value: float) -> float | None:
    """A number as JSON can hold it: an odds ratio may be infinite."""
    return float(value) if math.isfinite(value) else None
