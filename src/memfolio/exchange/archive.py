"""What is exported, as an archive of files with their hashes, and as JSON lines."""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
import shutil
import tarfile
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from io import BufferedReader, BytesIO, FileIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unicodedata import normalize

from memfolio.clock import iso
from memfolio.errors import HomeError, InputError, PathError
from memfolio.exchange.reading import safe_path
from memfolio.index.facts import Fact
from memfolio.index.index import Index
from memfolio.index.lookup import Located, located
from memfolio.index.mind_pages import MindItem
from memfolio.index.search import ARCHIVED, INCLUDABLE, Filter
from memfolio.knowledge.cases import Case, Cases
from memfolio.knowledge.facts import Facts, fact_json
from memfolio.knowledge.rule import Rule, rule_record
from memfolio.knowledge.rules import Rules
from memfolio.mind.mind import Mind
from memfolio.types import MemoryItem
from memfolio.vault.cut import cut, excerpts
from memfolio.vault.disk import Disk
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.paths import AUDIT, MAX_TRACKED_BYTES, Form, agent_of, agent_root, check_path, form_of
from memfolio.vault.vault import Vault

# What is exported: the files of one agent or of all, and what they tell, as it is at one moment.

VERSION = "1"
OUT_OF_SIGHT = ("agent.toml", "memory/archive/", "memory/meta/")


def is_plain(path: str) -> bool:
    """Whether a file of a home may have this path; parts of the trail are not for anybody to write."""
    try:
        return check_path(path) == path and not path.startswith(f"{AUDIT}/")
    except PathError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The agents and the files to export; `check` raises ConflictError where the home has changed since."""

    vault: Vault
    indexes: Mapping[str, Index]
    files: tuple[str, ...]
    whole_home: bool
    now: datetime
    check: Callable[[], None]
    step: Callable[[], object]
    """Called for every file that was read."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Files that could not be exported, and why."""

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(self.indexes)

    @property
    def manifest(self) -> dict[str, Any]:
        """What an export says of itself."""
        told = {"version": VERSION, "exported_at": iso(self.now)}
        return {**told, "agents": self.agents, "whole_home": self.whole_home}

    def read(self, agent: str | None = None) -> Iterator[tuple[str, bytes]]:
        """Every file, or those of one agent, with its bytes, as far as it can be read."""
        for path in self.files:
            if agent is not None and agent_of(path) != agent:
                continue
            self.step()
            try:
                data = self.vault.read(path)
            except HomeError as error:
                self.left_out[path] = error.message
            else:
                if data is not None:
                    yield path, data

    def packed(self) -> Iterator[tuple[str, bytes]]:
        """Every file with its bytes, by the nearest name that it may have in every home."""
        given = set(self.files)
        for path, data in self.read():
            name = path if is_plain(path) else normalize("NFC", safe_path(path))
            if name != path and (name in given or not is_plain(name)):
                self.left_out[path] = "has a name that other systems do not allow: rename it"
                continue
            given.add(name)
            yield name, data

    def pages(self, agent: str) -> Iterator[tuple[str, bytes]]:
        """The pages, days and attachments of an agent by their paths in its folder; not what is out of sight.

        Of the days neither: what was corrected or is in quarantine would be as good as the rest elsewhere.
        """
        hidden = {each.item.id: each.path for each in self._hidden(agent)}
        paths = set(hidden.values())
        for path, data in self.read(agent):
            inside = path.removeprefix(f"{agent_root(agent)}/")
            if form_of(path) is Form.LINES or inside.startswith(OUT_OF_SIGHT):
                continue
            if path in paths:
                text = to_text(data)
                data = to_bytes(cut(text, excerpts(path, text, hidden)))
            yield inside, data

    def memories(self, agent: str, *include: str) -> list[Located]:
        """What an agent remembers, by id, with what is out of sight only if that is asked for."""
        condition, values = Filter(forms=("memory",), include=include).where()
        return self._located(agent, condition, values)

    def _hidden(self, agent: str) -> list[Located]:
        """What was corrected or is in quarantine."""
        condition, values = Filter(include=(ARCHIVED,)).where()
        return self._located(agent, f"m.form = 'memory' AND m.forgotten_at IS NULL AND NOT ({condition})", values)

    def _located(self, agent: str, condition: str, values: tuple[Any, ...]) -> list[Located]:
        rest = f"WHERE {condition} ORDER BY m.id"
        return self.indexes[agent].read(lambda connection: list(located(connection, rest, values)))

    def facts(self, agent: str, *, untrusted: bool = False) -> Iterator[Fact]:
        """What is asserted; what follows from it is not told."""
        yield from Facts(self.vault, self._own(agent), agent).all(include_untrusted=untrusted)

    def rules(self, agent: str) -> list[Rule]:
        return Rules(self.vault, self._own(agent), agent).list()

    def cases(self, agent: str) -> list[Case]:
        return sorted(Cases(self.vault, self._own(agent), agent).list(), key=lambda case: case.id)

    def mind(self, agent: str) -> list[MindItem]:
        return Mind(self.vault, self._own(agent), agent).items(live=False)

    def _own(self, agent: str) -> Any:
        """A library of one agent alone, so that nobody else's facts are told as its own."""
        index = self.indexes[agent]
        return SimpleNamespace(index=index, indexes=lambda: [index])


# A folder of files that appears whole: it is made beside its place and gets its name at the end.


def write_folder(files: Iterable[tuple[str, bytes]], target: Path, disk: Disk, check: Callable[[], None]) -> None:
    """Write the files; what an export that was killed left beside the place is begun anew."""
    beside = target.parent / f".{target.name}.exporting"
    shutil.rmtree(beside, ignore_errors=True)
    try:
        disk.make_dirs(beside)
        for path, data in files:
            disk.put(beside / path, data)
        check()
        _give_name(disk, beside, target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    disk.sync_dir(target.parent)


def _give_name(disk: Disk, beside: Path, target: Path) -> None:
    if os.name == "nt" and target.is_dir():  # there an empty folder is not replaced
        shutil.rmtree(target)
    disk.rename(beside, target)


# The archive: the files themselves, packed, with a manifest of their hashes.

MARK = "memfolio.export"
MANIFEST = "memfolio-export.json"
MOST_TOLD = 512 << 20
"""Bytes of a manifest."""
LEVEL = 6
CHUNK = 1 << 20
_BROKEN = (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, UnicodeError)


def write_archive(contents: Contents, target: Path, disk: Disk) -> None:
    """Write the archive; its manifest comes last, so that one which was cut short has none."""
    with disk.writing(target) as file:
        with (
            gzip.GzipFile("", "wb", LEVEL, file, 0) as packed,
            tarfile.open(mode="w|", fileobj=packed, format=tarfile.PAX_FORMAT, pax_headers={MARK: VERSION}) as tar,
        ):
            hashes = {path: _add(tar, path, data, contents) for path, data in contents.packed()}
            told = {**contents.manifest, "files": hashes}
            _add(tar, MANIFEST, json.dumps(told, ensure_ascii=False, indent=1).encode(), contents)
        contents.check()


def _add(tar: tarfile.TarFile, path: str, data: bytes, contents: Contents) -> str:
    info = tarfile.TarInfo(path)
    info.size, info.mode, info.mtime = len(data), 0o600, int(contents.now.timestamp())
    tar.addfile(info, BytesIO(data))
    return sha256(data).hexdigest()


def is_packed(path: Path) -> bool:
    """Whether a file is an archive that memfolio exported; never raises."""
    try:
        with tarfile.open(path) as tar:
            return MARK in tar.pax_headers
    except (*_BROKEN, OSError):
        return False


def read_archive(path: Path, told: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The files of an archive; at the end they are compared with the manifest, which is put into `told`."""
    hashes = dict[str, str]()
    for name, data in _members(path):
        if name in hashes or told:
            raise not_whole(path, "is not what its manifest says")
        if name == MANIFEST:
            told |= read_object(path, data)
        else:
            hashes[name] = sha256(data).hexdigest()
            yield name, data
    if told.get("files") != hashes:
        raise not_whole(path, "is not what its manifest says" if told else "is cut short: it has no manifest")


def not_whole(path: Path, why: str) -> InputError:
    """For an export that lost or gained something on its way."""
    return InputError(f"{path} {why}", hint="it was changed since: export or copy it again")


def read_object(path: Path, data: bytes) -> dict[str, Any]:
    """A JSON object of an export; anything else is taken for an empty one."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise not_whole(path, f"is cut short or damaged: {error}") from error
    return found if isinstance(found, dict) else {}


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files and the manifest; InputError for what no export has: links, devices, more than a file may be."""
    try:
        with gzip.GzipFile(path) as packed:
            with tarfile.open(mode="r|", fileobj=packed) as tar:
                for member in tar:
                    most = MOST_TOLD if member.name == MANIFEST else MAX_TRACKED_BYTES
                    data = tar.extractfile(member) if member.isreg() and member.size <= most else None
                    if data is None:
                        why = f"{path} holds {member.name[:80]!r}, which is no file, or too large"
                        raise InputError(why, hint="do not trust it")
                    yield member.name, data.read()
            if len(packed.read(CHUNK)) == CHUNK:  # else it has read to the check sum at the very end
                raise not_whole(path, "goes on behind its end")
    except _BROKEN as error:
        raise not_whole(path, f"is cut short or damaged: {error}") from error


# Lines of JSON: every memory, fact, rule, case and item of the mind with all its fields, then every file as it is.
#
# The former are for other programs; from the latter the memory is brought back.

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
