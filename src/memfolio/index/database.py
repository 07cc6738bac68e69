"""The SQLite file of one agent's index: connections, transactions, and the meaning of SQLite's errors."""

from __future__ import annotations

import errno
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

import apsw

from memfolio.errors import IndexBusyError, IndexDamagedError, IndexUnavailableError, InputError
from memfolio.index.rows import ReadingConnection
from memfolio.index.schema import APPLICATION, VERSION, schema
from memfolio.index.search import register
from memfolio.vault.journal import Head

# A gate at which a fork waits: a lock of SQLite's that a thread holds would stay shut in the new process for ever.

PATIENCE = 5.0
"""Seconds for which a fork waits at most."""


class ForkGate:
    """Counts the threads that are inside SQLite, and keeps others out while a process is forked."""

    def __init__(self) -> None:
        self._begin(0)
        os.register_at_fork(
            before=self._shut, after_in_parent=self._reopen, after_in_child=lambda: self._begin(self._mine())
        )

    def _begin(self, inside: int) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._inside, self._is_forking = inside, False
        self._thread = threading.local()
        self._thread.depth = inside

    def _mine(self) -> int:
        """How often this thread is inside; it must be able to finish what it began."""
        depth: int = getattr(self._thread, "depth", 0)
        return depth

    def __enter__(self) -> None:
        depth = self._mine()
        with self._changed:
            while self._is_forking and not depth:
                self._changed.wait()
            self._inside += 1
        self._thread.depth = depth + 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.depth = self._mine() - 1
        with self._changed:
            self._inside -= 1
            if self._is_forking:
                self._changed.notify_all()

    def _shut(self) -> None:
        self._changed.acquire()
        self._is_forking = True
        self._changed.wait_for(lambda: self._inside == self._mine(), timeout=PATIENCE)

    def _reopen(self) -> None:
        self._is_forking = False
        self._changed.notify_all()
        self._changed.release()


# Turns: a lock among the threads of a process.


class Mutex:
    """One thread at a time; who has its turn may take it again.

    A forked process begins anew, since a thread of its parent that had its turn is not there to end it.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.RLock()

    def take(self, *, timeout: float = -1) -> bool:
        """Wait for the turn, for ever or for so many seconds; whether it came."""
        if self._process != os.getpid():
            self._begin()
        return self._lock.acquire(timeout=timeout) if timeout else self._lock.acquire(blocking=False)

    def end(self) -> None:
        self._lock.release()

    def __enter__(self) -> None:
        self.take()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


# What an index notes about itself: up to which change it has filed, and for which home it was built.

HEAD, CHAIN, BASIS, AGENT = "head", "chain", "basis", "agent"


def get_meta(connection: apsw.Connection, key: str) -> str | int | None:
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return found[0] if found else None


def set_meta(connection: apsw.Connection, key: str, value: str | int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def head_of(connection: apsw.Connection) -> int:
    """The number of the change up to which files are filed; -1 when none are."""
    found = get_meta(connection, HEAD)
    return found if isinstance(found, int) else -1


def _notes(connection: apsw.Connection) -> dict[str, str | int]:
    """Everything that an index notes about itself."""
    return dict(connection.execute("SELECT key, value FROM meta"))


def is_whole(connection: apsw.Connection) -> bool:
    """Whether every file could be read when it was filed."""
    return bool(get_meta(connection, CHAIN))


def set_head(connection: apsw.Connection, head: Head, *, is_whole: bool) -> None:
    """Record up to which change files are indexed; without its hash if one of them could not be read."""
    chain = head.hash if is_whole else ""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?), (?, ?)", (HEAD, head.seq, CHAIN, chain))


# The file of one agent's index: its connections, its transactions, and what it means when SQLite complains.
#
# Every index file has a number of its own, so a rebuilt index never meets the journal of the one before. Pages carry
# checksums (SQLite's cksumvfs), so a flipped bit is an error when it is read and never a wrong answer.
#
# While anybody writes, the file has a write-ahead log, so that readers and the writer do not wait for each other. At
# rest it has none: who only reads need not make the log and its shared memory, which costs more than a small answer.

Connection = apsw.Connection
T = TypeVar("T")
BUSY_MS = 2000
CACHE_KIB = 8192
PAGE = 4096
CUT_OFF = -1
"""Stands for the inode of a file that is cut off within a page, whose checksum is never compared."""
LONG_JOURNAL, LONGEST_JOURNAL = 1000, 4000
"""Pages from which on the journal is folded into the file when there is time, and whether there is time or not."""
JOURNAL_BYTES = 4 << 20
"""The size to which the journal is truncated once it is folded into the file."""
ABANDONED = 3600
"""Seconds without a change after which a half-built file counts as left behind by a killed process."""
_NO_SPACE = (apsw.FullError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError)
_BUSY = (apsw.BusyError, apsw.LockedError, apsw.ProtocolError)
_NAME = re.compile(r"(?P<agent>[a-z0-9-]+)\.v(?P<version>\d+)-(?P<number>\d{6,})-[0-9a-f]{8}\.db")


_gate = ForkGate()


@contextmanager
def index_errors(path: Path) -> Iterator[None]:
    """Translate SQLite's errors about an index to our own; every query runs inside."""
    try:
        with _gate:
            yield
    except _BUSY as error:
        raise IndexBusyError(f"{path.name} is in use by another process", hint="try again in a moment") from error
    except _NO_SPACE as error:
        raise unavailable(path, error) from error
    except apsw.Error as error:
        is_flipped = getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA
        reason = "a page does not match its checksum" if is_flipped else error
        raise IndexDamagedError(
            f"{path.name} is damaged: {reason}", hint="`memfolio reindex` builds it again"
        ) from error
    except OSError as error:
        raise unavailable(path, error) from error


def unavailable(path: Path, error: Exception) -> IndexUnavailableError:
    is_full = isinstance(error, apsw.FullError) or (isinstance(error, OSError) and error.errno == errno.ENOSPC)
    reason = "the disk is full" if is_full else error.strerror if isinstance(error, OSError) else error
    return IndexUnavailableError(
        f"the index in {path.parent} cannot be used: {reason}",
        hint="free or unlock the cache folder, or name another one with MEMFOLIO_CACHE",
    )


@cache
def _vfs() -> str | None:
    """Return the VFS that checks each page; None if this SQLite lacks it."""
    # As apsw.sqlite_extra does it, whose import alone would take several milliseconds of every start.
    for path in (Path(apsw.__file__).parent / "sqlite_extra_binaries").glob("cksumvfs.*"):
        connection = apsw.Connection(":memory:")
        try:
            connection.enable_load_extension(True)
            connection.load_extension(str(path))
        except apsw.Error:
            continue
        return "cksmvfs"
    return None


def newest(folder: Path, agent: str) -> Path | None:
    """The newest index file of an agent in this version's form."""
    found = predecessor(folder, agent)
    return found if found and f".v{VERSION}-" in found.name else None


def predecessor(folder: Path, agent: str) -> Path | None:
    """Return the newest index file of an agent in this version's format, or else in the newest other one."""
    found = _files(folder, agent)
    return folder / found[-1].string if found else None


def next_name(folder: Path, agent: str) -> Path:
    """The name for an index that takes the place of all that are there; no other ever had it."""
    numbers = [int(match["number"]) for match in _files(folder, agent) if _is_ours(match)]
    return folder / f"{agent}.v{VERSION}-{max(numbers, default=0) + 1:06d}-{secrets.token_hex(4)}.db"


def _files(folder: Path, agent: str | None = None) -> list[re.Match[str]]:
    """The index files of an agent, or of all; those of this version's form last, the newest at the end."""
    try:
        names = os.listdir(folder)
    except OSError:  # what stands in the way is said when something is to be written there
        return []
    found = (match for match in map(_NAME.fullmatch, names) if match and agent in (None, match["agent"]))
    return sorted(found, key=lambda match: (_is_ours(match), int(match["version"]), match.string))


def agents_in(folder: Path) -> list[str]:
    """The agents that have an index here, in whatever form."""
    return sorted({match["agent"] for match in _files(folder)})


def discard_others(folder: Path, kept: set[Path]) -> None:
    """Remove every index, whole or half built, that is not to be kept."""
    for path in [*folder.glob("*.db"), *folder.glob(".*.building")]:
        if path not in kept:
            discard(path)


def _is_ours(match: re.Match[str]) -> bool:
    return int(match["version"]) == VERSION


def discard(path: Path) -> None:
    """Remove an index file with its journal; readers in other processes keep it until they end."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            os.unlink(f"{path}{suffix}")


def _discard_abandoned(folder: Path) -> None:
    """Remove half-built files of killed processes; a live process keeps changing its file."""
    for path in folder.glob(".*.building"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > ABANDONED:
                discard(path)


def _create(path: Path) -> None:
    """An empty file for its owner alone; SQLite gives the journals beside it the same mode."""
    os.makedirs(path.parent, mode=0o700, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


class Database:
    """One index file. Reading needs no lock and sees one moment; of writers, one at a time has its turn."""

    def __init__(self, path: Path, *, in_memory: bool = False) -> None:
        self.path = path
        self.in_memory = in_memory
        self._idle: list[apsw.Connection] = []
        self._lock = Mutex()
        self._writer: apsw.Connection | None = None
        self._journalled = 0
        self._process = os.getpid()
        self._name = os.fspath(path)  # looked at before each question, for which a Path is slow
        self._inode = 0 if in_memory else self._inode_on_disk()
        self._noted: dict[str, str | int] | None = None
        """What it noted about itself when it was opened, until that is asked for."""

    @classmethod
    def open(cls, path: Path, basis: str) -> Database:
        """Open an existing index file; raises IndexDamagedError if it is of another version or another basis."""
        database = cls(path)
        if database._inode == CUT_OFF:
            raise IndexDamagedError(f"{path.name} is cut off", hint="it is built again by itself")
        if not os.access(path.parent, os.W_OK):  # it could be read, but not be kept up to date
            raise unavailable(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
        version, noted = database.ask(lambda db: (db.pragma("user_version"), _notes(db)))
        if version != VERSION:
            raise IndexDamagedError(f"{path.name} has the form of another version", hint="it is built again by itself")
        if noted.get(BASIS) != basis:
            raise IndexDamagedError(f"{path.name} was built for other settings", hint="it is built again")
        database._noted = noted
        return database

    @classmethod
    def in_process(cls, agent: str) -> Database:
        """Return an index in memory: the last resort if nothing can be written."""
        path = Path(f"/memfolio-{agent}-{secrets.token_hex(6)}")
        with index_errors(path):
            database = cls(path, in_memory=True)
            with database.writing() as connection:
                _create_tables(connection)
        return database

    @classmethod
    def build(cls, folder: Path, agent: str, fill: Callable[[apsw.Connection], None]) -> Path:
        """A complete index in a file of its own that nobody sees before it is published."""
        path = folder / f".{agent}-{secrets.token_hex(6)}.building"
        with index_errors(path), ExitStack() as unfinished:
            unfinished.callback(discard, path)
            _create(path)
            with closing(_connect(path, is_new=True)) as connection:
                # In a transaction of its own: pages get checksums only once the first one is written.
                with connection:
                    _create_tables(connection)
                with connection:
                    fill(connection)
            _sync(path)
            unfinished.pop_all()
        return path

    @classmethod
    def publish(cls, built: Path, agent: str) -> Path:
        """Put a built index in the place of the others, which are removed; of two at once, one stays."""
        with index_errors(built):
            path = next_name(built.parent, agent)
            os.rename(built, path)
            for match in _files(path.parent, agent):
                if int(match["version"]) < VERSION or (_is_ours(match) and match.string < path.name):
                    discard(path.parent / match.string)
            _discard_abandoned(path.parent)
        return path

    def is_current(self) -> bool:
        """Whether the file is still the one that was opened: another process may have built a newer one."""
        return self.in_memory or self._inode_on_disk() == self._inode

    def is_at(self, head: Head) -> bool:
        """Whether the index holds every file as it was behind this change."""
        wanted = {HEAD: head.seq, CHAIN: head.hash}.items()
        noted, self._noted = self._noted, None  # right after it was opened, asking again would tell nothing else
        return (noted is not None and wanted <= noted.items()) or wanted <= self.ask(_notes).items()

    def is_replaced(self) -> bool:
        """Whether somebody cut the file off, or put another one under its name: its journal would not belong to it."""
        return not self.in_memory and self._inode_on_disk() not in (0, self._inode)

    def _inode_on_disk(self) -> int:
        try:
            found = os.stat(self._name)
        except OSError:
            return 0
        return CUT_OFF if found.st_size % PAGE else found.st_ino

    def ask(self, question: Callable[[apsw.Connection], T]) -> T:
        """Run a query in one read transaction."""

        def at_one_moment(connection: apsw.Connection) -> T:
            connection.execute("BEGIN")
            if isinstance(connection, ReadingConnection):
                connection.is_checked = False
            answer = question(connection)
            connection.execute("COMMIT")
            return answer

        return self._lent(at_one_moment)

    @contextmanager
    def writing(self, *, busy_ms: int = BUSY_MS) -> Iterator[apsw.Connection]:
        """Yield the one writing connection, inside a transaction: all of it counts, or nothing."""
        with self._exclusive(busy_ms), index_errors(self.path):
            connection = self._own_writer()
            connection.set_busy_timeout(busy_ms)
            connection.execute("BEGIN IMMEDIATE")
            with ExitStack() as unfinished:
                unfinished.callback(_roll_back, connection)
                yield connection
                connection.execute("COMMIT")
                unfinished.pop_all()
            if self._journalled > LONGEST_JOURNAL:
                self.tidy()

    def tidy(self) -> None:
        """Fold the journal into the file if it has grown; readers and writers go on meanwhile."""
        if self._journalled > LONG_JOURNAL:
            self._lent(_checkpoint)
            self._journalled = 0

    def _note_journal(self, _: apsw.Connection, __: str, pages: int) -> int:
        self._journalled = pages
        return apsw.SQLITE_OK

    @contextmanager
    def _exclusive(self, busy_ms: int) -> Iterator[None]:
        """This process's turn to write."""
        if not self._lock.take(timeout=busy_ms / 1000):
            raise IndexBusyError(f"{self.path.name} is being written by another thread", hint="try again in a moment")
        try:
            yield
        finally:
            self._lock.end()

    def _lent(self, use: Callable[[apsw.Connection], T]) -> T:
        """Lend a reading connection to `use`; if that fails, the connection may hold a transaction, and is closed."""
        with index_errors(self.path):
            self._notice_fork()
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect(ReadingConnection)
            try:
                answer = use(connection)
            except BaseException:
                connection.close(True)
                raise
            self._idle.append(connection)
            return answer

    def _own_writer(self) -> apsw.Connection:
        self._notice_fork()
        if self._writer is None:
            self._writer = self._connect()
            # Without an fsync: until that of a later checkpoint, a power failure takes back whole changes, or damages
            # a page, which its checksum shows. If somebody reads for too long, changes are written without a log.
            self._writer.execute("PRAGMA synchronous = off; PRAGMA journal_mode = wal")
            self._writer.execute(f"PRAGMA synchronous = normal; PRAGMA journal_size_limit = {JOURNAL_BYTES}")
            # Folding takes an fsync or two, which no one who writes should wait for.
            self._writer.wal_autocheckpoint(0)
            self._writer.set_wal_hook(self._note_journal)
        return self._writer

    def _connect(self, kind: type[apsw.Connection] = apsw.Connection) -> apsw.Connection:
        if self.in_memory:
            connection = apsw.Connection(f"file:{self.path}?vfs=memdb", flags=_URI)
            connection.set_busy_timeout(BUSY_MS)
        else:
            connection = _connect(self.path, kind)
        register(connection)
        return connection

    def _notice_fork(self) -> None:
        """A forked process must not touch its parent's connections, not even to close them."""
        if self._process != os.getpid():
            _orphans.extend([*self._idle, *([self._writer] if self._writer else [])])
            self._idle, self._writer, self._process = [], None, os.getpid()

    def close(self) -> None:
        """Let go of the file; the last one to do so folds the journal into it."""
        if self._process != os.getpid():
            return
        with self._lock, _gate, suppress(apsw.Error):
            for connection in self._idle:
                connection.close(True)
            writer, self._idle, self._writer = self._writer, [], None
            if writer is not None:
                with closing(writer), suppress(*_BUSY):  # who else has it open goes on with the log
                    writer.execute("PRAGMA journal_mode = delete")


_URI = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
_orphans: list[apsw.Connection] = []
"""Connections of a parent process: kept, so that nothing closes them in the child."""


def _connect(path: Path, kind: type[apsw.Connection] = apsw.Connection, *, is_new: bool = False) -> apsw.Connection:
    """A connection to an index file; a new one is filled without a journal, and reaches the disk when it is whole."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if is_new else 0)
    connection = kind(str(path), flags=flags, vfs=_vfs())
    with ExitStack() as unfinished:
        unfinished.callback(connection.close, True)
        connection.set_busy_timeout(BUSY_MS)
        if is_new:
            connection.pragma("page_size", PAGE)
            if _vfs():
                connection.reserve_bytes("main", 8)
            connection.execute("PRAGMA journal_mode = off; PRAGMA synchronous = off")
        connection.execute(f"PRAGMA temp_store = memory; PRAGMA cache_size = {-CACHE_KIB}")
        unfinished.pop_all()
    return connection


def _roll_back(connection: apsw.Connection) -> None:
    with suppress(apsw.Error):
        connection.execute("ROLLBACK")


def _checkpoint(connection: apsw.Connection) -> None:
    """Fold the journal into the file, and empty it if nobody uses it at this moment."""
    connection.set_busy_timeout(0)
    with suppress(*_BUSY):
        connection.wal_checkpoint()
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.set_busy_timeout(BUSY_MS)


def _create_tables(connection: apsw.Connection) -> None:
    connection.pragma("application_id", APPLICATION)
    connection.pragma("user_version", VERSION)
    connection.execute(schema())


def _sync(path: Path) -> None:
    """Bring the file to the disk before its name says that it is whole."""
    fd = os.open(path, os.O_RDWR)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# Databases of other programs, which are only read.

LONGEST = 64 << 20
"""Bytes of one value."""


class Foreign:
    """A foreign database opened for reading; nothing in it is trusted to run."""

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self._path, self._connection = path, connection

    def columns(self, table: str) -> set[str]:
        """Return the columns of a table; empty if it does not exist."""
        found = self.rows("SELECT name FROM pragma_table_info(?)", table)
        return {row["name"] for row in found}

    def rows(self, sql: str, *values: Any) -> Iterator[dict[str, Any]]:
        """The rows of an answer, by the names of their columns."""
        with _errors(self._path):
            cursor = self._connection.execute(sql, values)
            for row in cursor:
                yield dict(zip((name for name, _ in cursor.get_description()), row, strict=True))


@contextmanager
def reading(path: Path) -> Iterator[Foreign]:
    """Open a foreign database; raises InputError if it cannot be read."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with _errors(path):
        connection = apsw.Connection(f"file:{quote(str(path.resolve()))}?mode=ro", flags=flags)
    with closing(connection):
        with _errors(path):
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST)
            connection.set_busy_timeout(2000)
            connection.execute("BEGIN")  # all answers are of one moment
        yield Foreign(path, connection)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a database: {error}", hint="copy it again, or repair it") from error
