"""The files of a host: read only where they may safely be changed, written in one step, with what was there beside."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memfolio.errors import ConflictError, MemfolioError
from memfolio.vault.disk import Disk, disk_errors


class HostFileError(MemfolioError):
    """A host's file is not one that may be changed; nothing was."""

    code = "host-file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a file holds and is to hold, None for no file; `saved` is the backup that it is to have."""

    path: Path
    old: bytes | None
    new: bytes | None
    saved: bytes | None

    @property
    def diff(self) -> str:
        """The change as people read it."""
        old, new = ((each or b"").decode("utf-8", "replace").splitlines() for each in (self.old, self.new))
        source, target = ("/dev/null" if each is None else str(self.path) for each in (self.old, self.new))
        return "\n".join(difflib.unified_diff(old, new, source, target, lineterm=""))


def backup_of(path: Path) -> Path:
    """Where the bytes are kept that were there first."""
    return path.with_name(f"{path.name}.memfolio-backup")


def read(path: Path, root: Path) -> bytes | None:
    """The bytes of a file that may be changed, None where there is none; no link below `root` is followed."""
    for place in (*(each for each in path.parents if each.is_relative_to(root) and each != root), path):
        if place.is_symlink():
            hint = f"it leads to {os.path.realpath(place)}: edit that by hand, or put the real one in its place"
            raise HostFileError(f"{place} is a link, which is not followed", hint=hint)
    with disk_errors(path.parent):
        data = Disk().read(path)
        if data is None and not os.path.lexists(path):
            return None
        info = os.lstat(path)
    if not stat.S_ISREG(info.st_mode):
        raise HostFileError(f"{path} is not a file", hint="move it away, then try again")
    if hasattr(os, "getuid") and info.st_uid != os.getuid():
        raise HostFileError(f"{path} belongs to another user", hint="run this as the user who owns it")
    if not info.st_mode & stat.S_IWUSR:
        raise HostFileError(f"{path} is read-only", hint="make it writable, then try again")
    return data


def apply(changes: Sequence[Change], *, is_private: bool) -> None:
    """Make all changes or none; raises ConflictError where a file is not what the change was made for.

    With `is_private`, a file that was not there is for its owner alone: hosts come to keep keys in it.
    """
    done: list[Change] = []
    try:
        for change in changes:
            with disk_errors(change.path.parent):
                # Another install may have done the same meanwhile, and must not be undone by what fails here.
                if (found := Disk().read(change.path)) != change.new:
                    _make(change, found, is_private=is_private)
                    done.append(change)
    except MemfolioError:
        for change in done:
            with disk_errors(change.path.parent):
                _put(change.path, change.old)
        raise
    for change in changes:
        if change.saved is None:
            Disk().discard(backup_of(change.path))


def _make(change: Change, found: bytes | None, *, is_private: bool) -> None:
    if found != change.old:
        raise ConflictError(f"{change.path} was changed by somebody else", hint="end the host, then try again")
    if change.saved is not None:
        _put(backup_of(change.path), change.saved, is_private=True)
    _put(change.path, change.new, is_private=is_private)


def _put(path: Path, data: bytes | None, *, is_private: bool = False) -> None:
    disk = Disk()
    disk.private = path.parent if is_private else None
    if data is None:
        disk.remove(path)
    else:
        disk.put(path, data)
