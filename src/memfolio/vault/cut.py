"""Single memories of a log: where their exact text lies, how it is cut out, and how it is put in. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, MutableMapping, Sequence
from datetime import UTC

from memfolio.types import frozen
from memfolio.vault.entry import parse_entry
from memfolio.vault.fields import MARK
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.log import Block, LogEntry, read_log, split_log
from memfolio.vault.paths import agent_of, day_of, ledger_of, title_line

RULE = "\n---\n"
"""Keeps an indented note apart from a bullet above it, which it would otherwise continue."""


@frozen
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
    written = [block for block in _blocks(path, text) if block.kind != "preamble"]
    marks = [block.id for block in written if block.kind == "entry" or block.text.strip()]
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


def excerpts(path: str, text: str, ids: Container[str]) -> list[Excerpt]:
    """Every place of these memories, in order. All entries with the same mark go together."""
    hands = [memory for memory in by_hand(path, text) if memory.entry.item.id in ids]
    places = {start: (end, memory.entry.item.id) for memory in hands for start, end in memory.places}
    found: list[Excerpt] = []
    for block, start, end in _entries(path, text):
        _, named = places.pop(block.start, (0, None))
        named = block.id if block.id and block.id in ids else named
        if named:
            raw = text[start:end]
            found.append(Excerpt(id=named, start=start, raw=raw, body=raw.strip("\n"), is_note=False))
    found += [_note(path, text, named, start, end) for start, (end, named) in places.items()]
    return sorted(found, key=lambda each: each.start)


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
    """The text without these excerpts, the rest character for character; notes do not run into those before them."""
    for each in sorted(taken, key=lambda each: -each.start):
        rest = text[each.end :]
        text = text[: each.start] + (RULE if each.is_note and _is_indented(rest) else "") + rest
    return text


def _is_indented(text: str) -> bool:
    return text.lstrip("\r\n").startswith((" ", "\t"))


def _entries(path: str, text: str) -> Iterator[tuple[Block, int, int]]:
    """The entries with a heading, and where each begins and ends with what goes with it.

    That is what `ledger_blocks` counts as its own: the blank lines before it, and its own line end. Text right below
    it needs a blank line once the entry is gone, so that one stays.
    """
    blocks = _blocks(path, text)
    end = 0
    for block, after in zip(blocks, (*blocks[1:], None), strict=False):
        own = len(block.text) if after is None else len(block.text.rstrip("\n")) + 1
        start, end = end, block.start + min(own, len(block.text))
        if block.kind == "entry":
            is_followed = after is not None and after.kind == "text" and after.start == end and after.text[0] != "\n"
            yield block, start + 1 if is_followed and start < block.start else start, end


def _note(path: str, text: str, id: str, start: int, end: int) -> Excerpt:
    """The note in `text[start:end]`, with the blank line before it if one follows, and the rule that an archive has."""
    body, before = text[start:end].strip("\n"), text[:start]
    if before.endswith("\n\n") and text[end : end + 1] in ("", "\n"):
        start -= 1
        if ledger_of(path) is None and before.endswith(f"\n{RULE}\n"):
            start -= len(RULE)
    return Excerpt(id=id, start=start, raw=text[start:end], body=body, is_note=True)


def with_excerpts(path: str, text: str, taken: Iterable[Excerpt]) -> str:
    """The log with these memories too: marked entries by the time in their ids, others at its end, notes at its top."""
    taken = list(taken)
    places = [(start, _time_of(block.id)) for block, start, _ in _entries(path, text)]
    end = len(text)
    # The latest first: the places in front of what is put in stay what they are.
    entries = sorted((each for each in taken if not each.is_note), key=lambda each: _time_of(each.id))
    for each in reversed(entries):
        own = _time_of(each.id)
        at = next((place for place, time in places if time > own), end) if own else len(text)
        text = joined(text, at, each.body)
    return with_notes(path, text, [each.body for each in taken if each.is_note])


def _time_of(mark: str | None) -> int:
    """The milliseconds in an id; 0 where it has none."""
    digits = (mark or "").split("-")[1] if (mark or "").startswith("M-") else ""
    return int(digits) if digits.isdecimal() else 0


def with_notes(path: str, text: str, notes: Sequence[str]) -> str:
    """The log with notes below its title, where they are in no section of others."""
    first = next(iter(_blocks(path, text)), None)
    top = first.text.rstrip("\n") if first and first.kind == "preamble" else ""
    at = min(len(top) + 1, len(first.text)) if first and top else 0
    for body in reversed(notes):
        text = joined(text, at, body + (RULE if _is_indented(text[at:]) else ""))
    return text


def joined(text: str, at: int, body: str) -> str:
    """The text with `body` at `at`, between blank lines."""
    before, after = text[:at], text[at:]
    blank = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    return f"{before}{blank}{body}\n" + ("" if after[:1] in ("", "\n") else "\n") + after


def into_archive(path: str, content: bytes | None, taken: Iterable[Excerpt]) -> bytes:
    """An archived log with these excerpts too, in place of equal ones that it has and before older states of them."""
    text, taken = to_text(content) if content else lead(path), list(taken)
    there = excerpts(path, text, {each.id for each in taken})
    bodies = {(each.id, each.body) for each in taken}
    kept = [*taken, *(each for each in there if (each.id, each.body) not in bodies)]
    text = with_notes(path, cut(text, there), [each.body for each in kept if each.is_note])
    text += "" if text.endswith("\n") or not text else "\n"
    return to_bytes(text + "".join(f"\n{each.body}\n" for each in kept if not each.is_note))
