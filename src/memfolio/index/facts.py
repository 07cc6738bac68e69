"""Facts as the index has them: subject, predicate and object, with all that is known about when and how they hold."""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from memfolio.index.rows import from_us

FACTS = (
    "f.row, f.id, f.subject, f.predicate, f.object, f.confidence, f.source, f.category, f.origin, f.valid_from,"
    " f.valid_until, f.created_at, f.updated_at, f.verified_at, f.verifications, f.more"
)
"""The columns of a `Fact` in the table."""
FIRST_WIDE = "\u2e80"
"""From here on are the scripts that do not part words with spaces."""
_PARTS = re.compile(r"(?<=[a-zß-öø-ÿ0-9])(?=[A-ZÀ-ÖØ-Þ])|(?<=[A-Z])(?=[A-Z][a-z])|[_-]+")
_NAME = re.compile(r"[\w-]+")
_ADDRESS = re.compile(r"[/@\\:]")
_LINK = re.compile(r"[A-Z]-(?:[0-9]{1,15}-[0-9a-f]{8}|[0-9a-f]{16})")


class Fact(NamedTuple):
    """A fact. Made from a row at once, since many are made: its times are read when somebody asks for them.

    `row` is negative for a fact that follows from others by a rule.
    """

    row: int
    id: str
    subject: str
    predicate: str
    object: str
    confidence: float
    source: str
    category: str | None
    origin: str
    valid_from_us: int | None
    valid_until_us: int | None
    created_us: int
    updated_us: int
    verified_us: int | None
    verification_count: int
    more: str | None

    @property
    def triple(self) -> tuple[str, str, str]:
        return self.subject, self.predicate, self.object

    @property
    def is_derived(self) -> bool:
        return self.row < 0

    @property
    def valid_from(self) -> datetime | None:
        return None if self.valid_from_us is None else from_us(self.valid_from_us)

    @property
    def valid_until(self) -> datetime | None:
        return None if self.valid_until_us is None else from_us(self.valid_until_us)

    @property
    def created_at(self) -> datetime:
        return from_us(self.created_us)

    @property
    def updated_at(self) -> datetime:
        return from_us(self.updated_us)

    @property
    def last_verified(self) -> datetime | None:
        return None if self.verified_us is None else from_us(self.verified_us)

    @property
    def details(self) -> dict[str, Any]:
        """What else its line says: `memories`, `derived_from`, `rule` and whatever a person wrote there."""
        return json.loads(self.more) if self.more else {}

    @property
    def sentence(self) -> str:
        """The fact as people would say it: `Acme hasRevenue $50,000` is "Acme has revenue $50,000."."""
        return f"{self.subject} {_in_words(self.predicate)} {self.object}{_full_stop(self.object)}"

    def __str__(self) -> str:
        return f"{self.subject} {self.predicate} {self.object}"


def linked(fact: Fact) -> list[str]:
    """The ids of the memories and facts that a fact came from."""
    named = [fact.details.get(name) for name in ("memories", "derived_from")] if fact.more else []
    told = dict.fromkeys(each for some in named if isinstance(some, list) for each in some if isinstance(each, str))
    return [each for each in told if _LINK.fullmatch(each)]


@lru_cache(maxsize=4096)
def _in_words(predicate: str) -> str:
    """A predicate as it is spoken: `hasRevenue` is "has revenue"; one of a vocabulary, as `rdf:type`, stays."""
    words = list(filter(None, _PARTS.split(predicate)))
    if len(words) < 2 or not _NAME.fullmatch(predicate):
        return predicate
    is_shouted = predicate.isupper()
    return " ".join(word if word.isupper() and len(word) > 1 and not is_shouted else word.lower() for word in words)


def _full_stop(text: str) -> str:
    """A full stop, but for where it would be taken for a part of an address, or the script has another one."""
    last = text.rsplit(None, 1)[-1]
    end = last.rstrip("'\")%”’»")[-1:]
    return "." if end.isalnum() and end < FIRST_WIDE and not _ADDRESS.search(last) else ""
