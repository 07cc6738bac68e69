"""Decision theory and expected utility against published answers."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.methods.probabilistic import decision_theory, expected_utility
from tests.reason.asking import ask

decided = partial(ask, decision_theory)
preferred = partial(ask, expected_utility)


def table(rows: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {name: dict(zip("abcdefgh", row, strict=False)) for name, row in rows.items()}


def test_oil_wildcatter_drills() -> None:
    # Raiffa, Decision Analysis (1968), the oil wildcatter without a test: 20 for drilling
    result = decided(
        payoffs={"drill": {"dry": -70, "wet": 50, "soaking": 200}, "leave": {"dry": 0, "wet": 0, "soaking": 0}},
        probabilities={"dry": 0.5, "wet": 0.3, "soaking": 0.2},
    )
    assert result.answer["scores"]["expected-value"]["drill"] == pytest.approx(20)
    assert result.answer["best"] == ["drill"]


def test_goferbroke_drills_unless_oil_is_less_likely() -> None:
    # Hillier and Lieberman, Introduction to Operations Research (2001), chapter 15: 100 or 90, 142.5, 0.2375
    payoffs = {"drill": {"oil": 700, "dry": -100}, "sell": {"oil": 90, "dry": 90}}
    result = decided(payoffs=payoffs, probabilities={"oil": 0.25, "dry": 0.75})
    assert result.answer["scores"]["expected-value"] == pytest.approx({"drill": 100, "sell": 90})
    assert result.answer["perfect_information"] == pytest.approx(142.5)
    assert result.answer["choices"]["maximin"] == ["sell"]
    assert any("sell" in each and "oil falls below 0.2375" in each for each in result.would_change)


def test_every_criterion_can_take_another_option() -> None:
    # Milnor, Games against nature, in Decision Processes (1954), p. 50
    payoffs = table({"1": [2, 2, 0, 1], "2": [1, 1, 1, 1], "3": [0, 4, 0, 0], "4": [1, 3, 0, 0]})
    result = decided(payoffs=payoffs)
    choices = result.answer["choices"]
    assert choices == {"laplace": ["1"], "maximin": ["2"], "hurwicz": ["3"], "maximax": ["3"], "minimax-regret": ["4"]}
    assert decided(payoffs=payoffs, criterion="hurwicz", optimism=0.2).answer["best"] == ["2"]


LINE = re.compile(r"By expected value (\S+) is best once (\S+) (rises above|falls below) (\S+) \(it is")


@settings(max_examples=40, deadline=None)
@drawn(
    st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=2, max_size=4),
    st.lists(st.integers(1, 9), min_size=3, max_size=3),
)
def test_choice_turns_over_at_the_named_probability(rows: list[list[float]], weights: list[int]) -> None:
    payoffs = table({f"o{number}": row for number, row in enumerate(rows)})
    chances = {state: weight / sum(weights) for state, weight in zip("abc", weights, strict=True)}
    result = decided(payoffs=payoffs, probabilities=chances)
    now = result.answer["choices"]["expected-value"]
    for leader, state, way, at in LINE.findall("\n".join(result.would_change)):
        step = 0.0005 if way == "rises above" else -0.0005
        moved = [float(at) + step, float(at) - step]
        best = []
        for share in (min(max(each, 0.0), 1.0) for each in moved):
            rest = {each: p * (1 - share) / (1 - chances[state]) for each, p in chances.items()} | {state: share}
            best.append(decided(payoffs=payoffs, probabilities=rest).answer["choices"]["expected-value"])
        assert leader in best[0]
        assert now[0] not in best[0]
        assert now[0] in best[1]


def test_ties_are_told_at_every_size_and_name_the_side() -> None:
    even = decided(payoffs=table({"x": [1, 0], "y": [0, 1]}), probabilities={"a": 0.5, "b": 0.5})
    assert even.answer["best"] == ["x", "y"]
    assert "By expected value y is best once b rises above 0.5 (it is 0.5)." in even.would_change
    assert decided(payoffs=table({"x": [3e-9], "y": [2.5e-9]})).answer["best"] == ["x"]
    rounded = decided(payoffs=table({"x": [0.1, -0.3], "y": [0, 0]}), probabilities={"a": 0.75, "b": 0.25})
    assert rounded.answer["best"] == ["x", "y"]
    never = decided(payoffs=table({"x": [1, 2], "y": [1, 1]}), probabilities={"a": 0.5, "b": 0.5})
    assert not any("once" in each for each in never.would_change)
    assert "or 980 more" in decided(payoffs=table({f"o{n}": [1] for n in range(1000)})).conclusion


def test_saint_petersburg_is_worth_what_bernoulli_says() -> None:
    # Bernoulli 1738 (Econometrica 22, 1954, pp. 32-33): 2 ducats to a poor man, about 3, 4 and 6 with 10, 100, 1000
    game = [[2.0**k, 2.0 ** -(k + 1)] for k in range(60)]
    game[-1][1] *= 2
    for wealth, worth, rounding in ((0, 2, 1e-6), (10, 3, 0.1), (100, 4, 0.5), (1000, 6, 0.1)):
        result = preferred(lotteries={"game": game}, utility="log", wealth=wealth)
        assert result.answer["equivalents"]["game"] == pytest.approx(worth, abs=rounding)


def test_merchant_insures_below_the_wealth_that_bernoulli_names() -> None:
    # Bernoulli 1738, section 15 (1954, p. 30): 10,000 rubles, 5 of 100 ships lost, 800 for insurance: he says 5043
    lotteries = {"insure": [[9200, 1]], "risk it": [[10000, 0.95], [0, 0.05]]}
    poor = preferred(lotteries=lotteries, utility="log", wealth=3000)
    assert poor.answer["best"] == ["insure"]
    assert preferred(lotteries=lotteries, utility="log", wealth=5042).answer["best"] == ["insure"]
    assert preferred(lotteries=lotteries, utility="log", wealth=5044).answer["best"] == ["risk it"]


def test_no_attitude_to_risk_has_the_preferences_of_allais() -> None:
    # Allais, Econometrica 21 (1953), p. 527: people take A and D, which no expected utility does
    lotteries = {
        "A": [[100, 1]],
        "B": [[500, 0.1], [100, 0.89], [0, 0.01]],
        "C": [[100, 0.11], [0, 0.89]],
        "D": [[500, 0.1], [0, 0.9]],
    }
    plain = preferred(lotteries=lotteries).answer
    assert plain["equivalents"] == pytest.approx({"A": 100, "B": 139, "C": 11, "D": 50})
    seen = set()
    for risk in (-0.01, 0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1):
        sure = preferred(lotteries=lotteries, utility="exponential", risk=risk).answer["equivalents"]
        assert (sure["A"] > sure["B"]) == (sure["C"] > sure["D"])
        seen.add(sure["A"] > sure["B"])
    assert seen == {True, False}


def test_constant_risk_aversions_have_their_closed_forms() -> None:
    # Pratt, Econometrica 32 (1964): exponential −ln(E e^(−ax))/a, power (E x^(1−g))^(1/(1−g)); shifts and scales
    coin = [[100, 0.5], [0, 0.5]]
    cara = preferred(lotteries={"coin": coin, "sure": [[40, 1]]}, utility="exponential", risk=0.01)
    assert cara.answer["equivalents"]["coin"] == pytest.approx(-math.log(0.5 + 0.5 * math.exp(-1)) / 0.01)
    assert cara.answer["premiums"]["coin"] == pytest.approx(50 - cara.answer["equivalents"]["coin"])
    assert cara.answer["best"] == ["sure"]
    assert cara.would_change[0].startswith("coin is preferred once it is worth over")
    power = preferred(lotteries={"x": [[1, 0.5], [4, 0.5]]}, utility="power", risk=0.5)
    assert power.answer["equivalents"]["x"] == pytest.approx(2.25)
    wide = {"x": [[1, 1e-300], [1e90, 1 - 1e-16]], "y": [[1, 0.5], [1e9, 0.5]]}
    for risk in (-900, 0.5, 1, 90):
        for kind in ("power", "exponential"):
            worth = preferred(lotteries=wide, utility=kind, risk=risk).answer["equivalents"]
            assert all(1 <= each <= 1e90 * (1 + 1e-9) for each in worth.values())


@pytest.mark.parametrize(
    ("run", "given", "place"),
    [
        (decided, {"payoffs": {}}, "payoffs"),
        (decided, {"payoffs": {"a": {"x": 1}, "b": {"y": 1}}}, "differ in their states"),
        (decided, {"payoffs": {"a": {"x": 1}}, "probabilities": {"x": 0.9}}, "add up to 0.9"),
        (decided, {"payoffs": {"a": {"x": 1}}, "probabilities": {"y": 1}}, "different states"),
        (decided, {"payoffs": {"a": {"x": 9e307, "y": -9e307}}}, "payoffs.a.x is 9e"),
        (decided, {"payoffs": {"a": {"x": math.inf}}}, "payoffs.a.x is inf"),
        (decided, {"payoffs": {"a": {"x": 1}}, "criterion": "expected-value"}, "criterion is 'expected-value'"),
        (preferred, {"lotteries": {}}, "lotteries has 0 members"),
        (preferred, {"lotteries": {"a": [[1, 0.5]]}}, "lotteries.a add up"),
        (preferred, {"lotteries": {"a": [[1, 1.5], [2, -0.5]]}}, r"lotteries.a\[0\]\[1\] is 1.5"),
        (preferred, {"lotteries": {"a": [[9e307, 1]]}}, r"lotteries.a\[0\]\[0\] is 9e"),
        (preferred, {"lotteries": {"a": [[-1, 1]]}, "utility": "log"}, "log utility meets -1"),
        (preferred, {"lotteries": {"a": [[1, 1]]}, "utility": "power"}, "risk is missing"),
    ],
)
def test_what_makes_no_sense_is_named(run: Any, given: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        run(**given)
