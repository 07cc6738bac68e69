"""What is looked for: a purged text in every form in which a file may hold it. Pure.

A text is its whole self and each of its lines that is long enough to be its own. A text without such a line is looked
for as a whole, between word borders, unless it is very short. Files may hold it as it is, or as a JSON string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

LONG = 12
"""Characters from which on a line is looked for by itself."""
SHORTEST = 6
"""Characters from which on a text without such a line is looked for: shorter ones stand anywhere."""
HUGE = 1 << 16
"""Bytes from which on a line is not remembered."""
_HOLE = b"\0\0hole\0\0"
"""Stands for what was cut until the rest of its line is looked at."""

_WORD = re.compile(rb"\w|[\x80-\xff]")


def parts_of(text: str) -> frozenset[str]:
    """What a text is looked for by: its long lines, else the whole of it."""
    lines = (line.strip() for line in text.splitlines())
    long, whole = frozenset(line for line in lines if len(line) >= LONG), text.strip()
    return long or frozenset([whole] if len(whole) >= SHORTEST else [])


def forms_of(text: str) -> set[bytes]:
    """The bytes of a text, as it is and as JSON strings have it."""
    quoted = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    return {each.encode("utf-8", "surrogateescape") for each in (text, *quoted)}


@dataclass(slots=True)
class Needles:
    """Finds and cuts texts: `parts` are what counts as found, `wholes` of several lines are cut first."""

    parts: frozenset[str]
    wholes: frozenset[str] = frozenset()
    _clean: set[bytes] = field(default_factory=set)
    """Lines that were looked at and have nothing: versions of one file share most of theirs."""
    _in_line: list[bytes] = field(default_factory=list)
    _short: list[re.Pattern[bytes]] = field(default_factory=list)
    _across: list[re.Pattern[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for part in self.parts:
            for form in forms_of(part):
                if b"\n" in form:
                    self._across.append(_bordered(form))
                elif len(part) < LONG:
                    self._short.append(_bordered(form))
                else:
                    self._in_line.append(form)

    @classmethod
    def of(cls, texts: Iterable[str], *, but: frozenset[str] = frozenset()) -> Needles:
        """The needles of these texts, except for parts that others may have."""
        found = {text: parts_of(text) for text in texts}
        parts = frozenset().union(*found.values()) - but
        wholes = (text.strip() for text, its in found.items() if its and its.isdisjoint(but))
        return cls(parts, frozenset(whole for whole in wholes if "\n" in whole))

    def are_in(self, data: bytes) -> bool:
        """Whether anything of the texts stands here."""
        if any(each.search(data) for each in self._across):
            return True
        lines = set(data.split(b"\n")) - self._clean
        if any(self._is_in(line) for line in lines):
            return True
        self._clean |= {line for line in lines if len(line) < HUGE}
        return False

    def found_in(self, text: str) -> list[str]:
        """The parts that stand in this text."""
        data = text.encode("utf-8", "surrogateescape")
        if not self.are_in(data):
            return []
        return [part for part in self.parts if Needles(frozenset({part})).are_in(data)]

    def _is_in(self, line: bytes) -> bool:
        return any(each in line for each in self._in_line) or any(each.search(line) for each in self._short)

    def cut(self, data: bytes) -> bytes:
        """The data without the texts; a line that has nothing else to say goes with its line end."""
        while (after := self._cut_once(data)) != data:  # what stood on both sides may be the text again
            data = after
        return data

    def _cut_once(self, data: bytes) -> bytes:
        for whole in sorted(self.wholes, key=len, reverse=True):
            for form in forms_of(whole):
                data = data.replace(form, _HOLE)
        for each in self._across:
            data = each.sub(_HOLE, data)
        return b"".join(self._cut_line(line) for line in data.splitlines(keepends=True))

    def _cut_line(self, line: bytes) -> bytes:
        if _HOLE not in line and not self._is_in(line):
            return line
        line = line.replace(_HOLE, b"")
        for form in sorted(self._in_line, key=len, reverse=True):
            line = line.replace(form, b"")
        for each in self._short:
            line = each.sub(b"", line)
        return line if _WORD.search(line) else b""


def _bordered(form: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![\w\x80-\xff])" + re.escape(form) + rb"(?![\w\x80-\xff])")
