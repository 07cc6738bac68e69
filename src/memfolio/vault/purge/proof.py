"""The proof of a purge: every file of the home and of its cache, and every object of its git, is searched."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.vault.format.packed import SUFFIX
from memfolio.vault.git.rewrite import objects, versions
from memfolio.vault.purge.journal import NAME
from memfolio.vault.purge.needles import Needles
from memfolio.vault.purge.scrub import Scrub, legible

if TYPE_CHECKING:
    from memfolio.vault.vault import Vault

GZIP = b"\x1f\x8b"
"""How compressed data begins."""
FOREIGN = "another agent's files"
"""What is said of places that whoever purges may not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was searched, and where something was found; a place that cannot be read counts as found."""

    files: int
    cached: int
    objects: int
    left: tuple[str, ...]
    unsought: tuple[str, ...] = ()
    """What was not looked for, and why."""

    @property
    def is_clean(self) -> bool:
        return not self.left and not self.unsought


def prove(vault: Vault, scrub: Scrub, left: Iterable[str] = (), unsought: tuple[str, ...] = ()) -> Proof:
    """Search everything for the texts. Git's own files are searched as what they hold: decompressed objects.

    `left` is what others have found already. What another agent has is told without saying what and where.
    """
    home, cache = vault.home.root, vault.config.cache
    found = list(left)
    files = [path for path in walk(home) if path != vault.home.internal / NAME]
    cached = list(walk(cache))
    for path in (path for path in (*files, *cached) if _has(path, scrub.fine)):
        named = path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path)
        is_foreign = scrub.is_foreign(named) or (path.is_relative_to(cache) and _is_foreign_index(path, scrub))
        found.append(FOREIGN if is_foreign else named)
    count = 0
    hits: list[str] = []
    for oid, data in objects(vault.history) if (home / ".git").exists() else ():
        count += 1
        if scrub.fine.are_in(_unpacked(data)):
            hits.append(oid)
    foreign = _foreign_objects(vault, scrub) if hits and scrub.agents is not None else frozenset()
    found += [FOREIGN if oid in foreign else f"git object {oid}" for oid in hits]
    return Proof(
        files=len(files), cached=len(cached), objects=count, left=tuple(dict.fromkeys(found)), unsought=unsought
    )


def _is_foreign_index(path: Path, scrub: Scrub) -> bool:
    return scrub.is_foreign(f"agents/{path.name.partition('.')[0]}/index")


def _foreign_objects(vault: Vault, scrub: Scrub) -> frozenset[str]:
    """The objects that only other agents' files have."""
    ours, others = set[str](), set[str]()
    for path, data in versions(vault.history):
        named = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        (others if scrub.is_foreign(path) else ours).add(named)
    return frozenset(others - ours)


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
