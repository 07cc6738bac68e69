"""What a source holds, in the form in which everything is taken over. Values only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from memfolio.types import EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something to be remembered: the fields of a memory as they are there, and `ref`, by which it is known again.

    The same `ref` of the same source is taken over once, however often the source is read.
    """

    ref: str
    content: str
    at: datetime | None = None
    """When it happened; times without a zone are those of the home."""
    role: str | None = None
    """Who said it, where it is a turn of a conversation."""
    session: str | None = None
    author: str | None = None
    fields: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Further fields of `Memory.remember`: type, importance, tags, confidence, kind, valid_from, attributes …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A page that is kept as one: `path` is relative to the folder of the agent, such as `memory/procedures/x.md`."""

    ref: str
    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lore:
    """A fact, a rule or a case, with the fields that `facts.assert_`, `rules.create` or `cases.store` takes."""

    ref: str
    room: Literal["facts", "rules", "cases"]
    fields: Mapping[str, Any]


def fact(subject: str, predicate: str, object: str, **more: Any) -> Lore:
    """A fact that is known by what it says."""
    spo = {"subject": subject, "predicate": predicate, "object": object}
    return Lore(ref=f"{subject} {predicate} {object}", room="facts", fields={**spo, **more})


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Something that cannot be taken over, and why; it stops nothing."""

    ref: str
    why: str


Thing = Note | Sheet | Lore
Incoming = Thing | Flaw


class Source(Protocol):
    """A form in which memories are kept elsewhere."""

    name: str
    """What `memfolio import --from` calls it."""

    def fits(self, path: Path) -> bool:
        """Whether a file or folder has this form; quick, and never raises."""
        ...

    def count(self, path: Path) -> int:
        """About how many things there are, for a progress bar."""
        ...

    def read(self, path: Path) -> Iterator[Incoming]:
        """What is there, in a fixed order; what cannot be read is a `Flaw`."""
        ...
