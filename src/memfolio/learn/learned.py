"""What was learned from a conversation, as values and as drafts of memories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memfolio.types import LEARNED, Kind, MemoryItem, Origin, Store, Type, frozen
from memfolio.vault.fields import Draft

# What was learned from a conversation, as values.

SPEAKER = "The user"
"""The speaker, if nobody is named."""
ENTITY_TYPES = ("person", "animal", "project", "organization", "place", "concept", "tool")


@frozen
class Turn:
    """What somebody said: `speaker` is who, by name where that is known; `is_person` tells people from machines."""

    content: str
    speaker: str = SPEAKER
    is_person: bool = True
    at: datetime | None = None


@frozen
class Mention:
    """An entity that is mentioned; `type` is one of `ENTITY_TYPES` or declared by the home."""

    name: str
    type: str
    aliases: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()


@frozen
class Statement:
    """A statement worth keeping, understandable by itself.

    `subject`, `predicate` and `object` say what it is about, if that is clear; of an attribute that `is_single`, such
    as where somebody lives, only one object can be true at a time.
    """

    text: str
    type: Type
    kind: Kind
    turns: tuple[int, ...]
    """The turns that it comes from, by their place."""
    subject: str = ""
    predicate: str = ""
    object: str = ""
    is_single: bool = False
    negated: bool = False
    may_replace: bool = True
    """Whether it may replace what is known; otherwise both stay until a person decides."""
    confidence: float = 0.7
    importance: float = 0.5
    tags: tuple[str, ...] = ()
    corrects: tuple[int, ...] = ()
    """What of what was known before does not hold any more because of it, by its place there."""


@frozen
class Relation:
    """How two of the mentioned are related; `predicate` is of the vocabulary in `graph/relations.md`."""

    subject: str
    predicate: str
    object: str
    turns: tuple[int, ...] = ()


@frozen
class CauseHypothesis:
    """A hypothesis: one turn may describe the cause of another."""

    cause: int
    effect: int
    confidence: float = 0.7


@frozen
class Learned:
    """Everything learned from a conversation."""

    statements: Sequence[Statement] = ()
    mentions: Sequence[Mention] = ()
    relations: Sequence[Relation] = ()
    causes: Sequence[CauseHypothesis] = ()


# What was learned as memories: each with what it is about, what it was learned from, and whose word it is. Pure.

WORKING = frozenset({"uses", "switched", "runs_on", "develops", "does", "manages", "works", "plans", "responsible_for"})
"""Predicates about work on a project, which say little about a person elsewhere."""
PRIVATE = "nobody"
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
        project=None if is_about_person(statement, sources) else _shared([each.project for each in sources]),
        audience=_narrowest([each.audience for each in sources]) if sources else user,
        attributes={name: value for name, value in about.items() if value},
    )


def is_about_person(statement: Statement, sources: Sequence[MemoryItem] = ()) -> bool:
    """Whether it is about the speaker in general: where they live, what they like."""
    names = (SPEAKER, *filter(None, (each.user for each in sources)))
    is_theirs = statement.subject.startswith(names) and not statement.subject.endswith(("team", "project"))
    return is_theirs and statement.predicate not in WORKING


def _shared(projects: Sequence[str | None]) -> str | None:
    """Return the project that all sources share; None if they differ."""
    return projects[0] if projects and len(set(projects)) == 1 else None


def _narrowest(audiences: Sequence[str | None]) -> str | None:
    """Who may hear all of the sources: whoever may hear the most private of them; of two, nobody may but the owner."""
    named = {each for each in audiences if each is not None}
    return named.pop() if len(named) == 1 else PRIVATE if named else None


def least_trusted(sources: Sequence[MemoryItem]) -> Origin:
    """Return the origin of something derived from these: the least trusted one."""
    return min((each.origin for each in sources), key=_TRUST.index, default=Origin.AGENT)


def moment(item: MemoryItem) -> datetime:
    """When it happened."""
    return item.event_time or item.created_at
