"""The archive: the files themselves, packed, with a manifest of their hashes."""

from __future__ import annotations

import gzip
import json
import tarfile
import zlib
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from memfolio.errors import InputError
from memfolio.exchange.export.contents import VERSION, Contents
from memfolio.vault.disk import Disk
from memfolio.vault.paths import MAX_TRACKED_BYTES

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
