"""Search among vectors: by their sketches first, which stay in memory, then by the vectors that these point to.

Vectors are compared in whole numbers, so that equal ones are equally near wherever they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import apsw

from memfolio.index.schema import BLOCK
from memfolio.index.turn import Turn
from memfolio.index.vectors import FINE, read_vectors, sum_of_all, unpack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Doubles = NDArray[np.float64]
    Rows = NDArray[np.int64]

SEGMENT = 16
"""How many blocks of sketches are compared at once."""
SPAN = SEGMENT * BLOCK
SHRINK = 50
"""How many vectors of nothing the mean is taken with, so that a handful of memories do not decide it."""
CLOSER_LOOK = 2000
"""How many vectors at least are compared for a question; so many that next to none of the nearest is missed."""
PER_WANTED = 5
"""The same for each one that is wanted."""
MOST_EQUAL = 8
"""By how much those whose sketches are equally near may exceed that."""
KEPT = 16 << 20
"""How many bytes of vectors that were read are kept in memory."""
SAMPLED = 16
"""One in so many is looked at to guess where the nearest end."""
EMPTY = 0xFFFF
"""The distance of a row that has no vector."""


class Neighbour(NamedTuple):
    """A memory's row and how near its vector is: 1 is the same direction."""

    row: int
    similarity: float


class Segment(NamedTuple):
    """The sketches of some blocks in columns, which slots have one, and the vectors that were read already."""

    versions: dict[int, int]
    columns: NDArray[np.uint64]
    filled: NDArray[np.bool_]
    rows: dict[int, bytes]


class Matrix:
    """The sketches of one index in memory, read block by block when they changed; threads may share it."""

    def __init__(self) -> None:
        self._lock = Turn()
        self._segments: dict[int, Segment] = {}

    def scan(self, connection: apsw.Connection, query: Floats) -> Scan:
        """Get ready to compare vectors with the question's."""
        with self._lock:
            self._catch_up(connection, len(query))
            if sum(len(segment.rows) for segment in self._segments.values()) * len(query) > KEPT:
                for segment in self._segments.values():
                    segment.rows.clear()
            segments = dict(self._segments)
        return Scan(connection, segments, query)

    def _catch_up(self, connection: apsw.Connection, dimension: int) -> None:
        wanted: dict[int, dict[int, int]] = {}
        for block, version in connection.execute("SELECT block, version FROM vector_versions ORDER BY block"):
            wanted.setdefault(block // SEGMENT, {})[block] = version
        for number in self._segments.keys() - wanted.keys():
            del self._segments[number]
        for number, versions in wanted.items():
            old = self._segments.get(number)
            if old is None or old.versions != versions:
                self._segments[number] = _load(connection, old, versions, dimension)


def _load(connection: apsw.Connection, old: Segment | None, versions: dict[int, int], dimension: int) -> Segment:
    """A segment with the blocks of these versions, as many as possible from the one before."""
    import numpy as np

    from memfolio.index.sketch import width

    first, last = min(versions) // SEGMENT * SEGMENT, max(versions)
    columns = np.zeros((width(dimension), (last + 1 - first) * BLOCK), np.uint64)
    same = {block for block in versions if old and old.versions.get(block) == versions[block]}
    for block in versions:
        place = slice((block - first) * BLOCK, (block - first + 1) * BLOCK)
        if old and block in same and len(old.columns) == len(columns):
            columns[:, place] = old.columns[:, place]
        else:
            columns[:, place] = _columns(connection, block, len(columns))
    kept = {row: data for row, data in old.rows.copy().items() if row // BLOCK in same} if old else {}
    return Segment(versions, columns, np.bitwise_or.reduce(columns, axis=0) != 0, kept)


def _columns(connection: apsw.Connection, block: int, words: int) -> NDArray[np.uint64]:
    import numpy as np

    found = connection.execute("SELECT data FROM sketches WHERE block = ?", (block,)).fetchone()
    if found is None or len(found[0]) != BLOCK * words * 8:
        return np.zeros((words, BLOCK), np.uint64)
    return np.frombuffer(found[0], np.uint64).reshape(BLOCK, words).T


class Vectors(NamedTuple):
    """Vectors that were read: their rows, their whole numbers, and the factors of these."""

    rows: Rows
    numbers: Doubles
    factors: Doubles


class Scan:
    """How near vectors are to a question, once what all of them have in common is taken away.

    Static vectors lean to one side, so that everything is a little like everything; seen from their mean they differ.
    """

    def __init__(self, connection: apsw.Connection, segments: dict[int, Segment], query: Floats) -> None:
        import numpy as np

        self._connection = connection
        self._segments = segments
        self._dimension = len(query)
        count, total = sum_of_all(connection, len(query))
        mean = total / (count + SHRINK) / FINE
        aim = query - mean
        aim /= max(float(np.linalg.norm(aim)), 1e-9)
        # As whole numbers, since their products then add up to the same in any order.
        self._aim, self._mean = np.rint(aim * FINE), np.rint(mean * FINE)

    def nearest(self, limit: int) -> list[Neighbour]:
        """The nearest of all rows, and whatever is as near as the last of them, in no order."""
        return self.among(self._candidates(limit).tolist(), limit)

    def among(self, rows: Sequence[int], limit: int) -> list[Neighbour]:
        """The nearest of these rows."""
        vectors = self._vectors(rows)
        return best(vectors.rows, self._toward(vectors), limit)

    def similarities(self, rows: Sequence[int]) -> dict[int, float]:
        """The cosines of the angles between these rows and the question, seen from the mean; none below 0."""
        import numpy as np

        vectors = self._vectors(rows)
        toward = self._toward(vectors)
        squares = np.square(vectors.factors) * np.einsum("ij,ij->i", vectors.numbers, vectors.numbers)
        squares += float(self._mean @ self._mean) / FINE**2 - 2 * _along(vectors, self._mean)
        cosines = toward / np.sqrt(np.maximum(squares, 1e-18))
        return {row: cosine for row, cosine in zip(vectors.rows.tolist(), cosines.tolist(), strict=True) if cosine > 0}

    def _toward(self, vectors: Vectors) -> Doubles:
        """How far each vector goes into the direction of the question, seen from the mean."""
        return _along(vectors, self._aim) - float(self._mean @ self._aim) / FINE**2

    def _candidates(self, limit: int) -> Rows:
        """The rows whose sketches are nearest: those that may be among the nearest, and many more."""
        import numpy as np

        count = max(CLOSER_LOOK, PER_WANTED * limit) * max(1, 256 // self._dimension)
        near = np.flatnonzero(self._distances <= _reach(self._distances, count))
        if len(near) > MOST_EQUAL * count:
            near = near[np.argsort(self._distances[near], kind="stable")][: MOST_EQUAL * count]
        return near

    @cached_property
    def _distances(self) -> NDArray[np.uint16]:
        """How far the sketch of each row is from the question."""
        import numpy as np

        from memfolio.index.sketch import aim_of, distances

        aim = aim_of(self._aim)
        found = np.full((max(self._segments, default=-1) + 1) * SPAN, EMPTY, np.uint16)
        for number, segment in self._segments.items():
            here = distances(segment.columns, aim)
            found[number * SPAN : number * SPAN + len(here)] = np.where(segment.filled, here, EMPTY)
        return found

    def _vectors(self, rows: Sequence[int]) -> Vectors:
        """The vectors of these rows, as far as they have one."""
        import numpy as np

        data = self._read(rows)
        packed, factors = unpack(data.values(), self._dimension)
        has_one = factors > 0
        found = np.fromiter(data, np.int64, len(data))
        return Vectors(found[has_one], packed[has_one].astype(np.float64), factors[has_one].astype(np.float64))

    def _read(self, rows: Sequence[int]) -> dict[int, bytes]:
        """The vectors of these rows, from memory where they were read before."""
        kept = {number: segment.rows for number, segment in self._segments.items()}
        nothing: dict[int, bytes] = {}
        found = {row: data for row in rows if (data := kept.get(row // SPAN, nothing).get(row)) is not None}
        new = read_vectors(self._connection, [row for row in rows if row not in found], self._dimension)
        for row, data in new.items() if len(new) * self._dimension < KEPT else ():
            kept.get(row // SPAN, nothing)[row] = data
        return found | new


def _along(vectors: Vectors, direction: Doubles) -> Doubles:
    """How far vectors go into a direction, which is in whole numbers."""
    import numpy as np

    # Not by BLAS, whose threads get in each other's way for something as small as this.
    along: Doubles = vectors.factors * np.einsum("ij,j->i", vectors.numbers, direction) / FINE
    return along


def _reach(distances: NDArray[np.uint16], count: int) -> int:
    """The distance within which at least so many lie, if there are so many."""
    import numpy as np

    if len(distances) <= count:
        return EMPTY - 1
    some = distances[::SAMPLED]
    guess = np.partition(some, place)[place] if (place := 2 * count // SAMPLED) < len(some) else EMPTY
    near = distances[distances <= guess]
    return min(int(np.partition(near if len(near) > count else distances, count)[count]), EMPTY - 1)


def best(rows: Rows, values: Doubles, limit: int) -> list[Neighbour]:
    """The nearest rows and whatever is as near as the last of them, in no order; none at a right angle or worse."""
    import numpy as np

    least = np.partition(values, -limit)[-limit] if limit < len(values) else 0
    chosen = (values >= least) & (values > 0)
    return list(map(Neighbour, rows[chosen].tolist(), values[chosen].tolist()))
