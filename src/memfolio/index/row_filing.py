"""Writing rows of memories, with their words, tags and links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from memfolio.index import tally
from memfolio.index.lookup import lines_about
from memfolio.index.pages import mentions
from memfolio.index.rows import COLUMNS, INSERT, SELECT, Row, about, clean, item_of, spot_of
from memfolio.index.vectors import clear_vector
from memfolio.text import searchable
from memfolio.types import MemoryItem

Line = Mapping[str, Any]
_UPDATE = f"UPDATE memories SET {', '.join(f'{name} = ?' for name in COLUMNS)} WHERE row = ?"
_WORDS = "INSERT INTO words (rowid, content, about) VALUES (?, ?, ?)"
_ANEW = INSERT.replace("INSERT", "INSERT OR IGNORE", 1)
_CONTENT = COLUMNS.index("content")
_FILE = COLUMNS.index("file")
_SEARCHED = tuple(map(COLUMNS.index, ("id", "file", "content", "more", "role", "user")))
"""The columns from which a memory's words, tags and links come."""


class RowFiling:
    """The rows of memories, inside one transaction of `db`."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._told: set[str] | None = None
        """The memories about which state lines exist."""

    def value(self, sql: str, *bindings: Any, default: Any = None) -> Any:
        found = self._db.execute(sql, bindings).fetchone()
        return default if found is None or found[0] is None else found[0]

    def next_key(self) -> int:
        """The number of the next row."""
        return int(self.value("SELECT max(row) FROM memories", default=0)) + 1

    def add_all(self, rows: Sequence[Row], words: Sequence[tuple[int, str, str]]) -> None:
        """File many memories at once, all of them new."""
        self._db.executemany(INSERT, rows)
        self._add_words(rows, words)

    def add_unknown(self, rows: Sequence[Row], words: Sequence[tuple[int, str, str]]) -> set[int]:
        """File those memories whose ids nobody has; returns the numbers of the others."""
        before = self._db.total_changes()
        self._db.executemany(_ANEW, rows)
        known: set[int] = set()
        if self._db.total_changes() - before < len(rows):
            sql = "SELECT row FROM memories WHERE row BETWEEN ? AND ?"
            known = {row[0] for row in rows} - {key for (key,) in self._db.execute(sql, (rows[0][0], rows[-1][0]))}
            rows = [row for row in rows if row[0] not in known]
            words = [each for each in words if each[0] not in known]
        self._add_words(rows, words)
        return known

    def _add_words(self, rows: Sequence[Row], words: Sequence[tuple[int, str, str]]) -> None:
        self._db.executemany("INSERT INTO waiting VALUES (?)", [(row[0],) for row in rows])
        self._db.executemany(_WORDS, words)
        tally.shift(self._db, (row[1:] for row in rows))

    def update(self, key: int, old: Row, row: Row, item: MemoryItem, heading: Sequence[str] = ()) -> None:
        """Put a row in the place of another."""
        self.rewrite(key, old, row)
        if all(old[each] == row[each] for each in _SEARCHED):
            return
        self._unlink(key, item_of(old), old[_FILE])
        self._db.execute("DELETE FROM words WHERE rowid = ?", (key,))
        self._db.execute(_WORDS, (key, searchable(item.content), searchable(about(item, heading))))
        self.link(key, item, row[_FILE])
        if (old[_CONTENT], spot_of(old).heading) != (row[_CONTENT], tuple(heading)):
            self._forget_vector(key)

    def rewrite(self, key: int, old: Row, row: Row) -> None:
        """Put a row in the place of another that has the same words and links."""
        self._db.execute(_UPDATE, (*row, key))
        tally.shift(self._db, [row], [old])

    def _forget_vector(self, key: int) -> None:
        """Empty the slot of a memory that says something else now, or nothing any more."""
        if self.value("SELECT 1 FROM waiting WHERE row = ?", key) is None:
            self._db.execute("INSERT INTO waiting VALUES (?)", (key,))
            clear_vector(self._db, key)

    def remove(self, key: int, row: Row) -> None:
        self._forget_vector(key)
        self._unlink(key, item_of(row), row[_FILE])
        self._db.execute("DELETE FROM words WHERE rowid = ?", (key,))
        self._db.execute("DELETE FROM waiting WHERE row = ?", (key,))
        self._db.execute("DELETE FROM memories WHERE row = ?", (key,))
        tally.shift(self._db, (), [row])

    def link(self, key: int, item: MemoryItem, number: int) -> None:
        """Note a memory's tags, the entities it names and what it was derived from."""
        for tag in dict.fromkeys(item.tags):
            self._db.execute("INSERT OR IGNORE INTO tags VALUES (?, ?)", clean((tag.casefold(), key)))
        for entity in mentions(item.content):
            self._db.execute("INSERT OR IGNORE INTO mentions VALUES (?, ?)", (entity, key))
        for source in dict.fromkeys(item.derived_from):
            self.add_edge("derived_from", item.id, source, number, -1)

    def _unlink(self, key: int, item: MemoryItem, number: int) -> None:
        for tag in item.tags:
            self._db.execute("DELETE FROM tags WHERE tag = ? AND row = ?", clean((tag.casefold(), key)))
        for entity in mentions(item.content):
            self._db.execute("DELETE FROM mentions WHERE entity = ? AND row = ?", (entity, key))
        if item.derived_from:
            self._db.execute("DELETE FROM edges WHERE file = ? AND ordinal = -1 AND source = ?", (number, item.id))

    def add_edge(
        self, type: str, source: str, target: str, file: int, ordinal: int, predicate: str | None = None
    ) -> None:
        self._db.execute(
            "INSERT INTO edges (type, source, target, predicate, file, ordinal) VALUES (?, ?, ?, ?, ?, ?)",
            clean((type, source, target, predicate, file, ordinal)),
        )

    def lines_about(self, memory: str) -> list[Line]:
        """The state lines about a memory."""
        if self._told is None:
            self._told = {each for (each,) in self._db.execute("SELECT DISTINCT memory FROM states")}
        return lines_about(self._db, memory) if memory in self._told else []

    def tell(self, memory: str) -> None:
        """There is a state line about a memory."""
        if self._told is not None:
            self._told.add(memory)

    def find(self, memory: str) -> tuple[int, Row] | None:
        """The row of the memory with this id, and its number."""
        found = self._db.execute(f"SELECT m.row, {SELECT} FROM memories m WHERE m.id = ?", clean((memory,))).fetchone()
        return (found[0], tuple(found[1:])) if found else None

    def row(self, key: int) -> Row:
        """The row of this number."""
        found = self._db.execute(f"SELECT {SELECT} FROM memories m WHERE m.row = ?", (key,)).fetchone()
        return tuple(found or ())
