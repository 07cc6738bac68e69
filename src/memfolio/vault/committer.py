"""Committing off the acknowledgement path: changes wait a moment for company, then go into git with their bytes.

Nothing waits for git and nothing fails for it. While git is missing, broken or in somebody's hands, changes stay
in the journal, and every now and then somebody looks whether the way is free again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from memfolio.errors import DiskFullError, MemfolioError
from memfolio.types import HUMAN, Action
from memfolio.vault.disk import FileLock, disk_errors
from memfolio.vault.git.repository import STAGED, can_hold, is_current, is_led_by_us
from memfolio.vault.journal import Journal, Record, Written, is_sealed
from memfolio.vault.paths import AUDIT, is_tracked
from memfolio.vault.reconcile import RESTORED, alert_moved
from memfolio.vault.recover import rebuild
from memfolio.vault.writer import Writer

if TYPE_CHECKING:
    from memfolio.vault.git.history import History
    from memfolio.vault.git.repository import CommitDraft

COMMIT_WINDOW = timedelta(seconds=1)
MAX_BATCH = 200
MANY_LOOSE = 6_700
"""The number of loose objects from which on they are packed, the same as git's own limit."""

IDLE = 0.3
"""Seconds without a change after which git's index is brought up to date."""

LINGER = 5.0
"""Seconds without a change after which the thread ends; the next change starts another one."""

UNTIDY = 10.0
"""Seconds after which housekeeping runs even without a pause."""

FIRST_RETRY, LAST_RETRY = 1.0, 60.0
"""Seconds until changes that had to wait are tried again: twice as many each time, up to the last."""

BUSY_RETRY = 0.2
"""The same if only another process's commit is in the way, which may lack our newest change."""


@dataclass(slots=True)
class CommitGroup:
    """Changes that share a commit."""

    records: list[Record]
    contents: dict[str, bytes | None] = field(default_factory=dict)

    def accepts(self, record: Record) -> bool:
        """Appends of one actor and session within a second share a commit, and so do edits found of different files."""
        first = self.records[0]
        if first.line.by != record.line.by or record.moment - first.moment > COMMIT_WINDOW:
            return False
        if record.line.by == HUMAN:
            return not {path for each in self.records for path in each.line.paths}.intersection(record.line.paths)
        return first.line.action is record.line.action and _is_append(first) and _is_append(record)


class Committer:
    """Takes changes from the journal into git, in a thread of its own and when asked."""

    def __init__(self, journal: Journal, writer: Writer, lock: FileLock, *, delay: float) -> None:
        self._journal = journal
        self._home = journal.home
        self._writer = writer
        self._lock = lock
        self._delay = delay
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self.obstacle: str | None = None
        """Why changes are waiting; None when nothing is in the way."""
        self.failure: MemfolioError | None = None
        """The error of the last attempt; None if it was only postponed."""

    @property
    def _history(self) -> History:
        return self._journal.history

    def notify(self) -> None:
        """A change has been made: commit it soon."""
        self._wake.set()
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="memfolio-commit", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Commit what is waiting, then stop."""
        self._stopping.set()
        self._wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self.commit_now()
        self.tidy()

    def _run(self) -> None:
        tidied, retry = time.monotonic(), FIRST_RETRY
        waiting = 0
        while not self._stopping.is_set():
            if self._wake.wait(retry if waiting else LINGER):
                self._stopping.wait(self._delay)
            elif not waiting and self._is_over():
                return
            self._wake.clear()
            if self._stopping.is_set():
                return
            waiting = self.commit_now(wait=False)
            later = BUSY_RETRY if self.obstacle is None else min(2 * retry, LAST_RETRY)
            retry = later if waiting else FIRST_RETRY
            if not waiting and (not self._wake.wait(IDLE) or time.monotonic() - tidied > UNTIDY):
                self.tidy(wait=False)
                tidied = time.monotonic()

    def _is_over(self) -> bool:
        """Whether nothing was changed since: then the next change finds no thread, and starts one."""
        with self._starting:
            if not self._wake.is_set():
                self._thread = None
            return self._thread is None

    def commit_now(self, *, wait: bool = True) -> int:
        """Commit what is waiting; returns how many of these changes still wait, or -1 if that is unknown.

        Another process may be committing already; whether it saw our newest change is unknown.
        """
        return self._under_lock(self._commit_all, wait=wait)

    def tidy(self, *, wait: bool = True) -> None:
        """Bring git's index up to date, so that a person who looks sees a clean status."""
        self._under_lock(self._refresh, wait=wait)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Block all other committers."""
        with self._lock():
            yield

    def check_room(self) -> None:
        """Raise DiskFullError if a full disk is why changes are waiting."""
        if isinstance(self.failure, DiskFullError):
            raise self.failure

    def _under_lock(self, step: Callable[[], int], *, wait: bool) -> int:
        self.failure = None
        try:
            with disk_errors(self._home.root):
                if wait:
                    with self._lock():
                        return step()
                with self._lock.if_free() as is_locked:
                    return step() if is_locked else -1
        except MemfolioError as error:
            self.obstacle, self.failure = error.message, error
            return -1

    def _refresh(self) -> int:
        home, git = self._home, self._home.root / ".git"
        if git.exists() and not is_current(home.disk, git, home.config.git.branch):
            self._history.refresh_index()
            # Packing takes seconds: it is put off while somebody waits for this process to end.
            if self._history.is_crowded(MANY_LOOSE * 4 if self._stopping.is_set() else MANY_LOOSE):
                self._history.pack()
        return 0

    def _commit_all(self) -> int:
        waiting, home = self._waiting(), self._home
        if not waiting and is_led_by_us(home.disk, home.root / ".git", home.config.git.branch):
            self.obstacle = None
            return 0
        self._history.prepare()
        self.obstacle = self._obstacle(waiting)
        if self.obstacle is not None:
            return len(waiting)
        if self._history.is_set_back():
            self._note_set_back(waiting)
            waiting = self._waiting()
        elif built_on := self._history.built_on():
            self._reconcile(built_on)
            waiting = self._waiting()
        if self._history.tip() is None:
            self._recommit_all()
        elif waiting and (done := self._found_in_git(waiting)):
            self._mark_committed(done)
        # What arrives meanwhile waits for company of its own: following it would make a commit of every few changes.
        last = max((record.line.seq for record in self._waiting()), default=0)
        while (waiting := self._waiting()) and waiting[0].line.seq <= last:
            self._commit([record for record in waiting[:MAX_BATCH] if record.line.seq <= last])
        with self._writer.ready():
            self._journal.rotate_if_large()
        return 0

    def _obstacle(self, waiting: list[Record]) -> str | None:
        """Return what blocks a commit; older versions in the index of files that were put back do not count."""
        obstacle, journal = self._history.obstacle(), self._journal
        returned = {path for record in waiting if record.line.by == RESTORED for path in record.line.paths}
        states = {path: journal.files.get(path) for path in returned}
        returned = {path for path, known in states.items() if journal.stamp(path) == (known.stamp if known else None)}
        if obstacle != STAGED or not returned:
            return obstacle
        self._history.unstage([*returned, *journal.trail.parts()])
        return self._history.obstacle()

    def _note_set_back(self, waiting: list[Record]) -> None:
        """Record that the branch is led back to our newest commit, unless it says so already that files were."""
        if not any(record.line.by == RESTORED for record in waiting):
            with self._writer.ready():
                line = self._journal.enter(Action.RESTORE, RESTORED, sync=True)
                alert_moved(self._journal, [line.seq])

    def _reconcile(self, paths: list[str]) -> None:
        """Record what people committed as their edits, before building on it."""
        for path in paths:
            if is_tracked(path) and not path.startswith(f"{AUDIT}/"):
                with suppress(OSError, MemfolioError):  # what stands in the way of one file is said by the next look
                    self._writer.reconcile([path])

    def _recommit_all(self) -> None:
        """Commit every change again, since the history was deleted."""
        with self._writer.ready():
            if self._journal.committed:
                rebuild(self._journal)

    def _waiting(self) -> list[Record]:
        with self._writer.ready():
            if self._journal.has_gap():
                rebuild(self._journal)
            return list(self._journal.pending)

    def _found_in_git(self, waiting: list[Record]) -> int:
        """Return the newest of these changes that was committed by a process that died before saying so; 0 if none."""
        hashes = {record.line.seq: record.line.hash for record in waiting}
        for anchor in self._history.anchors():
            if anchor.seq < waiting[0].line.seq:
                break
            if hashes.get(anchor.seq) == anchor.chain:
                return anchor.seq
        return 0

    def _commit(self, records: list[Record]) -> None:
        disk, home = self._home.disk, self._home
        for part in dict.fromkeys(record.head.part for record in records):
            disk.sync_file(home.path(part))
        self._history.commit([self._draft(group) for group in self._fold(records)])
        self._mark_committed(records[-1].line.seq)

    def _mark_committed(self, seq: int) -> None:
        with self._writer.ready():
            self._journal.mark_committed(seq)
            if self._journal.head.seq == seq:
                self._journal.note_synced()  # whoever commits lines has synced them before

    def _fold(self, records: list[Record]) -> Iterator[CommitGroup]:
        """Group the changes and work out the content each group leaves in each file."""
        contents: dict[str, bytes | None] = {}
        groups: list[CommitGroup] = []
        for record in records:
            if groups and groups[-1].accepts(record):
                groups[-1].records.append(record)
            else:
                groups.append(CommitGroup([record]))
        for group in groups:
            for path, writes in _by_path(group.records).items():
                self._take(path, writes, contents, group)
            for run in _runs(group.records):
                part = run[0].head.part
                contents[part] = group.contents[part] = self._trail_behind(run, contents.get(part))
            yield group

    def _take(
        self, path: str, writes: Sequence[Written], contents: dict[str, bytes | None], group: CommitGroup
    ) -> None:
        """Work out what these writes of a group leave in a file; the hash behind appends vouches for all of them."""
        if not can_hold(path):
            return
        if path not in contents:
            contents[path] = self._history.read(path)
        together = contents[path]
        for write in writes:
            together = write.after(together or b"")
        if together is not None and self._home.hash(together) == writes[-1].now:
            contents[path] = group.contents[path] = together
            return
        for write in writes:  # the bytes of some are unknown
            after = self._content_after(write, contents[path] or b"")
            if after is not None or write.state is None:
                contents[path] = group.contents[path] = after

    def _content_after(self, write: Written, before: bytes) -> bytes | None:
        """Return the bytes that the writer wrote; if they are unknown, a file with the same hash serves."""
        home = self._home
        if write.state is None:
            return None
        if not write.is_unknown:
            after = write.after(before)
            if after is not None and home.hash(after) == write.state.hash:
                return after
        content = self._journal.read(write.path)
        return content if content is not None and home.hash(content) == write.state.hash else None

    def _trail_behind(self, run: Sequence[Record], before: bytes | None) -> bytes:
        """The trail's file with the lines of these changes at its end."""
        start = _line_start(run[0])
        if before is None or len(before) != start:
            before = self._trail_before(run[0], start)
        return before + b"".join(record.raw for record in run)

    def _trail_before(self, record: Record, start: int) -> bytes:
        """Return the trail before a line: as in git, or as in the file if git's version does not lead up to it."""
        part = record.head.part
        ours = self._journal.read(part) or b""
        for content in (self._history.read(part) or b"", ours):
            if len(content) >= start and _is_chain(content[:start] + record.raw):
                return content[:start]
        return ours[:start]

    def _draft(self, group: CommitGroup) -> CommitDraft:
        from memfolio.vault.git.repository import CommitDraft, format_seqs

        first, last = group.records[0].line, group.records[-1].line
        by = first.by
        trailers = [("Actor", by.actor), ("Approval", by.approval.value), ("Trigger", by.trigger)]
        if by.session:
            trailers.append(("Session", by.session))
        seqs = format_seqs(record.line.seq for record in group.records)
        return CommitDraft(
            writes=group.contents,
            subject=_subject(group),
            trailers=[*trailers, ("Seq", seqs), ("Chain", last.hash)],
            author=by.actor,
            at=group.records[-1].moment,
        )


def _by_path(records: Iterable[Record]) -> dict[str, list[Written]]:
    found: dict[str, list[Written]] = {}
    for write in chain.from_iterable(record.writes for record in records):
        found.setdefault(write.path, []).append(write)
    return found


def _line_start(record: Record) -> int:
    """Where the line of a change begins in its part of the trail."""
    return record.head.size - len(record.raw)


def _runs(records: Iterable[Record]) -> list[list[Record]]:
    """The changes whose lines stand one behind the other in one part of the trail."""
    runs: list[list[Record]] = []
    for record in records:
        last = runs[-1][-1].head if runs else None
        if last and (last.part, last.size) == (record.head.part, _line_start(record)):
            runs[-1].append(record)
        else:
            runs.append([record])
    return runs


def _is_append(record: Record) -> bool:
    return bool(record.writes) and all(write.start is not None for write in record.writes)


def _is_chain(lines: bytes) -> bool:
    """Whether each line of a part of the trail follows the one before it, by the hash at its end."""
    pairs = pairwise(lines.split(b"\n")[:-1])
    return all(is_sealed(line, before[-34:-2].decode("ascii", "replace")) for before, line in pairs)


def _subject(group: CommitGroup) -> str:
    line = group.records[0].line
    paths = dict.fromkeys(path for record in group.records for path in record.line.paths)
    entries = sum(record.line.count for record in group.records)
    named = next(iter(paths), "audit")
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    counted = f" · {entries} {'entry' if entries == 1 else 'entries'}" if entries else ""
    subject = f"[{line.action}] {named}{more}{counted}"
    return "".join(character if character.isprintable() else "?" for character in subject)
