"""What a caller wants remembered, checked and brought into the form in which it can be written and read back."""

from __future__ import annotations

from datetime import UTC, datetime

from memfolio.errors import ContentError, InputError, NaiveTimeError
from memfolio.types import EMPTY, MemoryItem
from memfolio.vault.format.content import normalise_content
from memfolio.vault.format.fields import plain


def as_created(draft: MemoryItem, id: str, created: datetime) -> MemoryItem:
    """`draft` with what is set when a memory is made and nothing that comes later; raises InputError for bad values."""
    content = normalise_content(draft.content)
    if not content:
        raise ContentError("the content is empty", hint="say what is to be remembered")
    event_time = _utc("event_time", draft.event_time)
    return MemoryItem(
        id=id,
        content=content,
        created_at=created,
        type=draft.type,
        kind=draft.kind,
        store=draft.store,
        user=draft.user,
        importance=_fraction("importance", draft.importance),
        confidence=_fraction("confidence", draft.confidence),
        tags=tuple(draft.tags),
        source=draft.source,
        role=draft.role,
        session=draft.session,
        origin=draft.origin,
        event_time=None if event_time == created else event_time,
        valid_from=_utc("valid_from", draft.valid_from),
        valid_until=_utc("valid_until", draft.valid_until),
        decay_rate=None if draft.decay_rate is None else plain(float(draft.decay_rate), "decay_rate"),
        derived_from=tuple(draft.derived_from),
        attributes=plain(draft.attributes) if draft.attributes else EMPTY,
        key=draft.key,
    )


def _fraction(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise InputError(f"{name} {value!r} is not between 0 and 1", hint="1 is the most")
    return float(value) + 0.0  # -0.0 becomes 0.0


def _utc(name: str, moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    if moment.utcoffset() is None:
        raise NaiveTimeError(f"{name} {moment} has no time zone", hint="pass an aware datetime")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise InputError(f"{name} {moment} lies outside the calendar", hint="use the years 1 to 9999") from error
