"""What a file becomes once memories are purged from it: the same for a file of today and for any of its past. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from memfolio.errors import DiskError
from memfolio.state import Op
from memfolio.types import frozen
from memfolio.vault.fields import read_comment, read_meta
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import pack, plain_name, read_lines, record_of, render_line, split_lines, text_of
from memfolio.vault.log import split_log
from memfolio.vault.move import cut, excerpts
from memfolio.vault.paths import AUDIT, CONFIG, Form, agent_of, form_of, is_state, ledger_of, place_of
from memfolio.vault.sections import OURS, is_ours, renewed

# The patterns by which a purged text is found in every form that a file may hold. Pure.
#
# A text is searched as a whole and by each line that is long enough to be distinctive; on request by its sentences,
# too. A text without such a line is searched as a whole, between word boundaries, unless it is very short. A file may
# hold it as is, as a JSON string, composed or decomposed, and wrapped over several lines.

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


# What becomes of a JSON line once memories and their texts are purged from it. Pure.

FIXED = frozenset("id at actor trigger session op memory until to by type store job into".split())
"""The keys of a state line that have ids, times and words of ours, which stay."""

Goes = Callable[[str], bool]
_GONE = object()


def state_line(record: dict[str, Any], goes: Goes) -> bytes:
    """A state line without the values that have to go; what is in a list and has lost its source goes with it."""
    kept = {key: value if key in FIXED else _pruned(value, goes) for key, value in record.items()}
    # Whoever reads a line may count on its lists.
    kept |= {key: [] for key, value in record.items() if kept[key] is _GONE and isinstance(value, list)}
    return render_line({key: value for key, value in kept.items() if value is not _GONE})


def other_line(record: dict[str, Any], goes: Goes) -> bytes:
    """A line of another ledger without what has to go from its lists; nothing where no source is left to it."""
    kept = _whole(record, goes)
    return b"" if kept is _GONE else render_line(kept)


def _pruned(value: Any, goes: Goes) -> Any:
    if isinstance(value, str):
        return _GONE if goes(value) else value
    if isinstance(value, list):
        kept = [each for each in (_whole(each, goes) for each in value) if each is not _GONE]
        return kept if kept or not value else _GONE
    if isinstance(value, dict):
        pruned = {key: _pruned(each, goes) for key, each in value.items() if not goes(key)}
        return {key: each for key, each in pruned.items() if each is not _GONE}
    return value


def _whole(value: Any, goes: Goes) -> Any:
    """A value that counts only with all that it has."""
    if not isinstance(value, dict):
        return _pruned(value, goes)
    kept = {key: _pruned(each, goes) for key, each in value.items()}
    return _GONE if any(each is _GONE for each in kept.values()) or any(map(goes, value)) else kept


# What of a file is memfolio's own and nobody's words: cutting a text there would break the file. Pure.

WORDS = frozenset({"op", "store", "type", "job", "actor", "trigger"})
"""The keys of a state line whose values are words of ours."""


def frame_of(path: str, data: bytes) -> str:
    """Titles, headings and meta lines of a log's entries; names and words of state lines; nothing of other files."""
    if is_state(path):
        return "\n".join(word for record in read_lines(data).records for word in _words(record))
    if form_of(path) is not Form.LOG:
        return ""
    blocks = split_log(to_text(data), agent_of(path) or "")
    titles = (block.text for block in blocks if block.kind == "preamble")
    return "\n".join([*titles, *(line for block in blocks if block.id for line in _header(block.text))])


def _words(record: dict[str, Any]) -> Iterator[str]:
    yield from _keys(record)
    yield from (value for key, value in record.items() if key in WORDS and isinstance(value, str))


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from _keys(each)
    elif isinstance(value, list):
        for each in value:
            yield from _keys(each)


def _header(entry: str) -> Iterator[str]:
    """The heading, the meta line, and the names in the comment line of an entry."""
    heading, *rest = entry.split("\n", 3)
    yield heading
    if rest and read_meta(rest[0]) is not None:
        yield rest.pop(0)
    try:
        yield from _keys(read_comment(rest[0]) if rest else None)
    except ValueError:  # whoever broke it, it is no frame
        return


# The sources of a summary that is purged: what is left of them can be summed up again. Pure.


def freed_by(files: Mapping[str, bytes], ids: Container[str]) -> dict[str, str]:
    """The memories whose newest store line says that they went into one of these, each with its agent."""
    went: dict[str, tuple[object, str]] = {}
    for path in sorted(filter(is_state, files), key=place_of):
        if b'"into"' not in files[path] and not went:
            continue
        for record in read_lines(files[path]).records:
            if record.get("op") == Op.STORE.value:
                went[str(record.get("memory"))] = record.get("into"), agent_of(path) or ""
    return {each: agent for each, (into, agent) in went.items() if into in ids and each not in ids}


EDGE = "edge"
"""The operation of state lines that say something of their own about two memories."""

MARGIN = 64
"""Bytes behind an entry that must be the same too before it counts as ending where it did."""

_MADE = re.compile(
    r"(?:agents/[^/]+|shared)/(?:MEMORY\.md|sessions/.+|memory/archive/.+"
    r"|memory/(?:weekly|monthly|quarterly|yearly|graph|checkpoints|conflicts)/.+)"
)
_ITEM = re.compile(rb"[ \t]*(?:[-*|]|\d+\.)[ \t]")
_ID = rb"\^?[MH]-[\w-]+"
_EMPTY = re.compile(rb"[ \t]*\([\s,]*\)")
_NEVER = re.compile(rb"(?!)")
_BLANK_LINES = re.compile(rb"\n(?:[ \t]*\n){2,}")
_BLANK_END = re.compile(rb"\n[ \t\n]*\n(?=<!-- memfolio:end -->|\Z)")


def is_made(path: str) -> bool:
    """Whether memfolio writes this page: what it says is taken from memories."""
    return _MADE.fullmatch(path) is not None


def is_text(path: str, data: bytes) -> bool:
    """Whether bytes can be cut out of a file without breaking it; what is appended to is text whatever happened."""
    if form_of(path) is not Form.PAGE:
        return True
    try:
        return b"\0" not in data and bool(path.endswith(".md") or data.decode() is not None)
    except UnicodeDecodeError:
        return False


def unpack_file(path: str, data: bytes) -> tuple[str, bytes]:
    """A file's name and text, unpacked if it is a compressed one that can be."""
    try:
        return plain_name(path), text_of(path, data)
    except DiskError:
        return path, data


@dataclass(slots=True)
class Scrub:
    """Takes memories out of files: entries by their ids, lines that cite them, and their texts wherever they stand."""

    ids: frozenset[str]
    needles: Needles
    """What is cut wherever it stands."""
    fine: Needles = field(default_factory=lambda: Needles(frozenset()))
    """That and the sentences of it, which are cut from what memfolio writes; a person may have them too."""
    agents: frozenset[str] | None = None
    """Whose files are changed; None for all."""
    _marks: tuple[bytes, ...] = ()
    _cited: re.Pattern[bytes] = _NEVER
    """An id, or a link to it."""
    _closing: re.Pattern[bytes] = _NEVER
    """Ids in parentheses at the end of a line."""
    _seen: dict[str, tuple[bytes, list[tuple[int, int]], int]] = field(default_factory=dict)
    """For each log a content, the spans in it, and up to where another one must be the same to have the same spans."""

    def __post_init__(self) -> None:
        self._marks = tuple(each.encode() for each in self.ids)
        if self._marks:
            one = rb"\^?(?:" + rb"|".join(map(re.escape, self._marks)) + rb")(?![\w-])"
            self._cited = re.compile(rb"\[\[" + one + rb"[^\]\n]*\]\]|" + one)
            self._closing = re.compile(
                rb"[ \t]*\((?:" + _ID + rb", )*" + one + rb"(?:, " + _ID + rb")*\)(?=[.\s]*$)", re.MULTILINE
            )

    def __call__(self, path: str, data: bytes) -> bytes:
        """The file without the memories; the trail, the configuration and files that are no text stay."""
        if self.is_foreign(path):
            return data
        named, text = unpack_file(path, data)
        after = self._plain(named, text) if is_text(named, text) else text
        return data if after == text else pack(path, after)

    def is_foreign(self, path: str) -> bool:
        """Whether a file is that of an agent whose files are left alone."""
        agent = agent_of(path)
        return self.agents is not None and agent is not None and agent not in self.agents

    def _plain(self, path: str, data: bytes) -> bytes:
        if path.startswith(f"{AUDIT}/") or path == CONFIG or not self.touches(data):
            return data
        form = form_of(path)
        if form is Form.LINES:
            return b"".join(self._line(path, line) for line in split_lines(data))
        if form is Form.LOG:
            return _cut(self.needles, self._each(self._without_closing, self.without_entries(path, data)))
        whole = self._without_copies(path, data)
        after = self._made(whole) if is_made(path) else self._persons(whole)
        return data if after == data else _marked_anew(after, data)

    def _made(self, data: bytes) -> bytes:
        """Text that memfolio wrote, without items that cite the memories and without their sentences."""
        after = _cut(self.fine, self._each(lambda line: b"" if _ITEM.match(line) else self._freed(line), data))
        return data if after == data else _BLANK_END.sub(b"\n", _BLANK_LINES.sub(b"\n\n", after))

    def _persons(self, data: bytes) -> bytes:
        """A person's page without the memories' texts; what memfolio keeps in a part of its own it wrote itself."""
        pieces, at, text = list[bytes](), 0, to_text(data)
        for ours in OURS.finditer(text):
            pieces += [self._freed_lines(to_bytes(text[at : ours.start()])), self._made(to_bytes(ours[0]))]
            at = ours.end()
        return b"".join([*pieces, self._freed_lines(to_bytes(text[at:]))])

    def _freed_lines(self, data: bytes) -> bytes:
        return _cut(self.needles, self._each(lambda line: self._freed(self._without_closing(line)), data))

    def touches(self, data: bytes) -> bool:
        """Whether the data has, or cites, any of the memories."""
        return self._cites(data) or self.fine.are_in(data) or self.needles.are_in(data)

    def _cites(self, data: bytes) -> bool:
        return any(mark in data for mark in self._marks)

    def without_entries(self, path: str, data: bytes) -> bytes:
        """A log without the memories' own entries."""
        if ledger_of(path) is None:
            text = to_text(data)
            return to_bytes(cut(text, excerpts(path, text, self.ids)))
        for start, end in reversed(self.spans(path, data)):
            data = data[:start] + data[end:]
        return data

    def spans(self, path: str, data: bytes) -> list[tuple[int, int]]:
        """Where the memories' own entries lie in a log."""
        if known := self._known_spans(path, data):
            return known
        text = to_text(data)
        taken = excerpts(path, text, self.ids)
        found = [(len(to_bytes(text[: each.start])), len(to_bytes(text[: each.end]))) for each in taken]
        end = max((end for _, end in found), default=0) + MARGIN
        if found and len(data) >= end and all(each.startswith("M-") for each in self.ids):
            self._seen[path] = data, found, end
        return found

    def _known_spans(self, path: str, data: bytes) -> list[tuple[int, int]]:
        """The spans in a log that only grew since it was last looked at; reading it anew takes far longer."""
        before, spans, end = self._seen.get(path, (b"", [], 0))
        is_same = bool(spans) and len(data) >= end and data[:end] == before[:end]
        return spans if is_same and not any(mark in data[end:] for mark in self._marks) else []

    def _without_copies(self, path: str, data: bytes) -> bytes:
        """A page without whole entries of the memories, which a copy of a log has."""
        if not any(b"^" + mark in data for mark in self._marks):
            return data
        blocks = split_log(to_text(data), agent_of(path) or "")
        return to_bytes("".join(block.text for block in blocks if block.id not in self.ids))

    def _each(self, change: Callable[[bytes], bytes], data: bytes) -> bytes:
        """The data with another line in place of each that cites the memories."""
        if not self._cites(data):
            return data
        return b"".join(change(line) if self._cites(line) else line for line in data.splitlines(keepends=True))

    def _without_closing(self, line: bytes) -> bytes:
        """A line that does not end with the ids; one of ours, `- … (ID)`, goes as a whole."""
        if not self._closing.search(line):
            return line
        return b"" if _ITEM.match(line) else self._closing.sub(b"", line)

    def _freed(self, line: bytes) -> bytes:
        """A line without the ids of the memories."""
        return _EMPTY.sub(b"", self._cited.sub(b"", line)) if self._cites(line) else line

    def _line(self, path: str, line: bytes) -> bytes:
        """What becomes of a line of JSON: a state line loses values, of others those stay that have another source."""
        if not self.touches(line):
            return line
        record = record_of(line)
        if not is_state(path):
            is_kept = bool(record) and not self.needles.are_in(line)
            return other_line(record, lambda value: self._cites(value.encode("utf-8", "replace"))) if is_kept else b""
        if not record:
            return b"" if self.fine.are_in(line) else line
        if record.get("op") == EDGE and self._cites(line):
            return b""
        after = state_line(record, self._has)
        return line if record_of(after) == record else after

    def _has(self, value: str) -> bool:
        return value in self.ids or self.fine.are_in(value.encode("utf-8", "replace"))


@frozen
class Target:
    """What is to be destroyed."""

    ids: dict[str, str]
    """The memories, each with its agent."""
    texts: frozenset[str]
    """Every form that the memories ever had; of what was made of others only if it is named."""
    sentences: frozenset[str] = frozenset()
    """Their sentences; what was made of others has none of its own."""
    spared: frozenset[str] = frozenset()
    """Parts of those texts that are not looked for: lines of our own have them too."""
    agents: frozenset[str] | None = None
    """Whose files are changed; None for all."""

    def scrub(self) -> Scrub:
        needles = Needles.of(self.texts, but=self.spared)
        fine = Needles.of(self.texts, but=self.spared, sentences=self.sentences)
        return Scrub(frozenset(self.ids), needles, fine, self.agents)


def _marked_anew(data: bytes, before: bytes) -> bytes:
    """A page whose mark says that the part which memfolio keeps is as it wrote it, if it was so `before`."""
    text = to_text(data)
    ours = OURS.search(text) if is_ours(to_text(before)) else None
    return to_bytes(renewed(text, ours[2])) if ours else data


def persons_words(path: str, data: bytes) -> bytes:
    """What a person wrote on a page, where words may stand for another reason; nothing for files that are no pages."""
    if form_of(path) is not Form.PAGE or is_made(path) or path == CONFIG or path.startswith(f"{AUDIT}/"):
        return b""
    return to_bytes(OURS.sub("", to_text(data))) if is_text(path, data) else b""


def _cut(needles: Needles, data: bytes) -> bytes:
    return needles.cut(data) if needles.are_in(data) else data
