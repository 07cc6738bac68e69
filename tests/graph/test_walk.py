"""Ways through the graph are found, are the shortest, and are found quickly."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.graph.graph import GraphStep, Ties, neighbours, path
from memfolio.index.graph import EntityRelation, ties_of
from memfolio.index.schema import schema
from tests.graph.world import World, relation


def among(ties: Iterable[EntityRelation]) -> Ties:
    """The relations of a small graph."""
    known = sorted(set(ties))
    return lambda ids: [tie for tie in known if {tie.source, tie.target} & set(ids)]


def edges(pairs: Iterable[tuple[int, int]]) -> list[EntityRelation]:
    return [EntityRelation(f"n{one}", "knows", f"n{other}") for one, other in pairs]


def distance(ties: Sequence[EntityRelation], start: str, end: str) -> int | None:
    """How far one is from the other, by looking at everything."""
    reached, hops = {start}, 0
    while end not in reached:
        further = {each for tie in ties for each in (tie.source, tie.target) if {tie.source, tie.target} & reached}
        if further <= reached:
            return None
        reached |= further
        hops += 1
    return hops


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30))
def test_the_way_is_the_shortest_and_leads_there(pairs: list[tuple[int, int]]) -> None:
    ties = edges(pairs)
    found, far = path(among(ties), "n0", "n1"), distance(ties, "n0", "n1")
    if far is None or far > 6:
        assert found is None
        return
    assert found is not None
    assert len(found) == far
    assert (found[0].here, found[-1].there) == ("n0", "n1")
    assert all(one.there == other.here for one, other in pairwise(found))
    for step in found:
        source, target = (step.here, step.there) if step.is_forward else (step.there, step.here)
        assert EntityRelation(source, step.predicate, target) in ties


def test_six_relations_are_followed_and_seven_are_not() -> None:
    ties = among(edges((n, n + 1) for n in range(7)))
    assert len(path(ties, "n0", "n6") or ()) == 6
    assert path(ties, "n0", "n7") is None
    assert path(ties, "n3", "n3") == []


def test_cycles_and_loops_end() -> None:
    ties = among(edges([(0, 1), (1, 2), (2, 0), (0, 0)]))
    assert [each.id for each in neighbours(ties, "n0", 6)] == ["n1", "n2"]
    assert path(ties, "n0", "elsewhere") is None


def test_the_direction_of_each_relation_is_shown(world: World) -> None:
    world.session(relations=[relation("Alex", "works-at", "Acme"), relation("Sam", "works-at", "Acme")])
    world.grow()
    steps = world.graph.path("Alex", "Sam")
    assert steps is not None
    assert list(map(str, steps)) == [
        "person--alex ─ works-at → organization--acme",
        "organization--acme ← works-at ─ person--sam",
    ]
    near = world.graph.neighbours("acme", 2)
    assert [(each.id, each.hops) for each in near] == [("person--alex", 1), ("person--sam", 1)]
    assert [each.id for each in world.graph.neighbours("Alex", 2)] == ["organization--acme", "person--sam"]


@pytest.mark.serial
@pytest.mark.parametrize("count", [100_000])
def test_a_way_through_many_relations_is_found_at_once(tmp_path: Path, count: int) -> None:
    connection = apsw.Connection(str(tmp_path / "many.db"))
    connection.execute(schema())
    chance = random.Random(7)
    rows = [(f"person--{chance.randrange(20_000)}", f"person--{chance.randrange(20_000)}") for _ in range(count)]
    sql = "INSERT INTO edges (type, source, target, predicate, file, ordinal) VALUES ('relation', ?, ?, 'knows', 1, -2)"
    with connection:
        connection.executemany(sql, rows)
    took = []
    for _ in range(15):
        one, other = (f"person--{chance.randrange(20_000)}" for _ in range(2))
        start = time.perf_counter()
        found = path(lambda ids: ties_of(connection, ids), one, other)
        took.append(time.perf_counter() - start)
        assert found is None or isinstance(found[0], GraphStep)
    assert sorted(took)[7] < 0.05, took
