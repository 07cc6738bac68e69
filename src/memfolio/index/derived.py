"""What follows from facts, as the index keeps it: conclusions, what each rests on, and facts that changed since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import apsw

from memfolio.index.atom import BEGINNING, END, Atom, Triple
from memfolio.index.meta import get_meta, set_meta

DERIVED = "derived"
"""The note of the rules by which conclusions were drawn; while there is none, nobody notes which facts change."""

Proof = tuple[str, tuple[int, ...]]
"""The id of a rule, and the rows of what it was applied to."""

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
_PREMISES = f"""
    SELECT {_FIELDS} FROM facts WHERE row IN (SELECT premise FROM supports WHERE row = ?1)
    UNION ALL SELECT {_FIELDS} FROM derived WHERE row IN (SELECT premise FROM supports WHERE row = ?1)
"""
_ADD = "INSERT INTO derived VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_SUPPORT = "INSERT OR IGNORE INTO supports VALUES (?, ?)"


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
        rule, premises = proof
        self._db.execute(_ADD, _row(atom, rule))
        for premise in premises:
            self._db.execute(_SUPPORT, (premise, atom.key))

    def withdraw(self, atom: Atom) -> None:
        self._db.execute("DELETE FROM derived WHERE row = ?", (atom.key,))
        self._db.execute("DELETE FROM supports WHERE row = ?", (atom.key,))

    def dependents(self, key: int) -> Sequence[Atom]:
        """The conclusions whose proof uses an atom."""
        return _atoms(self._db.execute(_DEPENDENTS, (key,)))

    def proof(self, key: int) -> tuple[str, Sequence[Atom]] | None:
        """The id of the rule by which a conclusion follows, and what from; None for what does not follow."""
        found = self._db.execute("SELECT rule FROM derived WHERE row = ?", (key,)).fetchone()
        return (found[0], _atoms(self._db.execute(_PREMISES, (key,)))) if found else None


def is_current(connection: apsw.Connection, stamp: str | None) -> bool:
    """Whether conclusions were drawn by the rules with this stamp, and no fact has changed since."""
    is_same = is_drawn(connection, stamp)
    return is_same and (stamp is None or not connection.execute("SELECT EXISTS (SELECT 1 FROM fact_changes)").get)


def is_drawn(connection: apsw.Connection, stamp: str | None) -> bool:
    """Whether conclusions were drawn by the rules with this stamp; None stands for no rules."""
    return get_meta(connection, DERIVED) == stamp


def changes(connection: apsw.Connection) -> list[tuple[int, Triple]]:
    """The facts that were added, changed or removed since conclusions were drawn."""
    return [(row, (s, p, o)) for row, s, p, o in connection.execute("SELECT * FROM fact_changes")]


def count(connection: apsw.Connection, table: str) -> int:
    assert table in ("facts", "derived")
    return int(connection.execute(f"SELECT count(*) FROM {table}").get)


def trusted(connection: apsw.Connection, predicates: Iterable[str]) -> list[Atom]:
    """The facts with these predicates from which something may follow."""
    query = f"SELECT {_FIELDS} FROM facts WHERE predicate = ? AND {_TRUSTED}"
    return [atom for each in sorted(predicates) for atom in _atoms(connection.execute(query, (each,)))]


def replace(connection: apsw.Connection, atoms: Mapping[int, Atom], proofs: Mapping[int, Proof]) -> None:
    """Put these conclusions in the place of all others."""
    clear(connection)
    keys = sorted(proofs)  # in the order of the table they are appended
    connection.executemany(_ADD, (_row(atoms[key], proofs[key][0]) for key in keys))
    pairs = {(premise, key) for key in keys for premise in proofs[key][1]}
    connection.executemany(_SUPPORT, sorted(pairs))


def clear(connection: apsw.Connection) -> None:
    """Keep no conclusion."""
    for table in ("derived", "supports"):
        connection.execute(f"DELETE FROM {table}")


def settle(connection: apsw.Connection, stamp: str | None) -> None:
    """Note that conclusions are those of the rules with this stamp, from the facts as they are."""
    connection.execute("DELETE FROM fact_changes")
    if stamp is None:
        connection.execute("DELETE FROM meta WHERE key = ?", (DERIVED,))
    else:
        set_meta(connection, DERIVED, stamp)


def _atoms(rows: Iterable[Sequence[object]]) -> list[Atom]:
    return list(map(Atom._make, rows))


def _row(atom: Atom, rule: str) -> tuple[object, ...]:
    *stated, start, end = atom
    return (*stated, None if start == BEGINNING else start, None if end == END else end, rule)
