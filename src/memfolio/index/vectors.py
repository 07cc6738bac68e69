"""Vectors: kept small in the index, and searched by their sketches first.

A vector of unit length is stored as signed bytes with one factor, a quarter of its size; the angle between two changes
by less than half a percent. Sketches stay in memory, and only the vectors that they point to are read and compared:
in whole numbers, so that equal vectors are equally near wherever they stand.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import apsw

from memfolio.index.schema import BLOCK
from memfolio.index.turn import Turn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Doubles = NDArray[np.float64]
    Rows = NDArray[np.int64]

FACTOR = 4
"""Bytes of the factor behind a vector."""
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
KEPT = 50_000
"""How many vectors that were read are kept in memory."""
FINE = 1 << 24
"""How many steps a whole number is divided into where fractions are added up exactly."""
SAMPLED = 16
"""One in so many is looked at to guess where the nearest end."""
EMPTY = 0xFFFF
"""The distance of a row that has no vector."""


class Neighbour(NamedTuple):
    """A memory's row and how near its vector is: 1 is the same direction."""

    row: int
    similarity: float


# Writing


def pack(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Unit vectors as signed bytes, and the factors that bring them back."""
    import numpy as np

    peaks = np.abs(vectors).max(axis=1, initial=0).astype(np.float32)
    factors = np.where(peaks > 0, peaks / 127, 1).astype(np.float32)
    return np.rint(vectors / factors[:, None]).astype(np.int8), np.where(peaks > 0, factors, 0).astype(np.float32)


def unpack(data: Iterable[bytes], dimension: int) -> tuple[NDArray[np.int8], Floats]:
    """The same from what is stored."""
    import numpy as np

    table = np.frombuffer(b"".join(data), np.uint8).reshape(-1, dimension + FACTOR)
    return table[:, :dimension].view(np.int8), np.ascontiguousarray(table[:, dimension:]).view(np.float32)[:, 0]


def store_vectors(connection: apsw.Connection, rows: Sequence[int], vectors: Floats) -> None:
    """Put the vectors of these rows, which ascend, in the place of what was there."""
    from memfolio.index.sketch import sketches

    if not rows:
        return
    packed, factors = pack(vectors)
    _take_out(connection, rows, packed.shape[1])
    data = [each.tobytes() + factor.tobytes() for each, factor in zip(packed, factors, strict=True)]
    connection.executemany("INSERT INTO vectors VALUES (?, ?)", zip(rows, data, strict=True))
    _put_sketches(connection, rows, [each.tobytes() for each in sketches(packed)])
    _count(connection, packed, factors, 1)


def clear_vector(connection: apsw.Connection, row: int) -> None:
    """Let a row have no vector."""
    found = connection.execute("SELECT data FROM vectors WHERE row = ?", (row,)).fetchone()
    if found is not None:
        from memfolio.index.sketch import width

        dimension = len(found[0]) - FACTOR
        _take_out(connection, [row], dimension)
        _put_sketches(connection, [row], [bytes(8 * width(dimension))])


def clear_all(connection: apsw.Connection) -> None:
    """Drop every vector: another embedder's would not fit them."""
    for table in ("vectors", "vector_sum", "sketches", "vector_versions"):
        connection.execute(f"DELETE FROM {table}")
    connection.execute("INSERT OR IGNORE INTO waiting SELECT row FROM memories")


def _take_out(connection: apsw.Connection, rows: Sequence[int], dimension: int) -> None:
    found = _read(connection, rows, dimension)
    if found:
        _count(connection, *unpack(found.values(), dimension), -1)
    connection.executemany("DELETE FROM vectors WHERE row = ?", [(row,) for row in rows])


def _put_sketches(connection: apsw.Connection, rows: Sequence[int], data: Sequence[bytes]) -> None:
    size = len(data[0])
    for block, group in groupby(zip(rows, data, strict=True), key=lambda pair: pair[0] // BLOCK):
        _make_block(connection, block, size)
        with connection.blob_open("main", "sketches", "data", block, True) as blob:
            for row, sketch in group:
                blob.seek(row % BLOCK * size)
                blob.write(sketch)
        _mark_changed(connection, block)


def _make_block(connection: apsw.Connection, block: int, size: int) -> None:
    connection.execute("INSERT OR IGNORE INTO sketches VALUES (?, ?)", (block, apsw.zeroblob(BLOCK * size)))


def _mark_changed(connection: apsw.Connection, block: int) -> None:
    """Give the block a version that no process can have seen, not even one of a block that is gone."""
    connection.execute("INSERT OR REPLACE INTO vector_versions VALUES (?, random())", (block,))


def _count(connection: apsw.Connection, packed: NDArray[np.int8], factors: Floats, times: int) -> None:
    """Add vectors to the sum of all, or take them away from it."""
    import numpy as np

    count, total = _sum(connection, packed.shape[1])
    added = np.rint(packed * factors[:, None].astype(np.float64) * FINE).astype(np.int64).sum(axis=0)
    count += times * int(np.count_nonzero(factors))
    connection.execute("INSERT OR REPLACE INTO vector_sum VALUES (1, ?, ?)", (count, (total + times * added).tobytes()))


# Reading


def _sum(connection: apsw.Connection, dimension: int) -> tuple[int, Rows]:
    """How many vectors there are, and what they add up to, in steps of `FINE`."""
    import numpy as np

    found = connection.execute("SELECT count, data FROM vector_sum").fetchone()
    if found is None or len(found[1]) != 8 * dimension:
        return 0, np.zeros(dimension, np.int64)
    return found[0], np.frombuffer(found[1], np.int64)


def _read(connection: apsw.Connection, rows: Sequence[int], dimension: int) -> dict[int, bytes]:
    """The vectors of these rows as they are stored, as far as they have some."""
    if not rows:
        return {}  # SQLite takes no array of nothing
    found = connection.execute("SELECT row, data FROM vectors WHERE row IN carray(?)", (apsw.carray(array("q", rows)),))
    return {row: data for row, data in found if len(data) == dimension + FACTOR}


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
            if sum(len(segment.rows) for segment in self._segments.values()) > KEPT:
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


class Scan:
    """How near vectors are to a question, once what all of them have in common is taken away.

    Static vectors lean to one side, so that everything is a little like everything; seen from their mean they differ.
    """

    def __init__(self, connection: apsw.Connection, segments: dict[int, Segment], query: Floats) -> None:
        import numpy as np

        self._connection = connection
        self._segments = segments
        self._dimension = len(query)
        count, total = _sum(connection, len(query))
        mean = total / (count + SHRINK) / FINE
        aim = query - mean
        aim /= max(float(np.linalg.norm(aim)), 1e-9)
        # As whole numbers, since their products then add up to the same in any order.
        self._aim, self._mean = np.rint(aim * FINE), np.rint(mean * FINE)

    def nearest(self, limit: int) -> list[Neighbour]:
        """The nearest of all rows, and whatever is as near as the last of them, in no order."""
        rows, values, _ = self._compare(self._candidates(limit).tolist())
        return best(rows, values, limit)

    def among(self, rows: Sequence[int], limit: int) -> list[Neighbour]:
        """The nearest of these rows."""
        found, values, _ = self._compare(rows)
        return best(found, values, limit)

    def similarities(self, rows: Sequence[int]) -> dict[int, float]:
        """The cosines of the angles between these rows and the question, seen from the mean; none below 0."""
        found, values, lengths = self._compare(rows)
        is_near = values > 0
        cosines = values[is_near] / lengths[is_near]
        return dict(zip(found[is_near].tolist(), cosines.tolist(), strict=True))

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

    def _compare(self, rows: Sequence[int]) -> tuple[Rows, Doubles, Doubles]:
        """Which of these rows have a vector, how near each is, and how long it is seen from the mean."""
        import numpy as np

        data = self._read(rows)
        found = np.fromiter(data, np.int64, len(data))
        packed, factors = unpack(data.values(), self._dimension)
        numbers, scale = packed.astype(np.float64), factors.astype(np.float64)
        # Not by BLAS, whose threads get in each other's way for something as small as this.
        toward, along = (scale * np.einsum("ij,j->i", numbers, each) / FINE for each in (self._aim, self._mean))
        squares = np.square(scale) * np.einsum("ij,ij->i", numbers, numbers)
        lean, offset = float(self._mean @ self._aim) / FINE**2, float(self._mean @ self._mean) / FINE**2
        lengths = np.sqrt(np.maximum(squares - 2 * along + offset, 1e-18))
        values = toward - lean
        has_one = factors > 0
        return found[has_one], values[has_one], lengths[has_one]

    def _read(self, rows: Sequence[int]) -> dict[int, bytes]:
        """The vectors of these rows, from memory where they were read before."""
        kept = {number: segment.rows for number, segment in self._segments.items()}
        nothing: dict[int, bytes] = {}
        found = {row: data for row in rows if (data := kept.get(row // SPAN, nothing).get(row)) is not None}
        new = _read(self._connection, [row for row in rows if row not in found], self._dimension)
        for row, data in new.items() if len(new) < KEPT else ():
            kept.get(row // SPAN, nothing)[row] = data
        return found | new


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
