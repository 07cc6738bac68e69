"""Adapters: one memory behind the interfaces of other libraries, each in a module that needs its library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from memfolio.errors import ContentError, MemfolioError
from memfolio.memory import Memory
from memfolio.serve.mcp.caller import Caller
from memfolio.stores import edit
from memfolio.stores.edit import dependents_of
from memfolio.tend.digest import without_citations
from memfolio.types import Attribution
from memfolio.verbs.verb import AGENT, Verb, tools_of

Given = Memory | str | Path | None
"""A memory, or the home of one to open; None is the home of the configuration."""


def missing(library: str, extra: str) -> MemfolioError:
    """The error for a library that is not installed."""
    return MemfolioError(f"the package {library} is not installed", hint=f"pip install 'memfolio[{extra}]'")


def memory_of(given: Given) -> Memory:
    """The memory that is meant; one that is opened here takes nobody for its owner, and is closed by the caller."""
    return given if isinstance(given, Memory) else Memory.open(given, speaker="agent")


def caller_of(memory: Memory, names: Sequence[str]) -> Caller:
    """What calls the tools with these names; the name of a set stands for all of its tools."""
    known, offered = tools_of("all"), dict[str, Verb]()
    for name in names:
        offered |= {name: known[name]} if name in known else tools_of(name)
    return Caller(offered, lambda: memory)


def schema_of(tool: Verb) -> dict[str, Any]:
    """The arguments of a tool where only one agent's memory can be meant."""
    properties = {name: each for name, each in tool.schema["properties"].items() if name != AGENT}
    return {**tool.schema, "properties": properties}


def forget_all(memory: Memory, ids: Sequence[str], by: Attribution) -> None:
    """Forget memories as one change, with what was made of them alone; whoever calls this holds the write lock."""
    vault, library = memory.vault, memory.library
    kin = dependents_of(library.index, ids)
    going = [found[1] for name in (*ids, *kin.going) if (found := library.locate(name))]
    with_places = [(each, library.places(library.index, each.item.id)) for each in going]
    pages = partial(without_citations, vault, library.index, [each.item.id for each in going])
    edit.forget(vault, with_places, by, freed=kin.freed, pages=pages, dry_run=False)


def check_size(memory: Memory, value: Any) -> None:
    """Refuse a value that is larger than a memory may be."""
    size, most = len(json.dumps(value, default=str, skipkeys=True)), memory.vault.config.max_content_bytes
    if size > most:
        hint = "keep files elsewhere and refer to them, or raise max_content_bytes"
        raise ContentError(f"a value has {size} bytes, more than {most}", hint=hint)
