"""The tests of statistics by name: a p-value, and the size of the effect with an interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Any

from memfolio.errors import InputError
from memfolio.reason.probabilistic.monte_carlo import wilson

RESAMPLES = 500
MOST_DRAWN = 10_000_000
"""How many numbers all resamples together may have."""
MOST_EXACT = 50
ONE, PAIRED, WELCH, SIGNED, RANKS = "one-sample t", "paired t", "Welch t", "Wilcoxon", "Mann-Whitney"
ANOVA, KRUSKAL, PEARSON, SPEARMAN = "one-way ANOVA", "Kruskal-Wallis", "Pearson", "Spearman"
FISHER, CHI, BINOMIAL, SHARES = "Fisher exact", "chi-square", "binomial", "two proportions"

Groups = list[list[float]]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a test found."""

    statistic: float
    p: float
    effect: str
    size: float
    interval: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How a test is to be done; `stats` is scipy's module."""

    stats: Any
    side: str
    confidence: float
    against: float
    resamples: int = RESAMPLES

    @property
    def z(self) -> float:
        return float(self.stats.norm.ppf((1 + self.confidence) / 2))

    def run(self, test: str, data: Groups) -> Finding:
        """A test by its name, on groups of numbers or a table of counts."""
        by_name: dict[str, Callable[[str, Groups, Asked], Finding]] = {
            ONE: _means,
            PAIRED: _means,
            WELCH: _means,
            PEARSON: _relation,
            SPEARMAN: _relation,
        }
        by_name |= {FISHER: _fisher, CHI: _chi, BINOMIAL: _binomial, SHARES: _shares}
        found = by_name.get(test, _ranks)(test, data, self)
        if not math.isfinite(found.p):
            raise InputError(f"{test} gives no p-value for these data", hint="give more data, and data that vary")
        return found


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
    """The interval is Fisher's, for ranks with the variance of Fieller, Hartley and Pearson (1957)."""
    found = (asked.stats.pearsonr if test == PEARSON else asked.stats.spearmanr)(*data, alternative=asked.side)
    middle = math.atanh(max(-0.999999, min(0.999999, float(found.statistic))))
    half = asked.z * math.sqrt((1 if test == PEARSON else 1.06) / max(1, len(data[0]) - 3))
    interval = (math.tanh(middle - half), math.tanh(middle + half))
    return Finding(found.statistic, found.pvalue, "correlation", found.statistic, interval)


def _ranks(test: str, data: Groups, asked: Asked) -> Finding:
    """The tests whose effect follows from their statistic; its interval comes from drawing the data again."""
    stats, sizes, most = asked.stats, [len(group) for group in data], 0.0
    count, free = sum(sizes), len(sizes) - 1
    if test == SIGNED:
        data = [[gap for gap in (gaps(data) if free else [x - asked.against for x in data[0]]) if gap]]
        most = len(data[0]) * (len(data[0]) + 1) / 2
    if min(map(len, data)) < 2:
        raise InputError(f"{test} has fewer than two numbers that differ", hint="give more data, and data that vary")
    ways: dict[str, tuple[str, Callable[..., Any], Callable[[Any], Any]]] = {
        RANKS: ("rank-biserial correlation", stats.mannwhitneyu, lambda u: 2 * u / math.prod(sizes) - 1),
        SIGNED: ("rank-biserial correlation", stats.wilcoxon, lambda w: 2 * w / most - 1),
        ANOVA: ("eta squared", stats.f_oneway, lambda f: f * free / (f * free + count - len(sizes))),
        KRUSKAL: ("epsilon squared", stats.kruskal, lambda h: h / (count - 1)),
    }
    effect, call, size_of = ways[test]
    # On one side Wilcoxon's statistic is the sum of the positive ranks, from which the effect has its sign.
    quick = {RANKS: {"method": "asymptotic"}, SIGNED: {"alternative": "greater", "method": "approx"}}.get(test, {})
    exact = (
        {"method": "auto" if max(sizes) <= MOST_EXACT else quick["method"], "alternative": asked.side} if quick else {}
    )
    again = stats.bootstrap(
        data,
        lambda *each, axis=-1: size_of(call(*each, axis=axis, **quick).statistic),
        n_resamples=min(asked.resamples, MOST_DRAWN // count + 1),
        batch=MOST_DRAWN // (10 * count) + 1,
        confidence_level=asked.confidence,
        method="percentile",
        rng=0,
    )
    found = call(*data, **exact)
    size = size_of(call(*data, **quick).statistic)
    return Finding(found.statistic, found.pvalue, effect, size, again.confidence_interval)


def _binomial(test: str, table: Groups, asked: Asked) -> Finding:
    hits, trials = int(table[0][0]), int(sum(table[0]))
    found = asked.stats.binomtest(hits, trials, asked.against, alternative=asked.side)
    return Finding(hits, found.pvalue, "share", hits / trials, found.proportion_ci(asked.confidence))


def _fisher(test: str, table: Groups, asked: Asked) -> Finding:
    rows = [[int(each) for each in row] for row in table]
    ratio = asked.stats.contingency.odds_ratio(rows)
    p = asked.stats.fisher_exact(rows, alternative=asked.side).pvalue
    return Finding(ratio.statistic, p, "odds ratio", ratio.statistic, ratio.confidence_interval(asked.confidence))


def _shares(test: str, table: Groups, asked: Asked) -> Finding:
    """The z test; the interval is Newcombe's (1998), from those of the two shares."""
    norm, (n, m) = asked.stats.norm, [math.fsum(row) for row in table]
    one, other, pooled = table[0][0] / n, table[1][0] / m, (table[0][0] + table[1][0]) / (n + m)
    gap, (a, b), (c, d) = one - other, *(wilson(row[0], math.fsum(row), asked.z) for row in table)
    z = gap / math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    p = {"two-sided": 2 * norm.sf(abs(z)), "greater": norm.sf(z), "less": norm.cdf(z)}[asked.side]
    interval = (gap - math.hypot(one - a, d - other), gap + math.hypot(b - one, other - c))
    return Finding(z, float(p), "difference of shares", gap, interval)


def _chi(test: str, table: Groups, asked: Asked) -> Finding:
    import numpy

    found, counts = asked.stats.chi2_contingency(table, correction=False), numpy.array(table)
    most = counts.sum() * (min(counts.shape) - 1)
    draws = numpy.random.default_rng(0).multinomial(int(counts.sum()), counts.ravel() / counts.sum(), asked.resamples)
    drawn = draws.reshape(-1, *counts.shape)
    expected = drawn.sum(2, keepdims=True) * drawn.sum(1, keepdims=True) / counts.sum()
    again = numpy.sqrt(((drawn - expected) ** 2 / expected.clip(1e-12)).sum((1, 2)) / most)
    size = math.sqrt(found.statistic / most)
    again = (again - numpy.median(again) + size).clip(
        0, 1
    )  # drawn tables show more association than the one they are from
    interval = numpy.quantile(again, [(1 - asked.confidence) / 2, (1 + asked.confidence) / 2])
    return Finding(found.statistic, found.pvalue, "Cramér's V", size, interval)
