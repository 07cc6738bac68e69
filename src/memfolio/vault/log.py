"""A daily log as a document: its blocks without loss, and the memories in it, hand-written ones included."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, time, tzinfo
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise, repeat
from typing import Literal, NamedTuple

from memfolio.types import EMPTY, HUMAN, MemoryItem, frozen
from memfolio.vault.fields import (
    AFTER_SIGNS,
    BLANK,
    MAX_MS,
    TIME,
    Entry,
    find_mark,
    is_untouched,
    moment_of,
    normalise_content,
    parse_entry,
    read_clock,
    salt_of,
    take_importance,
    text_id,
    unescape,
    without_surrogates,
)
from memfolio.vault.paths import agent_of, day_of
from memfolio.vault.sections import PageHeading, Span, closed_fences, comments, headings

# Hand-written text as memories: each top-level bullet is one, and so is each paragraph.
#
# A code fence is opaque if it is closed: its lines are neither bullets nor headings. One that is never closed is
# ordinary text, so that a slip of a person's hand cannot swallow what follows.

_BY_HAND = replace(HUMAN, source="file")

# Compiled at their first use: a home in which nobody writes by hand does not need them.
_RULE = r"(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|={3,}"
_BULLET = r"([ \t]*)(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(?=\S)"
_TIMED_HEADING = rf"({TIME})(?![\w:])"
_TIMED_TEXT = rf"(?:\*\*)?\[({TIME})\]"


@frozen
class HandWrittenNote:
    """A hand-written memory and its position."""

    content: str
    start: int
    end: int
    time: time | None
    heading: str | None
    importance: float | None


def read_notes(text: str) -> list[HandWrittenNote]:
    """The memories in `text`, in order."""
    reader, found = _NotesReader(), (each for each in headings(text) if text[each.start] == "#")
    # Signs with a carriage return behind them are text.
    heads = {each.start: each for each in found if text[each.behind : each.behind + 1] != "\r"}
    for start, end, kind in _pieces(text):
        reader.take(text[start:end], start, end, kind, heads.get(start))
    reader.close()
    return reader.notes


def _pieces(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield `text` as plain lines, whole fences and whole comments; of overlapping ones, the first counts."""
    at = 0
    fences, remarks = zip(closed_fences(text), repeat("fence")), zip(comments(text), repeat("comment"))
    for (start, end), kind in sorted([*fences, *remarks]):
        if start < at:
            continue
        yield from _plain_lines(text, at, start)
        yield start, end, kind
        at = end
    yield from _plain_lines(text, at, len(text))


def _plain_lines(text: str, at: int, end: int) -> Iterator[tuple[int, int, str]]:
    while at < end:
        after = text.find("\n", at, end) + 1 or end
        yield at, after, "line"
        at = after


class _NotesReader:
    """Collects lines into notes; `indent` is the bullet's, None for a paragraph."""

    def __init__(self) -> None:
        self.notes: list[HandWrittenNote] = []
        self.lines: list[str] = []
        self.start = self.end = self.width = 0
        self.indent: int | None = None
        self.gap = False
        self.importance: float | None = None
        self.time: time | None = None
        self.heading: str | None = None

    def take(self, piece: str, start: int, end: int, kind: str, heading: PageHeading | None) -> None:
        if kind == "comment":
            self._note_importance(piece)
        elif kind == "fence":
            self._continue_or_open(piece, start, end)
        elif not piece.strip():
            self.gap = bool(self.lines)
        elif heading:
            self.close()
            self._enter(heading.title.strip(), is_title=heading.level == 1)
        elif re.fullmatch(_RULE, piece.strip()):
            self.close()
        else:
            self._take_text(piece, start, end)

    def close(self) -> None:
        """End the note under way, if there is one."""
        content = unescape(normalise_content("".join(self.lines)))
        if content:
            clock = re.match(_TIMED_TEXT, content)
            self.notes.append(
                HandWrittenNote(
                    content=content,
                    start=self.start,
                    end=self.end,
                    time=read_clock(clock[1]) if clock else self.time,
                    heading=self.heading,
                    importance=self.importance,
                )
            )
            self.importance = None
        self.lines, self.indent, self.gap = [], None, False

    def _enter(self, words: str, *, is_title: bool) -> None:
        clock = re.match(_TIMED_HEADING, words)
        self.time = read_clock(clock[1]) if clock else None
        self.importance = None
        rest = words[clock.end() :].lstrip(" \t-–—:|") if clock else words
        self.heading = None if is_title else rest or None

    def _note_importance(self, comment: str) -> None:
        importance = take_importance(comment)[1]
        if importance is None:
            return
        if self.gap:
            self.close()
        self.importance = importance

    def _take_text(self, line: str, start: int, end: int) -> None:
        line, importance = take_importance(line)
        bullet = re.match(_BULLET, line)
        if bullet and (self.indent is None or _columns(bullet[1]) <= self.indent):
            self.close()
            self.indent, self.width = _columns(bullet[1]), bullet.end()
            self._open(line[bullet.end() :], start, end)
        else:
            self._continue_or_open(line, start, end)
        if importance is not None:
            self.importance = importance

    def _continue_or_open(self, piece: str, start: int, end: int) -> None:
        ended = self.gap and (self.indent is None or not piece.startswith((" ", "\t")))
        if not self.lines or ended:
            self.close()
            self._open(piece, start, end)
            return
        if self.gap:
            self.lines.append("\n")
        self._add(_dedent(piece, self.width) if self.indent is not None else piece, end)

    def _open(self, piece: str, start: int, end: int) -> None:
        self.start = start
        self._add(piece, end)

    def _add(self, piece: str, end: int) -> None:
        self.lines.append(piece)
        self.end, self.gap = end, False


def _columns(space: str) -> int:
    return len(space.expandtabs(4))


def _dedent(piece: str, width: int) -> str:
    """`piece` without the indentation that made it part of a bullet."""
    return "\n".join(line[min(width, len(line) - len(line.lstrip(" \t"))) :] for line in piece.split("\n"))


# A daily log as a document: its blocks without loss, and the memories in it.
#
# Every line that reads as an entry heading starts an entry, which runs to the next one. Two exceptions protect what
# people write: an entry that stands as it was written ends where its checksum says, and what follows it is text;
# outside entries with a block id, a heading without a block id inside a closed code fence is text.

BlockKind = Literal["preamble", "entry", "text"]
Start = tuple[int, str | None]
"""The start of an entry, and its block id."""
Cut = tuple[int, int, BlockKind, str | None]
"""Start and end of a block, its kind, and its block id."""

# Both are compiled at their first use: whoever only writes does not need them.
_ENTRY = rf"(?m)##(?:(?<![^\n]##)|(?<=\A\ufeff##)){AFTER_SIGNS}"
"""`HEADING` at the start of a line; it begins with its plain characters because those are searched for much faster."""

_FRONT_MATTER = r"---[ \t\r]*\n(?:(?:[\w-]+:|[ \t]+|- )[^\n]*\n)+---[ \t\r]*(?:\n|\Z)"
_PREAMBLE = rf"\A\ufeff?(?:{_FRONT_MATTER})?(?:[ \t\r]*\n|# [^\n]*(?:\n|\Z))*"


class Block(NamedTuple):
    """A part of a log: its exact text, its start, and its block id, if any.

    The preamble is title, front matter and blank lines; an entry starts with a heading; everything else is text.
    """

    text: str
    start: int
    id: str | None
    kind: BlockKind


@frozen
class LogEntry:
    """A memory of a log and every place where it occurs, as offsets into the text; the first one is read."""

    entry: Entry
    places: tuple[Span, ...]


@frozen
class LogReading:
    """All memories of a log, in order, and what could not be read as it was meant."""

    entries: tuple[LogEntry, ...]
    problems: tuple[str, ...]


@lru_cache(maxsize=8)
def split_log(text: str, agent: str) -> tuple[Block, ...]:
    """The log of an agent cut into blocks that together are exactly `text`.

    The last few are kept: a change looks at the same text several times, and the next one at what this one left.
    """
    return tuple([Block(text[lo:hi], lo, mark, kind) for lo, hi, kind, mark in _cuts(text, agent)])


def whole_length(block: str, agent: str) -> int:
    """How much of `block` is, byte for byte, an entry as it was written; 0 when it does not begin with one."""
    lines = block.split("\n")[:-1]
    mark = find_mark(lines[0]) if lines else None
    if mark is None:
        return 0
    at, length = mark.checksum_at, 0
    digest = blake2b(salt_of(agent, mark.ms))
    for line in lines:
        blank = line if length else f"{line[:at]}{BLANK}{line[at + 8 :]}"
        digest.update(f"{blank}\n".encode("utf-8", "surrogatepass"))
        length += len(line) + 1
        if digest.copy().hexdigest()[:8] == lines[0][at : at + 8]:
            return length
    return 0


def own_length(block: str, agent: str) -> int:
    """How much of `block`, which begins with an entry, belongs to that: what follows an untouched one does not.

    Of an entry that was edited nobody can tell where it ends, so it has all of the block.
    """
    body = block.rstrip("\n")
    if "\n" not in body[body.find("\n\n") + 2 :] or is_untouched(f"{body}\n", agent):
        return len(block)
    length = whole_length(block, agent)
    return length if length and length < len(body) else len(block)


def read_log(text: str, *, day: date, tz: tzinfo, agent: str, marked: bool = True) -> LogReading:
    """The memories of a log: entries with (unless not `marked`) and without a block id, and hand-written text.

    The first entry with an id has it; others with the same id are read as hand-written and reported. Equal hand-written
    texts are one memory. Nothing raises.
    """
    clean = without_surrogates(text)
    reader = _Reader(clean, day, tz, agent, marked=marked)
    if clean != text:
        reader.problems.append("the file has bytes that are not UTF-8")
    for cut in _cuts(text, agent):
        reader.take(*cut)
    entries = tuple(LogEntry(entry=entry, places=tuple(places)) for entry, places in reader.found.values())
    return LogReading(entries=entries, problems=tuple(reader.problems))


def read_log_at(path: str, text: str, tz: tzinfo = UTC, *, marked: bool = True) -> LogReading:
    """The memories of the log at `path`; none where that is no log, or of a day that does not exist."""
    day, agent = day_of(path), agent_of(path)
    if day is None or agent is None:
        return LogReading(entries=(), problems=())
    return read_log(text, day=day, tz=tz, agent=agent, marked=marked)


def read_entry_at(path: str, block: str, *, marked: bool = True) -> Entry | None:
    """The entry in a block of the log at `path`, whatever the time zone; None where there is none."""
    day, agent = day_of(path), agent_of(path)
    parsed = parse_entry(block, day=day, tz=UTC, agent=agent, marked=marked) if day and agent else None
    return parsed.entry if parsed else None


def _cuts(text: str, agent: str) -> Iterator[Cut]:
    starts = _headings(text, agent)
    first = starts[0][0] if starts else len(text)
    preamble = re.match(_PREAMBLE, text)
    lead = min(preamble.end() if preamble else 0, first)
    if lead:
        yield 0, lead, "preamble", None
    if lead < first:
        yield lead, first, "text", None
    for (lo, mark), (hi, _) in pairwise([*starts, (len(text), None)]):
        # Most entries are one line of content: nothing can follow that, which need not be proved by the checksum.
        is_line = text[text.find("\n", text.find("\n\n", lo, hi) + 2, hi) : hi] in ("\n", "\n\n")
        end = lo + own_length(text[lo:hi], agent) if mark and not is_line else hi
        yield lo, end, "entry", mark
        if end < hi:
            yield end, hi, "text", None


def _headings(text: str, agent: str) -> list[Start]:
    found = [
        (match.start(), match[1] if match[1] and int(match[2]) <= MAX_MS else None)
        for match in re.finditer(_ENTRY, text)
    ]
    if "```" not in text and "~~~" not in text:
        return found
    return [start for run in _runs(found, len(text)) for start in _outside_fences(text, agent, *run)]


def _runs(found: list[Start], end: int) -> Iterator[tuple[list[Start], int]]:
    """Headings from one with a block id (or the start of the file) to the next one, and where that stands."""
    run: list[Start] = []
    for start in found:
        if start[1]:
            yield run, start[0]
            run = []
        run.append(start)
    yield run, end


def _outside_fences(text: str, agent: str, run: list[Start], end: int) -> list[Start]:
    """The headings of a run that count: fences matter from where its entry with a block id has ended for sure."""
    marked = bool(run and run[0][1])
    if len(run) <= marked:
        return run
    begin = run[0][0] + own_length(text[run[0][0] : run[1][0]], agent) if marked else 0
    sure = sum(start <= begin for start, _ in run)
    fences = closed_fences(text, begin, end)
    return run[:sure] + [start for start in run[sure:] if not _is_inside(start[0], fences)]


def _is_inside(at: int, spans: list[Span]) -> bool:
    before = bisect(spans, (at,)) - 1
    return before >= 0 and at < spans[before][1]


class _Reader:
    """Gathers what is found, by id."""

    def __init__(self, text: str, day: date, tz: tzinfo, agent: str, *, marked: bool) -> None:
        self.text = text
        self.day = day
        self.tz = tz
        self.agent = agent
        self.marked = marked
        self.marks: set[str | None] = set()
        self.found: dict[str, tuple[Entry, list[Span]]] = {}
        self.problems: list[str] = []

    def take(self, start: int, end: int, kind: BlockKind, id: str | None) -> None:
        if kind == "entry":
            self._take_entry(start, end, id)
        elif kind == "text":
            for note in read_notes(self.text[start:end]):
                self._add(self._entry_of(note), start + note.start, start + note.end)

    def _take_entry(self, start: int, end: int, id: str | None) -> None:
        repeated = id is not None and id in self.marks
        self.marks.add(id)
        if id and not repeated and not self.marked:
            return
        entry = self._read(start, end, id, repeated)
        if entry and (entry.item.content or entry.item.id == id):
            self._add(entry, start, end)

    def _read(self, start: int, end: int, id: str | None, repeated: bool) -> Entry | None:
        if repeated:
            self._report(start, f"{id} is already the id of another entry; this one is read as hand-written")
        block = self.text[start:end]
        parsed = parse_entry(block, day=self.day, tz=self.tz, agent=self.agent, marked=not repeated)
        if parsed is None:
            return None
        for problem in parsed.problems:
            self._report(start, problem)
        return parsed.entry

    def _entry_of(self, note: HandWrittenNote) -> Entry:
        item = MemoryItem(
            id=text_id(self.agent, note.content),
            content=note.content,
            created_at=moment_of(self.day, note.time, self.tz),
            importance=0.5 if note.importance is None else note.importance,
            source="file",
            attributes={"heading": note.heading} if note.heading else EMPTY,
        )
        return Entry(item=item, by=_BY_HAND)

    def _add(self, entry: Entry, start: int, end: int) -> None:
        _, places = self.found.setdefault(entry.item.id, (entry, []))
        places.append((start, end))

    def _report(self, start: int, problem: str) -> None:
        line = self.text.count("\n", 0, start) + 1
        self.problems.append(f"line {line}: {problem}")
