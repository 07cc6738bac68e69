"""Whose memory an agent may read: its own, and that of those whom its `agent.toml` names."""

from __future__ import annotations

import os
import time

from memfolio.errors import MemfolioError
from memfolio.index.index import Index
from memfolio.vault.agents import EVERYBODY, agent_file
from memfolio.vault.home import agents_of
from memfolio.vault.paths import SHARED, agent_root
from memfolio.vault.recent import Record
from memfolio.vault.vault import Vault

SETTLED = 2 * 10**9
"""Nanoseconds after which a file that changes once more is sure to get another time."""
Look = tuple[int, int, int]


class Scope:
    """The indexes that one agent reads. Each is opened when it is first asked; asking which costs a look at the disk.

    Settings that make no sense open nothing: then the agent reads its own memory only, and `trouble` says why.
    """

    def __init__(self, vault: Vault, agent: str) -> None:
        self.own = Index(vault, agent)
        self.trouble: str | None = None
        self._vault, self._agent = vault, agent
        self._known: dict[str, Index] = {agent: self.own}
        self._file = os.fspath(vault.config.home / agent_file(agent))
        self._folders: dict[str, str] = {}
        self._seen: tuple[Look | None, tuple[str, ...]] | None = None

    def indexes(self) -> list[Index]:
        """Its own index, then those of the others that have a folder at the moment."""
        names = dict.fromkeys((self._agent, *self._others()))
        for name in names.keys() - self._known.keys():
            self._known.setdefault(name, Index(self._vault, name))
        return [self._known[name] for name in names]

    def _others(self) -> list[str]:
        reads = self._reads()
        if EVERYBODY in reads:
            return sorted(agents_of(self._vault.config.home), key=lambda name: (name != SHARED, name))
        return [name for name in reads if os.path.isdir(self._folder(name))]

    def _folder(self, name: str) -> str:
        if name not in self._folders:
            self._folders[name] = f"{self._vault.config.home}/{agent_root(name)}"
        return self._folders[name]

    def _reads(self) -> tuple[str, ...]:
        """What the settings say; they are read again when their file has changed, or may have."""
        look = _look(self._file)
        if self._seen is None or self._seen[0] != look:
            reads = self._settings()
            is_settled = look is None or time.time_ns() - look[0] > SETTLED
            self._seen = (look, reads) if is_settled else None
            return reads
        return self._seen[1]

    def _settings(self) -> tuple[str, ...]:
        try:
            settings = self._vault.settings(self._agent)
        except MemfolioError as error:
            self.trouble = f"{error.message}; until that is mended, {self._agent} reads its own memory only"
            return ()
        self.trouble = None
        return settings.reads

    def follow(self, record: Record) -> None:
        """File a change in every index that was ever asked."""
        for index in tuple(self._known.values()):
            index.follow(record)

    def close(self) -> None:
        for index in tuple(self._known.values()):
            index.close()


def _look(path: str) -> Look | None:
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
