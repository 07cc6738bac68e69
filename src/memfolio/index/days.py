"""Days as the index knows them: which have changed, what happened on them, and what was made of that."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from hashlib import blake2b
from typing import NamedTuple

import apsw

from memfolio.index.filter import ARCHIVED, LEVELS, Filter
from memfolio.index.rows import ROLES, from_us, to_us
from memfolio.sources import LEARNED, PATTERN
from memfolio.types import Type
from memfolio.vault.format.entry import moment_of
from memfolio.vault.format.fields import local

SUMMARY = "summary"
DAY_SUMMARY = "day-summary"
CONCLUDED = (PATTERN, LEARNED)
"""The sources of what is told of a day and does not count among what happened on it."""
LONG = 20_000
"""Characters of a memory that are read."""

_STANDING, _VALUES = Filter(forms=("memory",), include=(ARCHIVED,)).where()
_TOLD = f"""{_STANDING} AND m.store <> 'vault' AND m.source NOT IN ('consolidation', 'summary')
    AND (m.source <> '{LEARNED}' OR m.type IN ('decision', 'outcome', 'lesson', 'error'))
    AND (m.archived = 0 OR EXISTS (SELECT 1 FROM states s WHERE s.memory = m.id AND s.op = 'archive'))"""
"""What a day tells; what was made of other memories would tell the same once more, but for what was concluded.
What is in the archive without a line that says so was undone."""
_GISTS = "CREATE TABLE IF NOT EXISTS gists (day TEXT PRIMARY KEY, mark TEXT NOT NULL, data TEXT NOT NULL) WITHOUT ROWID"
"""Made here and not with the others, since it is a cache that nothing but digests needs."""


class Mark(NamedTuple):
    """What tells one state of a day from another, and how many memories it has in sight and in the archive."""

    hash: str = ""
    shown: int = 0
    archived: int = 0

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
    speaker: str = ""
    """Who said it, where that was a person with a name."""
    sources: tuple[str, ...] = ()
    """The ids of what it was concluded from."""
    tags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """What the entities are called that it mentions."""


def local_day(moment: datetime, zone: tzinfo) -> date:
    """The day on which a moment falls there; at the ends of the calendar, in UTC."""
    return local(moment, zone).date()


def beginning(day: date, zone: tzinfo) -> datetime:
    """When a day begins there, in UTC."""
    return moment_of(day, None, zone)


def _end_us(day: date, zone: tzinfo) -> int:
    if day == date.max:
        return to_us(datetime.max.replace(tzinfo=UTC)) + 1
    return to_us(beginning(day + timedelta(days=1), zone))


def marks(connection: apsw.Connection, zone: tzinfo) -> dict[date, Mark]:
    """The mark of every day on which anything happened, in order; it changes with whatever a digest is made of.

    That is each memory's id, content, speaker, type, importance and tags, not whether it is archived.
    """
    sql = f"""SELECT m.happened_at, m.source, m.archived, m.id || m.type || CAST(1000 * m.importance AS INTEGER)
        || char(0) || m.content || char(0) || ifnull(m.more, '') || char(0) || ifnull(m.role || ifnull(m.user, ''), '')
        FROM memories m WHERE {_TOLD} ORDER BY m.happened_at, m.id"""
    found: dict[date, Mark] = {}
    end, day, counts, digest = -(2**63), date.min, [0, 0], blake2b(digest_size=16)
    for happened_at, source, archived, text in connection.execute(sql, _VALUES):
        if happened_at >= end:
            _enter(found, day, digest.hexdigest(), counts)
            day, counts, digest = local_day(from_us(happened_at), zone), [0, 0], blake2b(digest_size=16)
            end = _end_us(day, zone)
        digest.update(text.encode("utf-8", "replace") + b"\n")
        counts[archived] += source not in CONCLUDED
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
            m.role, m.user, m.more FROM memories m WHERE {_TOLD} {seen} AND m.happened_at >= ? AND m.happened_at < ?
        ORDER BY m.importance DESC, m.happened_at, m.id LIMIT ?) ORDER BY 3, 2"""
    names = _names(connection, start, end)
    for row, name, at, type_, content, importance, source, session, role, user, more in connection.execute(
        sql, (*_VALUES, start, end, limit)
    ):
        fields = json.loads(more) if more else {}
        yield Told(
            id=name,
            at=from_us(at),
            type=Type(type_),
            content=content,
            importance=importance,
            source=source,
            session=session,
            speaker=_speaker(role, user),
            sources=tuple(fields.get("derived_from", ())),
            tags=tuple(fields.get("tags", ())),
            names=tuple(names.get(row, ())),
        )


def _speaker(role: str | None, user: str | None) -> str:
    if role is None or role.casefold() in ROLES:
        return user if user and role in ("user", "human") else ""
    return role


def _names(connection: apsw.Connection, start: int, end: int) -> dict[int, list[str]]:
    sql = """SELECT n.row, coalesce(e.name, n.entity) FROM memories m JOIN mentions n ON n.row = m.row
        LEFT JOIN entities e ON e.id = n.entity WHERE m.happened_at >= ? AND m.happened_at < ? ORDER BY 1, 2"""
    found: dict[int, list[str]] = {}
    for row, name in connection.execute(sql, (start, end)):
        found.setdefault(row, []).append(name)
    return found


def summed_up(connection: apsw.Connection, zone: tzinfo) -> set[str]:
    """The days that have been summed up; a summary that was forgotten because of what it cites does not count."""
    sql = """SELECT m.happened_at, json_extract(m.more, '$.attributes.day') FROM memories m JOIN tags t ON t.row = m.row
        WHERE t.tag = ? AND m.source = ? AND m.form = 'memory' AND (m.forgotten_at IS NULL OR NOT EXISTS (
            SELECT 1 FROM edges e LEFT JOIN memories s ON s.id = e.target WHERE e.source = m.id
            AND e.type = 'derived_from' AND (s.row IS NULL OR s.forgotten_at IS NOT NULL)))"""
    rows = connection.execute(sql, (DAY_SUMMARY, SUMMARY))
    return {str(day or local_day(from_us(at), zone)) for at, day in rows}


def digest_names(connection: apsw.Connection, level: str) -> list[str]:
    """What the pages of a level of digests are called, in order."""
    sql = "SELECT path FROM files WHERE path GLOB ? ORDER BY path"
    return [path.rpartition("/")[2].removesuffix(".md") for (path,) in connection.execute(sql, (LEVELS[level],))]


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
