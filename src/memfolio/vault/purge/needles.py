"""Search patterns for a purged text in every form that a file may hold. Pure.

A text is searched as a whole and by each line that is long enough to be distinctive; on request by its sentences, too.
A text without such a line is searched as a whole, between word boundaries, unless it is very short. A file may hold it
as is, as a JSON string, composed or decomposed, and wrapped over several lines.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

LONG = 12
"""The shortest line or sentence, in characters, that is searched on its own."""
SHORTEST = 6
"""The shortest text without such a line that is searched: shorter ones occur anywhere."""
HUGE = 1 << 16
"""Bytes from which on a line is not remembered."""
_HOLE = b"\0\0hole\0\0"
"""Marks a cut until the rest of its line has been looked at."""

_WORD = re.compile(rb"\w|[\x80-\xff]")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+")
_STOP = rb"(?:[.!?,;]|\xe2\x80\xa6)"
_LEADING = re.compile(
    rb"(^[ \t>*#|-]*|[\"(]|[.!?:][\"')]*[ \t]+|\xe2\x80\xa6[ \t]+)" + _HOLE + _STOP + rb"*(?:[ \t]+|(?=\s|$))"
)
_INNER = re.compile(rb"[ \t]?" + _HOLE + rb"(?=\s|$|" + _STOP + rb")")
_BLANKS = re.compile(rb"[ \t]+")
_GAP = rb"(?:[ \t]+|[ \t]*\r?\n[ \t>]*)"


def parts_of(text: str) -> frozenset[str]:
    """Return the parts by which a text is found: its long lines, or else the whole text."""
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
    """Find and cut texts: a match of `parts` counts as found; `wholes` of several lines are cut first."""

    parts: frozenset[str]
    wholes: frozenset[str] = frozenset()
    _patterns: list[tuple[bytes, re.Pattern[bytes]]] = field(default_factory=list)
    """How each form of a part is found, with its longest word, which a line must have for that to be tried."""
    _words: frozenset[bytes] = frozenset()
    _clean: set[bytes] = field(default_factory=set)
    """Lines without any of these words: versions of one file share most of theirs."""

    def __post_init__(self) -> None:
        found = [_pattern(part, form) for part in self.parts for form in forms_of(part)]
        self._patterns = sorted(found, key=lambda each: -len(each[1].pattern))
        self._words = frozenset(word for word, _ in found)

    @classmethod
    def of(cls, texts: Iterable[str], *, but: frozenset[str] = frozenset(), sentences: Iterable[str] = ()) -> Needles:
        """The needles of these texts and sentences, except for parts that others may have, and sentences of those."""
        found = {text: parts_of(text) for text in texts}
        parts = frozenset(chain.from_iterable(found.values())) - but
        parts |= frozenset(sentences).difference(but, *map(sentences_of, but))
        wholes = (text.strip() for text, its in found.items() if its and its.isdisjoint(but))
        return cls(parts, frozenset(whole for whole in wholes if "\n" in whole))

    def are_in(self, data: bytes) -> bool:
        """Whether anything of the texts occurs in the data."""
        lines = set(data.split(b"\n")) - self._clean
        found = {line: [word for word in self._words if word in line] for line in lines}
        self._clean |= {line for line, words in found.items() if not words and len(line) < HUGE}
        there = set(chain.from_iterable(found.values()))
        return any(pattern.search(data) for word, pattern in self._patterns if word in there)

    def found_in(self, text: str) -> list[str]:
        """Return the parts that occur in this text."""
        data = text.encode("utf-8", "surrogateescape")
        if not self.are_in(data):
            return []
        return [part for part in self.parts if Needles(frozenset({part})).are_in(data)]

    def cut(self, data: bytes) -> bytes:
        """Return the data without the texts; a line with nothing else in it is removed."""
        while (after := self._cut_once(data)) != data:  # what stood on both sides may be the text again
            data = after
        return data

    def _cut_once(self, data: bytes) -> bytes:
        for whole in sorted(self.wholes, key=len, reverse=True):
            for form in forms_of(whole):
                data = data.replace(form, _HOLE)
        for word, pattern in self._patterns:
            if word in data:
                data = pattern.sub(_HOLE, data)
        return b"".join(map(_closed, data.splitlines(keepends=True)))


def _pattern(part: str, form: bytes) -> tuple[bytes, re.Pattern[bytes]]:
    """How a form of a text is found: a long line however its blanks are written and wrapped, others between borders."""
    if len(part) < LONG or b"\n" in form:
        found = rb"(?<![\w\x80-\xff])" + re.escape(form) + rb"(?![\w\x80-\xff])"
    else:
        found = _GAP.join(map(re.escape, _BLANKS.split(form)))
    return max(form.split(), key=len), re.compile(found)


def _closed(line: bytes) -> bytes:
    """Return a line without its holes, and without the blanks and signs around them."""
    if _HOLE not in line:
        return line
    while (after := _LEADING.sub(rb"\1", line)) != line:
        line = after
    line = _INNER.sub(b"", line).replace(_HOLE, b"")
    return line if _WORD.search(line) else b""
