"""The index of one agent: opened, kept up to date with the files, rebuilt when it is damaged, and queried."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import chain, groupby
from pathlib import Path
from typing import Any, TypeVar

from apsw import Connection

from memfolio.errors import (
    HomeError,
    IndexBusyError,
    IndexDamagedError,
    IndexUnavailableError,
    MemfolioError,
    SearchIndexError,
)
from memfolio.index.database import (
    AGENT,
    BASIS,
    Database,
    Mutex,
    agents_in,
    discard,
    discard_others,
    head_of,
    is_whole,
    newest,
    predecessor,
    set_head,
    set_meta,
)
from memfolio.index.read_files import is_log, is_searched, knowledge_of, precedence
from memfolio.index.rows import number
from memfolio.index.search import as_heard_by
from memfolio.index.vectors import Matrix, carry_over, text_hash
from memfolio.index.write import Filing, stored_state
from memfolio.types import MemoryItem
from memfolio.vault.agents import agent_file
from memfolio.vault.folders import notes_below, read_note_file
from memfolio.vault.journal import FileState, Head, Record, Written
from memfolio.vault.lines import read_lines
from memfolio.vault.paths import agent_of, is_outside, is_state, ledger_of
from memfolio.vault.vault import Vault

# It follows the vault: each change that the vault enters is noted (`follow`), and filed before the next answer.
# Whatever else happened while nobody followed is found by comparing files with what was filed (`catch_up`). So it never
# holds up a write, and a reader always sees the files as they are.

# Keeping an index like the files: all of them, those that changed, or only what a change of ours added.

logger = logging.getLogger("memfolio")
Progress = Callable[[int, int], None]


def _silent(done: int, total: int) -> None:
    """Nobody watches."""


RETRY = 1.0
"""Seconds after which a file that could not be read is tried again."""


# The folders of notes that an agent watches, as its `agent.toml` names them.


class NoteFolders:
    """The notes in the folders that one agent watches."""

    def __init__(self, vault: Vault, agent: str) -> None:
        self.surveys = 0
        """How often they were looked over."""
        self.settings_file = agent_file(agent)
        self._vault, self._agent = vault, agent
        self._is_behind = True
        self._seen: tuple[object, tuple[str, ...]] | None = None
        self._problems: dict[str, str] = {}

    def roots(self) -> tuple[str, ...]:
        """The folders; none while the settings make no sense."""
        look = self._vault.glance(self.settings_file)
        if look is None:
            return ()
        if self._seen is None or self._seen[0] != look:
            try:
                self._seen = look, self._vault.settings(self._agent).watches
            except MemfolioError:
                return ()  # the scope of the agent says why
        return self._seen[1]

    @property
    def is_behind(self) -> bool:
        """Whether notes may have changed since they were last looked over."""
        return self._is_behind and bool(self.roots())

    def mark_behind(self) -> None:
        """Have the notes looked over before the next answer."""
        self._is_behind = True

    def missing(self) -> dict[str, str]:
        """Return watched folders that are unavailable, each with the reason."""
        found: dict[str, str] = {}
        for root in self.roots():
            try:
                with os.scandir(root) as entries:
                    if not any(entries):
                        found[root] = "is empty; if it lies on a disk, mount it"
            except OSError as error:
                found[root] = f"cannot be opened: {error.strerror}; its notes are found again when it is back"
        return found

    def states(self, filed: Mapping[str, FileState]) -> dict[str, FileState]:
        """Return the state of every note; one whose stamp changed since indexing has no hash."""
        self._is_behind = False  # first, so that a change that comes meanwhile says otherwise
        self.surveys += 1
        self._problems = {}
        states: dict[str, FileState] = {}
        for root in self.roots():
            for path, note in (notes_below(root) or {}).items():
                known = filed.get(path)
                is_same = known is not None and known.stamp == note.stamp
                states[path] = FileState(known.hash if known and is_same else "", note.stamp.size, note.stamp)
                if note.problem:
                    self._problems[path] = note.problem
        return states

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a note, None if it is gone; OSError says why it cannot be read."""
        if why := self._problems.get(path):
            raise OSError(why)
        root = self.root_of(path)
        return read_note_file(root, path) if root else None

    def root_of(self, path: str) -> str | None:
        """Return the watched folder that contains a path, or is it."""
        return next((root for root in self.roots() if f"{path}{os.sep}".startswith(os.path.join(root, ""))), None)


class FileIndexer:
    """Indexes one agent's files, inside transactions of its callers."""

    def __init__(self, vault: Vault, agent: str) -> None:
        self._vault = vault
        self._agent = agent
        self.notes = NoteFolders(vault, agent)
        self.retries_at: float | None = None
        """When files are looked at again that could not be read; None when all could."""

    def states(self, db: Connection) -> dict[str, FileState]:
        """Every file of this agent that is searched, as the vault knows it, and every note that it watches."""
        rows = db.execute("SELECT path, hash, size, stamp FROM files")
        filed = {path: stored_state(*state) for path, *state in rows}
        states = self._vault.states(filed)
        return {path: state for path, state in states.items() if self._is_ours(path)} | self.notes.states(filed)

    def compared(self, db: Connection) -> tuple[int, dict[str, FileState], list[str]]:
        """The change up to which files are filed, every file, and those that are filed otherwise than they are."""
        states, filed = self.states(db), dict(db.execute("SELECT path, hash FROM files"))
        changed = {path for path, state in states.items() if filed.get(path) != state.hash}
        return head_of(db), states, _in_order(changed | (filed.keys() - states.keys()))

    def file(
        self,
        db: Connection,
        states: Mapping[str, FileState],
        paths: Iterable[str] | None = None,
        *,
        tell: Progress = _silent,
    ) -> None:
        """File these files, or all; those that have no state are gone."""
        filing = self._filing(db)
        self.retries_at = None
        wanted = _in_order(states) if paths is None else list(paths)
        for done, path in enumerate(wanted):
            tell(done, len(wanted))
            if path in states:
                self._put(filing, path, states[path])
            else:
                filing.drop(path)

    def take(self, db: Connection, record: Record) -> None:
        """Index a change that follows what is indexed."""
        filing, added = self._filing(db), dict[str, list[MemoryItem]]()
        for path, item in record.items:
            added.setdefault(path, []).append(item)
        was = {mark.path: mark.was for mark in record.line.files}
        # What leaves a file is filed before what comes into another, and what is said about both at the end.
        writes = sorted(record.writes, key=lambda each: (is_state(each.path), _growth(each, record.before)))
        for write in writes:
            if self._is_ours(write.path):
                self._take(db, filing, write, added, (was.get(write.path), record.before.get(write.path)))

    def _take(
        self,
        db: Connection,
        filing: Filing,
        write: Written,
        added: Mapping[str, list[MemoryItem]],
        before: tuple[str | None, bytes | None],
    ) -> None:
        """File one file's share of a change: only what is added or moved, where that is all that happened.

        `before` is the hash and the content of a file that was replaced.
        """
        state = write.state
        if state is None:
            return filing.drop(write.path)
        found = db.execute("SELECT hash, size FROM files WHERE path = ?", (write.path,)).fetchone()
        filed_hash, filed_size = found or (None, 0)
        # Of several changes of a file, the first that needs all of it has it filed as it is, for the others as well.
        current = self._vault.files.get(write.path)
        if filed_hash is not None and filed_hash in (state.hash, current and current.hash):
            return None
        if write.start == filed_size and write.data is not None:
            if items := added.get(write.path):
                return filing.add(write.path, items, state)
            if is_log(write.path) and filing.append_log(write.path, write.data, state):
                return None
            if is_state(write.path) and self._is_newest(db, write.path):
                return filing.extend(write.path, read_lines(write.data).records, state)
            if knowledge_of(write.path) and filing.append_knowledge(write.path, write.data, state):
                return None
        is_moved = is_log(write.path) and before[0] == filed_hash and None not in (before[1], write.data)
        if is_moved and filing.amend(write.path, before[1] or b"", write.data or b"", state):
            return None
        return self._put(filing, write.path, state)

    def _is_newest(self, db: Connection, path: str) -> bool:
        """Whether no later part of this ledger is filed: lines count in the order of their parts."""
        ledger = ledger_of(path)
        later = ledger[0].part(ledger[1] + 1) if ledger else path
        return db.execute("SELECT 1 FROM files WHERE path = ?", (later,)).fetchone() is None

    def _put(self, filing: Filing, path: str, state: FileState) -> None:
        """File what is in a file now; it may be newer than what the vault knows, which will then come to know it."""
        try:
            data = self._read(path)
        except (OSError, HomeError) as error:
            if is_outside(path):  # a note has that as its problem until its stamp changes
                filing.put_unread(path, state, getattr(error, "strerror", None) or str(error))
                return
            logger.debug("%s stays as it was filed: %s", path, error)  # the survey reports it
            self.retries_at = time.monotonic() + RETRY
            return
        if data is None:
            filing.drop(path)
        else:
            filing.put(path, data, FileState(self._vault.home.hash(data), len(data), state.stamp))

    def _read(self, path: str) -> bytes | None:
        return self.notes.read(path) if is_outside(path) else self._vault.read(path)

    def _read_again(self, path: str) -> bytes | None:
        """The bytes of a file that was filed before; a note that is gone or locked since then will be told as that."""
        try:
            return self._read(path)
        except OSError:
            if not is_outside(path):
                raise
            return None

    def _is_ours(self, path: str) -> bool:
        return agent_of(path) == self._agent and is_searched(path)

    def _filing(self, db: Connection) -> Filing:
        return Filing(db, self._agent, self._vault.home.zone, self._read_again)


def _joined(records: Iterable[Record]) -> Iterator[Record]:
    """The same changes, with what was appended to one file by one after the other as one change."""
    for _, group in groupby(records, _company):
        each = list(group)
        last = each[-1]
        if len(each) == 1:
            yield last
            continue
        data = b"".join(record.writes[0].data or b"" for record in each)
        write = last.writes[0]._replace(start=each[0].writes[0].start, data=data)
        yield last._replace(writes=(write,), items=tuple(chain.from_iterable(record.items for record in each)))


def _company(record: Record) -> object:
    """What changes that can be filed as one have in common; a change that stands alone has its number."""
    is_append = len(record.writes) == 1 and record.writes[0].start is not None and not record.writes[0].is_unknown
    return (record.writes[0].path, bool(record.items)) if is_append else record.line.seq


def _growth(write: Written, before: Mapping[str, bytes]) -> int:
    return len(write.data or b"") - (0 if write.start is not None else len(before.get(write.path, b"")))


def _in_order(paths: Iterable[str]) -> list[str]:
    """Sort paths: state files first, since they decide about the rest; then by precedence."""
    return sorted(paths, key=lambda path: (not is_state(path), precedence(path)))


T = TypeVar("T")

FOLLOW_MS = 250
"""How long changes wait to be filed while another process holds the index; then the files are compared."""
FEW_UNFILED, MANY_UNFILED = 128, 1024
"""How many changes are filed together, and how many are noted at most where nobody asks or prepares."""
EASY_BYTES = 1 << 20
"""How much a home without an index may hold for it to be built by the way."""
MANY_FILES = 64
"""From how many changed files on the index is built anew, beside the one that is in use, instead of in its place."""
SHARE = 16
"""The same as a part of all files, where that is more: a large folder of notes is not read again for a few of them."""

ATTEMPTS = 8
"""How often one reader compares while others keep changing files; then it keeps them from doing so."""


class Index:
    """The search index of one agent. Threads may share it; each process has its own."""

    def __init__(self, vault: Vault, agent: str) -> None:
        self.agent = agent
        self.matrix = Matrix()
        self.notices: list[str] = []
        """Repairs to report to a person once."""
        self.builds = 0
        """How often it was built from the files here."""
        self.trouble: MemfolioError | None = None
        """Why the index is only in this process's memory or behind the files; None when all is well."""
        self.progress: Progress = _silent
        """Called with the number of indexed files, and their total."""
        self._vault = vault
        self._indexer = FileIndexer(vault, agent)
        self._folder = vault.config.cache
        self._lock = Mutex()
        self._database: Database | None = None
        self._unfiled = deque[Record]()
        """Changes that are to be filed before the next answer."""
        self._is_behind = True
        self._is_closed = False
        self._epoch = -1

    def follow(self, *records: Record) -> None:
        """Note changes that the vault has just entered, to be filed before the next answer.

        Called under the write lock, so it never raises or waits. Changes that come one after the other are filed
        together, in one transaction.
        """
        for record in records:
            # Settings may name other folders of notes, which take longer to read than a write may wait.
            is_settled = self.notes.settings_file not in record.line.paths
            if self._database is None or self._is_behind or not is_settled or len(self._unfiled) >= MANY_UNFILED:
                self._is_behind = True
            else:
                self._unfiled.append(record)

    def _file_noted(self) -> None:
        """File the changes that were noted; where that cannot be, the files are compared before the next answer."""
        with self._lock:
            records, database, is_filed = tuple(self._unfiled), self._database, False
            try:
                if database is not None and not self._is_behind:
                    is_filed = not records or self._take(database, records)
            except (SearchIndexError, HomeError) as error:
                logger.debug("the index stays behind: %s", error)
            finally:
                if not is_filed:  # else it stays as it is: others set it meanwhile
                    self._is_behind = True
                # Only now, so that another thread that asks meanwhile waits for them.
                for _ in records:
                    self._unfiled.popleft()

    def _take(self, database: Database, records: Sequence[Record]) -> bool:
        """File changes that come next; False when others are missing before them."""
        with database.writing(busy_ms=FOLLOW_MS) as db:
            filed = head_of(db)
            coming = [record for record in records if record.line.seq > filed]
            if coming and coming[-1].line.seq != filed + len(coming):
                return False
            for record in _joined(coming):
                self._indexer.take(db, record)
            if coming:
                set_head(db, coming[-1].head, is_whole=is_whole(db) and self._indexer.retries_at is None)
            return True

    def read(self, question: Callable[[Connection], T], *, is_caught_up: bool = False) -> T:
        """Ask the index as it is when the files are all filed; a damaged one is rebuilt and asked again.

        `is_caught_up` says that `moment` was asked just before, for the same question.
        """
        for _ in range(ATTEMPTS):
            self._check_open()
            if not is_caught_up:
                self.catch_up()
            is_caught_up, database = False, self._current()
            try:
                return database.ask(question)
            except (IndexDamagedError, IndexUnavailableError) as error:
                if database.is_current():  # else another process or thread has built a newer one
                    self._repair(error)
        raise _damaged_repeatedly()

    def find(self, question: Callable[[Connection], T | None]) -> T | None:
        """What there is, as `read` finds it; but that there is nothing is said only of an index that has all files.

        Raises IndexBusyError where it cannot be brought up to them.
        """
        with self._lock:  # so that no other thread puts an index in its place that is yet to be compared
            for _ in range(ATTEMPTS):
                self._is_behind = True
                found = self.read(question)
                if found is not None or not self._is_behind:
                    return found
                if isinstance(self.trouble, IndexBusyError):
                    break
        raise IndexBusyError(
            f"the index of {self.agent} cannot be brought up to the files at the moment", hint="try again in a moment"
        )

    def write(self, work: Callable[[Connection], T]) -> T:
        """Change what the index adds to the files, such as vectors; a damaged index is rebuilt and changed then."""
        for _ in range(ATTEMPTS):
            database = self._current()
            try:
                with database.writing() as db:
                    return work(db)
            except (IndexDamagedError, IndexUnavailableError) as error:
                if database.is_current() and not isinstance(error, IndexDamagedError):
                    raise
                if database.is_current():
                    self._repair(error)
            self.catch_up()
        raise _damaged_repeatedly()

    def claim_vectors(self, identity: str, hashes: Sequence[bytes]) -> tuple[dict[bytes, bytes], set[bytes]]:
        """The vectors that other servers have made of these texts, and those that are to be made here."""
        return self._vault.claim_vectors(identity, hashes)

    def share_vectors(self, identity: str, vectors: Mapping[bytes, bytes]) -> None:
        """Let other servers have vectors that were paid for."""
        self._vault.share_vectors(identity, vectors)

    def tidy(self) -> None:
        """Do housekeeping while there is time."""
        if self._database is not None:
            self._database.tidy()

    def prepare(self) -> None:
        """Open the index before a write, so that `follow` can index the change at once.

        An index that is far behind is left to the next reader, so that the writer does not wait.
        """
        if len(self._unfiled) >= FEW_UNFILED:
            self._file_noted()
        # Whoever asks the index next looks whether its file was replaced.
        if self._is_noting():
            return
        with self._lock, suppress(SearchIndexError):
            if self._is_easy():
                self._compare(with_notes=False)

    def _is_easy(self) -> bool:
        if newest(self._folder, self.agent) is None:
            size = sum(state.size for state in self._vault.states().values())
            return size < EASY_BYTES and not self.notes.roots()
        return self._opened().is_at(self._vault.newest)

    def catch_up(self) -> None:
        """File whatever changed since the index last followed."""
        self._refresh()
        if self._unfiled:
            self._file_noted()
        if self._is_followed():
            return None
        with self._lock:
            for _ in range(ATTEMPTS):
                if self._is_followed():
                    return None
                try:
                    return self._compare()
                except (IndexDamagedError, IndexUnavailableError) as error:
                    if not self._is_outdated():
                        self._repair(error)
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

    def moment(self) -> tuple[object, ...]:
        """What is the same for as long as the index says the same, once it has caught up; never, while it cannot."""
        self.catch_up()
        behind = (object(),) if self._is_behind else ()
        moment = self._vault.epoch, self._vault.newest.seq, self.notes.surveys
        return self._current().path, self.builds, *moment, *behind

    def mark_behind(self) -> None:
        """Compare the files with the index before the next answer."""
        self._is_behind = True

    @property
    def notes(self) -> NoteFolders:
        """The notes outside of the home that are found with the rest."""
        return self._indexer.notes

    @property
    def is_open(self) -> bool:
        """Whether anything was asked of it in this process."""
        return self._database is not None

    def _refresh(self) -> None:
        """Learn of other processes' changes, unless one of them holds the home for too long."""
        try:
            self._vault.refresh()
        except HomeError as error:
            self.trouble = error
        else:
            if isinstance(self.trouble, HomeError):
                self.trouble = None

    def rebuild(self, *, progress: Progress | None = None) -> int:
        """Build the index anew from the files; returns how many files it holds."""
        with self._lock:
            self._build(progress)
        return self.read(lambda db: number(db, "SELECT count(*) FROM files"))

    def _is_followed(self) -> bool:
        database = self._database
        return database is not None and not self.notes.is_behind and self._is_noting() and database.is_current()

    def _is_noting(self) -> bool:
        """Whether an index is open that lacks nothing but the changes that are noted, and notes outside of the home."""
        is_in_step = self._database is not None and not self._is_behind and self._epoch == self._vault.epoch
        return is_in_step and not self._is_time_to_retry()

    def _is_time_to_retry(self) -> bool:
        """Whether files that could not be read are to be tried again."""
        retries_at = self._indexer.retries_at
        return retries_at is not None and time.monotonic() >= retries_at

    def _check_open(self) -> None:
        if self._is_closed:
            raise HomeError(f"{self._vault.config.home} was closed", hint="open it again")

    def _current(self) -> Database:
        database = self._database
        if database is None:
            raise IndexUnavailableError("the index was closed", hint="open the home again")
        return database

    def _compare(self, *, with_notes: bool = True) -> None:
        """Bring the index in line with the files, in place if little changed, else by rebuilding it."""
        is_done = any(self._compare_once(with_notes=with_notes) for _ in range(ATTEMPTS))
        if not is_done:  # others are quicker: they wait for once
            with self._vault.at_rest():
                is_done = self._compare_once(with_notes=with_notes)
        if not is_done:
            self._is_behind = True
        if self.trouble is not None and not self._current().in_memory:
            self.trouble = None

    def _compare_once(self, *, with_notes: bool) -> bool:
        """Whether the index has come up to the files; False when somebody changed one of the two meanwhile."""
        database = self._opened()
        self._is_behind = False  # first, so that a change that comes meanwhile and cannot be filed says otherwise
        self._epoch, head = self._vault.epoch, self._vault.newest
        is_at_head = database.is_at(head) and self._vault.trouble is None
        if is_at_head and not (with_notes and self.notes.is_behind):
            return True
        before, states, stale = database.ask(self._indexer.compared)
        if self._vault.newest != head:
            return False  # the files are those of a later moment
        if not stale and (is_at_head or self._vault.trouble is not None):
            return True  # up to which change that is, those who can write know better
        if len(stale) > max(MANY_FILES, len(states) // SHARE):
            self._build()
            return False
        return self._file(database, states, stale, before, head)

    def _file(
        self, database: Database, states: Mapping[str, FileState], paths: Sequence[str], before: int, head: Head
    ) -> bool:
        """Index these files; False if somebody else has indexed something meanwhile."""
        with database.writing() as db:
            if head_of(db) != before:
                return False
            self._indexer.file(db, states, paths)
            set_head(db, head, is_whole=self._indexer.retries_at is None)
        return True

    # The file itself

    def _opened(self) -> Database:
        """Return the newest index file, or build one."""
        database = self._database
        if database is not None and database.is_replaced():
            raise IndexDamagedError(f"{database.path.name} was replaced", hint="it is built again by itself")
        if database is None or not database.is_current():
            self._database = database = self._open_newest() or self._build()
            self.matrix = Matrix()
        return database

    def _open_newest(self) -> Database | None:
        path = newest(self._folder, self.agent)
        try:
            return Database.open(path, self._basis()) if path else None
        except IndexUnavailableError:
            if path is None or os.path.lexists(path):
                raise
            return self._open_newest()  # another process has built a newer one meanwhile

    def _basis(self) -> str:
        """What the index depends on beside the files."""
        whose = self._vault.home.hash(self.agent.encode())  # no two homes have the same secret
        purges = self._vault.home.purges
        return f"{self._vault.config.home}\n{self._vault.home.zone}\n{whose}" + (f"\n{purges}" if purges else "")

    def _repair(self, error: MemfolioError) -> None:
        """Rebuild the index after damage, and leave one notice about it."""
        with self._lock:
            if not self._build().in_memory:
                notice = f"the search index was rebuilt: {error.message}"
                logger.warning(notice)
                self.notices.append(notice)

    def _build(self, progress: Progress | None = None) -> Database:
        """Build a new index of all files to replace the present one."""
        head, basis, tell = self._vault.newest, self._basis(), progress or self.progress

        def fill(db: Connection) -> None:
            states = self._indexer.states(db)
            self._indexer.file(db, states, tell=tell)
            tell(len(states), len(states))
            set_meta(db, BASIS, basis)
            set_meta(db, AGENT, self.agent)
            set_head(db, head, is_whole=self._indexer.retries_at is None)
            self._keep_embeddings(db)

        try:
            built = Database.build(self._folder, self.agent, fill)
            if basis != self._basis():  # somebody purged something that may be in it
                discard(built)
                return self._build(progress)
            database = self._published(built)
        except IndexUnavailableError as error:
            self.trouble = error
            database = Database.in_process(self.agent)
            with database.writing() as db:
                fill(db)
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
            return Database.open(path, self._basis())
        except SearchIndexError:
            newer = None if os.path.lexists(path) else self._open_newest()
            if newer is None:
                raise
            return newer

    def _keep_embeddings(self, db: Connection) -> None:
        """Carry over the vectors that cost money or time, from the index that is there or was there before."""
        database = self._database
        if database is not None and (database.in_memory or database.is_current()):
            carry_over(database, db)
        elif path := predecessor(self._folder, self.agent):
            with closing(Database(path)) as old:  # of whatever settings and form: the texts decide
                carry_over(old, db)

    def close(self) -> None:
        """Let go of the file, with all changes filed, so that the next process finds nothing to do."""
        if self._unfiled:
            self._file_noted()
        self._is_closed = True
        with self._lock:
            database, self._database = self._database, None
            if database is not None:
                database.close()


class HeardIndex:
    """An index that shows a listener only what they may hear; everything else is unchanged."""

    def __init__(self, index: Index, listener: str) -> None:
        self._index, self._listener = index, listener

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def read(self, question: Callable[[Connection], T], *, is_caught_up: bool = False) -> T:
        return self._index.read(lambda db: as_heard_by(db, self._listener, question), is_caught_up=is_caught_up)

    def find(self, question: Callable[[Connection], T | None]) -> T | None:
        return self._index.find(lambda db: as_heard_by(db, self._listener, question))


def _damaged_repeatedly() -> IndexUnavailableError:
    return IndexUnavailableError("the index is damaged again and again", hint="check the disk of the cache folder")


# Search indexes after a purge: built anew from the files, so that no page of them remembers what is gone.


def rebuilder(
    vault: Vault, opened: Sequence[Index], agents: Container[str] | None = None
) -> Callable[[Sequence[str]], list[str]]:
    """What `purge` calls to build the indexes of these agents anew, else all, whether they are open here or not.

    Vectors that were paid for are carried over as far as their texts are still in the files. Those of other agents
    build themselves when they are next opened.
    """

    def rebuild(texts: Sequence[str]) -> list[str]:
        folder, ours = vault.config.cache, {index.agent: index for index in opened}
        left, unbuilt = list[str](), set[str]()
        with ExitStack() as others:
            for agent in agents_in(folder):
                is_meant = agents is None or agent in agents
                if not is_meant or not vault.has_agent(agent):
                    continue
                index = ours.get(agent) or Index(vault, agent)
                if agent not in ours:
                    others.callback(index.close)
                index.rebuild()
                unbuilt |= {agent} if index.trouble else set()  # on a full disk: then the old one must go all the same
                left += index.read(lambda db, agent=agent: _vectors(db, agent, texts))  # type: ignore[misc]
        kept = (newest(folder, agent) for agent in agents_in(folder) if agent not in unbuilt)
        discard_others(folder, {path for path in kept if path})
        return left

    return rebuild


def _vectors(db: Connection, agent: str, texts: Iterable[str]) -> list[str]:
    """Return where the vector of a text is still stored."""
    sql = "SELECT count(*) FROM embeddings WHERE hash = ?"
    is_kept = any(number(db, sql, text_hash(text)) for text in texts)
    return [f"a vector of the index of {agent}"] if is_kept else []
