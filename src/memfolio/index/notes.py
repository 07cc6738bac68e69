"""Parse a note, as Obsidian, Logseq and people write them, into searchable blocks. Pure."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime, time, tzinfo
from functools import partial
from itertools import takewhile
from textwrap import dedent
from typing import Any, NamedTuple

from memfolio.index.read_files import (
    NO_TEXT,
    OWN_KEYS,
    Body,
    FileReading,
    Searchable,
    is_garbled,
    page_date,
    page_fields,
    page_names,
    page_tags,
    told_date,
    windows,
)
from memfolio.types import Kind, MemoryItem, Origin, Type
from memfolio.vault.fields import hashed_id, moment_of, without_surrogates
from memfolio.vault.journal import to_text
from memfolio.vault.log import HandWrittenNote, read_notes
from memfolio.vault.sections import sections_of

# Blocks are the parts of a note to which Obsidian and Logseq can refer.

SHORT = 40
"""A list whose items are all shorter, in characters, is one block, such as a list of ingredients."""
NAMES = 2
"""Words up to which a line only names something."""
MANY_WORDS = 5
"""A text of this many words is identified by them in any note; a shorter one only in its own."""
NOTE, REFERS = "note", "refers_to"
Fields = dict[str, list[str]]

_PROPERTY = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?([\w./-]{1,64})::(?:[ \t]+(.*)|)$", re.MULTILINE)
_LOGSEQ_OWN = re.compile(r"(?im)^[ \t]*(?:id|collapsed|heading|background-color|logseq\.[\w.-]+)::.*(?:\n|\Z)")
_LOGSEQ_ID = re.compile(r"(?im)^[ \t]*id::[ \t]*([0-9a-f-]{36})[ \t]*$")
_BLOCK_ID = re.compile(r"(?:^|[ \t\n])\^([A-Za-z0-9-]{1,64})\s*\Z")
_RANDOM = re.compile(r"[0-9a-f]{6}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""An id that Obsidian or Logseq made up, which means one block among all notes; others mean one in their note."""
_REFERENCE = re.compile(r"\(\(([0-9a-f-]{36})\)\)|\[\[([^\[\]|#\n]*)#\^([A-Za-z0-9-]{1,64})(?=[\]|])", re.IGNORECASE)
_TAG = re.compile(r"(?<![\w/&#])#(?:\[\[([^\[\]\n]{1,100})\]\]|([\w/-]*[^\W\d][\w/-]*))")
_NO_TAGS = re.compile(r"(?s)(`{1,3}|~~~).*?\1|https?://\S+|\[\[[^\]\n]*\]\]")
_BULLET = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
_NUMBERED = re.compile(r"[ \t]*[0-9]{1,9}[.)][ \t]")
_NESTED = re.compile(r"(?m)^[ \t]*[-*+][ \t]")
_JOURNAL = re.compile(r"([0-9]{4})_([0-9]{2})_([0-9]{2})")
_NO_TEXT_KEYS = OWN_KEYS | {*"tags tag date created created_at updated modified cssclass cssclasses public".split()}
"""Properties about the name, filing, display and dates of a note."""


class NoteBlock(NamedTuple):
    """A part of a note that stands for itself: a paragraph, a table, a numbered list, an item of another."""

    text: str
    line: int
    heading: tuple[str, ...] = ()
    name: str = ""
    """The id that its writer or their program gave it."""
    time: time | None = None
    """The time of day that it begins with."""


def read_note(path: str, data: bytes, *, zone: tzinfo, modified: datetime) -> FileReading:
    """Read a note; problems are reported, never raised."""
    text = without_surrogates(to_text(data)).replace("\r\n", "\n")
    if is_garbled(text):
        return FileReading(problems=(NO_TEXT,))
    name, fields = note_name(path), page_fields(text)
    day, told = page_date(f"{name}.md"), told_date(fields)
    blocks = _blocks(text, joins_lists=day is None)
    if blocks and not _PROPERTY.sub("", blocks[0].text).strip():  # where Logseq keeps the properties of a page
        fields = {**_properties(blocks.pop(0).text), **fields}
    names, tags = tuple(dict.fromkeys((name, *page_names(fields)))), page_tags(fields)
    said = "\n".join(
        f"{key}: {', '.join(values)}" for key, values in fields.items() if key not in _NO_TEXT_KEYS and values
    )
    about: dict[str, Any] = {
        "event_time": moment_of(told, None, zone) if told and not day else None,
        "kind": Kind.EPISODIC if day else Kind.SEMANTIC,
        "type": Type.EVENT if day else Type.OBSERVATION,
        "source": "note",
        "origin": Origin.OWNER,
    }
    found: dict[str, Searchable] = {}
    for block in (*([NoteBlock(said, 1)] if said else ()), *blocks):
        for nth, piece in enumerate(windows(block.text)):
            heading = tuple(dict.fromkeys((*names, *block.heading)))
            refers = list(dict.fromkeys(_references(name, piece)))
            item = MemoryItem(
                id=_block_id(name, block.name)
                if block.name and not nth
                else hashed_id("N", name, *block.heading, piece),
                content=piece,
                created_at=moment_of(day, block.time, zone) if day else modified,
                tags=tuple(dict.fromkeys((*tags, *_tags_in(piece)))),
                attributes={"page": path, "line": block.line, **({REFERS: refers} if refers else {})},
                **about,
            )
            found.setdefault(item.id, Searchable(item=item, ordinal=len(found), form=NOTE, heading=heading))
    return FileReading(found=tuple(found.values()), names=names if len(names) > 1 else ())


def note_name(path: str) -> str:
    """Return the name of a note: its file name without extension, with Logseq's dates in ISO form."""
    return _JOURNAL.sub(r"\1-\2-\3", os.path.splitext(os.path.basename(path))[0])


def words_id(text: str) -> str | None:
    """Return an id of a text that is the same in every note; None if it is too short for that."""
    words = text.casefold().split()
    return hashed_id("W", *words) if len(words) >= MANY_WORDS else None


def _block_id(note: str, name: str) -> str:
    return hashed_id("N", "" if _RANDOM.fullmatch(name) else note, f"^{name.lower()}")


def _references(note: str, text: str) -> Iterator[str]:
    """The blocks that a text refers to, as Logseq does it or as Obsidian does."""
    for logseq, other, name in _REFERENCE.findall(text):
        yield _block_id("", logseq) if logseq else _block_id(os.path.basename(other.strip()) or note, name)


def _tags_in(text: str) -> Iterator[str]:
    """Yield the tags in a text; `#trip/oslo` also yields `trip`."""
    for several, one in _TAG.findall(_NO_TAGS.sub("", text)) if "#" in text else ():
        tag = several or one.strip("/")
        yield tag
        yield from (tag[:at] for at, character in enumerate(tag) if character == "/" and not several)
    if "tags::" in text:
        yield from _properties(text).get("tags", ())


def _properties(text: str) -> Fields:
    """Properties as Logseq writes them, `key:: one, [[other]]`."""
    found: Fields = {}
    for key, values in _PROPERTY.findall(text):
        listed = [value.strip().strip("[]#").strip() for value in values.split(",")]
        found.setdefault(key.lower(), [value for value in listed if value])
    return found


def _blocks(text: str, *, joins_lists: bool) -> list[NoteBlock]:
    """Return the blocks of a note in order; a numbered list is one, and with `joins_lists` also one of short items."""
    body = Body(text)
    sections = list(sections_of(body.text))
    heads, found = [section.head for section in sections], list[NoteBlock]()
    for pieces, lead in _grouped(body.text, read_notes(body.text), joins_lists=joins_lists):
        start = pieces[0].start
        raw = body.text[start : pieces[-1].end]
        said = raw if len(pieces) > 1 else _without_bullet(raw) if _BULLET.match(raw) else pieces[0].content
        heading = (*sections[bisect_right(heads, start) - 1].path, *lead)
        block = _named(NoteBlock(said, 1 + text.count("\n", 0, body.place(start)), heading, time=pieces[0].time))
        if block.text:
            found.append(block)
        elif block.name and found:  # behind a list or a table, an id has a line to itself
            found[-1] = found[-1]._replace(name=block.name)
        found += _nested(block, said)
    return _with_title(body.text, found) if joins_lists else found


def _with_title(text: str, blocks: list[NoteBlock]) -> list[NoteBlock]:
    """The blocks of a note whose first line is a title without the mark of one: it stands with what is below it.

    Where it only names something, as `Fish soup` does, it is also above what comes next, up to a heading.
    """
    if len(blocks) < 2 or not _begins_with_title(text, blocks[0]) or blocks[1].heading:
        return blocks
    title, first, *rest = blocks
    first = first._replace(text=f"{title.text}\n\n{first.text}", line=title.line)
    is_name = len(title.text.split()) <= NAMES
    below = list(takewhile(lambda block: not block.heading, rest)) if is_name else []
    heading = (title.text.strip("*_"),)
    return [first, *(block._replace(heading=heading) for block in below), *rest[len(below) :]]


def _begins_with_title(text: str, first: NoteBlock) -> bool:
    """Whether a text begins with a short line, which is no item of a list, ends no sentence and has no id."""
    said = first.text
    is_line = text.lstrip().startswith(said) and "\n" not in said and len(said) < SHORT
    return is_line and said.strip("*_")[-1:].isalnum() and not (first.name or _PROPERTY.match(said))


def _grouped(
    text: str, pieces: Sequence[HandWrittenNote], *, joins_lists: bool
) -> Iterator[tuple[Sequence[HandWrittenNote], tuple[str, ...]]]:
    """Pieces that make a block, and the line above a list that says what it is about, which is no block of its own."""
    at, lead = 0, tuple[str, ...]()
    while at < len(pieces):
        items = pieces[at : at + _list_length(text, pieces, at)]
        if not items and pieces[at].content.endswith(":") and _list_length(text, pieces, at + 1):
            lead, at = (pieces[at].content,), at + 1
        elif items and (_are_steps(text, items) or (joins_lists and all(len(each.content) < SHORT for each in items))):
            yield items, lead
            lead, at = (), at + len(items)
        else:
            for piece in items or pieces[at : at + 1]:
                yield [piece], lead
            lead, at = (), at + max(1, len(items))


def _are_steps(text: str, items: Sequence[HandWrittenNote]) -> bool:
    """Whether a list is numbered, so that its items tell something in their order; one with ids is its items."""
    raw = text[items[0].start : items[-1].end]
    is_named = _LOGSEQ_ID.search(raw) or any(_BLOCK_ID.search(text[each.start : each.end]) for each in items[:-1])
    return len(items) > 1 and not is_named and all(_NUMBERED.match(text, each.start) for each in items)


def _list_length(text: str, pieces: Sequence[HandWrittenNote], at: int) -> int:
    """Return the number of consecutive list items from this piece on."""
    end = at
    while end < len(pieces) and _BULLET.match(text, pieces[end].start):
        if end > at and text[pieces[end - 1].end : pieces[end].start].strip():
            break
        end += 1
    return end - at


def _named(block: NoteBlock) -> NoteBlock:
    """A block with the id that it ends with, or that Logseq has below its first line, and without such marks."""
    found = _LOGSEQ_ID.search(_NESTED.split(block.text, 1)[0]) or _BLOCK_ID.search(block.text)
    first, _, rest = _BLOCK_ID.sub("", _LOGSEQ_OWN.sub("", block.text)).strip().partition("\n")
    return block._replace(text=f"{first}\n{dedent(rest)}".strip(), name=found[1] if found else "")


def _nested(block: NoteBlock, said: str) -> Iterator[NoteBlock]:
    """The items below an item that have an id of their own, so that references lead to them."""
    lines = said.split("\n")
    for nth, line in enumerate(lines):
        if nth and _BULLET.match(line) and any(_LOGSEQ_ID.match(each) for each in lines[nth + 1 : nth + 3]):
            is_below = partial(_is_deeper, _depth(line))
            child = _without_bullet("\n".join((line, *takewhile(is_below, lines[nth + 1 :]))))
            yield _named(NoteBlock(child, block.line + nth, (*block.heading, lines[0][:SHORT])))


def _without_bullet(item: str) -> str:
    return item[found.end() :] if (found := _BULLET.match(item)) else item


def _is_deeper(depth: int, line: str) -> bool:
    return not line.strip() or _depth(line) > depth


def _depth(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
