"""Looking memories up by what they are, not by what they say."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from memfolio.index.filter import Filter
from memfolio.index.rows import SELECT, clean, item_of, spot_of
from memfolio.types import MemoryItem

_FILE = "JOIN files f ON f.number = m.file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A memory, the file it stands in, and what it is there: a memory, a passage of a page, a fact."""

    row: int
    path: str
    form: str
    archived: bool
    item: MemoryItem
    heading: tuple[str, ...] = ()
    """The headings above a passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A tie between two memories."""

    type: str
    source: str
    target: str
    predicate: str | None = None
    confidence: float = 1.0


def located(
    connection: apsw.Connection, rest: str, values: Sequence[Any], *, by: str | None = None
) -> Iterator[Located]:
    """The memories that the rest of a statement about `memories m` selects, in the order of the index `by`."""
    table = f"memories m INDEXED BY {by}" if by else "memories m"
    for row, path, form, archived, *columns in connection.execute(
        f"SELECT m.row, f.path, m.form, m.archived, {SELECT} FROM {table} {_FILE} {rest}", values
    ):
        found = tuple(columns)
        heading = () if form == "memory" else spot_of(found).heading
        yield Located(row=row, path=path, form=form, archived=bool(archived), item=item_of(found), heading=heading)


def by_id(connection: apsw.Connection, id: str) -> Located | None:
    return next(located(connection, "WHERE m.id = ?", clean((id,))), None)


def by_rows(connection: apsw.Connection, rows: Sequence[int]) -> list[Located]:
    """The memories in these rows, as far as they are there, in this order."""
    if not rows:
        return []
    wanted = (apsw.carray(array("q", rows)),)
    found = {each.row: each for each in located(connection, "WHERE m.row IN carray(?)", wanted)}
    return [found[row] for row in rows if row in found]


def newest(connection: apsw.Connection, wanted: Filter, limit: int) -> list[Located]:
    """What passes the filter, the last that happened first."""
    condition, values = wanted.where()
    rest = f"WHERE {condition} ORDER BY m.happened_at DESC, m.id LIMIT ?"
    return list(located(connection, rest, (*values, limit), by="memories_by_time"))


def places(connection: apsw.Connection, id: str) -> list[str]:
    """Every file in which a memory stands, the one it belongs to first."""
    sql = "SELECT f.path FROM places p JOIN files f ON f.number = p.file WHERE p.id = ? ORDER BY f.path"
    first = by_id(connection, id)
    others = [path for (path,) in connection.execute(sql, (id,))]
    return list(dict.fromkeys([first.path, *others] if first else others))


def lines_about(connection: apsw.Connection, id: str) -> list[Mapping[str, Any]]:
    """The state lines about a memory, oldest first."""
    return state_lines(connection, "s.memory = ?", id)


def state_lines(connection: apsw.Connection, condition: str, *values: str) -> list[Mapping[str, Any]]:
    """The state lines for which a condition on `states s` holds, oldest first."""
    ordered = "ORDER BY length(f.path), f.path, s.ordinal"
    sql = f"SELECT s.line FROM states s JOIN files f ON f.number = s.file WHERE {condition} {ordered}"
    return [json.loads(line) for (line,) in connection.execute(sql, values)]


def edges_of(connection: apsw.Connection, id: str) -> list[Edge]:
    """The ties of a memory in either direction; its neighbours in time are not among them."""
    sql = (
        "SELECT type, source, target, predicate, confidence FROM edges WHERE source = ?1 OR target = ?1 "
        "ORDER BY type, source, target"
    )
    return [
        Edge(type=kind, source=source, target=target, predicate=predicate, confidence=confidence)
        for kind, source, target, predicate, confidence in connection.execute(sql, (id,))
    ]


def entities_of(connection: apsw.Connection, row: int) -> list[str]:
    """The entities that a memory names."""
    return [entity for (entity,) in connection.execute("SELECT entity FROM mentions WHERE row = ? ORDER BY 1", (row,))]
