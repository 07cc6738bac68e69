"""Adapters: one memory behind the interfaces of other libraries, each in a module that needs its library."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memfolio.errors import ContentError, MemfolioError
from memfolio.index.database import Connection
from memfolio.index.search import ARCHIVED, NOT_UNDONE, QUARANTINED, SUPERSEDED, Filter
from memfolio.machine import install_command
from memfolio.memory import Memory
from memfolio.serve.hooks.pause import KEEPING, PAUSED, is_paused
from memfolio.serve.mcp.caller import Caller
from memfolio.stores.requests import detect
from memfolio.verbs.verb import AGENT, Verb, tools_of

Given = Memory | str | Path | None
"""A memory, or the home of one to open; None is the home of the configuration."""


def missing(library: str, extra: str) -> MemfolioError:
    """The error for a library that is not installed."""
    return MemfolioError(f"the package {library} is not installed", hint=install_command(extra))


def memory_of(given: Given) -> Memory:
    """Return the memory; one opened here does not treat the caller as its owner, and the caller closes it."""
    return given if isinstance(given, Memory) else Memory.open(given, speaker="agent")


def acted_on(memory: Memory, words: str, user: str | None) -> str:
    """What came of what a person asks the memory for; in a pause, that it is not kept."""
    trigger = detect(words, memory.vault.config.triggers)
    if trigger and trigger.kind in KEEPING and is_paused(memory.vault.config.home, os.getcwd()):
        return PAUSED
    found = memory.act_on(words, user=user) if trigger else None
    return found.prompt if found else ""


def caller_of(memory: Memory, names: Sequence[str]) -> Caller:
    """Return a caller for the tools with these names; the name of a set stands for all of its tools."""
    known, offered = tools_of("all"), dict[str, Verb]()
    for name in names:
        offered |= {name: known[name]} if name in known else tools_of(name)
    return Caller(offered, lambda: memory)


def schema_of(tool: Verb) -> dict[str, Any]:
    """Return the arguments of a tool, without the choice of an agent."""
    properties = {name: each for name, each in tool.schema["properties"].items() if name != AGENT}
    return {**tool.schema, "properties": properties}


def check_size(memory: Memory, value: Any) -> None:
    """Refuse a value that is larger than a memory may be."""
    size, most = len(json.dumps(value, default=str, skipkeys=True)), memory.vault.config.max_content_bytes
    if size > most:
        hint = "keep files elsewhere and refer to them, or raise max_content_bytes"
        raise ContentError(f"a value has {size} bytes, more than {most}", hint=hint)


# Memories that hold something for another library: items of a session in their order, values under their names.

OUT_OF_SIGHT = (ARCHIVED, QUARANTINED, SUPERSEDED)
ALL = -1
"""How many items SQLite takes for no limit, as it does every number below 0."""
BESIDE = 8
"""How many of the latest memories of a session may not be items, such as those learned from it."""
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


class AdapterItem(NamedTuple):
    """A memory that holds something for another library in its attributes; times are microseconds."""

    id: str
    made: int
    happened: int
    text: str
    attributes: dict[str, Any]


def session_items(db: Connection, session: str, most: int) -> list[AdapterItem]:
    """The last items of a session in their order."""
    near = (session, session, session, most + BESIDE, most)
    # Nearly always the last few are asked for; all of a long session only seldom.
    found = [] if most == ALL else [*_adapter_items(db, _RECENT + _LAST_FIRST, *near)]
    if len(found) != most:
        found = [*_adapter_items(db, f"AND m.session = ? {_LAST_FIRST}", session, most)]
    return found[::-1]


def values(db: Connection, tag: str, *, past: bool = False) -> Iterator[AdapterItem]:
    """The values with a tag, those that were written last at the end; with `past`, also what they took the place of."""
    rest = f"{'' if past else _STANDS}{_IS_VALUE} ORDER BY m.created_at, m.file, m.ordinal"
    return _adapter_items(db, rest, tags=(tag,))


def value(db: Connection, id: str) -> AdapterItem | None:
    """Return the value in a memory; None if it was replaced, or is not a value."""
    return next(_adapter_items(db, f"{_STANDS}{_IS_VALUE} AND m.id = ?", id), None)


def namespaces(db: Connection, tag: str) -> list[tuple[str, ...]]:
    """The namespaces of the values with a tag."""
    named = "DISTINCT json_extract(m.more, '$.attributes.namespace')"
    return [tuple(json.loads(each)) for (each,) in _rows(db, named, _STANDS + _IS_VALUE, tags=(tag,))]


def _adapter_items(db: Connection, rest: str, *given: object, **wanted: Any) -> Iterator[AdapterItem]:
    columns = "m.id, m.created_at, m.happened_at, m.content, json_extract(m.more, '$.attributes')"
    for name, made, happened, text, attributes in _rows(db, columns, rest, *given, **wanted):
        yield AdapterItem(name, made, happened, text, json.loads(attributes))


def _rows(db: Connection, columns: str, rest: str, *given: object, **wanted: Any) -> Iterable[Any]:
    """Columns of memories that were neither forgotten nor undone, whatever else became of them."""
    condition, values = Filter(forms=("memory",), include=OUT_OF_SIGHT, **wanted).where()
    sql = f"SELECT {columns} FROM memories m WHERE {condition} AND {NOT_UNDONE} {rest}"
    return db.execute(sql, (*values, *given))
