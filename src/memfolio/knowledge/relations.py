"""Where atoms are looked up, and a place for them in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from memfolio.index.atom import BEGINNING, END, Atom, Triple

__all__ = ["BEGINNING", "END", "Atom", "Held", "Relations", "Triple"]


class Relations(Protocol):
    """Where atoms are looked up."""

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        """The atoms with this predicate and, where they are given, this subject and object."""
        ...


class Held:
    """Atoms in memory. An atom with a known key must be removed first."""

    def __init__(self, atoms: Iterable[Atom] = ()) -> None:
        self._tables: defaultdict[str, _Table] = defaultdict(_Table)
        for atom in atoms:
            self.add(atom)

    def add(self, atom: Atom) -> None:
        self._tables[atom[2]].add(atom)

    def remove(self, atom: Atom) -> None:
        self._tables[atom[2]].remove(atom)

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        table = self._tables.get(predicate)
        if table is None:
            return ()
        if subject is None:
            return table.all() if object is None else table.having(OBJECT, object)
        return table.having(SUBJECT, subject) if object is None else table.pairs.get((subject, object), ())


SUBJECT, OBJECT = 1, 3
"""Where an atom has them."""


class _Table:
    """The atoms of one predicate; only what somebody has asked by is indexed."""

    __slots__ = ("_lookups", "pairs")

    def __init__(self) -> None:
        self.pairs: dict[tuple[str, str], tuple[Atom, ...]] = {}
        self._lookups: dict[int, defaultdict[Any, dict[int, Atom]]] = {}

    def add(self, atom: Atom) -> None:
        pair = atom[1], atom[3]
        self.pairs[pair] = (*self.pairs[pair], atom) if pair in self.pairs else (atom,)
        for field, lookup in self._lookups.items():
            lookup[atom[field]][atom[0]] = atom

    def remove(self, atom: Atom) -> None:
        pair = atom[1], atom[3]
        if left := tuple(each for each in self.pairs[pair] if each[0] != atom[0]):
            self.pairs[pair] = left
        else:
            del self.pairs[pair]
        for field, lookup in self._lookups.items():
            del lookup[atom[field]][atom[0]]

    def all(self) -> list[Atom]:
        return [atom for atoms in self.pairs.values() for atom in atoms]

    def having(self, field: int, value: str) -> Sequence[Atom]:
        if field not in self._lookups:
            self._lookups[field] = defaultdict(dict)
            for atom in self.all():
                self._lookups[field][atom[field]][atom[0]] = atom
        found = self._lookups[field].get(value)
        return list(found.values()) if found else ()
