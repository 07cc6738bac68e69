"""What a reflection asks of the index: what came lately, what holds, what has faded, what was replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import apsw

from memfolio.clock import EPOCH
from memfolio.decay import DAY
from memfolio.index.aging import decay_values, relevance_sql
from memfolio.index.conversations import unheard
from memfolio.index.graph import Material, material
from memfolio.index.lookup import by_id, by_rows, located
from memfolio.index.rows import to_us
from memfolio.index.ties import successor
from memfolio.sources import OVERHEARD
from memfolio.text import match_expression, terms
from memfolio.tuning import Decay
from memfolio.types import MemoryItem, Origin

RECENT = 5000
"""How many memories since a moment are looked at, the newest."""
FACTS = 20_000
FADED = 200
IMPORTANT = 0.8
Faded = tuple[MemoryItem, float]
"""A memory, and how relevant it still is."""
_THERE = "m.form = 'memory' AND m.archived = 0 AND m.forgotten_at IS NULL"
_CURRENT = f"{_THERE} AND m.superseded_by IS NULL"
_TRUSTED = "(m.origin <> 'untrusted' OR EXISTS (SELECT 1 FROM states s WHERE s.memory = m.id AND s.op = 'confirm'))"
_NEWEST_FIRST = "ORDER BY m.created_at DESC, m.file DESC, m.ordinal DESC"
_FORGOTTEN = (
    f"WHERE m.forgotten_at IS NOT NULL AND m.form = 'memory' AND (m.kind <> 'episodic' OR m.source IN {OVERHEARD}) "
    "ORDER BY m.forgotten_at DESC LIMIT ?"
)
_SINCE = f"m.created_at > ?1 - (m.id GLOB 'H-*') * {DAY}"
"""A note that a person wrote into a day's log has the beginning of that day as its time."""
_MATCHING = "m.row IN (SELECT rowid FROM words WHERE words MATCH ?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that a reflection looks at, read at one moment; memories come oldest first.

    `fresh` came since the last reflection, `lately` within a month; `unread` are turns that nobody has learned from,
    `known` is held as more than an event, `forgotten` is what nobody wants back.
    `faded` is hardly relevant any more, the weakest first, turns behind what was kept; `weak` is important and dormant;
    `replaced` is what was replaced since the last reflection and by what, the last first.
    """

    fresh: list[MemoryItem]
    lately: list[MemoryItem]
    unread: frozenset[str]
    known: list[MemoryItem]
    forgotten: list[MemoryItem]
    faded: list[Faded]
    faded_count: int
    weak: list[Faded]
    replaced: list[tuple[str, str]]
    material: Material


def look(connection: apsw.Connection, *, now: datetime, since: datetime | None, month: timedelta, decay: Decay) -> Seen:
    """What there is at this moment; `since` the beginning where there was no reflection yet."""
    here, after = to_us(now), to_us(since or EPOCH)
    weakest, total = _faded(connection, here, decay, below=decay.archived)
    valid = f"(m.kind <> 'episodic' OR m.source IN {OVERHEARD}) AND coalesce(m.valid_until, ?1) >= ?1"
    return Seen(
        fresh=_newest(connection, _SINCE, after, RECENT),
        unread=frozenset(each for conversation in unheard(connection) for each in conversation.unread),
        lately=_newest(connection, _SINCE, to_us(now - month), RECENT),
        known=_newest(connection, valid, here, FACTS),
        forgotten=[each.item for each in located(connection, _FORGOTTEN, (RECENT,))],
        faded=weakest,
        faded_count=total,
        weak=_faded(connection, here, decay, below=decay.dormant, important=IMPORTANT)[0],
        replaced=_replaced(connection, after),
        material=material(connection),
    )


def _newest(connection: apsw.Connection, condition: str, moment: int, limit: int) -> list[MemoryItem]:
    """What holds and is so, without strangers' words, oldest first; of more than the limit, the newest."""
    rest = f"WHERE {condition} AND {_CURRENT} AND {_TRUSTED} {_NEWEST_FIRST} LIMIT ?2"
    return [each.item for each in located(connection, rest, (moment, limit))][::-1]


def _faded(
    connection: apsw.Connection, now: int, decay: Decay, *, below: float, important: float = 0.0
) -> tuple[list[Faded], int]:
    """What is less relevant than that and nobody protects, and how many such there are."""
    sql = (
        f"SELECT m.row, {relevance_sql(decay)} AS score, count(*) OVER () FROM memories m WHERE {_THERE} AND NOT "
        "(m.pinned OR m.store = 'vault' OR m.decay_rate IS 0) AND m.importance >= :important AND score < :below "
        "ORDER BY m.role IS NOT NULL, score, m.created_at, m.id LIMIT :limit"
    )
    values = {**decay_values(decay), "now": now, "below": below, "important": important, "limit": FADED}
    found: dict[int, tuple[float, int]] = {row: (score, count) for row, score, count in connection.execute(sql, values)}
    total = next((count for _, count in found.values()), 0)
    return [(each.item, found[each.row][0]) for each in by_rows(connection, list(found))], total


def _replaced(connection: apsw.Connection, after: int) -> list[tuple[str, str]]:
    sql = (
        "SELECT m.content, n.content FROM memories m JOIN memories n ON n.id = m.superseded_by "
        "WHERE m.form = 'memory' AND m.forgotten_at IS NULL AND n.forgotten_at IS NULL AND m.superseded_at > ? "
        "AND n.origin <> 'untrusted' "
        "ORDER BY m.superseded_at DESC, m.id"
    )
    return [(str(old), str(new)) for old, new in connection.execute(sql, (after,))]


def conversations(connection: apsw.Connection, names: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """The conversations in which each of these, given by their names, is spoken of; strangers' words do not count."""
    holds = f"m.session IS NOT NULL AND {_CURRENT} AND {_TRUSTED}"
    sql = f"SELECT DISTINCT m.session FROM memories m WHERE {_MATCHING} AND {holds}"
    asked = {each: " OR ".join(match_expression(terms(name), all_of=True) for name in names[each]) for each in names}
    return {each: {str(session) for (session,) in connection.execute(sql, (words,))} for each, words in asked.items()}


class Rests(NamedTuple):
    """Whether memories say what a line of core memory says, whether one of them holds, and what is said instead."""

    found: bool
    holds: bool
    instead: str


def rests(connection: apsw.Connection, words: str, id: str | None, same: Callable[[str, str], bool]) -> Rests:
    """What a line rests on, by the id behind it or by its words, which `same` compares with those of memories."""
    rest, asked = f"WHERE {_MATCHING} AND m.form = 'memory' AND {_TRUSTED} LIMIT 200", terms(words)
    found = located(connection, rest, (match_expression(asked, all_of=True),))
    saying = (each for each in found if same(each.item.content, words))
    items = [each.item for each in ((by_id(connection, id),) if id else saying) if each]
    old = next((item.id for item in items if item.superseded_by and not item.forgotten_at), None)
    row = successor(connection, old) if old else None
    by = [each.item for each in by_rows(connection, [row] if row else [])]
    instead = "".join(item.content for item in by if not item.forgotten_at and item.origin is not Origin.UNTRUSTED)
    return Rests(bool(items), any(not (item.forgotten_at or item.superseded_by) for item in items), instead)
