"""Letting go of what is over: intentions that expired or stalled, promises that were broken. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any

from memfolio.index.mind_item import Item
from memfolio.index.mind_kind import Status
from memfolio.tuning import Minding
from memfolio.vault.format.fields import local

Edits = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What becomes of the items of a page: edits by their ids, and those that go to the archive."""

    edits: Edits
    archived: tuple[str, ...]
    let_go: int
    """How many expired or stalled."""
    notes: tuple[str, ...]


def prune(items: Iterable[Item], strategy: str, minding: Minding, now: datetime, zone: tzinfo) -> Pruned:
    """Expire what is past its deadline, stall what nobody spoke of for too long, and archive what is long over.

    `strategy` is that of items which name none. An item with a field that makes no sense is left as it is, and a
    promise that was broken stays on its page until somebody gives it another status.
    """
    patiences = {"open-minded": minding.open_minded, "cautious": minding.cautious}
    edits: dict[str, Mapping[str, Any]] = {}
    archived, notes, let_go = list[str](), list[str](), 0
    for item in (each for each in items if not each.problems):
        patience = patiences.get(item.fields.get("strategy", strategy))
        status, reason = _fate(item, patience, now, zone)
        if status is not item.status:
            let_go += 1
            edits[item.id] = {"status": status, "updated": midnight(now, zone), "reason": reason}
        elif item.updated is None and (not item.is_live or (patience and not item.deadline)):
            edits[item.id] = {"updated": midnight(now, zone)}
        if item.kind.name == "commitment" and status is Status.EXPIRED:
            notes.append(_broken(item, zone))
        elif not item.is_live and item.updated and now - item.updated > minding.keep:
            archived.append(item.id)
    return Pruned(edits=edits, archived=tuple(archived), let_go=let_go, notes=tuple(notes))


def midnight(now: datetime, zone: tzinfo) -> datetime:
    """The day of a moment, which a page tells without a time."""
    return local(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)


def _fate(item: Item, patience: timedelta | None, now: datetime, zone: tzinfo) -> tuple[Status, str]:
    if item.is_live and item.deadline and item.deadline < now:
        return Status.EXPIRED, f"its deadline was {local(item.deadline, zone):%Y-%m-%d}"
    if item.status is Status.ACTIVE and item.updated and patience and now - item.updated > patience:
        return Status.STALLED, f"nothing was said of it since {local(item.updated, zone):%Y-%m-%d}"
    return item.status, ""


def _broken(item: Item, zone: tzinfo) -> str:
    to = f" to {item.fields['to']}" if "to" in item.fields else ""
    when = f", due {local(item.deadline, zone):%Y-%m-%d}" if item.deadline else ""
    return f"broken promise{to}: {item.title} ({item.id}{when})"
