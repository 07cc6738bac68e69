"""Bringing an archive of memfolio back: its files as they were, checked as a whole before any of them is written."""

from __future__ import annotations

import gzip
import json
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from memfolio.errors import ConflictError, InputError, PathError
from memfolio.exchange.export.archive import MANIFEST, MARK, VERSION
from memfolio.memory import Memory
from memfolio.policy import Deed
from memfolio.types import AGENT_PATTERN, Action, Approval, Attribution
from memfolio.vault.change import Change, PutPage
from memfolio.vault.paths import AUDIT, CONFIG, GITIGNORE, MAX_TRACKED_BYTES, agent_of, agent_root, check_path

MOST_BYTES = 8 << 30
MOST_FILES = 1_000_000
CHUNK = 1 << 20
BATCH, WEIGHT = 200, 8 << 20
"""A change has at most so many files, and about so many bytes."""
OWN = (CONFIG, GITIGNORE)
"""Files that every home has: those that are there stay as they are."""
RESTORER = Attribution(actor="human", approval=Approval.APPROVED, trigger="import")
_BROKEN = (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, UnicodeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What came back, or would: how many files, how many were there, and which of the home's own were left."""

    agents: tuple[str, ...]
    written: int
    known: int
    left: tuple[str, ...]


def is_archive(path: Path) -> bool:
    """Whether a file is an archive that memfolio exported; never raises."""
    try:
        with tarfile.open(path) as tar:
            return MARK in tar.pax_headers
    except (*_BROKEN, OSError):
        return False


def restore(memory: Memory, path: Path, *, dry_run: bool = False) -> Restored:
    """Write the files of an archive; nothing where any of them is there and says something else.

    The archive of one agent comes into the folder of the agent that `memory` is of, that of a whole home anywhere.
    Whoever is interrupted begins again: what is there already stays.
    """
    memory.gate.check(Deed.CRITICAL, RESTORER)
    agents, is_whole = _check(path)
    root, own = agent_root(agents[0]), agent_root(memory.agent)

    def files() -> Iterator[tuple[str, bytes]]:
        found = ((name, data) for name, data in _files(path) if name != MANIFEST)
        return found if is_whole else ((f"{own}{name.removeprefix(root)}", data) for name, data in found)

    with memory.vault.writer.ready():
        there = {name: old == data for name, data in files() if (old := memory.vault.content(name)) is not None}
        _check_free([name for name, is_same in there.items() if not is_same and name not in OWN])
        fresh = (PutPage(name, data, None) for name, data in files() if name not in there)
        written = sum(_write(memory, batch, dry_run=dry_run) for batch in _batches(fresh))
    left = tuple(name for name, is_same in there.items() if not is_same)
    named = agents if is_whole else (memory.agent,)
    return Restored(agents=named, written=written, known=len(there) - len(left), left=left)


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files of an archive; InputError for what no export has: links, ways out of it, more than fits."""
    total = 0
    try:
        with gzip.GzipFile(path) as packed:
            with tarfile.open(mode="r|", fileobj=packed) as tar:
                for number, member in enumerate(tar):
                    total += member.size
                    most = MOST_BYTES >> 4 if member.name == MANIFEST else MAX_TRACKED_BYTES
                    if total > MOST_BYTES or number > MOST_FILES or member.size > most:
                        raise InputError(f"{path} holds more than a home may", hint="do not trust this archive")
                    data = tar.extractfile(member) if member.isreg() else None
                    if data is None:
                        raise InputError(f"{path} holds {member.name[:80]!r}, which is no file", hint="do not trust it")
                    yield _name(path, member.name), data.read()
            if len(packed.read(CHUNK)) == CHUNK:  # else it has read to the check sum at the very end
                raise InputError(f"{path} goes on behind its end", hint="do not trust this archive")
    except _BROKEN as error:
        raise InputError(f"{path} is cut short or damaged: {error}", hint="export or copy it again") from error


def _name(path: Path, name: str) -> str:
    try:
        if name != MANIFEST and (check_path(name) != name or name.startswith(f"{AUDIT}/")):
            raise PathError(name)
    except PathError as error:
        raise InputError(
            f"{path} holds {name[:80]!r}, which cannot be a file of a home", hint="do not trust it"
        ) from error
    return name


def _check(path: Path) -> tuple[tuple[str, ...], bool]:
    """Whose an archive is, and whether it is of a whole home, once every file is what its manifest says."""
    if not is_archive(path):
        raise InputError(f"{path} is no archive that memfolio exported", hint="`memfolio export FILE --as archive`")
    hashes, manifest = dict[str, str](), b""
    for name, data in _files(path):
        if name in hashes or manifest:
            raise _no_match(path)
        if name == MANIFEST:
            manifest = data
        else:
            hashes[name] = sha256(data).hexdigest()
    if not manifest:
        raise InputError(f"{path} is cut short: it has no manifest", hint="export or copy it again")
    told = _read(manifest)
    if told.get("version") != VERSION:
        raise InputError(f"{path} was written by another version of memfolio", hint="import it with that one")
    agents, is_whole = told.get("agents"), told.get("whole_home") is True
    named = agents if isinstance(agents, list) else []
    is_sound = all(isinstance(each, str) and AGENT_PATTERN.fullmatch(each) for each in named)
    if told.get("files") != hashes or not is_sound or not named or (len(named) > 1 and not is_whole):
        raise _no_match(path)
    if not is_whole and any(agent_of(name) != named[0] for name in hashes):
        raise _no_match(path)
    return tuple(named), is_whole


def _read(manifest: bytes) -> Mapping[str, Any]:
    try:
        told = json.loads(manifest)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _no_match(path: Path) -> InputError:
    return InputError(f"{path} is not what its manifest says", hint="it was changed since: export or copy it again")


def _check_free(taken: list[str]) -> None:
    if taken:
        more = f" and {len(taken) - 1} others are" if len(taken) > 1 else " is"
        hint = "import into a new home, or for another agent: `memfolio --home DIR import FILE`"
        raise ConflictError(f"{taken[0]}{more} there already with other content", hint=hint)


def _batches(pages: Iterable[PutPage]) -> Iterator[tuple[PutPage, ...]]:
    batch, weight = list[PutPage](), 0
    for page in pages:
        batch.append(page)
        weight += len(page.content or b"")
        if len(batch) >= BATCH or weight > WEIGHT:
            yield tuple(batch)
            batch, weight = [], 0
    if batch:
        yield tuple(batch)


def _write(memory: Memory, pages: tuple[PutPage, ...], *, dry_run: bool) -> int:
    if not dry_run:
        memory.vault.apply(Change(operations=pages, by=RESTORER, action=Action.RESTORE))
    return len(pages)
