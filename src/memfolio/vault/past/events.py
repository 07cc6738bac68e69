"""The life of one memory as the trail and the state lines tell it: who wrote it, changed it, took it away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from itertools import chain
from typing import Any

from memfolio.types import Action
from memfolio.vault.audit import TrailLine
from memfolio.vault.excerpt import by_hand
from memfolio.vault.format.entry import parse_entry
from memfolio.vault.past.rollback import is_state, record_of
from memfolio.vault.past.walk import Blocks, Walk
from memfolio.vault.paths import Form, agent_of, day_of, form_of, is_packed_log, ledger_of
from memfolio.vault.recent import to_bytes

PURGED = "purged"
Record = Mapping[str, Any]
WORDS = {
    "confirm": "confirmed",
    "tombstone": "forgotten",
    "purge": PURGED,
    "restore": "restored",
    "archive": "archived",
    "access": "recalled",
    "validity": "given its time",
    "edge": "tied",
}
LEFT = {Action.REVERT: "undone", Action.ARCHIVE: "archived", Action.DELETE: "forgotten", Action.PURGE: PURGED}
OUT = frozenset({*LEFT.values(), "deleted"})
"""What takes a memory out of sight."""
MOVES = frozenset({"tombstone", "purge", "restore", "archive"})
"""Operations of state lines that say why a memory left its log or came back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that was done to a memory, by whom, and in which change; `text` is what it said from then on."""

    seq: int | None
    at: str
    deed: str
    actor: str
    trigger: str
    text: str | None = None
    by: str | None = None
    """The memory that took its place."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What a file said of the memory in front of a change or behind it."""

    path: str
    raw: str
    content: str

    @property
    def is_archived(self) -> bool:
        return ledger_of(self.path) is None


class Life:
    """Finds the events of one memory on a walk over the trail."""

    def __init__(self, id: str, days: Iterable[str], states: Iterable[Record]) -> None:
        self.id = id
        self._days = frozenset(days)
        """The days in whose logs it may stand or have stood."""
        self._states = {str(record.get("id")): record for record in states}
        self._unplaced = dict(self._states)
        self.learned: list[Record] = []
        """State lines about it that an undo took away: only who knows of them finds their changes."""

    def needles(self) -> list[bytes]:
        """What every line of the trail has that may tell of the memory; large changes do not name all their ids."""
        named = [self.id, *(f"/{day}" for day in self._days), *self._states, '"count":', f'"{Action.REVERT}"']
        return [each.encode() for each in named]

    def events(self, walk: Walk, lines: Iterable[TrailLine]) -> list[Event]:
        """What happened, oldest first; the lines come from the walk, newest first."""
        found = [event for line in lines for event in self._in_line(walk, line)]
        rest = [_said(record, None) for record in self._unplaced.values()]
        return sorted(chain(reversed(found), rest), key=lambda event: event.at)

    def _in_line(self, walk: Walk, line: TrailLine) -> Iterator[Event]:
        """The events of one change, the last first."""
        said = [record for each, record in self._states.items() if each in self._unplaced and _names(line, each)]
        for record in said:
            del self._unplaced[str(record["id"])]
        moved = self._moved(walk, line)
        is_taken_back = line.action is Action.REVERT and self._take_back(walk, line)
        yield from (_said(record, line) for record in reversed(said))
        if moved and not any(record.get("op") in MOVES for record in said):
            yield _event(line, *moved)
        elif is_taken_back and not moved:
            yield _event(line, "undone", None)

    def _take_back(self, walk: Walk, line: TrailLine) -> bool:
        """Whether an undo took away or brought back what state lines said about the memory."""
        sides = [walk.differing(line, mark) for mark in line.files if is_state(mark.path)]
        records = [record_of(to_bytes(text)) for side in sides for blocks in side for _, text in blocks]
        mine = {str(record.get("id")): record for record in records if record.get("memory") == self.id}
        self.learned += [record for each, record in mine.items() if each not in self._states]
        return bool(mine)

    def _moved(self, walk: Walk, line: TrailLine) -> tuple[str, str | None] | None:
        """What the change did to the memory in its files, and what that says from then on."""
        if any(map(is_packed_log, line.paths)):
            return None  # the archive is kept in less room
        before, after = list[_Place](), list[_Place]()
        for mark in line.files:
            if form_of(mark.path) is not Form.LOG or str(day_of(mark.path)) not in self._days:
                continue
            if mark.start is not None and self.id not in line.ids and line.count <= len(line.ids):
                continue
            taken, put = walk.differing(line, mark)
            before += self._places(mark.path, taken)
            after += self._places(mark.path, put)
        return _compared(line, before, after)

    def _places(self, path: str, blocks: Blocks) -> Iterator[_Place]:
        agent, day = agent_of(path), day_of(path)
        if agent is None or day is None:
            return
        for each, text in blocks:
            if each == self.id and (parsed := parse_entry(text.lstrip("\n"), day=day, tz=UTC, agent=agent)):
                yield _Place(path, text.strip("\n"), parsed.entry.item.content)
            elif each is None and self.id.startswith("H-"):
                items = [found.entry.item for found in by_hand(path, text)]
                yield from (_Place(path, item.content, item.content) for item in items if item.id == self.id)


def _compared(line: TrailLine, before: Sequence[_Place], after: Sequence[_Place]) -> tuple[str, str | None] | None:
    was, here = ([each for each in places if not each.is_archived] for places in (before, after))
    if was and here:
        is_same = was[0].raw == here[0].raw
        return ("moved", None) if is_same else ("edited", here[0].content)
    if here:
        is_back = bool(before) or line.action in (Action.RESTORE, Action.REVERT)
        return "restored" if is_back else "written", here[0].content
    if was:
        return LEFT.get(line.action, "archived") if after or line.action in LEFT else "deleted", None
    if before and not after:  # out of the archive
        is_meant = line.action in (Action.EDIT, Action.DELETE, Action.PURGE)
        return (PURGED if line.action is Action.PURGE else "deleted", None) if is_meant else None
    return None


def _names(line: TrailLine, id: str) -> bool:
    """Whether a change wrote the state line with this id; of a large one, the times of its ids tell."""
    if line.count <= len(line.ids):
        return id in line.ids
    first, last = sorted((line.ids[0], line.ids[-1]))
    return any(map(is_state, line.paths)) and (id in line.ids or _time(first) <= _time(id) <= _time(last))


def _time(id: str) -> str:
    return id.rpartition("-")[0]


def _event(line: TrailLine, deed: str, text: str | None) -> Event:
    return Event(seq=line.seq, at=line.at, deed=deed, actor=line.by.actor, trigger=line.by.trigger, text=text)


def _said(record: Record, line: TrailLine | None) -> Event:
    """What a state line did to the memory."""
    by = record.get("by")
    return Event(
        seq=line.seq if line else None,
        at=line.at if line else str(record.get("at", "")),
        deed=_deed(record),
        actor=str(record.get("actor", line.by.actor if line else "somebody")),
        trigger=str(record.get("trigger", line.by.trigger if line else "")),
        by=by if isinstance(by, str) else None,
    )


def _deed(record: Record) -> str:
    match record.get("op"):
        case "pin":
            return "pinned" if record.get("pinned", True) is True else "unpinned"
        case "supersede":
            return "corrected" if record.get("by") else "restored"
        case "store":
            return f"moved to {record.get('store')}"
    return WORDS.get(str(record.get("op")), str(record.get("op")))


def last_out(events: Sequence[Event]) -> Event | None:
    """What took a memory out of sight that is not where it was."""
    return next((event for event in reversed(events) if event.deed in OUT), None)
