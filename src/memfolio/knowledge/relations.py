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
    """Atoms in memory."""

    def __init__(self, atoms: Iterable[Atom] = ()) -> None:
        self._tables: defaultdict[str, _Table] = defaultdict(_Table)
        for atom in atoms:
            self.add(atom)

    def add(self, atom: Atom) -> None:
        self._tables[atom[2]].add(atom)

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        table = self._tables.get(predicate)
        if table is None:
            return ()
        if subject is None:
            return table.atoms if object is None else table.having(OBJECT, object)
        return table.having(SUBJECT, subject) if object is None else table.pairs.get((subject, object), ())


SUBJECT, OBJECT = 1, 3
"""Where an atom has them."""


class _Table:
    """The atoms of one predicate; only what somebody has asked by is indexed."""

    __slots__ = ("_lookups", "atoms", "pairs")

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self.pairs: defaultdict[tuple[str, str], list[Atom]] = defaultdict(list)
        self._lookups: dict[int, defaultdict[Any, list[Atom]]] = {}

    def add(self, atom: Atom) -> None:
        self.atoms.append(atom)
        self.pairs[atom[1], atom[3]].append(atom)
        for field, lookup in self._lookups.items():
            lookup[atom[field]].append(atom)

    def having(self, field: int, value: str) -> Sequence[Atom]:
        if field not in self._lookups:
            self._lookups[field] = defaultdict(list)
            for atom in self.atoms:
                self._lookups[field][atom[field]].append(atom)
        return self._lookups[field].get(value, ())
