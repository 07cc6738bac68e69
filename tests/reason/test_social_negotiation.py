"""Bargains whose solution is published."""

from __future__ import annotations

import json
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


def test_the_rules_part_where_a_larger_sum_means_a_smaller_share() -> None:
    """Moulin 2003, "Fair division and collective welfare": equal gains, the largest product and the largest sum."""
    outcomes = {"even": {"A": 4, "B": 4}, "middle": {"A": 7, "B": 3}, "lopsided": {"A": 12, "B": 0}}
    deals = settled(outcomes=outcomes).answer["deals"]
    assert deals == {
        "nash": ["middle"],
        "kalai-smorodinsky": ["middle"],
        "egalitarian": ["even"],
        "utilitarian": ["lopsided"],
    }


@given(st.lists(st.tuples(st.integers(-2, 9), st.integers(-2, 9)), min_size=1, max_size=6))
def test_no_deal_that_both_can_take_has_a_larger_product_of_gains(points: list[tuple[int, int]]) -> None:
    outcomes = {str(number): {"A": a, "B": b} for number, (a, b) in enumerate(points)}
    if agreeable := [each for each in points if min(each) >= 0]:
        answer = settled(outcomes=outcomes).answer
        assert prod(answer["worth"]["nash"].values()) == max(map(prod, agreeable))
        assert min(answer["worth"]["egalitarian"].values()) == max(map(min, agreeable))
        for name in answer["efficient"]:
            a, b = points[int(name)]
            assert not any(c >= a and d >= b and (c, d) != (a, b) for c, d in points)


def test_a_better_way_out_makes_a_party_refuse_where_it_is_said_to() -> None:
    outcomes = {"x": {"A": 4, "B": 6}, "y": {"A": 6, "B": 3}}
    before = settled(outcomes=outcomes)
    assert before.answer["deals"]["nash"] == ["x"]
    assert before.would_change[0] == "If A had over 4 more without a deal, it would refuse this one."
    assert settled(outcomes=outcomes, disagreement={"A": 4.1}).answer["options"] == ["x", "y"]
    assert settled(outcomes=outcomes, disagreement={"A": 4.1}).answer["deals"]["nash"] == ["y"]


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({}, "outcomes"),
        ({"outcomes": {"x": {"A": 1}}}, "outcomes.x"),
        ({"outcomes": {"x": {"A": 1, "B": 1}, "y": {"A": 1, "C": 1}}}, "outcomes.y"),
        ({"outcomes": {"x": {"A": 1, "B": 1}}, "disagreement": {"A": 2}}, "no deal"),
        ({"outcomes": {"x": {"A": 1, "B": 1}}, "lotteries": True}, "lotteries"),
        ({"outcomes": {}}, "outcomes"),
        ({"outcomes": {"x": {"A": 1e300, "B": 1}}}, "outcomes.x.A"),
        ({"issues": {"price": {}}}, "issues"),
        ({"issues": {str(n): {"a": {"A": 1, "B": 0}, "b": {"A": 0, "B": 1}} for n in range(40)}}, "more than"),
    ],
)
def test_bargains_that_make_no_sense_are_refused(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        reason(wrong, roomless())
