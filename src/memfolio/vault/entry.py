"""One entry of a daily log: rendered exactly, read with tolerance, and given an id that nothing else has."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, tzinfo
from itertools import count
from typing import Any, NamedTuple, TypeVar

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
from memfolio.vault.fields import (
    BLANK,
    MAX_MS,
    META_KEYS,
    SEPARATOR,
    BlockId,
    Draft,
    Heading,
    as_created,
    as_draft,
    checksum,
    encoded,
    escape,
    heading_words,
    is_ambiguous,
    is_token,
    is_whole,
    iso_of,
    local,
    normalise_content,
    number,
    read_comment,
    read_confidence,
    read_heading,
    read_importance,
    read_meta,
    read_moment,
    read_tags,
    render_comment,
    salt_of,
    tags_are_safe,
    take_importance,
    text_id,
    unescape,
    without_surrogates,
)
from memfolio.vault.lines import attribution

# An entry as text: its heading, its meta line, the comment for what that cannot hold, and its content.
#
# What depends on the moment (`Shown`) and what the memories of a conversation share (`Label`) are composed apart, so
# that many entries can be rendered for little.

DEFAULT_ACTOR = "bot:auto-detect"
DEFAULT_TRIGGERS = {
    DEFAULT_ACTOR: "observe",
    "bot:trigger-remember": "remember",
    "bot:trigger-forget": "forget",
    "human": "edit",
}


class Shown(NamedTuple):
    """A moment as an entry shows it: the day of its log, the clock in its heading, and a field of its meta line."""

    day: date
    clock: str
    meta: str


class Label(NamedTuple):
    """What an entry says about itself beside its time, content and attributes."""

    heading: str
    meta: str
    spare: Mapping[str, Any]


def show(moment: datetime, tz: tzinfo, *, is_told: bool) -> Shown:
    """`moment` in the home's zone; told in full if it must be, or if the clock shows that time twice."""
    here = local(moment, tz)
    iso = iso_of(here)
    return Shown(here.date(), iso[11:19], f"at: {iso}" if is_told or is_ambiguous(here) else "")


def label_of(item: MemoryItem | Draft, by: Attribution) -> Label:
    meta: list[str] = []
    spare: dict[str, Any] = {}
    _describe(item, meta, spare)
    _attribute(by, meta)
    if not tags_are_safe(item.tags):
        spare["tags"] = item.tags
    return Label(heading_words(item), SEPARATOR.join(meta), spare)


def render(item: MemoryItem | Draft, id: str, label: Label, shown: Shown, tz: tzinfo) -> str:
    """The block of `item` under `id`: ends with a line end, has no blank lines around it."""
    heading = f"## {shown.clock} {label.heading} ^{id}"
    meta = SEPARATOR.join(filter(None, (label.meta, shown.meta, _validity(item, tz))))
    spare = _set_aside(item, label.spare)
    comment = render_comment(spare) if spare else ""
    return "\n".join((*filter(None, (heading, meta, comment)), "", escape(item.content), ""))


def _describe(item: MemoryItem | Draft, meta: list[str], spare: dict[str, Any]) -> None:
    for name, value in (("source", item.source), ("session", item.session), ("role", item.role)):
        _place(name, value, meta, spare)
    if item.confidence != 1:
        meta.append(f"confidence: {number(item.confidence)}")
    if item.kind is not default_kind(item.type):
        meta.append(f"kind: {item.kind.value}")
    if item.store is not Store.LONG_TERM:
        meta.append(f"store: {item.store.value}")
    _place("user", item.user, meta, spare)
    if item.origin is not Origin.AGENT:
        meta.append(f"origin: {item.origin.value}")


def _place(name: str, value: str | None, meta: list[str], spare: dict[str, Any]) -> None:
    if value is None:
        return
    if is_token(value):
        meta.append(f"{name}: {value}")
    else:
        spare[name] = value


def _attribute(by: Attribution, meta: list[str]) -> None:
    if by.actor != DEFAULT_ACTOR:
        meta.append(f"actor: {by.actor}")
    if by.approval is not Approval.AUTO:
        meta.append(f"approval: {by.approval.value}")
    if by.trigger != DEFAULT_TRIGGERS.get(by.actor):
        meta.append(f"trigger: {by.trigger}")


def _validity(item: MemoryItem | Draft, tz: tzinfo) -> str:
    if item.valid_from is None and item.valid_until is None:
        return ""
    bounds = (("valid_from", item.valid_from), ("valid_until", item.valid_until))
    return SEPARATOR.join(f"{name}: {iso_of(local(moment, tz))}" for name, moment in bounds if moment is not None)


def _set_aside(item: MemoryItem | Draft, spare: Mapping[str, Any]) -> Mapping[str, Any]:
    """What goes into the comment: what the meta line could not hold, and what it never does."""
    values = dict(spare)
    if item.attributes:
        values["attributes"] = dict(item.attributes)
    if item.key is not None:
        values["key"] = item.key
    if item.derived_from:
        values["derived_from"] = item.derived_from
    if item.decay_rate is not None:
        values["decay_rate"] = item.decay_rate
    return values


# One entry of a daily log: written exactly, read with tolerance.
#
#     ## 14:30:05 decision · 0.8 · #memory #architecture ^M-1794753005123-a3f2c91d
#     source: conversation · session: s-42 · role: user · confidence: 0.9
#
#     Chose the hybrid approach: one store of files, one disposable index.
#
# The heading's time is the event's, in the home's time zone; the id's milliseconds are when it was remembered, in
# UTC.

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
    heading = Heading(time=None, mark=BlockId("", 0, 0, 0), fields={}, tags=(), title="")
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


# From drafts to entries: each gets an id that nothing else has, and its block.


class Minted(NamedTuple):
    """A memory as it was made, the block that says it, and the day of the log where the block belongs."""

    item: MemoryItem
    block: bytes
    day: date


class Instant(NamedTuple):
    """A millisecond in which entries are made."""

    mark: str
    """What ids given in it begin with."""
    created: datetime
    shown: Shown
    salt: bytes


class Mint:
    """Makes the entries of one change; what many of them have in common is composed once."""

    def __init__(self, by: Attribution, *, agent: str, tz: tzinfo, created_ms: int, taken: Container[str]) -> None:
        self._by = by
        self._agent = agent
        self._tz = tz
        self._created_ms = created_ms
        self._taken = taken
        self._made: set[str] = set()
        self._instants: dict[int, Instant] = {}
        self._labels: dict[object, Label] = {}

    def make(self, item: MemoryItem | Draft) -> Minted:
        """`item` with an id of its own; milliseconds move on until there is one.

        An id and a time that it has are replaced, its times become UTC, and what can change later (access, pin,
        supersession, tombstone) is left out, because that is written elsewhere. Raises InputError for bad values.
        """
        draft = as_draft(item)
        label = self._label(draft)
        for ms in count(self._created_ms):
            if minted := self._try(draft, label, self._instants.get(ms) or self._instant(ms)):
                return minted
        raise AssertionError("count() does not end")

    def _try(self, draft: Draft, label: Label, now: Instant) -> Minted | None:
        """The entry as made in this millisecond; None when its id is taken."""
        event_time = None if draft.event_time == now.created else draft.event_time
        shown = show(event_time, self._tz, is_told=True) if event_time else now.shown
        blank = encoded(render(draft, now.mark + BLANK, label, shown, self._tz))
        digits = checksum(now.salt, blank)
        fresh = now.mark + digits
        if fresh in self._made or fresh in self._taken:
            return None
        self._made.add(fresh)
        end = blank.index(b"\n")
        block = blank[: end - len(BLANK)] + digits.encode() + blank[end:]
        return Minted(as_created(draft, fresh, now.created, event_time), block, shown.day)

    def _instant(self, ms: int) -> Instant:
        if not 0 <= ms <= MAX_MS:
            raise InputError(f"{ms} is not a time an id can carry", hint="set the clock between 1970 and 9999")
        created = from_ms(ms)
        shown = show(created, self._tz, is_told=False)
        self._instants[ms] = instant = Instant(f"M-{ms}-", created, shown, salt_of(self._agent, ms))
        return instant

    def _label(self, draft: Draft) -> Label:
        told = (
            *(draft.type, draft.importance, draft.tags, draft.source, draft.session, draft.role),
            *(draft.confidence, draft.kind, draft.store, draft.user, draft.origin),
        )
        label = self._labels.get(told)
        if label is None:
            label = self._labels[told] = label_of(draft, self._by)
        return label
