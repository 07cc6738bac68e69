"""What a reflection found: numbered proposals that a person can judge one by one, insights and questions. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from hashlib import blake2b

from memfolio.types import EMPTY, Type

_HIDING = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")


class Verb(StrEnum):
    """What a proposal would do."""

    LEARN = "learn"
    """Remember `text`, which was extracted from `sources`, in the place of `memory` where that is given."""
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
    def marks(self) -> tuple[str, ...]:
        """What tells it from others, whatever its words around; of core memory each line has one of its own.

        A proposal that somebody rejected is known again by them.
        """
        if self.verb is not Verb.CORE:
            pair = sorted((self.subject, self.object)) if self.verb is Verb.MERGE else (self.subject, self.object)
            memory = "" if self.verb is Verb.LEARN else self.memory  # the same words, whatever they replace
            return (_mark(self.verb, self.text, *pair, self.predicate, memory, self.by),)
        lines = [*(f"-{line}" for line in self.removed), *(f"+{line}" for line in self.added)]
        return tuple(_mark(self.verb, self.text, line) for line in lines)


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


def one_line(text: str) -> str:
    """Words in one line, without signs that hide some of them or turn them round."""
    return " ".join(_HIDING.sub("", text).split())


def _mark(*parts: str) -> str:
    plain = (one_line(part.casefold()).rstrip(".") for part in parts)
    return blake2b("\0".join(plain).encode(), digest_size=12).hexdigest()
