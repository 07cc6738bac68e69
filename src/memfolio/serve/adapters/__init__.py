"""Adapters: one memory behind the interfaces of other libraries, each in a module that needs its library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memfolio.errors import ContentError, MemfolioError
from memfolio.index.filter import ARCHIVED, QUARANTINED, SUPERSEDED, Filter
from memfolio.index.lookup import Located, located
from memfolio.memory import Memory
from memfolio.serve.mcp.caller import Caller
from memfolio.serve.tools.sets import tools_of
from memfolio.serve.tools.tool import AGENT, Tool

Given = Memory | str | Path | None
"""A memory, or the home of one to open; None is the home of the configuration."""
OUT_OF_SIGHT = (ARCHIVED, QUARANTINED, SUPERSEDED)
_HOLDS = "(m.archived = 0 OR EXISTS (SELECT 1 FROM states s WHERE s.memory = m.id AND s.op = 'archive'))"
"""What was undone lies in the archive, too, but nobody archived it."""


def missing(library: str, extra: str) -> MemfolioError:
    """The error for a library that is not installed."""
    return MemfolioError(f"the package {library} is not installed", hint=f"pip install 'memfolio[{extra}]'")


def memory_of(given: Given) -> Memory:
    """The memory that is meant; one that is opened here takes nobody for its owner, and is closed by the caller."""
    return given if isinstance(given, Memory) else Memory.open(given, speaker="agent")


def caller_of(memory: Memory, names: Sequence[str]) -> Caller:
    """What calls the tools with these names; the name of a set stands for all of its tools."""
    known, offered = tools_of("all"), dict[str, Tool]()
    for name in names:
        offered |= {name: known[name]} if name in known else tools_of(name)
    return Caller(offered, lambda: memory)


def schema_of(tool: Tool) -> dict[str, Any]:
    """The arguments of a tool where only one agent's memory can be meant."""
    properties = {name: each for name, each in tool.schema["properties"].items() if name != AGENT}
    return {**tool.schema, "properties": properties}


def held(memory: Memory, rest: str, *values: object, **wanted: Any) -> list[Located]:
    """The agent's own memories that were neither forgotten nor undone, whatever else became of them."""
    condition, given = Filter(forms=("memory",), include=OUT_OF_SIGHT, **wanted).where()
    sql = f"WHERE {condition} AND {_HOLDS} {rest}"
    return memory.library.index.read(lambda connection: list(located(connection, sql, (*given, *values))))


def plain(value: Any) -> Any:
    """What was read from a file, as values that the caller may change."""
    return json.loads(json.dumps(value, default=dict))


def check_size(memory: Memory, value: Any) -> None:
    """Refuse a value that is larger than a memory may be."""
    size, most = len(json.dumps(value, default=str, skipkeys=True)), memory.vault.config.max_content_bytes
    if size > most:
        hint = "keep files elsewhere and refer to them, or raise max_content_bytes"
        raise ContentError(f"a value has {size} bytes, more than {most}", hint=hint)
