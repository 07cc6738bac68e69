"""One entry of a daily log: written exactly, read with tolerance.

    ## 14:30:05 decision · 0.8 · #memory #architecture ^M-1794753005123-a3f2c91d
    source: conversation · session: s-42 · role: user · confidence: 0.9

    Chose the hybrid approach: one store of files, one disposable index.

The heading's time is the event's, in the home's time zone; the id's milliseconds are when it was remembered, in UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, tzinfo
from typing import Any, TypeVar

from memfolio.clock import from_ms
from memfolio.errors import InputError
from memfolio.types import (
    EMPTY,
    Approval,
    Attribution,
    Kind,
    MemoryItem,
    Origin,
    Store,
    Type,
    check_actor,
    default_kind,
)
from memfolio.vault.format.checksum import is_whole
from memfolio.vault.format.content import normalise_content, text_id, unescape, without_surrogates
from memfolio.vault.format.fields import (
    META_KEYS,
    is_token,
    local,
    read_comment,
    read_confidence,
    read_importance,
    read_meta,
    read_moment,
    read_tags,
    take_importance,
)
from memfolio.vault.format.heading import Heading, Mark, read_heading
from memfolio.vault.format.render import DEFAULT_ACTOR, DEFAULT_TRIGGERS
from memfolio.vault.format.signature import attribution

T = TypeVar("T")
FOREIGN_TYPES = {
    "learning": (Type.LESSON, False),
    "system_event": (Type.EVENT, True),
    "user_interaction": (Type.EVENT, True),
}
"""Types of other systems: what they are here, and whether the word is kept as `attributes.episode_type`."""

TYPES: Mapping[str, Type] = {each.value: each for each in Type}
_KINDS: Mapping[str, Kind] = {each.value: each for each in Kind}
_STORES: Mapping[str, Store] = {each.value: each for each in Store}
_ORIGINS: Mapping[str, Origin] = {each.value: each for each in Origin}
_APPROVALS: Mapping[str, Approval] = {each.value: each for each in Approval}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory as it was when it was made, and who made it."""

    item: MemoryItem
    by: Attribution


def attributed(item: MemoryItem, actor: str, approval: Approval, trigger: str) -> Attribution:
    """The attribution of `item`, with its session and source where they are identifiers."""
    session = item.session if item.session and is_token(item.session) else None
    source = item.source if is_token(item.source) else None
    return attribution(actor, approval, trigger, session, source)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedEntry:
    """An entry as it was read, and which of its values could not be."""

    entry: Entry
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class _Header:
    """Everything an entry says about itself before it is understood."""

    heading: Heading
    fields: dict[str, str]
    attributes: dict[str, Any]
    spare: dict[str, Any]
    problems: list[str]

    def read(self, name: str, reader: Callable[[str], T | None], default: T) -> T:
        raw = self.fields.get(name)
        if raw is None:
            return default
        value = reader(raw)
        if value is None:
            self.problems.append(f"{name} {raw[:40]!r} cannot be read")
            return default
        return value

    def text(self, name: str) -> str | None:
        return self.spare.get(name, self.fields.get(name))


def parse_entry(block: str, *, day: date, tz: tzinfo, agent: str, marked: bool = True) -> ParsedEntry | None:
    """The entry in `block`, or None when it does not start with an entry heading.

    `day` is the file's. Values that cannot be read are reported and replaced by their defaults; nothing raises.
    With `marked=False` the block id is overlooked and the entry read as if a person had written it.
    """
    first, _, rest = without_surrogates(block).partition("\n")
    heading = read_heading(first)
    if heading is None:
        return None
    if not marked:
        heading = heading._replace(mark=None)
    header, body = _read_header(heading, rest)
    content = unescape(normalise_content(body))
    if heading.mark is None:
        content = _content_by_hand(content, header)
    elif not content:
        header.problems.append("the entry has no content")
    item = _item(header, content, day, tz, agent)
    if item.event_time and heading.mark and "at" not in header.fields and is_whole(block, agent):
        # Nobody touched the entry, so its clock is as it was written: the home's time zone has changed since.
        item = replace(item, event_time=None)
    return ParsedEntry(entry=Entry(item=item, by=_by(header, item)), problems=tuple(header.problems))


def read_fields(fields: dict[str, str]) -> ParsedEntry:
    """What the fields of a meta line say about an entry with a block id, in one that has nothing else."""
    heading = Heading(time=None, mark=Mark("", 0, 0, 0), fields={}, tags=(), title="")
    header = _Header(heading=heading, fields=fields, attributes={}, spare={}, problems=[])
    item = _item(header, "", date.min, UTC, "")
    return ParsedEntry(entry=Entry(item=item, by=_by(header, item)), problems=tuple(header.problems))


def _read_header(heading: Heading, rest: str) -> tuple[_Header, str]:
    header = _Header(heading=heading, fields=heading.fields, attributes={}, spare={}, problems=[])
    if heading.title:
        header.attributes["heading"] = heading.title
    line, _, after = rest.partition("\n")
    if (meta := read_meta(line)) is not None:
        _take_meta(meta, header)
        rest = after
        line, _, after = rest.partition("\n")
    try:
        values = read_comment(line)
    except ValueError as error:
        header.problems.append(f"the comment line cannot be read: {error}")
        values = None
    if values is not None:
        _take_comment(values, header)
        rest = after
    return header, rest


def _take_meta(meta: dict[str, str], header: _Header) -> None:
    for name, value in meta.items():
        if name in META_KEYS:
            header.fields["store" if name == "tier" else name] = value
        else:
            header.attributes[name] = value


def _take_comment(values: dict[str, Any], header: _Header) -> None:
    attributes = values.pop("attributes", {})
    for name, value in values.items():
        if name in IS_FIT and IS_FIT[name](value):
            header.spare[name] = value
        else:
            header.problems.append(f"{name[:40]!r} in the comment line is not known; kept as an attribute")
            header.attributes[name] = value
    header.attributes.update(attributes if isinstance(attributes, dict) else {"attributes": attributes})


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_number(value: object) -> bool:
    is_small_int = isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= 64
    return is_small_int or isinstance(value, float)


IS_FIT: Mapping[str, Callable[[object], bool]] = {
    **dict.fromkeys(("key", "source", "session", "role", "user"), _is_text),
    **dict.fromkeys(("tags", "derived_from"), _is_texts),
    "decay_rate": _is_number,
}
"""What a comment line may say beside the attributes, and whether a value of it can be used."""


def _content_by_hand(content: str, header: _Header) -> str:
    """A hand-written entry may note its importance in a comment, or be nothing but its heading."""
    content, importance = take_importance(content)
    if importance is not None:
        header.fields.setdefault("importance", repr(importance))
    if content := normalise_content(content):
        return content
    word = header.fields.get("type", "")
    is_type = word.lower() in TYPES or word.lower() in FOREIGN_TYPES
    title: str = header.attributes.pop("heading", "")
    return title or ("" if is_type else header.fields.pop("type", ""))


def _item(header: _Header, content: str, day: date, tz: tzinfo, agent: str) -> MemoryItem:
    mark, read, spare = header.heading.mark, header.read, header.spare
    created, event_time = _times(header, day, tz)
    type_ = _type(header)
    source = header.text("source") or ("conversation" if mark else "file")
    return MemoryItem(
        id=mark.id if mark else text_id(agent, content),
        content=content,
        created_at=created,
        type=type_,
        kind=read("kind", _KINDS.get, default_kind(type_)),
        store=read("store", _STORES.get, Store.LONG_TERM),
        user=header.text("user"),
        importance=read("importance", read_importance, 0.5),
        confidence=read("confidence", read_confidence, 1.0),
        tags=_tags(header),
        source=spare.get("source", source),
        role=header.text("role"),
        session=header.text("session"),
        origin=read("origin", _ORIGINS.get, Origin.AGENT),
        event_time=event_time,
        valid_from=_moment(header, "valid_from", tz),
        valid_until=_moment(header, "valid_until", tz),
        decay_rate=float(spare["decay_rate"]) if "decay_rate" in spare else None,
        derived_from=tuple(spare.get("derived_from", ())),
        attributes=header.attributes or EMPTY,
        key=spare.get("key"),
    )


def _tags(header: _Header) -> tuple[str, ...]:
    if "tags" in header.spare:
        return tuple(header.spare["tags"])
    named = header.fields.get("tags")
    return header.heading.tags + read_tags(named) if named else header.heading.tags


def _type(header: _Header) -> Type:
    word = header.fields.get("type", "").lower()
    known = TYPES.get(word)
    if known or not word:
        return known or Type.OBSERVATION
    if word not in FOREIGN_TYPES and header.heading.mark:
        header.problems.append(f"type {header.fields['type'][:40]!r} is not known; taken as an observation")
    type_, keep = FOREIGN_TYPES.get(word, (Type.OBSERVATION, True))
    if keep:
        header.attributes.setdefault("episode_type", header.fields["type"])
    return type_


def _moment(header: _Header, name: str, tz: tzinfo) -> datetime | None:
    if name not in header.fields:
        return None
    return header.read(name, lambda raw: read_moment(raw, tz), None)


def _times(header: _Header, day: date, tz: tzinfo) -> tuple[datetime, datetime | None]:
    """When it was remembered, and when it happened if that is another time."""
    heading, at = header.heading, _moment(header, "at", tz)
    if heading.mark is None:
        return at or moment_of(day, heading.time, tz), None
    created = from_ms(heading.mark.ms)
    if at is None and heading.time and _clock_was_changed(heading.time, day, local(created, tz)):
        at = moment_of(day, heading.time, tz)
    return created, None if at == created else at


def _clock_was_changed(shown: time, day: date, created: datetime) -> bool:
    return datetime.combine(day, shown) != created.replace(tzinfo=None, microsecond=0)


def moment_of(day: date, clock: time | None, tz: tzinfo) -> datetime:
    """A day's time of the clock (its start when there is none) in UTC."""
    naive = datetime.combine(day, clock or time())
    try:
        return naive.replace(tzinfo=tz).astimezone(UTC)
    except OverflowError:
        return naive.replace(tzinfo=UTC)


def _by(header: _Header, item: MemoryItem) -> Attribution:
    """Who made it; what no memfolio wrote is taken to be a person's."""
    marked = header.heading.mark is not None
    actor = header.read("actor", _actor, DEFAULT_ACTOR if marked else "human")
    approval = header.read("approval", _APPROVALS.get, Approval.AUTO if marked else Approval.NONE)
    trigger = header.read("trigger", lambda raw: raw if is_token(raw) else None, DEFAULT_TRIGGERS.get(actor, "observe"))
    return attributed(item, actor, approval, trigger)


def _actor(raw: str) -> str | None:
    try:
        return check_actor(raw)
    except InputError:
        return None
