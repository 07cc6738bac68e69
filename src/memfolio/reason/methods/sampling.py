"""Methods of samples: drawing uncertain quantities many times, and tests of statistics."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from statistics import NormalDist, fmean, variance
from typing import Annotated, Any, Literal, NamedTuple

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


# Statistical tests: whether data speak against chance, how large the effect is, and what that does not say.

MOST_EXACT = 50
"""Up to how many numbers the p-values of ranks are exact."""
LARGE = 30
"""From how many numbers on a mean is taken as normal whatever they look like (central limit theorem)."""
MOST_COUNTED = 1_000_000
ONE, PAIRED, WELCH, SIGNED, RANKS = "one-sample t", "paired t", "Welch t", "Wilcoxon", "Mann-Whitney"
ANOVA, KRUSKAL, PEARSON = "one-way ANOVA", "Kruskal-Wallis", "Pearson"
FISHER, CHI, BINOMIAL = "Fisher exact", "chi-square", "binomial"
STRAIGHT = "Pearson's correlation sees straight lines only; its p-value takes both groups as normal."

Groups = Sequence[Sequence[float]]
Side = Literal["two-sided", "less", "greater"]


class Samples(NamedTuple):
    samples: Annotated[Mapping[str, Annotated[Sequence[Amount], sized(2)]], sized(1, 20)]
    paired: bool = False
    relation: bool = False
    against: Amount | None = None
    test: str | None = None
    alternative: Side = "two-sided"
    confidence: Confidence = 0.95


class CountTable(NamedTuple):
    table: Matrix
    chance: Share = 0.5
    test: str | None = None
    alternative: Side = "two-sided"
    confidence: Confidence = 0.95


class TestRequest(NamedTuple):
    """How a test is to be done; `stats` is scipy's module."""

    stats: Any
    side: str
    confidence: float
    against: float


class Tested(NamedTuple):
    """What a test found; for some effects there is no interval."""

    statistic: float
    p: float
    effect: str
    size: float
    interval: Any = None


@method
def statistical(given: Samples | CountTable, world: World) -> Computed:
    """What the fitting test says, with the size of the effect and what was assumed."""
    against = given.chance if isinstance(given, CountTable) else given.against or 0.0
    asked = TestRequest(_scipy_stats(), given.alternative, given.confidence, against)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        possible, data, checks = _counts(given) if isinstance(given, CountTable) else _samples(given, asked)
        return _finding(asked, one_of("test", given.test or possible[0], possible), data, checks)


def _scipy_stats() -> Any:
    """The module of scipy, which is an extra; InputError with the line that installs it."""
    try:
        return import_module("scipy.stats")
    except ImportError as error:
        hint = "pip install 'memfolio[reason]'"
        raise InputError("this method needs scipy, which is not installed", hint=hint) from error


# Which tests the data allow, the fitting one first, and what speaks for it.


def _samples(given: Samples, asked: TestRequest) -> tuple[Sequence[str], Groups, list[str]]:
    data, paired, relation = list(given.samples.values()), given.paired, given.relation
    if (paired or relation) and (paired == relation or len(data) != 2 or len(data[0]) != len(data[1])):
        raise InputError("the groups do not fit", hint="say paired or relation, with two groups of one length")
    if given.against is not None and len(data) > 1:
        raise InputError("against is given for several groups", hint="give it for one group only")
    if relation:
        return [PEARSON], data, [STRAIGHT]
    if len(data) > 2:
        possible = ANOVA, KRUSKAL
    elif len(data) == 1 or paired:
        possible = (PAIRED if paired else ONE), SIGNED
    else:
        possible = WELCH, RANKS
    return _fitting(data, possible, asked)


def _fitting(data: Groups, possible: tuple[str, str], asked: TestRequest) -> tuple[Sequence[str], Groups, list[str]]:
    """The test on means first where the numbers look normal or are many, else the one on ranks."""
    checks, fits = [], True
    for number, group in enumerate([_gaps(data)] if possible[0] == PAIRED else data, 1):
        varies = len(group) > 2 and max(group) > min(group)
        p = float(asked.stats.shapiro(group[:5000]).pvalue) if varies else 0.0
        checks.append(f"Numbers {number}: {len(group)} of them, normality (Shapiro-Wilk) p = {brief(p)}.")
        fits = fits and (p >= 0.05 or len(group) >= LARGE)
    if possible[0] == ANOVA:
        p = float(asked.stats.levene(*data).pvalue)
        checks.append(f"Equal spreads (Levene) p = {brief(p)}.")
        fits = fits and p >= 0.05
    ordered = possible if fits else possible[::-1]
    return ordered, data, [*checks, f"The data choose {ordered[0]}; the other is {ordered[1]}."]


def _counts(given: CountTable) -> tuple[Sequence[str], Groups, list[str]]:
    table = given.table
    if any(not 0 <= each <= MOST_COUNTED or each != int(each) for row in table for each in row):
        raise InputError("a count is negative or no whole number", hint=f"give counts from 0 to {MOST_COUNTED:,}")
    columns = [sum(column) for column in zip(*table, strict=True)]
    if len(table) == 1 and len(columns) == 2 and sum(columns):
        return [BINOMIAL], table, []
    if min(len(table), len(columns)) < 2 or not all(columns) or not all(map(sum, table)):
        hint = "give two or more of each, not empty"
        raise InputError("a row or a column of the counts is empty or alone", hint=hint)
    least = min(sum(row) * column / sum(columns) for row in table for column in columns)
    possible = [FISHER, CHI] if len(table) == len(columns) == 2 else [CHI]
    return possible, table, [f"The smallest expected count is {brief(least)}: below 5, chi-square is rough."]


# The tests by name: a p-value, and the size of the effect, mostly with an interval.


def _gaps(data: Groups) -> list[float]:
    """The differences of pairs."""
    return [a - b for a, b in zip(*data, strict=True)]


def _means(test: str, data: Groups, asked: TestRequest) -> Tested:
    if test == WELCH:
        found = asked.stats.ttest_ind(*data, equal_var=False, alternative=asked.side)
        gap, spread, against = fmean(data[0]) - fmean(data[1]), fmean(map(variance, data)), 0.0
    else:
        numbers, against = (data[0], asked.against) if test == ONE else (_gaps(data), 0.0)
        found = asked.stats.ttest_1samp(numbers, against, alternative=asked.side)
        gap, spread = fmean(numbers) - against, variance(numbers)
    interval = [each - against for each in found.confidence_interval(asked.confidence)]
    effect = f"difference of means (Cohen's d {gap / math.sqrt(spread):.3g})" if spread else "difference of means"
    return Tested(found.statistic, found.pvalue, effect, gap, interval)


def _relation(test: str, data: Groups, asked: TestRequest) -> Tested:
    found = asked.stats.pearsonr(*data, alternative=asked.side)
    size = float(found.statistic)
    two_sided = asked.stats.pearsonr(*data) if abs(size) < 1 and len(data[0]) > 3 else None
    interval = two_sided and two_sided.confidence_interval(asked.confidence)
    return Tested(size, found.pvalue, "correlation", size, interval)


def _mann_whitney(test: str, data: Groups, asked: TestRequest) -> Tested:
    exactness = "auto" if max(map(len, data)) <= MOST_EXACT else "asymptotic"
    found = asked.stats.mannwhitneyu(*data, alternative=asked.side, method=exactness)
    size = 2 * found.statistic / math.prod(map(len, data)) - 1
    return Tested(found.statistic, found.pvalue, "rank-biserial correlation", size)


def _wilcoxon(test: str, data: Groups, asked: TestRequest) -> Tested:
    numbers = [each for each in (_gaps(data) if len(data) > 1 else [x - asked.against for x in data[0]]) if each]
    if len(numbers) < 2:
        raise InputError(f"{test} has fewer than two numbers that differ", hint="give more data, and data that vary")
    found = asked.stats.wilcoxon(numbers, alternative=asked.side)
    # On one side the statistic is the sum of the positive ranks, from which the effect has its sign.
    positive = asked.stats.wilcoxon(numbers, alternative="greater").statistic
    size = 4 * positive / (len(numbers) * (len(numbers) + 1)) - 1
    return Tested(found.statistic, found.pvalue, "rank-biserial correlation", size)


def _several(test: str, data: Groups, asked: TestRequest) -> Tested:
    """Analysis of variance, of the numbers or of their ranks."""
    count, free = sum(map(len, data)), len(data) - 1
    if test == KRUSKAL:
        found = asked.stats.kruskal(*data)
        return Tested(found.statistic, found.pvalue, "epsilon squared", found.statistic / (count - 1))
    found = asked.stats.f_oneway(*data)
    size = found.statistic * free / (found.statistic * free + count - len(data))
    return Tested(found.statistic, found.pvalue, "eta squared", size)


def _binomial(test: str, table: Groups, asked: TestRequest) -> Tested:
    hits, trials = int(table[0][0]), int(sum(table[0]))
    found = asked.stats.binomtest(hits, trials, asked.against, alternative=asked.side)
    return Tested(hits, found.pvalue, "share", hits / trials, found.proportion_ci(asked.confidence))


def _fisher(test: str, table: Groups, asked: TestRequest) -> Tested:
    rows = [[int(each) for each in row] for row in table]
    ratio = asked.stats.contingency.odds_ratio(rows)
    p = asked.stats.fisher_exact(rows, alternative=asked.side).pvalue
    return Tested(ratio.statistic, p, "odds ratio", ratio.statistic, ratio.confidence_interval(asked.confidence))


def _chi(test: str, table: Groups, asked: TestRequest) -> Tested:
    found = asked.stats.chi2_contingency(table, correction=False)
    most = sum(map(sum, table)) * (min(len(table), len(table[0])) - 1)
    return Tested(found.statistic, found.pvalue, "Cramér's V", math.sqrt(found.statistic / most))


_BY_NAME: dict[str, Callable[[str, Groups, TestRequest], Tested]] = {
    **dict.fromkeys((ONE, PAIRED, WELCH), _means),
    PEARSON: _relation,
    **dict.fromkeys((ANOVA, KRUSKAL), _several),
    RANKS: _mann_whitney,
    SIGNED: _wilcoxon,
    FISHER: _fisher,
    CHI: _chi,
    BINOMIAL: _binomial,
}


def _finding(asked: TestRequest, test: str, data: Groups, checks: Iterable[str]) -> Computed:
    if test in (ANOVA, KRUSKAL, CHI) and asked.side != "two-sided":
        raise InputError(f"{test} has no side", hint="leave alternative out, or compare two groups")
    found, level = _BY_NAME[test](test, data, asked), 1 - asked.confidence
    if not math.isfinite(found.p) or (test != FISHER and not math.isfinite(found.statistic)):
        raise InputError(f"{test} gives no p-value for these data", hint="give more data, and data that vary")
    stands, size = bool(found.p <= level), f"{found.effect}: {brief(found.size)}"
    if found.interval is not None:
        size += f" ({asked.confidence:.4g} interval {' to '.join(map(brief, found.interval))})"
    verdict = "The data speak against chance alone" if stands else "The data do not rule out chance alone"
    interval = None if found.interval is None else [_finite(each) for each in found.interval]
    return Computed(
        f"{verdict} ({test}, p = {brief(found.p)}); {size}.",
        steps=[
            *checks,
            f"{test}: statistic {brief(found.statistic)}, p = {brief(found.p)} ({asked.side}).",
            f"{size}.",
        ],
        would_change=[f"It turns over at a level of significance of {brief(found.p)} ({brief(level)} was asked for)."],
        answer={
            "test": test,
            "statistic": _finite(found.statistic),
            "p": float(found.p),
            "significant": stands,
            "effect": {"name": found.effect, "size": _finite(found.size), "interval": interval},
        },
    )


def _finite(value: float) -> float | None:
    """A number as JSON can hold it: an odds ratio may be infinite."""
    return float(value) if math.isfinite(value) else None
