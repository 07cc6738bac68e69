"""Names that may mean the same are proposed, those that do not are not, and nothing is merged by itself."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.graph.entities import distance, likeness, propose
from memfolio.index.graph import EntityRelation, Node
from memfolio.settings import Learning
from tests.graph.pairs import DIFFERENT, LATER_DIFFERENT, LATER_SAME, SAME, read
from tests.graph.world import World, person

THRESHOLD = Learning().merge


def node(name: str, nth: int = 0, type: str = "person", aliases: tuple[str, ...] = ()) -> Node:
    made = f"{type}--{nth}-{name.lower().replace(' ', '-')}"
    return Node(id=made, name=name, type=type, aliases=aliases, summary="", properties={}, path=f"{made}.md")


def proposed(*names: str) -> list[tuple[str, str]]:
    nodes = {each.id: each.name for each in map(node, names)}
    return [(nodes[pair.one], nodes[pair.other]) for pair in propose(map(node, names), THRESHOLD)]


@pytest.mark.parametrize(
    ("same", "different", "precision", "recall"),
    [(SAME, DIFFERENT, 0.97, 0.88), (LATER_SAME, LATER_DIFFERENT, 0.94, 0.82)],
)
def test_precision_and_recall_on_pairs_that_a_person_judged(
    same: str, different: str, precision: float, recall: float
) -> None:
    alike, unlike = read(same), read(different)
    right = sum(likeness(*pair)[0] >= THRESHOLD for pair in alike)
    wrong = sum(likeness(*pair)[0] >= THRESHOLD for pair in unlike)
    assert right / (right + wrong) >= precision
    assert right / len(alike) >= recall


@given(st.text(max_size=12), st.text(max_size=12))
def test_likeness_is_the_same_both_ways(one: str, other: str) -> None:
    assert likeness(one, other) == likeness(other, one)
    assert 0 <= likeness(one, other)[0] <= 1


@pytest.mark.parametrize(
    ("one", "other", "steps"),
    [("", "", 0), ("a", "", 1), ("form", "from", 1), ("kitten", "sitting", 3), ("ab", "ab", 0)],
)
def test_distance_counts_slips(one: str, other: str, steps: int) -> None:
    assert distance(one, other) == distance(other, one) == steps


def test_a_first_name_is_proposed_only_where_one_person_has_it() -> None:
    assert proposed("Alex", "Alex Miller") == [("Alex", "Alex Miller")]
    assert proposed("Alex", "Alex Miller", "Alex Stone") == []


def test_types_that_cannot_be_the_same_are_not_proposed() -> None:
    assert propose([node("Robert"), node("Bob", type="place")], THRESHOLD) == []
    assert propose([node("Robert"), node("Bob", type="concept")], THRESHOLD) != []


def test_aliases_are_compared_too() -> None:
    assert propose([node("Chief", aliases=("Robert Brown",)), node("Bob Brown")], THRESHOLD) != []


def test_ten_thousand_names_are_compared_in_seconds() -> None:
    nodes = [node(f"First{n % 100} Last{n}", n) for n in range(10_000)]
    start = time.process_time()
    propose(nodes, THRESHOLD)
    assert time.process_time() - start < 10


def test_what_is_only_alike_is_not_merged_by_growth(world: World) -> None:
    world.session([person("Robert Brown", "M-1", "M-2"), person("Bob Brown", "M-3", "M-4")])
    world.grow()
    assert world.pages() == ["person--bob-brown", "person--robert-brown"]
    assert [(pair.one, pair.other) for pair in world.graph.alike()] == [("person--bob-brown", "person--robert-brown")]


def test_whose_sister_somebody_is_makes_no_name() -> None:
    assert (
        propose([node("Eva", aliases=("Tomas's sister", "James’ boss")), node("Tomas"), node("James")], THRESHOLD) == []
    )


def test_who_is_related_is_not_proposed() -> None:
    pair = [node("Robert Brown"), node("Bob Brown")]
    assert len(propose(pair, THRESHOLD)) == 1
    assert propose(pair, THRESHOLD, [EntityRelation(pair[1].id, "sibling-of", pair[0].id)]) == []
