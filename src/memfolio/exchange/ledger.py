"""What was taken over before, told by a small ledger that is written together with what comes in."""

from __future__ import annotations

from hashlib import blake2b
from itertools import count, takewhile
from typing import Any

from memfolio.exchange.incoming import Sheet, Thing
from memfolio.vault.change import AddLines
from memfolio.vault.format.lines import read_lines
from memfolio.vault.paths import Form, Ledger, agent_root
from memfolio.vault.vault import Vault

DIGITS = 12
"""Bytes of a mark: 10⁹ of them have one chance in 10¹¹ to hold the same one twice."""


def mark_of(*parts: str) -> str:
    """What stands in the ledger for a reference, which may be the name of a private file."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=DIGITS).hexdigest()


def own_mark(thing: Thing) -> str:
    """By which a thing is known again; a page that was changed where it comes from is another thing."""
    return mark_of(thing.ref, thing.text) if isinstance(thing, Sheet) else mark_of(thing.ref)


class Known:
    """The marks of what one source brought to an agent; ask under the write lock, where others import, too."""

    def __init__(self, vault: Vault, agent: str, source: str) -> None:
        self._vault = vault
        self._source = source
        self._ledger = Ledger(f"{agent_root(agent)}/memory/meta/imports", Form.LINES)
        self._head = -1
        self._marks: set[str] = set()

    def marks(self) -> set[str]:
        """All marks; read again where anything was written since."""
        if self._head != self._vault.head:
            self._marks = set(self._read())
            self._head = self._vault.head
        return self._marks

    def line(self, marks: list[str]) -> AddLines:
        """What a change that takes these over has to write beside them."""
        # What is called `paths` is not searched for secrets, which a mark may look like.
        return AddLines(self._ledger, ({"op": "import", "job": self._source, "paths": marks},), "I")

    def took(self, marks: list[str]) -> None:
        """Note what the last change wrote, so that the ledger need not be read again."""
        self._marks.update(marks)
        self._head = self._vault.head

    def _read(self) -> list[str]:
        parts = takewhile(lambda data: data is not None, (self._vault.content(self._ledger.part(n)) for n in count(1)))
        records: list[Any] = [line.record for data in parts for line in read_lines(data or b"").records]
        return [mark for each in records if each.get("job") == self._source for mark in each.get("paths", ())]
