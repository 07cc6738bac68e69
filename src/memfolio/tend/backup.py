"""Backups: the whole home with its history, as one compressed file outside of it.

Each is read back before it gets its name, and has a mark that only this home can make: of several homes that share a
folder, none removes another's backups.
"""

from __future__ import annotations

import gzip
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import BinaryIO

from memfolio.errors import DiskError, InputError, RefusedError
from memfolio.types import frozen
from memfolio.vault.disk import Disk, disk_errors
from memfolio.vault.paths import INTERNAL, is_junk
from memfolio.vault.vault import Vault

MARK = "memfolio.home"
LEVEL = 3
"""How hard is packed: the home cannot be written meanwhile."""
CHUNK = 1 << 20
_LEFT_OUT = frozenset({f"{INTERNAL}/lock", f"{INTERNAL}/commit.lock"})
_TIME = r"(?P<time>\d{4}-\d\d-\d\d-\d{6})(?:-(?P<number>\d+))?"


@frozen
class Copy:
    """A backup that exists: its file, and how large that is."""

    path: Path
    size: int


@frozen
class BackedUp:
    """A backup, or its preview: the file, its contents, and the older backups that were removed."""

    path: Path
    files: int
    bytes: int
    """Of the files that are in it."""
    size: int | None
    """Size of the backup; None if it was not made."""
    removed: tuple[Path, ...]


def backup_folder(vault: Vault, given: Path | None = None) -> Path:
    """Where backups go: a folder that is given, else the configured one, which a relative path puts beside the home."""
    root, named = vault.config.home.resolve(), vault.config.backup.folder
    if vault.config.store != "files":
        hint = "`memfolio db export DIR` copies it to a folder; the database has backups of its own kind"
        raise RefusedError("a home in a database has no folder to back up", hint=hint)
    if given is None and not named:
        raise InputError("no folder for backups is named", hint="name one, or set backup.folder in memfolio.toml")
    folder = (given if given is not None else root.parent / Path(named).expanduser()).resolve()
    if folder.is_relative_to(root):
        raise InputError(f"{folder} is inside the home", hint="a backup belongs outside of what it is a copy of")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file", hint="name the folder into which backups go")
    return folder


def back_up(vault: Vault, folder: Path, keep: int, now: datetime, *, dry_run: bool = False) -> BackedUp:
    """Copy the home into `folder` and keep the newest `keep` backups of it there; other files are left alone."""
    if keep < 1:
        raise InputError(f"{keep} backups cannot be kept", hint="keep one or more")
    disk = Disk()
    disk.private = folder  # the home's secret is in the copy
    older = backups(vault, folder)
    target = _free_name(vault, folder, now)
    outdated = tuple(each.path for each in older[: max(0, len(older) + 1 - keep)])
    if dry_run:
        names = dict(_sizes(vault.config.home))
        return BackedUp(path=target, files=len(names), bytes=sum(names.values()), size=None, removed=outdated)
    with disk_errors(folder):
        with disk.writing(target) as file:
            written = _write(vault, file)
            _check(file, written, target)
        for path in outdated:
            disk.remove(path)
        size = target.stat().st_size
    return BackedUp(path=target, files=len(written), bytes=sum(written.values()), size=size, removed=outdated)


def backups(vault: Vault, folder: Path) -> list[Copy]:
    """The backups of this home in a folder, oldest first."""
    pattern = re.compile(rf"memfolio-{re.escape(_name(vault))}-{_TIME}\.tar\.gz")
    with disk_errors(folder):
        named = [match for name in Disk().names(folder) if (match := pattern.fullmatch(name))]
        named.sort(key=lambda match: (match["time"], int(match["number"] or 1)))
        paths = [folder / match[0] for match in named]
        return [Copy(path=path, size=path.stat().st_size) for path in paths if _mark_in(path) == _mark(vault)]


def _name(vault: Vault) -> str:
    return re.sub(r"[^\w.-]", "-", vault.config.home.name) or "home"


def _mark(vault: Vault) -> str:
    return vault.home.hash(b"backup")


def _mark_in(path: Path) -> str | None:
    """Return the home's mark in a backup; None if it is not one."""
    try:
        with tarfile.open(path) as tar:
            return tar.pax_headers.get(MARK)
    except (OSError, EOFError, tarfile.TarError):
        return None


def _free_name(vault: Vault, folder: Path, now: datetime) -> Path:
    stem = f"memfolio-{_name(vault)}-{now.astimezone(vault.home.zone):%Y-%m-%d-%H%M%S}"
    names = (f"{stem}.tar.gz" if number == 1 else f"{stem}-{number}.tar.gz" for number in count(1))
    return next(folder / name for name in names if not os.path.lexists(folder / name))


def _write(vault: Vault, file: BinaryIO) -> Mapping[str, int]:
    """Pack the home; returns the sizes of the files by name.

    Git comes first, while nobody commits, then the files, while nobody writes: changes that only the files have are
    known to the home as not yet committed.
    """
    root, written = vault.config.home, dict[str, int]()
    vault.try_survey()
    headers = {MARK: _mark(vault)}
    with (
        disk_errors(root),
        vault.git_at_rest(),
        gzip.GzipFile("", "wb", LEVEL, file) as packed,
        tarfile.open(mode="w|", fileobj=packed, format=tarfile.PAX_FORMAT, pax_headers=headers) as tar,
    ):
        _add_all(tar, root, written, git=True)
        # On a full disk nothing earlier can be finished; a copy elsewhere is what its owner needs then.
        with vault.exclusive(to_copy=True):
            _add_all(tar, root, written, git=False)
    return written


def _add_all(tar: tarfile.TarFile, root: Path, written: dict[str, int], *, git: bool) -> None:
    def note(info: tarfile.TarInfo) -> tarfile.TarInfo:
        if info.isreg():
            written[info.name] = info.size
        return info

    for inside in _inside(root):
        if (inside.split("/")[0] == ".git") is git:
            name = f"{root.name}/{inside}"
            try:
                tar.add(root / inside, name, recursive=False, filter=note)
            except FileNotFoundError:  # somebody removed it meanwhile; nothing of it is in the copy yet
                written.pop(name, None)


def _sizes(root: Path) -> Iterator[tuple[str, int]]:
    for inside in _inside(root):
        path = root / inside
        with suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                yield inside, path.stat().st_size


def _inside(root: Path) -> Iterator[str]:
    """Yield every file and folder to copy, relative to the home; links are copied as links."""
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted([*folders, *files]):
            inside = (Path(folder) / name).relative_to(root).as_posix()
            if inside not in _LEFT_OUT and not _is_passing(inside, name):
                yield inside


def _is_passing(inside: str, name: str) -> bool:
    """Whether a file is one that programs keep only for a moment; hidden folders and files are a part of the home."""
    return name.endswith(".lock") if inside.startswith(".git/") else is_junk(name.lstrip("."))


def _check(file: BinaryIO, written: Mapping[str, int], target: Path) -> None:
    """Read a backup back to its last byte, whose check sum is looked at then; raises DiskError if it is not whole."""
    file.flush()
    file.seek(0)
    try:
        with gzip.GzipFile(fileobj=file) as packed:
            with tarfile.open(mode="r|", fileobj=packed) as tar:
                found = {each.name: each.size for each in tar if each.isreg()}
            while packed.read(CHUNK):
                pass
    except (EOFError, gzip.BadGzipFile, tarfile.TarError) as error:
        raise _not_whole(target) from error
    if found != written:
        raise _not_whole(target)


def _not_whole(target: Path) -> DiskError:
    return DiskError(f"the backup {target} could not be read back", hint="check the disk; the older ones are untouched")
