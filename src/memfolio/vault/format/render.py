"""An entry as text: its heading, its meta line, the comment for what that cannot hold, and its content.

What depends on the moment (`Shown`) and what the memories of a conversation share (`Label`) are composed apart, so
that many entries can be rendered for little.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, tzinfo
from typing import Any, NamedTuple

from memfolio.types import Approval, Attribution, MemoryItem, Origin, Store, default_kind
from memfolio.vault.format.content import escape
from memfolio.vault.format.draft import Draft
from memfolio.vault.format.fields import SEPARATOR, is_ambiguous, is_token, iso_of, local, number, render_comment
from memfolio.vault.format.heading import heading_words, tags_are_safe

DEFAULT_ACTOR = "bot:auto-detect"
DEFAULT_TRIGGERS = {
    DEFAULT_ACTOR: "observe",
    "bot:trigger-remember": "remember",
    "bot:trigger-forget": "forget",
    "human": "edit",
}


class Shown(NamedTuple):
    """A moment as an entry shows it: the day of its log, the clock in its heading, and a field of its meta line."""

    day: date
    clock: str
    meta: str


class Label(NamedTuple):
    """What an entry says about itself beside its time, content and attributes."""

    heading: str
    meta: str
    spare: Mapping[str, Any]


def show(moment: datetime, tz: tzinfo, *, is_told: bool) -> Shown:
    """`moment` in the home's zone; told in full if it must be, or if the clock shows that time twice."""
    here = local(moment, tz)
    iso = iso_of(here)
    return Shown(here.date(), iso[11:19], f"at: {iso}" if is_told or is_ambiguous(here) else "")


def label_of(item: MemoryItem | Draft, by: Attribution) -> Label:
    meta: list[str] = []
    spare: dict[str, Any] = {}
    _describe(item, meta, spare)
    _attribute(by, meta)
    if not tags_are_safe(item.tags):
        spare["tags"] = item.tags
    return Label(heading_words(item), SEPARATOR.join(meta), spare)


def render(item: MemoryItem | Draft, id: str, label: Label, shown: Shown, tz: tzinfo) -> str:
    """The block of `item` under `id`: ends with a line end, has no blank lines around it."""
    heading = f"## {shown.clock} {label.heading} ^{id}"
    meta = SEPARATOR.join(filter(None, (label.meta, shown.meta, _validity(item, tz))))
    spare = _set_aside(item, label.spare)
    comment = render_comment(spare) if spare else ""
    return "\n".join((*filter(None, (heading, meta, comment)), "", escape(item.content), ""))


def _describe(item: MemoryItem | Draft, meta: list[str], spare: dict[str, Any]) -> None:
    for name, value in (("source", item.source), ("session", item.session), ("role", item.role)):
        _place(name, value, meta, spare)
    if item.confidence != 1:
        meta.append(f"confidence: {number(item.confidence)}")
    if item.kind is not default_kind(item.type):
        meta.append(f"kind: {item.kind.value}")
    if item.store is not Store.LONG_TERM:
        meta.append(f"store: {item.store.value}")
    _place("user", item.user, meta, spare)
    if item.origin is not Origin.AGENT:
        meta.append(f"origin: {item.origin.value}")


def _place(name: str, value: str | None, meta: list[str], spare: dict[str, Any]) -> None:
    if value is None:
        return
    if is_token(value):
        meta.append(f"{name}: {value}")
    else:
        spare[name] = value


def _attribute(by: Attribution, meta: list[str]) -> None:
    if by.actor != DEFAULT_ACTOR:
        meta.append(f"actor: {by.actor}")
    if by.approval is not Approval.AUTO:
        meta.append(f"approval: {by.approval.value}")
    if by.trigger != DEFAULT_TRIGGERS.get(by.actor):
        meta.append(f"trigger: {by.trigger}")


def _validity(item: MemoryItem | Draft, tz: tzinfo) -> str:
    if item.valid_from is None and item.valid_until is None:
        return ""
    bounds = (("valid_from", item.valid_from), ("valid_until", item.valid_until))
    return SEPARATOR.join(f"{name}: {iso_of(local(moment, tz))}" for name, moment in bounds if moment is not None)


def _set_aside(item: MemoryItem | Draft, spare: Mapping[str, Any]) -> Mapping[str, Any]:
    """What goes into the comment: what the meta line could not hold, and what it never does."""
    values = dict(spare)
    if item.attributes:
        values["attributes"] = dict(item.attributes)
    if item.key is not None:
        values["key"] = item.key
    if item.derived_from:
        values["derived_from"] = item.derived_from
    if item.decay_rate is not None:
        values["decay_rate"] = item.decay_rate
    return values
