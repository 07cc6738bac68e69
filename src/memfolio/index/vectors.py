"""Vectors as the index stores them, with their sketches, and the queue of memories that have none yet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from hashlib import blake2b
from itertools import groupby, islice
from typing import NamedTuple, Protocol

import numpy as np
from apsw import Connection, zeroblob
from numpy.typing import NDArray

from memfolio.errors import SearchIndexError
from memfolio.index.database import Database
from memfolio.index.rows import number, rows_array, text_to_embed
from memfolio.index.schema import BLOCK

# Sketches: two bits for each number of a vector, enough to tell which vectors are worth a closer look.
#
# One bit says that the number is well above zero, the other that it is well below. A question's numbers are weighed
# from 0 to 3, so that to compare it with a sketch is to count the bits that differ, those of heavier numbers more
# than once. A sketch depends on nothing but its vector, so the same vectors bring the same choice in whatever order
# they came.

Words = NDArray[np.uint64]
Floats = NDArray[np.float32]
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
    """A question in the form of a sketch: the bits that fit it, and which of them count twice and once."""

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
    """What a question's direction looks for in sketches."""
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
    """How far the sketches, which lie in columns, are from what is looked for."""
    size = columns.shape[1]
    differing, counted, bits = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.uint8)
    twice, once = np.zeros(size, np.uint16), np.zeros(size, np.uint16)
    for column, fitting, heavy, light in zip(columns, aim.fitting, aim.twice, aim.once, strict=True):
        np.bitwise_xor(column, fitting, out=differing)
        twice += np.bitwise_count(np.bitwise_and(differing, heavy, out=counted), out=bits)
        once += np.bitwise_count(np.bitwise_and(differing, light, out=counted), out=bits)
    return 2 * twice + once


def _folded(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of at most `MOST` numbers: what is longer is laid upon itself and added up."""
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
"""How many steps a whole number is divided into where fractions are added up exactly."""


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
    """Put the vectors of these rows, which ascend, in the place of what was there."""
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
    """Give the block a version that no process can have seen, not even one of a block that is gone."""
    db.execute("INSERT OR REPLACE INTO vector_versions VALUES (?, random())", (block,))


def _count(db: Connection, packed: NDArray[np.int8], factors: Floats, times: int) -> None:
    """Add vectors to the sum of all, or take them away from it."""
    count, total = sum_of_all(db, packed.shape[1])
    added = np.rint(packed * factors[:, None].astype(np.float64) * FINE).astype(np.int64).sum(axis=0)
    count += times * int(np.count_nonzero(factors))
    db.execute("INSERT OR REPLACE INTO vector_sum VALUES (1, ?, ?)", (count, (total + times * added).tobytes()))


def sum_of_all(db: Connection, dimension: int) -> tuple[int, Rows]:
    """How many vectors there are, and what they add up to, in steps of `FINE`."""
    found = db.execute("SELECT count, data FROM vector_sum").fetchone()
    if found is None or len(found[1]) != 8 * dimension:
        return 0, np.zeros(dimension, np.int64)
    return found[0], np.frombuffer(found[1], np.int64)


def read_vectors(db: Connection, rows: Sequence[int], dimension: int) -> dict[int, bytes]:
    """The vectors of these rows as they are stored, as far as they have some."""
    if not rows:
        return {}  # SQLite takes no array of nothing
    found = db.execute("SELECT row, data FROM vectors WHERE row IN carray(?)", (rows_array(rows),))
    return {row: data for row, data in found if len(data) == dimension + FACTOR}


# Memories that wait for their vectors, and whose vectors the index holds.

CHUNK = 256
"""How many vectors are carried from one index to another at once."""


class Whose(Protocol):
    """The identity of an embedder, as far as the index has to know it."""

    @property
    def text(self) -> str: ...

    def matches(self, stored: str) -> bool: ...


class UnembeddedMemory(NamedTuple):
    """A memory without a vector: its row, and the text that the vector is made of."""

    row: int
    text: str


def pending(db: Connection, limit: int) -> list[UnembeddedMemory]:
    """Some memories that have no vector yet."""
    return _waiting(db, "ORDER BY w.row LIMIT ?", limit)


def _waiting(db: Connection, rest: str, *values: int) -> list[UnembeddedMemory]:
    sql = f"SELECT m.row, m.content, m.more FROM waiting w JOIN memories m ON m.row = w.row {rest}"
    return [UnembeddedMemory(row, _text(content, more)) for row, content, more in db.execute(sql, values)]


def count_pending(db: Connection) -> int:
    return number(db, "SELECT count(*) FROM waiting")


def _text(content: str, more: str | None) -> str:
    return text_to_embed(content, json.loads(more).get("heading", ()) if more else ())


def keep_vectors(
    db: Connection, identity: Whose, found: Sequence[UnembeddedMemory], vectors: NDArray[np.float32]
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
    """Whose vectors these are; None when there are none."""
    found: str | None = db.execute("SELECT value FROM meta WHERE key = 'identity'").get
    return found


def is_identity(db: Connection, identity: Whose) -> bool:
    """Whether the vectors here can be compared with those of this embedder."""
    stored = identity_of(db)
    return stored is not None and identity.matches(stored)


def take_over(db: Connection, identity: Whose, *, spared: Set[str]) -> str | None:
    """Make room for the vectors of this embedder; returns whose were there, which go unless they are to be spared."""
    stored = identity_of(db)
    if stored is None or not (identity.matches(stored) or stored in spared):
        clear_all(db)
        # Vectors that were paid for are kept under the name that the embedder had then.
        name = next(filter(identity.matches, _payees(db)), identity.text)
        db.execute("INSERT OR REPLACE INTO meta VALUES ('identity', ?)", (name,))
    return stored


def text_hash(text: str) -> bytes:
    """What vectors that were paid for are kept by."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def _payees(db: Connection) -> Iterator[str]:
    """The embedders that were paid for vectors."""
    name: str | None = ""
    while name is not None:
        # Step by step, since DISTINCT would read every vector.
        name = db.execute("SELECT min(identity) FROM embeddings WHERE identity > ?", (name,)).get
        if name is not None:
            yield name


def kept_vectors(db: Connection, identity: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
    """The vectors of these texts that were kept."""
    sql = "SELECT vector FROM embeddings WHERE identity = ? AND hash = ?"
    found = {each: db.execute(sql, (identity, each)).fetchone() for each in hashes}
    return {each: row[0] for each, row in found.items() if row}


def buy_vectors(db: Connection, identity: str, vectors: Mapping[bytes, bytes]) -> None:
    """Keep vectors that were paid for, by the hash of their text."""
    rows = [(identity, each, vector) for each, vector in vectors.items()]
    db.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)", rows)


def carry_over(source: Database, db: Connection) -> None:
    """Take the vectors that were paid for from another index, as far as they can be read and their texts are here."""
    with suppress(SearchIndexError):
        payees = source.ask(lambda old: list(_payees(old)))
        texts = db.execute("SELECT content, more FROM memories")
        while payees and (some := list(islice(texts, CHUNK))):
            _carry(source, db, payees, [text_hash(_text(content, more)) for content, more in some])


def _carry(source: Database, db: Connection, payees: Sequence[str], hashes: Sequence[bytes]) -> None:
    for payee in payees:
        kept: dict[bytes, bytes] = {}
        with suppress(SearchIndexError):  # damage costs what lies beside it, and no more
            kept = source.ask(lambda old, payee=payee: kept_vectors(old, payee, hashes))  # type: ignore[misc]
        buy_vectors(db, payee, kept)
