"""Export: one state of a home as an archive, or as JSON lines."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from datetime import datetime
from hashlib import sha256
from io import BufferedReader, BytesIO, FileIO
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unicodedata import normalize

from memfolio.arguments import nearest
from memfolio.clock import iso
from memfolio.errors import ConflictError, HomeError, InputError, NotFoundError, PathError
from memfolio.exchange.reading import check_apart, safe_path
from memfolio.index.index import Index
from memfolio.index.lookup import Located, located
from memfolio.index.search import INCLUDABLE, Filter
from memfolio.knowledge.cases import Cases
from memfolio.knowledge.facts import Facts, fact_json
from memfolio.knowledge.rule import rule_record
from memfolio.knowledge.rules import Rules
from memfolio.memory import Memory
from memfolio.mind.mind import Mind
from memfolio.types import frozen
from memfolio.vault.disk import Disk, disk_errors
from memfolio.vault.paths import AUDIT, MAX_TRACKED_BYTES, agent_of, check_path
from memfolio.vault.vault import Vault
from memfolio.verbs.documents import fields_of, plain

# What is exported: the files of one agent or of all, and what they tell, as it is at one moment.

Files = Iterator[tuple[str, bytes]]
"""Paths with the contents of the files."""
VERSION = "1"


def is_plain(path: str) -> bool:
    """Whether a file of a home may have this path; parts of the trail are not for anybody to write."""
    try:
        return check_path(path) == path and not path.startswith(f"{AUDIT}/")
    except PathError:
        return False


@frozen
class Contents:
    """The agents and the files to export; `check` raises ConflictError if the home has changed since."""

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
    def manifest(self) -> dict[str, Any]:
        """The description of the export in its manifest."""
        about = {"version": VERSION, "exported_at": iso(self.now)}
        return {**about, "agents": [*self.indexes], "whole_home": self.whole_home}

    def read(self) -> Files:
        """Every file with its bytes, as far as it can be read."""
        for path in self.files:
            self.step()
            try:
                data = self.vault.read(path)
            except HomeError as error:
                self.left_out[path] = error.message
            else:
                if data is not None:
                    yield path, data

    def packed(self) -> Files:
        """Every file with its bytes, by the nearest name that it may have in every home."""
        # A home that was made on one system must be brought back on any other.
        given = set(self.files)
        for path, data in self.read():
            name = path if is_plain(path) else normalize("NFC", safe_path(path))
            if name != path and (name in given or not is_plain(name)):
                self.left_out[path] = "has a name that other systems do not allow: rename it"
                continue
            given.add(name)
            yield name, data


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
            manifest = {**contents.manifest, "files": hashes}
            _add(tar, MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1).encode(), contents)
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


def read_archive(path: Path, manifest: dict[str, Any]) -> Files:
    """The files of an archive; at the end they are compared with the manifest, which is put into `manifest`."""
    hashes = dict[str, str]()
    for name, data in _members(path):
        if name in hashes or manifest:
            raise not_whole(path, "is not what its manifest says")
        if name == MANIFEST:
            manifest |= read_object(path, data)
        else:
            hashes[name] = sha256(data).hexdigest()
            yield name, data
    if manifest.get("files") != hashes:
        raise not_whole(path, "is not what its manifest says" if manifest else "is cut short: it has no manifest")


def not_whole(path: Path, why: str) -> InputError:
    """For an export that lost or gained something on its way."""
    return InputError(f"{path} {why}", hint="it was changed since: export or copy it again")


def read_object(path: Path, data: bytes) -> dict[str, Any]:
    """Read a JSON object of an export; any other JSON value counts as an empty one."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise not_whole(path, f"is cut short or damaged: {error}") from error
    return found if isinstance(found, dict) else {}


def _members(path: Path) -> Files:
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
"""The longest line in bytes: escaping makes text up to six times as long."""
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
    for agent in contents.indexes:
        yield from ({"record": kind, "agent": agent, **record} for kind, record in _knowledge_of(contents, agent))
    for path, data in contents.packed():
        try:
            yield {"record": "file", "path": path, "text": data.decode()}
        except UnicodeDecodeError:
            yield {"record": "file", "path": path, "base64": b64encode(data).decode()}


def _knowledge_of(contents: Contents, agent: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """All that an agent remembers, its facts without conclusions, its rules, cases and mind."""
    index, vault = contents.indexes[agent], contents.vault
    condition, values = Filter(forms=("memory",), include=INCLUDABLE).where()
    memories = index.read(lambda db: list(located(db, f"WHERE {condition} ORDER BY m.id", values)))
    # Over this agent's index alone, so that other agents' facts are not exported as its own.
    alone: Any = SimpleNamespace(index=index, indexes=lambda: [index])
    cases = sorted(Cases(vault, alone, agent).list(), key=lambda case: case.id)
    yield from (("memory", memory_record(each)) for each in memories)
    yield from (("fact", fact_json(each)) for each in Facts(vault, alone, agent).all(include_untrusted=True))
    yield from (("rule", {"id": each.id, **rule_record(each)}) for each in Rules(vault, alone, agent).list())
    yield from (("case", fields_of(each)) for each in cases)
    mind = Mind(vault, alone, agent).items(live=False)
    yield from (("mind", {**fields_of(each), "kind": each.kind.name}) for each in mind)


def memory_record(found: Located) -> dict[str, Any]:
    """Return a memory with its fields and the file it is in."""
    given = {name: value for name, value in fields_of(found.item).items() if value or name in _ALWAYS}
    return {**given, "path": found.path, **({"archived": True} if found.archived else {})}


def is_lines(path: Path) -> bool:
    """Whether a file begins as these lines do; never raises."""
    try:
        with FileIO(path) as file:
            return file.read(len(BEGINNING)) == BEGINNING
    except OSError:
        return False


def read_jsonl(path: Path, manifest: dict[str, Any]) -> Files:
    """The files that the lines hold; at the end all are compared with the last, the first goes into `manifest`."""
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
    manifest |= head


def _data(path: Path, record: Mapping[str, Any]) -> bytes:
    try:
        return b64decode(record["base64"]) if "base64" in record else str(record["text"]).encode()
    except (KeyError, TypeError, ValueError) as error:
        raise not_whole(path, "has a file that cannot be read") from error


# Export: a read of one state of a home into a file or folder that is there whole, or not at all.

Progress = Callable[[int, int], None]
"""Called with the number of items done, and their total."""
FORMS = {"archive": write_archive, "jsonl": write_jsonl}
ENDINGS = {".jsonl": "jsonl", ".tar.gz": "archive", ".tgz": "archive"}


def form_named(target: Path) -> str:
    """The form of export that the name of a file stands for: an archive if it has no ending."""
    form = next((form for ending, form in ENDINGS.items() if target.name.lower().endswith(ending)), None)
    if form is None and target.suffix:
        hint = f"name it with {', '.join(ENDINGS)}; or say --as archive or --as jsonl"
        raise InputError(f"an export cannot be written as {target.suffix[:20]}", hint=hint)
    return form or "archive"


@frozen
class Exported:
    """What was exported, or would be: where to, whose, how many files of the home, and why some could not be."""

    target: Path
    agents: tuple[str, ...]
    files: int
    left_out: Mapping[str, str]


def export(
    memory: Memory,
    target: Path,
    form: str,
    *,
    whole_home: bool = False,
    dry_run: bool = False,
    progress: Progress = lambda done, total: None,
) -> Exported:
    """Export one agent, or every agent the speaker may read; the target must not exist."""
    if form not in FORMS:
        raise InputError(f"{form[:40]!r} is no form of export", hint=nearest(form, [*FORMS]))
    vault, target = memory.vault, Path(os.path.abspath(target))
    check_apart(target, vault.config.home)
    if os.path.lexists(target):
        raise InputError(f"{target} already exists", hint="choose another name")
    if vault.can_write:  # what takes long is done before nobody may write
        vault.try_survey()  # a home on a full disk is exported as it is
    if vault.can_write and form != "archive":
        memory.sync()
    with _still(vault) as check:
        contents = _contents(memory, check, progress, whole_home=whole_home)
        if not dry_run:
            disk = Disk()
            disk.private = target.parent  # a memory is its owner's alone
            with disk_errors(target.parent):
                disk.sweep(target)
                FORMS[form](contents, target, disk)
    files = sum(path not in contents.left_out for path in contents.files)
    return Exported(target=target, agents=tuple(contents.indexes), files=files, left_out=contents.left_out)


@contextmanager
def _still(vault: Vault) -> Iterator[Callable[[], None]]:
    """Let nobody write meanwhile; where only reading is possible, the check tells whether somebody did."""
    if vault.can_write or vault.is_full:
        with vault.exclusive(to_copy=True):
            yield lambda: None
        return
    vault.refresh()
    before = vault.head, vault.epoch

    def check() -> None:
        vault.refresh()
        if (vault.head, vault.epoch) != before:
            raise ConflictError("the home was changed during the export", hint="export it again")

    yield check


def _contents(memory: Memory, check: Callable[[], None], progress: Progress, *, whole_home: bool) -> Contents:
    """Collect what the speaker may see of the requested agents: the owner everything, an agent what it can read."""
    vault = memory.vault
    indexes = {index.agent: index for index in memory.searcher.indexes()}
    if whole_home and vault.scope is None:
        indexes = {name: indexes.get(name) or Index(vault, name) for name in vault.agents()}
    chosen = dict(sorted(indexes.items())) if whole_home else {memory.agent: memory.searcher.index}
    owners = {*chosen, *([None] if whole_home else [])}
    files = [path for path in sorted(vault.states()) if agent_of(path) in owners and vault.shows(path)]
    done = count(1)
    if not files:
        raise NotFoundError(f"the agent {memory.agent} has nothing to export", hint="`memfolio agent list` names all")
    return Contents(
        vault=vault,
        indexes=chosen,
        files=tuple(files),
        whole_home=whole_home,
        now=vault.home.now(),
        check=check,
        left_out={path: why for path, why in vault.problems.items() if agent_of(path) in owners and path not in files},
        step=lambda: progress(next(done), len(files)),
    )
