"""Vectors as the index keeps them: small, each with a sketch, and with the sum of all.

A vector of unit length is stored as signed bytes with one factor, a quarter of its size; the angle between two changes
by less than half a percent.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import apsw

from memfolio.index.schema import BLOCK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]

FACTOR = 4
"""Bytes of the factor behind a vector."""
FINE = 1 << 24
"""How many steps a whole number is divided into where fractions are added up exactly."""


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
    found = read_vectors(connection, rows, dimension)
    if found:
        _count(connection, *unpack(found.values(), dimension), -1)
    connection.executemany("DELETE FROM vectors WHERE row = ?", [(row,) for row in rows])


def _put_sketches(connection: apsw.Connection, rows: Sequence[int], data: Sequence[bytes]) -> None:
    size = len(data[0])
    for block, group in groupby(zip(rows, data, strict=True), key=lambda pair: pair[0] // BLOCK):
        connection.execute("INSERT OR IGNORE INTO sketches VALUES (?, ?)", (block, apsw.zeroblob(BLOCK * size)))
        with connection.blob_open("main", "sketches", "data", block, True) as blob:
            for row, sketch in group:
                blob.seek(row % BLOCK * size)
                blob.write(sketch)
        _mark_changed(connection, block)


def _mark_changed(connection: apsw.Connection, block: int) -> None:
    """Give the block a version that no process can have seen, not even one of a block that is gone."""
    connection.execute("INSERT OR REPLACE INTO vector_versions VALUES (?, random())", (block,))


def _count(connection: apsw.Connection, packed: NDArray[np.int8], factors: Floats, times: int) -> None:
    """Add vectors to the sum of all, or take them away from it."""
    import numpy as np

    count, total = sum_of_all(connection, packed.shape[1])
    added = np.rint(packed * factors[:, None].astype(np.float64) * FINE).astype(np.int64).sum(axis=0)
    count += times * int(np.count_nonzero(factors))
    connection.execute("INSERT OR REPLACE INTO vector_sum VALUES (1, ?, ?)", (count, (total + times * added).tobytes()))


def sum_of_all(connection: apsw.Connection, dimension: int) -> tuple[int, Rows]:
    """How many vectors there are, and what they add up to, in steps of `FINE`."""
    import numpy as np

    found = connection.execute("SELECT count, data FROM vector_sum").fetchone()
    if found is None or len(found[1]) != 8 * dimension:
        return 0, np.zeros(dimension, np.int64)
    return found[0], np.frombuffer(found[1], np.int64)


def read_vectors(connection: apsw.Connection, rows: Sequence[int], dimension: int) -> dict[int, bytes]:
    """The vectors of these rows as they are stored, as far as they have some."""
    if not rows:
        return {}  # SQLite takes no array of nothing
    found = connection.execute("SELECT row, data FROM vectors WHERE row IN carray(?)", (apsw.carray(array("q", rows)),))
    return {row: data for row, data in found if len(data) == dimension + FACTOR}
