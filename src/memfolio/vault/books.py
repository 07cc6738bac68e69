"""The books: how each file was last left, and the one place where a change is entered into the trail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memfolio.clock import iso
from memfolio.types import Action, Attribution, MemoryItem
from memfolio.vault.audit import FileMark, Head, Trail, TrailLine, is_sealed, part_for, seal, shorten_ids
from memfolio.vault.disk import Stamp
from memfolio.vault.home import Home
from memfolio.vault.paths import Ledger
from memfolio.vault.plan import Planned, Tail
from memfolio.vault.recent import FileState, Recent, Record, Written

if TYPE_CHECKING:
    from memfolio.vault.git.history import History

GIT_SECONDS = 2.0
"""How long a git command that is changing files is waited for."""


@dataclass(frozen=True, slots=True)
class Done:
    """A planned write that has happened, and the state it left."""

    planned: Planned
    stamp: Stamp | None

    @property
    def state(self) -> FileState | None:
        if self.planned.now is None:
            return None
        # A stamp of another size shows somebody else's hand: without it the file is read before it is believed.
        same = self.stamp is not None and self.stamp.size == self.planned.size
        return FileState(self.planned.now, self.planned.size, self.stamp if same else None)

    def mark(self) -> FileMark:
        planned = self.planned
        # An append's `was` is the line before it in the trail: leaving it out keeps lines short.
        was = planned.was if planned.start is None else None
        return FileMark(planned.path, planned.now, planned.size, was, planned.start)

    def written(self) -> Written:
        return Written(self.planned.path, self.planned.start, self.planned.data, self.state)


class Books:
    """Everything the writer must know before it writes and enter after it wrote; used under the write lock."""

    def __init__(self, home: Home, recent: Recent, trail: Trail) -> None:
        self.home = home
        self.recent = recent
        self.trail = trail
        self._history: History | None = None
        self.unrecorded: set[str] = set()
        self.is_loose = False
        """Whether the trail has lines that are neither synced nor to be told from the files once we append to them."""
        self.notices: list[str] = []
        """What was put right without being asked, for a person to read once."""
        self.repairs: list[str] = []
        """What was wrong with the trail and was mended, until somebody verifies it."""
        self.listeners: list[Callable[[Record], None]] = []
        self.when_entered: Callable[[], None] = lambda: None
        """Called after every change that is entered here."""
        self.epoch = 0
        """Grows whenever there may be changes that the listeners were not told about."""
        self._told: Head | None = None
        """The last change that they were told about; None before the first look."""
        self._git_lock: Stamp | None = None
        """A lock of git that was waited for in vain."""
        self._keys: dict[str, TrailLine] | None = None
        self._tails: dict[str, Tail] = {}
        self._parts: dict[Ledger, int] = {}

    @property
    def history(self) -> History:
        """The home's git; loaded on first use, since a process that only reads needs none."""
        if self._history is None:
            from memfolio.vault.git.history import History

            self._history = History(self.home.root, branch=self.home.config.git_branch, disk=self.home.disk)
        return self._history

    def close(self) -> None:
        """Let go of git's files."""
        if self._history is not None:
            self._history.close()

    def begin_anew(self) -> None:
        """Forget what a forked process has from its parent: it may be half of a change that a thread was making."""
        self.recent.clear()
        self.forget_keys()
        self._told = None
        self.epoch += 1

    def await_git(self) -> None:
        """Wait for a git command that is under way: half of what it does to the files is nobody's edit."""
        path, end = self.home.root / ".git" / "index.lock", time.monotonic() + GIT_SECONDS
        while self.home.config.git_enabled and (lock := self.home.disk.stamp(path)) and lock != self._git_lock:
            if time.monotonic() > end:
                self._git_lock = lock
                return
            time.sleep(0.005)

    def stamp(self, path: str) -> Stamp | None:
        return self.home.disk.stamp(self.home.path(path))

    def read(self, path: str) -> bytes | None:
        return self.home.disk.read(self.home.path(path))

    def known(self, path: str) -> FileState | None:
        return self.recent.known.get(path)

    def tail_of(self, path: str) -> Tail:
        """How a settled file ends; read once, then followed from append to append."""
        known, tail = self.known(path), self._tails.get(path)
        if known is None:
            return self.tail_behind(None)
        if tail is None or tail.hash != known.hash:
            tail = self._tails[path] = self.tail_behind(self.read(path) or b"")
        return tail

    def tail_behind(self, content: bytes | None) -> Tail:
        """How a file with this content ends; None for one that is not there."""
        start = Tail(None, 0, b"", self.home.hasher())
        return start if content is None else start.then(content)

    def newest_part(self, ledger: Ledger) -> int:
        number = self._parts.get(ledger, 1)
        while number > 1 and ledger.part(number) not in self.recent.known:
            number -= 1
        while ledger.part(number + 1) in self.recent.known:
            number += 1
        self._parts[ledger] = number
        return number

    def follow(self, records: Sequence[Record]) -> None:
        """Carry remembered tails over the changes of other processes, and tell the listeners of them."""
        for record in records:
            if self._told is not None and is_sealed(record.raw, self._told.hash):
                self._tell(record)
            self.learn(record.line)
            self.is_loose |= any(write.start is None for write in record.writes)
            for write in record.writes:
                tail = self._tails.pop(write.path, None)
                if tail and write.start == tail.size and write.data:
                    self._tails[write.path] = tail.then(write.data)

    def note_told(self) -> None:
        """Let the epoch grow if what was caught up with is not what the listeners were told, change by change."""
        if not self._is_told(self.recent.head):
            self.epoch += 1
            self.forget_keys()
        self._told = self.recent.head

    def _is_told(self, head: Head) -> bool:
        return self._told is None or self._told.hash == head.hash

    def _tell(self, record: Record) -> None:
        self._told = record.head
        for listener in self.listeners:
            try:
                listener(record)
            except Exception:  # a subscriber's mistake is not the writer's: the change is made
                import logging

                logging.getLogger("memfolio").exception("a subscriber failed on change %d", record.line.seq)

    def made_under(self, key: str) -> TrailLine | None:
        """The change that was made under this key; the trail is read once, then followed."""
        if self._keys is None:
            lines = self.trail.lines(containing=[b'"key":'])
            self._keys = {line.key: line for line in lines if line.key}
        return self._keys.get(key)

    def learn(self, line: TrailLine) -> None:
        """Take note of a line that is in the trail: its key cannot be used again."""
        if self._keys is not None and line.key:
            self._keys[line.key] = line

    def forget_keys(self) -> None:
        """Have the trail read again for keys."""
        self._keys = None

    def look_again(self, paths: Iterable[str]) -> None:
        """Have these files read at the next look, whatever their stamps say."""
        for path in paths:
            if known := self.known(path):
                self.recent.remember(path, known._replace(stamp=None))

    def enter(
        self,
        action: Action,
        by: Attribution,
        done: Sequence[Done] = (),
        *,
        ids: Sequence[str] = (),
        about: Sequence[int] = (),
        key: str | None = None,
        items: tuple[tuple[str, MemoryItem], ...] = (),
        sync: bool = False,
        strict: bool = False,
    ) -> TrailLine:
        """Enter a change that has happened: its line in the trail, its bytes for the committer.

        A change of ours is durable already, so trouble here must not make it fail: the line is written later from
        what the files say. With `strict` or `sync` it does fail, because nobody waits for an acknowledgement yet.
        """
        head = self.recent.head
        at = iso(self.home.now())
        line, raw = seal(
            TrailLine(
                seq=head.seq + 1,
                at=at,
                action=action,
                by=by,
                files=tuple(each.mark() for each in done),
                ids=shorten_ids(ids),
                count=len(ids),
                about=tuple(about),
                key=key,
            ),
            head.hash,
        )
        self.learn(line)
        for each in done:
            if each.planned.tail:
                self._tails[each.planned.path] = each.planned.tail
        try:
            record = self._write(line, raw, done, month=at[:7], sync=sync)
        except OSError:
            self.unrecorded.update(each.planned.path for each in done)
            if sync or strict:
                raise
            return line
        if not self._is_told(head):
            self.epoch += 1
        self._tell(replace(record, items=items) if items and self.listeners else record)
        self.when_entered()
        return line

    def sync_trail(self) -> None:
        """Make every line so far durable."""
        if self.recent.head.part:
            self.home.disk.sync_file(self.home.path(self.recent.head.part))
        self.is_loose = False

    def _write(self, line: TrailLine, raw: bytes, done: Sequence[Done], *, month: str, sync: bool) -> Record:
        part = part_for(self.recent.head, month, len(raw), self.home.config.max_ledger_bytes)
        if part != self.recent.head.part:
            self.sync_trail()  # a part that begins must not outlive the end of the one before
        # A line without files has nothing that it could be written from again: it is made to last itself.
        self.home.disk.append(self.home.path(part), raw, sync=sync or not done)
        # Where the line should end: if it does not, somebody has moved the file, which whoever looks next puts right.
        end = (self.recent.head.size if part == self.recent.head.part else 0) + len(raw)
        record = Record(line, raw, Head(line.seq, line.hash, part, end), tuple(each.written() for each in done))
        self.recent.add(record)
        self.is_loose = not sync and (self.is_loose or any(each.planned.start is None for each in done))
        return record
