"""A memory as a row of the index and back. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from memfolio.clock import EPOCH
from memfolio.state import State
from memfolio.types import EMPTY, Kind, MemoryItem, Origin, Store, Type
from memfolio.vault.fields import without_surrogates

MICROSECOND = timedelta(microseconds=1)
COLUMNS = (
    *("id", "file", "ordinal", "form", "kind", "type", "store", "importance", "confidence", "created_at"),
    *("happened_at", "session", "role", "user", "source", "origin", "valid_from", "valid_until", "archived", "pinned"),
    *("superseded_by", "superseded_at", "forgotten_at", "accessed_at", "access_count", "decay_rate", "content", "more"),
)
SELECT = ", ".join(f"m.{name}" for name in COLUMNS)
INSERT = f"INSERT INTO memories (row, {', '.join(COLUMNS)}) VALUES (?{', ?' * len(COLUMNS)})"

Row = tuple[Any, ...]
ROLES = frozenset("user assistant system tool function human ai agent developer".split())
"""Parts that anybody can play; any other role is somebody's name."""
_KINDS = {each.value: each for each in Kind}
_TYPES = {each.value: each for each in Type}
_STORES = {each.value: each for each in Store}
_ORIGINS = {each.value: each for each in Origin}
_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where a memory stands: the number of its file, its place among the others there, and what it is."""

    file: int
    ordinal: int
    form: str = "memory"
    archived: bool = False
    heading: tuple[str, ...] = ()


def to_us(moment: datetime) -> int:
    """Whole microseconds since 1970."""
    return (moment - EPOCH) // MICROSECOND


def day_us(day: date) -> int:
    """The beginning of a day in UTC."""
    return to_us(datetime.combine(day, time(), UTC))


def from_us(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=us)


def _us(moment: datetime | None) -> int | None:
    return None if moment is None else to_us(moment)


def _moment(us: int | None) -> datetime | None:
    return None if us is None else from_us(us)


def row_of(item: MemoryItem, spot: Spot, superseded_at: datetime | None = None) -> Row:
    """The values of `COLUMNS`."""
    created = to_us(item.created_at)
    return (
        item.id,
        spot.file,
        spot.ordinal,
        spot.form,
        item.kind.value,
        item.type.value,
        item.store.value,
        item.importance,
        item.confidence,
        created,
        created if item.event_time is None else to_us(item.event_time),
        item.session,
        item.role,
        # The one text that JSON may have brought in, which can hold what SQLite cannot.
        item.user and without_surrogates(item.user),
        item.source,
        item.origin.value,
        _us(item.valid_from),
        _us(item.valid_until),
        spot.archived,
        item.pinned,
        item.superseded_by,
        _us(superseded_at),
        _us(item.forgotten_at),
        _us(item.accessed_at),
        item.access_count,
        item.decay_rate,
        item.content,
        _more(item, spot),
    )


def _more(item: MemoryItem, spot: Spot) -> str | None:
    """What is neither searched nor sorted by; most memories have nothing of it."""
    if not (item.tags or item.attributes or item.derived_from or item.key or spot.heading):
        return None
    fields = {
        "tags": list(item.tags),
        "attributes": dict(item.attributes),
        "derived_from": list(item.derived_from),
        "key": item.key,
        "heading": list(spot.heading),
    }
    return _encode({name: value for name, value in fields.items() if value})


def clean(row: Row) -> Row:
    """A row without halves of surrogate pairs, which JSON can hold and SQLite cannot."""
    return tuple(without_surrogates(value) if isinstance(value, str) else value for value in row)


def state_of(row: Row) -> State:
    """The memory of a row that was selected with `SELECT`."""
    return State(item=item_of(row), superseded_at=_moment(row[21]))


def spot_of(row: Row) -> Spot:
    more = json.loads(row[27]) if row[27] else {}
    heading = tuple(more.get("heading", ()))
    return Spot(file=row[1], ordinal=row[2], form=row[3], archived=bool(row[18]), heading=heading)


def item_of(row: Row) -> MemoryItem:
    """The memory of a row that was selected with `SELECT`."""
    more: Mapping[str, Any] = json.loads(row[27]) if row[27] else EMPTY
    return MemoryItem(
        id=row[0],
        content=row[26],
        kind=_KINDS[row[4]],
        type=_TYPES[row[5]],
        store=_STORES[row[6]],
        importance=row[7],
        confidence=row[8],
        created_at=from_us(row[9]),
        event_time=None if row[10] == row[9] else from_us(row[10]),
        session=row[11],
        role=row[12],
        user=row[13],
        source=row[14],
        origin=_ORIGINS[row[15]],
        valid_from=_moment(row[16]),
        valid_until=_moment(row[17]),
        pinned=bool(row[19]),
        superseded_by=row[20],
        forgotten_at=_moment(row[22]),
        accessed_at=_moment(row[23]),
        access_count=row[24],
        decay_rate=row[25],
        tags=tuple(more.get("tags", ())),
        attributes=more.get("attributes", EMPTY),
        derived_from=tuple(more.get("derived_from", ())),
        key=more.get("key"),
    )


def about(item: MemoryItem, heading: Sequence[str] = ()) -> str:
    """The words around a memory by which it may also be looked for: headings, tags, who spoke and who is meant."""
    speaker = () if item.role is None or item.role.casefold() in ROLES else (item.role,)
    if not (heading or item.tags or speaker or item.user):
        return ""
    return " ".join((*heading, *item.tags, *speaker, *((item.user,) if item.user else ())))


def text_to_embed(content: str, heading: Sequence[str]) -> str:
    """What a memory's vector is made of."""
    return f"{' > '.join(heading)}\n{content}" if heading else content
