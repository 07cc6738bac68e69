"""Writing facts into the index."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import apsw

from memfolio.index.database import get_meta
from memfolio.index.facts import (
    ASSERT,
    FACTS,
    Fact,
    FactLine,
    Triple,
    asserted,
    fact_id,
    from_json,
    linked,
    only_line,
    to_json,
    versions,
)
from memfolio.index.rows import Row, about, item_of, row_of, spot_of, state_of
from memfolio.index.schema import MemoryRow
from memfolio.state import fold
from memfolio.text import searchable
from memfolio.types import Kind, Origin, Store, Type

if TYPE_CHECKING:
    from memfolio.index.write import RowFiling

DERIVED = "derived"
"""The note of the rules by which conclusions were drawn. Without one, nobody notes which facts change."""

# Filing lines about facts, so that the same lines always end as the same facts, in whatever order they come.
#
# A fact is what all lines about its triple make of it, in the order of the ledger. Most have one line, and are filed
# many at once; for the others all their lines are kept beside them, so that any of them can come and go.

_INSERT = "INSERT OR IGNORE INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_TRIPLE = "subject = ? AND predicate = ? AND object = ?"
_SORT = ("fact", Kind.SEMANTIC.value, Type.FACT.value, Store.LONG_TERM.value, 0.5)
_CONTENT, _MORE = (1 + MemoryRow._fields.index(name) for name in ("content", "more"))
"""The positions of these columns in a row, after its number."""
_NOBODY: tuple[None, ...] = (None,) * 5
"""No session, role, user, project and audience."""
_NONE: tuple[None, ...] = (None, None, None)


class FactFiling:
    """The facts of an index, inside one transaction of `db`."""

    def __init__(self, db: apsw.Connection, rows: RowFiling, agent: str) -> None:
        self._db = db
        self._rows = rows
        self._agent = agent

    def refile(self, file: int, said: Sequence[FactLine]) -> None:
        """Update the facts to what a file now says."""
        before = self._triples_of(file)
        if not before:
            return self.add(file, said)
        told = _by_triple(said)
        for triple in dict.fromkeys((*before, *told)):
            others = [each for each in self._lines(triple) if each.file != file]
            self._file_triple(triple, sorted((*others, *told.get(triple, ())), key=lambda each: each.ordinal))
        return None

    def add(self, file: int, said: Sequence[FactLine]) -> None:
        """Take in lines that were not there before."""
        told = _by_triple(said)
        plain = [lines[0] for lines in told.values() if len(lines) == 1 and _is_plain(lines[0])]
        done = {each.triple for each in plain} - self._add_plain(file, plain) if plain else set()
        for triple, lines in told.items():
            if triple not in done:
                self._file_triple(triple, sorted((*self._lines(triple), *lines), key=lambda each: each.ordinal))

    def next_ordinal(self, file: int, first: int) -> int:
        """The place of the next line of a file."""
        sql = (
            "SELECT max((SELECT ifnull(max(ordinal), -1) FROM memories WHERE file = ?1),"
            " (SELECT ifnull(max(ordinal), -1) FROM fact_history WHERE file = ?1))"
        )
        return max(first, int(self._db.execute(sql, (file,)).get) + 1)

    def _add_plain(self, file: int, said: Sequence[FactLine]) -> set[Triple]:
        """File facts about which nothing else is said, many at once; returns those that have to be looked at."""
        known = self._with_history(said)
        said = [each for each in said if each.triple not in known] if known else said
        first = self._rows.next_key()
        facts = [asserted(key, each) for key, each in enumerate(said, first)]
        before = self._db.total_changes()
        self._db.executemany(
            _INSERT, [(*fact[:15], file, each.ordinal, fact[15]) for fact, each in zip(facts, said, strict=True)]
        )
        if self._db.total_changes() - before < len(facts):
            sql = "SELECT row FROM facts WHERE row BETWEEN ? AND ?"
            taken = {key for (key,) in self._db.execute(sql, (first, first + len(facts)))}
            known |= {fact.triple for fact in facts if fact.row not in taken}
            kept = [pair for pair in zip(facts, said, strict=True) if pair[0].row in taken]
            facts, said = [fact for fact, _ in kept], [each for _, each in kept]
        return known | self._add_rows(file, facts, said)

    def _add_rows(self, file: int, facts: Sequence[Fact], said: Sequence[FactLine]) -> set[Triple]:
        """File the memories of facts; returns the facts whose ids others have, which are taken back."""
        rows = [self._row(fact, file, each.ordinal) for fact, each in zip(facts, said, strict=True)]
        if not rows:
            return set()
        words = [(row[0], searchable(row[_CONTENT]), "") for row in rows]
        taken = self._rows.add_unknown(rows, words)
        self._db.executemany("DELETE FROM facts WHERE row = ?", [(key,) for key in taken])
        for row in rows:
            if (row[_MORE] or "[[" in row[_CONTENT]) and row[0] not in taken:
                self._rows.link(row[0], item_of(row[1:]), file)
        self._note(fact for fact in facts if fact.row not in taken)
        return {fact.triple for fact in facts if fact.row in taken}

    def _with_history(self, said: Sequence[FactLine]) -> set[Triple]:
        """The triples of which something was said before."""
        if self._rows.value("SELECT 1 FROM fact_history LIMIT 1") is None:
            return set()
        sql = f"SELECT 1 FROM fact_history WHERE {_TRIPLE}"
        return {each.triple for each in said if self._rows.value(sql, *each.triple)}

    def _triples_of(self, file: int) -> list[Triple]:
        """The triples of which a file says something."""
        sql = (
            "SELECT f.subject, f.predicate, f.object FROM memories m JOIN facts f ON f.row = m.row WHERE m.file = ?1"
            " UNION SELECT subject, predicate, object FROM fact_history WHERE file = ?1"
        )
        return list(self._db.execute(sql, (file,)))

    def _lines(self, triple: Triple) -> list[FactLine]:
        """All lines about a triple, in order."""
        sql = f"SELECT file, ordinal, line FROM fact_history WHERE {_TRIPLE} ORDER BY ordinal"
        if lines := [from_json(*row) for row in self._db.execute(sql, triple)]:
            return lines
        found = self._current(triple)
        return [only_line(*found)] if found else []

    def _current(self, triple: Triple) -> tuple[Fact, int, int] | None:
        sql = f"SELECT {FACTS}, f.file, f.ordinal FROM facts f WHERE {_TRIPLE}"
        found = self._db.execute(sql, triple).fetchone()
        return (Fact(*found[:-2]), *found[-2:]) if found else None

    def _file_triple(self, triple: Triple, lines: Sequence[FactLine]) -> None:
        """File a fact as all lines about it make it."""
        fact = versions(lines)[-1] if lines else None
        old = self._current(triple)
        if old:
            self._db.execute("DELETE FROM places WHERE file = ? AND ordinal = ?", old[1:])
        wanted, evicted = fact and fact.id, list[FactLine]()
        if fact is not None:
            fact, evicted = self._claim(fact, lines[-1])
        is_plain = fact is not None and len(lines) == 1 and _is_plain(lines[0]) and fact.id == wanted
        self._keep_lines(triple, () if is_plain else lines)
        self._put(old, fact, lines)
        if evicted:
            self._file_triple(evicted[0].triple, evicted)
        if old and (fact is None or old[0].id != fact.id):
            self._hand_on(old[0].id)

    def _claim(self, fact: Fact, line: FactLine) -> tuple[Fact, list[FactLine]]:
        """The fact with the id that it gets, and the lines of another that loses it: the lesser triple has an id."""
        own = fact_id(self._agent, fact.triple)
        sql = "SELECT f.subject, f.predicate, f.object FROM memories m JOIN facts f ON f.row = m.row WHERE m.id = ?"
        holder = None if fact.id == own else self._db.execute(sql, (fact.id,)).fetchone()
        if holder is None or holder == fact.triple:
            return fact, []
        if holder < fact.triple:
            self._db.execute("INSERT OR REPLACE INTO places VALUES (?, ?, ?)", (fact.id, line.file, line.ordinal))
            return fact._replace(id=own), []
        lines = self._lines(holder)
        self._put(self._current(holder), None, ())
        return fact, lines

    def _hand_on(self, id: str) -> None:
        """Look again at the facts that could take an id that was released."""
        sql = (
            "SELECT f.subject, f.predicate, f.object FROM places p JOIN memories m ON m.file = p.file"
            " AND m.ordinal = p.ordinal JOIN facts f ON f.row = m.row WHERE p.id = ? ORDER BY 1, 2, 3"
        )
        for triple in list(self._db.execute(sql, (id,))):
            self._file_triple(triple, self._lines(triple))

    def _keep_lines(self, triple: Triple, lines: Sequence[FactLine]) -> None:
        self._db.execute(f"DELETE FROM fact_history WHERE {_TRIPLE}", triple)
        known = accumulate((each.at for each in lines), max)
        rows = [
            (each.id, *triple, at, each.file, each.ordinal, to_json(each))
            for each, at in zip(lines, known, strict=True)
        ]
        self._db.executemany("INSERT INTO fact_history VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def _put(self, old: tuple[Fact, int, int] | None, fact: Fact | None, lines: Sequence[FactLine]) -> None:
        """Replace what is known of a triple by a fact."""
        if fact is None:
            if old:
                self._rows.remove(old[0].row, self._rows.row(old[0].row))
                self._db.execute("DELETE FROM facts WHERE row = ?", (old[0].row,))
                self._note([old[0]])
            return
        file, ordinal = lines[-1].file, lines[-1].ordinal
        fact = fact._replace(row=old[0].row if old else self._rows.next_key())
        key, *row = self._row(fact, file, ordinal)
        item = item_of(tuple(row))
        if old is None:
            self._rows.add_all([(key, *row)], [(key, searchable(item.content), searchable(about(item)))])
            self._rows.link(key, item, file)
        elif (before := self._rows.row(key)) != tuple(row):
            self._rows.update(key, before, tuple(row), item)
        if old != (fact, file, ordinal):
            sql = _INSERT.replace("IGNORE", "REPLACE", 1)
            self._db.execute(sql, (*fact[:15], file, ordinal, fact[15]))
        if old is None or _premise(old[0]) != _premise(fact):
            self._note([fact])

    def _row(self, fact: Fact, file: int, ordinal: int) -> Row:
        """The row of a fact among the memories, behind its number."""
        row: Row = (
            *(fact.row, fact.id, file, ordinal, *_SORT, fact.confidence, fact.created_us, fact.created_us, *_NOBODY),
            *(fact.source, fact.origin, fact.valid_from_us, fact.valid_until_us, 0, 0, *_NONE, None, 0, None),
            *(fact.sentence, _sources(fact) if fact.more else None),
        )
        if lines := self._rows.lines_about(fact.id):
            state = fold(state_of(row[1:]).item, lines)
            return (fact.row, *row_of(state.item, spot_of(row[1:]), state.superseded_at))
        return row

    @cached_property
    def _is_noted(self) -> bool:
        return get_meta(self._db, DERIVED) is not None

    def _note(self, facts: Iterable[Fact]) -> None:
        """Record changed facts for inference."""
        if self._is_noted:
            rows: list[tuple[Any, ...]] = [(fact.row, *fact.triple) for fact in facts]
            self._db.executemany("INSERT INTO fact_changes VALUES (?, ?, ?, ?)", rows)


def _premise(fact: Fact) -> tuple[object, ...]:
    """The fields of a fact that conclusions depend on."""
    return fact.confidence, fact.valid_from_us, fact.valid_until_us, fact.origin == Origin.UNTRUSTED.value


def _sources(fact: Fact) -> str | None:
    """Return the sources of a fact, as its memory stores them."""
    found = linked(fact)
    return json.dumps({"derived_from": found}, separators=(",", ":")) if found else None


def _by_triple(said: Iterable[FactLine]) -> dict[Triple, list[FactLine]]:
    found: defaultdict[Triple, list[FactLine]] = defaultdict(list)
    for each in said:
        found[each[4:7]].append(each)
    return found


def _is_plain(said: FactLine) -> bool:
    """Whether a single line is all there is to know about its fact."""
    return said.op == ASSERT and said.fact is None
