"""Models in which doing and what would have been are published."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memfolio.errors import InputError
from memfolio.reason.inputs import Result
from memfolio.reason.methods.causal import counterfactual, interventional
from tests.reason.roomless import roomless


def done(**given: Any) -> Result:
    result = interventional(given, roomless(100_000))
    json.dumps(dict(result.answer))
    return result


def had(model: dict[str, Any], evidence: dict[str, Any], otherwise: dict[str, Any], outcome: dict[str, Any]) -> Result:
    given = {"model": model, "evidence": evidence, "had": otherwise, "outcome": outcome}
    result = counterfactual(given, roomless())
    json.dumps(dict(result.answer))
    return result


# The numbers of the sprinkler network of Pearl 1988 as Murphy 1998 gives them.
SPRINKLER = {
    "cloudy": {"table": 0.5},
    "sprinkler": {"parents": ["cloudy"], "table": {"true": 0.1, "false": 0.5}},
    "rain": {"parents": ["cloudy"], "table": {"true": 0.8, "false": 0.2}},
    "wet": {
        "parents": ["sprinkler", "rain"],
        "table": {"true, true": 0.99, "true, false": 0.9, "false, true": 0.9, "false, false": 0},
    },
}
# Charig and others 1986 as a model: Peters, Janzing and Schölkopf 2017, "Elements of causal inference", chapter 6.
STONES = {
    "size": {"table": {"small": 0.51, "large": 0.49}},
    "treatment": {"parents": ["size"], "table": {"small": {"A": 0.24, "B": 0.76}, "large": {"A": 0.77, "B": 0.23}}},
    "recovery": {
        "parents": ["size", "treatment"],
        "table": {"small, A": 0.93, "small, B": 0.87, "large, A": 0.73, "large, B": 0.69},
    },
}


def test_turning_the_sprinkler_on_says_nothing_of_rain_though_seeing_it_on_does() -> None:
    """Pearl 2009, section 1.3.1: doing cuts the arrow from the season."""
    (act,) = done(model=SPRINKLER, do={"sprinkler": True}, outcome={"rain": True}).answer["acts"]
    assert act["chance"] == pytest.approx(0.5)
    assert act["observed"] == pytest.approx((0.5 * 0.1 * 0.8 + 0.5 * 0.5 * 0.2) / 0.3)
    plain = done(model=SPRINKLER, do={"sprinkler": False}, outcome={"wet": True})
    assert plain.answer["without"] == pytest.approx(0.6471)


def test_the_better_treatment_is_the_one_that_looks_worse() -> None:
    result = done(model=STONES, do=[{"treatment": "A"}, {"treatment": "B"}], outcome={"recovery": True})
    a, b = result.answer["acts"]
    assert result.answer["best"] == "treatment = A"
    assert (round(a["chance"], 3), round(b["chance"], 3)) == (0.832, 0.782)
    assert b["observed"] > a["observed"]


def test_the_best_act_leads_by_what_is_said_to_turn_it() -> None:
    model = {
        "ill": {"table": 0.9},
        "treated": {"table": 0.5},
        "well": {"parents": ["ill", "treated"], "table": {"1, 1": 0.6, "1, 0": 0.2, "0, 1": 0.7, "0, 0": 1}},
    }
    result = done(model=model, do=[{"treated": 1}, {"treated": 0}], outcome={"well": 1})
    assert result.answer["best"] == "treated = 1"
    assert result.answer["effect"] == pytest.approx(0.61 - 0.28)
    assert result.would_change == ("The order would turn once doing treated = 0 gained more than 0.33.",)


def squad(order: float, nerves: float) -> dict[str, Any]:
    return {
        "court": {"table": order},
        "nervous": {"table": nerves},
        "captain": {"equation": "court"},
        "a": {"equation": "captain or nervous"},
        "b": {"equation": "captain"},
        "dead": {"equation": "a or b"},
    }


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.7, 0.1), (0.2, 0.9)])
def test_the_prisoner_would_live_had_a_not_shot_as_often_as_published(p: float, q: float) -> None:
    """Pearl 2009, section 7.1.2: q (1 - p) / (1 - (1 - q)(1 - p))."""
    result = had(squad(p, q), {"dead": 1}, {"a": 0}, {"dead": 0})
    assert result.answer["probability"] == pytest.approx(q * (1 - p) / (1 - (1 - q) * (1 - p)))


def test_a_shot_is_not_necessary_where_the_captain_gave_the_order() -> None:
    """Pearl 2009, section 9.3.2: the probability of necessity is 0."""
    result = had(squad(0.5, 0), {"a": 1, "dead": 1}, {"a": 0}, {"dead": 0})
    assert result.conclusion.startswith("Had a = 0 been, dead = 0 would not have been")
    assert any("is not a but-for cause" in note for note in result.notes)


def test_a_winning_bet_on_a_coin_is_necessary() -> None:
    """Pearl 2009, section 9.3.1: the probability of necessity is 1."""
    model = {"coin": {"table": 0.5}, "bet": {"table": 0.5}, "won": {"equation": "bet == coin"}}
    result = had(model, {"bet": 1, "won": 1}, {"bet": 0}, {"won": 0})
    assert result.answer["probability"] == 1
    assert any("is a but-for cause" in note for note in result.notes)


def test_suzys_throw_is_no_but_for_cause_where_billy_stood_ready() -> None:
    """Halpern and Pearl 2005, "Causes and explanations", part I: late preemption."""
    model = {
        "suzy": {"table": 1}, "billy": {"table": 1}, "suzy_hits": {"equation": "suzy"},
        "billy_hits": {"equation": "billy and not suzy_hits"}, "shattered": {"equation": "suzy_hits or billy_hits"},
    }  # fmt: skip
    result = had(model, {"shattered": 1}, {"suzy": 0}, {"shattered": 0})
    assert result.answer["probability"] == 0
    assert result.would_change == ("The answer would turn once these backgrounds weighed more than half.",)


def test_what_never_happens_needs_no_row_and_what_is_never_seen_has_no_observed_chance() -> None:
    a = {"table": {"x": 1, "y": 0}}
    short, full = ({"parents": ["a"], "table": {"x": 0.3, **more}} for more in ({}, {"y": 0.2}))
    assert done(model={"a": a, "b": short}, do={"b": 1}, outcome={"b": 1}).answer["effect"] == 0.7
    (act,) = done(model={"a": a, "b": full}, do={"a": "y"}, outcome={"b": 1}).answer["acts"]
    assert act == {"do": {"a": "y"}, "chance": 0.2, "observed": None}


COIN = {"a": {"table": 0.5}}


COINS = {f"v{number}": {"table": 0.5} for number in range(40)}


@pytest.mark.parametrize(
    ("model", "place"),
    [
        ({"a": {"equation": "b"}, "b": {"equation": "a"}}, "circle"),
        ({"a": {"table": {"x": 0.5, "y": 0.6}}}, "add up"),
        ({"a": {"table": 1.5}}, "model.a.table"),
        ({"a": {"table": {"1": 0.5, "true": 0.5}}}, "model.a.table names a value twice"),
        ({**COIN, "b": {"parents": ["a"], "table": {"1": 0.5, "true": 0.5}}}, "model.b.table.true"),
        ({**COIN, "b": {"equation": "a +"}}, "model.b.equation"),
        ({**COIN, "b": {"equation": "__import__('os')"}}, "model.b.equation"),
        ({**COIN, "b": {"equation": "1 / (a - a)"}}, "model.b.equation"),
        ({**COIN, "b": {"parents": ["a"], "table": {"1": 0.5}}}, "model.b.table"),
        ({**COIN, "b": {"parents": ["z"], "table": {"1": 0.5}}}, "model.b"),
        ({**COIN, **COINS, "b": {"equation": " + ".join(COINS)}}, "more than 100,000 cases"),
        ({f"v{n}": {"table": 1} for n in range(2000)} | COIN, "model has"),
        ({"b": {"table": 0.5}}, "do"),
    ],
)
def test_models_that_make_no_sense_are_refused(model: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        done(model=model, do={"a": 1}, outcome={next(reversed(model)): 1})


def test_a_table_with_parents_has_no_counterfactuals_and_what_cannot_be_is_no_evidence() -> None:
    with pytest.raises(InputError, match=r"model\.sprinkler has a table"):
        had(SPRINKLER, {"wet": 1}, {"sprinkler": 0}, {"wet": 1})
    with pytest.raises(InputError, match="never happens"):
        had({"a": {"table": 1}, "b": {"equation": "a"}}, {"b": 0}, {"a": 0}, {"b": 1})
