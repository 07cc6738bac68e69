"""The archive: the files themselves, packed, with a manifest of their hashes. What imports it is `exchange.restore`."""

from __future__ import annotations

import gzip
import json
import tarfile
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from memfolio.clock import iso
from memfolio.exchange.export.contents import Contents
from memfolio.vault.disk import Disk

MARK = "memfolio.export"
VERSION = "1"
MANIFEST = "memfolio-export.json"
LEVEL = 6


def write_archive(contents: Contents, target: Path, disk: Disk) -> None:
    """Write the archive; its manifest comes last, so that one which was cut short has none."""
    with disk.writing(target) as file:
        with (
            gzip.GzipFile("", "wb", LEVEL, file, 0) as packed,
            tarfile.open(mode="w|", fileobj=packed, format=tarfile.PAX_FORMAT, pax_headers={MARK: VERSION}) as tar,
        ):
            hashes = {path: _add(tar, path, data, contents) for path, data in contents.read()}
            _add(tar, MANIFEST, _manifest(contents, hashes), contents)
        contents.check()


def _add(tar: tarfile.TarFile, path: str, data: bytes, contents: Contents) -> str:
    info = tarfile.TarInfo(path)
    info.size, info.mode, info.mtime = len(data), 0o600, int(contents.now.timestamp())
    tar.addfile(info, BytesIO(data))
    return sha256(data).hexdigest()


def _manifest(contents: Contents, hashes: dict[str, str]) -> bytes:
    told = {
        "version": VERSION,
        "exported_at": iso(contents.now),
        "agents": contents.agents,
        "whole_home": contents.whole_home,
        "files": hashes,
    }
    return json.dumps(told, ensure_ascii=False, indent=1).encode()
