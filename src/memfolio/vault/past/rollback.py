"""Rollback: pages, logs and state as they were at a moment. The trail and the archive are never rolled back, and
what was forgotten or purged since then stays so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memfolio.vault.foreign import blocks_of
from memfolio.vault.format.lines import read_lines, split_lines
from memfolio.vault.past.undo import ledger_blocks
from memfolio.vault.paths import AUDIT, Form, form_of, ledger_of
from memfolio.vault.recent import to_bytes

LASTING = frozenset({"tombstone", "purge"})
"""Operations of state lines that outlive a rollback."""

Files = Mapping[str, bytes | None]


def is_rolled_back(path: str) -> bool:
    return not path.startswith(f"{AUDIT}/") and "/memory/archive/" not in path


def restore(then: Files, now: Files) -> dict[str, bytes | None]:
    """What each file must become so that `then` is back, except for what was forgotten since."""
    wanted = {path: then.get(path) for path in {*then, *now} if is_rolled_back(path)}
    lasting = _lasting_lines(now)
    _keep_lasting(wanted, lasting, then)
    forgotten = {memory for lines in lasting.values() for memory in map(_memory_of, lines) if memory}
    for path, content in wanted.items():
        if content is not None and form_of(path) is Form.LOG:
            wanted[path] = without(path, content, forgotten)
    return wanted


def without(path: str, content: bytes, ids: Iterable[str]) -> bytes:
    """A log without the entries with these ids, the rest byte for byte."""
    gone = set(ids)
    kept = [block for block in ledger_blocks(path, content) if not gone & _ids_in(path, block)]
    return to_bytes("".join(kept))


def _ids_in(path: str, block: str) -> set[str]:
    return {each for each, _ in blocks_of(path, to_bytes(block)) if each}


def _lasting_lines(files: Files) -> dict[str, list[bytes]]:
    """Each state file's lines that outlive a rollback."""
    found: dict[str, list[bytes]] = {}
    for path, content in files.items():
        if content is not None and form_of(path) is Form.LINES and is_rolled_back(path):
            lines = [raw for raw in split_lines(content) if _operation(raw) in LASTING]
            if lines:
                found[path] = lines
    return found


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


def _operation(raw: bytes) -> str | None:
    records = read_lines(raw).records
    operation = records[0].record.get("op") if records else None
    return operation if isinstance(operation, str) else None


def _memory_of(raw: bytes) -> str | None:
    records = read_lines(raw).records
    memory = records[0].record.get("memory") if records else None
    return memory if isinstance(memory, str) else None
