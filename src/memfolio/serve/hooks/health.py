"""How the hooks of a home are doing, for a person: what waits, and what went wrong."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memfolio.serve.hooks.door import FOLDER, INSIDE, KEPT, LOG
from memfolio.vault.disk import Disk

SHOWN = 3
MOST_LOGGED = 256 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How many events wait to be taken up, and the last lines of the log, newest last, each with its time."""

    waiting: int = 0
    troubles: tuple[str, ...] = ()


def health(home: Path) -> Health:
    """How the hooks of a home are doing; all is well where it never had any."""
    disk, folder = Disk(), home / FOLDER
    lines = (disk.read(folder / LOG) or b"").decode("utf-8", "replace").splitlines()
    waiting = sum(not name.startswith(".") for name in disk.names(folder / KEPT))
    return Health(waiting=waiting, troubles=tuple(lines[-SHOWN:]))


def note(home: Path, trouble: str) -> None:
    """Write down what went wrong; a home that cannot be written has no place for it."""
    disk, path = disk_of(home), home / FOLDER / LOG
    line = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {' '.join(trouble.split())[:500]}\n"
    with suppress(OSError):
        if (stamp := disk.stamp(path)) and stamp.size > MOST_LOGGED:
            disk.unlink(path)
        disk.append(path, line.encode("utf-8", "replace"), sync=False)


def disk_of(home: Path) -> Disk:
    """The disk, where links inside this home are not followed and what is inside is its owner's alone."""
    disk = Disk()
    disk.root, disk.private = home, home / INSIDE
    return disk
