"""Relations between memories, people and things, as the index stores them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from apsw import Connection

from memfolio.index.lookup import state_lines
from memfolio.index.rows import MACHINES, from_us, of_ids, of_rows
from memfolio.index.search import IS_CLOSE, Sieve
from memfolio.text import name_key
from memfolio.types import frozen

# What memories have to do with each other: causes, corrections, links, the same people and things, digests.


class Tie(NamedTuple):
    """The row of a memory that is linked to one of those asked about."""

    row: int
    id: str


def named(db: Connection, names: Iterable[str]) -> list[str]:
    """Return the entities with one of these names, given as `name_key`s."""
    sql = "SELECT DISTINCT entity FROM names WHERE name IN carray(?) ORDER BY entity"
    return [entity for (entity,) in of_ids(db, sql, names)]


def names_of(db: Connection, entities: Sequence[str]) -> list[str]:
    """Return the names of these entities, without their ids."""
    sql = "SELECT name, entity FROM names WHERE entity IN carray(?) ORDER BY 1, 2"
    return [name for name, entity in of_ids(db, sql, entities) if name != entity]


def related(db: Connection, entities: Sequence[str]) -> list[str]:
    """The entities that the pages of these link to, or that an edge ties to them."""
    sql = """
    SELECT n.entity FROM entities e JOIN memories m ON m.file = e.file JOIN mentions n ON n.row = m.row
        WHERE e.id IN carray(?1)
    UNION SELECT target FROM edges WHERE source IN carray(?1) AND target IN (SELECT id FROM entities)
    UNION SELECT source FROM edges WHERE target IN carray(?1) AND source IN (SELECT id FROM entities)
    """
    return sorted({entity for (entity,) in of_ids(db, sql, entities)} - set(entities))


def about(sieve: Sieve, entities: Sequence[str], limit: int) -> list[int]:
    """Return the matching rows that mention these entities or are on their pages, newest first."""
    condition, values = sieve.where
    sql = f"""
    WITH asked(id) AS (SELECT value FROM carray(?))
    SELECT m.row FROM memories m WHERE m.row IN (
        SELECT row FROM mentions WHERE entity IN asked
        UNION SELECT p.row FROM entities e JOIN memories p ON p.file = e.file WHERE e.id IN asked
        UNION SELECT t.row FROM edges d JOIN memories t ON t.id = d.target WHERE d.type = 'about' AND d.source IN asked
    ) AND {condition} ORDER BY m.happened_at DESC, m.id LIMIT ?
    """
    return [row for (row,) in of_ids(sieve.connection, sql, entities, *values, limit)]


def mentioned(db: Connection, ids: Sequence[str]) -> list[str]:
    """The entities that these memories link to."""
    sql = "SELECT DISTINCT n.entity FROM memories m JOIN mentions n ON n.row = m.row WHERE m.id IN carray(?) ORDER BY 1"
    return [entity for (entity,) in of_ids(db, sql, ids)]


def tied(db: Connection, ids: Sequence[str], type: str | None = None) -> list[Tie]:
    """Return the memories that an edge of this type, or of any, links to one of these."""
    sql = """
    SELECT m.row, m.id FROM edges e JOIN memories m ON m.id = e.target
        WHERE e.source IN carray(?1) AND ifnull(e.type = ?2, 1)
    UNION SELECT m.row, m.id FROM edges e JOIN memories m ON m.id = e.source
        WHERE e.target IN carray(?1) AND ifnull(e.type = ?2, 1) ORDER BY 2
    """
    return [Tie._make(row) for row in of_ids(db, sql, ids, type)]


def paths(db: Connection, files: Iterable[int]) -> dict[int, str]:
    """Return the paths of files by number."""
    return dict(of_rows(db, "SELECT number, path FROM files WHERE number IN carray(?)", list(files)))


def successor(db: Connection, id: str) -> int | None:
    """Return the row of the memory that finally replaced another one."""
    sql = "SELECT row, superseded_by FROM memories WHERE id = ?"
    here: str | None = id
    seen: set[str] = set()
    while here is not None and here not in seen and (found := db.execute(sql, (here,)).fetchone()):
        seen.add(here)
        row, here = found
        if here is None:
            return int(row)
    return None


def outdated(db: Connection, ids: Sequence[str]) -> dict[str, int]:
    """Those of these turns that say what was replaced since, each with the row of what replaced it.

    What an agent learned from a turn, and that holds, keeps the turn from being outdated: it says more than one thing.
    """
    sql = f"""
    WITH told(turn, by) AS (
        SELECT d.target, m.superseded_by FROM edges d JOIN memories m ON m.id = d.source
            WHERE d.type = 'derived_from' AND d.target IN carray(?1) AND m.superseded_by IS NOT NULL
        UNION SELECT e.target, e.source FROM edges e JOIN memories m ON m.id = e.target
            WHERE e.type = 'supersedes' AND e.target IN carray(?1) AND m.role IS NOT NULL)
    SELECT turn, by FROM told WHERE NOT EXISTS (
        SELECT 1 FROM edges d JOIN memories m ON m.id = d.source
            WHERE d.type = 'derived_from' AND d.target = turn AND m.superseded_by IS NULL
            AND {IS_CLOSE}) ORDER BY 1, 2
    """
    heirs = ((turn, successor(db, by)) for turn, by in list(of_ids(db, sql, ids)))
    return {turn: heir for turn, heir in heirs if heir is not None}


def predecessors(db: Connection, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The versions that each of these memories replaced, the newest first; most have replaced none."""
    before: dict[str, list[str]] = {}
    asked, seen = list(ids), set(ids)
    sql = "SELECT source, target FROM edges WHERE type = 'supersedes' AND source IN carray(?) ORDER BY 1, 2"
    while asked:
        found = list(of_ids(db, sql, asked))
        for new, old in found:
            before.setdefault(str(new), []).append(str(old))
        asked = [old for old in dict.fromkeys(str(old) for _, old in found) if old not in seen]
        seen.update(asked)
    return {new: tuple(_chain(before, new)) for new in ids if new in before}


def _chain(before: Mapping[str, Sequence[str]], id: str) -> Iterator[str]:
    """Yield what a memory replaced, transitively, nearest first and each once."""
    seen, here = {id}, [id]
    while here:
        here = [old for new in here for old in before.get(new, ()) if old not in seen]
        seen.update(here)
        yield from here


def made_of(db: Connection, ids: Iterable[str]) -> dict[str, frozenset[str]]:
    """The memories that were made of one of these, however far down, each with all that it was made of itself."""
    above = "SELECT DISTINCT source FROM edges WHERE type = 'derived_from' AND target IN carray(?)"
    below = "SELECT target FROM edges WHERE type = 'derived_from' AND source = ?"
    found: dict[str, frozenset[str]] = {}
    asked = tuple(ids)
    while asked:
        made = [str(each) for (each,) in of_ids(db, above, asked) if each not in found]
        found |= {each: frozenset(str(one) for (one,) in db.execute(below, (each,))) for each in made}
        asked = tuple(made)
    return found


# What growing and walking the graph ask of the index.


@frozen
class Node:
    """An entity that has a page."""

    id: str
    name: str
    type: str
    aliases: tuple[str, ...]
    summary: str
    properties: Mapping[str, str]
    path: str

    @property
    def mentions(self) -> int:
        """How often it was mentioned, by its page."""
        given = self.properties.get("mentions", "")
        return int(given) if given.isdecimal() and len(given) < 10 else 0


class EntityRelation(NamedTuple):
    """That one entity is related to another."""

    source: str
    predicate: str
    target: str


@frozen
class EntityFact:
    """A memory that was learned about somebody or something."""

    id: str
    text: str
    subject: str
    predicate: str
    object: str
    negated: bool
    type: str
    kind: str
    importance: float
    confidence: float
    at: datetime
    created_us: int
    is_out: bool
    """Whether it was replaced, forgotten or undone."""
    until: datetime | None = None
    """When it stopped to hold, where that is known."""


@frozen
class Material:
    """All that a graph grows from."""

    nodes: tuple[Node, ...]
    ties: frozenset[EntityRelation]
    sessions: tuple[Mapping[str, Any], ...]
    """State lines of consolidated conversations, oldest first."""
    jobs: tuple[Mapping[str, Any], ...]
    """The lines of growths, oldest first."""
    facts: tuple[EntityFact, ...]
    gone: frozenset[str]
    """Memories that conversations name and that were forgotten or undone, or are not there."""
    strange: frozenset[str]
    """Memories that are strangers' words: nothing is learned from them, not even that something holds no more."""
    stale: frozenset[str]
    """Entities whose pages cite a memory that was replaced, forgotten, undone or deleted."""
    lost: frozenset[str]
    """The memories they cite."""
    user: str = ""
    """The name of the only speaker, if the turns name one and nobody else speaks."""

    @property
    def job(self) -> Mapping[str, Any]:
        """The line of the last growth; empty when there was none."""
        return self.jobs[-1] if self.jobs else {}

    def noted(self, name: str) -> list[Any]:
        """Return everything that was recorded under a name."""
        return [each for job in self.jobs if isinstance(listed := job.get(name), list) for each in listed]


_NODES = (
    "SELECT e.id, e.name, e.type, e.aliases, e.summary, e.properties, f.path "
    "FROM entities e JOIN files f ON f.number = e.file"
)
_PARTS = ("subject", "predicate", "object")
_OUT = (
    "(m.forgotten_at IS NOT NULL OR (m.archived AND NOT EXISTS "
    "(SELECT 1 FROM states s WHERE s.memory = m.id AND s.op = 'archive')))"
)
"""Forgotten, or archived without a retention line: the state that undo leaves."""
_GONE = f"({_OUT} OR m.superseded_by IS NOT NULL)"
_FACTS = f"""
SELECT m.id, m.content, json_extract(m.more, '$.attributes'), m.type, m.kind, m.importance, m.confidence, m.happened_at,
    m.created_at, m.valid_until, {_GONE}, m.source = 'correction', m.superseded_by
FROM memories m WHERE m.source IN ('extraction', 'correction', 'flush', 'trigger', 'reflection') AND m.form = 'memory'
    AND m.origin != 'untrusted'
    AND (m.more LIKE '%"subject"%' OR m.source = 'correction')
ORDER BY m.created_at, m.id
"""
_STRANGE = "SELECT id FROM memories WHERE origin = 'untrusted'"
_SPEAKERS = "SELECT DISTINCT user FROM memories WHERE role = 'user' AND origin != 'untrusted' LIMIT 2"
_LOST = f"""
SELECT DISTINCT e.source, e.target FROM edges e LEFT JOIN memories m ON m.id = e.target
WHERE e.type = 'about' AND (m.id IS NULL OR {_GONE})
"""


def material(db: Connection) -> Material:
    """Everything at once, so that it belongs together."""
    jobs = [line for line in state_lines(db, "s.op = ?", "job") if line.get("job") == "graph"]
    lost = list(db.execute(_LOST))
    sessions = tuple(state_lines(db, "s.op = ?", "session"))
    speakers = [each for (each,) in db.execute(_SPEAKERS)]
    return Material(
        nodes=tuple(nodes(db)),
        ties=frozenset(ties(db)),
        sessions=sessions,
        jobs=tuple(jobs),
        facts=tuple(_facts(db)),
        gone=_gone(db, sessions),
        strange=frozenset(each for (each,) in db.execute(_STRANGE)),
        stale=frozenset(source for source, _ in lost),
        lost=frozenset(target for _, target in lost),
        user=speakers[0] or "" if len(speakers) == 1 else "",
    )


_LEARNED_FROM = "SELECT target FROM edges WHERE type = 'derived_from'"


class Mention(NamedTuple):
    """A turn that names somebody."""

    id: str
    at: datetime
    content: str
    user: str | None


def mentions(db: Connection, ids: Iterable[str], cited: Iterable[str], user: str = "") -> list[Mention]:
    """Those of these memories that people said to everybody, oldest first, less the sources of what is cited.

    Where only `user` speaks, what is for them alone is for everybody.
    """
    sources = {target for (target,) in of_ids(db, f"{_LEARNED_FROM} AND source IN carray(?)", cited)}
    sql = "SELECT id, happened_at, content, user, role, audience FROM memories WHERE forgotten_at IS NULL"
    rows = of_ids(db, f"{sql} AND id IN carray(?)", set(ids) - sources)
    heard = (row for row in rows if row[4] not in MACHINES and (row[5] or user) == user)
    return sorted((Mention(row[0], from_us(row[1]), *row[2:4]) for row in heard), key=lambda each: each[1::-1])


def nodes(db: Connection, type: str | None = None) -> list[Node]:
    """The entities that have pages, or those of one type, by their ids."""
    return _nodes(db.execute(f"{_NODES} WHERE ?1 IS NULL OR e.type = ?1 ORDER BY e.id", (type,)))


def nodes_named(db: Connection, name: str) -> list[Node]:
    """The entities that have this id or go by this name, those mentioned most first."""
    ids = named(db, [name_key(name)])
    found = _nodes(of_ids(db, f"{_NODES} WHERE e.id IN carray(?)", ids))
    return sorted(found, key=lambda node: (node.id != name.lower(), -node.mentions, node.id))


def nodes_of(db: Connection, ids: Iterable[str]) -> list[Node]:
    """The entities with these ids, each once, in this order, as far as they have pages."""
    wanted = dict.fromkeys(ids)
    known = {node.id: node for node in _nodes(of_ids(db, f"{_NODES} WHERE e.id IN carray(?)", wanted))}
    return [known[each] for each in wanted if each in known]


def _nodes(rows: Iterable[Any]) -> list[Node]:
    return [
        Node(id=i, name=n, type=t, aliases=tuple(json.loads(a)), summary=s, properties=json.loads(p), path=path)
        for i, n, t, a, s, p, path in rows
    ]


_TIES = "SELECT source, predicate, target FROM edges WHERE type = 'relation' AND ordinal = -2"


def ties(db: Connection) -> list[EntityRelation]:
    """Return all relations between entities on pages."""
    return [EntityRelation(*row) for row in db.execute(f"{_TIES} ORDER BY 1, 2, 3")]


def ties_of(db: Connection, ids: Iterable[str]) -> list[EntityRelation]:
    """The relations that lead from or to these entities."""
    sql = f"{_TIES} AND source IN carray(?1) UNION {_TIES} AND target IN carray(?1) ORDER BY 1, 2, 3"
    return [EntityRelation(*row) for row in of_ids(db, sql, ids)]


def _gone(db: Connection, sessions: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    listed = (each for line in sessions for name in ("mentions", "relations") for each in as_list(line.get(name)))
    named = (memory for each in listed if isinstance(each, dict) for memory in as_list(each.get("in")))
    ids = frozenset(each for each in named if isinstance(each, str))
    sql = f"SELECT m.id FROM memories m WHERE m.id IN carray(?) AND NOT {_OUT}"
    return ids - {memory for (memory,) in of_ids(db, sql, ids)}


def as_list(value: object) -> list[Any]:
    """Return a value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def _facts(db: Connection) -> Iterator[EntityFact]:
    subjects: dict[str, str] = {}  # of what was corrected only the subject is sure to be the same
    for memory, text, given, about, kind, *numbers, is_corrected, by in db.execute(_FACTS):
        importance, confidence, at, created, until, is_out = numbers
        attributes = {"subject": subjects.get(memory)} if is_corrected else json.loads(given or "{}")
        triple = {name: value for name in _PARTS if isinstance(value := attributes.get(name), str)}
        if by is not None and "subject" in triple:
            subjects[by] = triple["subject"]
        if triple.get("subject", "").strip():
            yield EntityFact(
                id=memory,
                text=text,
                subject=triple["subject"],
                predicate=triple.get("predicate", ""),
                object=triple.get("object", ""),
                negated=bool(attributes.get("negated")),
                type=about,
                kind=kind,
                importance=importance,
                confidence=confidence,
                at=from_us(at),
                created_us=created,
                is_out=bool(is_out),
                until=None if until is None else from_us(until),
            )


def promised(db: Connection, id: str, slug: str) -> list[str]:
    """The ids that relations lead to, with this id or with any type and this name, whether they have a page or not."""
    sql = (
        "SELECT DISTINCT target FROM edges WHERE type = 'relation' AND ordinal = -2 "
        "AND (target = ?1 OR substr(target, instr(target, '--') + 2) = ?2) ORDER BY target != ?1, target"
    )
    return [target for (target,) in db.execute(sql, (id, slug))]
