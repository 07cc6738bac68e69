"""The memory of one agent in one home: verbs of a line or two over the vault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from memfolio.clock import Clock
from memfolio.config import load_config
from memfolio.errors import ConflictError
from memfolio.intake import TURN, draft_of, turn_of
from memfolio.types import Attribution, Kind, MemoryItem, Origin, Store, Type
from memfolio.vault.audit import TrailLine
from memfolio.vault.paths import SHARED, check_agent
from memfolio.vault.vault import Found, Vault

OBSERVER = Attribution(actor="bot:auto-detect", trigger="observe")
REMEMBERER = Attribution(actor="bot:trigger-remember", trigger="remember")


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How a home is doing. `obstacle` says why changes wait for git, `trouble` why it cannot be written here."""

    home: Path
    agent: str
    memories: int
    changes: int
    waiting: int
    obstacle: str | None
    alerts: int
    problems: Mapping[str, str]
    trouble: str | None


class Memory:
    """What one agent remembers. Threads may share it, and several processes may have one home open."""

    def __init__(self, vault: Vault, agent: str) -> None:
        self.vault = vault
        self.agent = check_agent(agent)
        self.audit = vault.past

    @classmethod
    def open(cls, home: str | Path | None = None, agent: str | None = None, *, clock: Clock | None = None) -> Self:
        """Open a home, creating what is missing; what is not named comes from the environment, else the defaults."""
        config = load_config(home, overrides={"agent": agent})
        return cls(Vault.open(config=config, clock=clock), config.agent)

    def observe(
        self,
        role: str,
        content: str,
        *,
        session: str | None = None,
        user: str | None = None,
        at: datetime | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> MemoryItem:
        """Note one turn of a conversation as it happens."""
        turn = dict(zip(TURN, (role, content, session, user, at, attributes), strict=True))
        return self.observe_many([turn])[0]

    def observe_many(self, turns: Iterable[Mapping[str, Any]]) -> list[MemoryItem]:
        """Note many turns as one change: all of them, or none."""
        drafts = [turn_of(turn) for turn in turns]
        return self._add(drafts, OBSERVER) if drafts else []

    def remember(
        self,
        text: str,
        *,
        type: Type | str = Type.OBSERVATION,
        importance: float = 0.5,
        tags: Iterable[str] = (),
        store: Store | str = Store.LONG_TERM,
        source: str = "manual",
        key: str | None = None,
        at: datetime | None = None,
        kind: Kind | str | None = None,
        tier: Store | str | None = None,
        confidence: float = 1.0,
        session: str | None = None,
        user: str | None = None,
        origin: Origin | str = Origin.AGENT,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> MemoryItem:
        """Keep something on purpose. `at` is when it happened; the same `key` twice is one memory.

        `tier` is another name for `store`.
        """
        draft = draft_of(
            content=text,
            type=type,
            importance=importance,
            tags=tags,
            store=store if tier is None else tier,
            source=source,
            key=key,
            at=at,
            kind=kind,
            confidence=confidence,
            session=session,
            user=user,
            origin=origin,
            valid_from=valid_from,
            valid_until=valid_until,
            attributes=attributes,
        )
        return self._add([draft], REMEMBERER, key=key)[0]

    def _add(self, drafts: Sequence[MemoryItem], by: Attribution, *, key: str | None = None) -> list[MemoryItem]:
        receipt = self.vault.add(self.agent, drafts, by, key=key)
        if not receipt.repeated:
            return list(receipt.items)
        found = [memory for each in receipt.ids if (memory := self.get(each))]
        if len(found) < len(drafts):
            raise ConflictError(
                f"the key {key!r} was used in change {receipt.seq} for a memory that this agent has not",
                hint="use another key to remember it again",
            )
        return found

    def get(self, id: str) -> MemoryItem | None:
        """The memory with this id, also from the archive; None when this agent has none such."""
        found = self.find(id)
        return found.item if found else None

    def find(self, id: str) -> Found | None:
        """The memory with this id and the file it stands in; None when this agent has none such."""
        return self.vault.find(id, agents=(self.agent, SHARED))

    def status(self) -> Status:
        """How the home is doing, in numbers."""
        vault = self.vault
        waiting = vault.commit()
        return Status(
            home=vault.config.home,
            agent=self.agent,
            memories=len(vault.entries(self.agent)),
            changes=vault.books.recent.head.seq,
            waiting=len(vault.books.recent.pending) if waiting else 0,
            obstacle=vault.committer.obstacle if waiting else None,
            alerts=len(vault.alerts()),
            problems=dict(vault.problems),
            trouble=vault.trouble.message if vault.trouble else None,
        )

    def sync(self) -> list[str]:
        """Record what people and other programs did to the files; returns the files that had changed."""
        return self.vault.survey()

    def subscribe(self, callback: Callable[[TrailLine], None]) -> None:
        """Have `callback` called with every change this process makes or finds. It holds up the writer: be quick."""
        self.vault.subscribe(lambda record: callback(record.line))

    def close(self) -> None:
        """Bring what waits into git and let go of the home."""
        self.vault.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
