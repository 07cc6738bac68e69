"""Failures whose roots are published."""

from __future__ import annotations

import json
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.causal.root_cause import reason
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from tests.reason.roomless import roomless


def rooted(**given: Any) -> Result:
    result = reason(Given(given), roomless())
    json.dumps(dict(result.answer))
    return result


def gate(kind: str, *of: str, **more: Any) -> dict[str, Any]:
    return {"gate": kind, "of": list(of), **more}


def test_the_pressure_tank_ruptures_by_the_published_cut_sets() -> None:
    """Vesely and others 1981, "Fault tree handbook", NUREG-0492, chapter VIII: its five cut sets and its data."""
    gates = {
        "rupture": gate("or", "T", "E2"), "E2": gate("or", "K2", "E3"), "E3": gate("and", "S", "E4"),
        "E4": gate("or", "S1", "E5"), "E5": gate("or", "K1", "R"),
    }  # fmt: skip
    chances = {"T": 5e-6, "K2": 3e-5, "S": 1e-4, "K1": 3e-5, "R": 1e-4, "S1": 3e-5}
    result = rooted(gates=gates, chances=chances)
    assert sorted(result.answer["cut_sets"]) == [["K1", "S"], ["K2"], ["R", "S"], ["S", "S1"], ["T"]]
    assert result.answer["probability"] == pytest.approx(3.5e-5 + 1e-4 * 1.6e-4, rel=1e-4)
    assert next(iter(result.answer["importance"])) == "K2"
    assert "rupture comes about in 5 ways, first of all by K2" in result.conclusion


def test_two_of_three_fail_with_the_probability_and_importance_of_the_formula() -> None:
    """Rausand and Hoyland 2004, "System reliability theory": 3 q^2 - 2 q^3 and 2 q (1 - q)."""
    result = rooted(gates={"top": gate("at least", "a", "b", "c", least=2)}, chances=dict.fromkeys("abc", 0.1))
    assert result.answer["probability"] == pytest.approx(3 * 0.01 - 2 * 0.001)
    assert result.answer["importance"]["a"]["birnbaum"] == pytest.approx(2 * 0.1 * 0.9)
    assert len(result.answer["cut_sets"]) == 3


def test_five_whys_end_at_the_missing_strainer() -> None:
    """Ohno 1988, "Toyota production system", page 17."""
    whys = ["the machine stopped", "the fuse blew", "the bearing was not lubricated", "the pump did not pump",
            "its shaft was worn", "there was no strainer"]  # fmt: skip
    result = rooted(whys=whys)
    assert result.answer["root"] == "there was no strainer"
    assert result.confidence is None
    assert len(result.steps) == 5


def test_the_cause_that_explains_more_comes_first_and_gives_way_where_said() -> None:
    edges = ["flu -> fever", "flu -> cough", "cold -> cough", "cold -> sneezing", "heat -> fever"]
    result = rooted(edges=edges, observed=["fever", "cough"], absent=["sneezing"])
    assert result.answer["ranked"][0] == "flu"
    assert result.answer["explanations"] == [["flu"], ["cold", "heat"]]
    lines = rooted(edges=edges, observed=["fever", "cough", "sneezing"]).would_change
    assert "Without the symptom sneezing, flu would come first." in lines


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.integers(1, 3))
def test_the_probability_of_a_tree_is_that_of_all_its_cases(shares: list[float], least: int) -> None:
    chances = dict(zip("abcd", shares, strict=True))
    gates = {"top": gate("or", "x", "y"), "x": gate("and", "a", "d"), "y": gate("at least", "a", "b", "c", least=least)}
    exact = sum(
        prod(chances[n] if on else 1 - chances[n] for n, on in case.items())
        for case in (dict(zip("abcd", each, strict=True)) for each in product((True, False), repeat=4))
        if (case["a"] and case["d"]) or case["a"] + case["b"] + case["c"] >= least
    )
    assert rooted(gates=gates, chances=chances).answer["probability"] == pytest.approx(exact)


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({}, "gates"),
        ({"gates": {"a": gate("and", "b"), "b": gate("or", "a")}, "top": "a"}, "circle"),
        ({"gates": {"a": gate("nor", "b")}}, "gates.a.gate"),
        ({"gates": {"a": gate("at least", "b", least=3)}}, "gates.a.least"),
        ({"gates": {"a": gate("or", "b", "c")}, "chances": {"b": 0.5}}, "chances.c"),
        ({"gates": {"a": gate("at least", *map(str, range(60)), least=30)}}, "more than 1,000,000 cases"),
        ({"gates": {"a": gate("or", *map(str, range(1000)))}, "chances": {str(n): 0.1 for n in range(1000)}}, "events"),
        ({"edges": ["a -> b"], "observed": ["c"]}, "symptom"),
        ({"whys": ["a"]}, "whys"),
    ],
)
def test_trees_and_chains_that_make_no_sense_are_refused(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        rooted(**wrong)
