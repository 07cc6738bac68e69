"""Statistical tests against published answers; several are the worked examples of R's documentation."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.methods.sampling import statistical as reason
from tests.reason.asking import ask

checked = partial(ask, reason)

# Student, Biometrika 6 (1908), p. 20: hours of sleep gained by two drugs
SLEEP = {
    "first": [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    "second": [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
}
# Dobson, An Introduction to Statistical Modelling (1983): PlantGrowth
PLANTS = {
    "ctrl": [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    "trt1": [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
    "trt2": [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
}
# Hollander and Wolfe, Nonparametric Statistical Methods (1973), pp. 29, 69 and 116
DEPRESSION = {
    "x": [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30],
    "y": [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29],
}
PERMEABILITY = {
    "x": [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46],
    "y": [1.15, 0.88, 0.90, 0.74, 1.21],
}
MUCUS = {"x": [2.9, 3.0, 2.5, 2.6, 3.2], "y": [3.8, 2.7, 4.0, 2.4], "z": [2.8, 3.4, 3.7, 2.2, 2.0]}
# Anscombe, The American Statistician 27 (1973), p. 19
ANSCOMBE = {
    "x": [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5],
    "y": [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68],
}


@pytest.mark.parametrize(
    ("given", "test", "statistic", "p"),
    [
        ({"samples": SLEEP, "paired": True, "test": "paired t"}, "paired t", -4.0621, 0.002833),
        ({"samples": SLEEP}, "Welch t", -1.8608, 0.07939),
        ({"samples": {"second": SLEEP["second"]}}, "one-sample t", 3.6799, 0.005076),
        ({"samples": PLANTS}, "one-way ANOVA", 4.846, 0.01591),
        ({"samples": MUCUS, "test": "Kruskal-Wallis"}, "Kruskal-Wallis", 0.77143, 0.68),
        (
            {"samples": DEPRESSION, "paired": True, "alternative": "greater", "test": "Wilcoxon"},
            "Wilcoxon",
            40,
            0.01953,
        ),
        ({"samples": PERMEABILITY, "alternative": "greater", "test": "Mann-Whitney"}, "Mann-Whitney", 35, 0.1272),
        ({"samples": ANSCOMBE, "relation": True}, "Pearson", 0.816, 0.00217),
        # Fisher, The Design of Experiments (1935), chapter II: 17 of 70, and 1 of 70 with all cups right
        ({"table": [[3, 1], [1, 3]], "alternative": "greater"}, "Fisher exact", 6.408, 17 / 70),
        ({"table": [[4, 0], [0, 4]], "alternative": "greater"}, "Fisher exact", None, 1 / 70),
        # Agresti, An Introduction to Categorical Data Analysis (2007), p. 39: party by gender
        ({"table": [[762, 327, 468], [484, 239, 477]]}, "chi-square", 30.07, 2.954e-07),
        # Conover, Practical Nonparametric Statistics (1971), p. 97: Mendel's 682 tall of 925 against 3/4
        ({"table": [[682, 243]], "chance": 0.75}, "binomial", 682, 0.3825),
    ],
)
def test_tests_give_the_published_figures(given: dict[str, Any], test: str, statistic: float | None, p: float) -> None:
    answer = checked(**given).answer
    assert answer["test"] == test
    assert answer["p"] == pytest.approx(p, rel=0.003)
    assert statistic is None or answer["statistic"] == pytest.approx(statistic, rel=0.001)


def test_effects_come_with_the_published_intervals() -> None:
    paired = checked(samples=SLEEP, paired=True, test="paired t").answer  # R: −2.4598858 to −0.7001142, mean −1.58
    assert paired["effect"]["size"] == pytest.approx(-1.58)
    assert paired["effect"]["interval"] == pytest.approx([-2.4598858, -0.7001142])
    plants = checked(samples=PLANTS).answer["effect"]
    assert plants["size"] == pytest.approx(0.2641, abs=1e-4)  # 3.766 / 14.258
    tea = checked(table=[[3, 1], [1, 3]], alternative="greater").answer["effect"]
    assert tea["size"] == pytest.approx(6.408, abs=1e-3)  # R: fisher.test
    lines = checked(samples=ANSCOMBE, relation=True).answer["effect"]
    assert lines["interval"] == pytest.approx([0.4243912, 0.9506933], abs=1e-6)  # R: cor.test


NUMBERS = st.lists(st.integers(-5, 5), min_size=3, max_size=5)


@settings(max_examples=25, deadline=None)
@drawn(NUMBERS, NUMBERS)
def test_ranks_have_the_effect_of_counting_pairs(one: list[float], other: list[float]) -> None:
    try:
        effect = checked(samples={"a": one, "b": other}, test="Mann-Whitney").answer["effect"]["size"]
    except InputError:
        assert len({*one, *other}) == 1
        return
    above = sum((x > y) - (x < y) for x in one for y in other)
    assert effect == pytest.approx(above / len(one) / len(other))
    gaps = [x for x in one if x]
    if len(gaps) > 1:
        order = [sum(abs(y) < abs(x) for y in gaps) + (sum(abs(y) == abs(x) for y in gaps) + 1) / 2 for x in gaps]
        signed = sum(rank * (1 if x > 0 else -1) for rank, x in zip(order, gaps, strict=True)) / sum(order)
        found = checked(samples={"a": one}, test="Wilcoxon").answer["effect"]["size"]
        assert found == pytest.approx(signed)


def test_skewed_data_choose_ranks() -> None:
    skewed = {"a": [1, 1.1, 1.2, 1.3, 90], "b": [2, 2.1, 2.2, 2.3, 2.4, 2.5]}
    assert checked(samples=skewed).answer["test"] == "Mann-Whitney"


def test_verdict_turns_over_at_the_named_level() -> None:
    result = checked(samples=SLEEP, paired=True, test="paired t")
    assert "level of significance of 0.002833" in result.would_change[0]
    for confidence, stands in ((1 - 0.00284, True), (1 - 0.00283, False)):
        answer = checked(samples=SLEEP, paired=True, test="paired t", confidence=confidence).answer
        assert answer["significant"] == stands


def test_side_is_never_passed_over() -> None:
    counts = [[60, 40], [40, 60]]
    less, greater = (checked(table=counts, alternative=side).answer["p"] for side in ("less", "greater"))
    assert greater < 0.01 < 0.99 < less


def test_missing_scipy_names_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(InputError) as caught:
        checked(samples=SLEEP)
    assert caught.value.hint == "pip install 'memfolio[reason]'"


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"samples": {}}, "samples has 0 members"),
        ({"samples": {"a": []}}, "samples.a has 0 members"),
        ({"samples": {"a": [1, 2, 3], "b": [1, 2]}, "paired": True}, "do not fit"),
        ({"samples": {"a": [1, 1, 1], "b": [1, 1, 1]}, "test": "Welch t"}, "no p-value"),
        ({"samples": {"a": [1, "x"]}}, r"samples.a\[1\]"),
        ({"table": [[1, -1], [2, 2]]}, "count is negative"),
        ({"table": [[0, 0], [2, 2]]}, "empty"),
        ({"samples": {"a": [1, 2, 3], "b": [1, 2, 3]}, "paired": True}, "fewer than two numbers"),
        ({"table": [[float("nan"), 1], [2, 2]]}, r"table\[0\]\[0\] is nan"),
        ({"table": [[1.5, 1], [2, 2]]}, "no whole number"),
        ({"table": [[1, 2], [3, 4]], "samples": SLEEP}, "there is no 'table'"),
        ({"samples": {"a": [1, 1, 1]}, "test": "one-sample t"}, "no p-value"),
        ({"samples": {"a": [1e307, -1e307, 2e307]}}, r"samples.a\[0\] is 1e"),
        ({"samples": SLEEP, "against": 5}, "against is given"),
        ({"samples": PLANTS, "alternative": "less"}, "one-way ANOVA has no side"),
        ({"samples": SLEEP, "paired": True, "relation": True}, "do not fit"),
        ({"samples": SLEEP, "test": "anova"}, "test is 'anova'"),
        ({}, "samples is missing"),
    ],
)
def test_what_makes_no_sense_is_named(given: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        checked(**given)
