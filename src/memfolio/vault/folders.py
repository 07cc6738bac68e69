"""Folders of notes outside of the home: scanned and read in place. Nothing here writes."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memfolio.vault.disk import Disk, Stamp
from memfolio.vault.paths import INTERNAL, MAX_TRACKED_BYTES, is_junk

ENDINGS = (".md", ".markdown")
OTHERS = frozenset((".txt", ".text", ".org", ".rst", ".adoc", ".tex", ".html", ".rtf", ".odt", ".doc", ".docx", ".pdf"))
"""Endings of texts in which people write, too, but which are not read as notes."""
SKIPPED = frozenset({"node_modules", "__pycache__"})
BACKUPS = (os.path.join("logseq", "bak"), os.path.join("logseq", "version-files"))
"""Folders in which Logseq keeps old copies of notes."""
LINKED = "is a link and is not followed: put the note itself here"


class NoteFile(NamedTuple):
    """A note in a folder: its stamp, and the reason if it is not read."""

    stamp: Stamp
    problem: str = ""


def notes_below(root: str) -> dict[str, NoteFile] | None:
    """Return every note in a folder by absolute path; None if the folder is missing or cannot be opened."""
    found: dict[str, NoteFile] = {}
    for folder, entries in _walk(root):
        if entries is None and folder == root:
            return None
        for entry in entries or ():
            if entry.name.lower().endswith(ENDINGS) and not is_junk(entry.name):
                _look_at(entry, found)
    return found


def others_below(root: str) -> Counter[str]:
    """Count the texts in a folder that are no notes, by the endings of their names."""
    names = (entry.name for _, entries in _walk(root) for entry in entries or ())
    return Counter(ending for name in names if (ending := os.path.splitext(name)[1].lower()) in OTHERS)


def folders_below(root: str) -> list[str]:
    """Return a folder of notes and its subfolders that may contain notes; empty if it is missing."""
    return [folder for folder, entries in _walk(root) if entries is not None]


def read_note_file(root: str, path: str) -> bytes | None:
    """Return the bytes of a note, None if it is gone; no link below the folder is followed."""
    disk = Disk()
    disk.root = Path(root)
    return disk.read(Path(path))


def _walk(root: str) -> Iterator[tuple[str, list[os.DirEntry[str]] | None]]:
    """Yield each folder with its entries, None if it cannot be read; hidden folders, backups and homes are skipped."""
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
    found[shown] = NoteFile(Stamp.of(info), problem)
