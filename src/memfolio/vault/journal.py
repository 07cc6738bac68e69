"""The trail and the journal: what was changed, sealed line by line, and the bytes that are not in git yet.

The trail has one line a change, each sealed by a hash over itself and the line before it. Lines hold ids, paths,
actions and keyed hashes, never content, so that forgetting can be complete and the chain can still be checked. A line's
bytes are what is hashed: `{…}` without its last member, `"hash"`.

Processes that share a home read one another's changes in `.memfolio/recent.jsonl`, and the committer takes its bytes
from there. That file is a cache: it is never synced to disk, and when it is missing or damaged it is rebuilt from the
trail and the files themselves (`recover.py`). Here is also the one place where a change enters the trail.
"""

from __future__ import annotations

import json
import re
import sys
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memfolio.clock import iso
from memfolio.types import EMPTY, Action, Attribution, MemoryItem, frozen
from memfolio.vault.disk import Disk, Stamp
from memfolio.vault.lines import attribution
from memfolio.vault.paths import AUDIT, Home, Ledger, audit_ledger

if TYPE_CHECKING:
    from memfolio.vault.git.history import History

GENESIS = "0" * 32
MAX_IDS = 8
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_MONTH = re.compile(r"\d{4}-\d\d")
_PART = re.compile(r"\d{4,}\.jsonl")
_SEAL = re.compile(rb',"hash":"([0-9a-f]{32})"\}$')


@dataclass(frozen=True, slots=True)
class FileMark:
    """The effect of a change on one file: the keyed hash before and after, and where an append began."""

    path: str
    now: str | None
    size: int = 0
    was: str | None = None
    start: int | None = None

    def to_json(self) -> dict[str, Any]:
        fields = {"path": self.path, "from": self.start, "was": self.was, "now": self.now, "size": self.size}
        return {name: value for name, value in fields.items() if value is not None}


@frozen
class TrailLine:
    """One change as recorded in the trail."""

    seq: int
    at: str
    action: Action
    by: Attribution
    files: tuple[FileMark, ...] = ()
    ids: tuple[str, ...] = ()
    count: int = 0
    about: tuple[int, ...] = ()
    key: str | None = None
    hash: str = ""

    @property
    def paths(self) -> list[str]:
        return [mark.path for mark in self.files]


class Head(NamedTuple):
    """The end of the trail: the last sealed line, and the file and offset of the next one."""

    seq: int = 0
    hash: str = GENESIS
    part: str = ""
    size: int = 0


def shorten_ids(ids: Sequence[str]) -> tuple[str, ...]:
    """All ids of a small change, the first and the last of a large one."""
    return tuple(ids) if len(ids) <= MAX_IDS else (ids[0], ids[-1])


def seal(line: TrailLine, previous: str) -> tuple[TrailLine, bytes]:
    """The line with its hash, and the bytes that go into the file."""
    body = _ENCODER.encode(_fields(line)).encode()
    digest = _chain(previous, body)
    return replace(line, hash=digest), body[:-1] + b',"hash":"' + digest.encode() + b'"}\n'


def is_sealed(raw: bytes, previous: str) -> bool:
    """Whether a raw line is intact and follows the line whose hash is `previous`."""
    match = _SEAL.search(raw.rstrip(b"\n"))
    if match is None:
        return False
    return _chain(previous, raw[: match.start()] + b"}") == match[1].decode()


def read_line(raw: bytes) -> TrailLine:
    """The line in `raw`; raises ValueError when it is none."""
    try:
        data = json.loads(raw)
        by = attribution(data["actor"], data["approval"], data["trigger"], data.get("session"), data.get("source"))
        files = tuple(
            FileMark(file["path"], file.get("now"), file.get("size", 0), file.get("was"), file.get("from"))
            for file in data.get("files", ())
        )
        return TrailLine(
            seq=data["seq"],
            at=data["at"],
            action=Action(data["action"]),
            by=by,
            files=files,
            ids=tuple(data.get("ids", ())),
            count=data.get("count", len(data.get("ids", ()))),
            about=tuple(data.get("about", ())),
            key=data.get("key"),
            hash=data["hash"],
        )
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a line of the trail: {error}") from error


def _fields(line: TrailLine) -> dict[str, Any]:
    by = line.by
    fields: dict[str, Any] = {
        "seq": line.seq,
        "at": line.at,
        "action": line.action,
        "actor": by.actor,
        "approval": by.approval,
        "trigger": by.trigger,
        "session": by.session,
        "source": by.source,
        "ids": list(line.ids) or None,
        "count": line.count if line.count != len(line.ids) else None,
        "about": list(line.about) or None,
        "key": line.key,
        "files": [mark.to_json() for mark in line.files] or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _chain(previous: str, body: bytes) -> str:
    return blake2b(previous.encode() + body, digest_size=16).hexdigest()


class Trail:
    """Reads the trail's files."""

    def __init__(self, home: Path, disk: Disk) -> None:
        self._home = home
        self._disk = disk

    def parts(self) -> list[str]:
        """The trail's files, oldest first."""
        months = [name for name in self._disk.names(self._home / AUDIT) if _MONTH.fullmatch(name)]
        parts = [f"{AUDIT}/{month}/{name}" for month in months for name in self._disk.names(self._home / AUDIT / month)]
        return sorted((part for part in parts if _PART.fullmatch(part.rpartition("/")[2])), key=_order)

    def raw_lines(self, part: str, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Each whole line of a part with the offset behind it."""
        data = self.content(part, start)
        offset = start
        for raw in data.split(b"\n")[:-1]:
            offset += len(raw) + 1
            yield offset, raw

    def lines(self, *, containing: Sequence[bytes] = ()) -> Iterator[TrailLine]:
        """Every readable line, oldest first; `containing` skips lines without any of these bytes, cheaply."""
        for part in self.parts():
            yield from self._read_part(part, containing)

    def newest_first(
        self, *, containing: Sequence[bytes] = (), before: int | None = None, since: int = 0
    ) -> Iterator[TrailLine]:
        """Every readable line, newest first, of those with a number below `before` and above `since`."""
        parts = self.parts()
        if before is not None:
            parts = parts[: bisect_left(parts, before, key=self._first_seq)]
        if since:
            parts = parts[max(0, bisect_right(parts, since, key=self._first_seq) - 1) :]
        for part in reversed(parts):
            for line in self._read_part(part, containing, backwards=True):
                if since < line.seq and (before is None or line.seq < before):
                    yield line

    def _first_seq(self, part: str) -> int:
        """Return the number of the first readable line of a part; 0 if there is none."""
        return next((line.seq for line in self._read_part(part, ())), 0)

    def _read_part(self, part: str, containing: Sequence[bytes], *, backwards: bool = False) -> Iterator[TrailLine]:
        data = self.content(part)
        lines = _lines_with(data, containing) if containing else data.split(b"\n")[:-1]
        for raw in reversed(lines) if backwards else lines:
            try:
                line = read_line(raw)
            except ValueError:
                continue
            yield line

    def since(self, head: Head) -> tuple[list[Record], Head]:
        """The sealed lines behind `head`, without the bytes of their changes, and the head after them."""
        found: list[Record] = []
        for part in self.parts():
            if head.part and _order(part) < _order(head.part):
                continue
            start = head.size if part == head.part else 0
            for offset, raw in self.raw_lines(part, start):
                if not is_sealed(raw, head.hash):
                    break
                line = read_line(raw)
                head = Head(line.seq, line.hash, part, offset)
                found.append(Record(line, raw + b"\n", head))
        return found, head

    def content(self, part: str, start: int = 0) -> bytes:
        """The bytes of a part."""
        return self._disk.read(self._home / part, start) or b""

    def tail(self) -> Head:
        """The end of the trail, judged by its last two parts alone."""
        for part in reversed(self.parts()):
            last = None
            for offset, raw in self.raw_lines(part):
                try:
                    last = read_line(raw), offset
                except ValueError:
                    break
            if last:
                return Head(last[0].seq, last[0].hash, part, last[1])
        return Head()

    def line(self, seq: int) -> TrailLine | None:
        """The change with this number."""
        return next(self.lines(containing=[b'"seq":%d,' % seq]), None)

    def problems(self) -> list[str]:
        """Return breaks in the chain, one sentence each; empty if it is intact."""
        found: list[str] = []
        previous, seq = GENESIS, 0
        for part in self.parts():
            for number, (_, raw) in enumerate(self.raw_lines(part), 1):
                if not is_sealed(raw, previous):
                    found.append(f"{part} line {number} does not follow the line before it")
                try:
                    line = read_line(raw)
                except ValueError as error:
                    found.append(f"{part} line {number}: {error}")
                    continue
                if line.seq != seq + 1:
                    found.append(f"{part} line {number} is change {line.seq} where {seq + 1} should be")
                previous, seq = line.hash, line.seq
        return found


def _lines_with(data: bytes, needles: Sequence[bytes]) -> list[bytes]:
    """The whole lines that contain one of these; searching all of the data at once is far quicker than line by line."""
    starts: set[int] = set()
    end = data.rfind(b"\n") + 1
    for needle in needles:
        at = data.find(needle, 0, end)
        while at >= 0:
            starts.add(data.rfind(b"\n", 0, at) + 1)
            at = data.find(needle, data.index(b"\n", at), end)
    return [data[start : data.index(b"\n", start)] for start in sorted(starts)]


def _order(part: str) -> tuple[str, int]:
    folder, _, name = part.rpartition("/")
    return folder, int(name[:-6])


def part_for(head: Head, month: str, length: int, limit: int) -> str:
    """The file the next line goes to: months never go back, parts never outgrow `limit`."""
    if not head.part:
        return audit_ledger(month).part(1)
    folder, number = _order(head.part)
    if month > folder.rpartition("/")[2]:
        return audit_ledger(month).part(1)
    return head.part if head.size + length <= limit else f"{folder}/{number + 1:04d}.jsonl"


# The journal: changes with their bytes, and how each file was last left.

NAME = "recent.jsonl"
ROTATE_BYTES = 512 * 1024
"""How many bytes beyond the needed ones the file may have before it is rewritten."""

NEWEST_IDS = 4096
_COMMITTED = b'{"committed":'
_COMPACT = json.JSONEncoder(separators=(",", ":"))


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


class Written(NamedTuple):
    """One file's share of a change: an append at `start`, or the whole content (None: the file is deleted).

    It is planned first; once it happened, `stamp` says how it left the file. A tuple, as every write makes some.
    """

    path: str
    start: int | None
    data: bytes | None
    was: str | None
    now: str | None
    stamp: Stamp | None = None
    before: bytes | None = None
    """The previous content of a replaced file."""
    length: int | None = None
    """The length of the file afterwards, if the bytes do not show it."""
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
        """Return the file's content after this write, given the content before it."""
        return self.data if self.start is None else before[: self.start] + (self.data or b"")


class Record(NamedTuple):
    """One change with its bytes: its line as it is in the trail, and the head behind that."""

    line: TrailLine
    raw: bytes
    head: Head
    writes: tuple[Written, ...] = ()
    items: tuple[tuple[str, MemoryItem], ...] = ()
    """The memories that a change of this process added, in their order, each with the path of its file.

    Only listeners get them: they are not kept, and a change that is read from the file has none.
    """
    before: Mapping[str, bytes] = EMPTY
    """The previous contents of replaced files, as far as this process saw them; only listeners get these."""

    @property
    def moment(self) -> datetime:
        return datetime.fromisoformat(self.line.at)


GIT_SECONDS = 2.0
"""How long a git command that is changing files is waited for."""


def _encode(line: dict[str, Any]) -> bytes:
    return _COMPACT.encode(line).encode() + b"\n"


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


class Journal:
    """Everything the writer must know before it writes and enter after it wrote; used under the write lock.

    Its file says how each file was last left, where the trail ends, and which changes wait for git.
    """

    def __init__(self, home: Home, trail: Trail, *, window: timedelta | None = None) -> None:
        self.home = home
        self.trail = trail
        self.path = home.internal / NAME
        self._disk = home.disk
        self.window = window
        """How long bytes are kept that nobody takes into git; None keeps them until somebody does."""
        self._history: History | None = None
        self.unrecorded: set[str] = set()
        self.is_current = False
        """Whether the write lock is held by somebody who has caught up with all that happened before."""
        self._synced: tuple[str, Stamp | None] = "", None
        """The newest line of the trail that is durable, and its file at that moment."""
        self.has_unsynced_lines = False
        """Whether the trail has unsynced lines that could not be rebuilt from the files after the next append."""
        self.notices: list[str] = []
        """Automatic repairs to report to a person once."""
        self.repairs: list[str] = []
        """Repairs of the trail, kept until somebody verifies it."""
        self.listeners: list[Callable[..., None]] = []
        self.of_many: list[Callable[..., None]] = []
        """Those that take several records at once, such as indexes."""
        self.when_entered: Callable[[], None] = lambda: None
        """Called after every change that is entered here."""
        self.epoch = 0
        """Incremented whenever there may be changes that the listeners have not heard of."""
        self._notified: Head | None = None
        """The last change that the listeners heard of; None before the first look."""
        self._git_lock: Stamp | None = None
        """A lock of git that was waited for in vain."""
        self._keys: dict[str, TrailLine] | None = None
        self._tails: dict[str, Tail] = {}
        self._parts: dict[Ledger, int] = {}
        self.clear()

    def clear(self) -> None:
        self.files: dict[str, FileState] = {}
        self.head = Head()
        self.committed = 0
        self.pending: list[Record] = []
        self.newest_ids: dict[str, None] = {}
        self.damaged = False
        self._offset = 0
        self._inode = 0
        self._is_new = True
        self._lasting = self._needed = 0

    @property
    def history(self) -> History:
        """The home's git; loaded on first use, since a process that only reads needs none."""
        if self._history is None:
            from memfolio.vault.git.history import History

            self._history = History(self.home.root, branch=self.home.config.git.branch, disk=self._disk)
        return self._history

    def close(self) -> None:
        """Let go of git's files."""
        if self._history is not None:
            self._history.close()

    def reset_after_fork(self) -> None:
        """Discard the state that a forked process inherits: it may be half of a change by a thread of the parent."""
        self.clear()
        self.forget_keys()
        self.is_current = False
        self._notified = None
        self.epoch += 1

    def await_git(self) -> None:
        """Wait for a running git command: a half-finished checkout is nobody's edit."""
        path, end = self.home.root / ".git" / "index.lock", time.monotonic() + GIT_SECONDS
        while self.home.config.git.enabled and (lock := self._disk.stamp(path)) and lock != self._git_lock:
            if time.monotonic() > end:
                self._git_lock = lock
                return
            time.sleep(0.005)

    def stamp(self, path: str) -> Stamp | None:
        return self._disk.stamp(self.home.path(path))

    def read(self, path: str) -> bytes | None:
        return self._disk.read(self.home.path(path))

    def known(self, path: str) -> FileState | None:
        return self.files.get(path)

    def hash_of(self, path: str) -> str | None:
        """Return the recorded hash of a file; None if it did not exist."""
        known = self.files.get(path)
        return known.hash if known else None

    def tail_of(self, path: str) -> Tail:
        """How a reconciled file ends; read once, then followed from append to append."""
        known, tail = self.files.get(path), self._tails.get(path)
        if known is None:
            return self.tail_behind(None)
        if tail is None or tail.hash != known.hash:
            tail = self._tails[path] = self.tail_behind(self.read(path) or b"")
        return tail

    def tail_behind(self, content: bytes | None) -> Tail:
        """Return the tail of a file with this content; None stands for a missing file."""
        start = Tail(None, 0, b"", self.home.hasher())
        return start if content is None else start.then(content)

    def newest_part(self, ledger: Ledger) -> int:
        number = self._parts.get(ledger, 1)
        while number > 1 and ledger.part(number) not in self.files:
            number -= 1
        while ledger.part(number + 1) in self.files:
            number += 1
        self._parts[ledger] = number
        return number

    def catch_up(self) -> None:
        """Read the changes of other processes; repair trail and journal if they disagree."""
        self.follow(self._read_new())
        is_new = self._is_new  # then its writers may have died with the power
        self._is_new = False
        if is_new:
            self.close()  # who began the file afresh may have rewritten git's history
        if self.damaged or not self._in_step() or (is_new and self.trail.tail() != self.head):
            from memfolio.vault import recover  # which builds on this module

            (recover.rebuild if self.damaged else recover.realign)(self)
        if not self._is_notified(self.head):
            self.epoch += 1
            self.forget_keys()
        self._notified = self.head

    def _in_step(self) -> bool:
        """Whether the trail ends with the last line known here."""
        if not self.head.part:
            return not self.trail.parts()
        stamp = self.stamp(self.head.part)
        # Where the trail goes on after a full part is a file only if somebody died right after starting it.
        following = part_for(self.head, iso(self.home.now())[:7], sys.maxsize, 0)
        if stamp is None or stamp.size != self.head.size:
            return False
        return not self._disk.may_be_there(self.home.path(following)) or self.stamp(following) is None

    def follow(self, records: Sequence[Record]) -> None:
        """Apply the changes of other processes to the remembered tails, and notify the listeners."""
        for record in records:
            if self._notified is not None and is_sealed(record.raw, self._notified.hash):
                self._notify(record)
            self.learn(record.line)
            self.has_unsynced_lines |= any(write.start is None for write in record.writes)
            for write in record.writes:
                tail = self._tails.pop(write.path, None)
                if tail and write.start == tail.size and write.data:
                    self._tails[write.path] = tail.then(write.data)

    def _is_notified(self, head: Head) -> bool:
        return self._notified is None or self._notified.hash == head.hash

    def _notify(self, record: Record) -> None:
        self._notified = record.head
        self._tell(record)

    def _tell(self, *records: Record) -> None:
        """Tell the listeners of these changes: indexes first, since the others may ask them."""
        calls = [(listener, records) for listener in self.of_many]
        calls += [(listener, (record,)) for listener in self.listeners for record in records]
        for listener, some in calls:
            try:
                listener(*some)
            except Exception:  # a subscriber's mistake is not the writer's: the change is made
                import logging

                logging.getLogger("memfolio").exception("a subscriber failed on change %d", some[0].line.seq)

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

    def mark_stale(self, paths: Iterable[str]) -> None:
        """Have these files read at the next look, whatever their stamps say."""
        for path in paths:
            if known := self.files.get(path):
                self.remember(path, known._replace(stamp=None))

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
        """Record a change that has happened: its line in the trail, its bytes for the committer.

        Our own change is durable already, so a failure here must not fail it: the line is written later from what the
        files say. With `strict` or `sync` it does fail, because nobody waits for an acknowledgement.
        """
        head, at = self.head, iso(self.home.now())
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
        self._notify(record._replace(items=items, before=before) if items or before else record)
        self.when_entered()
        return line

    def sync_trail(self) -> None:
        """Make every line durable, unless they are already."""
        head = self.head
        if head.part and self._synced != (head.hash, self.stamp(head.part)):
            self._disk.sync_file(self.home.path(head.part))
            self.note_synced()
        self.has_unsynced_lines = False

    def note_synced(self) -> None:
        """Record that every line is durable; a file that replaces the trail's is not."""
        head = self.head
        self._synced = head.hash, self.stamp(head.part)

    def _write(self, line: TrailLine, raw: bytes, done: Sequence[Written], *, month: str, sync: bool) -> Record:
        part = part_for(self.head, month, len(raw), self.home.config.max_ledger_bytes)
        if part != self.head.part:
            self.sync_trail()  # a part that begins must not outlive the end of the one before
        # A line without files has nothing that it could be written from again: it is made to last itself.
        self._disk.append(self.home.path(part), raw, sync=sync or not done)
        # Where the line should end: if it does not, somebody has moved the file, which whoever looks next puts right.
        end = (self.head.size if part == self.head.part else 0) + len(raw)
        record = Record(line, raw, Head(line.seq, line.hash, part, end), tuple(done))
        self.add(record)
        if sync:
            self.note_synced()
        self.has_unsynced_lines = not sync and (self.has_unsynced_lines or any(each.start is None for each in done))
        return record

    # The file

    def is_behind(self) -> bool:
        """Whether somebody wrote to the file since the last look; without the lock, it may say so for nothing."""
        stamp = self._disk.stamp(self.path)
        return stamp is None or (stamp.inode, stamp.size) != (self._inode, self._offset)

    def _read_new(self) -> list[Record]:
        """Read what was added since the last look; the caller holds the write lock.

        If the file is read from its beginning, changes that are in git are applied but not returned.
        """
        stamp = self._disk.stamp(self.path)
        if stamp is None or stamp.inode != self._inode or stamp.size < self._offset:
            self.clear()
            if stamp is None:
                self.damaged = True
                return []
            self._inode = stamp.inode
        return self._read_from(self._offset) if stamp.size > self._offset else []

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
            self.files |= {path: _unpack(*state) for path, state in data["files"].items()}
        if "head" in data:
            self.head = Head(*data["head"])
            self._lasting, self._needed = data.get("sizes", (0, 0))
        if "ids" in data:
            self.learn_ids(data["ids"])
        if "committed" in data:
            self._drop_committed(data["committed"])
        return None

    def _take_committed(self, data: dict[str, Any]) -> None:
        """Apply the lasting part of a change whose bytes are in git."""
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
            self.files.pop(path, None)
        else:
            self.files[path] = state

    def _drop_committed(self, seq: int) -> None:
        self.committed = max(self.committed, seq)
        del self.pending[: bisect_right(self.pending, self.committed, key=lambda record: record.line.seq)]

    def add(self, record: Record) -> None:
        """Apply a change of this process and write it for the others."""
        self._accept(record)
        self._append(_record_json(record))
        if self.window is not None:
            with suppress(OSError):  # the file is large, not wrong
                self.rotate_if_large()

    def restamp(self, path: str, state: FileState | None) -> None:
        """Note that a file is as `state` says though no change was made."""
        self.remember(path, state)
        self._append(_state_json(path, state))

    def mark_committed(self, seq: int) -> None:
        """Changes up to `seq` are in git."""
        self._drop_committed(seq)
        self._append({"committed": seq})

    def has_gap(self) -> bool:
        """Whether changes are neither committed nor here: they were let go while git was switched off."""
        first = self.pending[0].line.seq if self.pending else self.head.seq + 1
        return first > self.committed + 1

    def rotate_if_large(self) -> None:
        """Rewrite the file when much of it is obsolete, since every process that opens the home reads it."""
        needed = 2 * self._needed if self.pending else self._lasting + self._lasting // 4
        if self._offset > ROTATE_BYTES + needed:
            self.rewrite()

    def rewrite(self) -> None:
        """Rewrite the file with what is still needed; other processes notice and read it again."""
        self._let_go()
        # One line for all files is read several times faster than one for each.
        lasting = _encode({"committed": self.committed, "files": self.files, "ids": list(self.newest_ids)})
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

    def _append(self, line: dict[str, Any]) -> None:
        if self.damaged:
            return  # nothing may follow a gap: whoever looks next rebuilds the file
        try:
            stamp = self._disk.append(self.path, _encode(line), sync=False)
        except OSError:
            self.damaged = True
            return
        self._inode, self._offset = stamp.inode, stamp.size
