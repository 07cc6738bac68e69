"""Lines of JSON: every memory, fact, rule, case and item of the mind with all its fields, then every file as it is.

The former are for other programs; from the latter the memory is brought back.
"""

from __future__ import annotations

import dataclasses
import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any, cast

from memfolio.clock import iso
from memfolio.exchange.export.archive import not_whole, read_object
from memfolio.exchange.export.contents import Contents
from memfolio.index.filter import INCLUDABLE
from memfolio.index.lookup import Located
from memfolio.knowledge.fact_line import fact_json
from memfolio.knowledge.rule_line import rule_record
from memfolio.types import MemoryItem
from memfolio.vault.disk import Disk
from memfolio.vault.paths import MAX_TRACKED_BYTES

BEGINNING = b'{"record": "export", "format": "memfolio"'
LONGEST = 8 * MAX_TRACKED_BYTES
"""Bytes of a line: what is escaped is six times as long."""
_FIELDS = [each.name for each in dataclasses.fields(MemoryItem)]
_ALWAYS = ("type", "kind", "store", "importance", "confidence", "source", "origin")


def write_jsonl(contents: Contents, target: Path, disk: Disk) -> None:
    """Write the lines; the last one has the hash of the others, so that they are known to be whole."""
    digest = sha256()
    with disk.writing(target) as file:
        for record in _records(contents):
            digest.update(line := _encoded(record))
            file.write(line)
        file.write(_encoded({"record": "end", "sha256": digest.hexdigest()}))
        contents.check()


def _encoded(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, default=plain).encode("utf-8", "replace") + b"\n"


def _records(contents: Contents) -> Iterator[dict[str, Any]]:
    yield {"record": "export", "format": "memfolio", **contents.manifest}
    for agent in contents.agents:
        yield from ({"record": kind, "agent": agent, **told} for kind, told in _told(contents, agent))
    for path, data in contents.packed():
        yield {"record": "file", "path": path, **_file(data)}


def _told(contents: Contents, agent: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from (("memory", memory_record(each)) for each in contents.memories(agent, *INCLUDABLE))
    yield from (("fact", fact_json(each)) for each in contents.facts(agent, untrusted=True))
    yield from (("rule", {"id": each.id, **rule_record(each)}) for each in contents.rules(agent))
    yield from (("case", plain(each)) for each in contents.cases(agent))
    for item in contents.mind(agent):
        yield "mind", {**plain(item), "kind": item.kind.name}


def _file(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def memory_record(found: Located) -> dict[str, Any]:
    """A memory with what it has, and the file it stands in."""
    fields = {name: getattr(found.item, name) for name in _FIELDS}
    told = {name: value for name, value in fields.items() if value or name in _ALWAYS}
    return {**told, "path": found.path, **({"archived": True} if found.archived else {})}


def plain(value: object) -> Any:
    """For `json.dumps`: times in UTC, objects by their fields."""
    if isinstance(value, datetime):
        return iso(value)
    if dataclasses.is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    return dict(value) if isinstance(value, Mapping) else list(cast(Iterable[Any], value))


def is_lines(path: Path) -> bool:
    """Whether a file begins as these lines do; never raises."""
    try:
        with FileIO(path) as file:
            return file.read(len(BEGINNING)) == BEGINNING
    except OSError:
        return False


def read_jsonl(path: Path, told: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The files that the lines hold; at the end all are compared with the last, and the first is put into `told`."""
    digest, head, last, before = sha256(), dict[str, Any](), dict[str, Any](), b""
    with BufferedReader(FileIO(path)) as file:
        while line := file.readline(LONGEST):
            digest.update(before)
            before, last = line, read_object(path, line)
            head = head or last
            if last.get("record") == "file":
                yield str(last.get("path")), _data(path, last)
    if last != {"record": "end", "sha256": digest.hexdigest()}:
        raise not_whole(path, "is cut short, or is not what its last line says")
    told |= head


def _data(path: Path, record: Mapping[str, Any]) -> bytes:
    try:
        return b64decode(record["base64"]) if "base64" in record else str(record["text"]).encode()
    except (KeyError, TypeError, ValueError) as error:
        raise not_whole(path, "has a file that cannot be read") from error
