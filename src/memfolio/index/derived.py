"""What follows from facts, as the index keeps it: conclusions, what each rests on, and facts that changed since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import apsw

from memfolio.index.atom import BEGINNING, END, Atom, Triple
from memfolio.index.meta import get_meta, set_meta

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


class Proof(NamedTuple):
    """The id of the rule by which an atom follows, and the keys of what it rests on."""

    rule: str
    premises: tuple[int, ...]


class Stored:
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

    def conclude(self, atom: Atom, proof: Proof) -> None:
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


def replace(connection: apsw.Connection, atoms: Mapping[int, Atom], proofs: Mapping[int, Proof]) -> None:
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
