"""What a change does, in the words of the policy. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from memfolio.policy import Deed
from memfolio.sources import CORRECTION, OVERHEARD, REFLECTION, SUMMED_UP
from memfolio.state import Op
from memfolio.types import Action, MemoryItem, Origin, Store
from memfolio.vault.change import AddBlocks, AddEntries, AddLines, Change, PutPage
from memfolio.vault.format.draft import Draft
from memfolio.vault.paths import Sensitivity, agent_of, ledger_of, sensitivity, state_ledger

CORE = "MEMORY.md"
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
}
"""What a change as a whole is, by the action that the trail will tell."""
LINES = {
    Op.CONFIRM.value: Deed.CONFIRM,
    Op.PIN.value: Deed.PIN,
    Op.VALIDITY.value: Deed.CORRECT,
    Op.TOMBSTONE.value: Deed.FORGET,
    Op.RESTORE.value: Deed.RESTORE,
    Op.ARCHIVE.value: Deed.ARCHIVE,
    Op.PURGE.value: Deed.PURGE,
}

Read = Callable[[str], bytes | None]


class Part(NamedTuple):
    """One thing that a change does: to whose word, or to which memory, as far as that is known."""

    deed: Deed
    origin: Origin | None = None
    memory: str | None = None


def parts_of(change: Change, read: Read) -> Iterator[Part]:
    """Everything that a change does; `read` gives a page as it is."""
    whole = WHOLE.get(change.action)
    if whole:
        yield Part(whole)
    adds = any(isinstance(operation, AddEntries) for operation in change.operations)
    for operation in change.operations:
        match operation:
            case AddEntries():
                yield from {Part(_deed_of(item), item.origin) for item in operation.items}
            case AddLines():
                yield from _lines(operation, adds=adds)
            case PutPage():
                yield from _page(operation, read, whole)
            case AddBlocks():
                yield Part(Deed.PAGE)


def agents_of(change: Change) -> Iterator[str | None]:
    """Whose folders a change touches; None is the home's own part."""
    for operation in change.operations:
        match operation:
            case AddEntries():
                yield operation.agent
            case PutPage():
                yield agent_of(operation.path)
            case AddLines() | AddBlocks():
                yield agent_of(operation.ledger.part(1))


def _deed_of(item: MemoryItem | Draft) -> Deed:
    if item.store is Store.VAULT:
        return Deed.VAULT
    if item.role is not None:
        return Deed.OBSERVE
    if item.source == CORRECTION:
        return Deed.CORRECT
    return Deed.LEARN if item.source in MADE else Deed.REMEMBER


def _lines(operation: AddLines, *, adds: bool) -> Iterator[Part]:
    """What state lines do; that something takes the place of another is told with what does."""
    agent = agent_of(operation.ledger.part(1))
    if agent is None or operation.ledger != state_ledger(agent):
        yield Part(Deed.PAGE)
        return
    for record in operation.records:
        op = str(record.get("op"))
        if op == Op.STORE.value and record.get("store") == Store.VAULT.value:
            yield Part(Deed.VAULT)
        elif op == Op.SUPERSEDE.value and not adds:
            yield Part(Deed.CORRECT, memory=_id(record.get("memory")))
        elif op in LINES:
            yield Part(LINES[op], memory=_id(record.get("memory")))
        else:
            yield Part(Deed.NOTE)


def _id(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _page(put: PutPage, read: Read, whole: Deed | None) -> Iterator[Part]:
    """What a new state of a file does; of what a change does as a whole, only the sensitive files matter."""
    match sensitivity(put.path):
        case Sensitivity.CRITICAL:
            yield Part(Deed.CRITICAL)
        case Sensitivity.HIGH:
            yield Part(Deed.VAULT if "/memory/vault/" in put.path else Deed.HIGH)
        case _ if put.path.endswith(f"/{CORE}"):
            yield Part(Deed.CORE if _is_one_line(put.content or b"", read(put.path) or b"") else Deed.REWRITE)
        case _ if whole is None and not ledger_of(put.path):
            yield Part(Deed.PAGE)


def _is_one_line(after: bytes, before: bytes) -> bool:
    """Whether an edit takes at most one of the lines away, so that it is no rewriting."""
    left = after.splitlines()
    return sum(1 for line in before.splitlines() if line.strip() and line not in left) <= 1
