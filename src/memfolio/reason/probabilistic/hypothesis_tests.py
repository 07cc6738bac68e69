"""The tests of statistics by name: a p-value, and the size of the effect, mostly with an interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from statistics import fmean, variance
from typing import Any

from memfolio.errors import InputError

MOST_EXACT = 50
"""Up to how many numbers the p-values of ranks are exact."""
ONE, PAIRED, WELCH, SIGNED, RANKS = "one-sample t", "paired t", "Welch t", "Wilcoxon", "Mann-Whitney"
ANOVA, KRUSKAL, PEARSON = "one-way ANOVA", "Kruskal-Wallis", "Pearson"
FISHER, CHI, BINOMIAL = "Fisher exact", "chi-square", "binomial"
TWO_SIDED = "two-sided"

Groups = list[list[float]]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a test found; for some effects there is no interval."""

    statistic: float
    p: float
    effect: str
    size: float
    interval: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How a test is to be done; `stats` is scipy's module."""

    stats: Any
    side: str
    confidence: float
    against: float

    def run(self, test: str, data: Groups) -> Finding:
        """A test by its name, on groups of numbers or a table of counts."""
        if test in (ANOVA, KRUSKAL, CHI) and self.side != TWO_SIDED:
            raise InputError(f"{test} has no side", hint="leave alternative out, or compare two groups")
        found = _BY_NAME[test](test, data, self)
        if not math.isfinite(found.p) or (test != FISHER and not math.isfinite(found.statistic)):
            raise InputError(f"{test} gives no p-value for these data", hint="give more data, and data that vary")
        return found


def scipy_stats() -> Any:
    """The module of scipy, which is an extra; InputError with the line that installs it."""
    try:
        return import_module("scipy.stats")
    except ImportError as error:
        hint = "pip install 'memfolio[reason]'"
        raise InputError("this method needs scipy, which is not installed", hint=hint) from error


def gaps(data: Groups) -> list[float]:
    """The differences of pairs."""
    return [a - b for a, b in zip(*data, strict=True)]


def _means(test: str, data: Groups, asked: Asked) -> Finding:
    if test == WELCH:
        found = asked.stats.ttest_ind(*data, equal_var=False, alternative=asked.side)
        gap, spread, against = fmean(data[0]) - fmean(data[1]), fmean(map(variance, data)), 0.0
    else:
        numbers, against = (data[0], asked.against) if test == ONE else (gaps(data), 0.0)
        found = asked.stats.ttest_1samp(numbers, against, alternative=asked.side)
        gap, spread = fmean(numbers) - against, variance(numbers)
    interval = [each - against for each in found.confidence_interval(asked.confidence)]
    effect = f"difference of means (Cohen's d {gap / math.sqrt(spread):.3g})" if spread else "difference of means"
    return Finding(found.statistic, found.pvalue, effect, gap, interval)


def _relation(test: str, data: Groups, asked: Asked) -> Finding:
    found = asked.stats.pearsonr(*data, alternative=asked.side)
    interval, size, count = None, float(found.statistic), len(data[0])
    if abs(size) < 1 and count > 3:
        half = float(asked.stats.norm.ppf((1 + asked.confidence) / 2)) / math.sqrt(count - 3)
        interval = (math.tanh(math.atanh(size) - half), math.tanh(math.atanh(size) + half))
    return Finding(size, found.pvalue, "correlation", size, interval)


def _mann_whitney(test: str, data: Groups, asked: Asked) -> Finding:
    method = "auto" if max(map(len, data)) <= MOST_EXACT else "asymptotic"
    found = asked.stats.mannwhitneyu(*data, alternative=asked.side, method=method)
    size = 2 * found.statistic / math.prod(map(len, data)) - 1
    return Finding(found.statistic, found.pvalue, "rank-biserial correlation", size)


def _wilcoxon(test: str, data: Groups, asked: Asked) -> Finding:
    numbers = [each for each in (gaps(data) if len(data) > 1 else [x - asked.against for x in data[0]]) if each]
    if len(numbers) < 2:
        raise InputError(f"{test} has fewer than two numbers that differ", hint="give more data, and data that vary")
    found = asked.stats.wilcoxon(numbers, alternative=asked.side)
    # On one side the statistic is the sum of the positive ranks, from which the effect has its sign.
    positive = asked.stats.wilcoxon(numbers, alternative="greater").statistic
    size = 4 * positive / (len(numbers) * (len(numbers) + 1)) - 1
    return Finding(found.statistic, found.pvalue, "rank-biserial correlation", size)


def _several(test: str, data: Groups, asked: Asked) -> Finding:
    """Analysis of variance, of the numbers or of their ranks."""
    count, free = sum(map(len, data)), len(data) - 1
    if test == KRUSKAL:
        found = asked.stats.kruskal(*data)
        return Finding(found.statistic, found.pvalue, "epsilon squared", found.statistic / (count - 1))
    found = asked.stats.f_oneway(*data)
    size = found.statistic * free / (found.statistic * free + count - len(data))
    return Finding(found.statistic, found.pvalue, "eta squared", size)


def _binomial(test: str, table: Groups, asked: Asked) -> Finding:
    hits, trials = int(table[0][0]), int(sum(table[0]))
    found = asked.stats.binomtest(hits, trials, asked.against, alternative=asked.side)
    return Finding(hits, found.pvalue, "share", hits / trials, found.proportion_ci(asked.confidence))


def _fisher(test: str, table: Groups, asked: Asked) -> Finding:
    rows = [[int(each) for each in row] for row in table]
    ratio = asked.stats.contingency.odds_ratio(rows)
    p = asked.stats.fisher_exact(rows, alternative=asked.side).pvalue
    return Finding(ratio.statistic, p, "odds ratio", ratio.statistic, ratio.confidence_interval(asked.confidence))


def _chi(test: str, table: Groups, asked: Asked) -> Finding:
    found = asked.stats.chi2_contingency(table, correction=False)
    most = sum(map(sum, table)) * (min(len(table), len(table[0])) - 1)
    return Finding(found.statistic, found.pvalue, "Cramér's V", math.sqrt(found.statistic / most))


_BY_NAME: dict[str, Callable[[str, Groups, Asked], Finding]] = {
    **dict.fromkeys((ONE, PAIRED, WELCH), _means),
    PEARSON: _relation,
    **dict.fromkeys((ANOVA, KRUSKAL), _several),
    RANKS: _mann_whitney,
    SIGNED: _wilcoxon,
    FISHER: _fisher,
    CHI: _chi,
    BINOMIAL: _binomial,
}
