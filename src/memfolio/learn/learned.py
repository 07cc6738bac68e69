"""What was learned from a conversation, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memfolio.types import Kind, Type

ENTITY_TYPES = ("person", "project", "organization", "place", "concept", "tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What somebody said: `speaker` is who, by name where that is known; `is_person` tells people from machines."""

    content: str
    speaker: str = "The user"
    is_person: bool = True
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Somebody or something that is spoken of; `type` is one of `ENTITY_TYPES` or declared by the home."""

    name: str
    type: str
    aliases: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Something worth keeping, said so that it is understood by itself.

    `subject`, `predicate` and `object` are what it is about, as far as that is clear; of what `is_single`, such as
    where somebody lives, only one object can be true at a time.
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
    confidence: float = 0.7
    importance: float = 0.5
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """How two of the mentioned are related; `predicate` is of the vocabulary in `graph/relations.md`."""

    subject: str
    predicate: str
    object: str
    turns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A hypothesis: what one turn tells may have caused what another one tells."""

    cause: int
    effect: int
    confidence: float = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """All of it."""

    statements: Sequence[Statement] = ()
    mentions: Sequence[Mention] = ()
    relations: Sequence[Relation] = ()
    causes: Sequence[Cause] = ()
