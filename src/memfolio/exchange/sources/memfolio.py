"""Lines of JSON that memfolio itself exported; its archives are brought back by `exchange.restore`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memfolio.errors import InputError
from memfolio.exchange.export.jsonl import VERSION
from memfolio.exchange.incoming import Flaw, Incoming, Lore, Note, Sheet, Triple
from memfolio.exchange.sources.json_source import glance, items, moment_in, text_in

FILES = re.compile(r".*\.jsonl")
_MARK = re.compile(r'\s*\{"record": ?"export", ?"format": ?"memfolio"')
PLAIN = ("type", "kind", "store", "importance", "confidence", "tags", "user", "source")
FACT = ("confidence", "source", "category", "valid_from", "valid_until")


class Memfolio:
    """What one agent remembers and knows; what it was corrected from, and the account of uses, stay behind."""

    name = "memfolio"

    def fits(self, path: Path) -> bool:
        """Whether the file begins as such an export does."""
        return path.is_file() and bool(_MARK.match(glance(path, FILES)))

    def count(self, path: Path) -> int:
        """How many lines there are; InputError where some are missing, so that nothing of it is taken over."""
        head, number, last = dict[str, Any](), 0, dict[str, Any]()
        for record in items(path, FILES):
            last = record if isinstance(record, dict) else {}
            head, number = head or last, number + 1
        if head.get("format") != "memfolio" or head.get("version") != VERSION:
            raise InputError(f"{path} is no export of this version", hint="`memfolio export FILE --as jsonl`")
        if last.get("record") != "end" or last.get("lines") != number - 1:
            raise InputError(f"{path} is cut short", hint="export or copy it again")
        if len(agents := head.get("agents") or ()) != 1:
            raise InputError(f"{path} holds {len(agents)} agents", hint="export them one by one, or as an archive")
        return number - 2

    def read(self, path: Path) -> Iterator[Incoming]:
        """Memories, facts, rules, cases and pages in their order; items of the mind come with their pages."""
        self.count(path)
        for number, record in enumerate(items(path, FILES), 1):
            kind = record.get("record") if isinstance(record, Mapping) else None
            if kind in ("export", "end", "mind"):
                continue
            try:
                yield _READERS[kind](record)
            except (KeyError, TypeError, ValueError):
                yield Flaw(ref=f"line {number}", why="it cannot be read")


def _note(record: Mapping[str, Any]) -> Incoming:
    if by := record.get("superseded_by"):
        return Flaw(ref=str(record["id"]), why=f"it was corrected: {by} says it as it is")
    times = {name: moment_in(record.get(name)) for name in ("valid_from", "valid_until")}
    made_of = {"derived_from": record["derived_from"]} if record.get("derived_from") else {}
    fields = {name: record[name] for name in PLAIN if name in record}
    return Note(
        ref=str(record["id"]),
        content=record["content"],
        at=moment_in(record.get("event_time")) or moment_in(record["created_at"]),
        role=record.get("role"),
        session=record.get("session"),
        fields={**fields, **times, "attributes": {**record.get("attributes", {}), **made_of}},
    )


def _triple(record: Mapping[str, Any]) -> Triple:
    spo = {name: str(record[name]) for name in ("subject", "predicate", "object")}
    fields = {name: record[name] for name in FACT if record.get(name) is not None}
    return Triple(ref=str(record["id"]), **spo, fields=fields)


def _rule(record: Mapping[str, Any]) -> Lore:
    fields = {name: value for name, value in record.items() if name not in ("record", "agent", "id")}
    return Lore(ref=str(record["id"]), room="rules", fields=fields)


def _case(record: Mapping[str, Any]) -> Lore:
    fields = {name: record[name] for name in ("situation", "solution", "outcome", "importance")}
    return Lore(ref=str(record["id"]), room="cases", fields=fields)


def _page(record: Mapping[str, Any]) -> Sheet:
    return Sheet(ref=str(record["path"]), path=text_in(record["path"]), text=str(record["text"]))


_READERS: Mapping[Any, Any] = {"memory": _note, "fact": _triple, "rule": _rule, "case": _case, "page": _page}
