"""A home: its folder, clock, configuration and secret, and the checks that it is still what it was."""

from __future__ import annotations

import json
import stat
from datetime import datetime, tzinfo
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.clock import Clock
from memfolio.errors import HomeMissingError, NotOwnerError
from memfolio.types import AGENT_PATTERN
from memfolio.vault.disk import Disk, Stamp
from memfolio.vault.paths import AUDIT, CONFIG, GITIGNORE, INTERNAL, SHARED

if TYPE_CHECKING:
    from memfolio.config import Config

KEY = "key"
OWNER = "owner"
UNSURVEYED = "unsurveyed"
PURGES = "purges"
"""Has a byte for each purge: what was derived from files as they were before is not used any more."""
MANY = 1000


def is_home(root: Path) -> bool:
    """Whether a folder is a home; a clone of one lacks its inside, which is made when it is opened."""
    if (root / INTERNAL).is_dir() or (root / CONFIG).is_file():
        return True
    return (root / "agents").is_dir() and (root / AUDIT).is_dir()


def agents_of(root: Path) -> list[str]:
    """The agents of a home: every folder of one, and the one that all share where it is there."""
    folder = root / "agents"
    names = [each.name for each in folder.iterdir() if each.is_dir()] if folder.is_dir() else []
    own = sorted(name for name in names if AGENT_PATTERN.fullmatch(name) and name != SHARED)
    return [*own, SHARED] if (root / SHARED).is_dir() else own


class Home:
    """One home as this process sees it."""

    def __init__(self, root: Path, config: Config, clock: Clock, disk: Disk) -> None:
        self.root = root
        self.config = config
        self.clock = clock
        self.disk = disk
        self.internal = root / INTERNAL
        disk.root, disk.private = root, self.internal
        self.zone: tzinfo = config.zone
        self._key = b""
        self._identity: tuple[int, int] | None = None
        self._checked: Stamp | None = None
        self._paths: dict[str, Path] = {}

    @property
    def has_new_key(self) -> bool:
        """Whether no survey was completed since the secret was made: in a clone, the trail's hashes have another."""
        return self.disk.stamp(self.internal / UNSURVEYED) is not None

    def note_surveyed(self) -> None:
        """Every file is known by a hash of this home's own."""
        if self.has_new_key:
            self.disk.remove(self.internal / UNSURVEYED)

    @property
    def purges(self) -> int:
        """How many purges there were."""
        stamp = self.disk.stamp(self.internal / PURGES)
        return stamp.size if stamp else 0

    def note_purged(self) -> None:
        self.disk.append(self.internal / PURGES, b".", sync=True)

    def is_founded(self) -> bool:
        return self._read_key() is not None

    def prepare(self) -> None:
        """Create what is missing, the secret last; the caller holds the write lock."""
        # A folder that ignores itself needs nothing from the person's own .gitignore.
        if self.disk.stamp(self.internal / GITIGNORE) is None:
            self.disk.put(self.internal / GITIGNORE, b"*\n")
        if self.disk.stamp(self.internal / OWNER) is None:
            self.claim()
        if not self.is_founded():
            import secrets

            self.disk.put(self.internal / UNSURVEYED, b"")
            self.disk.put(self.internal / KEY, secrets.token_hex(16).encode())

    def load(self) -> None:
        """Read the secret and remember which folder this is."""
        self._key = self._read_key() or b""
        self._identity = self._look()

    def _read_key(self) -> bytes | None:
        key = self.disk.read(self.internal / KEY)
        return None if key is None or len(key) < 32 else key[:64]

    def path(self, relative: str) -> Path:
        """A file of the home; remembered, since a few files are asked for all the time."""
        if (path := self._paths.get(relative)) is None:
            if len(self._paths) > MANY:
                self._paths.clear()
            path = self._paths[relative] = self.root / relative
        return path

    def hasher(self) -> blake2b:
        """A fresh keyed hash: without the home's secret nobody can test a guess against the trail."""
        return blake2b(key=self._key, digest_size=16)

    def hash(self, data: bytes) -> str:
        digest = self.hasher()
        digest.update(data)
        return digest.hexdigest()

    def key_mark(self, agent: str, key: str) -> str:
        """How an agent's idempotency key is named in the trail."""
        return self.hash(f"{agent}\0{key}".encode("utf-8", "surrogatepass"))[:16]

    def now(self) -> datetime:
        return self.clock.now()

    def check_present(self) -> None:
        """Stop when the folder vanished, was replaced, or lost its inside: a sync program or an unmounted disk."""
        if self._look() != self._identity:
            raise HomeMissingError(
                f"{self.root} is not the folder that was opened",
                hint="bring the folder or disk back, then open it again; nothing was written",
            )

    def _look(self) -> tuple[int, int] | None:
        try:
            info = self.internal.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return (info.st_dev, info.st_ino) if stat.S_ISDIR(info.st_mode) else None

    def owner(self) -> dict[str, str]:
        """The machine that writes this home; empty when nobody claimed it or the note is unreadable."""
        try:
            owner = json.loads(self.disk.read(self.internal / OWNER) or b"{}")
        except ValueError:
            return {}
        return owner if isinstance(owner, dict) else {}

    def is_owner(self) -> bool:
        return self.owner().get("machine") == self.config.machine

    def check_owner(self) -> None:
        """Refuse to write another machine's home, claim nobody's; the note is read again only when it changed."""
        stamp = self.disk.stamp(self.internal / OWNER)
        if stamp is None:
            self.claim()
        elif stamp != self._checked and self.is_owner():
            self._checked = stamp
        elif stamp != self._checked:
            host = self.owner().get("name", "another machine")
            raise NotOwnerError(
                f"{self.root} is written by {host}",
                hint="read here as you like; `memfolio adopt` makes this machine its writer",
            )

    def claim(self) -> None:
        """Make this machine the home's writer; the note comes last, so that it stands for everything before it."""
        # A folder that ignores itself needs nothing from the person's own .gitignore.
        self.disk.put(self.internal / GITIGNORE, b"*\n")
        note = {"machine": self.config.machine, "name": self.config.machine_name, "since": self.now().isoformat()}
        self.disk.put(self.internal / OWNER, json.dumps(note, indent=1).encode() + b"\n")
