"""How the hooks of a home are doing, for a person: what waits, and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memfolio.serve.hooks.door import FOLDER, KEPT, LOG
from memfolio.vault.disk import Disk

SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How many events wait to be taken up, and the last lines of the log, newest last, each with its time."""

    waiting: int
    troubles: tuple[str, ...]


def health(home: Path) -> Health:
    """How the hooks of a home are doing; all is well where it never had any."""
    disk, folder = Disk(), home / FOLDER
    lines = (disk.read(folder / LOG) or b"").decode("utf-8", "replace").splitlines()
    return Health(waiting=len(disk.names(folder / KEPT)), troubles=tuple(lines[-SHOWN:]))
