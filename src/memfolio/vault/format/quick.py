"""Entries that stand as they were written, read in a third of the time.

    ## 14:30:05 decision · 0.8 · #memory #architecture ^M-1794753005123-a3f2c91d
    source: conversation · session: s-42 · role: user · at: 2026-11-15T14:30:05+01:00
    <!-- {"attributes":{"mood":"good"}} -->

    Chose the hybrid approach: one store of files, one disposable index.

Recognised is this shape: a clock in full, words, a block id, a meta line that may end with a time, perhaps a comment,
a blank line, content. The words and the rest of the meta line repeat from entry to entry, so what they say is asked of
the tolerant reader once and remembered. Anything that is not plainly what that reader would make of it is left to it:
another shape, values that it would report, unknown words or fields, a clock that was changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, tzinfo
from functools import lru_cache
from typing import Any, NamedTuple

from memfolio.clock import from_ms
from memfolio.types import EMPTY, Attribution, Kind, MemoryItem, Type, default_kind
from memfolio.vault.format.content import normalise_content, unescape
from memfolio.vault.format.entry import IS_FIT, TYPES, Entry, read_fields
from memfolio.vault.format.fields import local, read_comment, read_importance, read_meta, read_moment
from memfolio.vault.format.heading import MAX_MS, read_heading

_WRITTEN = (
    r"## ((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]) ([^\n^]{1,300}) \^(M-([0-9]{1,15})-[0-9a-f]{8})\n"
    r"([^\n]{1,900})\n(?:(<!-- \{[^\n]*\} -->)\n)?\n"
)
"""What is remembered is also limited in length, so that no file can fill the memory."""

Times = tuple[datetime, datetime | None]
"""When it was remembered, and when it happened if that is another time."""

_AT = " · at: "
_SAID_BY_META = frozenset("source session role confidence kind store user origin actor approval trigger".split())
_SET_ASIDE = frozenset({"attributes", "key", "derived_from", "decay_rate"})


class Words(NamedTuple):
    """What a heading says beside its time and its id."""

    type: Type
    importance: float
    tags: tuple[str, ...]


class Label(NamedTuple):
    """What a meta line says beside its time, in an item that has nothing else; the kind, if it names one."""

    item: MemoryItem
    by: Attribution
    kind: Kind | None


class Aside(NamedTuple):
    """What a comment line says."""

    attributes: Mapping[str, Any] = EMPTY
    key: str | None = None
    derived_from: tuple[str, ...] = ()
    decay_rate: float | None = None


_NOTHING = Aside()


class QuickReader:
    """Reads the entries of one log whose text can be stored as UTF-8."""

    def __init__(self, text: str, *, day: date, tz: tzinfo) -> None:
        self._text = text
        self._match = re.compile(_WRITTEN).match
        self._day = day.isoformat()
        self._tz = tz

    def read(self, start: int, end: int) -> Entry | None:
        """The entry in `text[start:end]`, or None when the tolerant reader is to look at it."""
        match = self._match(self._text, start, end)
        if match is None:
            return None
        clock, said, mark, ms, meta, comment = match.groups()
        meta, _, at = meta.partition(_AT)
        words, label, aside = read_words(said), read_label(meta), read_aside(comment) if comment else _NOTHING
        times = self._times(int(ms), clock, at)
        content = unescape(normalise_content(self._text[match.end() : end]))
        if not (words and label and aside and times and content):
            return None
        return Entry(item=_item(mark, content, times, words, label, aside), by=label.by)

    def _times(self, ms: int, clock: str, at: str) -> Times | None:
        if ms > MAX_MS:
            return None
        created = from_ms(ms)
        if not at:
            return (created, None) if self._shows(clock, created) else None
        # Python takes any character between a day and a time; a `·` there would be the end of the field.
        told = read_moment(at, self._tz) if at.isascii() else None
        return (created, None if told == created else told) if told else None

    def _shows(self, clock: str, moment: datetime) -> bool:
        """Whether the log's day and `clock` are those of `moment`."""
        return local(moment, self._tz).isoformat(timespec="seconds")[:19] == f"{self._day}T{clock}"


def _item(id: str, content: str, times: Times, words: Words, label: Label, aside: Aside) -> MemoryItem:
    told = label.item
    created, happened = times
    return MemoryItem(
        id=id,
        content=content,
        created_at=created,
        type=words.type,
        kind=label.kind or default_kind(words.type),
        store=told.store,
        user=told.user,
        importance=words.importance,
        confidence=told.confidence,
        tags=words.tags,
        source=told.source,
        role=told.role,
        session=told.session,
        origin=told.origin,
        event_time=happened,
        decay_rate=aside.decay_rate,
        derived_from=aside.derived_from,
        attributes=aside.attributes,
        key=aside.key,
    )


@lru_cache(maxsize=2048)
def read_words(said: str) -> Words | None:
    """The words of a heading; None unless they are a known type, an importance and tags."""
    heading = read_heading(f"## 00:00:00 {said} ^M-0-00000000")
    if heading is None or heading.title or heading.fields.keys() != {"type", "importance"}:
        return None
    type_ = TYPES.get(heading.fields["type"])
    importance = read_importance(heading.fields["importance"])
    return None if type_ is None or importance is None else Words(type_, importance, heading.tags)


@lru_cache(maxsize=1024)
def read_label(meta: str) -> Label | None:
    """The fields of a meta line; None unless all are known, can be read, and say nothing about time or words."""
    fields = read_meta(meta)
    if fields is None or not fields.keys() <= _SAID_BY_META:
        return None
    parsed = read_fields(fields)
    if parsed.problems:
        return None
    item = parsed.entry.item
    return Label(item, parsed.entry.by, item.kind if "kind" in fields else None)


def read_aside(comment: str) -> Aside | None:
    """The values of a comment line; None unless they are what stands only there, and each is fit."""
    try:
        values = read_comment(comment)
    except ValueError:
        return None
    if values is None or not values.keys() <= _SET_ASIDE:
        return None
    attributes = values.pop("attributes", EMPTY)
    if not isinstance(attributes, Mapping) or not all(IS_FIT[name](value) for name, value in values.items()):
        return None
    rate = values.get("decay_rate")
    return Aside(
        attributes or EMPTY,
        values.get("key"),
        tuple(values.get("derived_from", ())),
        None if rate is None else float(rate),
    )
