"""Bargains whose solution is published."""

from __future__ import annotations

import json
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.inputs import Result
from memfolio.reason.methods.social import negotiation as reason
from tests.reason.roomless import roomless


def settled(**given: Any) -> Result:
    result = reason(given, roomless())
    json.dumps(dict(result.answer))
    return result


# Nash 1950, "The bargaining problem", Econometrica 18, page 160: what each thing is worth to Bill and to Jack.
BILL = {"book": (2, 4), "whip": (2, 2), "ball": (2, 1), "bat": (2, 2), "box": (4, 1)}
JACK = {"pen": (10, 1), "toy": (4, 1), "knife": (6, 2), "hat": (2, 2)}


def test_bill_and_jack_trade_as_nash_found() -> None:
    issues = {
        thing: {"Bill": {"Bill": b, "Jack": 0}, "Jack": {"Bill": 0, "Jack": j}}
        for thing, (b, j) in (BILL | JACK).items()
    }
    result = settled(issues=issues, disagreement={"Bill": 12, "Jack": 6})
    (deal,) = result.answer["deals"]["nash"]
    mine = {part.split(": ")[0] for part in deal.split(", ") if part.endswith("Bill")}
    assert mine == {"box", "pen", "toy", "knife"}
    assert result.answer["worth"]["nash"] == {"Bill": 24, "Jack": 11}


def test_with_lots_the_nash_point_halves_what_a_dollar_is_worth_above_the_way_out() -> None:
    """Nash 1950: on a straight frontier the solution halves the gain above the point of disagreement."""
    outcomes = {"all to A": {"A": 1, "B": 0}, "all to B": {"A": 0, "B": 1}}
    result = settled(outcomes=outcomes, disagreement={"A": 0.2, "B": 0}, lotteries=True)
    for rule in ("nash", "kalai-smorodinsky", "egalitarian"):
        assert result.answer["worth"][rule] == pytest.approx({"A": 0.6, "B": 0.4})
    assert settled(outcomes={**outcomes, "half": {"A": 0.5, "B": 0.5}}).answer["deals"]["nash"] == ["half"]


def test_the_second_party_loses_by_better_deals_under_nash_but_not_under_kalai_and_smorodinsky() -> None:
    """Kalai and Smorodinsky 1975, Econometrica 43: (0, 1), (1, 0) with (.75, .75), and with (1, .7) instead."""
    ends = {"left": {"A": 0, "B": 1}, "right": {"A": 1, "B": 0}}
    one, other = (
        settled(outcomes={**ends, "deal": {"A": a, "B": b}}, lotteries=True).answer["worth"]
        for a, b in ((0.75, 0.75), (1, 0.7))
    )
    assert (one["nash"], other["nash"]) == ({"A": 0.75, "B": 0.75}, {"A": 1, "B": 0.7})
    assert one["kalai-smorodinsky"] == {"A": 0.75, "B": 0.75}
    assert other["kalai-smorodinsky"] == pytest.approx({"A": 10 / 13, "B": 10 / 13})


@given(st.lists(st.tuples(st.integers(-2, 9), st.integers(-2, 9)), min_size=1, max_size=4))
def test_no_point_between_two_deals_has_a_larger_product_of_gains(points: list[tuple[int, int]]) -> None:
    outcomes = {str(number): {"A": a, "B": b} for number, (a, b) in enumerate(points)}
    grid = [
        (p[0] + (q[0] - p[0]) * share / 20, p[1] + (q[1] - p[1]) * share / 20)
        for p, q in product(points, repeat=2)
        for share in range(21)
    ]
    if agreeable := [each for each in grid if min(each) >= 0]:
        worth = settled(outcomes=outcomes, lotteries=True).answer["worth"]
        assert prod(worth["nash"].values()) >= max(map(prod, agreeable)) - 1e-9
        assert min(worth["egalitarian"].values()) >= max(map(min, agreeable)) - 1e-9


def test_a_better_way_out_turns_the_deal_where_it_is_said_to() -> None:
    outcomes = {"x": {"A": 4, "B": 6}, "y": {"A": 6, "B": 3}}
    before = settled(outcomes=outcomes)
    assert before.answer["deals"]["nash"] == ["x"]
    assert before.would_change[0] == "If A had 2 more without a deal, the Nash rule would go over to y."
    assert settled(outcomes=outcomes, disagreement={"A": 2.1}).answer["deals"]["nash"] == ["y"]
    assert settled(outcomes=outcomes, disagreement={"A": 1.9}).answer["deals"]["nash"] == ["x"]


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({}, "outcomes"),
        ({"outcomes": {"x": {"A": 1}}}, "outcomes.x"),
        ({"outcomes": {"x": {"A": 1, "B": 1}, "y": {"A": 1, "C": 1}}}, "outcomes.y"),
        ({"outcomes": {"x": {"A": 1, "B": 1}}, "disagreement": {"A": 2}}, "no deal"),
        ({"outcomes": {"x": {"A": 1, "B": 1, "C": 1}}, "lotteries": True}, "lotteries"),
        ({"outcomes": {}}, "outcomes"),
        ({"outcomes": {"x": {"A": 1e300, "B": 1}}}, "outcomes.x.A"),
        ({"issues": {"price": {}}}, "issues"),
        ({"issues": {str(n): {"a": {"A": 1, "B": 0}, "b": {"A": 0, "B": 1}} for n in range(40)}}, "more than"),
    ],
)
def test_bargains_that_make_no_sense_are_refused(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        reason(wrong, roomless())
