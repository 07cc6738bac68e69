"""What was taken over before, told by a small ledger that is written together with what comes in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from itertools import count, takewhile
from typing import Any

from memfolio.exchange.incoming import Lore, Note, Sheet, Thing
from memfolio.vault.change import AddLines
from memfolio.vault.format.lines import read_lines
from memfolio.vault.paths import Form, Ledger, agent_root
from memfolio.vault.vault import Vault

DIGITS = 12
"""Bytes for a reference: 10⁹ of them have one chance in 10¹¹ to hold the same one twice."""
NAME = 2 * DIGITS
"""Characters of a mark that stand for the reference; those behind them for what is said."""


def mark_of(ref: str, *said: str) -> str:
    """What stands in the ledger for a reference, which may be the name of a private file, and for what is said."""
    return _digest(ref, DIGITS) + _digest("\0".join(said), 4)


def _digest(text: str, size: int) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def own_mark(thing: Thing) -> str:
    """By which a thing is known again; one that was changed where it comes from has another mark."""
    match thing:
        case Note():  # spaces are not kept as they come
            return mark_of(thing.ref, *thing.content.split())
        case Sheet():
            return mark_of(thing.ref, thing.text)
        case Lore(room="facts"):
            return mark_of(thing.ref, json.dumps(dict(thing.fields), default=str, sort_keys=True))
    return mark_of(thing.ref)


class Known:
    """The marks of what one source brought to an agent; ask under the write lock, where others import, too."""

    def __init__(self, vault: Vault, agent: str, source: str) -> None:
        self._vault = vault
        self._source = source
        self._ledger = Ledger(f"{agent_root(agent)}/memory/meta/imports", Form.LINES)
        self._head = -1
        self._marks: set[str] = set()
        self._last: dict[str, str] = {}

    def marks(self) -> set[str]:
        """All marks, also of what a thing said before; read again where anything was written since."""
        if self._head != self._vault.head:
            self._marks, self._last = set(), {}
            self.took(self._read())
        return self._marks

    def last(self) -> Mapping[str, str]:
        """The last mark of each thing, by the part of it that stands for the reference."""
        self.marks()
        return self._last

    def line(self, marks: list[str]) -> AddLines:
        """What a change that takes these over has to write beside them."""
        # What is called `paths` is not searched for secrets, which a mark may look like.
        return AddLines(self._ledger, ({"op": "import", "job": self._source, "paths": marks},), "I")

    def took(self, marks: list[str]) -> None:
        """Note what the last change wrote, so that the ledger need not be read again."""
        self._marks.update(marks)
        self._last.update((mark[:NAME], mark) for mark in marks)
        self._head = self._vault.head

    def _read(self) -> list[str]:
        parts = takewhile(lambda data: data is not None, (self._vault.content(self._ledger.part(n)) for n in count(1)))
        records: list[Any] = [line.record for data in parts for line in read_lines(data or b"").records]
        return [mark for each in records if each.get("job") == self._source for mark in each.get("paths", ())]
