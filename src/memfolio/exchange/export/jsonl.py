"""Lines of JSON: every memory, fact, rule, case, item of the mind and page, with all its fields."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

from memfolio.clock import iso
from memfolio.exchange.export.contents import Contents
from memfolio.index.lookup import Located
from memfolio.knowledge.fact_line import fact_json
from memfolio.knowledge.rule_line import rule_record
from memfolio.types import MemoryItem
from memfolio.vault.disk import Disk

VERSION = 1
_PLAIN = {each.name: each.default for each in dataclasses.fields(MemoryItem)}
_ALWAYS = ("type", "kind", "store", "importance", "confidence", "source", "origin")


def write_jsonl(contents: Contents, target: Path, disk: Disk) -> None:
    """Write the lines; the last one counts the others, so that a file which was cut short is known."""
    with disk.writing(target) as file:
        lines = sum(1 for line in _lines(contents) if file.write(encoded(line)))
        file.write(encoded({"record": "end", "lines": lines}))
        contents.check()


def encoded(record: Mapping[str, Any]) -> bytes:
    """A record as a line."""
    return json.dumps(record, ensure_ascii=False, default=plain).encode("utf-8", "replace") + b"\n"


def _lines(contents: Contents) -> Iterator[dict[str, Any]]:
    head = {"version": VERSION, "exported_at": iso(contents.now), "agents": contents.agents}
    yield {"record": "export", "format": "memfolio", **head}
    for agent in contents.agents:
        for kind, record in _records(contents, agent):
            yield {"record": kind, "agent": agent, **record}


def _records(contents: Contents, agent: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from (("memory", memory_record(each)) for each in contents.memories(agent))
    yield from (("fact", fact_json(each)) for each in contents.facts(agent))
    yield from (("rule", {"id": each.id, **rule_record(each)}) for each in contents.rules(agent))
    yield from (("case", plain(each)) for each in contents.cases(agent))
    for item in contents.mind(agent):
        told = {"kind": item.kind.name, "id": item.id, "title": item.title, "text": item.text}
        yield "mind", {**told, "fields": plain(item.fields)}
    yield from (("page", {"path": path, "text": text}) for path, text in contents.pages(agent))


def memory_record(found: Located) -> dict[str, Any]:
    """A memory with what it has, and the file it stands in."""
    item = found.item
    fields = {name: getattr(item, name) for name in _PLAIN}
    told = {name: plain(value) for name, value in fields.items() if value or name in _ALWAYS}
    return {**told, "path": found.path, **({"archived": True} if found.archived else {})}


def plain(value: Any) -> Any:
    """A value as JSON has it: times in UTC, members of enumerations by their values, objects by their fields."""
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return value
