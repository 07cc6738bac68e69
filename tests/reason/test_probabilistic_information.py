"""Information theory, Monte Carlo and fuzzy logic against published answers."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.probabilistic import fuzzy, info_theory, monte_carlo
from memfolio.reason.probabilistic.expression import evaluate
from tests.reason.asking import ask

told = partial(ask, info_theory.reason)
simulated = partial(ask, monte_carlo.reason)
concluded = partial(ask, fuzzy.reason)

# Quinlan, Induction of decision trees, Machine Learning 1 (1986), table 1
TENNIS = """sunny hot high false N, sunny hot high true N, overcast hot high false P, rain mild high false P,
rain cool normal false P, rain cool normal true N, overcast cool normal true P, sunny mild high false N,
sunny cool normal false P, rain mild normal false P, sunny mild normal true P, overcast mild high true P,
overcast hot normal false P, rain mild high true N"""
NAMES = ("outlook", "temperature", "humidity", "windy", "play")


def test_outlook_tells_most_about_playing_tennis() -> None:
    examples = [dict(zip(NAMES, row.split(), strict=True)) for row in TENNIS.split(",")]
    result = told(examples=examples, label="play")
    published = {"outlook": 0.246, "temperature": 0.029, "humidity": 0.151, "windy": 0.048}  # p. 91
    assert result.answer["gains"] == pytest.approx(published, abs=0.001)
    assert result.answer["best"] == ["outlook"]
    assert "0.9403 bits over 14" in result.steps[0]  # p. 90: 0.940


def test_entropy_divergence_and_mutual_information_as_published() -> None:
    # Shannon, Bell System Technical Journal 27 (1948), p. 404: 1/2, 1/4, 1/8, 1/8 have 7/4 bits
    assert told(prior={"A": 0.5, "B": 0.25, "C": 0.125, "D": 0.125}).answer["entropy"] == pytest.approx(7 / 4)
    # Cover and Thomas, Elements of Information Theory (2006), example 2.2.1: H(X) 7/4, H(Y) 2, joint 27/8, mutual 3/8
    joint = [[4, 2, 1, 1], [2, 4, 1, 1], [2, 2, 2, 2], [8, 0, 0, 0]]
    published = {"rows": 2, "columns": 7 / 4, "joint": 27 / 8, "mutual": 3 / 8}
    assert told(joint=[[each / 32 for each in row] for row in joint]).answer == pytest.approx(published)
    # the same, example 2.3.1 with r = 1/2, s = 1/4: 0.2075 bits and 0.1887 the other way round
    one, other = {"0": 0.5, "1": 0.5}, {"0": 0.75, "1": 0.25}
    assert told(prior=one, reference=other).answer["divergence"] == pytest.approx(0.2075, abs=1e-4)
    assert told(prior=other, reference=one).answer["divergence"] == pytest.approx(0.1887, abs=1e-4)


def test_twelve_balls_are_weighed_four_against_four_first() -> None:
    # MacKay, Information Theory, Inference, and Learning Algorithms (2003), pp. 68-69: log2 3 bits; 6 against 6 gives 1
    prior = {f"{ball}{way}": 1 / 24 for ball in range(12) for way in "+-"}

    def weighing(count: int) -> dict[str, str]:
        sides = {ball: "left" if ball < count else "right" for ball in range(2 * count)}
        turned = {"left": "right", "right": "left"}
        return {
            name: "even" if (side := sides.get(int(name[:-1]))) is None else side if name[-1] == "+" else turned[side]
            for name in prior
        }

    questions = {f"{count} against {count}": weighing(count) for count in range(1, 7)}
    result = told(prior=prior, questions=questions)
    assert result.answer["best"] == ["4 against 4"]
    assert result.answer["gains"]["4 against 4"] == pytest.approx(math.log2(3))
    assert result.answer["gains"]["6 against 6"] == pytest.approx(1)
    dear = told(prior=prior, questions=questions, costs={"4 against 4": 2})
    assert dear.answer["best"] != ["4 against 4"]
    limit = float(result.would_change[0].split("costs over ")[1].split(" ")[0])
    assert told(prior=prior, questions=questions, costs={"4 against 4": limit * 1.01}).answer["best"] != ["4 against 4"]


UNIT = {"is": "uniform", "low": 0, "high": 1}


@pytest.mark.parametrize(
    ("formula", "condition", "variables", "published"),
    [
        # Buffon 1777, Essai d'arithmétique morale: a needle as long as the boards are wide crosses with 2/π
        (
            "x - sin(a) / 2",
            "result <= 0",
            {"x": {**UNIT, "high": 0.5}, "a": {**UNIT, "high": math.pi / 2}},
            2 / math.pi,
        ),
        # the quarter of a circle has π/4 of its square
        ("x ** 2 + y ** 2", "result < 1", {"x": UNIT, "y": UNIT}, math.pi / 4),
        # de Méré's bet (Pascal to Fermat 1654): a six in four throws, 671/1296
        ("a + b + c + d", "result >= 1", {name: {"is": "bernoulli", "p": 1 / 6} for name in "abcd"}, 671 / 1296),
        ("x", "result > 1.96", {"x": {"is": "normal", "mean": 0, "sd": 1}}, 0.0249979),
        ("x", "result < 1", {"x": {"is": "lognormal", "log_mean": 0, "log_sd": 1}}, 0.5),
        (
            "x",
            "result == 2 or result == 3",
            {"x": {"is": "discrete", "values": [1, 2, 3], "chances": [0.5, 0.2, 0.3]}},
            0.5,
        ),
    ],
)
def test_probability_interval_holds_the_known_value(
    formula: str, condition: str, variables: dict[str, Any], published: float
) -> None:
    result = simulated(formula=formula, condition=condition, variables=variables, confidence=0.999)
    low, high = result.answer["probability_interval"]
    assert low < published < high < low + 0.04


def test_mean_interval_holds_the_known_value_as_often_as_it_says() -> None:
    # the integral of exp(−x²) from 0 to 1 is 0.746824 (Abramowitz and Stegun 1964, table 7.1: erf(1)·√π/2)
    held = 0
    for seed in range(200):
        answer = simulated(formula="exp(-x ** 2)", variables={"x": UNIT}, samples=500, seed=seed).answer
        held += answer["interval"][0] < 0.746824 < answer["interval"][1]
    assert 180 <= held <= 199


def test_pert_has_the_published_mean_and_the_wider_variable_matters_more() -> None:
    # Malcolm, Roseboom, Clark and Fazar, Operations Research 7 (1959): (a + 4m + b) / 6
    variables = {
        "t": {"is": "pert", "low": 2, "mode": 5, "high": 14},
        "s": {"is": "triangular", "low": 0, "mode": 1, "high": 2},
    }
    result = simulated(formula="t + s", variables=variables, condition="result > 8")
    assert result.answer["interval"][0] < 6 + 1 < result.answer["interval"][1]
    assert result.answer["influence"]["t"] > result.answer["influence"]["s"] > 0
    assert "mostly where t is above" in result.would_change[0]
    assert result == simulated(formula="t + s", variables=variables, condition="result > 8")


def test_wilson_interval_as_published() -> None:
    # Newcombe, Statistics in Medicine 17 (1998), p. 861, table I: 81/263 gives 0.2553 to 0.3662, 0/20 gives 0 to 0.1611
    assert monte_carlo.wilson(81, 263, 1.959964) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert monte_carlo.wilson(0, 20, 1.959964) == pytest.approx((0, 0.1611), abs=1e-4)


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "x.real", "(lambda: 1)()", "[x for x in y]", "x if x else y", "'a' * 9", "x[0]", "open(x)",
     "9**9**9**9 + y", "(" * 300, "-" * 1900 + "x", "min(x)", "x <", "1 < x < 2", "sqrt(x=1)", "1e999", ""],
)  # fmt: skip
def test_formula_can_do_nothing_but_compute(text: str) -> None:
    with pytest.raises(InputError):
        evaluate("formula", text, {"x": 2.0})


@settings(max_examples=200, deadline=None)
@drawn(st.text(alphabet="xy019.+-*/%()<>=!,& andortmisq[]{}'\"_:", max_size=40))
def test_any_text_gives_a_number_or_is_refused(text: str) -> None:
    try:
        float(evaluate("formula", text, {"x": 2.0, "y": 3.0}))
    except InputError as error:
        assert error.hint


# The tipper of MATLAB's Fuzzy Logic Toolbox, reference page of evalfis (on 101 points)
GAUSSIANS = {word: {"gaussian": [middle, 1.5]} for word, middle in (("poor", 0), ("good", 5), ("excellent", 10))}
TIPS = {word: {"triangle": [low, low + 5, low + 10]} for word, low in (("cheap", 0), ("average", 10), ("generous", 20))}
TIPPER: dict[str, Any] = {
    "variables": {
        "service": {"low": 0, "high": 10, "sets": GAUSSIANS},
        "food": {
            "low": 0,
            "high": 10,
            "sets": {"rancid": {"trapezoid": [0, 0, 1, 3]}, "delicious": {"trapezoid": [7, 9, 10, 10]}},
        },
        "tip": {"low": 0, "high": 30, "sets": TIPS},
    },
    "rules": [
        "if service is poor or food is rancid then tip is cheap",
        "if service is good then tip is average",
        "if service is excellent or food is delicious then tip is generous",
    ],
}
THIRDS = {"poor": {"triangle": [0, 0, 5]}, "average": {"triangle": [0, 5, 10]}, "good": {"triangle": [5, 10, 10]}}


def test_tipper_of_matlab() -> None:
    for service, food, published in ((4, 5, 14.4585), (7, 8, 20.3414), (1, 2, 5.5586), (2, 1, 7.0169)):
        result = concluded(**TIPPER, values={"service": service, "food": food})
        assert result.answer["values"]["tip"] == pytest.approx(published, abs=0.01)
    assert result.answer["words"] == {"tip": "cheap"}
    assert any("tip becomes average once service rises above" in each for each in result.would_change)
    assert concluded(**TIPPER, values={"service": 5, "food": 5}).answer["values"]["tip"] == pytest.approx(15, abs=0.1)


def test_tipper_of_scikit_fuzzy() -> None:
    # scikit-fuzzy documentation, "Fuzzy Control Systems: The Tipping Problem": 19.8476, on whole numbers only
    tips = {"low": {"triangle": [0, 0, 13]}, "medium": {"triangle": [0, 13, 25]}, "high": {"triangle": [13, 25, 25]}}
    result = concluded(
        variables={
            "quality": {"low": 0, "high": 10, "sets": THIRDS},
            "service": {"low": 0, "high": 10, "sets": THIRDS},
            "tip": {"low": 0, "high": 25, "sets": tips},
        },
        rules=[
            "if quality is poor or service is poor then tip is low",
            "if service is average then tip is medium",
            "if service is good or quality is good then tip is high",
        ],
        values={"quality": 6.5, "service": 9.8},
    )
    assert result.answer["values"]["tip"] == pytest.approx(19.8476, abs=0.02)
    assert result.answer["rules"] == pytest.approx([0, 0.04, 0.96])


def test_project_risk_with_constants() -> None:
    # Negnevitsky, Artificial Intelligence (2005), pp. 107-114: degrees 0.1, 0.2, 0.5 with 20, 50, 80 give 65
    funding = {
        "inadequate": {"triangle": [0, 20, 50]},
        "marginal": {"triangle": [30, 55, 80]},
        "adequate": {"triangle": [60, 100, 100]},
    }
    risks = {"low": {"constant": [20]}, "normal": {"constant": [50]}, "high": {"constant": [80]}}
    staffing = {"small": {"triangle": [0, 0, 200 / 3]}, "large": {"triangle": [25, 75, 100]}}
    result = concluded(
        variables={
            "funding": {"low": 0, "high": 100, "sets": funding},
            "staffing": {"low": 0, "high": 100, "sets": staffing},
            "risk": {"low": 0, "high": 100, "sets": risks},
        },
        rules=[
            "if funding is adequate or staffing is small then risk is low",
            "if funding is marginal and staffing is large then risk is normal",
            "if funding is inadequate then risk is high",
        ],
        values={"funding": 35, "staffing": 60},
    )
    assert result.answer["rules"] == pytest.approx([0.1, 0.2, 0.5])
    assert result.answer["values"]["risk"] == pytest.approx(65)


def test_no_rule_that_holds_concludes_nothing() -> None:
    rules = ["if food is rancid and not (food is not rancid) then tip is cheap"]
    result = concluded(variables=TIPPER["variables"], rules=rules, values={"food": 5})
    assert "no rule says anything about tip" in result.conclusion
    assert result.answer["values"] == {"tip": None}


@pytest.mark.parametrize(
    ("run", "given", "place"),
    [
        (told, {"prior": {"a": 0.5}}, "prior add up to 0.5"),
        (told, {"examples": [], "label": "x"}, "examples has 0"),
        (told, {"examples": [{"a": 1, "x": 2}, {"x": 2}], "label": "x"}, "differ"),
        (told, {"joint": [[0.5, 0.6]]}, "joint add up"),
        (told, {"prior": {"a": 1}, "reference": {"b": 1}}, "reference"),
        (told, {"prior": {"a": 1}, "questions": {"q": {"a": {"yes": 0.4}}}}, "questions.q.a add up"),
        (
            simulated,
            {"formula": "x", "variables": {"x": {"is": "normal", "mean": 0, "sd": -1}}},
            "variables.x is normal",
        ),
        (simulated, {"formula": "x", "variables": {"x": {**UNIT, "low": 2}}}, "variables.x is uniform"),
        (simulated, {"formula": "log(-x)", "variables": {"x": UNIT}}, "no number in 10,000"),
        (simulated, {"formula": "y", "variables": {"x": UNIT}}, "names 'y'"),
        (simulated, {"formula": "x", "variables": {"x": UNIT}, "samples": 10**6}, "samples is 1000000"),
        (concluded, {**TIPPER, "rules": ["if service is awful then tip is cheap"], "values": {}}, "awful"),
        (concluded, {**TIPPER, "rules": ["service is poor"], "values": {}}, "rules.0. cannot be read"),
        (concluded, {**TIPPER, "values": {"service": 11}}, "values.service is 11"),
        (concluded, {**TIPPER, "values": {"service": 1}}, "values.food is missing"),
    ],
)
def test_what_makes_no_sense_is_named(run: Any, given: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        run(**given)
