"""Single memories of a log: where their exact text lies, how it is cut out, and how it is put back. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from memfolio.vault.entry import parse_entry
from memfolio.vault.fields import MARK
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.log import Block, LogEntry, read_log, split_log, title_line
from memfolio.vault.paths import agent_of, day_of, ledger_of

# Single memories of a log: where their exact text lies, how it is cut out, and how it is put in. Pure.

RULE = "\n---\n"
"""Keeps an archived note apart from the one before it where a blank line would not."""

_BULLET = re.compile(r"\s*[-*+]\s")
_MARK = re.compile(r"M-([0-9]{1,15})-.+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """One place of a memory in a log: its own text, and all that goes with it; a note has no entry heading."""

    id: str
    start: int
    raw: str
    body: str
    is_note: bool

    @property
    def end(self) -> int:
        return self.start + len(self.raw)


def lead(path: str) -> str:
    """What we begin a ledger with; archived logs count no parts."""
    named, day = ledger_of(path), day_of(path)
    return f"{title_line(day, named[1] if named else 1)}\n" if day else ""


def is_bare(path: str, content: bytes) -> bool:
    """Whether nothing but our own title is left of a ledger."""
    return content.strip() in (b"", lead(path).strip().encode())


def by_hand(path: str, text: str) -> list[LogEntry]:
    """The memories of a log that are hand-written text."""
    day, agent = day_of(path), agent_of(path)
    if day is None or agent is None:
        return []
    told = [block for block in _blocks(path, text) if block.kind != "preamble"]
    marks = [block.id for block in told if block.kind == "entry" or block.text.strip()]
    if None not in marks and len(set(marks)) == len(marks):
        return []
    # The zone only tells when something was, never what its id is.
    return list(read_log(text, day=day, tz=UTC, agent=agent, marked=False).entries)


def _blocks(path: str, text: str) -> tuple[Block, ...]:
    return split_log(text, agent_of(path) or "")


def memories_in(path: str, content: bytes | None) -> set[str]:
    """The ids of a log's memories, of hand-written text too."""
    text = to_text(content or b"")
    marked = {block.id for block in _blocks(path, text) if block.id}
    return marked | {found.entry.item.id for found in by_hand(path, text)}


def _counted(path: str, text: str) -> Counter[str]:
    """How often each memory stands in a log."""
    marked = [block.id for block in _blocks(path, text) if block.id]
    return Counter(marked + [found.entry.item.id for found in by_hand(path, text) for _ in found.places])


def excerpts(path: str, text: str, ids: Container[str]) -> list[Excerpt]:
    """Every place of these memories, in order. All entries with the same mark go together."""
    hands = [memory for memory in by_hand(path, text) if memory.entry.item.id in ids]
    places = sorted(((*place, memory.entry.item.id) for memory in hands for place in memory.places), reverse=True)
    starts = {place[0] for place in places}
    chosen = _entries(path, text, lambda block: block.start in starts or (block.id is not None and block.id in ids))
    entries = {entry.start: entry for entry in chosen}
    marked = [entry.excerpt(text, entry.mark) for entry in entries.values() if entry.mark and entry.mark in ids]
    found = {taken.start: taken for taken in marked}
    rest, at = "", len(text)
    for start, end, named in places:
        if start in entries:
            taken = entries[start].excerpt(text, named)
        else:
            rest = text[end:at] + rest
            taken = _note(path, text[:end], named, start, rest)
            at = taken.start
        found.setdefault(taken.start, taken)
    return [found[start] for start in sorted(found)]


def without_copied_marks(
    path: str, text: str, ids: Collection[str], said: MutableMapping[str, str]
) -> tuple[str, set[str]]:
    """The log with no mark on copied entries that are memories of their own, and the marks that were taken off.

    Such are entries with the mark of one of `ids` that say something else than its first place, which `said` has by
    the id of its words; and those that are themselves among `ids`, by the id of their words.
    """
    asked = {each for each in ids if each.startswith("H-")}
    unmarked = {found.entry.item.id for found in by_hand(path, text)} if asked else set()
    seen, copies = set[str](), list[Block]()
    for block in (block for block in _blocks(path, text) if block.id and (asked or block.id in ids)):
        mark, words = str(block.id), _id_of_words(path, block.text)
        is_other = mark in ids and said.setdefault(mark, words) != words
        if is_other or (words in asked and (mark in seen or words not in unmarked)):
            copies.append(block)
        seen.add(mark)
    for block in reversed(copies):
        rest = text[block.start + len(block.text) :]
        text = text[: block.start] + re.sub(f"(?m){MARK}", "", block.text, count=1) + rest
    return text, {block.id for block in copies if block.id}


def _id_of_words(path: str, block: str) -> str:
    """The id of an entry that has no mark, or whose mark is another's."""
    day, agent = day_of(path), agent_of(path)
    parsed = parse_entry(block, day=day, tz=UTC, agent=agent, marked=False) if day and agent else None
    return parsed.entry.item.id if parsed else ""


def cut(text: str, taken: Iterable[Excerpt]) -> str:
    """The text without these excerpts, the rest character for character."""
    return "".join(gaps(text, sorted(taken, key=lambda each: each.start)))


def gaps(text: str, taken: Iterable[Excerpt]) -> Iterator[str]:
    """What stands before each of these excerpts, which are in order, and behind the last."""
    at = 0
    for each in taken:
        yield text[at : each.start]
        at = each.end
    yield text[at:]


def cut_from_archive(path: str, text: str, taken: Collection[Excerpt]) -> str:
    """The text without these excerpts; a rule takes the place of notes between others that would run together."""
    rest = cut(text, taken)
    if not any(each.is_note for each in taken):
        return rest
    left = _counted(path, text) - Counter(each.id for each in taken)
    if left <= _counted(path, rest):
        return rest
    for each in sorted(taken, key=lambda each: -each.start):
        text = text[: each.start] + (RULE if each.is_note else "") + text[each.end :]
    return text


class _Entry(NamedTuple):
    """An entry with a heading: where that starts, and what `ledger_blocks` counts as the entry's own.

    Text right below it is set off by the blank line above it once it is gone.
    """

    start: int
    mark: str | None
    lo: int
    hi: int
    is_followed: bool

    def excerpt(self, text: str, id: str) -> Excerpt:
        start = self.lo + 1 if self.is_followed and self.lo < self.start else self.lo
        raw = text[start : self.hi]
        return Excerpt(id=id, start=start, raw=raw, body=raw.strip("\n"), is_note=False)


def _entries(path: str, text: str, wanted: Callable[[Block], bool] = bool) -> Iterator[_Entry]:
    """The entries of a log, or those that are wanted."""
    blocks = _blocks(path, text)
    for nth, block in enumerate(blocks):
        if block.kind == "entry" and wanted(block):
            lo, hi = _end(blocks, nth - 1) if nth else 0, _end(blocks, nth)
            after = blocks[nth + 1] if nth + 1 < len(blocks) else None
            is_followed = after is not None and after.kind == "text" and after.start == hi and after.text[0] != "\n"
            yield _Entry(block.start, block.id, lo, hi, is_followed)


def _end(blocks: Sequence[Block], nth: int) -> int:
    """Where a block ends together with its last line end; the blank lines behind that belong to the next one."""
    start, text = blocks[nth].start, blocks[nth].text
    own = len(text) if nth + 1 == len(blocks) else len(text.rstrip("\n")) + 1
    return start + min(own, len(text))


def _note(path: str, text: str, id: str, start: int, rest: str) -> Excerpt:
    """The note at the end of `text`, with the blank line before it if `rest`, which stays behind it, begins with one.

    In the archive the rule that we put before a note goes with it too, unless that keeps the rest apart.
    """
    body = text[start:].strip("\n")
    if text[:start].endswith("\n\n") and rest[:1] in ("", "\n"):
        start -= 1
        if ledger_of(path) is None and text[:start].endswith(f"\n{RULE}") and rest.lstrip("\n")[:1] not in (" ", "\t"):
            start -= len(RULE)
    return Excerpt(id=id, start=start, raw=text[start:], body=body, is_note=True)


def with_entry(path: str, text: str, mark: str, body: str, at: int | None = None) -> str:
    """The log with a marked entry where the fewest others are on the wrong side of it by the time in their ids.

    Of several such places it is `at`, else the last one.
    """
    entries, wanted = list(_entries(path, text)), _time_of(mark)
    places = [*(entry.lo for entry in entries), len(text)]
    wrong = list(accumulate((_compare(_time_of(entry.mark), wanted) for entry in entries), initial=0))
    best = [place for place, count in zip(places, wrong, strict=True) if count == min(wrong)]
    return joined(text, at if at in best else best[-1], body)


def with_entries(path: str, text: str, entries: Sequence[tuple[str, str]]) -> str:
    """`with_entry` for many, given by mark and body, one after the other.

    As long as the times of all entries rise, each has its place at once; the log is read again only in the end, to see
    that every entry is read where it was put.
    """
    placed = _placed(path, text, entries)
    if placed is not None:
        return placed
    for mark, body in entries:
        text = with_entry(path, text, mark, body)
    return text


def _placed(path: str, text: str, entries: Sequence[tuple[str, str]]) -> str | None:
    """The log with all entries; None where one of them needs a closer look."""
    there = list(_entries(path, text))
    marks = [entry.mark for entry in there]
    bounds = [0, *(entry.lo for entry in there), len(text)]
    pieces = [text[lo:hi] for lo, hi in pairwise(bounds)]
    times = list(accumulate((_time_of(mark) or 0 for mark in marks), max))
    if any(_time_of(mark) not in (None, time) for mark, time in zip(marks, times, strict=True)):
        return None
    for mark, body in entries:
        time = _time_of(mark)
        if time is None:
            return None
        at = bisect_right(times, time)
        before, after = _edges(pieces, at)
        if before not in ("", "\n"):
            pieces[at] += "\n"
        if after not in ("", "\n"):
            pieces[at + 1] = f"\n{pieces[at + 1]}"
        times.insert(at, time)
        marks.insert(at, mark)
        pieces.insert(at + 1, ("\n" if before else "") + f"{body}\n")
    placed = "".join(pieces)
    as_put = list(zip(marks, accumulate(map(len, pieces)), strict=False))
    return placed if [(entry.mark, entry.lo) for entry in _entries(path, placed)] == as_put else None


def _edges(pieces: Sequence[str], at: int) -> tuple[str, str]:
    """The last character before the end of piece `at`, and the first one behind it."""
    before = next((piece for piece in pieces[at::-1] if piece), "")
    return before[-1:], next((piece for piece in pieces[at + 1 :] if piece), "")[:1]


def _time_of(mark: str | None) -> int | None:
    timed = _MARK.fullmatch(mark or "")
    return int(timed[1]) if timed else None


def _compare(time: int | None, wanted: int | None) -> int:
    """1 when it is later than wanted, -1 when it is earlier, 0 when nobody knows."""
    return 0 if time is None or wanted is None else (time > wanted) - (time < wanted)


def with_heading(path: str, text: str, id: str, body: str, at: int | None = None) -> str:
    """The log with an entry that has no mark at `at`, if that is between two entries; else at the end."""
    between = {entry.lo for entry in _entries(path, text)}
    return joined(text, at if at is not None and at in between else len(text), body)


def with_note(path: str, text: str, id: str, body: str, at: int | None = None) -> str:
    """The log with a note at `at`, else behind the notes at its top, set off only as far as all of them need it."""
    end = _end_of_notes(path, text)
    places = [end] if at is None else [at] if at <= end else [at, end]
    wanted = _counted(path, text) + Counter([id])
    ways = (way for place in places for way in _ways_in(text, place, body))
    return next((way for way in ways if wanted <= _counted(path, way)), joined(text, places[-1], body))


def _ways_in(text: str, at: int, body: str) -> Iterator[str]:
    """The text with a note at `at`, by as little as may do first."""
    above = text[:at].rstrip("\n").rpartition("\n")[2]
    if text[:at].endswith("\n") and _BULLET.match(body) and (_BULLET.match(above) or above.startswith("#")):
        yield f"{text[:at]}{body}\n{text[at:]}"
    yield joined(text, at, body)
    yield f"{text[:at]}{RULE}\n{body}\n{text[at:]}"


def _end_of_notes(path: str, text: str) -> int:
    first = next((block.start for block in _blocks(path, text) if block.kind == "entry"), len(text))
    end = len(text[:first].rstrip("\n"))
    return min(end + 1, first) if end else 0


def joined(text: str, at: int, body: str) -> str:
    """The text with `body` at `at`, between blank lines."""
    before, after = text[:at], text[at:]
    blank = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    return f"{before}{blank}{body}\n" + ("" if after[:1] in ("", "\n") else "\n") + after


def into_archive(path: str, content: bytes | None, taken: Iterable[Excerpt]) -> bytes:
    """An archived log with these excerpts too, in place of equal ones that it has and before older states of them."""
    text, taken = to_text(content) if content else lead(path), list(taken)
    bodies = {(each.id, each.body) for each in taken}
    there = excerpts(path, text, {each.id for each in taken})
    text = cut(text, [each for each in there if (each.id, each.body) in bodies])
    text += "" if text.endswith("\n") or not text else "\n"
    text = _with_notes(path, text, [each for each in taken if each.is_note])
    older = {each.id for each in there if not each.is_note and (each.id, each.body) not in bodies}
    entries = [each for each in taken if not each.is_note]
    text = _before_older(path, text, [each for each in entries if each.id in older])
    return to_bytes(text + "".join(f"\n{each.body}\n" for each in entries if each.id not in older))


def _before_older(path: str, text: str, newer: Sequence[Excerpt]) -> str:
    """The archive with each entry before what it has of the same memory: the first one is the one that is read."""
    for named in dict.fromkeys(each.id for each in newer):
        first = next(each for each in excerpts(path, text, {named}) if not each.is_note)
        text = joined(text, first.start, "\n\n".join(each.body for each in newer if each.id == named))
    return text


def _with_notes(path: str, text: str, notes: list[Excerpt]) -> str:
    """The archive with these notes too: all at once if that reads well, since looking at each takes long."""
    if not notes:
        return text
    together = joined(text, _end_of_notes(path, text), "\n\n".join(each.body for each in notes))
    if _counted(path, text) + Counter(each.id for each in notes) <= _counted(path, together):
        return together
    for each in notes:
        text = with_note(path, text, each.id, each.body)
    return text


# Where a memory stood in its log, kept in the state line that tells of its leaving, so that it can return there.

Hash = Callable[[bytes], str]
DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """Where text that has no time of its own stood in a log: behind how many characters, and the hashes of all that,
    of the line before it and of the line behind it. Content is only in the archive."""

    path: str
    start: int
    head: str
    before: str | None = None
    behind: str | None = None

    @classmethod
    def of(cls, path: str, head: str, rest: tuple[str, str], hash: Hash) -> LogPlace:
        """The place behind `head`; `rest` is what remains before and behind it when all that leaves is gone."""
        return cls(
            path=path,
            start=len(head),
            head=_short(head, hash),
            before=next((_short(line, hash) for line in reversed(rest[0].split("\n")) if line.strip()), None),
            behind=next((_short(line, hash) for line in rest[1].split("\n") if line.strip()), None),
        )

    @classmethod
    def from_record(cls, record: Any) -> LogPlace | None:
        """The place as a state line tells of it; None when that makes no sense."""
        try:
            place = cls(**{name: record[name] for name in cls.__slots__ if name in record})
        except TypeError:
            return None
        return place if type(place.start) is int and place.start >= 0 else None

    def as_record(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    def point(self, text: str, hash: Hash) -> int | None:
        """Where the place is: before the line behind it, behind all that was before it, or behind the last of that."""
        lines: dict[str, list[tuple[int, int]]] = {}
        at = 0
        for line in text.split("\n"):
            lines.setdefault(_short(line, hash), []).append((at, at + len(line)))
            at += len(line) + 1
        behind, before = (lines.get(str(each), []) for each in (self.behind, self.before))
        if len(behind) == 1:
            end = len(text[: behind[0][0]].rstrip("\n"))
            return min(end + 1, behind[0][0]) if end else 0
        if self.start <= len(text) and _short(text[: self.start], hash) == self.head:
            return self.start
        return min(before[0][1] + 1, len(text)) if len(before) == 1 else None


def _short(text: str, hash: Hash) -> str:
    return hash(to_bytes(text))[:DIGITS]
