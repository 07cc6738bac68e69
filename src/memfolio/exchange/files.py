"""The files that a source may hold, read with care: no links, nothing huge, no folder that hides the others."""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from memfolio.errors import InputError
from memfolio.exchange.incoming import Flaw
from memfolio.vault.disk import Disk
from memfolio.vault.paths import MAX_TRACKED_BYTES

DISK = Disk()
SKIPPED = frozenset({"node_modules", "__pycache__"})
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
LONGEST = 60
"""Characters of a name: 200 bytes hold as many, whatever they are, and an ending."""


class Leaf(NamedTuple):
    """A file of a source: its place there, what it says, and when it was last changed."""

    ref: str
    text: str
    modified: datetime


def files_below(root: Path, start: str = "") -> Iterator[str | Flaw]:
    """The places of all files below a folder, in order; hidden ones are nobody's memory.

    `start` is the place of a folder in it to which they are limited, with a slash at its end.
    """
    pending = [start]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(root / folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            yield Flaw(ref=folder or ".", why=f"cannot be opened: {error.strerror}")
            continue
        shown = [entry for entry in entries if not entry.name.startswith(".") and entry.name not in SKIPPED]
        places = {f"{folder}{entry.name}": entry for entry in shown}
        folders = {ref for ref, entry in places.items() if entry.is_dir(follow_symlinks=False)}
        pending += [f"{ref}/" for ref in sorted(folders, reverse=True)]
        yield from (ref for ref in places if ref not in folders)


def read_leaf(root: Path, ref: str) -> Leaf | Flaw:
    """A file as text, or why it cannot be read as that."""
    try:
        content, modified = _read(Path(root, ref))
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        return Flaw(ref=_shown(ref), why="is a link and is not followed" if is_link else f"cannot be read: {error}")
    except InputError as error:
        return Flaw(ref=_shown(ref), why=error.message)
    text = decoded(content)
    if text is None or _shown(ref) != ref:
        why = "is not text in UTF-8: convert it" if text is None else "has a name that is not UTF-8: rename it"
        return Flaw(ref=_shown(ref), why=why)
    return Leaf(ref, text, datetime.fromtimestamp(modified, UTC))


def _read(place: Path) -> tuple[bytes, float]:
    """What is in a file, and when it was changed; looked at only after it is open, so that nobody can swap it."""
    file = DISK.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        info = os.fstat(file)
        if not stat.S_ISREG(info.st_mode):
            raise InputError("is not a regular file", hint="leave it out")
        if info.st_size > MAX_TRACKED_BYTES:
            raise InputError(f"is larger than {MAX_TRACKED_BYTES >> 20} MiB", hint="split it")
        data = os.read(file, info.st_size)
        while len(data) < info.st_size and (more := os.read(file, info.st_size - len(data))):
            data += more
        return data, info.st_mtime
    finally:
        DISK.close(file)


def decoded(data: bytes) -> str | None:
    """Text in UTF-8, or in UTF-16 that says so; None for anything else."""
    encoding = next((name for bom, name in _BOMS.items() if data.startswith(bom)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text.replace("\r\n", "\n")


def _shown(ref: str) -> str:
    return ref.encode("utf-8", "replace").decode()


def safe_path(ref: str) -> str:
    """A place whose names are allowed on every system, as near to `ref` as that can be."""
    return "/".join(map(_safe_name, ref.split("/")))


def _safe_name(name: str) -> str:
    stem, dot, ending = _FORBIDDEN.sub("-", name).rpartition(".")
    stem, ending = (stem, f".{ending}") if dot and len(ending) < 6 else (f"{stem}{dot}{ending}", "")
    cut = stem[:LONGEST].strip(" .") if len(stem.encode()) > 180 else stem.strip(" .")
    return f"_{cut}{ending}" if _RESERVED.fullmatch(cut + ending) or not cut else f"{cut}{ending}"
