"""What holds, as those see it who reason: triples with how sure they are and when they are true.

Times are microseconds since 1970; a span begins with its first moment and ends before its last. `BEGINNING` and `END`
stand for what is open.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

BEGINNING, END = -(2**62), 2**62

Triple = tuple[str, str, str]


class Atom(NamedTuple):
    """A triple that holds for a span of time. `key` is positive for what was asserted, negative for what follows."""

    key: int
    subject: str
    predicate: str
    object: str
    confidence: float = 1.0
    start: int = BEGINNING
    end: int = END

    @property
    def triple(self) -> Triple:
        return self.subject, self.predicate, self.object

    def holds_at(self, moment: int) -> bool:
        return self.start <= moment < self.end


class Relations(Protocol):
    """Where atoms are looked up."""

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        """The atoms with this predicate and, where they are given, this subject and object."""
        ...


class Held:
    """Atoms in memory, found by predicate with subject or object. An atom with a known key must be removed first."""

    def __init__(self, atoms: Iterable[Atom] = ()) -> None:
        self._all: defaultdict[str, dict[int, Atom]] = defaultdict(dict)
        self._by_subject: defaultdict[tuple[str, str], dict[int, Atom]] = defaultdict(dict)
        self._by_object: defaultdict[tuple[str, str], dict[int, Atom]] = defaultdict(dict)
        for atom in atoms:
            self.add(atom)

    def add(self, atom: Atom) -> None:
        key, subject, predicate, target = atom[:4]
        self._all[predicate][key] = atom
        self._by_subject[predicate, subject][key] = atom
        self._by_object[predicate, target][key] = atom

    def remove(self, atom: Atom) -> None:
        key, subject, predicate, target = atom[:4]
        del self._all[predicate][key]
        del self._by_subject[predicate, subject][key]
        del self._by_object[predicate, target][key]

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        if subject is None and object is None:
            return list(self._all.get(predicate, _NONE).values())
        if subject is None:
            return list(self._by_object.get((predicate, str(object)), _NONE).values())
        found = self._by_subject.get((predicate, subject), _NONE).values()
        return list(found) if object is None else [atom for atom in found if atom.object == object]


_NONE: dict[int, Atom] = {}
