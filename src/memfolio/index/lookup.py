"""Look memories up by their fields instead of their text, and count them."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple

from apsw import Connection, carray

from memfolio.decay import DecayInput
from memfolio.index.database import AGENT, get_meta
from memfolio.index.rows import (
    ROLES,
    SELECT,
    clean,
    column,
    item_of,
    kept,
    number,
    of_ids,
    of_kept,
    of_rows,
    selected,
    spot_of,
    stored,
)
from memfolio.index.schema import NAMELESS, MemoryRow
from memfolio.index.search import (
    CURRENT,
    LIVE,
    NOT_UNDONE,
    OUT_OF_SIGHT_WHERE,
    TRUSTED,
    Condition,
    Filter,
    ShortTerm,
    count_within,
    ordered_by,
    size,
)
from memfolio.types import LEARNED, SUMMED_UP, Kind, MemoryItem, Store, Type, frozen
from memfolio.vault.paths import agent_of

# Looking memories up by what they are, not by what they say.


@frozen
class Located:
    """A memory, its file, and its form there: a memory, a passage of a page, a fact."""

    row: int
    path: str
    form: str
    archived: bool
    item: MemoryItem
    heading: tuple[str, ...] = ()
    """The headings above a passage."""
    agent: str = ""
    """The agent whose memory it is."""


@frozen
class Edge:
    """A tie between two memories."""

    type: str
    source: str
    target: str
    predicate: str | None = None
    confidence: float = 1.0


def located(db: Connection, rest: str, values: Sequence[Any], *, by: str | None = None) -> Iterator[Located]:
    """The memories that the rest of a statement about `memories m` selects, in the order of the index `by`."""
    table = f"memories m{ordered_by(db, by)}" if by else "memories m"
    sql = f"SELECT m.row, f.path, {SELECT} FROM {table} JOIN files f ON f.number = m.file {rest}"
    for key, path, *columns in db.execute(sql, values):
        yield _located(db, key, path, MemoryRow._make(columns))


def _located(db: Connection, key: int, path: str, row: MemoryRow) -> Located:
    return Located(
        row=key,
        path=path,
        form=row.form,
        archived=bool(row.archived),
        item=item_of(row),
        heading=() if row.form == "memory" else spot_of(row).heading,
        agent=agent_of(path) or str(get_meta(db, AGENT) or ""),
    )


def by_id(db: Connection, id: str) -> Located | None:
    return next(located(db, "WHERE m.id = ?", clean((id,))), None)


def by_rows(db: Connection, rows: Sequence[int]) -> list[Located]:
    """The memories in these rows, as far as they are there, in this order."""
    return [_located(db, row, each.path, each.columns) for row, each in stored(db, rows).items()]


LIFE = selected(DecayInput._fields[:-1])
Place = tuple[int, str]
"""A memory's place in the order of time, the newest first: when it happened, and its id."""
AFTER = "m.happened_at <= ? AND (m.happened_at < ? OR m.id > ?)"


def newest(db: Connection, wanted: Filter, limit: int, after: Place | None = None) -> list[Located]:
    """Return what passes the filter, latest first; with `after`, only what follows that place."""
    condition, values = wanted.where()
    if after is not None:
        condition, values = f"{condition} AND {AFTER}", (*values, after[0], *after)
    rest = f"WHERE {condition} ORDER BY m.happened_at DESC, m.id LIMIT ?"
    by = "memories_out_of_sight" if wanted.only else "memories_by_time"
    return list(located(db, rest, (*values, limit), by=by))


def newest_rows(db: Connection, wanted: Filter, limit: int) -> list[int]:
    """Return the rows of the newest memories that pass the filter, without reading the memories."""
    where = wanted.where()

    def read(_: object) -> dict[Condition, list[int]]:
        order = f"ORDER BY m.happened_at DESC, m.id LIMIT {limit}"
        sql = f"SELECT m.row FROM memories m{ordered_by(db, 'memories_by_time')} WHERE {where[0]} {order}"
        return {where: column(db, sql, *where[1])}

    return of_kept(db, ("newest", limit), [where], read)[where]


def places(db: Connection, id: str) -> list[str]:
    """Return every file with a memory, the one that owns it first."""
    sql = "SELECT f.path FROM places p JOIN files f ON f.number = p.file WHERE p.id = ? ORDER BY f.path"
    first = by_id(db, id)
    others = column(db, sql, id)
    return list(dict.fromkeys([first.path, *others] if first else others))


def lines_about(db: Connection, id: str) -> list[Mapping[str, Any]]:
    """The state lines about a memory, oldest first."""
    return state_lines(db, "s.memory = ?", id)


def state_lines(db: Connection, condition: str, *values: Any) -> list[Mapping[str, Any]]:
    """The state lines for which a condition on `states s` holds, oldest first."""
    ordered = "ORDER BY length(f.path), f.path, s.ordinal"
    sql = f"SELECT s.line FROM states s JOIN files f ON f.number = s.file WHERE {condition} {ordered}"
    return list(map(json.loads, column(db, sql, *values)))


def edges_of(db: Connection, id: str) -> list[Edge]:
    """The ties of a memory in either direction; its neighbours in time are not among them."""
    order = "ORDER BY type, source, target"
    names = [each.name for each in fields(Edge)]
    sql = f"SELECT {', '.join(names)} FROM edges WHERE source = ?1 OR target = ?1 {order}"
    return [Edge(**dict(zip(names, row, strict=True))) for row in db.execute(sql, (id,))]


def entities_of(db: Connection, row: int) -> list[str]:
    """The entities that a memory names."""
    return column(db, "SELECT entity FROM mentions WHERE row = ? ORDER BY 1", row)


# Looking up many memories at once by where they come from and by what became of them.


def of_source(db: Connection, source: str) -> list[str]:
    """The memories that came from a source, by their own field or by an attribute of that name."""
    sql = (
        "SELECT id FROM memories WHERE form = 'memory' AND forgotten_at IS NULL "
        "AND (source = ?1 OR json_extract(more, '$.attributes.source') = ?1) ORDER BY id"
    )
    return column(db, sql, *clean((source,)))


def by_ids(db: Connection, ids: Collection[str]) -> list[Located]:
    """The memories with these ids, as far as they are there."""
    return list(located(db, "WHERE m.id IN carray(?)", (carray(tuple(ids)),))) if ids else []


def learned_from(db: Connection, turns: Collection[str], *, holds: bool = True) -> list[MemoryItem]:
    """What was learned from these turns and, unless `holds` is false, holds, in the order in which it was."""
    sql = "SELECT source FROM edges WHERE type = 'derived_from' AND target IN carray(?)"
    made = tuple({str(each) for (each,) in of_ids(db, sql, turns)})
    # What was undone was never learned; what was forgotten was.
    there = f"({NOT_UNDONE} OR m.forgotten_at IS NOT NULL)"
    current = " AND m.superseded_by IS NULL AND m.forgotten_at IS NULL" if holds else ""
    rest = f"WHERE m.id IN carray(?) AND m.source = '{LEARNED}' AND {there}{current}"
    found = located(db, f"{rest} ORDER BY m.created_at, m.id", (carray(made),)) if made else ()
    return [each.item for each in found]


def places_of(db: Connection, ids: Collection[str]) -> dict[str, list[str]]:
    """Return the files with these memories, each with those it contains."""
    sql = (
        "SELECT f.path, m.id FROM memories m JOIN files f ON f.number = m.file WHERE m.id IN carray(?1) UNION "
        "SELECT f.path, p.id FROM places p JOIN files f ON f.number = p.file WHERE p.id IN carray(?1) ORDER BY 1, 2"
    )
    found: dict[str, list[str]] = {}
    for path, memory in of_ids(db, sql, ids):
        found.setdefault(path, []).append(memory)
    return found


def replaced_by(db: Connection, ids: Collection[str]) -> list[str]:
    """Return the memories that one of these replaced."""
    sql = "SELECT id FROM memories WHERE superseded_by IN carray(?) ORDER BY id"
    return [memory for (memory,) in of_ids(db, sql, ids)]


def lines_of(db: Connection, ids: Collection[str], op: str) -> list[Mapping[str, Any]]:
    """The state lines of one operation about these memories, oldest first."""
    return state_lines(db, "s.memory IN carray(?) AND s.op = ?", carray(tuple(ids)), op) if ids else []


# What stands at the moment: recent memories and active facts for a user, and the newest state lines of a kind.

KNOWN = (Type.FACT, Type.PREFERENCE, Type.DECISION, Type.LESSON, Type.CORRECTION)
MEMORIES = ("memory",)


def recent(db: Connection, wanted: Filter, user: str | None, limit: int) -> list[MemoryItem]:
    """Return what happened with this user or no particular one, or with anybody, latest first."""
    # Turns of the same millisecond follow each other as they were written.
    order = "m.happened_at DESC, m.file DESC, m.ordinal DESC"
    return _items_for(db, replace(wanted, forms=MEMORIES), user, order, limit)


def active_facts(db: Connection, wanted: Filter, user: str | None, limit: int) -> list[MemoryItem]:
    """Return what is known and valid, pinned and most important first."""
    kinds = (Kind.SEMANTIC, Kind.OPINION)
    order = "m.pinned DESC, m.importance DESC, m.happened_at DESC"
    return _items_for(db, replace(wanted, kinds=kinds, types=KNOWN, forms=MEMORIES), user, order, limit)


def _items_for(db: Connection, wanted: Filter, user: str | None, order: str, limit: int) -> list[MemoryItem]:
    condition, values = wanted.where()
    about, whose = ("(m.user IS NULL OR m.user = ?)", clean((user,))) if user is not None else ("1", ())
    sql = f"SELECT m.row FROM memories m WHERE {condition} AND {about} ORDER BY {order}, m.id LIMIT ?"
    rows = column(db, sql, *values, *whose, limit)  # sorted without their contents
    return [each.item for each in by_rows(db, rows)]


def newest_line(db: Connection, op: str, name: str, value: str | None) -> dict[str, Any] | None:
    """Return the newest state line of an operation whose field has this value or, for None, is missing."""
    sql = (
        "SELECT s.line FROM states s JOIN files f ON f.number = s.file WHERE s.op = ? "
        "AND json_extract(s.line, '$.' || ?) IS ? ORDER BY length(f.path) DESC, f.path DESC, s.ordinal DESC LIMIT 1"
    )
    found = db.execute(sql, clean((op, name, value))).fetchone()
    return dict(json.loads(found[0])) if found else None


# A look at some memories: what ranking wants to know about the best of the candidates.


class MemoryColumns(NamedTuple):
    """What a memory says, and what is known about it."""

    content: str
    source: str
    importance: float
    confidence: float
    origin: str
    valid_from: int | None
    valid_until: int | None
    happened_at: int
    ordinal: int
    """Its place among what happened at the same moment."""
    life: DecayInput


_columns = partial(tuple.__new__, MemoryColumns)
_decay_input = partial(tuple.__new__, DecayInput)
_ranked = itemgetter(*map(MemoryRow._fields.index, MemoryColumns._fields[:-1]))
_life = itemgetter(*map(MemoryRow._fields.index, DecayInput._fields[:-1]))


def memory_columns(db: Connection, rows: Sequence[int]) -> dict[int, MemoryColumns]:
    """These rows, as far as they are there."""

    def read(new: Sequence[int]) -> dict[int, MemoryColumns]:
        return {
            row: _columns((*_ranked(each.columns), _decay_input((*_life(each.columns), each.derived))))
            for row, each in stored(db, new).items()
        }

    return of_kept(db, memory_columns, rows, read)


def beginnings(db: Connection, rows: Sequence[int], most: int) -> dict[int, str]:
    """The first `most` characters of what these rows say."""
    sql = "SELECT m.row, substr(m.content, 1, ?2) FROM memories m WHERE m.row IN carray(?1)"
    return of_kept(db, ("beginnings", most), rows, lambda new: dict(of_rows(db, sql, new, most)))


# Memories in their company: what was said just before and after, and who the speakers are.


def around(db: Connection, rows: Sequence[int], reach: int) -> dict[int, list[tuple[int, int]]]:
    """For each of these the rows up to `reach` places away in the same session and file, each with its distance.

    Distances to what came before are negative. What happened at the same moment has an order within a file, and none
    between two.
    """

    def read(new: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
        return {
            row: [*_with_distance(after, 1), *_with_distance(before, -1)]
            for row, after, before in of_rows(db, _AROUND, new, reach)
        }

    return of_kept(db, ("around", reach), rows, read)


def _with_distance(listed: str | None, step: int) -> Iterable[tuple[int, int]]:
    return zip(map(int, listed.split(",")), count(step, step), strict=False) if listed else ()


def _side(comparison: str, order: str) -> str:
    return f"""(SELECT group_concat(row) FROM (SELECT row FROM memories n
        WHERE n.session = m.session AND n.file = m.file
        AND (n.happened_at, n.ordinal) {comparison} (m.happened_at, m.ordinal)
        ORDER BY n.happened_at {order}, n.ordinal {order} LIMIT ?2))"""


_AROUND = f"""SELECT m.row, {_side(">", "ASC")}, {_side("<", "DESC")} FROM memories m
    WHERE m.row IN carray(?1) AND m.session IS NOT NULL"""
"""In one statement for all: one by one, most of the time would go into asking."""


def turns_around(db: Connection, id: str, reach: int) -> list[MemoryItem]:
    """A memory and the turns up to `reach` places before and after it, in their order, but for what was forgotten."""
    rows = [each.row for each in by_ids(db, [id])]
    near = [row for beside in around(db, rows, reach).values() for row, _ in beside]
    found = [each.item for each in by_rows(db, [*rows, *near]) if not each.item.forgotten_at]
    turns = [each for each in found if each.role or each.id == id]
    return sorted(turns, key=lambda each: (each.event_time or each.created_at, each.id))


@frozen
class Overview:
    """What a question needs to know of an index before it is searched."""

    waiting: int
    """How many memories have no vector yet."""
    identity: str | None
    """Whose vectors the others have."""
    newest: int | None
    """When the last thing happened."""
    speakers: Sequence[str]
    """Everybody who speaks under a name of their own, in what is neither forgotten nor archived."""
    has_entities: bool
    has_edges: bool


_OVERVIEW = f"""SELECT (SELECT count(*) FROM waiting), (SELECT value FROM meta WHERE key = 'identity'),
    (SELECT max(happened_at) FROM memories), (SELECT sum(memories) FROM tally), EXISTS (SELECT 1 FROM names),
    EXISTS (SELECT 1 FROM edges), EXISTS (SELECT 1 FROM memories WHERE role NOT IN {NAMELESS})"""
# From one role to the next by the index, since there are few of them for many memories.
_SPEAKERS = f"""
WITH RECURSIVE each(role) AS (
    SELECT min(role) FROM memories WHERE role NOT IN {NAMELESS}
    UNION ALL
    SELECT (SELECT min(m.role) FROM memories m WHERE m.role > each.role AND m.role NOT IN {NAMELESS})
    FROM each WHERE each.role IS NOT NULL
) SELECT role FROM each WHERE role IS NOT NULL AND EXISTS (
    SELECT 1 FROM memories m WHERE m.role = each.role AND m.forgotten_at IS NULL AND m.archived = 0
) LIMIT 1000
"""


def overview(db: Connection) -> Overview:
    table = kept(db, overview)
    if not table:
        table[0] = _read_overview(db)
    found: Overview = table[0]
    return found


def _read_overview(db: Connection) -> Overview:
    row: tuple[Any, ...] = db.execute(_OVERVIEW).fetchall()[0]
    waiting, identity, newest, total, has_entities, has_edges, has_speakers = row
    kept(db, size)[0] = total or 0
    roles = column(db, _SPEAKERS) if has_speakers else ()
    return Overview(
        waiting=waiting,
        identity=identity,
        newest=newest,
        speakers=[role for role in roles if role.casefold() not in ROLES],
        has_entities=bool(has_entities),
        has_edges=bool(has_edges),
    )


# What is on which shelf: working memory, short-term memory, and what is ready to become long-term memory.


def working(db: Connection, *, least_used: bool) -> list[str]:
    """The ids of working memory, the next to leave first."""
    order = "max(coalesce(m.accessed_at, 0), m.created_at)" if least_used else "m.created_at"
    return column(db, f"SELECT m.id FROM memories m WHERE m.store = 'working' AND {CURRENT} ORDER BY {order}, m.id")


def ripe(db: Connection, *, importance: float, uses: int) -> list[Located]:
    """The memories of the first two stores that proved important, oldest first."""
    condition, values = Filter(forms=("memory",)).where()
    rest = f"""WHERE {condition} AND m.source NOT IN ({", ".join("?" * len(SUMMED_UP))})
        AND (m.store = 'working' AND m.importance >= ? OR m.store = 'short_term'
            AND (m.importance >= ? OR m.access_count >= ?)) ORDER BY m.created_at, m.id"""
    return list(located(db, rest, (*values, *SUMMED_UP, importance, importance, uses)))


def store_counts(db: Connection, kept: Mapping[str, int], short_term: ShortTerm) -> dict[str, int]:
    """How many memories each store holds, of those that were put into each: what left short-term is long-term."""
    counts = dict(kept)
    put = counts.pop(Store.SHORT_TERM.value, 0)
    within = count_within(db, short_term) if put else 0
    if within:
        counts[Store.SHORT_TERM.value] = within
    if put > within:
        counts[Store.LONG_TERM.value] = counts.get(Store.LONG_TERM.value, 0) + put - within
    return dict(sorted(counts.items()))


def neighbours(db: Connection) -> int:
    """How often a memory follows another in its session."""
    return number(db, "SELECT sum(memories - 1) FROM session_tally WHERE memories > 0")


# The index in numbers.


@frozen
class Counts:
    """How much there is of what. Forgotten and archived memories count only where it says so."""

    memories: int
    stores: Mapping[str, int]
    kinds: Mapping[str, int]
    edges: Mapping[str, int]
    forms: Mapping[str, int]
    entities: int
    orphans: int
    """Memories that belong to no session and have no tie, tag or entity."""
    archived: int
    forgotten: int
    superseded: int
    quarantined: int
    """What strangers said and nobody confirmed."""
    waiting: int
    """Memories that have no vector yet."""
    jobs: Mapping[str, str]
    """When each job last ran."""
    problems: Mapping[str, tuple[str, ...]]
    """What could not be read as it was meant, by file."""


def count_memories(db: Connection, short_term: ShortTerm) -> Counts:
    def tally(condition: str) -> int:
        return number(db, f"SELECT sum(memories) FROM tally WHERE {condition}")

    def table(name: str, condition: str) -> dict[str, int]:
        rows = f"FROM tally WHERE {condition} GROUP BY 1 HAVING total > 0 ORDER BY 1"
        return dict(db.execute(f"SELECT {name}, sum(memories) AS total {rows}"))

    problems = "SELECT path, problems FROM files WHERE problems IS NOT NULL ORDER BY path"
    return Counts(
        memories=tally(_IN_SIGHT),
        stores=store_counts(db, table("store", _IN_SIGHT), short_term),
        kinds=table("kind", _IN_SIGHT),
        edges=_edges(db),
        forms=table("form", "true"),
        entities=number(db, "SELECT count(*) FROM (SELECT id FROM entities UNION SELECT entity FROM mentions)"),
        orphans=number(db, _ORPHANS),
        archived=tally("archived AND NOT forgotten"),
        forgotten=tally("forgotten"),
        superseded=tally("superseded"),
        quarantined=count_quarantined(db),
        waiting=number(db, "SELECT count(*) FROM waiting"),
        jobs=last_runs(db),
        problems={path: tuple(json.loads(listed)) for path, listed in db.execute(problems)},
    )


def count_quarantined(db: Connection) -> int:
    """How many memories are strangers' words that nobody has confirmed; where there are no such words, at once."""
    suspects = number(db, f"SELECT sum(memories) FROM tally WHERE {_IN_SIGHT} AND origin = 'untrusted'")
    return number(db, _QUARANTINED.format(ordered_by(db, "memories_out_of_sight"))) if suspects else 0


_IN_SIGHT = "form = 'memory' AND NOT forgotten AND NOT archived"
_QUARANTINED = f"""SELECT count(*) FROM memories m{{}}
    WHERE {OUT_OF_SIGHT_WHERE} AND {LIVE} AND NOT {TRUSTED}"""
_ORPHANS = f"""
SELECT count(*) FROM memories m WHERE {LIVE} AND session IS NULL
AND NOT EXISTS (SELECT 1 FROM edges e WHERE e.source = m.id OR e.target = m.id)
AND row NOT IN (SELECT row FROM tags) AND row NOT IN (SELECT row FROM mentions)
"""


def _edges(db: Connection) -> dict[str, int]:
    found: dict[str, int] = dict(db.execute("SELECT type, count(*) FROM edges GROUP BY 1 ORDER BY 1"))
    temporal = neighbours(db)
    return {"temporal": temporal, **found} if temporal else found


def last_runs(db: Connection) -> dict[str, str]:
    """When each job last did something."""
    lines = state_lines(db, "s.op = 'job'")
    return {str(line["job"]): str(line.get("at", "")) for line in lines if "job" in line}


# The pages that memfolio writes about memories, and that cite them line by line.

META = ("memory/meta/evolution.md", "memory/meta/reflections/log.md")
FOLDERS = (
    "sessions",
    "memory/weekly",
    "memory/monthly",
    "memory/quarterly",
    "memory/conflicts",
    "memory/graph/entities",
)


def written_pages(db: Connection, root: str) -> list[str]:
    """Where an agent's folder has such pages."""
    found = [f"{root}/{name}" for name in ("MEMORY.md", "USER.md", *META)]
    for folder in FOLDERS:
        sql = "SELECT path FROM files WHERE path >= ? AND path < ? ORDER BY path"
        found += column(db, sql, f"{root}/{folder}/", f"{root}/{folder}0")
    return found


# The lines of rules, cases, judgements and runs.


def records_about(db: Connection, columns: str) -> str:
    """The statement for lines about one thing; SQLite by itself would read all lines, since those are in order."""
    table = f"records{ordered_by(db, 'records_by_about')}"
    return f"SELECT {columns} FROM {table} WHERE ledger = ? AND about = ? ORDER BY ordinal"


def records(db: Connection, ledger: str, about: str | None = None) -> list[dict[str, Any]]:
    """The lines of a ledger, such as `rules`, in order, or only those about one thing; each has an id and a time."""
    if about is None:
        return list(map(json.loads, record_lines(db, ledger)))
    return list(map(json.loads, column(db, records_about(db, "line"), ledger, about)))


def record_lines(db: Connection, ledger: str) -> list[str]:
    """The same as JSON."""
    return column(db, "SELECT line FROM records WHERE ledger = ? ORDER BY ordinal", ledger)


# Folders of notes outside of the home.


class FolderCount(NamedTuple):
    """What of a folder of notes is found: how many notes and blocks, and what is wrong with which notes."""

    notes: int
    blocks: int
    problems: dict[str, str]


def count_notes(db: Connection, root: str) -> FolderCount:
    """How much of a folder of notes is filed."""
    sql = """SELECT f.path, f.problems, (SELECT count(*) FROM memories m WHERE m.file = f.number) FROM files f
    WHERE substr(f.path, 1, length(?1)) = ?1 ORDER BY 1"""
    rows = list(db.execute(sql, (os.path.join(root, ""),)))
    problems = {path: "; ".join(json.loads(listed)) for path, listed, _ in rows if listed}
    return FolderCount(len(rows) - len(problems), sum(blocks for *_, blocks in rows), problems)
