"""Memories of mem0, as its `get_all` and its exports give them; relations of its graph become facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memfolio.exchange.incoming import Incoming, Note, fact
from memfolio.exchange.sources.json_source import JsonSource, listed, moment_in, object_in, text_in


class Mem0(JsonSource):
    """Memories of mem0."""

    name = "mem0"
    files = r"mem0.*\.jsonl?"
    mark = r'\{\s*"id"\s*:[^{}]*"memory"\s*:\s*"'
    inside = ("results", "memories", "relations")

    def incoming(self, record: Mapping[str, Any], otherwise: str) -> Iterator[Incoming]:
        if content := text_in(record.get("memory") or record.get("data")):
            ref = str(record.get("id") or record.get("hash") or otherwise)
            yield Note(ref=ref, content=content, at=moment_in(record.get("created_at")), fields=_fields(record))
            return
        subject, other = text_in(record.get("source")), text_in(record.get("target") or record.get("destination"))
        predicate = text_in(record.get("relationship") or record.get("relation"))
        if subject and other and predicate:
            yield fact(subject, predicate, other)


def _fields(record: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: record[name] for name in ("id", "agent_id", "run_id", "updated_at") if record.get(name)}
    user = {"user": record["user_id"]} if text_in(record.get("user_id")) else {}
    tags = [each for each in map(text_in, listed(record, "categories")) if each]
    return {"tags": tags, "attributes": {**object_in(record, "metadata"), "mem0": kept}, **user}
