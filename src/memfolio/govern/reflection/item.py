"""What a reflection found: numbered proposals that a person can judge one by one, insights and questions. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from hashlib import blake2b

from memfolio.types import EMPTY, Type


class Verb(StrEnum):
    """What a proposal would do."""

    LEARN = "learn"
    """Remember `text`, which was extracted from `sources`."""
    CONNECT = "connect"
    """Note that `subject` (an entity's id) is `predicate` to `object`."""
    MERGE = "merge"
    """Make one of the entities `subject` and `object`: the first stays."""
    ARCHIVE = "archive"
    """Move `memory` to the archive."""
    RESOLVE = "resolve"
    """Of two memories that contradict each other, `by` takes the place of `memory`."""
    CORE = "core"
    """In the block `text` of core memory, `removed` lines go and `added` ones come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One proposal. Only the fields that its verb names count; `why` and `quotes` are for the reader."""

    verb: Verb
    text: str = ""
    type: Type = Type.FACT
    confidence: float = 0.7
    sources: tuple[str, ...] = ()
    memory: str = ""
    by: str = ""
    subject: str = ""
    predicate: str = ""
    object: str = ""
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    why: str = ""
    quotes: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """The first words of the memories that it names, by id."""

    @property
    def mark(self) -> str:
        """What tells one proposal from another, whatever its words around: a rejected one is known again by it."""
        parts = (self.verb, *map(_plain, (self.text, self.subject, self.predicate, self.object)))
        rest = (self.memory, self.by, *sorted(map(_plain, self.removed)), *sorted(map(_plain, self.added)))
        return blake2b("\0".join((*parts, *rest)).encode(), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Insights:
    """What the reflections of before and this one together show; empty where there is nothing to say."""

    learning: str = ""
    understanding: str = ""
    theme: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What came of looking through a memory: proposals, the most worthwhile of each verb first."""

    items: tuple[Item, ...] = ()
    insights: Insights = field(default_factory=Insights)
    questions: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    """What the time since the last reflection was about, most of all first."""
    looked_at: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    """How many episodes, memories, entities … were looked through."""
    left_out: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    """How many proposals of a verb there was no room for; they come with the next reflection."""
    notes: tuple[str, ...] = ()
    """What did not work as it should, such as a model that did not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflected:
    """One reflection of before, as its line in the log tells it."""

    number: int
    at: date
    outcome: str
    """`approved`, `partly approved` or `rejected`."""
    counts: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    """How many proposals of each verb were applied."""
    topics: tuple[str, ...] = ()
    """What it was about, most of all first."""
    questions: tuple[str, ...] = ()


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
