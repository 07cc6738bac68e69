"""Graphs and tables whose causal reading is published."""

from __future__ import annotations

import json
from itertools import combinations, pairwise, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.inputs import Result
from memfolio.reason.methods.causal import CausalGraph
from memfolio.reason.methods.causal import causal as reason
from tests.reason.roomless import roomless


def found(edges: str, treatment: str, outcome: str, **more: Any) -> Result:
    listed = [each.strip() for each in edges.split(";")]
    result = reason({"edges": listed, "treatment": treatment, "outcome": outcome, **more}, roomless())
    json.dumps(dict(result.answer))
    return result


SPRINKLER = "season -> sprinkler; season -> rain; sprinkler -> wet; rain -> wet; wet -> slippery"


@pytest.mark.parametrize(
    ("known", "separated"), [(["season"], True), (["season", "slippery"], False), ([], False), (["wet"], False)]
)
def test_sprinkler_and_rain_are_separated_by_the_season_alone(known: list[str], separated: bool) -> None:
    """Pearl 2009, "Causality", figure 1.2 and page 17."""
    assert found(SPRINKLER, "sprinkler", "rain", given=known).answer["separated"] is separated


def test_back_doors_are_closed_by_the_published_pairs() -> None:
    """Pearl 2009, figure 3.4: {X3, X4} and {X4, X5} will do, {X4} alone will not."""
    edges = "X1 -> X3; X1 -> X4; X2 -> X4; X2 -> X5; X3 -> Xi; X4 -> Xi; X4 -> Xj; X5 -> Xj; Xi -> X6; X6 -> Xj"
    answer = found(edges, "Xi", "Xj").answer
    assert ["X3", "X4"] in answer["back_door"]
    assert ["X4", "X5"] in answer["back_door"]
    assert ["X4"] not in answer["back_door"]
    assert answer["mediators"] == ["X6"]


def test_adjusting_for_what_two_hidden_causes_meet_in_does_harm() -> None:
    """Greenland, Pearl and Robins 1999: the M graph needs no adjustment, and the collider opens a way."""
    answer = found("U1 -> X; U1 -> M; U2 -> M; U2 -> Y; X -> Y", "X", "Y", hidden=["U1", "U2"]).answer
    assert answer["back_door"] == [[]]
    assert answer["colliders"] == ["M"]
    assert found("X -> C; Y -> C; X -> Y", "X", "Y").answer["colliders"] == ["C"]


def test_a_hidden_common_cause_cannot_be_adjusted_for() -> None:
    """Pearl 2009, chapter 7: the plainest graph with an instrument."""
    result = found("Z -> X; X -> Y; X <-> Y", "X", "Y")
    assert result.answer["back_door"] == []
    assert "cannot be told by adjusting" in result.conclusion
    assert not result.would_change


def is_blocked(way: tuple[str, ...], parents: dict[str, set[str]], known: set[str]) -> bool:
    """Whether a path tells nothing: by Pearl's own rule, link by link."""
    below = {each: CausalGraph(parents).below({each}) for each in parents}
    return any(
        not below[b] & known if {a, c} <= parents[b] else b in known
        for a, b, c in zip(way, way[1:], way[2:], strict=False)
    )


@given(st.lists(st.booleans(), min_size=10, max_size=10), st.sets(st.sampled_from("bcd")))
def test_separation_is_that_of_every_path_between_the_two(drawn: list[bool], known: set[str]) -> None:
    arrows = [pair for pair, is_there in zip(combinations("acbde", 2), drawn, strict=True) if is_there]
    parents = {name: {a for a, b in arrows if b == name} for name in "abcde"}
    ways = [("a", *between, "e") for size in range(4) for between in permutations("bcd", size)]
    linked = {frozenset(pair) for pair in arrows}
    real = [way for way in ways if all(frozenset(pair) in linked for pair in pairwise(way))]
    separated = all(is_blocked(way, parents, known) for way in real)
    assert CausalGraph(parents).separated({"a"}, {"e"}, known) is separated


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"edges": ["a -> b", "b -> a"]}, "circle"),
        ({"edges": ["a b"]}, r"edges\[0\]"),
        ({"edges": ["a -> b"], "treatment": "c"}, "treatment"),
        ({"edges": ["a -> b <-> c"]}, r"edges\[0\]"),
        ({"edges": ["a -> b", "a <-> a"]}, r"edges\[1\]"),
        ({"edges": [f"{n} -> b" for n in range(101)]}, "edges has 101"),
        (
            {"edges": ["a -> b", *(f"{n} -> a" for n in range(30)), *(f"{n} -> b" for n in range(30))]},
            "more than 1,000 cases",
        ),
    ],
)
def test_graphs_that_make_no_sense_are_refused(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        reason({"treatment": "a", "outcome": "b", **wrong}, roomless(1000))
