"""What maintenance asks the index: what has faded or is due, which days changed, which conversations are unread."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from hashlib import blake2b
from itertools import count
from typing import Any, NamedTuple

from apsw import Connection

from memfolio.clock import EPOCH
from memfolio.decay import DAY, power
from memfolio.index.graph import Material, material, successor
from memfolio.index.lookup import AFTER, Located, Place, by_id, by_rows, located
from memfolio.index.rows import DERIVED, MACHINES, ROLES, clean, column, from_us, to_us
from memfolio.index.search import (
    ARCHIVED,
    CURRENT,
    LEVELS,
    LIVE,
    MORE_THAN_EVENT,
    NOT_UNDONE,
    SUPERSEDED,
    TRUSTED,
    Filter,
)
from memfolio.settings import Decay
from memfolio.text import match_expression, terms
from memfolio.types import CORRECTION, LEARNED, PATTERN, Kind, MemoryItem, Origin, Type, frozen
from memfolio.vault.fields import local, moment_of

# How much a memory has faded: the formula of `memfolio.decay` as an expression of SQL, so that a million memories are
# asked in one pass.

Values = dict[str, Any]
_HUGE = 1.7976931348623157e308
"""The largest number: anything larger is infinite."""
KEPT = "(m.pinned OR m.form != 'memory' OR m.store = 'vault')"
IDLE = "(:now - max(m.created_at, coalesce(m.accessed_at, 0)))"
USES = "(1 + log2(1 + m.access_count) / :use)"
KINDS = tuple(kind.value for kind in Kind)
_BASE = (
    f"CASE WHEN m.decay_rate = 0 THEN 1.0 WHEN {DERIVED} = 1 THEN :inferred "
    f"WHEN m.role IS NOT NULL OR {DERIVED} THEN :detected ELSE :explicit END"
)


def relevance_sql(decay: Decay) -> str:
    """Return the SQL for the relevance of the memory `m` at `:now`; `decay_values` has its other parameters."""
    return f"CASE WHEN {KEPT} THEN 1.0 ELSE min(1.0, {_BASE} * {faded(decay, IDLE)} * {USES}) END"


def decay_values(decay: Decay) -> Values:
    names = ("explicit", "detected", "inferred", "use", *KINDS)
    return {"huge": _HUGE, **{name: getattr(decay, name) for name in names}}


def faded(decay: Decay, idle: str) -> str:
    """Return the SQL for the share that is left after so many microseconds."""
    days = f"max(0, {idle}) / {DAY}.0"
    days = days if power(decay) == 1 else f"pow({days}, {power(decay)})"
    return f"exp(-max(0.0, {_RATE}) * {days})"


def by_kind(suffix: str = "") -> str:
    each = " ".join(f"WHEN '{kind}' THEN :{kind}{suffix}" for kind in KINDS)
    return f"CASE m.kind {each} END"


_RATE = f"CASE WHEN m.decay_rate IS NULL OR abs(m.decay_rate) > :huge THEN {by_kind()} ELSE m.decay_rate END"


def dormant(
    db: Connection, now: int, decay: Decay, wanted: Filter, limit: int, after: Place | None = None
) -> list[Located]:
    """What passes the filter and has faded so far that recall leaves it out; order and `after` as of `newest`."""
    condition, given = wanted.where()
    if after is not None:
        condition, given = f"{condition} AND {AFTER}", (*given, after[0], *after)
    number = count()
    named = re.sub(r"\?", lambda _: f":given{next(number)}", condition)
    sql = (
        f"SELECT m.row FROM memories m WHERE {named} AND {relevance_sql(decay)} < :dormant "
        "ORDER BY m.happened_at DESC, m.id LIMIT :limit"
    )
    values = {f"given{place}": value for place, value in enumerate(given)}
    values |= {**decay_values(decay), "now": now, "dormant": decay.dormant, "limit": limit}
    return by_rows(db, [row for (row,) in db.execute(sql, values)])


# Days as the index knows them: which have changed, what happened on them, and what was made of that.

SUMMARY = "summary"
DAY_SUMMARY = "day-summary"
CONCLUDED = (PATTERN, LEARNED)
"""Sources that a day lists but does not count among its events."""
LONG = 20_000
"""Characters of a memory that are read."""
SHORT = 200
"""Characters of one that came before or after it."""

_STANDING, _VALUES = Filter(forms=("memory",), include=(ARCHIVED, SUPERSEDED)).where()
_TOLD = f"""{_STANDING} AND (m.superseded_by IS NULL OR m.source = '{LEARNED}'
        AND (SELECT s.source FROM memories s WHERE s.id = m.superseded_by) <> '{CORRECTION}')
    AND m.store <> 'vault' AND m.source NOT IN ('consolidation', 'summary')
    AND (m.source <> '{LEARNED}' OR m.type IN ('decision', 'outcome', 'lesson', 'error', 'task')
        OR (m.type IN ('fact', 'preference', 'event') AND m.importance >= 0.5)) AND {NOT_UNDONE}"""
"""What a day tells; what was made of other memories would tell the same once more, but for what was concluded.

What was learned then is told also where it was replaced since: it was the news of that day. What somebody corrected
never was.
"""


_REPLACED = """EXISTS (SELECT 1 FROM edges e JOIN memories s ON s.id = e.source
    WHERE e.target = m.id AND e.type = 'derived_from' AND s.superseded_by IS NOT NULL)"""


class DayMark(NamedTuple):
    """What tells one state of a day from another, and how many memories it has in sight and in the archive."""

    hash: str = ""
    shown: int = 0
    archived: int = 0

    @property
    def memories(self) -> int:
        return self.shown + self.archived


class DayMemory(NamedTuple):
    """A memory in the account of a day."""

    id: str
    at: datetime
    type: Type
    content: str
    importance: float = 0.5
    source: str = "conversation"
    session: str | None = None
    speaker: str = ""
    """The speaker, if a person with a name."""
    sources: tuple[str, ...] = ()
    """The ids of its sources."""
    tags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """The names of entities that it mentions."""
    is_machine: bool = False
    """Whether an assistant, a tool or the system said it."""
    is_replaced: bool = False
    """Whether what was learned from it has been replaced since."""
    before: tuple[str, ...] = ()
    """Id and text of what it replaced."""
    after: tuple[str, ...] = ()
    """Id and text of what replaced it."""


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


def marks(db: Connection, zone: tzinfo) -> dict[date, DayMark]:
    """The mark of every day on which anything happened, in order; it changes with whatever a digest is made of.

    That is each memory's id, content, speaker, type, importance and tags, not whether it is archived.
    """
    sql = f"""SELECT m.happened_at, m.source, m.archived, m.id || m.type || CAST(1000 * m.importance AS INTEGER)
        || ifnull('>' || m.superseded_by, '')
        || char(0) || m.content || char(0) || ifnull(m.more, '') || char(0) || ifnull(m.role || ifnull(m.user, ''), '')
        FROM memories m WHERE {_TOLD} ORDER BY m.happened_at, m.id"""
    found: dict[date, DayMark] = {}
    end, day, counts, digest = -(2**63), date.min, [0, 0], blake2b(digest_size=16)
    for happened_at, source, archived, text in db.execute(sql, _VALUES):
        if happened_at >= end:
            _enter(found, day, digest.hexdigest(), counts)
            day, counts, digest = local_day(from_us(happened_at), zone), [0, 0], blake2b(digest_size=16)
            end = _end_us(day, zone)
        digest.update(text.encode("utf-8", "replace") + b"\n")
        counts[archived] += source not in CONCLUDED
    _enter(found, day, digest.hexdigest(), counts)
    return found


def _enter(found: dict[date, DayMark], day: date, hash: str, counts: list[int]) -> None:
    if any(counts):
        found[day] = DayMark(hash, *counts)


def told(db: Connection, day: date, zone: tzinfo, *, limit: int, with_archived: bool = False) -> list[DayMemory]:
    """Return what happened on a day, in order; of more than `limit` memories, the most important."""
    start, end = to_us(beginning(day, zone)), _end_us(day, zone)
    return list(_told(db, start, end, limit, with_archived=with_archived))


def told_between(db: Connection, since: datetime, until: datetime, *, limit: int) -> list[DayMemory]:
    """Return what happened between two moments, inclusive, in order."""
    return list(_told(db, to_us(since), to_us(until) + 1, limit, with_archived=False))


def _told(db: Connection, start: int, end: int, limit: int, *, with_archived: bool) -> Iterator[DayMemory]:
    seen = "" if with_archived else "AND m.archived = 0"
    sql = f"""SELECT * FROM (
        SELECT m.row, m.id, m.happened_at, m.type, substr(m.content, 1, {LONG}), m.importance, m.source, m.session,
            {_REPLACED}, m.role, m.user, m.more,
            (SELECT p.id || ' ' || substr(p.content, 1, {SHORT}) FROM memories p WHERE p.superseded_by = m.id
                AND p.forgotten_at IS NULL AND p.source = '{LEARNED}' ORDER BY p.created_at DESC LIMIT 1),
            (SELECT s.id || ' ' || substr(s.content, 1, {SHORT}) FROM memories s WHERE s.id = m.superseded_by
                AND s.forgotten_at IS NULL)
        FROM memories m WHERE {_TOLD} {seen} AND m.happened_at >= ? AND m.happened_at < ?
        ORDER BY m.importance DESC, m.happened_at, m.id LIMIT ?) ORDER BY 3, 2"""
    names = _names(db, start, end)
    for row, name, at, type_, *columns, replaced, role, user, more, before, after in db.execute(
        sql, (*_VALUES, start, end, limit)
    ):
        fields = json.loads(more) if more else {}
        listed = fields.get("derived_from", ()), fields.get("tags", ()), names.get(row, ())
        said_by_machine = role is not None and role.casefold() in MACHINES
        found = (name, from_us(at), Type(type_), *columns, _speaker(role, user), *map(tuple, listed), said_by_machine)
        others = (tuple(each.split(" ", 1)) if each else () for each in (before, after))
        yield DayMemory._make((*found, bool(replaced), *others))


def _speaker(role: str | None, user: str | None) -> str:
    if role is None or role.casefold() in ROLES:
        return user if user and role in ("user", "human") else ""
    return role


def _names(db: Connection, start: int, end: int) -> dict[int, list[str]]:
    sql = """SELECT n.row, coalesce(e.name, n.entity) FROM memories m JOIN mentions n ON n.row = m.row
        LEFT JOIN entities e ON e.id = n.entity WHERE m.happened_at >= ? AND m.happened_at < ? ORDER BY 1, 2"""
    found: dict[int, list[str]] = {}
    for row, name in db.execute(sql, (start, end)):
        found.setdefault(row, []).append(name)
    return found


def summed_up(db: Connection, zone: tzinfo) -> set[str]:
    """The days that have been summed up; a summary that was forgotten because of what it cites does not count."""
    sql = """SELECT m.happened_at, json_extract(m.more, '$.attributes.day') FROM memories m JOIN tags t ON t.row = m.row
        WHERE t.tag = ? AND m.source = ? AND m.form = 'memory' AND (m.forgotten_at IS NULL OR NOT EXISTS (
            SELECT 1 FROM edges e LEFT JOIN memories s ON s.id = e.target WHERE e.source = m.id
            AND e.type = 'derived_from' AND (s.row IS NULL OR s.forgotten_at IS NOT NULL)))"""
    rows = db.execute(sql, (DAY_SUMMARY, SUMMARY))
    return {str(day or local_day(from_us(at), zone)) for at, day in rows}


def digest_names(db: Connection, level: str) -> list[str]:
    """Return the names of the digest pages of a level, in order."""
    sql = "SELECT path FROM files WHERE path GLOB ? ORDER BY path"
    return [path.rpartition("/")[2].removesuffix(".md") for path in column(db, sql, LEVELS[level])]


def known_patterns(db: Connection) -> set[str]:
    """Return the keys of all patterns ever stored, whatever happened to them."""
    sql = "SELECT json_extract(more, '$.attributes.pattern') FROM memories WHERE source = ? AND form = 'memory'"
    return {key for key in column(db, sql, PATTERN) if isinstance(key, str)}


def gists(db: Connection, wanted: Mapping[date, str]) -> dict[date, str]:
    """Return the stored gists of these days if they are current: `wanted` has the days' hashes."""
    named = {day.isoformat(): day for day in wanted}
    sql = "SELECT day, mark, data FROM gists WHERE day BETWEEN ? AND ?"
    rows = db.execute(sql, (min(named), max(named))) if named else ()
    return {named[day]: data for day, mark, data in rows if day in named and wanted[named[day]] == mark}


def keep_gists(db: Connection, made: Iterable[tuple[date, str, str]]) -> None:
    """Store the gists of days, each with its hash, until they change."""
    rows = ((day.isoformat(), mark, data) for day, mark, data in made)
    db.executemany("INSERT OR REPLACE INTO gists (day, mark, data) VALUES (?, ?, ?)", rows)


# Conversations: which have turns that nobody has learned from, what was said in them, and what is known already.

SPOKEN = Filter(forms=("memory",))
_TURNS = "m.session IS NOT NULL AND m.role IS NOT NULL AND m.id < 'M-:' AND m.id > 'M-'"
MARK = 8
"""With how many characters, the last of its id, a turn is marked as read: they depend on its text, time and agent."""
NEVER = 1 << 62
"""A time that no memory has."""
MOST = 1000
"""The most memories compared with what was said, the newest ones."""


@frozen
class Conversation:
    """A conversation with turns that are to be learned from."""

    session: str
    unread: frozenset[str]
    """The ids of these turns."""
    last_us: int
    """When its last turn was written down."""
    page: str | None = None
    """The path of the page about it, if there is one."""
    by_rules: frozenset[str] = frozenset()
    """Those of these turns that the rules have read."""


class About(NamedTuple):
    """The parts of a statement, for finding equal and contradicting ones."""

    text: str
    subject: str
    predicate: str
    object: str
    is_single: bool
    frame: str = ""
    """The words of what says the same with another value."""


def placeholders(ids: Iterable[str]) -> str:
    """Turns that were read, in short; neither a clock that goes back nor a turn that is cut out makes it untrue."""
    return "".join(each[-MARK:] for each in ids)


def unheard(db: Connection, only: Collection[str] = (), *, since: datetime | None = None) -> list[Conversation]:
    """Return conversations with turns that nobody has learned from, the one that ended first in front.

    Returns all of them, or those that are named. With `since`, turns written down since then count as unread, too, if
    only the rules have read them: a model or the agent learns more from them.
    """
    named, after = clean(tuple(only)), to_us(since) if since else NEVER
    read, closely, pages = _read(db, named)
    condition, values = SPOKEN.where()
    late = "coalesce(group_concat(m.id, ' ') FILTER (WHERE m.created_at >= ?), '')"
    sql = f"""SELECT m.session, group_concat(m.id, ' '), {late}, max(m.created_at) FROM memories m
        WHERE {_TURNS} AND {_among("m.session", named)} AND {condition} GROUP BY m.session ORDER BY 4, 1"""
    found = []
    for session, ids, lately, last_us in db.execute(sql, (after, *named, *values)):
        known, learned = read.get(session, set()), closely.get(session, set())
        by_rules = frozenset(each for each in lately.split() if each[-MARK:] in known - learned)
        if unread := by_rules.union(each for each in ids.split() if each[-MARK:] not in known):
            page = pages.get(session)
            found.append(Conversation(session=session, unread=unread, last_us=last_us, page=page, by_rules=by_rules))
    return found


_Marks = dict[str, set[str]]


def _read(db: Connection, named: Sequence[str]) -> tuple[_Marks, _Marks, dict[str, str]]:
    """Return the marks of the turns read in each conversation, by anybody and closely, and the paths of their pages."""
    session, fields = "json_extract(s.line, '$.session')", ("read", "closely", "page")
    sql = f"""SELECT {session}, {", ".join(f"json_extract(s.line, '$.{each}')" for each in fields)}
        FROM states s JOIN files f ON f.number = s.file
        WHERE s.op = 'session' AND {_among(session, named)} ORDER BY length(f.path), f.path, s.ordinal"""
    read, closely, pages = _Marks(), _Marks(), dict[str, str]()
    for name, *marked, page in db.execute(sql, named):
        for found, marks in zip((read, closely), marked, strict=True):
            if isinstance(marks, str):
                found.setdefault(name, set()).update(marks[at : at + MARK] for at in range(0, len(marks), MARK))
        if isinstance(page, str):
            pages[name] = page
    return read, closely, pages


def _among(column: str, named: Sequence[str]) -> str:
    return f"{column} IN ({', '.join('?' * len(named))})" if named else "1"


def turns_of(db: Connection, session: str) -> list[Located]:
    """Return the turns of a conversation, in order."""
    condition, values = SPOKEN.where()
    rest = f"WHERE {_TURNS} AND {condition} AND m.session = ? ORDER BY m.happened_at, m.file, m.ordinal"
    return list(located(db, rest, (*values, session)))


_KNOWN = f"m.form = 'memory' AND {MORE_THAN_EVENT} AND {TRUSTED}"
_MATCHING = "m.row IN (SELECT rowid FROM words WHERE words MATCH ?)"
_HOLDS = "m.superseded_by IS NULL AND m.forgotten_at IS NULL"
_PREDICATE = "json_extract(m.more, '$.attributes.predicate')"


def known_about(db: Connection, statements: Iterable[About]) -> list[Located]:
    """What is held as more than an event and may say the same as one of these, or the opposite, oldest first.

    Also what was replaced, archived or forgotten; not what strangers wrote and nobody confirmed.
    """
    found: dict[int, Located] = {}
    for condition, values in _conditions(list(statements)):
        rest = f"WHERE {condition} AND {_KNOWN} ORDER BY m.row DESC LIMIT ?"
        found.update((each.row, each) for each in located(db, rest, (*values, MOST)))
    return sorted(found.values(), key=lambda each: (each.item.event_time or each.item.created_at, each.item.id))


def _conditions(statements: list[About]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What has the words of a statement, its object or its frame; and where only one object can be true, of the rest.

    A memory may say "I" where its attributes say who that is, so the subject alone is not asked for.
    """
    same = {_all(each.text) for each in statements}
    same |= {f"({_all(each.object)}) AND ({_rest(each, each.object)})" for each in statements if each.object}
    if same:
        yield _MATCHING, (_any(same),)
    if frames := {_all(each.frame) for each in statements if each.frame}:
        yield f"{_MATCHING} AND {_HOLDS}", (_any(frames),)
    single = [each for each in statements if each.is_single and each.subject and each.predicate]
    if single:
        rest = {_rest(each, each.subject) for each in single}
        predicates = sorted({each.predicate for each in single})
        yield f"{_MATCHING} AND {_PREDICATE} IS NULL AND {_HOLDS}", (_any(rest),)
        listed = ", ".join("?" * len(predicates))
        expression = _any(rest | {_all(each.subject) for each in single})
        yield f"{_MATCHING} AND {_PREDICATE} IN ({listed}) AND {_HOLDS}", (expression, *predicates)


def _all(text: str) -> str:
    return match_expression(terms(text), all_of=True)


def _rest(about: About, part: str) -> str:
    """Match any word of a statement that this part of it lacks."""
    return match_expression([word for word in terms(about.text) if word not in terms(part)])


def _any(expressions: Iterable[str]) -> str:
    return " OR ".join(f"({each})" for each in sorted(expressions))


# What a reflection asks of the index: what came lately, what holds, what has faded, what was replaced.

RECENT = 5000
"""How many memories since a moment are looked at, the newest."""
FACTS = 20_000
FADED = 200
IMPORTANT = 0.8
Faded = tuple[MemoryItem, float]
"""A memory, and how relevant it still is."""
_NEWEST_FIRST = "ORDER BY m.created_at DESC, m.file DESC, m.ordinal DESC"
_FORGOTTEN = f"""WHERE m.forgotten_at IS NOT NULL AND m.form = 'memory' AND {MORE_THAN_EVENT}
    ORDER BY m.forgotten_at DESC LIMIT ?"""
_SINCE = f"m.created_at > ?1 - (m.id GLOB 'H-*') * {DAY}"
"""A note that a person wrote into a day's log has the beginning of that day as its time."""


@frozen
class ReflectionMaterial:
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


def look(
    db: Connection, *, now: datetime, since: datetime | None, month: timedelta, decay: Decay
) -> ReflectionMaterial:
    """What there is at this moment; `since` the beginning where there was no reflection yet."""
    here, after = to_us(now), to_us(since or EPOCH)
    weakest, total = _faded_memories(db, here, decay, below=decay.archived)
    valid = f"{MORE_THAN_EVENT} AND coalesce(m.valid_until, ?1) >= ?1"
    return ReflectionMaterial(
        fresh=_newest(db, _SINCE, after, RECENT),
        unread=frozenset(each for conversation in unheard(db) for each in conversation.unread),
        lately=_newest(db, _SINCE, to_us(now - month), RECENT),
        known=_newest(db, valid, here, FACTS),
        forgotten=[each.item for each in located(db, _FORGOTTEN, (RECENT,))],
        faded=weakest,
        faded_count=total,
        weak=_faded_memories(db, here, decay, below=decay.dormant, important=IMPORTANT)[0],
        replaced=_replaced(db, after),
        material=material(db),
    )


def _newest(db: Connection, condition: str, moment: int, limit: int) -> list[MemoryItem]:
    """Return valid, trusted memories that match, oldest first; of more than the limit, the newest."""
    rest = f"WHERE {condition} AND {CURRENT} AND {TRUSTED} {_NEWEST_FIRST} LIMIT ?2"
    return [each.item for each in located(db, rest, (moment, limit))][::-1]


def _faded_memories(
    db: Connection, now: int, decay: Decay, *, below: float, important: float = 0.0
) -> tuple[list[Faded], int]:
    """Return unprotected memories below this relevance, and their number."""
    sql = (
        f"SELECT m.row, {relevance_sql(decay)} AS score, count(*) OVER () FROM memories m WHERE {LIVE} AND NOT "
        "(m.pinned OR m.store = 'vault' OR m.decay_rate IS 0) AND m.importance >= :important AND score < :below "
        "ORDER BY m.role IS NOT NULL, score, m.created_at, m.id LIMIT :limit"
    )
    values = {**decay_values(decay), "now": now, "below": below, "important": important, "limit": FADED}
    found: dict[int, tuple[float, int]] = {row: (score, count) for row, score, count in db.execute(sql, values)}
    total = next((count for _, count in found.values()), 0)
    return [(each.item, found[each.row][0]) for each in by_rows(db, list(found))], total


def _replaced(db: Connection, after: int) -> list[tuple[str, str]]:
    sql = (
        "SELECT m.content, n.content FROM memories m JOIN memories n ON n.id = m.superseded_by "
        "WHERE m.form = 'memory' AND m.forgotten_at IS NULL AND n.forgotten_at IS NULL AND m.superseded_at > ? "
        "AND n.origin <> 'untrusted' "
        "ORDER BY m.superseded_at DESC, m.id"
    )
    return [(str(old), str(new)) for old, new in db.execute(sql, (after,))]


def conversations(db: Connection, names: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """The conversations in which each of these, given by their names, is spoken of; strangers' words do not count."""
    holds = f"m.session IS NOT NULL AND {CURRENT} AND {TRUSTED}"
    sql = f"SELECT DISTINCT m.session FROM memories m WHERE {_MATCHING} AND {holds}"
    asked = {each: " OR ".join(match_expression(terms(name), all_of=True) for name in names[each]) for each in names}
    return {each: set(column(db, sql, words)) for each, words in asked.items()}


class Rests(NamedTuple):
    """Whether memories say what a line of core memory says, whether one of them holds, and what is said instead."""

    found: bool
    holds: bool
    instead: str


def rests(db: Connection, words: str, id: str | None, same: Callable[[str, str], bool]) -> Rests:
    """What a line rests on, by the id behind it or by its words, which `same` compares with those of memories."""
    rest, asked = f"WHERE {_MATCHING} AND m.form = 'memory' AND {TRUSTED} LIMIT 200", terms(words)
    found = located(db, rest, (match_expression(asked, all_of=True),))
    saying = (each for each in found if same(each.item.content, words))
    items = [each.item for each in ((by_id(db, id),) if id else saying) if each]
    old = next((item.id for item in items if item.superseded_by and not item.forgotten_at), None)
    row = successor(db, old) if old else None
    by = [each.item for each in by_rows(db, [row] if row else [])]
    instead = "".join(item.content for item in by if not item.forgotten_at and item.origin is not Origin.UNTRUSTED)
    return Rests(bool(items), any(not (item.forgotten_at or item.superseded_by) for item in items), instead)
