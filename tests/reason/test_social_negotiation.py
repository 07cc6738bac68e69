"""Bargains whose solution is published."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from memfolio.errors import InputError
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from memfolio.reason.social.negotiation import reason
from tests.reason.roomless import roomless


def settled(**given: Any) -> Result:
    result = reason(Given(given), roomless())
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


def test_kalai_and_smorodinsky_favour_whom_a_larger_ideal_favours() -> None:
    """Kalai and Smorodinsky 1975, Econometrica 43: (0, 1), (.75, .75) and (1, .7); gains in the ratio of the ideals."""
    points = {"left": (0, 1), "middle": (0.75, 0.75), "right": (1, 0.7)}
    result = settled(outcomes={name: {"A": a, "B": b} for name, (a, b) in points.items()}, lotteries=True)
    worth = result.answer["worth"]["kalai-smorodinsky"]
    assert worth["A"] == worth["B"]
    assert result.answer["worth"]["nash"] == {"A": 1, "B": 0.7}
    assert result.answer["deals"]["utilitarian"] == ["right"]


def test_patience_is_strength() -> None:
    """Rubinstein 1982, "Perfect equilibrium in a bargaining model", Econometrica 50: (1 - d2) / (1 - d1 d2)."""
    assert settled(patience={"A": 0.5, "B": 0.5}).answer["shares"] == pytest.approx({"A": 2 / 3, "B": 1 / 3})
    assert settled(patience={"A": 0.9, "B": 0}).answer["shares"]["A"] == 1
    turned = settled(patience={"A": 0.9, "B": 0.8})
    (line,) = turned.would_change
    even = float(line.split()[-1].rstrip("."))
    assert settled(patience={"A": even, "B": 0.8}).answer["shares"]["A"] == pytest.approx(0.5)


def test_one_left_glove_is_worth_two_thirds_against_two_right_ones() -> None:
    """Shapley 1953; the glove game of Shapley and Shubik 1969."""
    pairs = {"left, right 1": 1, "left, right 2": 1, "left, right 1, right 2": 1}
    assert settled(coalitions=pairs).answer["values"] == {"left": "2/3", "right 1": "1/6", "right 2": "1/6"}


def test_permanent_members_held_nearly_all_power_in_the_security_council_of_eleven() -> None:
    """Shapley and Shubik 1954, American Political Science Review 48: 98.7 % for the five."""
    votes = {**{f"permanent {n}": 7 for n in range(5)}, **{f"elected {n}": 1 for n in range(6)}}
    values = settled(votes=votes, quota=37).answer["values"]
    assert values["permanent 0"] == "76/385"
    assert sum(float(Fraction(values[f"permanent {n}"])) for n in range(5)) == pytest.approx(0.987, abs=5e-4)


def test_a_price_has_room_only_between_the_limits() -> None:
    assert settled(price={"seller": 220, "buyer": 300}).answer == {"room": 80, "price": 260}
    assert settled(price={"seller": 300, "buyer": 220}).answer["price"] is None


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
        ({"patience": {"A": 1, "B": 1}}, "patience"),
        ({"votes": {str(n): 1 for n in range(40)}, "quota": 3}, "more than 1,000,000 cases"),
        ({"issues": {str(n): {"a": {"A": 1, "B": 0}, "b": {"A": 0, "B": 1}} for n in range(40)}}, "more than"),
    ],
)
def test_bargains_that_make_no_sense_are_refused(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        reason(Given(wrong), roomless())
