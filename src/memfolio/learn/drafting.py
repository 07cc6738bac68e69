"""What was learned as memories: each with what it is about, what it was learned from, and whose word it is. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memfolio.learn.learned import Statement
from memfolio.sources import LEARNED
from memfolio.types import MemoryItem, Origin, Store
from memfolio.vault.format.draft import Draft

_TRUST = (Origin.UNTRUSTED, Origin.SYSTEM, Origin.AGENT, Origin.OWNER)


def drafted(
    statement: Statement,
    sources: Sequence[MemoryItem] = (),
    *,
    source: str = LEARNED,
    user: str | None = None,
    at: datetime | None = None,
) -> Draft:
    """The memory that a statement becomes. It has no session, which only what was said in it belongs to."""
    about: dict[str, Any] = {
        "subject": statement.subject,
        "predicate": statement.predicate,
        "object": statement.object,
        "single": statement.is_single,
        "negated": statement.negated,
    }
    return Draft(
        content=statement.text,
        type=statement.type,
        kind=statement.kind,
        store=Store.LONG_TERM,
        user=sources[0].user if sources else user,
        importance=statement.importance,
        confidence=statement.confidence,
        tags=statement.tags,
        source=source,
        origin=least_trusted(sources),
        event_time=max((moment(each) for each in sources), default=at),
        derived_from=tuple(each.id for each in sources),
        attributes={name: value for name, value in about.items() if value},
    )


def least_trusted(sources: Sequence[MemoryItem]) -> Origin:
    """Whose word something is that was made of these: that of the least trusted."""
    return min((each.origin for each in sources), key=_TRUST.index, default=Origin.AGENT)


def moment(item: MemoryItem) -> datetime:
    """When it happened."""
    return item.event_time or item.created_at
