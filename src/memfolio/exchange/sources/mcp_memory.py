"""The knowledge graph of the MCP project's memory server: lines of JSON, or what its `read_graph` returns.

What is observed of an entity becomes memories that name it; kinds and relations become facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memfolio.exchange.incoming import Incoming, Note, fact
from memfolio.exchange.sources.json_source import JsonSource, listed, text_in


class McpMemory(JsonSource):
    """The graph of the memory server."""

    name = "mcp-memory"
    files = r"memory.*\.jsonl?"
    mark = r'"(entityType|relationType)"\s*:'
    inside = ("entities", "relations")

    def incoming(self, record: Mapping[str, Any], otherwise: str) -> Iterator[Incoming]:
        name, kind = text_in(record.get("name")), text_in(record.get("entityType"))
        if name and kind:
            yield fact(name, "isA", kind)
        for each in listed(record, "observations") if name else ():
            # Some versions of the server keep an observation as an object.
            if said := text_in(each.get("content") if isinstance(each, Mapping) else each):
                about = {"attributes": {"entity": name}, "type": "fact"}
                yield Note(ref=f"{name}: {said}", content=f"{name}: {said}", fields=about)
        subject, other, predicate = (text_in(record.get(each)) for each in ("from", "to", "relationType"))
        if subject and other and predicate:
            yield fact(subject, predicate, other)
