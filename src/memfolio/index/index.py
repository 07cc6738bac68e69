"""The index of one agent: opened, kept up with the files, rebuilt when it is damaged, and asked.

It follows the vault: each change that the vault enters is filed at once (`follow`). Whatever else happened while
nobody followed is found by comparing files with what was filed (`catch_up`). So it never holds up a write, and a
reader always sees the files as they are.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import apsw

from memfolio.errors import (
    HomeError,
    IndexBusyError,
    IndexDamagedError,
    IndexUnavailableError,
    MemfolioError,
    SearchIndexError,
)
from memfolio.index.database import Database, newest
from memfolio.index.filing import Filing, stored_state
from memfolio.index.reading import is_searched, is_state, precedence, read_file
from memfolio.index.turn import Turn
from memfolio.index.vectors import Matrix
from memfolio.types import MemoryItem
from memfolio.vault.audit import Head
from memfolio.vault.paths import agent_of, ledger_of
from memfolio.vault.recent import FileState, Record, Written
from memfolio.vault.vault import Vault

logger = logging.getLogger("memfolio")
T = TypeVar("T")
Progress = Callable[[int, int], None]

FOLLOW_MS = 250
"""How long a write waits while another process holds the index; then the next reader does the catching up."""
EASY_BYTES = 1 << 20
"""How much a home without an index may hold for it to be built by the way."""
MANY_FILES = 64
"""From how many changed files on the index is built anew, beside the one that is in use, instead of in its place."""


RETRY = 1.0
"""Seconds after which a file that could not be read is tried again."""
ATTEMPTS = 8
"""How often one reader compares while others keep changing files."""


def _silent(done: int, total: int) -> None:
    """Nobody watches."""


class Index:
    """What can be found of one agent. Threads may share it; each process has its own."""

    def __init__(self, vault: Vault, agent: str) -> None:
        self.agent = agent
        self.matrix = Matrix()
        self.notices: list[str] = []
        """What was repaired, for a person to read once."""
        self.builds = 0
        """How often it was built from the files here."""
        self.trouble: MemfolioError | None = None
        """Why the index is only in this process's memory or behind the files; None when all is well."""
        self.progress: Progress = _silent
        """Told how many files are filed and how many there are, where a caller names nobody else to tell."""
        self._vault = vault
        self._folder = vault.config.cache
        self._lock = Turn()
        self._database: Database | None = None
        self._is_behind = True
        self._epoch = -1
        self._retries_at: float | None = None
        """When files are looked at again that could not be read; None when all could."""

    def follow(self, record: Record) -> None:
        """File a change that the vault has just entered; called under the write lock, so it never raises or waits."""
        if self._database is None or self._is_behind:
            self._is_behind = True
            return
        try:
            with self._database.writing(busy_ms=FOLLOW_MS) as connection:
                if _head(connection) != record.line.seq - 1:
                    self._is_behind = _head(connection) < record.line.seq
                    return
                filing, added = self._filing(connection), _by_path(record)
                for write in record.writes:
                    if self._is_ours(write.path):
                        self._take(connection, filing, write, added)
                _set_head(connection, record.head, is_whole=_is_whole(connection) and self._retries_at is None)
        except (SearchIndexError, HomeError) as error:
            logger.debug("the index stays behind: %s", error)
            self._is_behind = True

    def read(self, question: Callable[[apsw.Connection], T], *, progress: Progress | None = None) -> T:
        """Ask the index as it is when the files are all filed; a damaged one is rebuilt and asked again."""
        for _ in range(ATTEMPTS):
            self.catch_up(progress=progress)
            database = self._current()
            try:
                with database.reading() as connection:
                    return question(connection)
            except (IndexDamagedError, IndexUnavailableError) as error:
                if database.is_current():  # else another process or thread has built a newer one
                    self._repair(error, progress or self.progress)
        raise _again_and_again()

    def write(self, work: Callable[[apsw.Connection], T]) -> T:
        """Change what the index adds to the files, such as vectors; a damaged one is rebuilt and changed then."""
        for _ in range(ATTEMPTS):
            database = self._current()
            try:
                with database.writing() as connection:
                    return work(connection)
            except (IndexDamagedError, IndexUnavailableError) as error:
                if database.is_current() and not isinstance(error, IndexDamagedError):
                    raise
                if database.is_current():
                    self._repair(error, self.progress)
            self.catch_up()
        raise _again_and_again()

    def tidy(self) -> None:
        """Do what can be done at any time, while there is time."""
        if self._database is not None:
            self._database.tidy()

    def attend(self) -> None:
        """Be ready to follow, unless so much is to be filed first that a writer would notice."""
        if self._is_followed():
            return
        with self._lock, suppress(SearchIndexError):
            if self._is_easy():
                self._compare(_silent)

    def _is_easy(self) -> bool:
        path = newest(self._folder, self.agent)
        if path is None:
            return sum(state.size for state in self._vault.states().values()) < EASY_BYTES
        return self._head_of(Database.open(path)) == self._vault.head

    def catch_up(self, *, progress: Progress | None = None) -> None:
        """File whatever changed since the index last followed."""
        progress = progress or self.progress
        self._refresh()
        if self._is_followed():
            return None
        with self._lock:
            for _ in range(ATTEMPTS):
                if self._is_followed():
                    return None
                try:
                    return self._compare(progress)
                except (IndexDamagedError, IndexUnavailableError) as error:
                    if not self._is_outdated():
                        self._repair(error, progress)
                except IndexBusyError as error:
                    if self._database is None:
                        raise
                    self._is_behind, self.trouble = True, error  # what is filed already is answered from
                    return None
        return None

    def _is_outdated(self) -> bool:
        """Whether another process has removed the file that is open here, having built a newer one."""
        database = self._database
        return database is not None and not database.is_current() and not database.is_replaced()

    def mark_behind(self) -> None:
        """Have the files compared with what is filed before the next answer."""
        self._is_behind = True

    def _refresh(self) -> None:
        """Hear of other processes' changes, unless one of them holds the home for too long."""
        try:
            self._vault.refresh()
        except HomeError as error:
            self.trouble = error
        else:
            if isinstance(self.trouble, HomeError):
                self.trouble = None

    def rebuild(self, *, progress: Progress = _silent) -> int:
        """Build the index anew from the files; returns how many files it holds."""
        with self._lock:
            self._build(progress)
        return self.read(lambda connection: int(connection.execute("SELECT count(*) FROM files").get))

    def _is_followed(self) -> bool:
        database = self._database
        return (
            database is not None
            and not self._is_behind
            and self._epoch == self._vault.epoch
            and database.is_current()
            and (self._retries_at is None or time.monotonic() < self._retries_at)
        )

    def _current(self) -> Database:
        database = self._database
        if database is None:
            raise IndexUnavailableError("the index was closed", hint="open the home again")
        return database

    def _compare(self, progress: Progress) -> None:
        """Bring the index and the files together, in place when little changed, else by building it anew."""
        for _ in range(ATTEMPTS):
            database = self._opened(progress)
            self._is_behind = False  # first, so that a change that comes meanwhile and cannot be filed says otherwise
            self._epoch, head = self._vault.epoch, self._vault.books.recent.head
            if self._is_at(database, head) and self._vault.trouble is None:
                break
            states = self._states(database)
            if self._vault.books.recent.head != head:
                continue  # the files are those of a later moment
            before, stale = self._stale(database, states)
            if len(stale) > MANY_FILES:
                self._build(progress)
            elif self._file(database, stale, states, before, head):
                break
        else:
            self._is_behind = True  # others are quicker: the next reader goes on
        if self.trouble is not None and not database.in_memory:
            self.trouble = None

    def _head_of(self, database: Database) -> int:
        with database.reading() as connection:
            return _head(connection)

    def _states(self, database: Database) -> dict[str, FileState]:
        """Every file of this agent that is searched, as the vault knows it."""
        with database.reading() as connection:
            rows = connection.execute("SELECT path, hash, size, stamp FROM files")
            earlier = {path: stored_state(*state) for path, *state in rows}
        states = self._vault.states(earlier)
        return {path: state for path, state in states.items() if self._is_ours(path)}

    def _is_at(self, database: Database, head: Head) -> bool:
        """Whether the index holds every file as it was behind this change."""
        with database.reading() as connection:
            return _head(connection) == head.seq and _chain(connection) == head.hash

    def _stale(self, database: Database, states: Mapping[str, FileState]) -> tuple[int, list[str]]:
        """What is filed otherwise than the files are, and the change up to which it is."""
        with database.reading() as connection:
            filed = dict(connection.execute("SELECT path, hash FROM files"))
            before = _head(connection)
        gone = filed.keys() - states.keys()
        changed = {path for path, state in states.items() if filed.get(path) != state.hash}
        return before, _in_order(gone | changed)

    def _file(
        self, database: Database, paths: list[str], states: Mapping[str, FileState], before: int, head: Head
    ) -> bool:
        """File these files; False when somebody else has filed something since they were found to be stale."""
        with database.writing() as connection:
            if _head(connection) != before:
                return False
            filing = self._filing(connection)
            self._retries_at = None
            for path in paths:
                if path in states:
                    self._put(filing, path, states[path])
                else:
                    filing.drop(path)
            _set_head(connection, head, is_whole=self._retries_at is None)
        return True

    def _put(self, filing: Filing, path: str, state: FileState) -> None:
        """File what is in a file now; it may be newer than what the vault knows, which will then come to know it."""
        try:
            data = self._read(path)
        except (OSError, HomeError) as error:
            logger.debug("%s stays as it was filed: %s", path, error)  # the survey reports it
            self._retries_at = time.monotonic() + RETRY
            return
        if data is None:
            filing.drop(path)
        else:
            filing.put(path, data, FileState(self._vault.home.hash(data), len(data), state.stamp))

    def _read(self, path: str) -> bytes | None:
        return self._vault.books.read(path)

    def _is_ours(self, path: str) -> bool:
        return agent_of(path) == self.agent and is_searched(path)

    def _filing(self, connection: apsw.Connection) -> Filing:
        return Filing(connection, self.agent, self._vault.home.zone, self._read)

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
                return filing.extend(write.path, self._lines(write), state)
        return self._put(filing, write.path, state)

    def _lines(self, write: Written) -> list[Mapping[str, object]]:
        reading = read_file(write.path, write.data or b"", zone=self._vault.home.zone, modified=self._vault.home.now())
        return list(reading.states)

    def _is_newest(self, connection: apsw.Connection, path: str) -> bool:
        """Whether no later part of this ledger is filed: lines count in the order of their parts."""
        ledger = ledger_of(path)
        later = ledger[0].part(ledger[1] + 1) if ledger else path
        return connection.execute("SELECT 1 FROM files WHERE path = ?", (later,)).fetchone() is None

    # The file itself

    def _opened(self, progress: Progress) -> Database:
        """The newest index file, or one that is built because there is none that can be used."""
        database = self._database
        if database is not None and database.is_replaced():
            raise IndexDamagedError(f"{database.path.name} was replaced", hint="it is built again by itself")
        if database is None or not database.is_current():
            self._database = database = self._open_newest() or self._build(progress)
            self.matrix = Matrix()
        return database

    def _open_newest(self) -> Database | None:
        path = newest(self._folder, self.agent)
        try:
            database = Database.open(path) if path else None
        except IndexUnavailableError:
            if path is None or os.path.lexists(path):
                raise
            return self._open_newest()  # another process has built a newer one meanwhile
        if database is not None and self._basis_of(database) != self._basis():
            raise IndexDamagedError(f"{database.path.name} was built for other settings", hint="it is built again")
        return database

    def _basis(self) -> str:
        """What the index depends on beside the files."""
        whose = self._vault.home.hash(self.agent.encode())  # no two homes have the same secret
        return f"{self._vault.config.home}\n{self._vault.home.zone}\n{whose}"

    def _basis_of(self, database: Database) -> str | None:
        with database.reading() as connection:
            found = connection.execute("SELECT value FROM meta WHERE key = 'basis'").fetchone()
        return found[0] if found else None

    def _repair(self, error: MemfolioError, progress: Progress) -> None:
        """Build the index again after damage, and leave one notice about it."""
        with self._lock:
            if not self._build(progress).in_memory:
                notice = f"the search index was rebuilt: {error.message}"
                logger.warning(notice)
                self.notices.append(notice)

    def _build(self, progress: Progress) -> Database:
        """A new index of all files, put in the place of the one that is there."""
        kept = self._kept_embeddings()
        head = self._vault.books.recent.head
        states = self._vault.states()
        paths = _in_order({path for path in states if self._is_ours(path)})

        def fill(connection: apsw.Connection) -> None:
            filing = self._filing(connection)
            self._retries_at = None
            for number, path in enumerate(paths):
                progress(number, len(paths))
                self._put(filing, path, states[path])
            _set_meta(connection, "basis", self._basis())
            _set_head(connection, head, is_whole=self._retries_at is None)
            connection.executemany("INSERT OR IGNORE INTO embeddings VALUES (?, ?, ?)", kept)

        try:
            database = self._published(Database.build(self._folder, self.agent, fill))
        except IndexUnavailableError as error:
            self.trouble = error
            database = Database.in_process(self.agent)
            with database.writing() as connection:
                fill(connection)
        progress(len(paths), len(paths))
        self.builds += 1
        self._is_behind = True
        old, self._database, self.matrix = self._database, database, Matrix()
        if old is not None:
            old.close()
        return database

    def _published(self, built: Path) -> Database:
        """A built index under its name, or the one that another process has put in its place since."""
        path = Database.publish(built, self.agent)
        try:
            return Database.open(path)
        except SearchIndexError:
            newer = None if os.path.lexists(path) else self._open_newest()
            if newer is None:
                raise
            return newer

    def _kept_embeddings(self) -> list[tuple[str, bytes, bytes]]:
        """Vectors that cost money or time, carried over as far as they can be read."""
        kept: list[tuple[str, bytes, bytes]] = []
        with suppress(SearchIndexError):
            database = self._database or self._open_newest()
            if database is not None:
                with database.reading() as connection:
                    for row in connection.execute("SELECT identity, hash, vector FROM embeddings"):
                        kept.append(row)  # noqa: PERF402 - what was read before damage is met counts
        return kept

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            database, self._database = self._database, None
            if database is not None:
                database.close()


def _again_and_again() -> IndexUnavailableError:
    return IndexUnavailableError("the index is damaged again and again", hint="check the disk of the cache folder")


def _by_path(record: Record) -> dict[str, list[MemoryItem]]:
    """The memories that a change of this process added, by the file that each went into."""
    added: dict[str, list[MemoryItem]] = {}
    for path, item in record.items:
        added.setdefault(path, []).append(item)
    return added


def _in_order(paths: set[str]) -> list[str]:
    """State first, since it says what becomes of the rest; then in the order in which files have a memory."""
    return sorted(paths, key=lambda path: (not is_state(path), precedence(path)))


def _head(connection: apsw.Connection) -> int:
    found = connection.execute("SELECT value FROM meta WHERE key = 'head'").fetchone()
    return found[0] if found else -1


def _chain(connection: apsw.Connection) -> str:
    found = connection.execute("SELECT value FROM meta WHERE key = 'chain'").fetchone()
    return found[0] if found else ""


def _is_whole(connection: apsw.Connection) -> bool:
    return bool(_chain(connection))


def _set_head(connection: apsw.Connection, head: Head, *, is_whole: bool) -> None:
    """Note the change up to which files are filed; without its hash when one of them could not be read."""
    _set_meta(connection, "head", head.seq)
    _set_meta(connection, "chain", head.hash if is_whole else "")


def _set_meta(connection: apsw.Connection, key: str, value: str | int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
