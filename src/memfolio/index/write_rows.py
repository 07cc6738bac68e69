"""Writing the rows of memories, rules, cases and runs, with their words, tags and links."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from operator import attrgetter
from typing import Any

from memfolio.index.database import Connection
from memfolio.index.lookup import lines_about
from memfolio.index.read_files import mentions
from memfolio.index.rows import COLUMNS, INSERT, SELECT, Row, Spot, about, clean, column, item_of, row_of, spot_of
from memfolio.index.schema import MemoryRow
from memfolio.index.vectors import clear_vector
from memfolio.state import fold, moment
from memfolio.text import searchable
from memfolio.types import MemoryItem, Origin, Type
from memfolio.vault.fields import iso_of, without_surrogates

Line = Mapping[str, Any]
_UPDATE = f"UPDATE memories SET {', '.join(f'{name} = ?' for name in COLUMNS)} WHERE row = ?"
_WORDS = "INSERT INTO words (rowid, content, about) VALUES (?, ?, ?)"
_UPSERT = "ON CONFLICT DO UPDATE SET memories = memories + excluded.memories"
_ADD_TALLY = f"INSERT INTO tally VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) {_UPSERT}"
_ADD_SESSION = f"INSERT INTO session_tally VALUES (?, ?) {_UPSERT}"
_searched = attrgetter("id", "file", "content", "more", "role", "user")
"""The columns from which a memory's words, tags and links come."""


class RowFiling:
    """The rows of memories, inside one transaction of `db`."""

    def __init__(self, db: Connection) -> None:
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
        self._db.executemany(INSERT.replace("INSERT", "INSERT OR IGNORE", 1), rows)
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
        self._count([row[1:] for row in rows])

    def update(self, key: int, old: Row, row: Row, item: MemoryItem, heading: Sequence[str] = ()) -> None:
        """Put a row in the place of another."""
        self.rewrite(key, old, row)
        before, after = MemoryRow._make(old), MemoryRow._make(row)
        if _searched(before) == _searched(after):
            return
        self._unlink(key, item_of(old), before.file)
        self._db.execute("DELETE FROM words WHERE rowid = ?", (key,))
        self._db.execute(_WORDS, (key, searchable(item.content), searchable(about(item, heading))))
        self.link(key, item, after.file)
        if (before.content, spot_of(old).heading) != (after.content, tuple(heading)):
            self._forget_vector(key)

    def rewrite(self, key: int, old: Row, row: Row) -> None:
        """Put a row in the place of another that has the same words and links."""
        self._db.execute(_UPDATE, (*row, key))
        self._count([row], [old])

    def _count(self, added: Sequence[Row], removed: Sequence[Row] = ()) -> None:
        """Rows came and went: keep the numbers of memories that `status` shows."""
        by_kind, by_session = Counter[Row](), Counter[str]()
        for rows, one in ((added, 1), (removed, -1)):
            for row in map(MemoryRow._make, rows):
                is_archived, is_forgotten = bool(row.archived), row.forgotten_at is not None
                states = (row.session is None, is_archived, is_forgotten, row.superseded_by is not None)
                by_kind[row.form, row.kind, row.store, row.origin, *states] += one
                if row.session is not None and not (is_archived or is_forgotten):
                    by_session[row.session] += one
        self._db.executemany(_ADD_TALLY, [(*key, number) for key, number in by_kind.items() if number])
        self._db.executemany(_ADD_SESSION, [each for each in by_session.items() if each[1]])

    def _forget_vector(self, key: int) -> None:
        """Empty the slot of a memory that says something else now, or nothing any more."""
        if self.value("SELECT 1 FROM waiting WHERE row = ?", key) is None:
            self._db.execute("INSERT INTO waiting VALUES (?)", (key,))
            clear_vector(self._db, key)

    def remove(self, key: int, row: Row) -> None:
        self._forget_vector(key)
        self._unlink(key, item_of(row), MemoryRow._make(row).file)
        for table, key_name in (("words", "rowid"), ("waiting", "row"), ("memories", "row")):
            self._db.execute(f"DELETE FROM {table} WHERE {key_name} = ?", (key,))
        self._count((), [row])

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
            self._told = set(column(self._db, "SELECT DISTINCT memory FROM states"))
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


# The lines of rules, cases, judgements and runs; a case is besides among the memories, so that it can be found.

Record = Mapping[str, Any]
_NAMES = {"rules": ("rule", "R"), "cases": ("case", "C"), "judgements": ("judgement", "J"), "runs": ("run", "X")}
_ABOUT = "FROM records INDEXED BY records_by_about WHERE ledger = ? AND about = ? ORDER BY ordinal"
"""SQLite by itself would read all lines, since those are in order."""
_WENT: dict[object, str] = {True: "it worked", False: "it failed"}


def records(connection: Connection, ledger: str, about: str | None = None) -> list[dict[str, Any]]:
    """The lines of a ledger, such as `rules`, in order, or only those about one thing; each has an id and a time."""
    if about is None:
        return list(map(json.loads, record_lines(connection, ledger)))
    return list(map(json.loads, column(connection, f"SELECT line {_ABOUT}", ledger, about)))


def record_lines(connection: Connection, ledger: str) -> list[str]:
    """The same as JSON."""
    return column(connection, "SELECT line FROM records WHERE ledger = ? ORDER BY ordinal", ledger)


class RecordFiling:
    """The lines of such ledgers, inside one transaction of `db`."""

    def __init__(self, db: Connection, rows: RowFiling, agent: str) -> None:
        self._db = db
        self._rows = rows
        self._agent = agent

    def refile(self, ledger: str, file: int, first: int, lines: Iterable[Record], modified: datetime) -> None:
        """Make the tables say of a file exactly what its lines say."""
        before = column(self._db, "SELECT about FROM records WHERE file = ? ORDER BY 1", file)
        self._db.execute("DELETE FROM records WHERE ledger = ? AND file = ?", (ledger, file))
        self.add(ledger, file, first, lines, modified, before)

    def add(
        self,
        ledger: str,
        file: int,
        first: int,
        lines: Iterable[Record],
        modified: datetime,
        touched: Iterable[str] = (),
    ) -> None:
        """Take in lines that come after those that are filed of a file; what else is `touched` is settled with them."""
        sql = "SELECT max(ordinal) + 1 FROM records WHERE ledger = ? AND file = ?"
        first = self._rows.value(sql, ledger, file) or first
        rows = [
            (ledger, file, ordinal, *_about(ledger, self._agent, line, modified))
            for ordinal, line in enumerate(lines, first)
        ]
        self._db.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", rows)
        if ledger == "cases":
            for case in dict.fromkeys((*touched, *(row[3] for row in rows))):
                self._settle(case)

    def _settle(self, case: str) -> None:
        """File a case as all lines about it make it."""
        lines = list(self._db.execute(f"SELECT file, ordinal, line {_ABOUT}", ("cases", case)))
        item, old = _case(case, [json.loads(line) for _, _, line in lines]), self._rows.find(case)
        if item is None:
            if old:
                self._rows.remove(*old)
            return
        (file, ordinal, _), state = lines[-1], fold(item, self._rows.lines_about(case))
        row = row_of(state.item, Spot(file=file, ordinal=ordinal, form="case"), state.superseded_at)
        if old is None:
            key = self._rows.next_key()
            self._rows.add_all([(key, *row)], [(key, searchable(item.content), "")])
            self._rows.link(key, state.item, file)
        elif old[1] != row:
            self._rows.update(old[0], old[1], row, item_of(row))


def _about(ledger: str, agent: str, line: Record, modified: datetime) -> tuple[str, str]:
    """What a line is about, and the line with an id and a time."""
    name, prefix = _NAMES[ledger]
    text = json.dumps(line, sort_keys=True)
    own = f"{prefix}-{blake2b(f'{agent}{chr(0)}{text}'.encode()).hexdigest()[:16]}"
    full = {"id": own, "at": iso_of(modified)} | dict(line)
    about = full.get(name) or full["id"]
    # ASCII, in which halves of surrogate pairs are nothing that SQLite could not hold
    return without_surrogates(about) if isinstance(about, str) else own, json.dumps(full)


def _case(id: str, lines: Sequence[Record]) -> MemoryItem | None:
    """A case as something to be found; None when it was deleted, or does not say anything."""
    told: dict[str, Any] = {}
    lessons: list[str] = []
    success: object = None
    for line in lines:
        if line.get("op") == "delete":
            told, lessons, success = {}, [], None
        elif told or line.get("op", "store") == "store":
            told |= line if not told or line.get("op") == "revise" else {}
            lessons = (lessons if line.get("op") == "retain" else []) + _texts(line, "outcome", "lessons") or lessons
            success = next(
                (each for each in (_in(line, "outcome", "success"), success) if isinstance(each, bool)), None
            )
    parts = {
        "Problem": " ".join(_texts(told, "situation", "context")),
        "What was done": "; ".join(_texts(told, "solution", "actions")),
        "Outcome": ". ".join(filter(None, (_WENT.get(success, ""), "; ".join(dict.fromkeys(lessons))))),
    }
    content = "\n".join(f"{name}: {text}" for name, text in parts.items() if text)
    made = moment(lines[0].get("at")) if lines else None
    if not content or made is None:
        return None
    importance, origin = told.get("importance"), told.get("origin")
    return MemoryItem(
        id=id,
        content=content,
        created_at=made,
        type=Type.OUTCOME,
        source="case",
        importance=importance if isinstance(importance, int | float) and 0 <= importance <= 1 else 0.5,
        origin=Origin(origin) if origin in tuple(Origin) else Origin.AGENT,
    )


def _texts(line: Record, part: str, name: str) -> list[str]:
    """The texts below a name of a part of a line, whether there is one or several."""
    value = _in(line, part, name)
    found = value if isinstance(value, list) else [value]
    return [without_surrogates(each) for each in found if isinstance(each, str) and each.strip()]


def _in(line: Record, part: str, name: str) -> object:
    held = line.get(part)
    return held.get(name) if isinstance(held, Mapping) else None
