"""Whose memory an agent may read: its own, and that of those whom its `agent.toml` names."""

from __future__ import annotations

import os
import time

from memfolio.errors import MemfolioError
from memfolio.index.index import Index
from memfolio.vault.agents import EVERYBODY, agent_file, read_agent
from memfolio.vault.home import agents_of
from memfolio.vault.paths import SHARED
from memfolio.vault.recent import Record
from memfolio.vault.vault import Vault

SETTLED = 2 * 10**9
"""Nanoseconds after which a folder that changes once more is sure to get another time."""

Look = tuple[int, int, int] | None


class Scope:
    """The indexes that one agent reads. Each is opened when it is first asked; asking which costs a look at the disk.

    Settings that make no sense open nothing: then the agent reads its own memory only, and `trouble` says why.
    """

    def __init__(self, vault: Vault, agent: str) -> None:
        self.own = Index(vault, agent)
        self.trouble: str | None = None
        self._vault, self._agent = vault, agent
        self._known: dict[str, Index] = {agent: self.own}
        self._settings = os.fspath(vault.config.home / agent_file(agent))
        self._folders = tuple(os.fspath(vault.config.home / name) for name in ("agents", SHARED))
        self._read: tuple[Look, tuple[str, ...]] | None = None
        self._found: tuple[tuple[Look, ...], list[Index]] | None = None

    def indexes(self) -> list[Index]:
        """Its own index, then those of the others that have a folder at the moment."""
        looks = (_look(self._settings), *map(_look, self._folders))
        if self._found is not None and self._found[0] == looks:
            return self._found[1]
        if self._read is None or self._read[0] != looks[0]:
            self._read = looks[0], self._reads()
        others = self._named(self._read[1])
        found = [self.own, *(self._known.setdefault(name, Index(self._vault, name)) for name in others)]
        self._found = (looks, found) if _is_settled(looks) else None
        return found

    def _reads(self) -> tuple[str, ...]:
        try:
            page = self._vault.page(agent_file(self._agent))
            settings = read_agent(self._agent, page.content if page else None)
        except MemfolioError as error:
            self.trouble = f"{error.message}; until that is mended, {self._agent} reads its own memory only"
            return ()
        self.trouble = None
        return settings.reads

    def _named(self, reads: tuple[str, ...]) -> list[str]:
        """Those whom the settings mean and who have a folder, in the order in which they are named."""
        if not reads:
            return []
        there = sorted(agents_of(self._vault.config.home), key=lambda name: (name != SHARED, name))
        named = there if EVERYBODY in reads else [name for name in reads if name in there]
        return [name for name in dict.fromkeys(named) if name != self._agent]

    def follow(self, record: Record) -> None:
        """File a change in every index that was ever asked."""
        for index in tuple(self._known.values()):
            index.follow(record)

    def close(self) -> None:
        for index in tuple(self._known.values()):
            index.close()


def _look(path: str) -> Look:
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _is_settled(looks: tuple[Look, ...]) -> bool:
    """Whether a further change would show: one within the same tick of the clock may not."""
    newest = max((look[0] for look in looks[:2] if look), default=0)
    return time.time_ns() - newest > SETTLED
