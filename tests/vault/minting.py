"""Single entries, made and written outside of any change."""

from __future__ import annotations

from collections.abc import Container
from datetime import tzinfo

from memfolio.types import Attribution, MemoryItem
from memfolio.vault.fields import Entry, Mint, attributed, label_of, render, show


def mint(
    draft: MemoryItem, by: Attribution, *, agent: str, tz: tzinfo, created_ms: int, taken: Container[str]
) -> Entry:
    """`draft` as an entry with an id that is not in `taken`; see `Mint.make`."""
    item = Mint(by, agent=agent, tz=tz, created_ms=created_ms, taken=taken).make(draft).item
    return Entry(item=item, by=attributed(item.session, item.source, by.actor, by.approval, by.trigger))


def render_entry(entry: Entry, tz: tzinfo) -> str:
    """The block of `entry`: ends with a line end, has no blank lines around it."""
    item = entry.item
    shown = show(item.event_time or item.created_at, tz, in_full=item.event_time not in (None, item.created_at))
    return render(item, item.id, label_of(item, entry.by), shown, tz)
