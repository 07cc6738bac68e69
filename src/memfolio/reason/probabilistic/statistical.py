"""Statistical tests: whether data speak against chance, how large the effect is, and what that does not say.

samples: an object, each group with its list of numbers: one, two or more groups
paired: whether two groups belong together number by number; false
relation: whether it is asked how two such groups hang together, and not how they differ; false
against: for one group, the mean to compare with; 0
table: instead of samples, a table of counts, rows by columns; one row has successes and failures
chance: for one row, the share of successes to compare with; 0.5
test: the test to use, where the data should not choose it
alternative: two-sided, less or greater; two-sided
confidence: one less the level of significance; 0.95
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable

from memfolio.errors import InputError
from memfolio.reason.given import Given
from memfolio.reason.probabilistic import hypothesis_tests as tests
from memfolio.reason.probabilistic.flips import LARGEST, brief
from memfolio.reason.probabilistic.hypothesis_tests import Asked, Groups, gaps, scipy_stats
from memfolio.reason.result import Result
from memfolio.reason.world import World

LARGE = 30
"""From how many numbers on a mean is taken as normal whatever they look like (central limit theorem)."""
MOST_GROUPS = 20
MOST_COUNTED = 1_000_000
STRAIGHT = "Pearson's correlation sees straight lines only; its p-value takes both groups as normal."
UNSAID = (
    "The p-value is how often chance alone would give data at least this extreme: not the chance that there is no "
    "effect, nor how large or important an effect is. So no confidence is given."
)


def reason(given: Given, world: World) -> Result:
    """What the fitting test says, with the size of the effect and what was assumed."""
    is_table = "table" in given
    names = ("table", "chance") if is_table else ("samples", "paired", "relation", "against")
    given.only(*names, "test", "alternative", "confidence")
    confidence = given.number("confidence", 0.95, low=0.5, high=0.9999)
    side = given.choice("alternative", (tests.TWO_SIDED, "less", "greater"), tests.TWO_SIDED)
    against = given.share("chance", 0.5) if is_table else given.number("against", 0, low=-LARGEST, high=LARGEST)
    asked = Asked(stats=scipy_stats(), side=side, confidence=confidence, against=against)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _counts(given, asked) if is_table else _samples(given, asked)


def _samples(given: Given, asked: Asked) -> Result:
    inside, paired, relation = given.part("samples"), given.flag("paired"), given.flag("relation")
    groups = {name: inside.numbers(name, low=-LARGEST, high=LARGEST, least=2) for name in inside.names()}
    data = list(groups.values())
    if not 0 < len(data) <= MOST_GROUPS:
        raise InputError(f"samples has {len(data)} groups", hint=f"give 1 to {MOST_GROUPS}")
    if (paired or relation) and (paired == relation or len(data) != 2 or len(data[0]) != len(data[1])):
        raise InputError("the groups do not fit", hint="say paired or relation, with two groups of one length")
    if "against" in given and len(data) > 1:
        raise InputError("against is given for several groups", hint="give it for one group only")
    if relation:
        return _told(given, asked, given.choice("test", (tests.PEARSON,), tests.PEARSON), data, [STRAIGHT])
    possible = _possible(len(data), paired)
    fitting, checks = _fitting(data, possible, asked)
    return _told(given, asked, given.choice("test", possible, fitting), data, checks)


def _possible(groups: int, paired: bool) -> tuple[str, str]:
    if groups > 2:
        return tests.ANOVA, tests.KRUSKAL
    if groups == 1 or paired:
        return (tests.PAIRED if paired else tests.ONE), tests.SIGNED
    return tests.WELCH, tests.RANKS


def _fitting(data: Groups, possible: tuple[str, str], asked: Asked) -> tuple[str, list[str]]:
    """The test on means where the numbers look normal or are many, else the one on ranks."""
    checks, fits = [], True
    for number, group in enumerate([gaps(data)] if possible[0] == tests.PAIRED else data, 1):
        varies = len(group) > 2 and max(group) > min(group)
        p = float(asked.stats.shapiro(group[:5000]).pvalue) if varies else 0.0
        checks.append(f"Numbers {number}: {len(group)} of them, normality (Shapiro-Wilk) p = {brief(p)}.")
        fits = fits and (p >= 0.05 or len(group) >= LARGE)
    if possible[0] == tests.ANOVA:
        p = float(asked.stats.levene(*data).pvalue)
        checks.append(f"Equal spreads (Levene) p = {brief(p)}.")
        fits = fits and p >= 0.05
    return possible[not fits], [*checks, f"The data choose {possible[not fits]}; the other is {possible[fits]}."]


def _counts(given: Given, asked: Asked) -> Result:
    table = given.matrix("table")
    if any(not 0 <= each <= MOST_COUNTED or each != int(each) for row in table for each in row):
        raise InputError("a count is negative or no whole number", hint=f"give counts from 0 to {MOST_COUNTED:,}")
    columns = [sum(column) for column in zip(*table, strict=True)]
    if len(table) == 1 and len(columns) == 2 and sum(columns):
        return _told(given, asked, given.choice("test", (tests.BINOMIAL,), tests.BINOMIAL), table, [])
    if min(len(table), len(columns)) < 2 or not all(columns) or not all(map(sum, table)):
        hint = "give two or more of each, not empty"
        raise InputError("a row or a column of the counts is empty or alone", hint=hint)
    least = min(sum(row) * column / sum(columns) for row in table for column in columns)
    possible = (tests.FISHER, tests.CHI) if len(table) == len(columns) == 2 else (tests.CHI,)
    checks = [f"The smallest expected count is {brief(least)}: below 5, chi-square is rough."]
    return _told(given, asked, given.choice("test", possible, possible[0]), table, checks)


def _told(given: Given, asked: Asked, test: str, data: Groups, checks: Iterable[str]) -> Result:
    found, level = asked.run(test, data), 1 - asked.confidence
    stands, size = bool(found.p <= level), f"{found.effect}: {brief(found.size)}"
    if found.interval is not None:
        size += f" ({asked.confidence:.4g} interval {' to '.join(map(brief, found.interval))})"
    verdict = "The data speak against chance alone" if stands else "The data do not rule out chance alone"
    interval = None if found.interval is None else [_finite(each) for each in found.interval]
    effect = {"name": found.effect, "size": _finite(found.size), "interval": interval}
    return Result(
        method="statistical",
        conclusion=f"{verdict} ({test}, p = {brief(found.p)}); {size}.",
        steps=(
            *checks,
            f"{test}: statistic {brief(found.statistic)}, p = {brief(found.p)} ({asked.side}).",
            f"{size}.",
        ),
        would_change=(f"It turns over at a level of significance of {brief(found.p)} ({brief(level)} was asked for).",),
        inputs=given.used,
        answer={
            "test": test,
            "statistic": _finite(found.statistic),
            "p": float(found.p),
            "significant": stands,
            "effect": effect,
        },
        notes=(
            UNSAID,
            "The numbers are taken as drawn independently; a test chosen by the data is slightly optimistic.",
            "Of several groups it says that some differ; whoever then compares pairs must be stricter by their number.",
        ),
    )


def _finite(value: float) -> float | None:
    """A number as JSON can hold it: an odds ratio may be infinite."""
    return float(value) if math.isfinite(value) else None
