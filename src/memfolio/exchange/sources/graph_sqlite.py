"""A graph memory in one SQLite file: nodes with their validity, edges between them, and entities.

Nodes become memories, also those that hold no more, with the time until which they did; entities become pages.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memfolio.errors import InputError
from memfolio.exchange.reading import ImportedMemory, ImportProblem, Incoming, Sheet
from memfolio.exchange.sources.json_source import moment_in, text_in, token_in
from memfolio.graph.entities import slug
from memfolio.index.database import Foreign, reading

TYPES = {"episodic": "event", "semantic": "fact", "opinion": "preference", "procedural": "lesson"}
ROLES = {"orchestrator": "assistant", "agent": "assistant"}
NEEDED = {"id", "type", "content", "event_time"}
KEPT = ("id", "decay_rate", "access_count", "last_accessed", "source_type", "created_at")
OF_EDGES = ("predicate", "weight", "confidence", "valid_from", "valid_until", "evidence")
OF_ENTITIES = ("id", "first_seen", "last_updated", "mention_count")
MENTIONS = "SELECT n.node_id, e.* FROM node_entities n JOIN entities e ON e.id = n.entity_id ORDER BY 1, 2"
Row = Mapping[str, Any]


class GraphSqlite:
    """Read such a database, without ever writing to it."""

    name = "graph-sqlite"

    def fits(self, path: Path) -> bool:
        """Whether the file is a database with such nodes."""
        try:
            with reading(path) as database:
                return database.columns("nodes") >= NEEDED
        except InputError:
            return False

    def count(self, path: Path) -> int:
        """Return the number of nodes and entities."""
        return sum(1 for _ in self.read(path))

    def read(self, path: Path) -> Iterator[Incoming]:
        """The nodes in the order in which things happened, and then the entities."""
        with reading(path) as database:
            if missing := NEEDED - database.columns("nodes"):
                raise InputError(f"{path} has no {min(missing)} of nodes", hint="name the database of a graph memory")
            beside = _beside(database)
            for node in database.rows("SELECT * FROM nodes ORDER BY event_time, id"):
                yield _note(node, beside.get(node["id"], {}))
            for entity in database.rows("SELECT * FROM entities ORDER BY id") if database.columns("entities") else ():
                yield _page(entity)


def _beside(database: Foreign) -> Mapping[str, dict[str, list[Any]]]:
    """Return the edges and entities of each node; temporal edges are left out, since times show the order."""
    found: defaultdict[str, dict[str, list[Any]]] = defaultdict(dict)
    if database.columns("edges"):
        for edge in database.rows("SELECT * FROM edges WHERE relation_type != 'temporal' ORDER BY id"):
            told = {name: edge[name] for name in OF_EDGES if edge.get(name) not in (None, "", "[]")}
            tie = {"type": edge["relation_type"], "to": edge["target_id"], **told}
            found[edge["source_id"]].setdefault("ties", []).append(tie)
    if database.columns("node_entities") and database.columns("entities"):
        for row in database.rows(MENTIONS):
            found[row["node_id"]].setdefault("entities", []).append(_entity_id(row))
    return found


def _note(node: Row, beside: Mapping[str, list[Any]]) -> Incoming:
    ref, kind, content = str(node["id"]), str(node["type"]), text_in(node["content"])
    if kind not in TYPES or not content:
        return ImportProblem(
            ref=ref, why=f"a node of the type {kind[:40]!r} cannot be read" if content else "it is empty"
        )
    is_turn, role = kind == "episodic", str(node.get("source_role") or "")
    if node.get("source_type") == "tool_result":
        is_turn, role = True, "tool"  # nobody in the conversation said it
    kept = {name: node[name] for name in KEPT if node.get(name) is not None}
    fields: dict[str, Any] = {"attributes": {**_json(node.get("attributes"), {}), **beside, "node": kept}}
    if until := moment_in(node.get("valid_until")):
        fields["valid_until"] = until
    if kind != "episodic":
        fields |= {"kind": kind, "type": TYPES[kind], "confidence": _share(node.get("confidence"))}
        fields["valid_from"] = moment_in(node.get("valid_from"))
    return ImportedMemory(
        ref=ref,
        content=content,
        at=moment_in(node.get("event_time")) or moment_in(node.get("created_at")),
        role=ROLES.get(role, token_in(role)) if is_turn else None,
        session=token_in(node.get("session_id")),
        fields=fields,
    )


def _page(entity: Row) -> Incoming:
    name = " ".join(text_in(entity.get("canonical_name")).split())
    if not name:
        return ImportProblem(ref=str(entity["id"]), why="the entity has no name")
    kept = {key: entity.get(key) for key in OF_ENTITIES}
    known = {**kept, **_json(entity.get("attributes"), {}), "name": name, "aliases": _json(entity.get("aliases"), [])}
    plain = {key: value for key, value in known.items() if re.fullmatch(r"\w+", key) and value}
    told = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in plain.items())
    summary = text_in(entity.get("summary"))
    text = f"---\n{told}---\n# {name}\n" + (f"\n## Summary\n\n{summary}\n" if summary else "")
    return Sheet(ref=f"entity {entity['id']}", path=f"memory/graph/entities/{_entity_id(entity)}.md", text=text)


def _entity_id(entity: Row) -> str:
    return f"{slug(str(entity.get('type') or 'concept'))}--{slug(str(entity.get('canonical_name') or entity['id']))}"


def _json(value: object, otherwise: Any) -> Any:
    """Parse a JSON column; `otherwise` if it holds another type."""
    try:
        found = json.loads(value) if isinstance(value, str) else otherwise
    except (ValueError, RecursionError):
        return otherwise
    return found if isinstance(found, type(otherwise)) else otherwise


def _share(value: object) -> float:
    return min(1.0, max(0.0, float(value))) if isinstance(value, int | float) else 1.0
