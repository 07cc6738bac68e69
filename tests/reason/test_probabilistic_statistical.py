"""Statistical tests against published answers; several are the worked examples of R's documentation."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import pytest

from memfolio.errors import InputError
from memfolio.reason.methods.probabilistic import statistical as reason
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
# Anscombe, The American Statistician 27 (1973), p. 19
ANSCOMBE = {
    "x": [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5],
    "y": [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68],
}


@pytest.mark.parametrize(
    ("given", "test", "statistic", "p"),
    [
        ({"samples": SLEEP, "paired": True}, "paired t", -4.0621, 0.002833),
        ({"samples": SLEEP}, "Welch t", -1.8608, 0.07939),
        ({"samples": {"second": SLEEP["second"]}}, "one-sample t", 3.6799, 0.005076),
        ({"samples": PLANTS}, "one-way ANOVA", 4.846, 0.01591),
        ({"samples": ANSCOMBE, "relation": True}, "Pearson", 0.816, 0.00217),
        # Fisher, The Design of Experiments (1935), chapter II: 17 of 70 on each side, and 1 of 70 with all cups right
        ({"table": [[3, 1], [1, 3]]}, "Fisher exact", 6.408, 34 / 70),
        ({"table": [[4, 0], [0, 4]]}, "Fisher exact", None, 2 / 70),
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
    paired = checked(samples=SLEEP, paired=True).answer  # R: −2.4598858 to −0.7001142, mean −1.58
    assert paired["effect"]["size"] == pytest.approx(-1.58)
    assert paired["effect"]["interval"] == pytest.approx([-2.4598858, -0.7001142])
    plants = checked(samples=PLANTS).answer["effect"]
    assert plants["size"] == pytest.approx(0.2641, abs=1e-4)  # 3.766 / 14.258
    tea = checked(table=[[3, 1], [1, 3]]).answer["effect"]
    assert tea["size"] == pytest.approx(6.408, abs=1e-3)  # R: fisher.test
    lines = checked(samples=ANSCOMBE, relation=True).answer["effect"]
    assert lines["interval"] == pytest.approx([0.4243912, 0.9506933], abs=1e-6)  # R: cor.test


def test_verdict_turns_over_at_the_named_level() -> None:
    result = checked(samples=SLEEP, paired=True)
    assert "level of significance of 0.002833" in result.would_change[0]
    for confidence, stands in ((1 - 0.00284, True), (1 - 0.00283, False)):
        answer = checked(samples=SLEEP, paired=True, confidence=confidence).answer
        assert answer["significant"] == stands


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
        ({"samples": {"a": [1, 1, 1], "b": [1, 1, 1]}}, "no p-value"),
        ({"samples": {"a": [1, "x"]}}, r"samples.a\[1\]"),
        ({"table": [[1, -1], [2, 2]]}, "count is negative"),
        ({"table": [[0, 0], [2, 2]]}, "empty"),
        ({"samples": {"a": [1, 2, 3], "b": [1, 2, 3]}, "paired": True}, "no p-value"),
        ({"table": [[float("nan"), 1], [2, 2]]}, r"table\[0\]\[0\] is nan"),
        ({"table": [[1.5, 1], [2, 2]]}, "no whole number"),
        ({"table": [[1, 2], [3, 4]], "samples": SLEEP}, "there is no 'table'"),
        ({"samples": {"a": [0, 0, 0]}}, "no p-value"),
        ({"samples": {"a": [1e307, -1e307, 2e307]}}, r"samples.a\[0\] is 1e"),
        ({"samples": SLEEP, "against": 5}, "against is given"),
        ({"samples": SLEEP, "paired": True, "relation": True}, "do not fit"),
        ({"samples": SLEEP, "test": "anova"}, "there is no 'test'"),
        ({}, "samples is missing"),
    ],
)
def test_what_makes_no_sense_is_named(given: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        checked(**given)
