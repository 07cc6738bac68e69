"""Vectors as the index stores them, the queue of memories that have none yet, and the search for the nearest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from itertools import groupby, islice
from math import sqrt
from typing import NamedTuple, Protocol

import numpy as np
from apsw import Connection, zeroblob
from numpy.typing import NDArray

from memfolio.errors import SearchIndexError
from memfolio.index.database import Database, Mutex
from memfolio.index.rows import kept, number, of_rows, text_to_embed
from memfolio.index.schema import BLOCK
from memfolio.index.search import Sieve

# Sketches: two bits for each number of a vector, enough to tell which vectors are worth a closer look.
#
# One bit says that the number is well above zero, the other that it is well below. A question's numbers are weighed
# from 0 to 3, so that to compare it with a sketch is to count the bits that differ, those of heavier numbers more
# than once. A sketch depends on nothing but its vector, so the same vectors bring the same choice in whatever order
# they came.

Words = NDArray[np.uint64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

WORD = 64
MOST = 1024
"""The numbers a sketch has at most; those of longer vectors are folded onto these."""
STANDS_OUT = 0.36
"""The part of the mean square that the square of a number must exceed to count as not zero."""
HEAVIEST = 3
LOUD = 2.25
"""How many times the root mean square a number of the question has that weighs most."""


class Aim(NamedTuple):
    """A query as a sketch: the bits that match, and which of them count twice and once."""

    fitting: Words
    twice: Words
    once: Words


def width(dimension: int) -> int:
    """How many words of 64 bits a sketch has."""
    return 2 * -(-min(dimension, MOST) // WORD)


def sketches(packed: NDArray[np.int8]) -> Words:
    """The sketches of vectors, one a row; that of a vector of zeros, and no other, has no bit."""
    numbers = _folded(packed.astype(np.float64))
    squares = np.square(numbers)
    stands_out = squares > STANDS_OUT * squares.sum(axis=1, keepdims=True) / max(numbers.shape[1], 1)
    return np.concatenate([_bits(stands_out & (numbers > 0)), _bits(stands_out & (numbers < 0))], axis=1)


def aim_of(direction: NDArray[np.float64]) -> Aim:
    """Return the sketch of a query vector."""
    numbers = _folded(direction[None, :])
    heaviest = max(LOUD * float(np.sqrt(np.square(numbers).mean())), 1e-9)
    weights = np.rint(np.minimum(np.abs(numbers) / heaviest, 1) * HEAVIEST).astype(np.uint8)
    above = _bits(numbers > 0)
    return Aim(
        fitting=np.concatenate([above, ~above], axis=1)[0],
        twice=np.tile(_bits(weights & 2 > 0), 2)[0],
        once=np.tile(_bits(weights & 1 > 0), 2)[0],
    )


def distances(columns: Words, aim: Aim) -> NDArray[np.uint16]:
    """Return the distances of sketches, stored in columns, from a query."""
    size = columns.shape[1]
    differing, counted, bits = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.uint8)
    twice, once = np.zeros(size, np.uint16), np.zeros(size, np.uint16)
    for words, fitting, heavy, light in zip(columns, aim.fitting, aim.twice, aim.once, strict=True):
        np.bitwise_xor(words, fitting, out=differing)
        twice += np.bitwise_count(np.bitwise_and(differing, heavy, out=counted), out=bits)
        once += np.bitwise_count(np.bitwise_and(differing, light, out=counted), out=bits)
    return 2 * twice + once


def _folded(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fold rows to at most `MOST` numbers by adding up their parts."""
    rows, length = numbers.shape
    if length <= MOST:
        return numbers
    layers = -(-length // MOST)
    padded = np.zeros((rows, layers * MOST))
    padded[:, :length] = numbers
    added: NDArray[np.float64] = padded.reshape(rows, layers, MOST).sum(axis=1)
    return added


def _bits(flags: NDArray[np.bool_]) -> Words:
    rows, length = flags.shape
    padded = np.zeros((rows, -(-length // WORD) * WORD), np.bool_)
    padded[:, :length] = flags
    return np.packbits(padded, axis=1).view(np.uint64)


# Vectors as the index keeps them: small, each with a sketch, and with the sum of all.
#
# A vector of unit length is stored as signed bytes with one factor, a quarter of its size; the angle between two
# changes by less than half a percent.

FACTOR = 4
"""Bytes of the factor behind a vector."""
FINE = 1 << 24
"""The number of steps per whole number in which fractions are added up exactly."""


def pack(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Unit vectors as signed bytes, and the factors that bring them back."""
    peaks = np.abs(vectors).max(axis=1, initial=0).astype(np.float32)
    factors = np.where(peaks > 0, peaks / 127, 1).astype(np.float32)
    return np.rint(vectors / factors[:, None]).astype(np.int8), np.where(peaks > 0, factors, 0).astype(np.float32)


def unpack(data: Iterable[bytes], dimension: int) -> tuple[NDArray[np.int8], Floats]:
    """The same from what is stored."""
    table = np.frombuffer(b"".join(data), np.uint8).reshape(-1, dimension + FACTOR)
    return table[:, :dimension].view(np.int8), np.ascontiguousarray(table[:, dimension:]).view(np.float32)[:, 0]


def store_vectors(db: Connection, rows: Sequence[int], vectors: Floats) -> None:
    """Replace the vectors of these rows, given in ascending order."""
    if not rows:
        return
    packed, factors = pack(vectors)
    _take_out(db, rows, packed.shape[1])
    data = [each.tobytes() + factor.tobytes() for each, factor in zip(packed, factors, strict=True)]
    db.executemany("INSERT INTO vectors VALUES (?, ?)", zip(rows, data, strict=True))
    _put_sketches(db, rows, [each.tobytes() for each in sketches(packed)])
    _count(db, packed, factors, 1)


def clear_vector(db: Connection, row: int) -> None:
    """Let a row have no vector."""
    found = db.execute("SELECT data FROM vectors WHERE row = ?", (row,)).fetchone()
    if found is not None:
        dimension = len(found[0]) - FACTOR
        _take_out(db, [row], dimension)
        _put_sketches(db, [row], [bytes(8 * width(dimension))])


def clear_all(db: Connection) -> None:
    """Drop every vector: another embedder's would not fit them."""
    for table in ("vectors", "vector_sum", "sketches", "vector_versions"):
        db.execute(f"DELETE FROM {table}")
    db.execute("INSERT OR IGNORE INTO waiting SELECT row FROM memories")


def _take_out(db: Connection, rows: Sequence[int], dimension: int) -> None:
    found = read_vectors(db, rows, dimension)
    if found:
        _count(db, *unpack(found.values(), dimension), -1)
    db.executemany("DELETE FROM vectors WHERE row = ?", [(row,) for row in rows])


def _put_sketches(db: Connection, rows: Sequence[int], data: Sequence[bytes]) -> None:
    size = len(data[0])
    for block, group in groupby(zip(rows, data, strict=True), key=lambda pair: pair[0] // BLOCK):
        db.execute("INSERT OR IGNORE INTO sketches VALUES (?, ?)", (block, zeroblob(BLOCK * size)))
        with db.blob_open("main", "sketches", "data", block, True) as blob:
            for row, sketch in group:
                blob.seek(row % BLOCK * size)
                blob.write(sketch)
        _mark_changed(db, block)


def _mark_changed(db: Connection, block: int) -> None:
    """Give the block a version that no process can have seen, not even of a deleted block."""
    db.execute("INSERT OR REPLACE INTO vector_versions VALUES (?, random())", (block,))


def _count(db: Connection, packed: NDArray[np.int8], factors: Floats, times: int) -> None:
    """Add vectors to the sum of all, or take them away from it."""
    count, total = sum_of_all(db, packed.shape[1])
    added = np.rint(packed * factors[:, None].astype(np.float64) * FINE).astype(np.int64).sum(axis=0)
    count += times * int(np.count_nonzero(factors))
    db.execute("INSERT OR REPLACE INTO vector_sum VALUES (1, ?, ?)", (count, (total + times * added).tobytes()))


def sum_of_all(db: Connection, dimension: int) -> tuple[int, Rows]:
    """Return the number of vectors and their sum, in steps of `FINE`."""
    found = db.execute("SELECT count, data FROM vector_sum").fetchone()
    if found is None or len(found[1]) != 8 * dimension:
        return 0, np.zeros(dimension, np.int64)
    return found[0], np.frombuffer(found[1], np.int64)


def mean_of_all(db: Connection, dimension: int) -> Doubles:
    """Return the mean of all vectors, and of `SHRINK` zero vectors so that a few memories do not decide it."""
    count, total = sum_of_all(db, dimension)
    return total / (count + SHRINK) / FINE


def read_vectors(db: Connection, rows: Sequence[int] | None, dimension: int) -> dict[int, bytes]:
    """The vectors of these rows as they are stored, as far as they have some; of all rows, if None."""
    sql = "SELECT row, data FROM vectors"
    found = db.execute(sql) if rows is None else of_rows(db, f"{sql} WHERE row IN carray(?)", rows)
    return {row: data for row, data in found if len(data) == dimension + FACTOR}


# Memories that wait for their vectors, and whose vectors the index holds.

CHUNK = 256
"""How many vectors are carried from one index to another at once."""


class EmbedderIdentity(Protocol):
    """The identity of an embedder, as far as the index has to know it."""

    @property
    def text(self) -> str: ...

    def matches(self, stored: str) -> bool: ...


class UnembeddedMemory(NamedTuple):
    """A memory without a vector: its row, and the text that the vector is made of."""

    row: int
    text: str


def pending(db: Connection, limit: int) -> list[UnembeddedMemory]:
    """Some memories that have no vector yet, in the order of their rows: those that were written last."""
    return _waiting(db, "ORDER BY w.row DESC LIMIT ?", limit)[::-1]


def _waiting(db: Connection, rest: str, *values: int) -> list[UnembeddedMemory]:
    sql = f"SELECT m.row, m.content, m.more FROM waiting w JOIN memories m ON m.row = w.row {rest}"
    return [UnembeddedMemory(row, _text(content, more)) for row, content, more in db.execute(sql, values)]


def count_pending(db: Connection) -> int:
    return number(db, "SELECT count(*) FROM waiting")


def _text(content: str, more: str | None) -> str:
    return text_to_embed(content, json.loads(more).get("heading", ()) if more else ())


def keep_vectors(
    db: Connection, identity: EmbedderIdentity, found: Sequence[UnembeddedMemory], vectors: NDArray[np.float32]
) -> bool:
    """Store the vectors of memories that still say what they said; False when the index is another embedder's."""
    if not is_identity(db, identity):
        return False
    current = set(_waiting(db, "WHERE w.row BETWEEN ? AND ?", found[0].row, found[-1].row))
    same = [nth for nth, each in enumerate(found) if each in current]
    rows = [found[nth].row for nth in same]
    store_vectors(db, rows, vectors[same])
    db.executemany("DELETE FROM waiting WHERE row = ?", [(row,) for row in rows])
    return True


def identity_of(db: Connection) -> str | None:
    """Return the embedder of the stored vectors; None if there are none."""
    found: str | None = db.execute("SELECT value FROM meta WHERE key = 'identity'").get
    return found


def is_identity(db: Connection, identity: EmbedderIdentity) -> bool:
    """Whether the vectors here can be compared with those of this embedder."""
    stored = identity_of(db)
    return stored is not None and identity.matches(stored)


def take_over(db: Connection, identity: EmbedderIdentity, *, spared: Set[str]) -> str | None:
    """Make room for the vectors of this embedder; returns whose were there, which go unless they are to be spared."""
    stored = identity_of(db)
    if stored is None or not (identity.matches(stored) or stored in spared):
        clear_all(db)
        # Vectors that were paid for are kept under the name that the embedder had then.
        name = next(filter(identity.matches, _paid_identities(db)), identity.text)
        db.execute("INSERT OR REPLACE INTO meta VALUES ('identity', ?)", (name,))
    return stored


def text_hash(text: str) -> bytes:
    """The key of stored paid vectors."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def _paid_identities(db: Connection) -> Iterator[str]:
    """The embedders that were paid for vectors."""
    name: str | None = ""
    while name is not None:
        # Step by step, since DISTINCT would read every vector.
        name = db.execute("SELECT min(identity) FROM embeddings WHERE identity > ?", (name,)).get
        if name is not None:
            yield name


def paid_vectors(db: Connection, identity: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
    """The vectors of these texts that were kept."""
    sql = "SELECT vector FROM embeddings WHERE identity = ? AND hash = ?"
    found = {each: db.execute(sql, (identity, each)).fetchone() for each in hashes}
    return {each: row[0] for each, row in found.items() if row}


def keep_paid_vectors(db: Connection, identity: str, vectors: Mapping[bytes, bytes]) -> None:
    """Keep vectors that were paid for, by the hash of their text."""
    rows = [(identity, each, vector) for each, vector in vectors.items()]
    db.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)", rows)


def carry_over(source: Database, db: Connection) -> None:
    """Take the vectors that were paid for from another index, as far as they can be read and their texts are here."""
    with suppress(SearchIndexError):
        identities = source.ask(lambda old: list(_paid_identities(old)))
        texts = db.execute("SELECT content, more FROM memories")
        while identities and (some := list(islice(texts, CHUNK))):
            _carry(source, db, identities, [text_hash(_text(content, more)) for content, more in some])


def _carry(source: Database, db: Connection, identities: Sequence[str], hashes: Sequence[bytes]) -> None:
    for identity in identities:
        kept: dict[bytes, bytes] = {}
        with suppress(SearchIndexError):  # damage costs what lies beside it, and no more
            kept = source.ask(lambda old, identity=identity: paid_vectors(old, identity, hashes))  # type: ignore[misc]
        keep_paid_vectors(db, identity, kept)


Places = NDArray[np.int32]

# Search among vectors: by their sketches first, which stay in memory, then by the vectors that these point to.
#
# Vectors are compared in whole numbers, so that equal ones are equally near wherever they stand.

SEGMENT = 16
"""How many blocks of sketches are compared at once."""
SPAN = SEGMENT * BLOCK
SHRINK = 50
"""How many vectors of nothing the mean is taken with."""
CLOSER_LOOK = BLOCK
"""How many vectors at least are compared for a question; so many that next to none of the nearest is missed.

All of a home whose vectors lie in one block, which therefore needs no sketches.
"""
PER_WANTED = 8
"""The same for each result that is wanted."""
MOST_EQUAL = 8
"""By which factor equally near sketches may exceed that."""
KEPT = 32 << 20
"""How many bytes of vectors that were read are kept in memory."""
ROUGH = 1e-3
"""More than single precision gets wrong in a sum of products."""
SAMPLED = 16
"""One in so many is sampled to estimate the cut-off."""
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
        self.squares = np.empty(size, np.float64)

    @property
    def is_full(self) -> bool:
        return 2 * self._count > len(self.packed)

    def add(self, new: Vectors) -> int | None:
        """Append vectors; returns the position of the first, or None if there is no room."""
        with self._lock:
            first, last = self._count, self._count + len(new.rows)
            if last > len(self.packed):
                return None
            self._count = last
        self.packed[first:last], self.factors[first:last] = new.numbers, new.factors
        self.squares[first:last] = new.squares
        return first


class Matrix:
    """The vectors of one index in memory: all of them where they are few, else their sketches. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Mutex()
        self._versions: dict[int, int] = {}
        self._mean: Doubles = np.zeros(0)
        self._few: Vectors | None = None
        self._segments: dict[int, Segment] = {}
        self._shelf: VectorTable | None = None
        self._places: Places | None = None

    def scan(self, db: Connection, query: Floats) -> Scan:
        """Get ready to compare vectors with the question's."""
        with self._lock:
            versions = self._stored_versions(db)
            if versions != self._versions or len(self._mean) != len(query):
                self._mean, self._few = mean_of_all(db, len(query)), None
            if len(versions) <= 1:
                if self._few is None:
                    found = Vectors.of_stored(read_vectors(db, None, len(query)), len(query))
                    self._few = found._replace(squares=_seen_from(self._mean, found))
                    self._versions, self._segments, self._shelf = versions, {}, None
                return Scan(query, self._mean, self._few)
            return self._scan_sketches(db, query, versions)

    def likeness(self, db: Connection, row: int, others: Sequence[int]) -> dict[int, float]:
        """Return the similarity of these rows to one, as far as all of them have vectors."""
        with self._lock:
            few = self._few if self._stored_versions(db) == self._versions else None
        if few is None:
            found = dict(of_rows(db, "SELECT row, data FROM vectors WHERE row IN carray(?)", [row, *others]))
            dimension = len(found.get(row, ())) - FACTOR
            found = {each: data for each, data in sorted(found.items()) if len(data) == dimension + FACTOR}
            few = Vectors.of_stored(found, max(dimension, 0))
        own, vectors = few.at([row]), few.at(others)
        if not len(own.rows):
            return {}
        numbers, factors = vectors.exact()
        along = np.einsum("ij,j->i", numbers, own.numbers[0].astype("float64")) * factors * float(own.factors[0])
        return dict(zip(vectors.rows.tolist(), along.tolist(), strict=True))

    def _stored_versions(self, db: Connection) -> dict[int, int]:
        table = kept(db, Matrix)
        if 0 not in table:
            table[0] = dict(db.execute("SELECT block, version FROM vector_versions"))
        found: dict[int, int] = table[0]
        return found

    def _scan_sketches(self, db: Connection, query: Floats, versions: dict[int, int]) -> SketchScan:
        if versions != self._versions:
            self._catch_up(db, versions, len(query))
        if self._shelf is None or self._shelf.is_full or self._shelf.packed.shape[1] != len(query):
            self._shelf, self._places = VectorTable(len(query)), None
        if self._places is None:
            self._places = _no_places(self._versions)
        return SketchScan(db, query, self._mean, self._segments, self._shelf, self._places)

    def _catch_up(self, db: Connection, versions: dict[int, int], dimension: int) -> None:
        """Read what changed. What there was before stays as it is, for those who search in it at this moment."""
        changed = {block for block, _ in versions.items() ^ self._versions.items()}
        segments = self._segments.copy()
        # A home that was small until now has no segment of a block that did not change.
        for nth in {block // SEGMENT for block in (changed if segments else versions)}:
            blocks = [block for block in range(nth * SEGMENT, (nth + 1) * SEGMENT) if block in versions]
            old = segments.pop(nth, None)
            if blocks:
                segments[nth] = _load(db, blocks, changed, old, dimension)
        self._versions, self._segments, self._few = versions, segments, None
        self._places = _kept_places(self._places, versions, changed)


def _no_places(versions: Mapping[int, int]) -> Places:
    """Return the position of each row on the shelf; -1 if it has none."""
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
    """Vectors that were read: their rows, whole numbers, the factors of these, and the squares of their lengths."""

    rows: Rows
    numbers: NDArray[np.int8]
    factors: Floats
    squares: Doubles

    @classmethod
    def of_stored(cls, found: Mapping[int, bytes], dimension: int) -> Vectors:
        numbers, factors = unpack(found.values(), dimension)
        squares = np.square(factors.astype(np.float64)) * np.einsum("ij,ij->i", numbers, numbers, dtype=np.int64)
        return cls(np.fromiter(found, np.int64, len(found)), numbers, factors, squares)

    def of(self, chosen: NDArray[np.bool_ | np.int64]) -> Vectors:
        return Vectors(self.rows[chosen], self.numbers[chosen], self.factors[chosen], self.squares[chosen])

    def at(self, rows: Sequence[int] | Rows) -> Vectors:
        """Return the vectors of these rows that are here; `self.rows` is in ascending order."""
        wanted = np.asarray(rows, np.int64)
        if not len(self.rows):
            return self
        places = np.minimum(np.searchsorted(self.rows, wanted), len(self.rows) - 1)
        return self.of(places[self.rows[places] == wanted])

    def exact(self) -> tuple[Doubles, Doubles]:
        """Return numbers and factors in double precision, in which whole numbers are exact."""
        return self.numbers.astype("float64"), self.factors.astype("float64")


class Scan:
    """How near vectors are to a question, once what all of them have in common is taken away.

    Static vectors lean to one side, so that everything is a little like everything; seen from their mean they differ.
    """

    def __init__(self, query: Floats, mean: Doubles, few: Vectors) -> None:
        self._few = few
        aim = query - mean
        aim /= max(sqrt(aim.dot(aim)), 1e-9)
        # As whole numbers, since their products then add up to the same in any order.
        self._aim, self._mean = np.rint(aim * FINE), mean
        self._offset = float(_whole(mean) @ self._aim) / FINE**2

    def nearest(self, limit: int) -> dict[int, float]:
        """Return the nearest rows and all that are as near as the last of them, unordered."""
        return self._nearest_of(self._candidates(limit), limit)

    def among(self, rows: Sequence[int], limit: int) -> dict[int, float]:
        """The nearest of these rows."""
        return self._nearest_of(self._vectors(np.asarray(rows, np.int64)), limit)

    def _candidates(self, limit: int) -> Vectors:
        """Those that may be among the nearest, and many more."""
        return self._few

    def _vectors(self, rows: Rows) -> Vectors:
        """The vectors of these rows, as far as they have one."""
        return self._few.at(rows)

    def _nearest_of(self, vectors: Vectors, limit: int) -> dict[int, float]:
        if len(vectors.rows) > 2 * limit:
            vectors = vectors.of(self._roughly(vectors, limit))
        return best(vectors.rows, self._toward(*vectors.exact()), limit)

    def _roughly(self, vectors: Vectors, limit: int) -> NDArray[np.bool_]:
        """Return which of them may be among the nearest, at less cost than exact distances."""
        aim = (self._aim / FINE).astype(np.float32)
        along = np.einsum("ij,j->i", vectors.numbers.astype(np.float32), aim) * vectors.factors
        near: NDArray[np.bool_] = along >= np.partition(along, -limit)[-limit] - ROUGH
        return near

    def similarities(self, rows: Sequence[int]) -> dict[int, float]:
        """The cosines of the angles between these rows and the question, seen from the mean; none below 0."""
        vectors = self._vectors(np.asarray(rows, np.int64))
        cosines = self._toward(*vectors.exact()) / np.sqrt(np.maximum(self._squares(vectors), 1e-18))
        return {row: cosine for row, cosine in zip(vectors.rows.tolist(), cosines.tolist(), strict=True) if cosine > 0}

    def _squares(self, vectors: Vectors) -> Doubles:
        """Return the squared lengths of vectors, relative to the mean."""
        return vectors.squares

    def _toward(self, numbers: Doubles, factors: Doubles) -> Doubles:
        """How far each vector goes towards the question, seen from the mean; a vector of zeros goes nowhere."""
        toward = _along(numbers, factors, self._aim) - self._offset
        return np.where(factors > 0, toward, 0)


class SketchScan(Scan):
    """The same where vectors are many: those whose sketches are nearest are compared, as far as kept from memory."""

    def __init__(
        self,
        db: Connection,
        query: Floats,
        mean: Doubles,
        segments: Mapping[int, Segment],
        shelf: VectorTable,
        places: Places,
    ) -> None:
        super().__init__(query, mean, Vectors.of_stored({}, len(query)))
        self._db = db
        self._segments = segments
        self._shelf = shelf
        self._places = places
        self._dimension = len(query)

    def _candidates(self, limit: int) -> Vectors:
        count = max(CLOSER_LOOK, PER_WANTED * limit) * max(1, 256 // self._dimension)
        near = np.flatnonzero(self._distances <= _reach(self._distances, count))
        if len(near) > MOST_EQUAL * count:
            near = near[np.argsort(self._distances[near], kind="stable")][: MOST_EQUAL * count]
        return self._vectors(near)

    def _squares(self, vectors: Vectors) -> Doubles:
        # Cached vectors outlive a change of the mean.
        return _seen_from(self._mean, vectors)

    @cached_property
    def _distances(self) -> NDArray[np.uint16]:
        """How far the sketch of each row is from the question."""
        aim = aim_of(self._aim)
        found = np.full((max(self._segments, default=-1) + 1) * SPAN, EMPTY, np.uint16)
        for nth, segment in self._segments.items():
            here = distances(segment.columns, aim)
            found[nth * SPAN : nth * SPAN + len(here)] = np.where(segment.filled, here, EMPTY)
        return found

    def _vectors(self, rows: Rows) -> Vectors:
        asked = rows[rows < len(self._places)]
        new = self._read(asked[self._places[asked] < 0])
        places = self._places[asked]
        asked, places = asked[places >= 0], places[places >= 0]
        shelf = self._shelf
        kept = Vectors(asked, shelf.packed[places], shelf.factors[places], shelf.squares[places])
        if new is None:
            return kept
        return Vectors(
            np.concatenate([kept.rows, new.rows]),
            np.concatenate([kept.numbers, new.numbers]),
            np.concatenate([kept.factors, new.factors]),
            np.concatenate([kept.squares, new.squares]),
        )

    def _read(self, rows: Rows) -> Vectors | None:
        """Read the vectors of these rows onto the shelf; those for which it has no room are returned."""
        found = read_vectors(self._db, rows.tolist(), self._dimension)
        if not found:
            return None
        new = Vectors.of_stored(found, self._dimension)
        first = self._shelf.add(new)
        if first is None:
            return new
        self._places[new.rows] = np.arange(first, first + len(new.rows), dtype=np.int32)
        return None


def _whole(mean: Doubles) -> Doubles:
    return np.rint(mean * FINE)


def _seen_from(mean: Doubles, vectors: Vectors) -> Doubles:
    """Return the squared lengths of these vectors, relative to the mean."""
    whole = _whole(mean)
    return vectors.squares + (float(whole @ whole) / FINE**2 - 2 * _along(*vectors.exact(), whole))


def _along(numbers: Doubles, factors: Doubles, direction: Doubles) -> Doubles:
    """How far vectors go into a direction, which is in whole numbers."""
    # Not by BLAS, whose threads get in each other's way for something as small as this.
    along: Doubles = factors * np.einsum("ij,j->i", numbers, direction) / FINE
    return along


def _reach(distances: NDArray[np.uint16], count: int) -> int:
    """Return the distance within which at least so many are, if there are so many."""
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


def neighbours(scan: Scan, sieve: Sieve, limit: int) -> dict[int, float]:
    """The nearest `limit` of the memories that pass, nearest first, equal ones by id."""
    return sieve.search(lambda rows, most: scan.nearest(most) if rows is None else scan.among(rows, most), limit)
