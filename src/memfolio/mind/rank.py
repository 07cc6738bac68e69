"""The order of desires: what counts most stands first. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from memfolio.index.mind_item import Item


def ranked(items: Sequence[Item]) -> list[str]:
    """The ids by priority, then urgency, then alignment; equals stay as they stood, and what is over stands last."""
    return [item.id for item in sorted(items, key=_weight)]


def _weight(item: Item) -> tuple[bool, float, float, float]:
    urgency, alignment = (float(item.fields.get(name, 0.5)) for name in ("urgency", "alignment"))
    return not item.is_live, -item.priority, -urgency, -alignment
