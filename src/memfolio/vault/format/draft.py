"""What a caller wants remembered, checked and brought into the form in which it can be written and read back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from memfolio.errors import ContentError, InputError, NaiveTimeError
from memfolio.types import EMPTY, Kind, MemoryItem, Origin, Store, Type
from memfolio.vault.format.content import normalise_content
from memfolio.vault.format.fields import plain, plain_object


class Draft(NamedTuple):
    """A memory that is yet to be made; all values are in their normal form, and whoever fills it in has checked them.

    A tuple, because a tenth of the time that a turn of a conversation takes would go into making anything else.
    """

    content: str
    type: Type = Type.OBSERVATION
    kind: Kind = Kind.EPISODIC
    store: Store = Store.LONG_TERM
    user: str | None = None
    importance: float = 0.5
    confidence: float = 1.0
    tags: tuple[str, ...] = ()
    source: str = "conversation"
    role: str | None = None
    session: str | None = None
    origin: Origin = Origin.AGENT
    event_time: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    decay_rate: float | None = None
    derived_from: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = EMPTY
    key: str | None = None


_TIMES = ("event_time", "valid_from", "valid_until")


def as_draft(item: MemoryItem | Draft) -> Draft:
    """`item` without its id and what comes after a memory is made; raises InputError for bad values."""
    if isinstance(item, Draft):
        return item
    given = {name: getattr(item, name) for name in Draft._fields}
    checked = {
        "content": check_text(item.content),
        "importance": check_fraction("importance", item.importance),
        "confidence": check_fraction("confidence", item.confidence),
        "tags": tuple(item.tags),
        "decay_rate": None if item.decay_rate is None else plain(float(item.decay_rate), "decay_rate"),
        "derived_from": tuple(item.derived_from),
        "attributes": plain_object(item.attributes) if item.attributes else EMPTY,
    }
    times = {name: utc(name, given[name]) for name in _TIMES if given[name] is not None}
    return Draft(**given | checked | times)


def as_created(draft: Draft, id: str, created: datetime, event_time: datetime | None) -> MemoryItem:
    """`draft` as the memory that was made of it; field by field, since every turn of a conversation comes here."""
    return MemoryItem(
        id=id,
        content=draft.content,
        created_at=created,
        type=draft.type,
        kind=draft.kind,
        store=draft.store,
        user=draft.user,
        importance=draft.importance,
        confidence=draft.confidence,
        tags=draft.tags,
        source=draft.source,
        role=draft.role,
        session=draft.session,
        origin=draft.origin,
        event_time=event_time,
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        decay_rate=draft.decay_rate,
        derived_from=draft.derived_from,
        attributes=draft.attributes,
        key=draft.key,
    )


def check_text(text: str) -> str:
    """`text` in its normal form; blank text is refused."""
    content = normalise_content(text)
    if not content:
        raise ContentError("the content is empty", hint="say what is to be remembered")
    return content


def check_fraction(name: str, value: float) -> float:
    """`value` as a float from 0 to 1."""
    if not 0 <= value <= 1:
        raise InputError(f"{name} {str(value)[:40]!r} is not a number from 0 to 1", hint="1 is the most")
    return float(value) + 0.0  # -0.0 becomes 0.0


def utc(name: str, moment: datetime) -> datetime:
    """An aware `moment` in UTC."""
    if moment.utcoffset() is None:
        raise NaiveTimeError(f"{name} {moment} has no time zone", hint="pass an aware datetime")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise InputError(f"{name} {moment} lies outside the calendar", hint="use the years 1 to 9999") from error
