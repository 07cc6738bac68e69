"""Writing facts and the conclusions drawn from them into the index."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from memfolio.index.database import get_meta, set_meta
from memfolio.index.facts import (
    ASSERT,
    BEGINNING,
    END,
    FACTS,
    Atom,
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
from memfolio.state import fold
from memfolio.text import searchable
from memfolio.types import Kind, Origin, Store, Type

if TYPE_CHECKING:
    from memfolio.index.write import RowFiling

# What follows from facts, as the index keeps it: conclusions, what each rests on, and facts that changed since.

DERIVED, TROUBLE = "derived", "derived-trouble"
"""The note of the rules by which conclusions were drawn, and why there are none where they could not be drawn.

While there is no such rule, nobody notes which facts change.
"""

_FIELDS = f"""row, subject, predicate, object, confidence,
    coalesce(valid_from, {BEGINNING}), coalesce(valid_until, {END})"""
_TRUSTED = "origin <> 'untrusted'"
_FOUND = {
    (with_subject, with_object): f"""
        SELECT {_FIELDS} FROM facts WHERE {wanted} AND {_TRUSTED} UNION ALL SELECT {_FIELDS} FROM derived WHERE {wanted}
    """
    for with_subject, with_object, wanted in (
        (False, False, "predicate = ?1"),
        (True, False, "predicate = ?1 AND subject = ?2"),
        (False, True, "predicate = ?1 AND object = ?2"),
        (True, True, "predicate = ?1 AND subject = ?2 AND object = ?3"),
    )
}
_DEPENDENTS = f"SELECT {_FIELDS} FROM derived WHERE row IN (SELECT row FROM supports WHERE premise = ?)"
_ADD = "INSERT INTO derived VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_SUPPORT = "INSERT OR IGNORE INTO supports VALUES (?, ?)"
_GONE = """SELECT 1 FROM fact_changes c WHERE NOT EXISTS (SELECT 1 FROM facts f
    WHERE f.subject = c.subject AND f.predicate = c.predicate AND f.object = c.object)"""


class StoredProof(NamedTuple):
    """The id of the rule by which an atom follows, and the keys of what it rests on."""

    rule: str
    premises: tuple[int, ...]


class StoredRelations:
    """Facts that are trusted, and what follows from them, in a connection's index."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection
        # Read before anything is withdrawn: what comes back gets its key again.
        self._lowest = int(connection.execute("SELECT coalesce(min(row), 0) FROM derived").get)

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        """The atoms with this predicate and, where they are given, this subject and object."""
        query = _FOUND[subject is not None, object is not None]
        given = tuple(each for each in (predicate, subject, object) if each is not None)
        return _atoms(self._db.execute(query, given))

    def fresh(self) -> int:
        """A key that no conclusion has had."""
        self._lowest -= 1
        return self._lowest

    def conclude(self, atom: Atom, proof: StoredProof) -> None:
        self._db.execute(_ADD, _row(atom, proof.rule))
        for premise in proof.premises:
            self._db.execute(_SUPPORT, (premise, atom.key))

    def withdraw(self, atom: Atom) -> None:
        self._db.execute("DELETE FROM derived WHERE row = ?", (atom.key,))
        self._db.execute("DELETE FROM supports WHERE row = ?", (atom.key,))

    def dependents(self, key: int) -> Sequence[Atom]:
        """The conclusions whose proof uses an atom."""
        return _atoms(self._db.execute(_DEPENDENTS, (key,)))


def is_current(connection: apsw.Connection, stamp: str | None) -> bool:
    """Whether conclusions were drawn by the rules with this stamp, and no fact has changed since.

    Where they could not be drawn, they can neither with more facts, so only one that has gone counts as a change.
    """
    if get_meta(connection, DERIVED) != stamp:
        return False
    changed = "SELECT 1 FROM fact_changes" if trouble(connection) is None else _GONE
    return stamp is None or not connection.execute(f"SELECT EXISTS ({changed})").get


def trouble(connection: apsw.Connection) -> str | None:
    """Why no conclusions are kept, although there are rules to draw them by."""
    found = get_meta(connection, TROUBLE)
    return None if found is None else str(found)


def changes(connection: apsw.Connection, stamp: str | None) -> list[tuple[int, Triple]] | None:
    """The facts that changed since conclusions were drawn; None where none were drawn by the rules with this stamp."""
    if stamp is None or get_meta(connection, DERIVED) != stamp or trouble(connection) is not None:
        return None
    return [(row, (s, p, o)) for row, s, p, o in connection.execute("SELECT * FROM fact_changes")]


def count(connection: apsw.Connection) -> int:
    """How many conclusions are kept."""
    return int(connection.execute("SELECT count(*) FROM derived").get)


def last_row(connection: apsw.Connection) -> int:
    """A number that there are hardly more facts than, found at once."""
    return int(connection.execute("SELECT coalesce(max(row), 0) FROM facts").get)


def trusted(connection: apsw.Connection, predicates: Iterable[str]) -> list[Atom]:
    """The facts with these predicates from which something may follow."""
    query = f"SELECT {_FIELDS} FROM facts WHERE predicate = ? AND {_TRUSTED}"
    return [atom for each in sorted(predicates) for atom in _atoms(connection.execute(query, (each,)))]


def replace(connection: apsw.Connection, atoms: Mapping[int, Atom], proofs: Mapping[int, StoredProof]) -> None:
    """Put these conclusions in the place of all others."""
    for table in ("derived", "supports"):
        connection.execute(f"DELETE FROM {table}")
    keys = sorted(proofs)  # in the order of the table they are appended
    connection.executemany(_ADD, (_row(atoms[key], proofs[key].rule) for key in keys))
    pairs = {(premise, key) for key in keys for premise in proofs[key].premises}
    connection.executemany(_SUPPORT, sorted(pairs))


def settle(connection: apsw.Connection, stamp: str | None, trouble: str | None = None) -> None:
    """Note that conclusions are those of the rules with this stamp, from the facts as they are."""
    connection.execute("DELETE FROM fact_changes")
    for key, value in ((DERIVED, stamp), (TROUBLE, trouble)):
        if value is None:
            connection.execute("DELETE FROM meta WHERE key = ?", (key,))
        else:
            set_meta(connection, key, value)


def _atoms(rows: Iterable[Sequence[object]]) -> list[Atom]:
    return list(map(Atom._make, rows))


def _row(atom: Atom, rule: str) -> tuple[object, ...]:
    *stated, start, end = atom
    return (*stated, None if start == BEGINNING else start, None if end == END else end, rule)


# Filing lines about facts, so that the same lines always end as the same facts, in whatever order they come.
#
# A fact is what all lines about its triple make of it, in the order of the ledger. Most have one line, and are filed
# many at once; for the others all their lines are kept beside them, so that any of them can come and go.

_INSERT = "INSERT OR IGNORE INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_TRIPLE = "subject = ? AND predicate = ? AND object = ?"
_SORT = ("fact", Kind.SEMANTIC.value, Type.FACT.value, Store.LONG_TERM.value, 0.5)
_NONE: tuple[None, ...] = (None, None, None)


class FactFiling:
    """The facts of an index, inside one transaction of `db`."""

    def __init__(self, db: apsw.Connection, rows: RowFiling, agent: str) -> None:
        self._db = db
        self._rows = rows
        self._agent = agent

    def refile(self, file: int, said: Sequence[FactLine]) -> None:
        """Make the facts what they are when a file says exactly this."""
        before = self._triples_of(file)
        if not before:
            return self.add(file, said)
        told = _by_triple(said)
        for triple in dict.fromkeys((*before, *told)):
            others = [each for each in self._lines(triple) if each.file != file]
            self._settle(triple, sorted((*others, *told.get(triple, ())), key=lambda each: each.ordinal))
        return None

    def add(self, file: int, said: Sequence[FactLine]) -> None:
        """Take in lines that were not there before."""
        told = _by_triple(said)
        plain = [lines[0] for lines in told.values() if len(lines) == 1 and _is_plain(lines[0])]
        done = {each.triple for each in plain} - self._add_plain(file, plain) if plain else set()
        for triple, lines in told.items():
            if triple not in done:
                self._settle(triple, sorted((*self._lines(triple), *lines), key=lambda each: each.ordinal))

    def next_ordinal(self, file: int, first: int) -> int:
        """The place of the next line of a file."""
        sql = (
            "SELECT max((SELECT ifnull(max(ordinal), -1) FROM memories WHERE file = ?1),"
            " (SELECT ifnull(max(ordinal), -1) FROM fact_history WHERE file = ?1))"
        )
        return max(first, int(self._db.execute(sql, (file,)).get) + 1)

    def _add_plain(self, file: int, said: Sequence[FactLine]) -> set[Triple]:
        """File facts about which nothing else is said, many at once; returns those that have to be looked at."""
        known = self._ended(said)
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
        words = [(row[0], searchable(row[27]), "") for row in rows]
        taken = self._rows.add_unknown(rows, words)
        self._db.executemany("DELETE FROM facts WHERE row = ?", [(key,) for key in taken])
        for row in rows:
            if (row[28] or "[[" in row[27]) and row[0] not in taken:
                self._rows.link(row[0], item_of(row[1:]), file)
        self._note(fact for fact in facts if fact.row not in taken)
        return {fact.triple for fact in facts if fact.row in taken}

    def _ended(self, said: Sequence[FactLine]) -> set[Triple]:
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

    def _settle(self, triple: Triple, lines: Sequence[FactLine]) -> None:
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
            self._settle(evicted[0].triple, evicted)
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
        """An id was let go: whoever else would have it is looked at again."""
        sql = (
            "SELECT f.subject, f.predicate, f.object FROM places p JOIN memories m ON m.file = p.file"
            " AND m.ordinal = p.ordinal JOIN facts f ON f.row = m.row WHERE p.id = ? ORDER BY 1, 2, 3"
        )
        for triple in list(self._db.execute(sql, (id,))):
            self._settle(triple, self._lines(triple))

    def _keep_lines(self, triple: Triple, lines: Sequence[FactLine]) -> None:
        self._db.execute(f"DELETE FROM fact_history WHERE {_TRIPLE}", triple)
        known = accumulate((each.at for each in lines), max)
        rows = [
            (each.id, *triple, at, each.file, each.ordinal, to_json(each))
            for each, at in zip(lines, known, strict=True)
        ]
        self._db.executemany("INSERT INTO fact_history VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def _put(self, old: tuple[Fact, int, int] | None, fact: Fact | None, lines: Sequence[FactLine]) -> None:
        """Put a fact in the place of what was known of its triple."""
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
            *(fact.row, fact.id, file, ordinal, *_SORT, fact.confidence, fact.created_us, fact.created_us, *_NONE),
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
        """Leave word of changed facts for whoever draws conclusions."""
        if self._is_noted:
            rows: list[tuple[Any, ...]] = [(fact.row, *fact.triple) for fact in facts]
            self._db.executemany("INSERT INTO fact_changes VALUES (?, ?, ?, ?)", rows)


def _premise(fact: Fact) -> tuple[object, ...]:
    """What conclusions depend on."""
    return fact.confidence, fact.valid_from_us, fact.valid_until_us, fact.origin == Origin.UNTRUSTED.value


def _sources(fact: Fact) -> str | None:
    """What a fact came from, as its memory has it."""
    found = linked(fact)
    return json.dumps({"derived_from": found}, separators=(",", ":")) if found else None


def _by_triple(said: Iterable[FactLine]) -> dict[Triple, list[FactLine]]:
    found: defaultdict[Triple, list[FactLine]] = defaultdict(list)
    for each in said:
        found[each[4:7]].append(each)
    return found


def _is_plain(said: FactLine) -> bool:
    """Whether a line that stands alone is all there is to know about its fact."""
    return said.op == ASSERT and said.fact is None
