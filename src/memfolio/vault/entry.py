"""One entry of a daily log: rendered exactly, read with tolerance, and given an id that nothing else has."""

from __future__ import annotations

from collections.abc import Container, Mapping
from datetime import UTC, date, datetime, time, tzinfo
from functools import lru_cache
from itertools import count
from operator import attrgetter
from typing import Any, NamedTuple

from memfolio.clock import from_ms
from memfolio.errors import InputError
from memfolio.types import EMPTY, HUMAN, Approval, Attribution, MemoryItem, Type, default_kind, frozen
from memfolio.vault.fields import (
    BLANK,
    COMMENT_FIELDS,
    HEADING_FIELDS,
    LABEL_FIELDS,
    MAX_MS,
    SEPARATOR,
    TYPES,
    BlockId,
    Draft,
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
    read_aside,
    read_heading,
    read_label,
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


_SHARED = attrgetter(*(field.name for field in (*HEADING_FIELDS, *LABEL_FIELDS)))


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


def show(moment: datetime, tz: tzinfo, *, in_full: bool) -> Shown:
    """`moment` in the home's zone; told in full if it must be, or if the clock shows that time twice."""
    here = local(moment, tz)
    iso = iso_of(here)
    return Shown(here.date(), iso[11:19], f"at: {iso}" if in_full or is_ambiguous(here) else "")


def label_of(item: MemoryItem | Draft, by: Attribution) -> Label:
    """What the meta line cannot hold is left to the comment."""
    meta: list[str] = []
    spare: dict[str, Any] = {} if tags_are_safe(item.tags) else {"tags": item.tags}
    for field in LABEL_FIELDS:
        value = getattr(item, field.name)
        if value in (None, field.default) or value is default_kind(item.type):
            continue
        if is_token(text := field.write(value)):
            meta.append(f"{field.name}: {text}")
        else:
            spare[field.name] = value
    if by.actor != DEFAULT_ACTOR:
        meta.append(f"actor: {by.actor}")
    if by.approval is not Approval.AUTO:
        meta.append(f"approval: {by.approval.value}")
    if by.trigger != DEFAULT_TRIGGERS.get(by.actor):
        meta.append(f"trigger: {by.trigger}")
    return Label(heading_words(item), SEPARATOR.join(meta), spare)


def render(item: MemoryItem | Draft, id: str, label: Label, shown: Shown, tz: tzinfo) -> str:
    """The block of `item` under `id`: ends with a line end, has no blank lines around it."""
    heading = f"## {shown.clock} {label.heading} ^{id}"
    meta = SEPARATOR.join(filter(None, (label.meta, shown.meta, _validity(item, tz))))
    spare = _set_aside(item, label.spare)
    comment = render_comment(spare) if spare else ""
    return "\n".join((*filter(None, (heading, meta, comment)), "", escape(item.content), ""))


def _validity(item: MemoryItem | Draft, tz: tzinfo) -> str:
    if item.valid_from is None and item.valid_until is None:
        return ""
    bounds = (("valid_from", item.valid_from), ("valid_until", item.valid_until))
    return SEPARATOR.join(f"{name}: {iso_of(local(moment, tz))}" for name, moment in bounds if moment is not None)


def _set_aside(item: MemoryItem | Draft, spare: Mapping[str, Any]) -> Mapping[str, Any]:
    """What goes into the comment: what the meta line could not hold, and what it never does."""
    values = {**spare, "attributes": dict(item.attributes)} if item.attributes else dict(spare)
    for field in COMMENT_FIELDS:
        if (value := getattr(item, field.name)) not in (None, field.default):
            values[field.name] = value
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

FOREIGN_TYPES = {
    "learning": (Type.LESSON, False),
    "system_event": (Type.EVENT, True),
    "user_interaction": (Type.EVENT, True),
}
"""Types of other systems: what they are here, and whether the word is kept as `attributes.episode_type`."""


@frozen
class Entry:
    """A memory as it was when it was made, and who made it."""

    item: MemoryItem
    by: Attribution


@lru_cache(maxsize=512)
def attributed(session: str | None, source: str, actor: str, approval: Approval, trigger: str) -> Attribution:
    """Who made a memory, in its session and from its source where they are identifiers."""
    within = session if session and is_token(session) else None
    return attribution(actor, approval, trigger, within, source if is_token(source) else None)


@frozen
class ParsedEntry:
    """An entry as it was read, and which of its values could not be."""

    entry: Entry
    problems: tuple[str, ...] = ()


def parse_entry(block: str, *, day: date, tz: tzinfo, agent: str, marked: bool = True) -> ParsedEntry | None:
    """The entry in `block`, or None when it does not start with an entry heading.

    `day` is the file's. Values that cannot be read are reported and replaced by their defaults; nothing raises.
    With `marked=False` the block id is overlooked and the entry read as if a person had written it.
    """
    first, _, rest = without_surrogates(block).partition("\n")
    heading = read_heading(first, tz)
    if heading is None:
        return None
    mark = heading.mark if marked else None
    values, attributes, problems = dict(heading.words.values), dict(heading.words.attributes), [*heading.words.problems]
    rest = _take_header(rest, tz, values, attributes, problems)
    content = unescape(normalise_content(rest))
    if mark is None:
        content = _content_by_hand(content, values, attributes)
    elif not content:
        problems.append("the entry has no content")
    values["type"] = type_ = _type(values.get("type", Type.OBSERVATION), attributes, problems if mark else [])
    values.setdefault("kind", default_kind(type_))
    source = values.setdefault("source", "conversation" if mark else "file")
    actor = values.pop("actor", DEFAULT_ACTOR if mark else HUMAN.actor)
    approval = values.pop("approval", Approval.AUTO if mark else Approval.NONE)
    trigger = values.pop("trigger", DEFAULT_TRIGGERS.get(actor, "observe"))
    at = values.pop("at", None)
    created, event_time = _times(heading.time, mark, at, day, tz)
    if event_time and at is None and is_whole(block, agent):
        event_time = None  # nobody touched the entry, so its clock is as it was written: the home's zone has changed
    item = MemoryItem(
        id=mark.id if mark else text_id(agent, content),
        content=content,
        created_at=created,
        event_time=event_time,
        attributes=attributes or EMPTY,
        **values,
    )
    by = attributed(item.session, source, actor, approval, trigger)
    return ParsedEntry(entry=Entry(item=item, by=by), problems=tuple(problems))


def _take_header(rest: str, tz: tzinfo, values: dict[str, Any], attributes: dict[str, Any], problems: list[str]) -> str:
    """Add what the meta line and the comment line say to what the heading does; returns the text behind them."""
    line, _, behind = rest.partition("\n")
    if (label := read_label(line, tz)) is not None:
        tags = values["tags"]
        values |= label.values
        values["tags"] = tags + label.values.get("tags", ())
        attributes |= label.attributes
        problems += label.problems
        rest = behind
        line, _, behind = rest.partition("\n")
    try:
        aside = read_aside(line)
    except ValueError as error:
        problems.append(f"the comment line cannot be read: {error}")
        return rest
    if aside is None:
        return rest
    values |= aside.values
    attributes |= aside.attributes
    problems += aside.problems
    return behind


def _content_by_hand(content: str, values: dict[str, Any], attributes: dict[str, Any]) -> str:
    """A hand-written entry may note its importance in a comment, or be nothing but its heading."""
    content, importance = take_importance(content)
    if importance is not None:
        values.setdefault("importance", importance)
    if content := normalise_content(content):
        return content
    word = values.get("type", "")
    title: str = attributes.pop("heading", "")
    return title or ("" if word in TYPES or word.lower() in FOREIGN_TYPES else values.pop("type", ""))


def _type(word: Type | str, attributes: dict[str, Any], problems: list[str]) -> Type:
    if isinstance(word, Type):
        return word
    if word.lower() not in FOREIGN_TYPES:
        problems.append(f"type {word[:40]!r} is not known; taken as an observation")
    type_, keep = FOREIGN_TYPES.get(word.lower(), (Type.OBSERVATION, True))
    if keep:
        attributes.setdefault("episode_type", word)
    return type_


def _times(
    clock: time | None, mark: BlockId | None, at: datetime | None, day: date, tz: tzinfo
) -> tuple[datetime, datetime | None]:
    """When it was remembered, and when it happened if that is another time."""
    if mark is None:
        return at or moment_of(day, clock, tz), None
    created = from_ms(mark.ms)
    if at is None and clock and datetime.combine(day, clock) != local(created, tz).replace(tzinfo=None, microsecond=0):
        at = moment_of(day, clock, tz)
    return created, None if at == created else at


def moment_of(day: date, clock: time | None, tz: tzinfo) -> datetime:
    """A day's time of the clock (its start when there is none) in UTC."""
    naive = datetime.combine(day, clock or time())
    try:
        return naive.replace(tzinfo=tz).astimezone(UTC)
    except OverflowError:
        return naive.replace(tzinfo=UTC)


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
        shown = show(event_time, self._tz, in_full=True) if event_time else now.shown
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
        shown = show(created, self._tz, in_full=False)
        self._instants[ms] = instant = Instant(f"M-{ms}-", created, shown, salt_of(self._agent, ms))
        return instant

    def _label(self, draft: Draft) -> Label:
        shared = _SHARED(draft)
        label = self._labels.get(shared)
        if label is None:
            label = self._labels[shared] = label_of(draft, self._by)
        return label
