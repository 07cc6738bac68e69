"""The proof of a purge: every file of the home and of its cache, and every object of its git, is searched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.vault.format.packed import SUFFIX
from memfolio.vault.git.rewrite import objects
from memfolio.vault.purge.journal import NAME
from memfolio.vault.purge.needles import Needles
from memfolio.vault.purge.scrub import legible

if TYPE_CHECKING:
    from memfolio.vault.vault import Vault

GZIP = b"\x1f\x8b"
"""How compressed data begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was searched, and where something was found; a place that cannot be read counts as found."""

    files: int
    cached: int
    objects: int
    left: tuple[str, ...]


def prove(vault: Vault, needles: Needles, left: Iterable[str] = ()) -> Proof:
    """Search everything for the texts. Git's own files are searched as what they hold: decompressed objects.

    `left` is what others have found already.
    """
    home, cache = vault.home.root, vault.config.cache
    left = list(left)
    files = [path for path in walk(home) if path != vault.home.internal / NAME]
    cached = list(walk(cache))
    for path in (*files, *cached):
        if _has(path, needles):
            left.append(str(path.relative_to(home) if path.is_relative_to(home) else path))
    count = 0
    for oid, data in objects(vault.history) if (home / ".git").exists() else ():
        count += 1
        if needles.are_in(_unpacked(data)):
            left.append(f"git object {oid}")
    return Proof(files=len(files), cached=len(cached), objects=count, left=tuple(left))


def walk(folder: Path) -> Iterator[Path]:
    """Every file below a folder, without links and without git's objects."""
    for parent, folders, names in os.walk(folder):
        if Path(parent).name == ".git":
            folders[:] = [name for name in folders if name != "objects"]
        yield from (path for name in names if not (path := Path(parent, name)).is_symlink())


def _has(path: Path, needles: Needles) -> bool:
    try:
        return path.is_file() and needles.are_in(_unpacked(path.read_bytes()))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _unpacked(data: bytes) -> bytes:
    return legible(f"any.md{SUFFIX}", data)[1] if data.startswith(GZIP) else data
