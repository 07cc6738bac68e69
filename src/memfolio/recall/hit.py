"""What recall finds, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from memfolio.recall.snippet import snippet
from memfolio.types import EMPTY, MemoryItem
from memfolio.vault.paths import agent_of

SNIPPET = 80
"""Tokens."""


class Reason(NamedTuple):
    """One way in which a memory was found: by which strategy, as which in its list, with which score there."""

    strategy: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that was found: how well it fits, after how many hops, why, and where it stands."""

    memory: MemoryItem
    score: float
    why: tuple[Reason, ...]
    path: str
    depth: int = 0
    heading: tuple[str, ...] = ()
    """The headings above it, where it is a passage of a page."""
    words: tuple[str, ...] = ()
    """What was looked for."""
    replaced: tuple[str, ...] = ()
    """The ids of the versions that it replaced, the newest first."""
    phase: str = "active"
    """How far it has faded: active, fading, dormant or archived."""

    @property
    def agent(self) -> str:
        """Whose memory it is."""
        return agent_of(self.path) or ""

    @property
    def only_asks(self) -> bool:
        """Whether it asks what was looked for and tells nothing."""
        return any(reason.strategy == "echo" for reason in self.why)

    @property
    def snippet(self) -> str:
        """What it says about the question, in a few sentences."""
        return snippet(self.memory.content, self.words, SNIPPET)


class Hits(list[Hit]):
    """The hits, best first; `degraded` says what could not take part, `took_ms` how long it took, `intent` what kind of
    question it was taken for, `filters` which filters were taken from its text."""

    def __init__(
        self,
        hits: list[Hit],
        *,
        degraded: tuple[str, ...] = (),
        took_ms: float = 0,
        intent: str = "general",
        filters: Mapping[str, object] = EMPTY,
    ) -> None:
        super().__init__(hits)
        self.filters = filters
        self.degraded = degraded
        self.took_ms = took_ms
        self.intent = intent
