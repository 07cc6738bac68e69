"""Write the contents of files into the tables; the same files always result in the same tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import cached_property
from itertools import takewhile
from operator import attrgetter
from typing import Any

from apsw import Connection, carray

from memfolio.clock import EPOCH
from memfolio.index.fact_write import FactFiling
from memfolio.index.facts import read_facts
from memfolio.index.lookup import lines_about, records_about, state_lines
from memfolio.index.notes import NOTE, REFERS, read_note, words_id
from memfolio.index.read_files import (
    EntityPage,
    FileReading,
    Searchable,
    entity_id,
    first_ordinal,
    is_archived,
    is_log,
    is_note,
    knowledge_of,
    mentions,
    precedence,
    read_file,
    told_date,
)
from memfolio.index.rows import (
    COLUMNS,
    INSERT,
    SELECT,
    Row,
    Spot,
    about,
    clean,
    column,
    from_us,
    item_of,
    row_of,
    spot_of,
    state_of,
    to_us,
)
from memfolio.index.schema import MemoryRow
from memfolio.index.vectors import clear_vector
from memfolio.state import Op, State, apply, fold, moment
from memfolio.text import name_key, searchable
from memfolio.types import MemoryItem, Origin, Type
from memfolio.vault.disk import Stamp
from memfolio.vault.fields import hashed_id, iso_of, moment_of, text_id, without_surrogates
from memfolio.vault.journal import FileState, to_text
from memfolio.vault.lines import read_lines
from memfolio.vault.log import read_log, split_log
from memfolio.vault.paths import agent_root, day_of, is_packed_log, is_state

Line = Mapping[str, Any]
_WORDS_OF = "iif(s.line LIKE '%\"words\": \"W-%', json_extract(s.line, '$.words'), NULL)"
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
        self._with_lines: set[str] | None = None
        """The memories about which state lines exist."""
        self._known_words: set[str] | None = None
        """The same of words of notes."""

    def value(self, sql: str, *bindings: Any, default: Any = None) -> Any:
        found = self._db.execute(sql, bindings).fetchone()
        return default if found is None or found[0] is None else found[0]

    def next_key(self) -> int:
        """The number of the next row."""
        return int(self.value("SELECT max(row) FROM memories", default=0)) + 1

    def add_all(self, rows: Sequence[Row], words: Sequence[tuple[int, str, str]]) -> None:
        """Index many new memories at once."""
        self._db.executemany(INSERT, rows)
        self._add_words(rows, words)

    def add_unknown(self, rows: Sequence[Row], words: Sequence[tuple[int, str, str]]) -> set[int]:
        """Index memories with unused ids; returns the row numbers of the others."""
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
        """Clear the vector of a memory whose text changed or went."""
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
        """Record a memory's tags, entities and sources."""
        for tag in dict.fromkeys(item.tags):
            self._db.execute("INSERT OR IGNORE INTO tags VALUES (?, ?)", clean((tag.casefold(), key)))
        for entity in mentions(item.content):
            self._db.execute("INSERT OR IGNORE INTO mentions VALUES (?, ?)", (entity, key))
        for source in dict.fromkeys(item.derived_from):
            self.add_edge("derived_from", item.id, source, number, -1)
        for other in item.attributes.get(REFERS, ()):
            self.add_edge("relation", item.id, other, number, -1, "refers-to")

    def _unlink(self, key: int, item: MemoryItem, number: int) -> None:
        for tag in item.tags:
            self._db.execute("DELETE FROM tags WHERE tag = ? AND row = ?", clean((tag.casefold(), key)))
        for entity in mentions(item.content):
            self._db.execute("DELETE FROM mentions WHERE entity = ? AND row = ?", (entity, key))
        if item.derived_from or REFERS in item.attributes:
            self._db.execute("DELETE FROM edges WHERE file = ? AND ordinal = -1 AND source = ?", (number, item.id))

    def add_edge(
        self, type: str, source: str, target: str, file: int, ordinal: int, predicate: str | None = None
    ) -> None:
        self._db.execute(
            "INSERT INTO edges (type, source, target, predicate, file, ordinal) VALUES (?, ?, ?, ?, ?, ?)",
            clean((type, source, target, predicate, file, ordinal)),
        )

    def lines_about(self, memory: str, words: str | None = None) -> list[Line]:
        """Return the state lines about a memory, or about its text, if known."""
        if self._with_lines is None:
            self._with_lines = set(
                column(self._db, f"SELECT memory FROM states UNION SELECT {_WORDS_OF} FROM states s")
            )
        if words in self._with_lines:
            return state_lines(self._db, f"s.memory = ? OR {_WORDS_OF} = ?", memory, words)
        return lines_about(self._db, memory) if memory in self._with_lines else []

    def note_line(self, memory: str) -> None:
        """Note that there is a state line about a memory, and maybe about the text of a note."""
        self._known_words = None
        if self._with_lines is not None:
            self._with_lines.add(memory)

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
_OUTCOMES: dict[object, str] = {True: "it worked", False: "it failed"}


class RecordFiling:
    """Indexes the lines of such ledgers, inside one transaction of `db`."""

    def __init__(self, db: Connection, rows: RowFiling, agent: str) -> None:
        self._db = db
        self._rows = rows
        self._agent = agent

    def refile(self, ledger: str, file: int, first: int, lines: Iterable[Record], modified: datetime) -> None:
        """Make the tables match the lines of a file."""
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
        """Take in lines that come after those that are filed of a file; what else is `touched` is filed with them."""
        sql = "SELECT max(ordinal) + 1 FROM records WHERE ledger = ? AND file = ?"
        first = self._rows.value(sql, ledger, file) or first
        rows = [
            (ledger, file, ordinal, *_about(ledger, self._agent, line, modified))
            for ordinal, line in enumerate(lines, first)
        ]
        self._db.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", rows)
        if ledger == "cases":
            for case in dict.fromkeys((*touched, *(row[3] for row in rows))):
                self._refile_case(case)

    def _refile_case(self, case: str) -> None:
        """File a case as all lines about it make it."""
        lines = list(self._db.execute(records_about(self._db, "file, ordinal, line"), ("cases", case)))
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
    """Return what a line is about, and the line with an id and a time."""
    name, prefix = _NAMES[ledger]
    own = hashed_id(prefix, agent, json.dumps(line, sort_keys=True))
    full = {"id": own, "at": iso_of(modified)} | dict(line)
    about = full.get(name) or full["id"]
    # ASCII, in which halves of surrogate pairs are nothing that SQLite could not hold
    return without_surrogates(about) if isinstance(about, str) else own, json.dumps(full)


def _case(id: str, lines: Sequence[Record]) -> MemoryItem | None:
    """A case as something to be found; None when it was deleted, or does not say anything."""
    case: dict[str, Any] = {}
    lessons: list[str] = []
    success: object = None
    for line in lines:
        if line.get("op") == "delete":
            case, lessons, success = {}, [], None
        elif case or line.get("op", "store") == "store":
            case |= line if not case or line.get("op") == "revise" else {}
            lessons = (lessons if line.get("op") == "retain" else []) + _texts(line, "outcome", "lessons") or lessons
            success = next(
                (each for each in (_in(line, "outcome", "success"), success) if isinstance(each, bool)), None
            )
    parts = {
        "Problem": " ".join(_texts(case, "situation", "context")),
        "What was done": "; ".join(_texts(case, "solution", "actions")),
        "Outcome": ". ".join(filter(None, (_OUTCOMES.get(success, ""), "; ".join(dict.fromkeys(lessons))))),
    }
    content = "\n".join(f"{name}: {text}" for name, text in parts.items() if text)
    made = moment(lines[0].get("at")) if lines else None
    if not content or made is None:
        return None
    importance, origin = case.get("importance"), case.get("origin")
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
    """Return the texts under a name of a part of a line, one or several."""
    value = _in(line, part, name)
    found = value if isinstance(value, list) else [value]
    return [without_surrogates(each) for each in found if isinstance(each, str) and each.strip()]


def _in(line: Record, part: str, name: str) -> object:
    fields = line.get(part)
    return fields.get(name) if isinstance(fields, Mapping) else None


# The order in which files arrive must not matter. So a memory that stands in several files belongs to the one that
# sorts first (`precedence`), the others are noted as places, and a file that loses or gains a memory by another's
# change is read again.

EDGES = frozenset({"causal", "contradicts", "relation", "derived_from", "supersedes"})
UNREAD = "-"
"""Stands for the hash of a file that cannot be read."""
FEW = 8
"""How many entries may come and go for a log to be indexed without reading all of it."""
_PLAIN_LOG = """
SELECT number FROM files f WHERE path = ?1 AND problems IS NULL
AND NOT EXISTS (SELECT 1 FROM places p WHERE p.file = f.number)
AND (SELECT count(*) = ?2 AND coalesce(min(ordinal), ?3) = ?3 AND coalesce(max(ordinal), ?4) = ?4
     FROM memories m WHERE m.file = f.number)
"""
"""A log whose entries are all indexed under their own ids, in order."""
_NOTES_ABOUT = f"""
SELECT DISTINCT f.path FROM memories m JOIN files f ON f.number = m.file WHERE m.form = '{NOTE}'
AND (m.forgotten_at IS NOT NULL OR m.superseded_by IS NOT NULL
    OR m.content IN (SELECT content FROM memories WHERE id IN carray(?))) ORDER BY f.path
"""
"""Notes in which something has the same words as one of these memories, or is out of sight for words that it had."""
OF_ENTITY = -2
"""Stands for an ordinal if an edge comes from the page of an entity."""


class Filing:
    """Brings files into the index, inside one transaction of `db`."""

    def __init__(self, db: Connection, agent: str, zone: tzinfo, read: Callable[[str], bytes | None]) -> None:
        self._db = db
        self._agent = agent
        self._zone = zone
        self._read = read
        self._again: dict[str, None] = {}
        """Files to read again, because a change of another file affects their entries."""
        self._rows = RowFiling(db)

    @cached_property
    def _facts(self) -> FactFiling:
        return FactFiling(self._db, self._rows, self._agent)

    @cached_property
    def _records(self) -> RecordFiling:
        return RecordFiling(self._db, self._rows, self._agent)

    def put(self, path: str, data: bytes, state: FileState) -> None:
        """Index the whole content of a file, whatever was known of it."""
        self._put(path, data, state)
        self._read_affected()

    def put_unread(self, path: str, state: FileState, why: str) -> None:
        """Note of a file that it cannot be read: nothing in it is found."""
        number = self._known_number(path, state._replace(hash=UNREAD))
        self._refile(path, number, FileReading())
        self._note_problems(number, [why])
        self._read_affected()

    def drop(self, path: str) -> None:
        """A file is gone."""
        number = self._rows.value("SELECT number FROM files WHERE path = ?", path)
        if number is not None:
            if is_state(path):
                self._refile_states(number, ())
            elif knowledge_of(path):
                self._put_knowledge(path, number, b"", EPOCH)
            else:
                self._refile(path, number, FileReading())
            self._db.execute("DELETE FROM files WHERE number = ?", (number,))
        self._read_affected()

    def add(self, path: str, items: Sequence[MemoryItem], state: FileState) -> None:
        """File memories that were just appended to a log, under ids that did not exist before."""
        number = self._known_number(path, state)
        found = self._behind_last(path, number, items)
        self._add_all(number, found, [State(item=item) for item in items], archived=is_archived(path))

    def append_log(self, path: str, data: bytes, state: FileState) -> bool:
        """File entries that were appended to a log; False where that is not all, or another file may have one."""
        text, day = to_text(data), day_of(path)
        is_plain = all(block.id or not block.text.strip() for block in split_log(text, self._agent))
        # A code fence may end one that began before, and with it what an entry is.
        if day is None or not is_plain or is_packed_log(path) or "```" in text or "~~~" in text:
            return False
        reading = read_log(text, day=day, tz=self._zone, agent=self._agent)
        number = self._known_number(path, state)
        found = self._behind_last(path, number, [each.entry.item for each in reading.entries])
        if reading.problems or not self._are_new(found):
            return False
        self._add_all(number, found, [self._state_of(each) for each in found], archived=is_archived(path))
        return True

    def _behind_last(self, path: str, number: int, items: Iterable[MemoryItem]) -> list[Searchable]:
        """Memories that stand behind all others of a file."""
        last = self._rows.value("SELECT max(ordinal) FROM memories WHERE file = ?", number)
        first = first_ordinal(path) if last is None else last + 1
        return [Searchable(item=item, ordinal=ordinal) for ordinal, item in enumerate(items, first)]

    def amend(self, path: str, before: bytes, after: bytes, state: FileState) -> bool:
        """File what left a log and what came into it; False where that is not all that happened to its entries."""
        was, now = _marked(before, self._agent), _marked(after, self._agent)
        day, first = day_of(path), first_ordinal(path)
        if was is None or now is None or day is None or is_packed_log(path):
            return False
        gone, come = [each for each in was if each not in now], [each for each in now if each not in was]
        stayed = [each for each in now if each in was]
        if len(gone) + len(come) > FEW or [each for each in was if each in now] != stayed:
            return False
        readings = [read_log(now[each], day=day, tz=self._zone, agent=self._agent) for each in come]
        is_odd = any(each.problems or len(each.entries) != 1 for each in readings)
        if is_odd or any(was[each] != now[each] for each in stayed):
            return False
        if self._rows.value(_PLAIN_LOG, path, len(was), first, first + len(was) - 1) is None:
            return False
        number, order = self._known_number(path, state), [*was]
        for each in gone:
            if row := self._rows.find(each):
                self._rows.remove(*row)
            self._shift(number, first + order.index(each), -1)
            order.remove(each)
            self._offer_to_copies(each)
        for each, reading in zip(come, readings, strict=True):
            ordinal = first + [*now].index(each)
            self._shift(number, ordinal, 1)
            mine = self._claim(path, number, Searchable(item=reading.entries[0].entry.item, ordinal=ordinal))
            if mine:
                self._file(number, mine, None, archived=is_archived(path))
        self._read_affected()
        return True

    def _shift(self, number: int, ordinal: int, by: int) -> None:
        """Count the memories of a file from this one on differently."""
        self._db.execute(
            "UPDATE memories SET ordinal = ordinal + ? WHERE file = ? AND ordinal >= ?", (by, number, ordinal)
        )

    def extend(self, path: str, lines: Sequence[Line], state: FileState) -> None:
        """File state lines that were just appended to the newest part of their ledger."""
        number = self._known_number(path, state)
        ordinal = self._rows.value("SELECT max(ordinal) FROM states WHERE file = ?", number, default=-1) + 1
        for nth, line in enumerate(lines):
            self._add_line(number, ordinal + nth, line)
            memory = line.get("memory")
            found = self._rows.find(memory) if isinstance(memory, str) else None
            if found:
                key, old = found
                after = apply(state_of(old), line)
                self._rows.rewrite(key, old, row_of(after.item, spot_of(old), after.superseded_at))
        self._read_notes_again(lines)
        self._read_affected()

    @cached_property
    def _dates(self) -> dict[str, datetime]:
        """Dates of imported pages that do not contain one."""
        lines = map(json.loads, column(self._db, "SELECT line FROM states WHERE op = ?", Op.DATED.value))
        days = ((path, told_date({"date": [str(day)]})) for line in lines for path, day in _dated(line))
        root = agent_root(self._agent)
        return {f"{root}/{path}": moment_of(day, None, self._zone) for path, day in days if day}

    def _read_notes_again(self, lines: Sequence[Line]) -> None:
        """Have pages read again whose day was told, and notes whose words were said something about, or are no more."""
        if dated := [f"{agent_root(self._agent)}/{path}" for line in lines for path, _ in _dated(line)]:
            self.__dict__.pop("_dates", None)
            self._again.update(dict.fromkeys(dated))
        if about := [str(line.get("memory")) for line in lines if "words" in line]:
            self._again.update(dict.fromkeys(column(self._db, _NOTES_ABOUT, carray(tuple(about)))))

    def _put(self, path: str, data: bytes, state: FileState) -> None:
        modified = self._dates.get(path) or _modified(state)
        number = self._known_number(path, state)
        if knowledge_of(path):
            self._put_knowledge(path, number, data, modified)
            return
        reader = read_note if is_note(path) else read_file
        reading = reader(path, data, zone=self._zone, modified=modified)
        self._note_problems(number, reading.problems)
        if is_state(path):
            self._refile_states(number, reading.states)
        else:
            self._refile(path, number, reading)

    def append_knowledge(self, path: str, data: bytes, state: FileState) -> bool:
        """File lines that were just appended to a part of a ledger of knowledge; False where that is not all."""
        number = self._known_number(path, state)
        # What begins with a line end completes a line that was there before.
        return not data.startswith(b"\n") and self._put_knowledge(path, number, data, _modified(state), is_more=True)

    def _put_knowledge(self, path: str, number: int, data: bytes, modified: datetime, *, is_more: bool = False) -> bool:
        """File the lines of a ledger of knowledge, or more of them; False for more that cannot be read by itself."""
        ledger, first = knowledge_of(path) or ("", 0)
        if ledger == "facts":
            first = self._facts.next_ordinal(number, first) if is_more else first
            facts, problems = read_facts(data, self._agent, self._zone, to_us(modified), number, first)
            if is_more and problems:
                return False
            (self._facts.add if is_more else self._facts.refile)(number, facts)
        else:
            lines = read_lines(data)
            problems, last = lines.problems, [lines.tail] if lines.tail else []
            if is_more and (problems or lines.torn):
                return False
            file = self._records.add if is_more else self._records.refile
            file(ledger, number, first, [*lines.records, *last], modified)
        if not is_more:
            self._note_problems(number, problems)
        return True

    def _read_affected(self) -> None:
        """Read the files again that the last change reaches; each at most a few times, since files only give way."""
        while self._again:
            path = next(iter(self._again))
            del self._again[path]
            data = self._read(path) or b""
            found = self._db.execute("SELECT hash, size, stamp FROM files WHERE path = ?", (path,)).fetchone()
            if found:
                self._put(path, data, stored_state(*found))

    def _known_number(self, path: str, state: FileState) -> int:
        """Return the number of a file, recording its state."""
        # Two statements: RETURNING takes a millisecond here, since it needs a journal of its own.
        self._db.execute(
            "INSERT INTO files (path, hash, size, stamp) VALUES (?, ?, ?, ?) ON CONFLICT (path) DO UPDATE "
            "SET hash = excluded.hash, size = excluded.size, stamp = excluded.stamp",
            (path, state.hash, state.size, _stamp(state)),
        )
        return int(self._db.execute("SELECT number FROM files WHERE path = ?", (path,)).get)

    def _note_problems(self, number: int, problems: Sequence[str]) -> None:
        noted = json.dumps(problems) if problems else None
        self._db.execute("UPDATE files SET problems = ?1 WHERE number = ?2 AND problems IS NOT ?1", (noted, number))

    # What a file holds

    def _refile(self, path: str, number: int, reading: FileReading) -> None:
        """Make the tables match the reading of a file."""
        sql = f"SELECT m.row, {SELECT} FROM memories m WHERE m.file = ?"
        before = {row[0]: (key, tuple(row)) for key, *row in self._db.execute(sql, (number,))}
        self._db.execute("DELETE FROM places WHERE file = ?", (number,))
        self._name_note(path, reading.names)
        if not before and self._are_new(reading.found):
            states = [self._state_of(found) for found in reading.found]
            self._add_all(number, reading.found, states, archived=is_archived(path))
            self._file_entity(path, number, reading.entity)
            return
        kept: set[str] = set()
        for found in reading.found:
            mine = self._claim(path, number, found)
            if mine and mine.item.id not in kept:
                kept.add(mine.item.id)
                self._file(number, mine, before.get(mine.item.id), archived=is_archived(path))
        for left in before.keys() - kept:
            self._rows.remove(*before[left])
            self._offer_to_copies(left)
        self._file_entity(path, number, reading.entity)

    def _state_of(self, found: Searchable) -> State:
        """A memory behind all lines about it; about the words of a note there may be some, too."""
        words = words_id(found.item.content) if found.form == NOTE else None
        return fold(found.item, self._rows.lines_about(found.item.id, words))

    def _name_note(self, path: str, names: Sequence[str]) -> None:
        """Record the names of a note, so that it is found by each of them."""
        if is_note(path):
            self._name(f"{NOTE}:{path}", names)

    def _are_new(self, found: Sequence[Searchable]) -> bool:
        """Whether no file has any of these memories, and this one has each once."""
        ids = tuple({each.item.id for each in found})
        sql = "SELECT 1 FROM memories WHERE id IN carray(?) LIMIT 1"
        return len(ids) == len(found) and (not ids or self._rows.value(sql, carray(ids)) is None)

    def _add_all(self, number: int, found: Sequence[Searchable], states: Sequence[State], *, archived: bool) -> None:
        """Index many new memories at once."""
        first = self._rows.next_key()
        rows, words = [], []
        for key, (each, state) in enumerate(zip(found, states, strict=True), start=first):
            item = state.item
            rows.append((key, *row_of(item, _spot(each, number, archived), state.superseded_at)))
            words.append((key, searchable(item.content), searchable(about(item, each.heading))))
        self._rows.add_all(rows, words)
        for row, state in zip(rows, states, strict=True):
            item = state.item
            if item.tags or item.derived_from or "[[" in item.content or REFERS in item.attributes:
                self._rows.link(row[0], item, number)

    def _claim(self, path: str, number: int, found: Searchable) -> Searchable | None:
        """What this file holds of an occurrence: all, or if another file has its id, its words or nothing."""
        owner = self._db.execute(
            "SELECT m.file, m.ordinal, f.path FROM memories m JOIN files f ON f.number = m.file WHERE m.id = ?",
            (found.item.id,),
        ).fetchone()
        if owner is None or owner[0] == number:
            return found
        if precedence(path) < precedence(owner[2]):
            self._again[owner[2]] = None
            if taken := self._rows.find(found.item.id):
                self._rows.remove(*taken)
            self._place(found.item.id, owner[0], owner[1])
            return found
        self._place(found.item.id, number, found.ordinal)
        is_copy = (found.item.id.startswith("M-") or found.form == "mind") and not is_archived(path)
        return self._claim(path, number, _as_unmarked(found, self._agent)) if is_copy else None

    def _place(self, id: str, file: int, ordinal: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO places (id, file, ordinal) VALUES (?, ?, ?)", (id, file, ordinal))

    def _offer_to_copies(self, id: str) -> None:
        """Read other files with this memory again, after it left its file."""
        sql = "SELECT DISTINCT f.path FROM places p JOIN files f ON f.number = p.file WHERE p.id = ?"
        self._again.update(dict.fromkeys(column(self._db, sql, id)))

    def _file(self, number: int, found: Searchable, old: tuple[int, Row] | None, *, archived: bool) -> None:
        state = self._state_of(found)
        if old is None:
            self._add_all(number, [found], [state], archived=archived)
            return
        row = row_of(state.item, _spot(found, number, archived), state.superseded_at)
        if old[1] != row:
            self._rows.update(*old, row, state.item, found.heading)

    def _file_entity(self, path: str, number: int, entity: EntityPage | None) -> None:
        """File the entity of a page; of pages whose names differ only in case, the one that sorts first counts."""
        if entity is None:
            if left := self._rows.value("SELECT id FROM entities WHERE file = ?", number):
                self._db.execute("DELETE FROM entities WHERE file = ?", (number,))
                self._name(left, ())
                self._relate(number, left, ())
                self._again.update(dict.fromkeys(each for each in self._pages_of(left) if each != path))
            return
        owner = self._rows.value(
            "SELECT f.path FROM entities e JOIN files f ON f.number = e.file WHERE e.id = ?", entity.id
        )
        if owner is None or path <= owner:
            values = (entity.id, entity.name, entity.type, json.dumps(entity.aliases), entity.summary)
            self._db.execute(
                "INSERT OR REPLACE INTO entities VALUES (?, ?, ?, ?, ?, ?, ?)",
                clean((*values, json.dumps(dict(entity.properties)), number)),
            )
            self._name(entity.id, (entity.id, entity.name, *entity.aliases))
            drawn = [("relation", target, predicate) for predicate, target in entity.relations]
            self._relate(number, entity.id, [*drawn, *(("about", memory, None) for memory in entity.cites)])

    def _relate(self, number: int, entity: str, drawn: Iterable[tuple[str, str, str | None]]) -> None:
        """Note to whom an entity's page relates it, and which memories it cites."""
        self._db.execute("DELETE FROM edges WHERE source = ? AND ordinal = ?", clean((entity, OF_ENTITY)))
        for kind, target, predicate in drawn:
            self._rows.add_edge(kind, entity, target, number, OF_ENTITY, predicate)

    def _name(self, id: str, names: Iterable[str]) -> None:
        """Record the names of a note or an entity."""
        self._db.execute("DELETE FROM names WHERE entity = ?", clean((id,)))
        rows = [clean((key, id)) for key in sorted(set(map(name_key, names)) - {""})]
        self._db.executemany("INSERT OR IGNORE INTO names VALUES (?, ?)", rows)

    def _pages_of(self, entity: str) -> list[str]:
        """The pages that are filed under the name of an entity."""
        sql = "SELECT path FROM files WHERE path LIKE '%/memory/graph/entities/%'"
        return [path for path in column(self._db, sql) if entity_id(path) == entity]

    # What state lines say

    def _refile_states(self, number: int, lines: Sequence[Line]) -> None:
        """Replace the lines of a state file from the first that differs; the memories they are about are read again."""
        before = list(self._db.execute("SELECT memory, line FROM states WHERE file = ? ORDER BY ordinal", (number,)))
        wanted = [clean((json.dumps(dict(line)),))[0] for line in lines]
        same = len(list(takewhile(lambda pair: pair[0][1] == pair[1], zip(before, wanted, strict=False))))
        self._db.execute("DELETE FROM states WHERE file = ? AND ordinal >= ?", (number, same))
        self._db.execute("DELETE FROM edges WHERE file = ? AND ordinal >= ?", (number, same))
        for ordinal, line in enumerate(lines[same:], same):
            self._add_line(number, ordinal, line)
        self._read_notes_again([*map(json.loads, (line for _, line in before[same:])), *lines[same:]])
        sql = "SELECT DISTINCT memory FROM states WHERE file = ? AND ordinal >= ?"
        after = set(column(self._db, sql, number, same))
        about = sorted(({memory for memory, _ in before[same:]} | after) - {None})
        for memory in about:
            sql = "SELECT f.path, f.number, m.ordinal FROM memories m JOIN files f ON f.number = m.file WHERE m.id = ?"
            found = self._db.execute(sql, (memory,)).fetchone()
            if found and not (len(about) <= FEW and self._read_entry_again(memory, *found)):
                self._again[found[0]] = None

    def _read_entry_again(self, id: str, path: str, number: int, ordinal: int) -> bool:
        """Index one entry of a log again; False if that requires reading the whole file."""
        day, row = day_of(path), self._rows.find(id)
        entries = _marked(self._read(path) or b"", self._agent) if is_log(path) and not is_packed_log(path) else None
        if day is None or entries is None or id not in entries:
            return False
        item = read_log(entries[id], day=day, tz=self._zone, agent=self._agent).entries[0].entry.item
        self._file(number, Searchable(item=item, ordinal=ordinal), row, archived=is_archived(path))
        return True

    def _add_line(self, number: int, ordinal: int, line: Line) -> None:
        memory = line.get("memory")
        memory = memory if isinstance(memory, str) else None
        values = (number, ordinal, memory, str(line.get("op", "")), json.dumps(dict(line)))
        self._db.execute("INSERT INTO states VALUES (?, ?, ?, ?, ?)", clean(values))
        if memory is not None:
            self._rows.note_line(memory)
        for edge in _edges(line):
            self._rows.add_edge(*edge[:3], number, ordinal, edge[3])


def _spot(found: Searchable, file: int, archived: bool) -> Spot:
    return Spot(file=file, ordinal=found.ordinal, form=found.form, archived=archived, heading=found.heading)


def _marked(data: bytes, agent: str) -> dict[str, str] | None:
    """Return the entries of a log by id; None if it contains anything else."""
    blocks = [block for block in split_log(to_text(data), agent) if block.kind != "preamble"]
    entries = {block.id: block.text.rstrip("\n") for block in blocks if block.id}
    return entries if len(entries) == len(blocks) else None


def _as_unmarked(found: Searchable, agent: str) -> Searchable:
    """Return an entry whose id another file owns, as if it had none."""
    return replace(found, item=replace(found.item, id=text_id(agent, found.item.content)))


def _edges(line: Line) -> Iterable[tuple[str, str, str, str | None]]:
    """The edges that a state line draws: type, source, target, predicate."""
    memory, op = line.get("memory"), line.get("op")
    if not isinstance(memory, str):
        return
    by, to, drawn, predicate = (line.get(name) for name in ("by", "to", "type", "predicate"))
    if op == Op.SUPERSEDE and isinstance(by, str):
        yield "supersedes", by, memory, None
    elif op == Op.EDGE and isinstance(to, str) and drawn in EDGES:
        yield str(drawn), memory, to, predicate if isinstance(predicate, str) else None


def _dated(line: Line) -> Iterable[tuple[str, object]]:
    """Return the pages whose dates a state line gives."""
    pages = line.get("pages") if line.get("op") == Op.DATED else None
    return pages.items() if isinstance(pages, Mapping) else ()


def _modified(state: FileState) -> datetime:
    return EPOCH if state.stamp is None else from_us(state.stamp.mtime_ns // 1000)


def _stamp(state: FileState) -> str | None:
    return None if state.stamp is None else json.dumps(list(state.stamp))


def stored_state(hash: str, size: int, stamp: str | None) -> FileState:
    """The state of a file as the index has it."""
    return FileState(hash, size, Stamp(*json.loads(stamp)) if stamp else None)
