"""Keeping an index like the files: all of them, those that changed, or only what a change of ours added."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping

import apsw

from memfolio.errors import HomeError
from memfolio.index.filing import Filing, stored_state
from memfolio.index.reading import is_searched, is_state, knowledge_of, precedence
from memfolio.types import MemoryItem
from memfolio.vault.format.lines import read_lines
from memfolio.vault.paths import agent_of, ledger_of
from memfolio.vault.recent import FileState, Record, Written
from memfolio.vault.vault import Vault

logger = logging.getLogger("memfolio")
Progress = Callable[[int, int], None]

RETRY = 1.0
"""Seconds after which a file that could not be read is tried again."""


class Keeper:
    """Files what one agent's files say, inside transactions that others begin and end."""

    def __init__(self, vault: Vault, agent: str) -> None:
        self._vault = vault
        self._agent = agent
        self.retries_at: float | None = None
        """When files are looked at again that could not be read; None when all could."""

    def states(self, connection: apsw.Connection) -> dict[str, FileState]:
        """Every file of this agent that is searched, as the vault knows it."""
        rows = connection.execute("SELECT path, hash, size, stamp FROM files")
        states = self._vault.states({path: stored_state(*state) for path, *state in rows})
        return {path: state for path, state in states.items() if self._is_ours(path)}

    def stale(self, connection: apsw.Connection, states: Mapping[str, FileState]) -> list[str]:
        """The files that are filed otherwise than they are."""
        filed = dict(connection.execute("SELECT path, hash FROM files"))
        changed = {path for path, state in states.items() if filed.get(path) != state.hash}
        return _in_order(changed | (filed.keys() - states.keys()))

    def file(
        self,
        connection: apsw.Connection,
        states: Mapping[str, FileState],
        paths: Iterable[str] | None = None,
        *,
        progress: Progress | None = None,
    ) -> None:
        """File these files, or all; those that have no state are gone."""
        filing = self._filing(connection)
        self.retries_at = None
        wanted = _in_order(states) if paths is None else list(paths)
        for number, path in enumerate(wanted):
            if progress:
                progress(number, len(wanted))
            if path in states:
                self._put(filing, path, states[path])
            else:
                filing.drop(path)

    def take(self, connection: apsw.Connection, record: Record) -> None:
        """File a change that follows what is filed."""
        filing, added = self._filing(connection), _by_path(record)
        for write in record.writes:
            if self._is_ours(write.path):
                self._take(connection, filing, write, added)

    def _take(
        self, connection: apsw.Connection, filing: Filing, write: Written, added: Mapping[str, list[MemoryItem]]
    ) -> None:
        """File one file's share of a change: only what is added, where that is all that happened."""
        state = write.state
        if state is None:
            return filing.drop(write.path)
        found = connection.execute("SELECT hash, size FROM files WHERE path = ?", (write.path,)).fetchone()
        filed_hash, filed_size = found or (None, 0)
        if filed_hash == state.hash:
            return None
        if write.start == filed_size and write.data is not None:
            if items := added.get(write.path):
                return filing.add(write.path, items, state)
            if is_state(write.path) and self._is_newest(connection, write.path):
                lines = [line.record for line in read_lines(write.data).records]
                return filing.extend(write.path, lines, state)
            if knowledge_of(write.path) and filing.append_knowledge(write.path, write.data, state):
                return None
        return self._put(filing, write.path, state)

    def _is_newest(self, connection: apsw.Connection, path: str) -> bool:
        """Whether no later part of this ledger is filed: lines count in the order of their parts."""
        ledger = ledger_of(path)
        later = ledger[0].part(ledger[1] + 1) if ledger else path
        return connection.execute("SELECT 1 FROM files WHERE path = ?", (later,)).fetchone() is None

    def _put(self, filing: Filing, path: str, state: FileState) -> None:
        """File what is in a file now; it may be newer than what the vault knows, which will then come to know it."""
        try:
            data = self._vault.books.read(path)
        except (OSError, HomeError) as error:
            logger.debug("%s stays as it was filed: %s", path, error)  # the survey reports it
            self.retries_at = time.monotonic() + RETRY
            return
        if data is None:
            filing.drop(path)
        else:
            filing.put(path, data, FileState(self._vault.home.hash(data), len(data), state.stamp))

    def _is_ours(self, path: str) -> bool:
        return agent_of(path) == self._agent and is_searched(path)

    def _filing(self, connection: apsw.Connection) -> Filing:
        return Filing(connection, self._agent, self._vault.home.zone, self._vault.books.read)


def _by_path(record: Record) -> dict[str, list[MemoryItem]]:
    """The memories that a change of this process added, by the file that each went into."""
    added: dict[str, list[MemoryItem]] = {}
    for path, item in record.items:
        added.setdefault(path, []).append(item)
    return added


def _in_order(paths: Iterable[str]) -> list[str]:
    """State first, since it says what becomes of the rest; then in the order in which files have a memory."""
    return sorted(paths, key=lambda path: (not is_state(path), precedence(path)))
