"""The trail: one line a change, each sealed by a hash over itself and the line before it.

Lines hold ids, paths, actions and keyed hashes, never content, so that forgetting can be complete and the chain
can still be checked. A line's bytes are what is hashed: `{…}` without its last member, `"hash"`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from memfolio.types import Action, Attribution, frozen
from memfolio.vault.disk import Disk
from memfolio.vault.lines import attribution
from memfolio.vault.paths import AUDIT, audit_ledger

GENESIS = "0" * 32
MAX_IDS = 8
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_MONTH = re.compile(r"\d{4}-\d\d")
_PART = re.compile(r"\d{4,}\.jsonl")
_SEAL = re.compile(rb',"hash":"([0-9a-f]{32})"\}$')


@dataclass(frozen=True, slots=True)
class FileMark:
    """What a change did to one file: the keyed hash before and after, and where an append began."""

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
    """One change as the trail tells it."""

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
    """The end of the trail: the last sealed line, and the file and size where the next one goes."""

    seq: int = 0
    hash: str = GENESIS
    part: str = ""
    size: int = 0


class SealedLine(NamedTuple):
    """A line as it stands in the trail, and the head behind it."""

    line: TrailLine
    raw: bytes
    head: Head


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
        "action": line.action.value,
        "actor": by.actor,
        "approval": by.approval.value,
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
        data = self._disk.read(self._home / part, start) or b""
        offset = start
        for raw in data.split(b"\n")[:-1]:
            offset += len(raw) + 1
            yield offset, raw

    def lines(self, *, containing: Sequence[bytes] = ()) -> Iterator[TrailLine]:
        """Every readable line, oldest first; `containing` skips lines without any of these bytes, cheaply."""
        for part in self.parts():
            yield from self._read_part(part, containing)

    def newest_first(self, *, containing: Sequence[bytes] = ()) -> Iterator[TrailLine]:
        for part in reversed(self.parts()):
            yield from self._read_part(part, containing, backwards=True)

    def _read_part(self, part: str, containing: Sequence[bytes], *, backwards: bool = False) -> Iterator[TrailLine]:
        data = self._disk.read(self._home / part) or b""
        if containing and not any(needle in data for needle in containing):
            return
        lines = data.split(b"\n")[:-1]
        for raw in reversed(lines) if backwards else lines:
            if containing and not any(needle in raw for needle in containing):
                continue
            try:
                yield read_line(raw)
            except ValueError:
                continue

    def since(self, head: Head) -> tuple[list[SealedLine], Head, int]:
        """The sealed lines behind `head`, the head after them, and how many bytes at the end are torn."""
        found: list[SealedLine] = []
        for part in self.parts():
            if head.part and _order(part) < _order(head.part):
                continue
            start = head.size if part == head.part else 0
            for offset, raw in self.raw_lines(part, start):
                if not is_sealed(raw, head.hash):
                    break
                line = read_line(raw)
                head = Head(line.seq, line.hash, part, offset)
                found.append(SealedLine(line, raw + b"\n", head))
        return found, head, self._torn(head)

    def _torn(self, head: Head) -> int:
        stamp = self._disk.stamp(self._home / head.part) if head.part else None
        return max(0, stamp.size - head.size) if stamp else 0

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
        """Where the chain does not hold, one sentence each; nothing when it does."""
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
