"""The lines of rules, cases, judgements and runs; a case is besides among the memories, so that it can be found."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any

import apsw

from memfolio.index.row_filing import RowFiling
from memfolio.index.rows import Spot, item_of, row_of
from memfolio.state import fold, moment
from memfolio.text import searchable
from memfolio.types import Kind, MemoryItem, Origin, Type
from memfolio.vault.format.content import without_surrogates
from memfolio.vault.format.fields import iso_of

Record = Mapping[str, Any]
_NAMES = {"rules": ("rule", "R"), "cases": ("case", "C"), "judgements": ("judgement", "J"), "runs": ("run", "X")}
_WENT: dict[object, str] = {True: "it worked", False: "it failed"}


def records(connection: apsw.Connection, ledger: str, about: str | None = None) -> list[dict[str, Any]]:
    """The lines of a ledger, such as `rules`, in order, or only those about one thing; each has an id and a time."""
    if about is None:
        return [json.loads(line) for line in record_lines(connection, ledger)]
    sql = "SELECT line FROM records INDEXED BY records_by_about WHERE ledger = ? AND about = ? ORDER BY ordinal"
    return [json.loads(line) for (line,) in connection.execute(sql, (ledger, about))]


def record_lines(connection: apsw.Connection, ledger: str) -> list[str]:
    """The same as JSON."""
    sql = "SELECT line FROM records WHERE ledger = ? ORDER BY ordinal"
    return [line for (line,) in connection.execute(sql, (ledger,))]


class RecordFiling:
    """The lines of such ledgers, inside one transaction of `db`."""

    def __init__(self, db: apsw.Connection, rows: RowFiling, agent: str) -> None:
        self._db = db
        self._rows = rows
        self._agent = agent

    def refile(self, ledger: str, file: int, first: int, lines: Iterable[Record], modified: datetime) -> None:
        """Make the tables say of a file exactly what its lines say."""
        before = self._named(file)
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

    def _named(self, file: int) -> list[str]:
        return [about for (about,) in self._db.execute("SELECT about FROM records WHERE file = ? ORDER BY 1", (file,))]

    def _settle(self, case: str) -> None:
        """File a case as all lines about it make it."""
        # SQLite by itself would read all lines, since those are in order
        sql = (
            "SELECT file, ordinal, line FROM records INDEXED BY records_by_about"
            " WHERE ledger = 'cases' AND about = ? ORDER BY ordinal"
        )
        lines = [(file, ordinal, json.loads(line)) for file, ordinal, line in self._db.execute(sql, (case,))]
        item, old = _case(case, [line for _, _, line in lines]), self._rows.find(case)
        if item is None:
            if old:
                self._rows.remove(*old)
            return
        state = fold(item, self._rows.lines_about(case))
        row = row_of(state.item, Spot(file=lines[-1][0], ordinal=lines[-1][1], form="case"), state.superseded_at)
        if old is None:
            key = self._rows.next_key()
            self._rows.add_all([(key, *row)], [(key, searchable(item.content), "")])
            self._rows.link(key, state.item, lines[-1][0])
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
        kind=Kind.EPISODIC,
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
