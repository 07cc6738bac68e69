"""Memories that wait for their vectors, and whose vectors the index holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

import apsw

from memfolio.errors import SearchIndexError
from memfolio.index.database import Database
from memfolio.index.rows import text_to_embed
from memfolio.index.vectors import clear_all, store_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHUNK = 256
"""How many vectors are carried from one index to another at once."""


class Whose(Protocol):
    """The identity of an embedder, as far as the index has to know it."""

    @property
    def text(self) -> str: ...

    def matches(self, stored: str) -> bool: ...


class Pending(NamedTuple):
    """A memory without a vector: its row, and the text that the vector is made of."""

    row: int
    text: str


def pending(connection: apsw.Connection, limit: int) -> list[Pending]:
    """Some memories that have no vector yet."""
    sql = "SELECT m.row, m.content, m.more FROM waiting w JOIN memories m ON m.row = w.row ORDER BY w.row LIMIT ?"
    return [Pending(row, _text(content, more)) for row, content, more in connection.execute(sql, (limit,))]


def count_pending(connection: apsw.Connection) -> int:
    found: int = connection.execute("SELECT count(*) FROM waiting").get
    return found


def _text(content: str, more: str | None) -> str:
    return text_to_embed(content, json.loads(more).get("heading", ()) if more else ())


def keep_vectors(
    connection: apsw.Connection, identity: Whose, found: Sequence[Pending], vectors: NDArray[np.float32]
) -> bool:
    """Store the vectors of memories that still say what they said; False when the index is another embedder's."""
    if not is_identity(connection, identity):
        return False
    rows = [each.row for each in found]
    sql = "SELECT m.row, m.content, m.more FROM waiting w JOIN memories m ON m.row = w.row WHERE w.row BETWEEN ? AND ?"
    current = {row: _text(content, more) for row, content, more in connection.execute(sql, (rows[0], rows[-1]))}
    same = [nth for nth, each in enumerate(found) if current.get(each.row) == each.text]
    store_vectors(connection, [rows[nth] for nth in same], vectors[same])
    connection.executemany("DELETE FROM waiting WHERE row = ?", [(rows[nth],) for nth in same])
    return True


def identity_of(connection: apsw.Connection) -> str | None:
    """Whose vectors these are; None when there are none."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
    return found[0] if found else None


def is_identity(connection: apsw.Connection, identity: Whose) -> bool:
    """Whether the vectors here can be compared with those of this embedder."""
    stored = identity_of(connection)
    return stored is not None and identity.matches(stored)


def take_over(connection: apsw.Connection, identity: Whose, *, spared: Set[str]) -> str | None:
    """Make room for the vectors of this embedder; returns whose were there, which go unless they are to be spared."""
    stored = identity_of(connection)
    if stored is None or not (identity.matches(stored) or stored in spared):
        clear_all(connection)
        # Vectors that were paid for are kept under the name that the embedder had then.
        name = next(filter(identity.matches, _payees(connection)), identity.text)
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('identity', ?)", (name,))
    return stored


def text_hash(text: str) -> bytes:
    """What vectors that were paid for are kept by."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def _payees(connection: apsw.Connection) -> Iterator[str]:
    """The embedders that were paid for vectors."""
    name: str | None = ""
    while name is not None:
        # Step by step, since DISTINCT would read every vector.
        name = connection.execute("SELECT min(identity) FROM embeddings WHERE identity > ?", (name,)).get
        if name is not None:
            yield name


def kept_vectors(connection: apsw.Connection, identity: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
    """The vectors of these texts that were kept."""
    sql = "SELECT vector FROM embeddings WHERE identity = ? AND hash = ?"
    found = {each: connection.execute(sql, (identity, each)).fetchone() for each in hashes}
    return {each: row[0] for each, row in found.items() if row}


def buy_vectors(connection: apsw.Connection, identity: str, vectors: Mapping[bytes, bytes]) -> None:
    """Keep vectors that were paid for, by the hash of their text."""
    rows = [(identity, each, vector) for each, vector in vectors.items()]
    connection.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)", rows)


def carry_over(source: Database, connection: apsw.Connection) -> None:
    """Take the vectors that were paid for from another index, as far as they can be read and their texts are here."""
    with suppress(SearchIndexError):
        with source.reading() as old:
            payees = list(_payees(old))
        texts = connection.execute("SELECT content, more FROM memories")
        while payees and (some := list(islice(texts, CHUNK))):
            _carry(source, connection, payees, [text_hash(_text(content, more)) for content, more in some])


def _carry(source: Database, connection: apsw.Connection, payees: Sequence[str], hashes: Sequence[bytes]) -> None:
    for payee in payees:
        kept: dict[bytes, bytes] = {}
        with suppress(SearchIndexError), source.reading() as old:  # damage costs what lies beside it, and no more
            kept = kept_vectors(old, payee, hashes)
        buy_vectors(connection, payee, kept)
