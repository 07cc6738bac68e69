"""Nearest-neighbour search: by sketches first, which stay in memory, then by the vectors they point to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from typing import NamedTuple

import numpy as np
from apsw import Connection
from numpy.typing import NDArray

from memfolio.index.database import Mutex
from memfolio.index.schema import BLOCK
from memfolio.index.search import Match, Sieve
from memfolio.index.vectors import FINE, aim_of, distances, read_vectors, sum_of_all, unpack, width

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]
Places = NDArray[np.int32]

# Search among vectors: by their sketches first, which stay in memory, then by the vectors that these point to.
#
# Vectors are compared in whole numbers, so that equal ones are equally near wherever they stand.

SEGMENT = 16
"""How many blocks of sketches are compared at once."""
SPAN = SEGMENT * BLOCK
SHRINK = 50
"""How many vectors of nothing the mean is taken with, so that a handful of memories do not decide it."""
CLOSER_LOOK = 1000
"""How many vectors at least are compared for a question; so many that next to none of the nearest is missed."""
PER_WANTED = 8
"""The same for each one that is wanted."""
MOST_EQUAL = 8
"""By how much those whose sketches are equally near may exceed that."""
KEPT = 32 << 20
"""How many bytes of vectors that were read are kept in memory."""
ROUGH = 1e-3
"""More than single precision gets wrong in a sum of products."""
SAMPLED = 16
"""One in so many is looked at to guess where the nearest end."""
EMPTY = 0xFFFF
"""The distance of a row that has no vector."""


class Segment(NamedTuple):
    """The sketches of some blocks in columns, and which slots have one."""

    columns: NDArray[np.uint64]
    filled: NDArray[np.bool_]


class VectorTable:
    """A table of vectors that were read, filled from the top; threads may share it."""

    def __init__(self, dimension: int) -> None:
        size = max(1, KEPT // dimension)
        self._lock = Mutex()
        self._count = 0
        self.packed = np.empty((size, dimension), np.int8)
        self.factors = np.empty(size, np.float32)

    @property
    def is_full(self) -> bool:
        return 2 * self._count > len(self.packed)

    def add(self, packed: NDArray[np.int8], factors: Floats) -> int | None:
        """Put vectors below the others; returns the place of the first, None when there is no room."""
        with self._lock:
            first, last = self._count, self._count + len(packed)
            if last > len(self.packed):
                return None
            self._count = last
        self.packed[first:last], self.factors[first:last] = packed, factors
        return first


class Matrix:
    """The sketches of one index in memory, read block by block when they changed; threads may share it."""

    def __init__(self) -> None:
        self._lock = Mutex()
        self._versions: dict[int, int] = {}
        self._segments: dict[int, Segment] = {}
        self._shelf: VectorTable | None = None
        self._places: Places | None = None

    def scan(self, db: Connection, query: Floats) -> Scan:
        """Get ready to compare vectors with the question's."""
        with self._lock:
            versions = dict(db.execute("SELECT block, version FROM vector_versions"))
            if versions != self._versions:
                self._catch_up(db, versions, len(query))
            if self._shelf is None or self._shelf.is_full or self._shelf.packed.shape[1] != len(query):
                self._shelf, self._places = VectorTable(len(query)), None
            if self._places is None:
                self._places = _no_places(self._versions)
            return Scan(db, self._segments, self._shelf, self._places, query)

    def _catch_up(self, db: Connection, versions: dict[int, int], dimension: int) -> None:
        """Read what changed. What there was before stays as it is, for those who search in it at this moment."""
        changed = {block for block, _ in versions.items() ^ self._versions.items()}
        segments = self._segments.copy()
        for number in {block // SEGMENT for block in changed}:
            blocks = [block for block in range(number * SEGMENT, (number + 1) * SEGMENT) if block in versions]
            old = segments.pop(number, None)
            if blocks:
                segments[number] = _load(db, blocks, changed, old, dimension)
        self._versions, self._segments = versions, segments
        self._places = _kept_places(self._places, versions, changed)


def _no_places(versions: Mapping[int, int]) -> Places:
    """For every row its place on the shelf; -1 where it has none."""
    return np.full((max(versions, default=-1) + 1) * BLOCK, -1, np.int32)


def _kept_places(old: Places | None, versions: Mapping[int, int], changed: Set[int]) -> Places | None:
    """The places without those of blocks that changed."""
    if old is None:
        return None
    places = _no_places(versions)
    size = min(len(places), len(old))
    places[:size] = old[:size]
    for block in changed:
        places[block * BLOCK : (block + 1) * BLOCK] = -1
    return places


def _load(db: Connection, blocks: Sequence[int], changed: Set[int], old: Segment | None, dimension: int) -> Segment:
    """A segment of these blocks, of which those that did not change are taken from the one before."""
    first = blocks[0] // SEGMENT * SEGMENT
    columns = np.zeros((width(dimension), (blocks[-1] + 1 - first) * BLOCK), np.uint64)
    for block in blocks:
        place = slice((block - first) * BLOCK, (block - first + 1) * BLOCK)
        if old is not None and block not in changed and len(old.columns) == len(columns):
            columns[:, place] = old.columns[:, place]
        else:
            columns[:, place] = _columns(db, block, len(columns))
    return Segment(columns, np.bitwise_or.reduce(columns, axis=0) != 0)


def _columns(db: Connection, block: int, words: int) -> NDArray[np.uint64]:
    found = db.execute("SELECT data FROM sketches WHERE block = ?", (block,)).fetchone()
    if found is None or len(found[0]) != BLOCK * words * 8:
        return np.zeros((words, BLOCK), np.uint64)
    return np.frombuffer(found[0], np.uint64).reshape(BLOCK, words).T


class Vectors(NamedTuple):
    """Vectors that were read: their rows, their whole numbers, and the factors of these."""

    rows: Rows
    numbers: NDArray[np.int8]
    factors: Floats

    def of(self, chosen: NDArray[np.bool_]) -> Vectors:
        return Vectors(self.rows[chosen], self.numbers[chosen], self.factors[chosen])

    def exact(self) -> tuple[Doubles, Doubles]:
        """Numbers and factors in double precision, in which whole numbers stay what they are."""
        return self.numbers.astype("float64"), self.factors.astype("float64")


class Scan:
    """How near vectors are to a question, once what all of them have in common is taken away.

    Static vectors lean to one side, so that everything is a little like everything; seen from their mean they differ.
    """

    def __init__(
        self,
        db: Connection,
        segments: Mapping[int, Segment],
        shelf: VectorTable,
        places: Places,
        query: Floats,
    ) -> None:
        self._db = db
        self._segments = segments
        self._shelf = shelf
        self._places = places
        self._dimension = len(query)
        count, total = sum_of_all(db, len(query))
        mean = total / (count + SHRINK) / FINE
        aim = query - mean
        aim /= max(float(np.linalg.norm(aim)), 1e-9)
        # As whole numbers, since their products then add up to the same in any order.
        self._aim, self._mean = np.rint(aim * FINE), np.rint(mean * FINE)

    def nearest(self, limit: int) -> dict[int, float]:
        """The nearest of all rows, and whatever is as near as the last of them, in no order."""
        return self.among(self._candidates(limit), limit)

    def among(self, rows: Sequence[int] | Rows, limit: int) -> dict[int, float]:
        """The nearest of these rows."""
        vectors = self._vectors(rows)
        if len(vectors.rows) > 2 * limit:
            vectors = vectors.of(self._roughly(vectors, limit))
        return best(vectors.rows, self._toward(*vectors.exact()), limit)

    def _roughly(self, vectors: Vectors, limit: int) -> NDArray[np.bool_]:
        """Which of them may be among the nearest: quicker to tell than how near they are."""
        aim = (self._aim / FINE).astype(np.float32)
        along = np.einsum("ij,j->i", vectors.numbers.astype(np.float32), aim) * vectors.factors
        near: NDArray[np.bool_] = along >= np.partition(along, -limit)[-limit] - ROUGH
        return near

    def similarities(self, rows: Sequence[int]) -> dict[int, float]:
        """The cosines of the angles between these rows and the question, seen from the mean; none below 0."""
        vectors = self._vectors(rows)
        numbers, factors = vectors.exact()
        toward = self._toward(numbers, factors)
        squares = np.square(factors) * np.einsum("ij,ij->i", numbers, numbers)
        squares += float(self._mean @ self._mean) / FINE**2 - 2 * _along(numbers, factors, self._mean)
        cosines = toward / np.sqrt(np.maximum(squares, 1e-18))
        return {row: cosine for row, cosine in zip(vectors.rows.tolist(), cosines.tolist(), strict=True) if cosine > 0}

    def _toward(self, numbers: Doubles, factors: Doubles) -> Doubles:
        """How far each vector goes towards the question, seen from the mean; a vector of zeros goes nowhere."""
        toward = _along(numbers, factors, self._aim) - float(self._mean @ self._aim) / FINE**2
        return np.where(factors > 0, toward, 0)

    def _candidates(self, limit: int) -> Rows:
        """The rows whose sketches are nearest: those that may be among the nearest, and many more."""
        count = max(CLOSER_LOOK, PER_WANTED * limit) * max(1, 256 // self._dimension)
        near = np.flatnonzero(self._distances <= _reach(self._distances, count))
        if len(near) > MOST_EQUAL * count:
            near = near[np.argsort(self._distances[near], kind="stable")][: MOST_EQUAL * count]
        return near

    @cached_property
    def _distances(self) -> NDArray[np.uint16]:
        """How far the sketch of each row is from the question."""
        aim = aim_of(self._aim)
        found = np.full((max(self._segments, default=-1) + 1) * SPAN, EMPTY, np.uint16)
        for number, segment in self._segments.items():
            here = distances(segment.columns, aim)
            found[number * SPAN : number * SPAN + len(here)] = np.where(segment.filled, here, EMPTY)
        return found

    def _vectors(self, rows: Sequence[int] | Rows) -> Vectors:
        """The vectors of these rows, as far as they have one, from memory where they were read before."""
        asked = np.asarray(rows, np.int64)
        asked = asked[asked < len(self._places)]
        new = self._read(asked[self._places[asked] < 0])
        places = self._places[asked]
        asked, places = asked[places >= 0], places[places >= 0]
        kept = Vectors(asked, self._shelf.packed[places], self._shelf.factors[places])
        if new is None:
            return kept
        return Vectors(
            np.concatenate([kept.rows, new.rows]),
            np.concatenate([kept.numbers, new.numbers]),
            np.concatenate([kept.factors, new.factors]),
        )

    def _read(self, rows: Rows) -> Vectors | None:
        """Read the vectors of these rows onto the shelf; those for which it has no room are returned."""
        found = read_vectors(self._db, rows.tolist(), self._dimension)
        if not found:
            return None
        new = Vectors(np.fromiter(found, np.int64, len(found)), *unpack(found.values(), self._dimension))
        first = self._shelf.add(new.numbers, new.factors)
        if first is None:
            return new
        self._places[new.rows] = np.arange(first, first + len(new.rows), dtype=np.int32)
        return None


def _along(numbers: Doubles, factors: Doubles, direction: Doubles) -> Doubles:
    """How far vectors go into a direction, which is in whole numbers."""
    # Not by BLAS, whose threads get in each other's way for something as small as this.
    along: Doubles = factors * np.einsum("ij,j->i", numbers, direction) / FINE
    return along


def _reach(distances: NDArray[np.uint16], count: int) -> int:
    """The distance within which at least so many lie, if there are so many."""
    if len(distances) <= count:
        return EMPTY - 1
    some = distances[::SAMPLED]
    guess = np.partition(some, place)[place] if (place := 2 * count // SAMPLED) < len(some) else EMPTY
    near = distances[distances <= guess]
    return min(int(np.partition(near if len(near) > count else distances, count)[count]), EMPTY - 1)


def best(rows: Rows, values: Doubles, limit: int) -> dict[int, float]:
    """The nearest rows and whatever is as near as the last of them, in no order; none at a right angle or worse."""
    least = np.partition(values, -limit)[-limit] if limit < len(values) else 0
    chosen = (values >= least) & (values > 0)
    return dict(zip(rows[chosen].tolist(), values[chosen].tolist(), strict=True))


# Search by meaning: the nearest vectors among what passes the filter.


def neighbours(scan: Scan, sieve: Sieve, limit: int) -> list[Match]:
    """The nearest `limit` of the memories that pass, nearest first, equal ones by id."""
    return sieve.search(lambda rows, most: scan.nearest(most) if rows is None else scan.among(rows, most), limit)
