"""A daily log as a document: its blocks without loss, and the memories in it.

Every line that reads as an entry heading starts an entry, which runs to the next one. Two exceptions protect what
people write: an entry that stands as it was written ends where its checksum says, and what follows it is text; outside
entries with a block id, a heading without a block id inside a closed code fence is text.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, tzinfo
from itertools import pairwise
from typing import Literal

from memfolio.types import EMPTY, HUMAN, MemoryItem
from memfolio.vault.format.checksum import own_length
from memfolio.vault.format.content import AFTER_SIGNS, text_id, without_surrogates
from memfolio.vault.format.entry import Entry, attributed, moment_of, parse_entry
from memfolio.vault.format.heading import MAX_MS
from memfolio.vault.format.notes import Note, Span, closed_fences, read_notes
from memfolio.vault.format.quick import QuickReader

BlockKind = Literal["preamble", "entry", "text"]
Start = tuple[int, str | None]
"""Where an entry starts, and its block id."""
Cut = tuple[int, int, BlockKind, str | None]
"""Where a block starts and ends, what it is, and its block id."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# Both are compiled at their first use: whoever only writes does not need them.
_ENTRY = rf"(?m)##(?:(?<![^\n]##)|(?<=\A\ufeff##)){AFTER_SIGNS}"
"""`HEADING` at the start of a line; it begins with its plain characters because those are searched for much faster."""

_FRONT_MATTER = r"---[ \t\r]*\n(?:(?:[\w-]+:|[ \t]+|- )[^\n]*\n)+---[ \t\r]*(?:\n|\Z)"
_PREAMBLE = rf"\A\ufeff?(?:{_FRONT_MATTER})?(?:[ \t\r]*\n|# [^\n]*(?:\n|\Z))*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A stretch of a log: its exact text, where it starts, and the block id if it has one.

    The preamble is title, front matter and blank lines; an entry starts with a heading; text is all else.
    """

    text: str
    start: int
    id: str | None
    kind: BlockKind


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """A memory of a log and every place where it stands, as offsets into the text; the first place is the one read."""

    entry: Entry
    places: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReading:
    """All memories of a log, in order, and what could not be read as it was meant."""

    entries: tuple[LogEntry, ...]
    problems: tuple[str, ...]


def title_line(day: date, part: int = 1) -> str:
    """The first line of a log, without its line end: `# 2026-11-15 · Sunday (2)`."""
    title = f"# {day.isoformat()} · {WEEKDAYS[day.weekday()]}"
    return title if part == 1 else f"{title} ({part})"


def split_log(text: str, agent: str) -> list[Block]:
    """The log of an agent cut into blocks that together are exactly `text`."""
    return [Block(text=text[lo:hi], start=lo, id=mark, kind=kind) for lo, hi, kind, mark in _cuts(text, agent)]


def read_log(text: str, *, day: date, tz: tzinfo, agent: str) -> LogReading:
    """The memories of a log: entries with and without a block id, and hand-written text.

    The first entry with an id has it; others with the same id are read as hand-written and reported. Equal hand-written
    texts are one memory. Nothing raises.
    """
    clean = without_surrogates(text)
    reader = _Reader(clean, day, tz, agent)
    if clean != text:
        reader.problems.append("the file has bytes that are not UTF-8")
    for cut in _cuts(text, agent):
        reader.take(*cut)
    entries = tuple(LogEntry(entry=entry, places=tuple(places)) for entry, places in reader.found.values())
    return LogReading(entries=entries, problems=tuple(reader.problems))


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
        end = lo + own_length(text[lo:hi], agent) if mark else hi
        yield lo, end, "entry", mark
        if end < hi:
            yield end, hi, "text", None


def _headings(text: str, agent: str) -> list[Start]:
    found = [(match.start(), _id(match)) for match in re.finditer(_ENTRY, text)]
    if "```" not in text and "~~~" not in text:
        return found
    return [start for run in _runs(found, len(text)) for start in _outside_fences(text, agent, *run)]


def _id(match: re.Match[str]) -> str | None:
    return match[1] if match[1] and int(match[2]) <= MAX_MS else None


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

    def __init__(self, text: str, day: date, tz: tzinfo, agent: str) -> None:
        self.text = text
        self.day = day
        self.tz = tz
        self.agent = agent
        self.quick = QuickReader(text, day=day, tz=tz)
        self.found: dict[str, tuple[Entry, list[Span]]] = {}
        self.problems: list[str] = []

    def take(self, start: int, end: int, kind: BlockKind, id: str | None) -> None:
        if kind == "entry":
            self._take_entry(start, end, id)
        elif kind == "text":
            for note in read_notes(self.text[start:end]):
                self._add(self._entry_of(note), start + note.start, start + note.end)

    def _take_entry(self, start: int, end: int, id: str | None) -> None:
        repeated = id in self.found
        entry = self.quick.read(start, end) if id and not repeated else None
        if entry is None:
            entry = self._read_tolerantly(start, end, id, repeated)
        if entry and (entry.item.content or entry.item.id == id):
            self._add(entry, start, end)

    def _read_tolerantly(self, start: int, end: int, id: str | None, repeated: bool) -> Entry | None:
        if repeated:
            self._report(start, f"{id} is already the id of another entry; this one is read as hand-written")
        block = self.text[start:end]
        parsed = parse_entry(block, day=self.day, tz=self.tz, agent=self.agent, marked=not repeated)
        if parsed is None:
            return None
        for problem in parsed.problems:
            self._report(start, problem)
        return parsed.entry

    def _entry_of(self, note: Note) -> Entry:
        item = MemoryItem(
            id=text_id(self.agent, note.content),
            content=note.content,
            created_at=moment_of(self.day, note.time, self.tz),
            importance=0.5 if note.importance is None else note.importance,
            source="file",
            attributes={"heading": note.heading} if note.heading else EMPTY,
        )
        return Entry(item=item, by=attributed(item, HUMAN.actor, HUMAN.approval, HUMAN.trigger))

    def _add(self, entry: Entry, start: int, end: int) -> None:
        _, places = self.found.setdefault(entry.item.id, (entry, []))
        places.append((start, end))

    def _report(self, start: int, problem: str) -> None:
        line = self.text.count("\n", 0, start) + 1
        self.problems.append(f"line {line}: {problem}")
