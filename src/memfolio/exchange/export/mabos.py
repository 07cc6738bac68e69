"""The layout of MABOS: three stores, facts, rules and cases as JSON files, and the pages of the mind beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from memfolio.exchange.export.contents import Contents
from memfolio.exchange.export.jsonl import memory_record, plain
from memfolio.exchange.readers import shifted
from memfolio.index.filter import ARCHIVED
from memfolio.index.lookup import Located
from memfolio.index.passages import body_text
from memfolio.knowledge.case import Case
from memfolio.knowledge.fact_line import fact_json
from memfolio.knowledge.rule_line import rule_record
from memfolio.types import Store
from memfolio.vault.paths import Form, agent_root, form_of

TYPES = frozenset({"event", "decision", "outcome", "lesson", "fact", "observation"})
"""What a memory can be about there; whatever else is an observation."""
TOLD: tuple[str, ...] = ("id", "content", "importance", "source", "derived_from")
MOVED = {"mind/": "", "memory/conflicts/": "memory/bdi-conflicts/"}
KEPT = ("memory/checkpoints/", "memory/weekly/", "memory/monthly/", "memory/quarterly/")
PROCEDURES = "memory/procedures/"
OURS = ("sessions/", "memory/graph/index.md", "memory/graph/relations.md")
"""Pages that are made from others."""


def mabos_files(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """The files of each agent."""
    for agent in contents.agents:
        for name, content in _files(contents, agent):
            said = content if isinstance(content, str) else _json(content)
            yield f"agents/{agent}/{name}", said.encode("utf-8", "replace")


def _files(contents: Contents, agent: str) -> Iterator[tuple[str, Any]]:
    version = contents.vault.head
    memories = contents.memories(agent, ARCHIVED)
    settings = contents.vault.settings(agent)
    yield "agent.json", {"id": agent, "role": settings.role, "commitment_strategy": settings.commitment}
    yield "memory-store.json", {**_stores(memories), "version": version}
    yield "facts.json", {"facts": [_fact(fact_json(each)) for each in contents.facts(agent)], "version": version}
    rules = [{"id": each.id, "description": "", **rule_record(each)} for each in contents.rules(agent)]
    yield "rules.json", {"rules": rules, "version": version}
    yield "cases.json", [*map(_case, contents.cases(agent))]
    yield from _pages(contents, agent)


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2, default=plain) + "\n"


def _stores(memories: list[Located]) -> dict[str, list[dict[str, Any]]]:
    stores: dict[str, list[dict[str, Any]]] = {"working": [], "short_term": [], "long_term": []}
    for each in memories:
        kept = each.item.store if each.item.store is not Store.VAULT else Store.LONG_TERM
        stores[kept.value].append(_item(each))
    return stores


def _item(found: Located) -> dict[str, Any]:
    item, record = found.item, memory_record(found)
    happened = item.event_time or item.created_at
    own = {"type": record["type"] if record["type"] in TYPES else "observation", "created_at": happened}
    own |= {"accessed_at": item.accessed_at or happened, "access_count": item.access_count}
    told = {name: record[name] for name in TOLD if name in record}
    return {**told, **own, "tags": list(item.tags)}


def _fact(record: dict[str, Any]) -> dict[str, Any]:
    renamed = {"rule": "rule_id"}
    left = ("derived", "verification_count", "last_verified", "memories")
    return {renamed.get(name, name): value for name, value in record.items() if name not in left and value is not None}


def _case(case: Case) -> dict[str, Any]:
    parts = {name: getattr(case, name) for name in ("situation", "solution", "outcome")}
    return {"case_id": case.id, **parts, "stored_at": case.created_at}


def _pages(contents: Contents, agent: str) -> Iterator[tuple[str, str]]:
    """Days and pages at their places; those that have none are sections of two pages."""
    joined: dict[str, list[str]] = {"Playbooks": [], "Knowledge": []}
    for path, data in contents.pages(agent):
        text, whole = data.decode("utf-8", "replace"), f"{agent_root(agent)}/{path}"
        moved = next((f"{to}{path.removeprefix(start)}" for start, to in MOVED.items() if path.startswith(start)), None)
        if not path.endswith(".md"):
            contents.left_out[whole] = "has no place in this layout"
        elif moved or path.startswith(KEPT) or "/" not in path or form_of(whole) is Form.LOG:
            yield moved or path, text
        elif not path.startswith(OURS):
            joined["Playbooks" if path.startswith(PROCEDURES) else "Knowledge"].append(_section(path, text))
    yield from ((f"{name}.md", "\n\n".join((f"# {name}", *texts)) + "\n") for name, texts in joined.items() if texts)


def _section(path: str, text: str) -> str:
    """A page as a section of another one, which has a title."""
    said, name = body_text(text).strip(), path.rpartition("/")[2].removesuffix(".md")
    return shifted(said if said.startswith("# ") else f"# {name}\n\n{said}", 1)
