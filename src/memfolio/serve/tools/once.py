"""Keeping a text once, however often a host sends it: a request whose answer was lost is sent again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Any

from memfolio.errors import ConflictError

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.types import MemoryItem

LATE = timedelta(hours=1)
"""How long after midnight a request may be one of the day before."""


def kept_once(memory: Memory, text: str, draft: Mapping[str, Any]) -> MemoryItem:
    """The one memory of a text on a day; what was forgotten since is kept again, what was corrected is not."""
    now = memory.vault.home.now().astimezone(memory.vault.home.zone)
    before, today = (_mark(memory, text, draft, at) for at in (now - LATE, now))
    late = _kept_under(memory, f"{before}-0") if before != today else None
    if late and now - late.created_at < LATE and not late.forgotten_at and not late.superseded_by:
        return late
    return next(filter(None, (_kept(memory, text, f"{today}-{attempt}", draft) for attempt in count())))


def _kept(memory: Memory, text: str, key: str, draft: Mapping[str, Any]) -> MemoryItem | None:
    """What is kept under a key; None where that was forgotten, so that it takes another one to keep it again."""
    try:
        return memory.remember(text, key=key, **draft)
    except ConflictError:
        there = _kept_under(memory, key)
        if there is None or there.forgotten_at:
            return None
        if there.superseded_by:
            raise
        return there  # in other words than it was sent: what must not be written was taken out


def _kept_under(memory: Memory, key: str) -> MemoryItem | None:
    """What was remembered under a key, if it is there in any form."""
    line = memory.vault.books.made_under(memory.vault.home.key_mark(memory.agent, key))
    return memory.get(line.ids[0]) if line and line.ids else None


def _mark(memory: Memory, text: str, draft: Mapping[str, Any], at: datetime) -> str:
    said = (memory.agent, at.date().isoformat(), draft["type"], draft.get("store", "long_term"), text)
    return f"tool-{blake2b(chr(0).join(said).encode('utf-8', 'replace')).hexdigest()[:24]}"
