"""The sources of what memfolio makes of memories itself, and what follows from them."""

from __future__ import annotations

from memfolio.types import MemoryItem

LEARNED = "extraction"
"""Learned from a conversation."""
FLUSHED = "flush"
"""Saved from a transcript before it was cut."""
CORRECTION = "correction"
PATTERN = "pattern"
REFLECTION = "reflection"
"""Learned by looking back, with somebody's approval."""
OVERHEARD = (LEARNED, FLUSHED)
"""What nobody said in order to have it remembered."""
SUMMED_UP = ("consolidation", "summary", PATTERN)
"""What tells of several memories; it is not summed up again."""


def sums_up(item: MemoryItem) -> bool:
    """Whether a memory tells of several others, also after a correction."""
    return item.source in SUMMED_UP or (item.source == CORRECTION and len(item.derived_from) > 1)
