"""`.memfolio/recent.jsonl`: the bytes of changes that are not in git yet, and how each file was last left.

Processes that share a home read one another's changes here, and the committer takes its bytes from here. The
file is a cache: it is never synced to disk, and when it is missing or damaged it is rebuilt from the trail and
the files themselves (`recover.py`)."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from memfolio.types import MemoryItem
from memfolio.vault.disk import Disk, Stamp
from memfolio.vault.trail import Head, TrailLine, read_line

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
class Written:
    """What one change put into one file: an append at `start`, or the whole content (None: the file is gone)."""

    path: str
    start: int | None
    data: bytes | None
    state: FileState | None

    @property
    def is_unknown(self) -> bool:
        """Whether the bytes are lost: written, entered, and changed again by somebody before they were in git."""
        return self.start is not None and self.data is None

    def after(self, before: bytes) -> bytes | None:
        """The file's content behind this write, given the content in front of it."""
        if self.start is None:
            return self.data
        return before[: self.start] + (self.data or b"")


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


class Recent:
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
    content = None if data["text"] is None else to_bytes(data["text"])
    return Written(data["file"], data["from"], content, _read_state(data))


def to_text(data: bytes) -> str:
    """Bytes as text that JSON can carry, whatever they are."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
