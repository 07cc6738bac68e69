"""Information theory, Monte Carlo and fuzzy logic against published answers."""

from __future__ import annotations

import math
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.expression import evaluate
from memfolio.reason.inputs import wilson
from memfolio.reason.methods.probabilistic import fuzzy, info_theory, monte_carlo
from tests.conftest import many
from tests.reason.asking import ask

told = partial(ask, info_theory)
simulated = partial(ask, monte_carlo)
concluded = partial(ask, fuzzy)


def test_answers_tell_the_mutual_information() -> None:
    # Cover and Thomas, Elements of Information Theory (2006), example 2.2.1: H(X) 7/4, mutual information 3/8
    joint = {"1": [4, 2, 2, 8], "2": [2, 4, 2, 0], "3": [1, 1, 2, 0], "4": [1, 1, 2, 0]}
    prior = {x: sum(column) / 32 for x, column in joint.items()}
    answers = {x: {f"y{y}": each / sum(column) for y, each in enumerate(column)} for x, column in joint.items()}
    result = told(prior=prior, questions={"Y": answers})
    assert "have 1.75 bits" in result.steps[0]
    assert result.answer["gains"]["Y"] == pytest.approx(3 / 8)


def test_twelve_balls_are_weighed_four_against_four_first() -> None:
    # MacKay, Information Theory, Inference, and Learning Algorithms (2003), section 4.1: log2 3 bits; 6 to 6 gives 1
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


CHANCES = st.lists(st.integers(1, 9), min_size=3, max_size=3).map(lambda each: [x / sum(each) for x in each])


@settings(max_examples=15, deadline=None)
@drawn(CHANCES, st.lists(st.lists(CHANCES, min_size=3, max_size=3), min_size=2, max_size=3))
def test_gains_are_mutual_information(p: list[float], tables: list[list[list[float]]]) -> None:
    prior = dict(zip("abc", p, strict=True))
    questions = {
        f"q{n}": {h: dict(zip("xyz", row, strict=True)) for h, row in zip("abc", rows, strict=True)}
        for n, rows in enumerate(tables)
    }
    result = told(prior=prior, questions=questions)
    for name, table in questions.items():
        margin = {each: sum(prior[h] * table[h][each] for h in prior) for each in "xyz"}
        mutual = sum(prior[h] * t * math.log2(t / margin[each]) for h in prior for each, t in table[h].items())
        assert result.answer["gains"][name] == pytest.approx(mutual, abs=1e-9)


def test_questions_that_tell_nothing_tie_and_no_rounding_parts_them() -> None:
    result = told(prior={"a": 0.5, "b": 0.5}, questions={"q": {"a": "y", "b": "y"}, "r": {"a": NEITHER, "b": NEITHER}})
    assert result.answer["best"] == ["q", "r"]


NEITHER = {"y": 0.3, "n": 0.7}
UNIT = {"is": "uniform", "low": 0, "high": 1}
SIX = {"is": "discrete", "values": [1, 0], "chances": [1 / 6, 5 / 6]}
DIE = {"is": "discrete", "values": [1, 2, 3, 4, 5, 6], "chances": [1 / 6] * 6}


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
        ("a + b + c + d", "result >= 1", dict.fromkeys("abcd", SIX), 671 / 1296),
        # Galileo, Sopra le scoperte dei dadi (about 1620): three dice give 10 in 27 ways of 216, and 9 in 25
        ("a + b + c", "result == 10", dict.fromkeys("abc", DIE), 27 / 216),
        ("a + b + c", "result == 9", dict.fromkeys("abc", DIE), 25 / 216),
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
    for seed in range(100):
        answer = simulated(formula="exp(-x ** 2)", variables={"x": UNIT}, samples=500, seed=seed).answer
        held += answer["interval"][0] < 0.746824 < answer["interval"][1]
    assert 87 <= held <= 99


@pytest.mark.parametrize(
    ("drawn_from", "name", "arguments"),
    [
        ({"is": "normal", "mean": 3, "sd": 2}, "norm", (3, 2)),
        ({"is": "uniform", "low": -1, "high": 4}, "uniform", (-1, 5)),
        ({"is": "triangular", "low": 0, "mode": 1, "high": 4}, "triang", (0.25, 0, 4)),
        ({"is": "lognormal", "log_mean": 1, "log_sd": 0.5}, "lognorm", (0.5, 0, math.e)),
        ({"is": "beta", "a": 2, "b": 3}, "beta", (2, 3)),
    ],
)
def test_draws_have_the_quantiles_of_their_distribution(drawn_from: Any, name: str, arguments: Any) -> None:
    distribution = getattr(import_module("scipy.stats"), name)(*arguments)
    for share, value in simulated(formula="x", variables={"x": drawn_from}).answer["quantiles"].items():
        assert distribution.cdf(value) == pytest.approx(float(share), abs=0.02)


def test_the_wider_variable_matters_more_and_the_same_seed_draws_the_same() -> None:
    # the mean of a triangular distribution is (low + mode + high) / 3
    variables = {
        "s": {"is": "triangular", "low": 0, "mode": 1, "high": 2},
        "t": {"is": "triangular", "low": 2, "mode": 5, "high": 14},
    }
    result = simulated(formula="t + s", variables=variables, condition="result > 8")
    assert result.answer["interval"][0] < 7 + 1 < result.answer["interval"][1]
    assert list(result.answer["influence"]) == ["t", "s"]
    assert result.would_change[0].startswith("The probability goes from 0 to 1 as t goes")
    assert result == simulated(formula="t + s", variables=variables, condition="result > 8")


def test_wilson_interval_as_published() -> None:
    # Newcombe, Statistics in Medicine 17 (1998), p. 861, table I: 81/263 gives 0.2553 to 0.3662, 0/20 gives 0 to 0.1611
    assert wilson(81, 263, 1.959964) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(0, 20, 1.959964) == pytest.approx((0, 0.1611), abs=1e-4)


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "x.real", "(lambda: 1)()", "[x for x in y]", "x if x else y", "'a' * 9", "x[0]", "open(x)",
     "9**9**9**9 + y", "(" * 300, "-" * 1900 + "x", "min(x)", "x <", "sqrt(x, x)", "9" * 4900, "²", "1e999", ""],
)  # fmt: skip
def test_formula_can_do_nothing_but_compute(text: str) -> None:
    with pytest.raises(InputError):
        evaluate("formula", text, {"x": 2.0})


@many(100)
@drawn(st.text(alphabet="xy019.+-*/%()<>=!,& andortmisq[]{}'\"_:", max_size=40))
def test_any_text_gives_a_number_or_is_refused(text: str) -> None:
    try:
        float(evaluate("formula", text, {"x": 2.0, "y": 3.0}))
    except InputError as error:
        assert error.hint


SERVICE = {
    "poor": {"triangle": [0, 0, 4]},
    "good": {"triangle": [1, 5, 9]},
    "excellent": {"triangle": [6, 10, 10]},
}
TIPS = {word: {"triangle": [low, low + 5, low + 10]} for word, low in (("cheap", 0), ("average", 10), ("generous", 20))}
TIPPER: dict[str, Any] = {
    "variables": {
        "service": {"low": 0, "high": 10, "sets": SERVICE},
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


def test_tip_lies_between_what_the_rules_that_hold_say() -> None:
    assert concluded(**TIPPER, values={"service": 0, "food": 5}).answer["values"]["tip"] == pytest.approx(5)
    assert concluded(**TIPPER, values={"service": 5, "food": 5}).answer["values"]["tip"] == pytest.approx(15)
    tips = [concluded(**TIPPER, values={"service": each, "food": 5}).answer["values"]["tip"] for each in range(11)]
    assert tips == pytest.approx(sorted(tips), abs=1e-3)
    assert concluded(**TIPPER, values={"service": 1, "food": 1}).answer["words"] == {"tip": "cheap"}


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


def one_rule(said: list[float], low: float, high: float) -> Any:
    on = {"low": 0, "high": 1, "sets": {"on": {"triangle": [0, 1, 1]}}}
    variables = {"x": on, "y": {"low": low, "high": high, "sets": {"so": {"trapezoid": said}}}}
    rules = ["if x is on then y is so"]
    return concluded(variables=variables, rules=rules, values={"x": 1}).answer["values"]["y"]


def test_centre_of_a_trapezoid() -> None:
    # the page of defuzz in MATLAB's Fuzzy Logic Toolbox: trapmf(-10:0.1:10, [-10 -8 -4 7]) has its centroid at -3.2857
    assert one_rule([-10, -8, -4, 7], -10, 10) == pytest.approx(-3.2857, abs=1e-4)
    assert one_rule([5.001, 5.002, 5.002, 5.003], 0, 10) == pytest.approx(5.002)  # narrower than the steps between


def test_no_rule_that_holds_concludes_nothing() -> None:
    rules = ["if food is rancid and not (food is not rancid) then tip is cheap"]
    result = concluded(variables=TIPPER["variables"], rules=rules, values={"food": 5})
    assert "no rule says anything about tip" in result.conclusion
    assert result.answer["values"] == {"tip": None}


def sets(shape: dict[str, Any]) -> dict[str, Any]:
    either = {"low": 0, "high": 10, "sets": {"x": shape}}
    return {"variables": {"a": either, "b": either}, "rules": ["if a is x then b is x"], "values": {"a": 1}}


@pytest.mark.parametrize(
    ("run", "given", "place"),
    [
        (told, {"prior": {"a": 0.5}, "questions": {}}, "prior add up to 0.5"),
        (told, {"prior": {"a": 1}, "questions": {"q": {"a": "y", "b": "n"}}}, "questions.q.b"),
        (told, {"prior": {"a": 1}, "questions": {"q": {"a": "y"}}, "costs": {"q": 0}}, "costs.q is 0"),
        (told, {"prior": {"a": 1}, "questions": {"q": {"a": {"yes": 0.4}}}}, "questions.q.a add up"),
        (
            simulated,
            {"formula": "x", "variables": {"x": {"is": "normal", "mean": 0, "sd": -1}}},
            "variables.x is normal",
        ),
        (simulated, {"formula": "x", "variables": {"x": {**UNIT, "low": 2}}}, "variables.x is uniform"),
        (simulated, {"formula": "log(-x)", "variables": {"x": UNIT}}, "no number in 10,000"),
        (simulated, {"formula": "y", "variables": {"x": UNIT}}, "'y'"),
        (simulated, {"formula": "x", "variables": {"x": UNIT}, "condition": "log(-x)"}, "condition gives no number"),
        (simulated, {"formula": "x", "variables": {"x": {**UNIT, "low": -9e307}}}, "variables.x.low is -9e"),
        (simulated, {"formula": "x", "variables": {"x": {**DIE, "chances": [1]}}}, "6 values and 1 chances"),
        (concluded, sets({"triangle": [5, 4, 6]}), "variables.a.sets.x is no set"),
        (concluded, sets({"triangle": [5, 5, 5]}), "variables.a.sets.x is no set"),
        (concluded, sets({"triangle": [15, 16, 17]}), "variables.a.sets.x lies outside"),
        (concluded, sets({"triangle": [0, 5, 9e307]}), r"variables.a.sets.x.triangle\[2\] is 9e"),
        (concluded, {**TIPPER, "rules": ["if food is rancid then tip is low"], "values": {"food": 1}}, "tip is 'low'"),
        (simulated, {"formula": "x", "variables": {"x": UNIT}, "samples": 10**6}, "samples is 1000000"),
        (concluded, {**TIPPER, "rules": ["if service is awful then tip is cheap"], "values": {}}, "awful"),
        (concluded, {**TIPPER, "rules": ["service is poor"], "values": {}}, "rules.0.: a name"),
        (concluded, {**TIPPER, "values": {"service": 11}}, "values.service is 11"),
        (concluded, {**TIPPER, "values": {"service": 1}}, "values.food is missing"),
    ],
)
def test_what_makes_no_sense_is_named(run: Any, given: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        run(**given)
