"""Decision theory and expected utility against published answers."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest

from memfolio.errors import InputError
from memfolio.reason.probabilistic import decision_theory, expected_utility
from tests.reason.asking import ask

decided = partial(ask, decision_theory.reason)
preferred = partial(ask, expected_utility.reason)


def test_oil_wildcatter_buys_the_seismic_test() -> None:
    # Raiffa, Decision Analysis (1968), the oil wildcatter: 20 without, 22.5 with the test at 10
    result = decided(
        payoffs={"drill": {"dry": -70, "wet": 50, "soaking": 200}, "leave": {"dry": 0, "wet": 0, "soaking": 0}},
        probabilities={"dry": 0.5, "wet": 0.3, "soaking": 0.2},
        test={
            "none": {"dry": 0.6, "wet": 0.3, "soaking": 0.1},
            "open": {"dry": 0.3, "wet": 0.4, "soaking": 0.4},
            "closed": {"dry": 0.1, "wet": 0.3, "soaking": 0.5},
        },
        test_cost=10,
    )
    assert result.answer["scores"]["expected-value"]["drill"] == pytest.approx(20)
    assert result.answer["with_test"] == pytest.approx(22.5)
    assert result.answer["best"] == ["drill"]


def test_goferbroke_drills_unless_oil_is_less_likely() -> None:
    # Hillier and Lieberman, Introduction to Operations Research (2001), chapter 15: 100, 142.5, 53, 123, 0.2375
    survey = {"good": {"oil": 0.6, "dry": 0.2}, "bad": {"oil": 0.4, "dry": 0.8}}
    payoffs = {"drill": {"oil": 700, "dry": -100}, "sell": {"oil": 90, "dry": 90}}
    result = decided(payoffs=payoffs, probabilities={"oil": 0.25, "dry": 0.75}, test=survey, test_cost=30)
    assert result.answer["scores"]["expected-value"] == pytest.approx({"drill": 100, "sell": 90})
    assert [result.answer[name] for name in ("perfect_information", "test_information", "with_test")] == pytest.approx(
        [142.5, 53, 123]
    )
    assert result.answer["choices"]["maximin"] == ["sell"]
    assert any("sell" in each and "oil falls below 0.2375" in each for each in result.would_change)

    def drilling(oil: float, cost: float) -> dict[str, Any]:
        chances = {
            "oil": {"probability": oil, "then": 700 - cost},
            "dry": {"probability": 1 - oil, "then": -100 - cost},
        }
        return {"choose": {"drill": {"chance": chances}, "sell": 90 - cost}}

    survey_first = {
        "good": {"probability": 0.3, "then": drilling(0.5, 30)},
        "bad": {"probability": 0.7, "then": drilling(1 / 7, 30)},
    }
    tree = decided(tree={"choose": {"survey": {"chance": survey_first}, "none": drilling(0.25, 0)}})
    assert tree.answer == {"value": pytest.approx(123), "first": "survey"}
    assert any("none is better" in each for each in tree.would_change)


def test_every_criterion_can_take_another_option() -> None:
    # Milnor, Games against nature, in Decision Processes (1954), p. 50
    rows = {"1": [2, 2, 0, 1], "2": [1, 1, 1, 1], "3": [0, 4, 0, 0], "4": [1, 3, 0, 0]}
    payoffs = {name: dict(zip("abcd", row, strict=True)) for name, row in rows.items()}
    result = decided(payoffs=payoffs)
    assert "hurwicz takes 2 once optimism falls below 0.25 (it is 0.5)." in result.would_change
    choices = result.answer["choices"]
    assert choices == {"laplace": ["1"], "maximin": ["2"], "hurwicz": ["3"], "maximax": ["3"], "minimax-regret": ["4"]}
    assert decided(payoffs=payoffs, criterion="hurwicz", optimism=0.2).answer["best"] == ["2"]
    dominated = decided(payoffs={"good": {"x": 2, "y": 1}, "bad": {"x": 1, "y": 1}})
    assert any("bad is dominated" in step for step in dominated.steps)


def test_saint_petersburg_is_worth_what_bernoulli_says() -> None:
    # Bernoulli 1738 (Econometrica 22, 1954, pp. 32-33): 2 ducats to a poor man, about 3, 4 and 6 with 10, 100, 1000
    game = [[2.0**k, 2.0 ** -(k + 1)] for k in range(60)]
    game[-1][1] *= 2
    for wealth, worth in ((0, 2), (10, 3), (100, 4.4), (1000, 6)):
        result = preferred(lotteries={"game": game}, utility="log", wealth=wealth)
        assert result.answer["equivalents"]["game"] == pytest.approx(worth, abs=0.06)


def test_merchant_insures_below_the_wealth_that_bernoulli_names() -> None:
    # Bernoulli 1738, section 15 (1954, p. 30): 10,000 rubles, 5 of 100 ships lost, 800 for insurance: he says 5043
    lotteries = {"insure": [[9200, 1]], "risk it": [[10000, 0.95], [0, 0.05]]}
    poor = preferred(lotteries=lotteries, utility="log", wealth=3000)
    assert poor.answer["best"] == ["insure"]
    assert "risk it is preferred once wealth rises above 5,042 " in poor.would_change[0]
    assert preferred(lotteries=lotteries, utility="log", wealth=6000).answer["best"] == ["risk it"]


def test_allais_preferences_fit_no_utility() -> None:
    # Allais, Econometrica 21 (1953), p. 527
    lotteries = {
        "A": [[100, 1]],
        "B": [[500, 0.1], [100, 0.89], [0, 0.01]],
        "C": [[100, 0.11], [0, 0.89]],
        "D": [[500, 0.1], [0, 0.9]],
    }
    result = preferred(lotteries=lotteries, preferences=["A over B", "D over C"])
    assert result.answer == {"consistent": False, "breakers": ["A over B", "D over C"]}
    assert preferred(lotteries=lotteries, preferences=["A over B", "C over D"]).answer["consistent"]
    assert not preferred(lotteries=lotteries, preferences=["C over A"]).answer["consistent"]


def test_ellsberg_preferences_fit_no_probabilities() -> None:
    # Ellsberg, Quarterly Journal of Economics 75 (1961), pp. 653-654
    bets = {"I": ("red",), "II": ("black",), "III": ("red", "yellow"), "IV": ("black", "yellow")}
    acts = {name: {each: 100 * (each in won) for each in ("red", "black", "yellow")} for name, won in bets.items()}
    stated = ["I over II", "IV over III"]
    assert not preferred(acts=acts, known={"red": 1 / 3}, preferences=stated).answer["consistent"]
    assert preferred(acts=acts, known={"red": 1 / 3}, preferences=["I over II", "III over IV"]).answer["consistent"]


def test_constant_risk_aversions_have_their_closed_forms() -> None:
    # Pratt, Econometrica 32 (1964): exponential −ln(E e^(−ax))/a, power (E x^(1−g))^(1/(1−g)); shifts and scales
    coin = [[100, 0.5], [0, 0.5]]
    cara = preferred(lotteries={"coin": coin, "sure": [[40, 1]]}, utility="exponential", risk=0.01)
    assert cara.answer["equivalents"]["coin"] == pytest.approx(-math.log(0.5 + 0.5 * math.exp(-1)) / 0.01)
    assert cara.answer["premiums"]["coin"] == pytest.approx(50 - cara.answer["equivalents"]["coin"])
    assert cara.answer["best"] == ["sure"]
    assert "coin is preferred once risk falls below 0.008222" in cara.would_change[0]
    rich = preferred(lotteries={"coin": coin}, utility="exponential", risk=0.01, wealth=1e6)
    assert rich.answer["equivalents"]["coin"] == pytest.approx(cara.answer["equivalents"]["coin"])
    power = preferred(lotteries={"x": [[1, 0.5], [4, 0.5]]}, utility="power", risk=0.5)
    assert power.answer["equivalents"]["x"] == pytest.approx(2.25)
    line = preferred(lotteries={"x": [[0, 0.5], [10, 0.5]]}, utility="points", points=[[0, 0], [2, 5], [10, 10]])
    assert line.answer["equivalents"]["x"] == pytest.approx(2)
    assert math.isfinite(
        preferred(lotteries={"x": [[1, 0.5], [1e9, 0.5]]}, utility="power", risk=90).answer["means"]["x"]
    )


def test_dominance_of_first_and_second_order() -> None:
    # Hadar and Russell, American Economic Review 59 (1969); a mean-preserving spread is worse (Rothschild and Stiglitz)
    assert expected_utility.dominance([(2, 0.5), (3, 0.5)], [(1, 0.5), (3, 0.5)]) == 1
    assert expected_utility.dominance([(2, 1)], [(1, 0.5), (3, 0.5)]) == 2
    assert expected_utility.dominance([(1, 0.5), (3, 0.5)], [(2, 1)]) == 0


@pytest.mark.parametrize(
    ("run", "given", "place"),
    [
        (decided, {"payoffs": {}}, "payoffs"),
        (decided, {"payoffs": {"a": {"x": 1}, "b": {"y": 1}}}, "differ in their states"),
        (decided, {"payoffs": {"a": {"x": 1}}, "probabilities": {"x": 0.9}}, "add up to 0.9"),
        (decided, {"payoffs": {"a": {"x": 1}}, "probabilities": {"x": 1}, "test": {"t": {"x": 0.5}}}, "test for x"),
        (decided, {"tree": {"chance": {"a": {"probability": 0.5, "then": 1}}}}, "tree.chance add up"),
        (decided, {"tree": {"choose": {"a": "much"}}}, "tree.a is 'much'"),
        (decided, {"tree": {"choose": {}}}, "tree has no branches"),
        (preferred, {"lotteries": {"a": [[1, 0.5]]}}, "lotteries.a add up"),
        (preferred, {"lotteries": {"a": [[1, 1.5], [2, -0.5]]}}, "lotteries.a"),
        (preferred, {"lotteries": {"a": [[-1, 1]]}, "utility": "log"}, "log utility meets -1"),
        (preferred, {"lotteries": {"a": [[1, 1]]}, "utility": "points", "points": [[0, 1], [2, 0]]}, "rising"),
        (preferred, {"lotteries": {"a": [[1, 1]]}, "preferences": ["a over z"]}, "a over z"),
    ],
)
def test_what_makes_no_sense_is_named(run: Any, given: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        run(**given)


def test_endless_tree_is_refused() -> None:
    tree: Any = 1
    for _ in range(2000):
        tree = {"choose": {"on": tree}}
    with pytest.raises(InputError, match="too large"):
        decided(tree=tree)
