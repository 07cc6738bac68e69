"""Folders of notes outside of the home: looked over and read where they lie. Nothing here writes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memfolio.vault.disk import Disk, Stamp
from memfolio.vault.paths import INTERNAL, MAX_TRACKED_BYTES, is_junk

ENDINGS = (".md", ".markdown")
SKIPPED = frozenset({"node_modules", "__pycache__"})
BACKUPS = (os.path.join("logseq", "bak"), os.path.join("logseq", "version-files"))
"""Where Logseq keeps copies of notes as they were."""
LINKED = "is a link and is not followed: put the note itself here"


class NoteFile(NamedTuple):
    """A note in a folder: how it stands on the disk, and why it is not read, where that is so."""

    stamp: Stamp
    problem: str = ""


def notes_below(root: str) -> dict[str, NoteFile] | None:
    """Every note in a folder by its whole path; None where the folder is not there, or cannot be opened."""
    found: dict[str, NoteFile] = {}
    for folder, entries in _walk(root):
        if entries is None and folder == root:
            return None
        for entry in entries or ():
            if entry.name.lower().endswith(ENDINGS) and not is_junk(entry.name):
                _look_at(entry, found)
    return found


def folders_below(root: str) -> list[str]:
    """A folder of notes and those in it in which notes may lie; none where it is not there."""
    return [folder for folder, entries in _walk(root) if entries is not None]


def read_note_file(root: str, path: str) -> bytes | None:
    """The bytes of a note, None where it is gone; nothing is reached through a link below the folder."""
    disk = Disk()
    disk.root = Path(root)
    return disk.read(Path(path))


def _walk(root: str) -> Iterator[tuple[str, list[os.DirEntry[str]] | None]]:
    """Each folder with what is in it, None where that cannot be told; hidden ones, backups and homes are left out."""
    pending = [root]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as listed:
                entries = list(listed)
        except OSError:
            yield folder, None
            continue
        if any(entry.name == INTERNAL for entry in entries):
            continue  # a home has a memory of its own
        yield folder, entries
        inner = [entry for entry in entries if _is_folder(entry)]
        pending += [entry.path for entry in inner if not entry.path.endswith(BACKUPS)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    if is_junk(entry.name) or entry.name in SKIPPED:
        return False
    try:
        return entry.is_dir(follow_symlinks=False) and entry.name.isprintable()
    except OSError:
        return False


def _look_at(entry: os.DirEntry[str], found: dict[str, NoteFile]) -> None:
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError:
        return  # gone since it was listed
    if stat.S_ISDIR(info.st_mode):
        return
    shown, problem = entry.path.encode("utf-8", "replace").decode(), ""
    if shown != entry.path:
        problem = "has a name that is not UTF-8: rename it"
    elif not stat.S_ISREG(info.st_mode):
        problem = LINKED if stat.S_ISLNK(info.st_mode) else "is not a regular file"
    elif info.st_size > MAX_TRACKED_BYTES:
        problem = f"is larger than {MAX_TRACKED_BYTES >> 20} MiB and is not read: split it"
    found[shown] = NoteFile(Stamp(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino), problem)
