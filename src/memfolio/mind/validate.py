"""Looking beliefs over, some at a time: what is doubtful about each, and which say the same. Pure.

Nobody's words are changed here: only how a belief stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memfolio.index.mind_item import Item
from memfolio.index.mind_kind import Status
from memfolio.mind.prune import Edits

UNKNOWN = "unknown"
"""The state of what is not there at all."""
SHOWN = 5
"""How many beliefs a note names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Something that beliefs rest on and that does not hold any more: `state` says what became of it."""

    id: str
    state: str = UNKNOWN
    says: str = ""
    """What took its place, or else what it said; nothing where it was forgotten."""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of looking at beliefs, the same for a chunk and for many."""

    chunks: int
    edits: Edits
    notes: tuple[str, ...]


def validate(items: Sequence[Item], gone: Mapping[str, Ground], size: int, today: datetime) -> Checked:
    """Look all beliefs over; of several that say the same the surest counts, and the others are retired."""
    chunks = [items[at : at + size] for at in range(0, len(items), size)]
    found = defaultdict[str, list[Item]](list)
    edits: dict[str, Mapping[str, object]] = {}
    surest: dict[str, Item] = {}
    for item in (each for chunk in chunks for each in chunk if each.is_live and not each.problems):
        for doubt in _doubts(item, gone):
            found[doubt].append(item)
        other = surest.setdefault(key := " ".join(item.says.casefold().split()), item)
        if key and other is not item:
            surest[key], weaker = (item, other) if item.certainty > other.certainty else (other, item)
            edits[weaker.id] = {"status": Status.RETIRED, "updated": today, "reason": f"{surest[key].id} says the same"}
    return Checked(chunks=len(chunks), edits=edits, notes=tuple(_told(*each) for each in found.items()))


def _doubts(item: Item, gone: Mapping[str, Ground]) -> Iterator[str]:
    if not item.says:
        yield "without words"
    elif "certainty" not in item.fields:
        yield "without a certainty, taken as 0.5"
    for ground in filter(None, map(gone.get, item.links())):
        yield "resting on what is not there" if ground.state == UNKNOWN else f"resting on what was {ground.state}"


def _told(doubt: str, items: Sequence[Item]) -> str:
    named = ", ".join(f"{item.title[:60] or f'line {item.line}'} ({item.id})" for item in items[:SHOWN])
    return f"beliefs {doubt}: {named}{f' and {len(items) - SHOWN} more' if len(items) > SHOWN else ''}"
