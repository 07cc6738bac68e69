"""A fact as those see it who reason: a triple with how sure it is and when it is true.

Times are microseconds since 1970; a span begins with its first moment and ends before its last. `BEGINNING` and `END`
stand for what is open.
"""

from __future__ import annotations

from typing import NamedTuple

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
