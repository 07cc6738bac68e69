"""What is looked for: a purged text in every form in which a file may hold it. Pure.

A text is its whole self and each of its lines that is long enough to be its own; where that is asked for, each of its
sentences too. A text without such a line is looked for as a whole, between word borders, unless it is very short. Files
may hold it as it is, as a JSON string, composed or decomposed, and wrapped over several lines.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

LONG = 12
"""Characters from which on a line or a sentence is looked for by itself."""
SHORTEST = 6
"""Characters from which on a text without such a line is looked for: shorter ones stand anywhere."""
HUGE = 1 << 16
"""Bytes from which on a line is not remembered."""
HEAD = 40
"""Words of a text behind which a line that wraps it may end."""
_HOLE = b"\0\0hole\0\0"
"""Stands for what was cut until the rest of its line is looked at."""

_WORD = re.compile(rb"\w|[\x80-\xff]")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+")
_STOP = rb"(?:[.!?,;]|\xe2\x80\xa6)"
_LEADING = re.compile(
    rb"(^[ \t>*#|-]*|[\"(]|[.!?:][\"')]*[ \t]+|\xe2\x80\xa6[ \t]+)" + _HOLE + _STOP + rb"*(?:[ \t]+|(?=\s|$))"
)
_INNER = re.compile(rb"[ \t]?" + _HOLE + rb"(?=\s|$|" + _STOP + rb")")
_GAP = rb"(?:[ \t]+|[ \t]*\r?\n[ \t>]*)"


def parts_of(text: str) -> frozenset[str]:
    """What a text is looked for by: its long lines, else the whole of it."""
    lines = (line.strip() for line in text.splitlines())
    long, whole = frozenset(line for line in lines if len(line) >= LONG), text.strip()
    return long or frozenset([whole] if len(whole) >= SHORTEST else [])


def sentences_of(text: str) -> frozenset[str]:
    """The sentences of a text that are long enough, each without the sign that ends it."""
    sentences = (each for line in text.splitlines() for each in _SENTENCE_END.split(line))
    found = (each.strip().rstrip(".!?… ") for each in sentences)
    return frozenset(each for each in found if len(each) >= LONG)


def forms_of(text: str) -> set[bytes]:
    """The bytes of a text, as it is and as JSON strings have it, however its characters and blanks are written."""
    written = {text, " ".join(text.split())}
    written |= {unicodedata.normalize(form, each) for each in written for form in ("NFC", "NFD")}
    quoted = {json.dumps(each, ensure_ascii=is_ascii)[1:-1] for each in written for is_ascii in (True, False)}
    return {each.encode("utf-8", "surrogateescape") for each in written | quoted}


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
    _wrapped: list[re.Pattern[bytes]] = field(default_factory=list)
    _heads: tuple[bytes, ...] = ()
    """How a line ends that may go on with a text in the next one."""

    def __post_init__(self) -> None:
        heads: set[bytes] = set()
        for part in self.parts:
            for form in forms_of(part):
                if b"\n" in form:
                    self._across.append(_bordered(form))
                elif len(part) < LONG:
                    self._short.append(_bordered(form))
                else:
                    self._in_line.append(form)
            for words in _spellings(part):
                self._wrapped.append(re.compile(_GAP.join(map(re.escape, words))))
                heads |= {b" ".join(words[:count]) for count in range(1, min(len(words), HEAD))}
        self._in_line.sort(key=len, reverse=True)
        self._heads = tuple(heads)

    @classmethod
    def of(cls, texts: Iterable[str], *, but: frozenset[str] = frozenset(), sentences: Iterable[str] = ()) -> Needles:
        """The needles of these texts and sentences, except for parts that others may have, and sentences of those."""
        found = {text: parts_of(text) for text in texts}
        parts = frozenset(chain.from_iterable(found.values())) - but
        parts |= frozenset(sentences).difference(but, *map(sentences_of, but))
        wholes = (text.strip() for text, its in found.items() if its and its.isdisjoint(but))
        return cls(parts, frozenset(whole for whole in wholes if "\n" in whole))

    def are_in(self, data: bytes) -> bool:
        """Whether anything of the texts stands here."""
        if any(each.search(data) for each in self._across):
            return True
        lines = set(data.split(b"\n")) - self._clean
        if any(self._is_in(line) for line in lines):
            return True
        opening = {line for line in lines if self._opens(line)}
        if opening and any(each.search(data) for each in self._wrapped):
            return True
        self._clean |= {line for line in lines - opening if len(line) < HUGE}
        return False

    def found_in(self, text: str) -> list[str]:
        """The parts that stand in this text."""
        data = text.encode("utf-8", "surrogateescape")
        if not self.are_in(data):
            return []
        return [part for part in self.parts if Needles(frozenset({part})).are_in(data)]

    def _is_in(self, line: bytes) -> bool:
        has = any(each in line for each in self._in_line) or any(each.search(line) for each in self._short)
        return has or (_is_spaced(line) and any(each.search(line) for each in self._wrapped))

    def _opens(self, line: bytes) -> bool:
        return line.rstrip().endswith(self._heads)

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
        lines = data.splitlines(keepends=True)
        if any(map(self._opens, lines)):
            for each in self._wrapped:
                data = each.sub(_HOLE, data)
            lines = data.splitlines(keepends=True)
        return b"".join(map(self._cut_line, lines))

    def _cut_line(self, line: bytes) -> bytes:
        if _HOLE not in line and not self._is_in(line):
            return line
        for form in self._in_line:
            line = line.replace(form, _HOLE)
        for each in (*self._short, *(self._wrapped if _is_spaced(line) else ())):
            line = each.sub(_HOLE, line)
        line = _closed(line)
        return line if _WORD.search(line) else b""


def _is_spaced(line: bytes) -> bool:
    """Whether a line has more between its words than single blanks."""
    return b"  " in line or b"\t" in line


def _closed(line: bytes) -> bytes:
    """A line without its holes, and without the blanks and signs that belonged to what stood there."""
    while (after := _LEADING.sub(rb"\1", line)) != line:
        line = after
    return _INNER.sub(b"", line).replace(_HOLE, b"")


def _spellings(part: str) -> Iterator[list[bytes]]:
    """The words of a text that may be wrapped, composed and decomposed."""
    if len(part) < LONG or len(part.split()) < 2:
        return
    for each in {part, *(unicodedata.normalize(form, part) for form in ("NFC", "NFD"))}:
        yield [word.encode("utf-8", "surrogateescape") for word in each.split()]


def _bordered(form: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![\w\x80-\xff])" + re.escape(form) + rb"(?![\w\x80-\xff])")
