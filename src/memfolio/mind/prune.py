"""Letting go of what is over: intentions that expired or stalled, promises that were broken. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Any

from memfolio.mind.item import Item
from memfolio.mind.kind import Status
from memfolio.mind.page import MindPage
from memfolio.tuning import Minding
from memfolio.vault.format.fields import local

Edits = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What becomes of the items of a page: edits and remarks by their ids, and those that go to the archive."""

    edits: Edits = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)
    """Why an item is over, as a line for a person."""
    archived: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def prune_intentions(items: Iterable[Item], commitment: str, minding: Minding, now: datetime, zone: tzinfo) -> Pruned:
    """Expire what is past its deadline, stall what nobody spoke of for longer than its strategy allows.

    An item with a field that makes no sense is left as it is: its page says what is wrong.
    """
    edits: dict[str, Mapping[str, Any]] = {}
    remarks: dict[str, str] = {}
    archived: list[str] = []
    for item in items:
        if item.problems:
            continue
        status, why = _fate(item, str(item.fields.get("strategy", commitment)), minding, now, zone)
        if status is not item.status:
            edits[item.id] = {"status": status, "updated": _today(now, zone)}
            remarks[item.id] = f"{status.capitalize()} on {_day(now, zone)}: {why}."
        elif item.updated is None and (item.deadline is None or not item.is_live):
            edits[item.id] = {"updated": _today(now, zone)}
        elif not item.is_live and _is_long_over(item, minding, now):
            archived.append(item.id)
    return Pruned(edits=edits, remarks=remarks, archived=tuple(archived))


def prune_commitments(items: Sequence[Item], minding: Minding, now: datetime, zone: tzinfo) -> Pruned:
    """Mark promises past their deadline as expired; each stays on its page, and is told of, until a person decides."""
    pruned = prune_intentions(items, "single-minded", minding, now, zone)
    expired = {item.id for item in items if item.status is Status.EXPIRED}
    over = {item.id for item in items if not item.is_live}
    broken = expired | pruned.remarks.keys()
    return Pruned(
        edits={name: edit for name, edit in pruned.edits.items() if name in broken or name in over},
        remarks=pruned.remarks,
        archived=tuple(name for name in pruned.archived if name not in expired),
        notes=tuple(_broken(item, zone) for item in items if item.id in broken),
    )


def _fate(item: Item, strategy: str, minding: Minding, now: datetime, zone: tzinfo) -> tuple[Status, str]:
    if item.is_live and item.deadline is not None and item.deadline < now:
        return Status.EXPIRED, f"its deadline was {_day(item.deadline, zone)}"
    patience = patience_of(strategy, minding)
    if item.status is Status.ACTIVE and item.updated and patience and now - item.updated > patience:
        return Status.STALLED, f"nothing was said of it since {_day(item.updated, zone)} ({strategy})"
    return item.status, ""


def patience_of(strategy: str, minding: Minding) -> timedelta | None:
    """How long a strategy holds on to what nobody speaks of; None is forever."""
    return {"open-minded": minding.open_minded, "cautious": minding.cautious}.get(strategy)


def remarked(page: MindPage, remarks: Mapping[str, str]) -> str:
    """The text of a page with each remark below the item that it is about."""
    pieces, at, text = list[str](), 0, page.text
    end = "\r\n" if "\r\n" in text else "\n"
    for section in page.sections if remarks else ():
        if remark := remarks.get(section.item.id):
            gap = "" if section.end == len(text) else end
            pieces.append(f"{text[at : section.end].rstrip()}{end}{end}> {remark}{end}{gap}")
            at = section.end
    return "".join([*pieces, text[at:]])


def _is_long_over(item: Item, minding: Minding, now: datetime) -> bool:
    return item.updated is not None and now - item.updated > minding.keep


def _broken(item: Item, zone: tzinfo) -> str:
    to = f" to {item.fields['to']}" if "to" in item.fields else ""
    when = f", due {_day(item.deadline, zone)}" if item.deadline else ""
    return f"broken promise{to}: {item.title} ({item.id}{when})"


def _today(now: datetime, zone: tzinfo) -> datetime:
    return local(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)


def _day(moment: datetime, zone: tzinfo) -> str:
    return local(moment, zone).date().isoformat()
