"""The provenance of a memory: its sources, what replaced what, and its history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memfolio.index.database import Connection
from memfolio.index.lookup import Edge, Located, by_id, edges_of, entities_of, lines_about, places
from memfolio.types import MemoryItem, frozen
from memfolio.vault.past.past import Event

MAX_CHAIN = 10_000
"""How far a chain of sources or of corrections is followed."""


@frozen
class Explanation:
    """The provenance of a memory."""

    memory: MemoryItem
    path: str
    archived: bool
    places: tuple[str, ...]
    """Every file that contains it."""
    sources: tuple[MemoryItem, ...]
    """Its sources and their sources, nearest first."""
    supersedes: tuple[MemoryItem, ...]
    """What it corrected, newest first."""
    superseded_by: tuple[MemoryItem, ...]
    """Its corrections, oldest first."""
    entities: tuple[str, ...]
    edges: tuple[Edge, ...]
    history: tuple[Mapping[str, Any], ...]
    """The state lines about it, oldest first."""
    events: tuple[Event, ...] = ()
    """Everything that was done to it and by whom, oldest first, beginning with who wrote it."""


def explain(connection: Connection, found: Located) -> Explanation:
    """The provenance of a memory, as far as it can be read."""
    edges = edges_of(connection, found.item.id)
    return Explanation(
        memory=found.item,
        path=found.path,
        archived=found.archived,
        places=tuple(places(connection, found.item.id)),
        sources=tuple(_follow(connection, found.item.id, "derived_from")),
        supersedes=tuple(_follow(connection, found.item.id, "supersedes")),
        superseded_by=tuple(_follow(connection, found.item.id, "supersedes", backwards=True)),
        entities=tuple(entities_of(connection, found.row)),
        edges=tuple(edges),
        history=tuple(lines_about(connection, found.item.id)),
    )


def _follow(connection: Connection, start: str, type: str, *, backwards: bool = False) -> Iterator[MemoryItem]:
    """Yield the memories reachable over edges of one type, each once, nearest first."""
    seen, waiting = {start}, [start]
    while waiting and len(seen) <= MAX_CHAIN:
        here = waiting.pop(0)
        for edge in edges_of(connection, here):
            one, other = (edge.target, edge.source) if backwards else (edge.source, edge.target)
            if edge.type != type or one != here or other in seen:
                continue
            seen.add(other)
            waiting.append(other)
            if found := by_id(connection, other):
                yield found.item
