"""Rollback: pages, logs and state as they were at a moment. The trail and the archive are never rolled back, and
what was forgotten or purged since then stays so."""

from __future__ import annotations

from collections.abc import Container, Mapping
from datetime import UTC
from typing import Any

from memfolio.vault.foreign import blocks_of
from memfolio.vault.format.lines import read_lines, split_lines
from memfolio.vault.format.log import LogEntry, read_log
from memfolio.vault.past.merge import ledger_blocks
from memfolio.vault.paths import AUDIT, Form, agent_of, day_of, form_of, ledger_of
from memfolio.vault.recent import to_bytes, to_text

STATE = "memory/meta/state"
TOMBSTONE = "tombstone"
PURGE = "purge"
LASTING = frozenset({TOMBSTONE, PURGE})
"""Operations of state lines that outlive a rollback."""

Files = Mapping[str, bytes | None]


def is_rolled_back(path: str) -> bool:
    return not path.startswith(f"{AUDIT}/") and "/memory/archive/" not in path


def is_state(path: str) -> bool:
    return f"/{STATE}/" in path and form_of(path) is Form.LINES


def restore(then: Files, now: Files, forgotten: Container[str]) -> dict[str, bytes | None]:
    """What each file must become so that `then` is back, except for what was forgotten anywhere since."""
    wanted = {path: then.get(path) for path in {*then, *now} if is_rolled_back(path)}
    _keep_lasting(wanted, lasting_lines(now), then)
    for path, content in wanted.items():
        if content is not None and form_of(path) is Form.LOG:
            wanted[path] = without(path, content, forgotten)
    return wanted


def lasting_lines(files: Files) -> dict[str, list[bytes]]:
    """Each state file's lines that outlive a rollback."""
    states = {path: content for path, content in files.items() if content is not None and is_state(path)}
    found = {path: [raw for raw in split_lines(content) if _is_lasting(raw)] for path, content in states.items()}
    return {path: lines for path, lines in found.items() if lines}


def forgotten_by(lasting: Mapping[str, list[bytes]], operations: Container[str] = LASTING) -> frozenset[str]:
    """The memories that these state lines forget or purge."""
    records = [_record(raw) for lines in lasting.values() for raw in lines]
    memories = (record.get("memory") for record in records if record.get("op") in operations)
    return frozenset(memory for memory in memories if isinstance(memory, str))


def without(path: str, content: bytes, ids: Container[str]) -> bytes:
    """A log without the memories with these ids, entries and hand-written text alike, the rest byte for byte."""
    blocks = zip(blocks_of(path, content), ledger_blocks(path, content), strict=True)
    text = "".join(piece for (each, _), piece in blocks if each is None or each not in ids)
    by_hand = [found for found in _by_hand(path, text) if found.entry.item.id in ids]
    for start, end in sorted((place for found in by_hand for place in found.places), reverse=True):
        text = text[:start] + text[end:]
    return to_bytes(text)


def memories_in(path: str, content: bytes | None) -> set[str]:
    """The ids of a log's memories, of hand-written text too."""
    marked = {each for each, _ in blocks_of(path, content or b"") if each}
    return marked | {found.entry.item.id for found in _by_hand(path, to_text(content or b""))}


def _by_hand(path: str, text: str) -> list[LogEntry]:
    day, agent = day_of(path), agent_of(path)
    if day is None or agent is None:
        return []
    # The zone only tells when something was, never what its id is.
    entries = read_log(text, day=day, tz=UTC, agent=agent).entries
    return [found for found in entries if found.entry.item.id.startswith("H-")]


def _is_lasting(raw: bytes) -> bool:
    # Nearly all lines are about something else: they need not be read.
    return any(each.encode() in raw for each in LASTING) and _record(raw).get("op") in LASTING


def _record(raw: bytes) -> dict[str, Any]:
    reading = read_lines(raw)
    line = reading.records[0] if reading.records else reading.tail
    return line.record if line else {}


def _keep_lasting(wanted: dict[str, bytes | None], lasting: Mapping[str, list[bytes]], then: Files) -> None:
    """Append the lasting lines that the restored files do not have, each to the newest restored part of its ledger."""
    present = {
        raw for path, content in then.items() if form_of(path) is Form.LINES for raw in split_lines(content or b"")
    }
    for path, lines in lasting.items():
        missing = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines if line not in present)
        if missing:
            target = _newest_part(path, then)
            before = wanted.get(target) or b""
            wanted[target] = before + (b"" if before.endswith(b"\n") or not before else b"\n") + missing


def _newest_part(path: str, then: Files) -> str:
    named = ledger_of(path)
    if named is None:
        return path
    numbers = [part[1] for part in map(ledger_of, then) if part and part[0] == named[0]]
    return named[0].part(max(numbers, default=1))
