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
from memfolio.reason.inputs import Result
from memfolio.reason.methods.causal import root_cause as reason
from tests.reason.roomless import roomless


def rooted(**given: Any) -> Result:
    result = reason(given, roomless())
    json.dumps(dict(result.answer))
    return result


def gate(kind: str, *of: str, **more: Any) -> dict[str, Any]:
    return {"gate": kind, "of": list(of), **more}


def test_the_pressure_tank_ruptures_by_the_published_cut_sets() -> None:
    """Vesely and others 1981, "Fault tree handbook", NUREG-0492, chapter VIII: K2 makes up 86 %, the tank 14 %."""
    gates = {
        "rupture": gate("or", "T", "E2"), "E2": gate("or", "K2", "E3"), "E3": gate("and", "S", "E4"),
        "E4": gate("or", "S1", "E5"), "E5": gate("or", "K1", "R"),
    }  # fmt: skip
    chances = {"T": 5e-6, "K2": 3e-5, "S": 1e-4, "K1": 3e-5, "R": 1e-4, "S1": 3e-5}
    result = rooted(gates=gates, chances=chances)
    assert result.answer["cut_sets"][:3] == [["K2"], ["T"], ["R", "S"]]
    assert sorted(result.answer["cut_sets"][3:]) == [["K1", "S"], ["S", "S1"]]
    assert result.answer["probability"] == pytest.approx(3.5e-5 + 1e-4 * 1.6e-4, rel=1e-4)
    shares = [round(chances[each] / result.answer["probability"], 2) for each in ("K2", "T")]
    assert shares == [0.86, 0.14]
    assert "rupture comes about in 5 ways, first of all by K2" in result.conclusion


def test_two_of_three_fail_with_the_probability_of_the_formula() -> None:
    """Rausand and Hoyland 2004, "System reliability theory": 3 q^2 - 2 q^3."""
    result = rooted(gates={"top": gate("at least", "a", "b", "c", least=2)}, chances=dict.fromkeys("abc", 0.1))
    assert result.answer["probability"] == pytest.approx(3 * 0.01 - 2 * 0.001)
    assert len(result.answer["cut_sets"]) == 3
    assert "Without a, P(top) would be 0.01." in result.would_change


def test_the_bridge_fails_by_its_four_cuts() -> None:
    """Barlow and Proschan 1975, "Statistical theory of reliability": it works with 2p^2 + 2p^3 - 5p^4 + 2p^5."""
    cuts = {"left": "12", "right": "45", "down": "135", "up": "234"}
    gates = {"top": gate("or", *cuts), **{name: gate("and", *cut) for name, cut in cuts.items()}}
    for p in (0.9, 0.5):
        result = rooted(gates=gates, chances=dict.fromkeys("12345", 1 - p))
        assert result.answer["probability"] == pytest.approx(1 - (2 * p**2 + 2 * p**3 - 5 * p**4 + 2 * p**5))
    assert sorted(map("".join, result.answer["cut_sets"])) == ["12", "135", "234", "45"]


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.integers(1, 3))
def test_the_probability_of_a_tree_is_that_of_all_its_cases(shares: list[float], least: int) -> None:
    chances = dict(zip("abcd", shares, strict=True))
    gates = {"top": gate("or", "x", "y"), "x": gate("and", "a", "d"), "y": gate("at least", "a", "b", "c", least=least)}
    exact = sum(
        prod(chances[n] if on else 1 - chances[n] for n, on in case.items())
        for case in (dict(zip("abcd", each, strict=True)) for each in product((True, False), repeat=4))
        if (case["a"] and case["d"]) or case["a"] + case["b"] + case["c"] >= least
    )
    answer = rooted(gates=gates, chances=chances).answer
    assert answer["probability"] == pytest.approx(exact)


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
        ({"gates": {"a": gate("or", "x"), "b": gate("or", "y")}}, "top"),
        ({"gates": {"a": gate("or", "b")}, "chances": {"b": 0.5, "c": 0.5}}, "chances.c"),
    ],
)
def test_trees_and_chains_that_make_no_sense_are_refused(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        rooted(**wrong)
