"""What adapters hold as memories for other libraries: items of a session in their order, values under their names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import apsw

from memfolio.index.filter import ARCHIVED, QUARANTINED, SUPERSEDED, Filter

OUT_OF_SIGHT = (ARCHIVED, QUARANTINED, SUPERSEDED)
ALL = -1
"""How many items SQLite takes for no limit, as it does every number below 0."""
BESIDE = 8
"""How much may be among the last of a session that is no item, such as what was learned from it."""
_KEPT = "(m.archived = 0 OR EXISTS (SELECT 1 FROM states s WHERE s.memory = m.id AND s.op = 'archive'))"
"""What was undone lies in the archive, too, but nobody archived it."""
_LAST_FIRST = """AND json_type(m.more, '$.attributes.place') = 'integer'
    AND 'object' IN (json_type(m.more, '$.attributes.item'), json_type(m.more, '$.attributes.message'))
    ORDER BY json_extract(m.more, '$.attributes.place') DESC LIMIT ?"""
_RECENT = """AND m.row IN (
    WITH RECURSIVE each(file) AS (
        SELECT max(file) FROM memories WHERE session = ?
        UNION ALL
        SELECT (SELECT max(file) FROM memories WHERE session = ? AND file < each.file) FROM each WHERE file IS NOT NULL
    ) SELECT n.row FROM each JOIN memories n ON n.row IN (SELECT row FROM memories
        WHERE session = ? AND file = each.file ORDER BY happened_at DESC, ordinal DESC LIMIT ?))"""
"""The last of a session in each file, without a look at all the others: places are in JSON, and reading it is slow."""
_IS_VALUE = "".join(
    f" AND json_type(m.more, '$.attributes.{name}') = '{kind}'"
    for name, kind in (("namespace", "array"), ("key", "text"), ("value", "object"), ("version", "integer"))
)
"""Whether a memory is a value, and nobody has changed its attributes beyond use."""
_STANDS = """ AND (m.superseded_by IS NULL OR EXISTS (SELECT 1 FROM memories n
    WHERE n.id = m.superseded_by AND json_type(n.more, '$.attributes.version') IS NULL))"""
"""What a later version took the place of is past, even when that one is forgotten.

What something else took the place of, such as a fact that was learned later, is a value all the same.
"""


class Held(NamedTuple):
    """A memory that holds something for another library in its attributes; times are microseconds."""

    id: str
    made: int
    happened: int
    text: str
    attributes: dict[str, Any]


def session_items(connection: apsw.Connection, session: str, most: int) -> list[Held]:
    """The last items of a session in their order."""
    near = (session, session, session, most + BESIDE, most)
    found = [] if most == ALL else [*_held(connection, _RECENT + _LAST_FIRST, *near)]
    if len(found) != most:
        found = [*_held(connection, f"AND m.session = ? {_LAST_FIRST}", session, most)]
    return found[::-1]


def values(connection: apsw.Connection, tag: str, *, past: bool = False) -> Iterator[Held]:
    """The values with a tag, those that were written last at the end; with `past`, also what they took the place of."""
    rest = f"{'' if past else _STANDS}{_IS_VALUE} ORDER BY m.created_at, m.file, m.ordinal"
    return _held(connection, rest, tags=(tag,))


def value(connection: apsw.Connection, id: str) -> Held | None:
    """The value that a memory holds; None where it is past, or holds none."""
    return next(_held(connection, f"{_STANDS}{_IS_VALUE} AND m.id = ?", id), None)


def namespaces(connection: apsw.Connection, tag: str) -> list[tuple[str, ...]]:
    """The namespaces of the values with a tag."""
    column = "DISTINCT json_extract(m.more, '$.attributes.namespace')"
    return [tuple(json.loads(each)) for (each,) in _rows(connection, column, _STANDS + _IS_VALUE, tags=(tag,))]


def _held(connection: apsw.Connection, rest: str, *given: object, **wanted: Any) -> Iterator[Held]:
    columns = "m.id, m.created_at, m.happened_at, m.content, json_extract(m.more, '$.attributes')"
    for name, made, happened, text, attributes in _rows(connection, columns, rest, *given, **wanted):
        yield Held(name, made, happened, text, json.loads(attributes))


def _rows(connection: apsw.Connection, columns: str, rest: str, *given: object, **wanted: Any) -> apsw.Cursor:
    """Columns of memories that were neither forgotten nor undone, whatever else became of them."""
    condition, values = Filter(forms=("memory",), include=OUT_OF_SIGHT, **wanted).where()
    sql = f"SELECT {columns} FROM memories m WHERE {condition} AND {_KEPT} {rest}"
    return connection.execute(sql, (*values, *given))
