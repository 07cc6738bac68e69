"""Looking up many memories at once by where they come from and by what became of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

import apsw

from memfolio.index.lookup import Located, located
from memfolio.index.rows import clean


def of_source(connection: apsw.Connection, source: str) -> list[str]:
    """The memories that came from a source, by their own field or by an attribute of that name."""
    sql = (
        "SELECT id FROM memories WHERE form = 'memory' AND forgotten_at IS NULL "
        "AND (source = ?1 OR json_extract(more, '$.attributes.source') = ?1) ORDER BY id"
    )
    return [each for (each,) in connection.execute(sql, clean((source,)))]


def by_ids(connection: apsw.Connection, ids: Collection[str]) -> list[Located]:
    """The memories with these ids, as far as they are there."""
    return list(located(connection, "WHERE m.id IN carray(?)", (_array(ids),))) if ids else []


def places_of(connection: apsw.Connection, ids: Collection[str]) -> dict[str, list[str]]:
    """The files in which memories stand, each with those of them that stand there."""
    sql = (
        "SELECT f.path, m.id FROM memories m JOIN files f ON f.number = m.file WHERE m.id IN carray(?) UNION "
        "SELECT f.path, p.id FROM places p JOIN files f ON f.number = p.file WHERE p.id IN carray(?) ORDER BY 1, 2"
    )
    found: dict[str, list[str]] = {}
    for path, memory in connection.execute(sql, (_array(ids), _array(ids))) if ids else ():
        found.setdefault(path, []).append(memory)
    return found


def replaced_by(connection: apsw.Connection, ids: Collection[str]) -> list[str]:
    """The memories whose place was taken by one of these."""
    sql = "SELECT id FROM memories WHERE superseded_by IN carray(?) ORDER BY id"
    return [each for (each,) in connection.execute(sql, (_array(ids),))] if ids else []


def lines_of(connection: apsw.Connection, ids: Collection[str], op: str) -> list[Mapping[str, Any]]:
    """The state lines of one operation about these memories, oldest first."""
    sql = (
        "SELECT s.line FROM states s JOIN files f ON f.number = s.file WHERE s.memory IN carray(?) AND s.op = ? "
        "ORDER BY length(f.path), f.path, s.ordinal"
    )
    return [json.loads(line) for (line,) in connection.execute(sql, (_array(ids), op))] if ids else []


def _array(ids: Collection[str]) -> Any:
    return apsw.carray(tuple(ids))
