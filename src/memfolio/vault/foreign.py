"""Telling our own bytes from other people's, by looking at them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, tzinfo

from memfolio.types import Attribution
from memfolio.vault.format.checksum import whole_length
from memfolio.vault.format.entry import parse_entry
from memfolio.vault.format.lines import read_lines, split_lines
from memfolio.vault.format.log import split_log, title_line
from memfolio.vault.format.signature import attribution_of
from memfolio.vault.paths import Form, agent_of, day_of, form_of
from memfolio.vault.recent import to_bytes, to_text

_TORN_HEADING = re.compile(r"#{1,2}|## \d?|## \d\d:?|## \d\d:\d\d?|## \d\d:\d\d:\d?|## \d\d:\d\d:\d\d( .*)?")


@dataclass(frozen=True, slots=True)
class Piece:
    """One of our own blocks: where it lies, its id, who wrote it, and its idempotency key."""

    start: int
    end: int
    id: str
    by: Attribution
    key: str | None = None


@dataclass(slots=True)
class Own:
    """What of a file's end is ours. Everything from `whole` on is torn, or somebody else's if `is_followed` says so."""

    whole: int
    pieces: list[Piece] = field(default_factory=list)
    torn: str | None = None
    """The id in the torn rest, if it had one."""
    is_followed: bool = False

    @property
    def ids(self) -> list[str]:
        return [piece.id for piece in self.pieces] + ([self.torn] if self.torn else [])


def own_end(path: str, content: bytes, start: int, zone: tzinfo) -> Own | None:
    """Our blocks behind `start`, or None when what begins there is somebody else's."""
    own = _own_entries(path, content, start, zone) if form_of(path) is Form.LOG else _own_lines(content, start)
    return own if own and (own.pieces or not own.is_followed) else None


def _own_entries(path: str, content: bytes, start: int, zone: tzinfo) -> Own | None:
    day, agent = day_of(path), agent_of(path)
    if day is None or agent is None:
        return None
    own, offset = Own(start), start
    earlier = {block.id for block in split_log(to_text(content[:start]), agent) if block.id}
    blocks = split_log(to_text(content[start:]), agent)
    if any(block.id in earlier for block in blocks):
        return None  # copied by hand: we write every id once
    for block in blocks:
        length = whole_length(block.text, agent) if block.id else 0
        if length:
            text = block.text[:length]
            offset += len(to_bytes(text))
            own.pieces.append(_piece(text, own.whole, offset, day, zone, agent))
            own.whole = offset
        rest = block.text[length:]
        if not _is_lead(rest, day, offset):
            is_last = block is blocks[-1]
            own.is_followed = not (is_last and _is_torn(rest, marked=block.id is not None and not length))
            own.torn = None if length or own.is_followed else block.id
            return own
        offset += len(to_bytes(rest))
    own.is_followed = own.whole < len(content)  # blank lines may be anybody's
    return own


def _piece(text: str, start: int, end: int, day: date, zone: tzinfo, agent: str) -> Piece:
    parsed = parse_entry(text, day=day, tz=zone, agent=agent)
    assert parsed is not None  # a whole block has a heading with an id
    return Piece(start, end, parsed.entry.item.id, parsed.entry.by, parsed.entry.item.key)


def _is_lead(text: str, day: date, offset: int) -> bool:
    """Whether the text is only what we put before an entry: the title of a new log, or a blank line."""
    titled = offset == 0 and text.startswith(title_line(day, 1)) and text.count("\n") <= 2
    return titled or not text.strip("\n")


def _is_torn(text: str, *, marked: bool) -> bool:
    """Whether a last block is the beginning of an entry that was cut off while it was written."""
    rest = text.lstrip("\n")
    return marked or "\0" in text or ("\n" not in rest and _TORN_HEADING.fullmatch(rest) is not None)


def _own_lines(content: bytes, start: int) -> Own:
    own = Own(start)
    for raw in split_lines(content[start:]):
        if not raw.endswith(b"\n") or b"\0" in raw:
            return own
        records = [line.record for line in read_lines(raw).records]
        by = attribution_of(records[0]) if records else None
        if by is None or "id" not in records[0]:
            own.is_followed = True
            return own
        end = own.whole + len(raw)
        own.pieces.append(Piece(own.whole, end, str(records[0]["id"]), by))
        own.whole = end
    return own


def blocks_of(path: str, content: bytes) -> list[tuple[str | None, str]]:
    """A ledger's blocks in order, each with its id if it has one; together they are exactly the content."""
    if form_of(path) is Form.LOG:
        return [(block.id, block.text) for block in split_log(to_text(content), agent_of(path) or "")]
    return [(_line_id(raw), to_text(raw)) for raw in split_lines(content)]


def _line_id(raw: bytes) -> str | None:
    reading = read_lines(raw)
    return str(reading.records[0].record.get("id", "")) or None if reading.records else None


def lost_run(path: str, before: bytes, now: bytes) -> list[tuple[str, str]]:
    """The newest marked blocks that vanished from a ledger, if exactly they did; nothing otherwise."""
    if not now.strip():
        return []
    earlier = [(each, text) for each, text in blocks_of(path, before) if each]
    present = {each for each, _ in blocks_of(path, now)}
    run = _missing_suffix([each for each, _ in earlier], present)
    return earlier[len(earlier) - run :] if run else []


def _missing_suffix(ids: Sequence[str], present: set[str | None]) -> int:
    """How many ids at the end are missing; 0 when one in the middle is missing too."""
    missing = [each not in present for each in ids]
    run = next((n for n, gone in enumerate(reversed(missing)) if not gone), len(missing))
    return run if sum(missing) == run else 0
