"""The journal: the bytes of changes that are not in git yet, and how each file was last left.

Processes that share a home read one another's changes in `.memfolio/recent.jsonl`, and the committer takes its bytes
from there. The file is a cache: it is never synced to disk, and when it is missing or damaged it is rebuilt from the
trail and the files themselves. Here is also the one place where a change enters the trail, and recovery after a crash.
"""

from __future__ import annotations

import json
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memfolio.clock import iso, to_ms
from memfolio.errors import HistoryError
from memfolio.types import Action, Approval, Attribution, MemoryItem
from memfolio.vault.disk import Disk, Stamp
from memfolio.vault.home import Home
from memfolio.vault.paths import AUDIT, Ledger, ledger_of
from memfolio.vault.trail import (
    FileMark,
    Head,
    SealedLine,
    Trail,
    TrailLine,
    is_sealed,
    part_for,
    read_line,
    seal,
    shorten_ids,
)

if TYPE_CHECKING:
    from memfolio.vault.git.history import History

NAME = "recent.jsonl"
ROTATE_BYTES = 512 * 1024
"""What may be in the file beside what is needed, and a part of that again, before it is written afresh."""

NEWEST_IDS = 4096
_COMMITTED = b'{"committed":'
_ENCODER = json.JSONEncoder(separators=(",", ":"))


class FileState(NamedTuple):
    """A file as we last left or saw it; without a stamp it must be read before it is believed."""

    hash: str
    size: int
    stamp: Stamp | None


@dataclass(frozen=True, slots=True)
class Tail:
    """How a file ends: enough to append to it without reading it again."""

    hash: str | None
    size: int
    last: bytes
    hasher: blake2b

    def then(self, data: bytes) -> Tail:
        """The tail behind an append of `data`."""
        hasher = self.hasher.copy()
        hasher.update(data)
        return Tail(hasher.hexdigest(), self.size + len(data), data[-1:] or self.last, hasher)


@dataclass(frozen=True, slots=True)
class Written:
    """One file's share of a change: an append at `start`, or the whole content (None: the file is deleted).

    It is planned first; once it happened, `stamp` says how it left the file.
    """

    path: str
    start: int | None
    data: bytes | None
    was: str | None
    now: str | None
    stamp: Stamp | None = None
    before: bytes | None = None
    """What a file that was replaced held."""
    length: int | None = None
    """How long the file is then, where the bytes do not tell."""
    tail: Tail | None = None
    blocks: int = 0
    """How many blocks an append consists of."""

    @property
    def size(self) -> int:
        return (self.start or 0) + len(self.data or b"") if self.length is None else self.length

    @property
    def state(self) -> FileState | None:
        if self.now is None:
            return None
        # A stamp of another size shows somebody else's hand: without it the file is read before it is believed.
        same = self.stamp is not None and self.stamp.size == self.size
        return FileState(self.now, self.size, self.stamp if same else None)

    @property
    def mark(self) -> FileMark:
        # An append's `was` is the line before it in the trail: leaving it out keeps lines short.
        return FileMark(self.path, self.now, self.size, self.was if self.start is None else None, self.start)

    @property
    def is_unknown(self) -> bool:
        """Whether the bytes are lost: written, entered, and changed again by somebody before they were in git."""
        return self.start is not None and self.data is None

    def after(self, before: bytes) -> bytes | None:
        """The file's content behind this write, given the content in front of it."""
        return self.data if self.start is None else before[: self.start] + (self.data or b"")


@dataclass(frozen=True, slots=True)
class Record:
    """One change with its bytes, as the committer needs it."""

    line: TrailLine
    raw: bytes
    head: Head
    writes: tuple[Written, ...]
    items: tuple[tuple[str, MemoryItem], ...] = ()
    """The memories that a change of this process added, in their order, each with the path of its file.

    Only listeners get them: they are not kept, and a change that is read from the file has none.
    """
    before: Mapping[str, bytes] = field(default_factory=dict)
    """What the files that the change replaced held, as far as this process saw it; only listeners get that, too."""

    @property
    def moment(self) -> datetime:
        return datetime.fromisoformat(self.line.at)


class Journal:
    """The file, and what it says: files as last left, the trail's head, and changes that wait for git."""

    def __init__(self, folder: Path, disk: Disk, *, window: timedelta | None = None) -> None:
        self.path = folder / NAME
        self._disk = disk
        self.window = window
        """How long bytes are kept that nobody takes into git; None keeps them until somebody does."""
        self.clear()

    def clear(self) -> None:
        self.known: dict[str, FileState] = {}
        self.head = Head()
        self.committed = 0
        self.pending: list[Record] = []
        self.newest_ids: dict[str, None] = {}
        self.damaged = False
        self._offset = 0
        self._inode = 0
        self._is_new = True
        self._lasting = self._needed = 0

    def is_behind(self) -> bool:
        """Whether somebody wrote to the file since the last look; without the lock, it may say so for nothing."""
        stamp = self._disk.stamp(self.path)
        return stamp is None or (stamp.inode, stamp.size) != (self._inode, self._offset)

    def catch_up(self) -> list[Record]:
        """Read what was added since the last look; the caller holds the write lock.

        Of a file that is read from its beginning, changes that are in git are taken in and not returned.
        """
        stamp = self._disk.stamp(self.path)
        if stamp is None or stamp.inode != self._inode or stamp.size < self._offset:
            self.clear()
            if stamp is None:
                self.damaged = True
                return []
            self._inode = stamp.inode
        return self._read_from(self._offset) if stamp.size > self._offset else []

    def is_new_to_us(self) -> bool:
        """Whether this is the first look at this file: then its writers may have died with the power."""
        first, self._is_new = self._is_new, False
        return first

    def _read_from(self, offset: int) -> list[Record]:
        data = self._disk.read(self.path, offset) or b""
        found: list[Record] = []
        lines = data.split(b"\n")[:-1]
        committed = 0 if offset else _last_committed(lines)
        for raw in lines:
            try:
                record = self._take(json.loads(raw), committed)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                self.damaged = True
                return found
            offset += len(raw) + 1
            if record:
                found.append(record)
        self._offset = offset
        if not data.endswith(b"\n"):
            # A writer died in the middle of a line; what it recorded is found again through the trail.
            self._disk.cut(self.path, offset)
        return found

    def _take(self, data: dict[str, Any], committed: int) -> Record | None:
        if "change" in data and data["at"][0] > committed:
            record = _read_record(data)
            self._accept(record)
            return record
        if "change" in data:
            self._take_committed(data)
        if "file" in data:
            self.remember(data["file"], _read_state(data))
        if "files" in data:
            self.known |= {path: _unpack(*state) for path, state in data["files"].items()}
        if "head" in data:
            self.head = Head(*data["head"])
            self._lasting, self._needed = data.get("sizes", (0, 0))
        if "ids" in data:
            self.learn_ids(data["ids"])
        if "committed" in data:
            self._drop_committed(data["committed"])
        return None

    def _take_committed(self, data: dict[str, Any]) -> None:
        """What lasts of a change whose bytes nobody needs any more."""
        for write in data["writes"]:
            self.remember(write["file"], _read_state(write))
        self.head = Head(*data["at"])
        self.learn_ids(json.loads(data["change"]).get("ids", ()))

    def _accept(self, record: Record) -> None:
        for write in record.writes:
            self.remember(write.path, write.state)
        self.head = record.head
        self.pending.append(record)
        self.learn_ids(record.line.ids)

    def learn_ids(self, ids: Iterable[str]) -> None:
        """Take note of ids that are in use, as many as could be given out again."""
        for each in ids:
            self.newest_ids[each] = None
        while len(self.newest_ids) > NEWEST_IDS:
            del self.newest_ids[next(iter(self.newest_ids))]

    def remember(self, path: str, state: FileState | None) -> None:
        """Take note of a file's state in this process alone."""
        if state is None:
            self.known.pop(path, None)
        else:
            self.known[path] = state

    def _drop_committed(self, seq: int) -> None:
        self.committed = max(self.committed, seq)
        del self.pending[: bisect_right(self.pending, self.committed, key=lambda record: record.line.seq)]

    def add(self, record: Record) -> None:
        """Take in a change of this process and tell the others."""
        self._accept(record)
        self._append([_record_json(record)])
        if self.window is not None:
            with suppress(OSError):  # the file is large, not wrong
                self.rotate_if_large()

    def restamp(self, path: str, state: FileState | None) -> None:
        """Note that a file is as `state` says though no change was made."""
        self.remember(path, state)
        self._append([_state_json(path, state)])

    def mark_committed(self, seq: int) -> None:
        """Changes up to `seq` are in git."""
        self._drop_committed(seq)
        self._append([{"committed": seq}])

    def has_gap(self) -> bool:
        """Whether changes are neither committed nor here: they were let go while git was switched off."""
        first = self.pending[0].line.seq if self.pending else self.head.seq + 1
        return first > self.committed + 1

    def rotate_if_large(self) -> None:
        """Start the file afresh when much of it is not needed any more: every process that opens the home reads it."""
        needed = 2 * self._needed if self.pending else self._lasting + self._lasting // 4
        if self._offset > ROTATE_BYTES + needed:
            self.rewrite()

    def rewrite(self) -> None:
        """Start the file afresh with what is still needed; other processes notice and read it anew."""
        self._let_go()
        # One line for all files is read several times faster than one for each.
        lasting = _encode({"committed": self.committed, "files": self.known, "ids": list(self.newest_ids)})
        records = b"".join(_encode(_record_json(record)) for record in self.pending)
        self._lasting, self._needed = len(lasting), len(lasting) + len(records)
        end = _encode({"head": self.head, "sizes": [self._lasting, self._needed]})
        stamp = self._disk.put(self.path, lasting + records + end)
        if stamp is not None:
            self._inode, self._offset, self.damaged = stamp.inode, stamp.size, False

    def _let_go(self) -> None:
        """Drop the bytes of changes that were made too long before the newest one."""
        if self.window is None or not self.pending:
            return
        since = self.pending[-1].moment - self.window
        young = next(number for number, record in enumerate(self.pending) if record.moment >= since)
        del self.pending[:young]

    def _append(self, lines: Iterable[dict[str, Any]]) -> None:
        if self.damaged:
            return  # nothing may follow a gap: whoever looks next rebuilds the file
        try:
            stamp = self._disk.append(self.path, b"".join(map(_encode, lines)), sync=False)
        except OSError:
            self.damaged = True
            return
        self._inode, self._offset = stamp.inode, stamp.size


def _encode(line: dict[str, Any]) -> bytes:
    return _ENCODER.encode(line).encode() + b"\n"


def _state_json(path: str, state: FileState | None) -> dict[str, Any]:
    if state is None:
        return {"file": path, "hash": None}
    return {"file": path, "hash": state.hash, "size": state.size, "stamp": state.stamp}


def _last_committed(lines: list[bytes]) -> int:
    """The change up to which everything is in git, as the last line about it says."""
    raw = next((raw for raw in reversed(lines) if raw.startswith(_COMMITTED)), b"")
    digits = raw[len(_COMMITTED) : -1]
    return int(digits) if digits.isdigit() else 0


def _unpack(hash: str, size: int, stamp: list[int] | None) -> FileState:
    return FileState(hash, size, Stamp(*stamp) if stamp else None)


def _read_state(data: dict[str, Any]) -> FileState | None:
    if data["hash"] is None:
        return None
    return _unpack(data["hash"], data["size"], data["stamp"])


def _record_json(record: Record) -> dict[str, Any]:
    return {
        "change": to_text(record.raw),
        "at": record.head,
        "writes": [_written_json(write) for write in record.writes],
    }


def _written_json(write: Written) -> dict[str, Any]:
    text = None if write.data is None else to_text(write.data)
    return {**_state_json(write.path, write.state), "from": write.start, "text": text}


def _read_record(data: dict[str, Any]) -> Record:
    raw = to_bytes(data["change"])
    return Record(read_line(raw), raw, Head(*data["at"]), tuple(map(_read_written, data["writes"])))


def _read_written(data: dict[str, Any]) -> Written:
    content, state = None if data["text"] is None else to_bytes(data["text"]), _read_state(data)
    now, length, stamp = state or (None, None, None)
    return Written(data["file"], data["from"], content, None, now, stamp, length=length)


def to_text(data: bytes) -> str:
    """Bytes as text that JSON can carry, whatever they are."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


# The file states: how each file was last left, and the one place where a change is entered into the trail.

GIT_SECONDS = 2.0
"""How long a git command that is changing files is waited for."""


class FileStates:
    """Everything the writer must know before it writes and enter after it wrote; used under the write lock."""

    def __init__(self, home: Home, journal: Journal, trail: Trail) -> None:
        self.home = home
        self.journal = journal
        self.trail = trail
        self._history: History | None = None
        self.unrecorded: set[str] = set()
        self.is_loose = False
        """Whether the trail has unsynced lines that could not be rebuilt from the files after the next append."""
        self.notices: list[str] = []
        """What was put right without being asked, for a person to read once."""
        self.repairs: list[str] = []
        """What was wrong with the trail and was mended, until somebody verifies it."""
        self.listeners: list[Callable[[Record], None]] = []
        self.when_entered: Callable[[], None] = lambda: None
        """Called after every change that is entered here."""
        self.epoch = 0
        """Grows whenever there may be changes that the listeners were not told about."""
        self._notified: Head | None = None
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

            self._history = History(self.home.root, branch=self.home.config.git.branch, disk=self.home.disk)
        return self._history

    def close(self) -> None:
        """Let go of git's files."""
        if self._history is not None:
            self._history.close()

    def begin_anew(self) -> None:
        """Forget what a forked process has from its parent: it may be half of a change that a thread was making."""
        self.journal.clear()
        self.forget_keys()
        self._notified = None
        self.epoch += 1

    def await_git(self) -> None:
        """Wait for a git command that is under way: half of what it does to the files is nobody's edit."""
        path, end = self.home.root / ".git" / "index.lock", time.monotonic() + GIT_SECONDS
        while self.home.config.git.enabled and (lock := self.home.disk.stamp(path)) and lock != self._git_lock:
            if time.monotonic() > end:
                self._git_lock = lock
                return
            time.sleep(0.005)

    def stamp(self, path: str) -> Stamp | None:
        return self.home.disk.stamp(self.home.path(path))

    def read(self, path: str) -> bytes | None:
        return self.home.disk.read(self.home.path(path))

    def known(self, path: str) -> FileState | None:
        return self.journal.known.get(path)

    def tail_of(self, path: str) -> Tail:
        """How a reconciled file ends; read once, then followed from append to append."""
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
        while number > 1 and ledger.part(number) not in self.journal.known:
            number -= 1
        while ledger.part(number + 1) in self.journal.known:
            number += 1
        self._parts[ledger] = number
        return number

    def follow(self, records: Sequence[Record]) -> None:
        """Carry remembered tails over the changes of other processes, and tell the listeners of them."""
        for record in records:
            if self._notified is not None and is_sealed(record.raw, self._notified.hash):
                self._notify(record)
            self.learn(record.line)
            self.is_loose |= any(write.start is None for write in record.writes)
            for write in record.writes:
                tail = self._tails.pop(write.path, None)
                if tail and write.start == tail.size and write.data:
                    self._tails[write.path] = tail.then(write.data)

    def note_notified(self) -> None:
        """Let the epoch grow if what was caught up with is not what the listeners were told, change by change."""
        if not self._is_notified(self.journal.head):
            self.epoch += 1
            self.forget_keys()
        self._notified = self.journal.head

    def _is_notified(self, head: Head) -> bool:
        return self._notified is None or self._notified.hash == head.hash

    def _notify(self, record: Record) -> None:
        self._notified = record.head
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
                self.journal.remember(path, known._replace(stamp=None))

    def enter(
        self,
        action: Action,
        by: Attribution,
        done: Sequence[Written] = (),
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
        head = self.journal.head
        at = iso(self.home.now())
        line, raw = seal(
            TrailLine(
                seq=head.seq + 1,
                at=at,
                action=action,
                by=by,
                files=tuple(each.mark for each in done),
                ids=shorten_ids(ids),
                count=len(ids),
                about=tuple(about),
                key=key,
            ),
            head.hash,
        )
        self.learn(line)
        for each in done:
            if each.tail:
                self._tails[each.path] = each.tail
        try:
            record = self._write(line, raw, done, month=at[:7], sync=sync)
        except OSError:
            self.unrecorded.update(each.path for each in done)
            if sync or strict:
                raise
            return line
        if not self._is_notified(head):
            self.epoch += 1
        before = {each.path: each.before for each in done if each.before is not None}
        self._notify(replace(record, items=items, before=before) if (items or before) and self.listeners else record)
        self.when_entered()
        return line

    def sync_trail(self) -> None:
        """Make every line so far durable."""
        if self.journal.head.part:
            self.home.disk.sync_file(self.home.path(self.journal.head.part))
        self.is_loose = False

    def _write(self, line: TrailLine, raw: bytes, done: Sequence[Written], *, month: str, sync: bool) -> Record:
        part = part_for(self.journal.head, month, len(raw), self.home.config.max_ledger_bytes)
        if part != self.journal.head.part:
            self.sync_trail()  # a part that begins must not outlive the end of the one before
        # A line without files has nothing that it could be written from again: it is made to last itself.
        self.home.disk.append(self.home.path(part), raw, sync=sync or not done)
        # Where the line should end: if it does not, somebody has moved the file, which whoever looks next puts right.
        end = (self.journal.head.size if part == self.journal.head.part else 0) + len(raw)
        record = Record(line, raw, Head(line.seq, line.hash, part, end), tuple(done))
        self.journal.add(record)
        self.is_loose = not sync and (self.is_loose or any(each.start is None for each in done))
        return record


# Bringing the file states up to date: other processes' changes, and what a crash or a power cut left half done.
#
# The trail and the journal are written after a change is durable and are not synced with it, so either may be
# behind the other. Lines that only the journal knows are written to the trail again, byte for byte; lines that
# only the trail knows get their bytes back from the files. When the journal is lost altogether, it is
# rebuilt from the whole trail.

MENDED = Attribution(actor="system:recover", approval=Approval.AUTO, trigger="trail-cut")
TAMPERED = Attribution(actor="system:audit", approval=Approval.NONE, trigger="trail-cut")
LOOKS = 5
_MARKERS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")
"""What git puts between the sides of a conflict."""


def catch_up(file_states: FileStates) -> None:
    """Read what others did; repair trail and journal when they disagree."""
    file_states.follow(file_states.journal.catch_up())
    is_new = file_states.journal.is_new_to_us()
    if is_new:
        file_states.close()  # who began the file afresh may have rewritten git's history
    if file_states.journal.damaged:
        rebuild(file_states)
    elif not _in_step(file_states) or (is_new and file_states.trail.tail() != file_states.journal.head):
        realign(file_states)
    file_states.note_notified()


def _in_step(file_states: FileStates) -> bool:
    head = file_states.journal.head
    if not head.part:
        return not file_states.trail.parts()
    stamp = file_states.stamp(head.part)
    return stamp is not None and stamp.size == head.size and file_states.stamp(_next_part(file_states)) is None


def _next_part(file_states: FileStates) -> str:
    """Where the trail would go on after a full part: it exists only if somebody died right after starting it."""
    return part_for(file_states.journal.head, iso(file_states.home.now())[:7], sys.maxsize, 0)


def rebuild(file_states: FileStates) -> None:
    """Make the journal anew: every file as its last line in the trail left it, still to be looked at."""
    journal = file_states.journal
    journal.clear()
    file_states.forget_keys()
    file_states.is_loose = True
    committed = _newest_in_git(file_states)
    lines, head, _ = file_states.trail.since(Head())
    is_altered = _is_altered(_set_aside_torn(file_states, head))
    if is_altered:
        _append_all(file_states, head, _lines_in_git(file_states, head.part), until=sys.maxsize)
        lines, head, _ = file_states.trail.since(Head())
    for sealed in lines:
        journal.learn_ids(sealed.line.ids)
        for mark in sealed.line.files:
            journal.remember(mark.path, _state(mark))
    journal.committed = min(committed, head.seq)
    journal.head = head
    journal.pending = [_record(file_states, sealed) for sealed in lines if sealed.line.seq > journal.committed]
    journal.rewrite()
    if is_altered:
        _report(file_states, "the trail could not be read to its end: the lines that git has were put back", alert=True)


def realign(file_states: FileStates) -> None:
    """Let the trail and the journal tell the same story again."""
    journal = file_states.journal
    file_states.is_loose = True
    file_states.await_git()
    if not _has_head(file_states):
        _write_again(file_states, file_states.trail.since(Head())[1])
        return
    lines, head, torn = file_states.trail.since(journal.head)
    for sealed in lines:
        record = _record(file_states, sealed)
        journal.add(record)
        file_states.follow([record])
    if torn:
        _set_aside_torn(file_states, head)
    journal.head = head
    journal.rewrite()


def _has_head(file_states: FileStates) -> bool:
    """Whether the newest line that we know of stands where it was written."""
    head = file_states.journal.head
    end = f'{head.hash}"}}\n'.encode()
    return not head.part or (file_states.read(head.part) or b"")[head.size - len(end) : head.size] == end


def _write_again(file_states: FileStates, tail: Head, looks: int = LOOKS) -> None:
    """The trail lost lines behind `tail`: write those that git and the journal still have."""
    journal = file_states.journal
    in_git = _lines_in_git(file_states, tail.part) if tail.seq < journal.committed else []
    waiting = [(record.head.part, record.raw) for record in journal.pending]
    ours = {raw for _, raw in [*in_git, *waiting]}
    is_altered, is_gone = _is_altered(_set_aside_torn(file_states, tail, ours)), not tail.seq
    heads = _append_all(file_states, tail, [*in_git, *waiting], until=journal.head.seq)
    there = file_states.trail.since(Head())[1]
    if looks and heads and there != heads[-1]:  # a git command has put back other files meanwhile
        _write_again(file_states, there, looks - 1)
        return
    tail = heads[-1] if heads else tail
    found = {head.seq: head for head in heads}
    journal.pending = [replace(each, head=found.get(each.line.seq, each.head)) for each in journal.pending]
    if tail.hash == journal.head.hash:
        journal.head = tail
        journal.rewrite()
        if (in_git and heads) or is_altered:
            wrong = "could not be read" if is_altered else "was cut off"
            first = heads[0].seq if heads else tail.seq + 1
            said = f"the trail {wrong} from change {first} on: its lines were put back"
            # A person who looks at an old commit cuts it too: nothing to be alarmed about.
            _report(file_states, said, alert=is_altered or is_gone)
        return
    # Lines that nobody has any more are gone from the file: not a crash. Go on behind what is there, and say so.
    part = tail.part or journal.head.part
    stamp = file_states.stamp(part)
    journal.head = journal.head._replace(part=part, size=stamp.size if stamp else 0)
    journal.rewrite()
    file_states.enter(Action.ALERT, TAMPERED)


def _append_all(file_states: FileStates, tail: Head, lines: Iterable[tuple[str, bytes]], *, until: int) -> list[Head]:
    """Write those lines to the trail that follow its end, one after the other; returns the end behind each.

    Each file is replaced in one step: a git command that puts back another one meanwhile has nothing added to it.
    """
    heads: list[Head] = []
    contents = {tail.part: bytearray((file_states.read(tail.part) or b"")[: tail.size])} if tail.part else {}
    for part, raw in lines:
        if tail.seq < until and is_sealed(raw, tail.hash):
            line, part = read_line(raw), max(part, tail.part)
            content = contents.setdefault(part, bytearray())
            content += raw
            tail = Head(line.seq, line.hash, part, len(content))
            heads.append(tail)
    for part in dict.fromkeys(head.part for head in heads):
        file_states.home.disk.put(file_states.home.path(part), bytes(contents[part]))
    return heads


def _is_altered(cut: bytes) -> bool:
    """Whether what was cut off the trail is more than a crash leaves: a torn line, or zeros for what was not synced."""
    return b"\n" in cut and b"\0" not in cut


def _report(file_states: FileStates, what: str, *, alert: bool) -> None:
    """Note that the trail was mended where no crash can have broken it: in the trail, and for people."""
    file_states.enter(Action.RESTORE, MENDED)
    if alert:
        file_states.enter(Action.ALERT, TAMPERED)
    file_states.notices.append(what)
    file_states.repairs.append(what)


def _newest_in_git(file_states: FileStates) -> int:
    """The newest change that is in git; 0 when none is, or git cannot say.

    People write commits too: what one of them says is believed if the trail has the very line that it names.
    """
    hashes = {line.seq: line.hash for line in file_states.trail.lines()}
    try:
        return next((each.seq for each in file_states.history.anchors() if hashes.get(each.seq) == each.chain), 0)
    except HistoryError:
        return 0


def _lines_in_git(file_states: FileStates, part: str) -> list[tuple[str, bytes]]:
    """The trail's lines from this part on as the branch has them, whatever a person has checked out."""
    history = file_states.history
    try:
        parts = sorted(path for path in history.files() if path >= part and path.startswith(f"{AUDIT}/"))
        contents = [(path, history.read(path) or b"") for path in parts if ledger_of(path)]
    except HistoryError:
        return []
    return [(path, raw + b"\n") for path, content in contents for raw in content.split(b"\n")[:-1]]


def _set_aside_torn(file_states: FileStates, head: Head, ours: Collection[bytes] = ()) -> bytes:
    """Cut everything behind its head off the trail; returns what is not ours, which is kept in `.memfolio/torn`."""
    parts = [part for part in file_states.trail.parts() if part >= head.part]
    return b"".join(_cut_off(file_states, part, head.size if part == head.part else 0, ours) for part in parts)


def _cut_off(file_states: FileStates, part: str, size: int, ours: Collection[bytes]) -> bytes:
    home, cut = file_states.home, (file_states.read(part) or b"")[size:]
    lines = cut.splitlines(keepends=True)
    torn = b"".join(raw for raw in lines if raw not in ours and not (ours and raw.startswith(_MARKERS)))
    if torn:
        name = part.replace("/", "-")
        home.disk.put(home.internal / "torn" / f"{to_ms(home.now())}-{name}", torn)
    if cut and size:
        home.disk.cut(home.path(part), size)
    elif not size:
        home.disk.remove(home.path(part))
    return torn


def _state(mark: FileMark) -> FileState | None:
    return None if mark.now is None else FileState(mark.now, mark.size, None)


def _record(file_states: FileStates, sealed: SealedLine) -> Record:
    """The record of a line, its bytes taken from the files as far as they still prove to be the same."""
    writes = tuple(_written(file_states, mark) for mark in sealed.line.files)
    return Record(sealed.line, sealed.raw, sealed.head, writes)


def _written(file_states: FileStates, mark: FileMark) -> Written:
    if mark.now is None:
        return Written(mark.path, None, None, mark.was, None)
    content = file_states.read(mark.path) or b""
    if file_states.home.hash(content[: mark.size]) != mark.now:
        return Written(mark.path, mark.start or 0, None, mark.was, mark.now, length=mark.size)
    return Written(mark.path, mark.start, content[mark.start or 0 : mark.size], mark.was, mark.now)
