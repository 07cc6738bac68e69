"""Vectors: the sketches lose next to nothing, and neither order nor what came and went can be seen in an answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memfolio.embed.embedder import HashedEmbedder
from memfolio.index.database import Connection, Database
from memfolio.index.index import Index
from memfolio.index.search import Filter, Sieve
from memfolio.index.vectors import Matrix, clear_vector, neighbours, pack, store_vectors
from tests.index.dump import vectors_by_id
from tests.index.proof import opened

Floats = NDArray[np.float32]


@pytest.fixture
def connection() -> Iterator[Connection]:
    database = Database.in_process("main")
    with database.writing() as found:
        yield found
    database.close()


def units(count: int, dimension: int, *, seed: int = 1, topics: int = 40) -> Floats:
    """Vectors as embedders give them: all lean to one side, and those about the same topic are near each other."""
    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(topics, dimension))
    found = 0.5 + centres[chance.integers(topics, size=count)] + chance.normal(size=(count, dimension))
    shortened: Floats = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
    return shortened


def by_hand(vectors: Floats, query: Floats, limit: int) -> set[int]:
    """The nearest rows, counted from 1, by comparing all of them."""
    mean = vectors.sum(axis=0) / (len(vectors) + 50)
    return set((np.argsort(-(vectors @ (query - mean)), kind="stable")[:limit] + 1).tolist())


def test_next_to_none_of_the_nearest_is_missed(connection: Connection) -> None:
    vectors, questions = units(30_000, 128), units(20, 128, seed=2)
    store_vectors(connection, range(1, len(vectors) + 1), vectors)
    matrix, shares = Matrix(), []
    for question in questions:
        found = sorted(matrix.scan(connection, question).nearest(300).items(), key=lambda each: -each[1])
        shares.append(len(by_hand(vectors, question, 300) & {row for row, _ in found[:300]}) / 300)
    assert np.mean(shares) > 0.97


def test_order_of_arrival_cannot_be_seen(connection: Connection) -> None:
    vectors, question = units(6000, 48), units(1, 48, seed=2)[0]
    vectors[100:400] = vectors[100]  # equal ones have to be equally near in any place
    shuffled = np.random.default_rng(3).permutation(len(vectors))
    store_vectors(connection, range(1, 6001), vectors)
    one = {row - 1: near for row, near in Matrix().scan(connection, question).nearest(300).items()}
    for start in range(0, 6000, 7):  # in other places, and over what was there
        places = list(range(start + 1, min(start + 8, 6001)))
        store_vectors(connection, places, vectors[shuffled[start : start + 7]])
    other = {int(shuffled[row - 1]): near for row, near in Matrix().scan(connection, question).nearest(300).items()}
    assert one == other


def test_sum_is_that_of_what_is_there(connection: Connection) -> None:
    vectors = units(50, 16)
    store_vectors(connection, range(1, 21), vectors[:20])
    fresh = list(connection.execute("SELECT * FROM vector_sum"))
    store_vectors(connection, range(1, 31), vectors[20:])
    for row in range(21, 31):
        clear_vector(connection, row)
    store_vectors(connection, range(1, 21), vectors[:20])
    clear_vector(connection, 99)
    assert list(connection.execute("SELECT * FROM vector_sum")) == fresh


@pytest.mark.parametrize("dimension", [1, 2, 8, 63, 64, 65, 384, 1024, 1025, 4096])
def test_vector_of_any_length_is_near_to_itself(connection: Connection, dimension: int) -> None:
    vectors = units(64, dimension, topics=64)
    store_vectors(connection, range(1000, 1064), vectors)
    scan = Matrix().scan(connection, vectors[5])
    assert scan.similarities(range(900, 1100))[1005] == pytest.approx(1, abs=0.01)
    assert 1005 in scan.nearest(1 if dimension > 2 else 32)


def test_row_without_a_vector_is_near_to_nothing(connection: Connection) -> None:
    vectors = units(10, 32)
    vectors[3] = 0
    store_vectors(connection, range(1, 11), vectors)
    clear_vector(connection, 5)
    scan = Matrix().scan(connection, vectors[0])
    assert not {4, 5} & scan.nearest(10).keys()
    assert not {4, 5} & scan.similarities(range(20)).keys()


def test_vector_that_changed_is_read_again(connection: Connection) -> None:
    vectors, matrix = units(2000, 32), Matrix()
    store_vectors(connection, range(1, 2001), vectors)
    before = matrix.scan(connection, vectors[0]).similarities([7])
    store_vectors(connection, [7], vectors[:1])
    scan = matrix.scan(connection, vectors[0])
    assert scan.similarities([7])[7] > 0.99 > before.get(7, 0)
    assert 7 in scan.nearest(2)


def test_home_that_grows_beyond_one_block_is_searched_as_a_large_one(connection: Connection) -> None:
    vectors, matrix = units(1600, 32), Matrix()
    store_vectors(connection, range(1, 501), vectors[:500])
    assert len(matrix.scan(connection, vectors[0]).nearest(2000)) > 200
    store_vectors(connection, range(1024, 2124), vectors[500:])
    for query in vectors[::400]:
        grown, fresh = (each.scan(connection, query) for each in (matrix, Matrix()))
        assert grown.nearest(20) == fresh.nearest(20)
        assert grown.similarities(range(2200)) == fresh.similarities(range(2200))


def test_small_and_large_homes_are_compared_alike(connection: Connection) -> None:
    vectors = units(300, 32)
    store_vectors(connection, range(1, 301), vectors)
    few = Matrix().scan(connection, vectors[7])
    nearest, similarities = few.nearest(20), few.similarities([*range(1, 301), 900])
    store_vectors(connection, [5000], np.zeros((1, 32), np.float32))  # a second block, which changes no sum
    many = Matrix().scan(connection, vectors[7])
    assert type(many) is not type(few)
    assert (many.nearest(20), many.similarities([*range(1, 301), 900])) == (nearest, similarities)


def test_more_equal_vectors_than_can_be_looked_at_are_found_all_the_same(connection: Connection) -> None:
    vectors = np.repeat(units(1, 256), 20_000, axis=0)
    store_vectors(connection, range(1, 20_001), vectors)
    assert len(Matrix().scan(connection, vectors[0]).nearest(10)) >= 10


def test_packed_vector_keeps_its_direction() -> None:
    vectors = units(100, 256)
    packed, factors = pack(vectors)
    unpacked = packed * factors[:, None]
    assert np.all(np.sum(vectors * unpacked, axis=1) / np.linalg.norm(unpacked, axis=1) > 0.9995)


def test_filter_leaves_exactly_the_nearest_that_pass(home: Path) -> None:
    with opened(home, embedder=HashedEmbedder(32)) as memory:
        turns = ({"role": "user", "content": f"{n} tea {n * n}", "user": "b" if n % 9 else "a"} for n in range(5000))
        users = {item.id: item.user for item in memory.observe_many(turns)}
        index, meaning = memory.searcher.index, memory.searcher.vectorizer
        assert meaning.fill(index) == 0
        asked = meaning.of("81 tea")
        assert asked is not None
        ids, vectors = zip(*index.read(vectors_by_id).items(), strict=True)
        values = np.array(vectors) @ (asked.values - np.sum(vectors, axis=0) / (len(vectors) + 50))
        worth = dict(zip(ids, values.tolist(), strict=True))
        for user in ("a", "b"):  # few pass, and many
            found = index.read(partial(near, index=index, vector=asked.values, wanted=Filter(user=user)))
            best = sorted((worth[each] for each in ids if users[each] == user), reverse=True)[:100]
            assert {users[each] for each in found} == {user}
            assert [worth[each] for each in found] == pytest.approx(best, abs=1e-6)


def near(connection: Connection, index: Index, vector: Floats, wanted: Filter) -> list[str]:
    """The ids of the nearest hundred that pass."""
    found = neighbours(index.matrix.scan(connection, vector), Sieve(connection, wanted), 100)
    return [connection.execute("SELECT id FROM memories WHERE row = ?", (row,)).get for row in found]
