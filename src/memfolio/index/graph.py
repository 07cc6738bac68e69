"""What growing and walking the graph ask of the index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import apsw

from memfolio.index.lookup import state_lines
from memfolio.index.pages import name_key
from memfolio.index.rows import from_us
from memfolio.index.ties import named


@dataclass(frozen=True, slots=True, kw_only=True)
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


class Tie(NamedTuple):
    """That one entity is related to another."""

    source: str
    predicate: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """All that a graph grows from."""

    nodes: tuple[Node, ...]
    ties: frozenset[Tie]
    sessions: tuple[Mapping[str, Any], ...]
    """State lines of consolidated conversations, oldest first."""
    jobs: tuple[Mapping[str, Any], ...]
    """The lines of growths, oldest first."""
    facts: tuple[Fact, ...]
    gone: frozenset[str]
    """Memories that conversations name and that were forgotten or undone, or are not there."""
    strange: frozenset[str]
    """Memories that are strangers' words: nothing is learned from them, not even that something holds no more."""
    stale: frozenset[str]
    """Entities whose pages cite a memory that was replaced, forgotten or undone, or is not there."""
    lost: frozenset[str]
    """The memories they cite."""

    @property
    def job(self) -> Mapping[str, Any]:
        """The line of the last growth; empty when there was none."""
        return self.jobs[-1] if self.jobs else {}

    def noted(self, name: str) -> list[Any]:
        """What all growths wrote down under a name."""
        return [each for job in self.jobs if isinstance(listed := job.get(name), list) for each in listed]


_NODES = (
    "SELECT e.id, e.name, e.type, e.aliases, e.summary, e.properties, f.path "
    "FROM entities e JOIN files f ON f.number = e.file"
)
_TOLD = ("subject", "predicate", "object")
_OUT = (
    "(m.forgotten_at IS NOT NULL OR (m.archived AND NOT EXISTS "
    "(SELECT 1 FROM states s WHERE s.memory = m.id AND s.op = 'archive')))"
)
"""Forgotten, or in the archive without having been put there for its age: what undo takes back ends so."""
_GONE = f"({_OUT} OR m.superseded_by IS NOT NULL)"
_FACTS = f"""
SELECT m.id, m.content, json_extract(m.more, '$.attributes'), m.type, m.kind, m.importance, m.confidence, m.happened_at,
    m.created_at, {_GONE}, m.source = 'correction', m.superseded_by
FROM memories m WHERE m.source IN ('extraction', 'correction', 'flush', 'trigger', 'reflection') AND m.form = 'memory'
    AND m.origin != 'untrusted'
    AND (m.more LIKE '%"subject"%' OR m.source = 'correction')
ORDER BY m.created_at, m.id
"""
_STRANGE = "SELECT id FROM memories WHERE origin = 'untrusted'"
_LOST = f"""
SELECT DISTINCT e.source, e.target FROM edges e LEFT JOIN memories m ON m.id = e.target
WHERE e.type = 'about' AND (m.id IS NULL OR {_GONE})
"""


def material(connection: apsw.Connection) -> Material:
    """Everything at once, so that it belongs together."""
    jobs = [line for line in state_lines(connection, "s.op = ?", "job") if line.get("job") == "graph"]
    lost = list(connection.execute(_LOST))
    sessions = tuple(state_lines(connection, "s.op = ?", "session"))
    return Material(
        nodes=tuple(nodes(connection)),
        ties=frozenset(ties(connection)),
        sessions=sessions,
        jobs=tuple(jobs),
        facts=tuple(_facts(connection)),
        gone=_gone(connection, sessions),
        strange=frozenset(each for (each,) in connection.execute(_STRANGE)),
        stale=frozenset(source for source, _ in lost),
        lost=frozenset(target for _, target in lost),
    )


def nodes(connection: apsw.Connection, type: str | None = None) -> list[Node]:
    """The entities that have pages, or those of one type, by their ids."""
    return _select(connection, "WHERE ?1 IS NULL OR e.type = ?1 ORDER BY e.id", (type,))


def nodes_named(connection: apsw.Connection, name: str) -> list[Node]:
    """The entities that have this id or go by this name, those mentioned most first."""
    ids = tuple(named(connection, [name_key(name)]))
    found = _select(connection, "WHERE e.id IN carray(?)", (apsw.carray(ids),)) if ids else []
    return sorted(found, key=lambda node: (node.id != name.lower(), -node.mentions, node.id))


def _select(connection: apsw.Connection, rest: str, values: tuple[Any, ...]) -> list[Node]:
    rows = connection.execute(f"{_NODES} {rest}", values)
    return [
        Node(id=i, name=n, type=t, aliases=tuple(json.loads(a)), summary=s, properties=json.loads(p), path=path)
        for i, n, t, a, s, p, path in rows
    ]


def ties(connection: apsw.Connection) -> list[Tie]:
    """All relations between entities that pages tell of."""
    sql = "SELECT source, predicate, target FROM edges WHERE type = 'relation' AND ordinal = -2 ORDER BY 1, 2, 3"
    return [Tie(*row) for row in connection.execute(sql)]


def ties_of(connection: apsw.Connection, ids: Iterable[str]) -> list[Tie]:
    """The relations that lead from or to these entities."""
    wanted = tuple(ids)
    sql = (
        "SELECT source, predicate, target FROM edges WHERE source IN carray(?1) AND type = 'relation' AND ordinal = -2 "
        "UNION SELECT source, predicate, target FROM edges WHERE target IN carray(?1) AND type = 'relation' "
        "AND ordinal = -2 ORDER BY 1, 2, 3"
    )
    return [Tie(*row) for row in connection.execute(sql, (apsw.carray(wanted),))] if wanted else []


def _gone(connection: apsw.Connection, sessions: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    told = (each for line in sessions for name in ("mentions", "relations") for each in as_list(line.get(name)))
    named = (memory for each in told if isinstance(each, dict) for memory in as_list(each.get("in")))
    ids = frozenset(each for each in named if isinstance(each, str))
    sql = f"SELECT m.id FROM memories m WHERE m.id IN carray(?) AND NOT {_OUT}"
    return ids - {memory for (memory,) in connection.execute(sql, (apsw.carray(tuple(ids)),))} if ids else ids


def as_list(value: object) -> list[Any]:
    """A value of a line that should be a list; empty where it is none."""
    return value if isinstance(value, list) else []


def _facts(connection: apsw.Connection) -> Iterator[Fact]:
    mended: dict[str, str] = {}  # of what was corrected only the subject is sure to be the same
    for memory, text, given, about, kind, *numbers, is_mended, by in connection.execute(_FACTS):
        importance, confidence, at, created, is_out = numbers
        attributes = {"subject": mended.get(memory)} if is_mended else json.loads(given or "{}")
        told = {name: value for name in _TOLD if isinstance(value := attributes.get(name), str)}
        if by is not None and "subject" in told:
            mended[by] = told["subject"]
        if told.get("subject", "").strip():
            yield Fact(
                id=memory,
                text=text,
                subject=told["subject"],
                predicate=told.get("predicate", ""),
                object=told.get("object", ""),
                negated=bool(attributes.get("negated")),
                type=about,
                kind=kind,
                importance=importance,
                confidence=confidence,
                at=from_us(at),
                created_us=created,
                is_out=bool(is_out),
            )


def promised(connection: apsw.Connection, id: str, slug: str) -> list[str]:
    """The ids that relations lead to, with this id or with any type and this name, whether they have a page or not."""
    sql = (
        "SELECT DISTINCT target FROM edges WHERE type = 'relation' AND ordinal = -2 "
        "AND (target = ?1 OR substr(target, instr(target, '--') + 2) = ?2) ORDER BY target != ?1, target"
    )
    return [target for (target,) in connection.execute(sql, (id, slug))]
