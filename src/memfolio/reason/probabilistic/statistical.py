"""Statistical tests: whether data speak against chance, how large the effect is, and what that does not say.

samples: an object, each group with its list of numbers: one, two or more groups
paired: whether two groups belong together number by number; false
relation: whether it is asked how two such groups hang together, and not how they differ; false
against: for one group, the mean to compare with; 0
table: instead of samples, a table of counts, rows by columns
proportions: instead of samples, an object, one or two groups with [successes, trials]
chance: for one proportion, the share to compare with; 0.5
p_values: instead of samples, an object, each test with its p-value, to be corrected for their number (Holm)
test: the test to use, where the data should not choose it
alternative: two-sided, less or greater; two-sided
confidence: one less the level of significance; 0.95
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, product

from memfolio.errors import InputError
from memfolio.reason.given import Given
from memfolio.reason.probabilistic import hypothesis_tests as tests
from memfolio.reason.probabilistic.flips import brief, listed
from memfolio.reason.probabilistic.hypothesis_tests import Asked, Groups, gaps
from memfolio.reason.probabilistic.scientific import scientific
from memfolio.reason.result import Result
from memfolio.reason.world import World

LARGE = 30
"""From how many numbers on a mean is taken as normal whatever they look like (central limit theorem)."""
MOST_TRIED = 100
MOST_GROUPS = 20
MOST_COUNTED = 1_000_000
UNSAID = (
    "The p-value is how often chance alone would give data at least this extreme: not the chance that there is no "
    "effect, nor how large or important an effect is. So no confidence is given."
)


def reason(given: Given, world: World) -> Result:
    """What the fitting test says, with the size of the effect and what was assumed."""
    names = ("samples", "paired", "relation", "against", "table", "proportions", "chance", "p_values", "test")
    given.only(*names, "alternative", "confidence")
    confidence = given.number("confidence", 0.95, low=0.5, high=0.9999)
    if "p_values" in given:
        return _corrected(given, 1 - confidence)
    side = given.choice("alternative", ("two-sided", "less", "greater"), "two-sided")
    against = given.share("chance", 0.5) if "proportions" in given else given.number("against", 0)
    asked = Asked(stats=scientific("scipy.stats"), side=side, confidence=confidence, against=against)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _counts(given, asked) if "table" in given or "proportions" in given else _samples(given, asked)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """P-values corrected for their number (Holm 1979)."""
    adjusted, highest = {}, 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda each: p_values[each])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}


def _corrected(given: Given, level: float) -> Result:
    raw = given.weights("p_values", low=0, high=1)
    adjusted = holm(raw)
    kept = [name for name, p in adjusted.items() if p <= level]
    return Result(
        method="statistical",
        conclusion=f"{len(kept)} of {len(raw)} stand at {level:.3g} after correction: {', '.join(kept) or 'none'}.",
        steps=tuple(f"{name}: {brief(raw[name])} becomes {brief(adjusted[name])}." for name in list(raw)[:50]),
        would_change=tuple(f"{name} turns over at a level of {brief(p)}." for name, p in list(adjusted.items())[:20]),
        inputs=given.used,
        answer={"adjusted": adjusted, "significant": kept},
        notes=("Holm's correction holds however the tests depend on each other.",),
    )


def _samples(given: Given, asked: Asked) -> Result:
    inside, paired, relation = given.part("samples"), given.flag("paired"), given.flag("relation")
    groups = {name: inside.numbers(name, least=2) for name in inside.names()}
    data, together = list(groups.values()), paired or relation
    if not 0 < len(data) <= MOST_GROUPS or (together and (len(data) != 2 or len(data[0]) != len(data[1]))):
        hint = f"give 1 to {MOST_GROUPS} groups; for pairs, two of one length"
        raise InputError(f"samples has {len(data)} groups that do not fit", hint=hint)
    possible = _possible(len(data), paired, relation)
    fitting, checks = _fitting(data, possible, asked)
    test = given.choice("test", possible, fitting)
    pairs: dict[str, float] = {}
    if len(data) > 2:
        two, plain = tests.WELCH if test == tests.ANOVA else tests.RANKS, replace(asked, side="two-sided")
        pairs = holm({f"{a} – {b}": plain.run(two, [groups[a], groups[b]]).p for a, b in combinations(groups, 2)})
        checks.append(f"Between two groups ({two}, corrected by Holm): {listed(pairs)}.")
    tried = {}
    for name, place in [(each, place) for each in groups for place in range(min(MOST_TRIED, len(groups[each])))]:
        fewer = {each: group[:place] + group[place + 1 :] for each, group in groups.items() if together or each == name}
        if len(fewer[name]) > 2 and sum(map(len, data)) <= MOST_TRIED:
            tried[f"Without number {place + 1} of {name}"] = list({**groups, **fewer}.values())
    return _told(given, asked, test, data, checks, tried, {"pairs": pairs} if pairs else {})


def _possible(groups: int, paired: bool, relation: bool) -> tuple[str, str]:
    if relation:
        return tests.PEARSON, tests.SPEARMAN
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
        fits = fits and (p >= 0.05 or (len(group) >= LARGE and possible[0] != tests.PEARSON))
    if possible[0] == tests.ANOVA:
        p = float(asked.stats.levene(*data).pvalue)
        checks.append(f"Equal spreads (Levene) p = {brief(p)}.")
        fits = fits and p >= 0.05
    return possible[not fits], [*checks, f"The data choose {possible[not fits]}; the other is {possible[fits]}."]


def _counts(given: Given, asked: Asked) -> Result:
    if "table" in given:
        table = given.matrix("table")
    else:
        pairs = [each.numbers(name) for each in [given.part("proportions")] for name in each.names()]
        if not 1 <= len(pairs) <= 2 or any(len(pair) != 2 or pair[0] > pair[1] for pair in pairs):
            raise InputError("proportions is not one or two [successes, trials]", hint="give successes up to trials")
        table = [[hits, trials - hits] for hits, trials in pairs]
    if any(not 0 <= each <= MOST_COUNTED or each != int(each) for row in table for each in row):
        raise InputError("a count is negative or no whole number", hint=f"give counts from 0 to {MOST_COUNTED:,}")
    if not _is_full(table) or ("table" in given and len(table) < 2):
        raise InputError(
            "a row or a column of the counts is empty or alone", hint="give two or more of each, not empty"
        )
    total = sum(map(sum, table))
    least = min(sum(row) * sum(column) / total for row in table for column in zip(*table, strict=True))
    possible = (tests.FISHER, tests.SHARES, tests.CHI) if len(table) == len(table[0]) == 2 else (tests.CHI,)
    fitting = possible[0] if least < 5 else tests.SHARES if "proportions" in given else tests.CHI
    if len(table) == 1:
        possible, fitting = (tests.BINOMIAL,), tests.BINOMIAL
    checks = [
        f"The smallest expected count is {brief(least)}: below 5, chi-square and z are rough. Chi-square has no side."
    ]
    tried = {}
    for i, j, step in list(product(range(len(table)), range(len(table[0])), (-1, 1)))[:MOST_TRIED]:
        moved = [[each + step * ((i, j) == (k, m)) for m, each in enumerate(row)] for k, row in enumerate(table)]
        if moved[i][j] >= 0 and _is_full(moved):
            tried[f"With {moved[i][j]:g} for {table[i][j]:g} in row {i + 1}, column {j + 1}"] = moved
    return _told(given, asked, given.choice("test", possible, fitting), table, checks, tried, {})


def _is_full(table: Groups) -> bool:
    return all(map(sum, table)) and len(table[0]) > 1 and (len(table) == 1 or all(map(sum, zip(*table, strict=True))))


def _varied(asked: Asked, test: str, tried: Mapping[str, Groups]) -> Iterator[tuple[str, float]]:
    for what, data in tried.items():
        with suppress(InputError):  # the rest may not vary any more
            yield what, replace(asked, resamples=1).run(test, data).p


def _told(
    given: Given,
    asked: Asked,
    test: str,
    data: Groups,
    checks: Iterable[str],
    tried: Mapping[str, Groups],
    more: Mapping[str, object],
) -> Result:
    """What the test found, and which of the changed data would turn it over."""
    found, level = asked.run(test, data), 1 - asked.confidence
    stands, around = found.p <= level, " to ".join(map(brief, found.interval))
    turned = [f"{what}, p is {brief(p)}." for what, p in _varied(asked, test, tried) if (p <= level) != stands]
    verdict = "The data speak against chance alone" if stands else "The data do not rule out chance alone"
    sizes = [float(each) if math.isfinite(each) else None for each in (found.statistic, found.size, *found.interval)]
    effect = {"name": found.effect, "size": sizes[1], "interval": sizes[2:]}
    return Result(
        method="statistical",
        conclusion=f"{verdict} ({test}, p = {brief(found.p)}); {found.effect}: {brief(found.size)} ({around}).",
        steps=(
            *checks,
            f"{test}: statistic {brief(found.statistic)}, p = {brief(found.p)} ({asked.side}).",
            f"{found.effect}: {brief(found.size)}, {asked.confidence:.0%} interval {around}.",
        ),
        would_change=(
            f"It turns over at a level of significance of {brief(found.p)} ({brief(level)}).",
            *(turned or ([f"None of {len(tried)} single changes to the data turns it over."] if tried else [])),
        ),
        inputs=given.used,
        answer={"test": test, "statistic": sizes[0], "p": float(found.p), "significant": bool(stands), "effect": effect}
        | dict(more),
        notes=(
            UNSAID,
            "The numbers are taken as drawn independently; a test chosen by the data is slightly optimistic.",
        ),
    )
