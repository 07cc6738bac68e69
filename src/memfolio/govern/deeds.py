"""What a change does, in the words of the policy. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from memfolio.errors import DiskError
from memfolio.policy import Deed
from memfolio.sources import CORRECTION, FLUSHED, OVERHEARD, REFLECTION, SUMMED_UP
from memfolio.state import Op
from memfolio.types import Action, MemoryItem, Origin, Store
from memfolio.vault.change import AddBlocks, AddEntries, AddLines, Change, NewId, Operation, PutPage
from memfolio.vault.format.draft import Draft
from memfolio.vault.format.lines import read_lines
from memfolio.vault.format.packed import is_packed, text_of
from memfolio.vault.paths import Form, Ledger, Sensitivity, agent_of, form_of, sensitivity, state_ledger

CORE = "MEMORY.md"
PROPOSALS = "/memory/meta/proposals/"
MADE = frozenset({*OVERHEARD, *SUMMED_UP, REFLECTION})
WHOLE = {
    Action.REVERT: Deed.UNDO,
    Action.PURGE: Deed.PURGE,
    Action.ARCHIVE: Deed.ARCHIVE,
    Action.RESTORE: Deed.RESTORE,
    Action.MERGE: Deed.MERGE,
    Action.PROPOSE: Deed.PROPOSE,
    Action.REJECT: Deed.REVIEW,
    Action.RENAME: Deed.CRITICAL,
    Action.ALERT: Deed.ACKNOWLEDGE,
    Action.ACK: Deed.ACKNOWLEDGE,
}
"""What a change as a whole is, by the action that the trail will tell."""
RENEWING = (Deed.PURGE, Deed.CRITICAL)
"""What may write logs anew."""
LINES = {
    Op.CONFIRM.value: Deed.CONFIRM,
    Op.PIN.value: Deed.PIN,
    Op.VALIDITY.value: Deed.CORRECT,
    Op.TOMBSTONE.value: Deed.FORGET,
    Op.RESTORE.value: Deed.RESTORE,
    Op.ARCHIVE.value: Deed.ARCHIVE,
    Op.PURGE.value: Deed.PURGE,
}
FACTS = {"retract": Deed.FORGET, "verify": Deed.CONFIRM}
"""What lines about facts do; any other asserts one."""
TELLING = frozenset({Op.STORE.value, Op.SUPERSEDE.value, *LINES})
"""Lines that make something else of a memory; all others are noted by the way."""
_MARK = re.compile(rb"[ \t]*(?:\^\S+)?[ \t]*$")
_AROUND = re.compile(rb"|# .*|---")
"""Lines that come and go with the entries around them."""

Read = Callable[[str], bytes | None]
Find = Callable[[str], MemoryItem | None]


class Part(NamedTuple):
    """One thing that a change does, and to whose word, as far as that is known."""

    deed: Deed
    origin: Origin | None = None


def parts_of(change: Change, read: Read, find: Find) -> Iterator[Part]:
    """Everything that a change does; `read` gives a page as it is, `find` a memory."""
    whole = WHOLE.get(change.action)
    if whole:
        yield Part(whole)
    added: list[MemoryItem | Draft] = []
    for operation in change.operations:
        match operation:
            case AddEntries():
                yield from {Part(_deed_of(item), item.origin) for item in operation.items}
                added += operation.items
            case AddLines():
                yield from _lines(operation.ledger, operation.records, added, find)
            case PutPage():
                yield from _page(operation, read, whole)
            case AddBlocks():
                yield Part(Deed.PAGE)
                if operation.ledger.form is Form.LINES:
                    yield from _lines(operation.ledger, _records(operation.blocks), added, find)
    yield from _renewed(change, read, find, whole)


def memories_of(change: Change) -> set[str]:
    """The ids of the memories that a change tells something about, brings back, or makes others of."""
    found: set[object] = set()
    for operation in change.operations:
        match operation:
            case AddEntries():
                found.update(each for item in operation.items for each in item.derived_from)
            case AddLines():
                found.update(_told_about(operation.records))
            case AddBlocks() if operation.ledger.form is Form.LINES:
                found.update(_told_about(_records(operation.blocks)))
            case PutPage(path, bytes() as content, _) if form_of(path) is Form.LINES:
                confirming = (line for line in content.splitlines() if b'"confirm"' in line)
                found.update(_told_about(_records(confirming)))
    return {each for each in found if isinstance(each, str)}


def _told_about(records: Iterable[Mapping[str, Any]]) -> Iterator[object]:
    for record in records:
        if record.get("op") in TELLING:
            yield record.get("memory")
        yield from record.get("memories", ())


def agents_of(operations: Iterable[Operation]) -> Iterator[str | None]:
    """Whose folders operations touch; None is the home's own part."""
    for operation in operations:
        match operation:
            case AddEntries():
                yield operation.agent
            case PutPage():
                yield agent_of(operation.path)
            case AddLines() | AddBlocks():
                yield agent_of(operation.ledger.part(1))


def only_counts(change: Change) -> bool:
    """Whether nothing is written but that memories were used."""
    lines = [each for each in change.operations if isinstance(each, AddLines)]
    ops = {record.get("op") for each in lines for record in each.records}
    return len(lines) == len(change.operations) and ops <= {Op.ACCESS.value}


def _deed_of(item: MemoryItem | Draft) -> Deed:
    if item.store is Store.VAULT:
        return Deed.VAULT
    if item.role is not None:
        return Deed.OBSERVE
    if item.source == CORRECTION:
        return Deed.CORRECT
    is_made = item.source in MADE and (item.derived_from or item.source == FLUSHED)
    return Deed.LEARN if is_made else Deed.REMEMBER


def _lines(
    ledger: Ledger, records: Iterable[Mapping[str, Any]], added: Sequence[MemoryItem | Draft], find: Find
) -> Iterator[Part]:
    """What state lines do to memories that are there, or that are `added` by the same change."""
    agent = agent_of(ledger.part(1))
    if agent is None or ledger != state_ledger(agent):
        yield from _knowledge(ledger, records)
        return
    for record in records:
        op, memory = str(record.get("op")), record.get("memory")
        if op not in TELLING:
            yield Part(Deed.REVIEW if op == Op.REVIEW.value and "proposal" in record else Deed.NOTE)
            continue
        item = _meant(memory, added, find)
        if Store.VAULT in (item.store if item else None, record.get("store")):
            yield Part(Deed.VAULT)
        if op == Op.SUPERSEDE.value:
            yield _replacing(item, added)
        else:
            yield Part(LINES.get(op, Deed.NOTE), item.origin if item else None)


def _knowledge(ledger: Ledger, records: Iterable[Mapping[str, Any]]) -> Iterator[Part]:
    """What lines in a ledger of facts, rules or cases do; those of other ledgers count as those of a page."""
    match ledger.base.rpartition("/knowledge/")[2]:
        case "facts":
            yield from {Part(FACTS.get(str(each.get("op")), Deed.REMEMBER), _origin(each)) for each in records}
        case "rules":
            yield Part(Deed.RULE)
        case "cases":
            yield Part(Deed.LEARN)
        case _:
            yield Part(Deed.PAGE)


def _origin(record: Mapping[str, Any]) -> Origin | None:
    return Origin.UNTRUSTED if record.get("origin") == Origin.UNTRUSTED.value else None


def _meant(memory: object, added: Sequence[MemoryItem | Draft], find: Find) -> MemoryItem | Draft | None:
    if isinstance(memory, NewId):
        return added[memory.index] if memory.index < len(added) else None
    return find(memory) if isinstance(memory, str) else None


def _replacing(item: MemoryItem | Draft | None, added: Sequence[MemoryItem | Draft]) -> Part:
    """That something takes the place of another is told with what does, unless that one is the owner's word."""
    if added and (item is None or item.origin is not Origin.OWNER):
        return Part(Deed.NOTE)
    return Part(Deed.CORRECT, item.origin if item else None)


def _records(blocks: Iterable[bytes]) -> Iterator[Mapping[str, Any]]:
    return (line.record for raw in blocks for line in read_lines(raw.rstrip(b"\n") + b"\n").records)


def _page(put: PutPage, read: Read, whole: Deed | None) -> Iterator[Part]:
    """What a new state of a file does."""
    match sensitivity(put.path):
        case Sensitivity.CRITICAL:
            yield Part(Deed.CRITICAL)
        case Sensitivity.HIGH:
            yield Part(Deed.VAULT if "/memory/vault/" in put.path else Deed.HIGH)
        case _ if agent_of(put.path) is None:
            yield Part(Deed.CRITICAL)
        case _ if put.path.endswith(f"/{CORE}"):
            yield Part(Deed.CORE if _is_one_line(put.content or b"", read(put.path) or b"") else Deed.REWRITE)
        case _ if PROPOSALS in put.path:
            yield Part(Deed.PROPOSE if whole is Deed.PROPOSE else Deed.REVIEW)
        case _ if "/knowledge/ontology/" in put.path:
            yield Part(Deed.RULE)
        case _:
            yield Part(Deed.PAGE)


def _renewed(change: Change, read: Read, find: Find, whole: Deed | None) -> Iterator[Part]:
    """What writing logs and state files anew does: it takes away, and is a rewriting if it adds."""
    puts = [each for each in change.operations if isinstance(each, PutPage) and _is_record(each.path)]
    moved = [raw for each in change.operations if isinstance(each, AddBlocks) for raw in _log_blocks(each)]
    if whole in RENEWING or (not puts and not moved):
        return
    before = {line for put in puts for line in _said(put.path, read(put.path))}
    after = {line for put in puts for line in _said(put.path, put.content)}
    if whole is Deed.UNDO:
        confirmed = [each for each in _records(after - before) if each.get("op") == Op.CONFIRM.value]
        yield from (Part(Deed.CONFIRM, item.origin) for each in confirmed if (item := find(str(each.get("memory")))))
        return
    after |= {line for raw in moved for line in _said("", raw)}
    if after - before:
        yield Part(Deed.REWRITE)
    elif whole is None or before - after:
        yield Part(Deed.FORGET)


def _is_record(path: str) -> bool:
    return form_of(path) is not Form.PAGE or is_packed(path)


def _log_blocks(operation: AddBlocks) -> tuple[bytes, ...]:
    return operation.blocks if operation.ledger.form is Form.LOG else ()


def _said(path: str, content: bytes | None) -> Iterator[bytes]:
    """The lines of entries and records in a file; one that cannot be unpacked has those that it seems to have."""
    text = content or b""
    with suppress(DiskError):
        text = text_of(path, text) if text else b""
    lines = (_MARK.sub(b"", line) for line in text.splitlines())
    return (line for line in lines if not _AROUND.fullmatch(line))


def _is_one_line(after: bytes, before: bytes) -> bool:
    """Whether an edit takes at most one of the lines away, so that it is no rewriting."""
    left = after.splitlines()
    return sum(1 for line in before.splitlines() if line.strip() and line not in left) <= 1
