"""What is said about a memory after it was made: the lines of `meta/state/`, and what they make of it. Pure.

A line names an operation and a memory. Lines count in the order in which they were written; unknown operations and
values that make no sense are passed over, since a newer version or a person may have written them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from memfolio.types import TOKEN_PATTERN, MemoryItem, Store, frozen

Line = Mapping[str, Any]


class Op(StrEnum):
    """The operations of state lines."""

    STORE = "store"
    PIN = "pin"
    CONFIRM = "confirm"
    ACCESS = "access"
    IGNORED = "ignored"
    TOLD = "told"
    SUPERSEDE = "supersede"
    VALIDITY = "validity"
    TOMBSTONE = "tombstone"
    RESTORE = "restore"
    PURGE = "purge"
    ARCHIVE = "archive"
    EDGE = "edge"
    JOB = "job"
    SESSION = "session"
    FLUSH = "flush"
    CONTEXT = "context"
    REVIEW = "review"
    DATED = "dated"


@frozen
class State:
    """A memory as it is, and when it was superseded."""

    item: MemoryItem
    superseded_at: datetime | None = None


def fold(item: MemoryItem, lines: Iterable[Line]) -> State:
    """The memory behind these lines."""
    state = State(item=item)
    for line in lines:
        state = apply(state, line)
    return state


def apply(state: State, line: Line) -> State:
    """The memory behind one more line."""
    step = _STEPS.get(str(line.get("op")))
    at = moment(line.get("at"))
    return step(state, line, at) if step and at else state


def moment(value: object) -> datetime | None:
    """A time of a line; None for what is none."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
        return found.astimezone(UTC) if found and found.utcoffset() is not None else None
    except (ValueError, OverflowError):  # no time, or one outside the calendar once it is UTC
        return None


def _change(state: State, **fields: Any) -> State:
    return replace(state, item=replace(state.item, **fields))


def _store(state: State, line: Line, _: datetime) -> State:
    stores: dict[str, Store] = {each.value: each for each in Store}
    store = stores.get(str(line.get("store")))
    return _change(state, store=store) if store else state


def _pin(state: State, line: Line, _: datetime) -> State:
    return _change(state, pinned=line.get("pinned", True) is True)


def _confirm(state: State, _: Line, at: datetime) -> State:
    used = _used(state, 1, at)
    return _change(used, confidence=1.0, decay_rate=0.0)


def _access(state: State, line: Line, at: datetime) -> State:
    count = line.get("count", 1)
    return _used(state, count, at) if isinstance(count, int) and 0 < count < 2**31 else state


def _ignored(state: State, line: Line, _: datetime) -> State:
    """Told to somebody who cites what they use, and not cited: uses of before count for less."""
    count = line.get("count", 1)
    left = state.item.access_count - count if isinstance(count, int) and count > 0 else state.item.access_count
    return _change(state, access_count=max(0, left))


def _used(state: State, count: int, at: datetime) -> State:
    latest = max(at, state.item.accessed_at or at)
    return _change(state, access_count=state.item.access_count + count, accessed_at=latest)


def _supersede(state: State, line: Line, at: datetime) -> State:
    by = line.get("by")
    if by is None and "by" in line:  # what took its place is gone
        return replace(_change(state, superseded_by=None), superseded_at=None)
    if not isinstance(by, str) or by == state.item.id or not TOKEN_PATTERN.fullmatch(by):
        return state
    return replace(_change(state, superseded_by=by), superseded_at=at)


def _validity(state: State, line: Line, _: datetime) -> State:
    given = {name: moment(line[name]) for name in ("valid_from", "valid_until") if name in line}
    return _change(state, **given)


def _tombstone(state: State, _: Line, at: datetime) -> State:
    return _change(state, forgotten_at=at)


def _restore(state: State, _: Line, at: datetime) -> State:
    """Who brings a memory back uses it: else retention would archive it again at once."""
    return _change(_used(state, 1, at), forgotten_at=None)


_STEPS = {
    Op.STORE.value: _store,
    Op.PIN.value: _pin,
    Op.CONFIRM.value: _confirm,
    Op.ACCESS.value: _access,
    Op.IGNORED.value: _ignored,
    Op.SUPERSEDE.value: _supersede,
    Op.VALIDITY.value: _validity,
    Op.TOMBSTONE.value: _tombstone,
    Op.PURGE.value: _tombstone,
    Op.RESTORE.value: _restore,
}
