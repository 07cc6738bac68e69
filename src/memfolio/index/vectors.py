"""Vectors: kept small in blocks of the index, and searched all at once.

A vector of unit length is stored as signed bytes with one factor, a quarter of its size; the angle between two changes
by less than half a percent. Slot `row % BLOCK` of block `row // BLOCK` belongs to the memory with that row; a slot of
zeros is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import apsw

from memfolio.index.schema import BLOCK
from memfolio.index.turn import Turn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

FACTOR = 4
"""Bytes of the factor behind the vectors of a block."""


SHRINK = 50
"""How many vectors of nothing the mean is taken with, so that a handful of memories do not decide it."""


class Neighbour(NamedTuple):
    """A memory's row and how near its vector is: 1 is the same direction."""

    row: int
    similarity: float


def block_bytes(dimension: int) -> int:
    return BLOCK * (dimension + FACTOR)


def pack(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Unit vectors as signed bytes, and the factors that bring them back."""
    import numpy as np

    peaks = np.abs(vectors).max(axis=1, initial=0).astype(np.float32)
    factors = np.where(peaks > 0, peaks / 127, 1).astype(np.float32)
    return np.rint(vectors / factors[:, None]).astype(np.int8), np.where(peaks > 0, factors, 0).astype(np.float32)


def store_vectors(connection: apsw.Connection, rows: Sequence[int], vectors: Floats) -> None:
    """Put the vectors of these rows, which ascend, into their slots."""
    packed, factors = pack(vectors)
    dimension = packed.shape[1]
    for block, group in groupby(range(len(rows)), key=lambda nth: rows[nth] // BLOCK):
        slots = list(group)
        _make_block(connection, block, dimension)
        with connection.blob_open("main", "vectors", "data", block, True) as blob:
            for nth in slots:
                slot = rows[nth] % BLOCK
                blob.seek(slot * dimension)
                blob.write(packed[nth].tobytes())
                blob.seek(BLOCK * dimension + slot * FACTOR)
                blob.write(factors[nth].tobytes())
        _mark_changed(connection, block)


def _mark_changed(connection: apsw.Connection, block: int) -> None:
    """Give the block a version that no process can have seen, not even one of a block that is gone."""
    connection.execute("INSERT OR REPLACE INTO vector_versions VALUES (?, random())", (block,))


def _make_block(connection: apsw.Connection, block: int, dimension: int) -> None:
    connection.execute("INSERT OR IGNORE INTO vectors VALUES (?, ?)", (block, apsw.zeroblob(block_bytes(dimension))))


def clear_vector(connection: apsw.Connection, row: int) -> None:
    """Empty the slot of a row."""
    block, slot = divmod(row, BLOCK)
    found = connection.execute("SELECT length(data) FROM vectors WHERE block = ?", (block,)).fetchone()
    if found is None:
        return
    dimension = found[0] // BLOCK - FACTOR
    with connection.blob_open("main", "vectors", "data", block, True) as blob:
        blob.seek(slot * dimension)
        blob.write(bytes(dimension))
        blob.seek(BLOCK * dimension + slot * FACTOR)
        blob.write(bytes(FACTOR))
    _mark_changed(connection, block)


def clear_all(connection: apsw.Connection) -> None:
    """Drop every vector: another embedder's would not fit them."""
    connection.execute("DELETE FROM vectors; DELETE FROM vector_versions")
    connection.execute("INSERT OR IGNORE INTO waiting SELECT row FROM memories")


class Block(NamedTuple):
    """The vectors of one block, their factors, their sum, and how many slots are filled."""

    version: int
    packed: NDArray[np.int8]
    factors: Floats
    total: NDArray[np.float64]
    filled: int


class Scan:
    """How near every vector is to a question, once what all of them have in common is taken away.

    Static vectors lean to one side, so that everything is a little like everything; seen from their mean they differ.
    """

    def __init__(self, blocks: dict[int, Block], query: Floats) -> None:
        import numpy as np

        self._blocks = blocks
        count = sum(block.filled for block in blocks.values())
        totals = np.array([block.total for block in blocks.values()]).reshape(-1, len(query))
        self._mean = (totals.sum(axis=0, dtype=np.float64) / (count + SHRINK)).astype(np.float32)
        aim = query - self._mean
        aim = aim / max(float(np.linalg.norm(aim)), 1e-9)
        lean = float(self._mean @ aim)
        self.values = np.full((max(blocks, default=-1) + 1) * BLOCK, -np.inf, dtype=np.float32)
        for number, block in blocks.items():
            near = (block.packed.astype(np.float32) @ aim) * block.factors - lean
            self.values[number * BLOCK : (number + 1) * BLOCK] = np.where(block.factors > 0, near, -np.inf)

    def similarities(self, rows: Sequence[int]) -> dict[int, float]:
        """The cosines of the angles between these rows and the question, seen from the mean; none below 0."""
        import numpy as np

        known = [row for row in rows if row < len(self.values) and self.values[row] > 0]
        if not known:
            return {}
        vectors = np.array([self._vector(row) for row in known]) - self._mean
        lengths = np.maximum(np.linalg.norm(vectors, axis=1), 1e-9)
        return dict(zip(known, (self.values[known] / lengths).tolist(), strict=True))

    def _vector(self, row: int) -> Floats:
        block = self._blocks[row // BLOCK]
        vector: Floats = block.packed[row % BLOCK] * block.factors[row % BLOCK]
        return vector


class Matrix:
    """The vectors of one index in memory, read block by block when they changed; threads may share it."""

    def __init__(self) -> None:
        self._lock = Turn()
        self._blocks: dict[int, Block] = {}

    def scan(self, connection: apsw.Connection, query: Floats) -> Scan:
        """Compare every vector with the question's."""
        with self._lock:
            self._catch_up(connection, len(query))
            blocks = dict(self._blocks)
        return Scan(blocks, query)

    def _catch_up(self, connection: apsw.Connection, dimension: int) -> None:
        versions = dict(connection.execute("SELECT block, version FROM vector_versions"))
        for number in self._blocks.keys() - versions.keys():
            del self._blocks[number]
        for number, version in versions.items():
            if number not in self._blocks or self._blocks[number].version != version:
                self._load(connection, number, version, dimension)

    def _load(self, connection: apsw.Connection, number: int, version: int, dimension: int) -> None:
        import numpy as np

        found = connection.execute("SELECT data FROM vectors WHERE block = ?", (number,)).fetchone()
        data = found[0] if found else b""
        if len(data) != block_bytes(dimension):
            self._blocks.pop(number, None)
            return
        packed = np.frombuffer(data, dtype=np.int8, count=BLOCK * dimension).reshape(BLOCK, dimension)
        factors = np.frombuffer(data, dtype=np.float32, offset=BLOCK * dimension)
        total = factors.astype(np.float64) @ packed.astype(np.float64)
        self._blocks[number] = Block(version, packed, factors, total, int(np.count_nonzero(factors)))


def best(similarities: Floats, limit: int, rows: NDArray[np.int64] | None = None) -> list[Neighbour]:
    """The nearest rows, of all or of these, and whatever is as near as the last of them, in no order.

    What lies at a right angle or worse is left out.
    """
    import numpy as np

    values = similarities if rows is None else similarities[rows]
    least = np.partition(values, -limit)[-limit] if limit < len(values) else 0
    chosen = np.flatnonzero((values >= least) & (values > 0))
    return [Neighbour(int(each if rows is None else rows[each]), float(values[each])) for each in chosen]


def among(similarities: Floats, rows: Iterable[int], limit: int) -> list[Neighbour]:
    """The nearest of these rows."""
    import numpy as np

    known = np.fromiter(rows, dtype=np.int64)
    return best(similarities, limit, known[known < len(similarities)])
