"""Days as the index knows them: which have changed, what happened on them, and what was made of that."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from hashlib import blake2b
from typing import NamedTuple

import apsw

from memfolio.index.rows import from_us, to_us
from memfolio.types import Type

DERIVED = ("extraction", "consolidation", "summary")
"""The sources of what was made of other memories: it does not tell what happened once more."""
PATTERN = "pattern"
SUMMARY = "summary"
DAY_SUMMARY = "day-summary"
LONG = 20_000
"""Characters of a memory that are read."""

_COUNTS = f"""m.form = 'memory' AND m.origin <> 'untrusted' AND m.superseded_by IS NULL
    AND m.source NOT IN ({", ".join(f"'{source}'" for source in DERIVED)})"""
_SHOWN = f"{_COUNTS} AND m.forgotten_at IS NULL"
_GISTS = "CREATE TABLE IF NOT EXISTS gists (day TEXT PRIMARY KEY, mark TEXT NOT NULL, data TEXT NOT NULL) WITHOUT ROWID"
"""Made here and not with the others, since it is a cache that nothing but digests needs."""


class Mark(NamedTuple):
    """What tells one state of a day from another, and how many memories it has, in sight, out of sight or forgotten."""

    hash: str = ""
    shown: int = 0
    archived: int = 0
    forgotten: int = 0

    @property
    def memories(self) -> int:
        return self.shown + self.archived


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A memory as a day tells it."""

    id: str
    at: datetime
    type: Type
    content: str
    importance: float = 0.5
    source: str = "conversation"
    session: str | None = None
    role: str | None = None
    tags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """What the entities are called that it mentions."""


def local_day(moment: datetime, zone: tzinfo) -> date:
    """The day on which a moment falls there; at the ends of the calendar, in UTC."""
    try:
        return moment.astimezone(zone).date()
    except OverflowError:
        return moment.date()


def beginning(day: date, zone: tzinfo) -> datetime:
    """When a day begins there, in UTC."""
    return at_time(day, time(), zone)


def at_time(day: date, clock: time, zone: tzinfo) -> datetime:
    """A time of a day there, in UTC."""
    try:
        return datetime.combine(day, clock, zone).astimezone(UTC)
    except OverflowError:
        return datetime.combine(day, clock, UTC)


def _end_us(day: date, zone: tzinfo) -> int:
    if day == date.max:
        return to_us(datetime.max.replace(tzinfo=UTC)) + 1
    return to_us(beginning(day + timedelta(days=1), zone))


def marks(connection: apsw.Connection, zone: tzinfo) -> dict[date, Mark]:
    """The mark of every day on which anything happened, in order; it changes with whatever a digest is made of.

    That is each memory's id, content, type, importance and tags, not whether it is archived.
    """
    sql = f"""SELECT m.happened_at, m.source, m.forgotten_at IS NULL, m.archived,
        m.id || m.type || CAST(1000 * m.importance AS INTEGER) || char(0) || m.content || char(0) || ifnull(m.more, '')
        FROM memories m WHERE {_COUNTS} ORDER BY m.happened_at, m.id"""
    found: dict[date, Mark] = {}
    end, day, counts, digest = -(2**63), date.min, [0, 0, 0], blake2b(digest_size=16)
    for happened_at, source, is_kept, archived, text in connection.execute(sql):
        if happened_at >= end:
            _enter(found, day, digest.hexdigest(), counts)
            day, counts, digest = local_day(from_us(happened_at), zone), [0, 0, 0], blake2b(digest_size=16)
            end = _end_us(day, zone)
        if is_kept:
            digest.update(text.encode("utf-8", "replace") + b"\n")
        counts[(1 if archived else 0) if is_kept else 2] += source != PATTERN
    _enter(found, day, digest.hexdigest(), counts)
    return found


def _enter(found: dict[date, Mark], day: date, hash: str, counts: list[int]) -> None:
    if any(counts):
        found[day] = Mark(hash, *counts)


def told(
    connection: apsw.Connection, day: date, zone: tzinfo, *, limit: int, with_archived: bool = False
) -> list[Told]:
    """What happened on a day, in order; of more than `limit` memories, the most important."""
    start, end = to_us(beginning(day, zone)), _end_us(day, zone)
    return list(_told(connection, start, end, limit, with_archived=with_archived))


def told_between(connection: apsw.Connection, since: datetime, until: datetime, *, limit: int) -> list[Told]:
    """What happened from one moment to another, that one included, in order."""
    return list(_told(connection, to_us(since), to_us(until) + 1, limit, with_archived=False))


def _told(connection: apsw.Connection, start: int, end: int, limit: int, *, with_archived: bool) -> Iterator[Told]:
    seen = "" if with_archived else "AND m.archived = 0"
    sql = f"""SELECT * FROM (
        SELECT m.row, m.id, m.happened_at, m.type, substr(m.content, 1, {LONG}), m.importance, m.source, m.session,
            m.role, m.more FROM memories m WHERE {_SHOWN} {seen} AND m.happened_at >= ? AND m.happened_at < ?
        ORDER BY m.importance DESC, m.happened_at, m.id LIMIT ?) ORDER BY 3, 2"""
    names = _names(connection, start, end)
    for row, name, at, type_, content, importance, source, session, role, more in connection.execute(
        sql, (start, end, limit)
    ):
        tags = tuple(json.loads(more).get("tags", ())) if more else ()
        yield Told(
            id=name,
            at=from_us(at),
            type=Type(type_),
            content=content,
            importance=importance,
            source=source,
            session=session,
            role=role,
            tags=tags,
            names=tuple(names.get(row, ())),
        )


def _names(connection: apsw.Connection, start: int, end: int) -> dict[int, list[str]]:
    sql = """SELECT n.row, coalesce(e.name, n.entity) FROM memories m JOIN mentions n ON n.row = m.row
        LEFT JOIN entities e ON e.id = n.entity WHERE m.happened_at >= ? AND m.happened_at < ? ORDER BY 1, 2"""
    found: dict[int, list[str]] = {}
    for row, name in connection.execute(sql, (start, end)):
        found.setdefault(row, []).append(name)
    return found


def summed_up(connection: apsw.Connection, zone: tzinfo) -> set[date]:
    """The days that have been summed up, whatever became of the summary."""
    sql = """SELECT m.happened_at FROM memories m JOIN tags t ON t.row = m.row
        WHERE t.tag = ? AND m.source = ? AND m.form = 'memory'"""
    return {local_day(from_us(at), zone) for (at,) in connection.execute(sql, (DAY_SUMMARY, SUMMARY))}


def known_patterns(connection: apsw.Connection) -> set[str]:
    """The keys of all patterns that were ever stored, whatever became of them."""
    sql = "SELECT json_extract(more, '$.attributes.pattern') FROM memories WHERE source = ? AND form = 'memory'"
    return {key for (key,) in connection.execute(sql, (PATTERN,)) if isinstance(key, str)}


def gists(connection: apsw.Connection, wanted: Mapping[date, str]) -> dict[date, str]:
    """What was made of these days, as far as it was made of what they are: `wanted` has their marks."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'gists'").fetchone() is None:
        return {}
    named = {day.isoformat(): day for day in wanted}
    sql = "SELECT day, mark, data FROM gists WHERE day BETWEEN ? AND ?"
    rows = connection.execute(sql, (min(named), max(named))) if named else ()
    return {named[day]: data for day, mark, data in rows if day in named and wanted[named[day]] == mark}


def keep_gists(connection: apsw.Connection, made: Iterable[tuple[date, str, str]]) -> None:
    """Keep what was made of days, each with its mark, until they change."""
    connection.execute(_GISTS)
    rows = ((day.isoformat(), mark, data) for day, mark, data in made)
    connection.executemany("INSERT OR REPLACE INTO gists (day, mark, data) VALUES (?, ?, ?)", rows)
