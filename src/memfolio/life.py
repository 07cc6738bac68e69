"""The life of a memory after it was made: verbs of a line or two over the rooms that consolidate, tend and forget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from memfolio.index.lookup import Located
from memfolio.llm.model import Model
from memfolio.recall.library import Library
from memfolio.types import MemoryItem
from memfolio.vault.vault import Vault

if TYPE_CHECKING:  # what tends is loaded when somebody asks for it
    from memfolio.graph.graph import Graph
    from memfolio.stores.core import Core
    from memfolio.stores.flush import Flushed
    from memfolio.stores.situation import AgentContext
    from memfolio.tend.consolidate.consolidate import Consolidated
    from memfolio.tend.hand import Hand
    from memfolio.tend.sessions.session import Heard
    from memfolio.tend.tend import Tending, Told


class Life:
    """What every `Memory` can do beside noting and finding."""

    vault: Vault
    agent: str
    library: Library

    @cached_property
    def _model(self) -> Model | None:
        """The language model that sums up and learns; None where none is configured."""
        from memfolio.llm.open import open_model

        return open_model(self.vault.config)

    def consolidate(
        self,
        *,
        dry_run: bool = False,
        min_importance: float | None = None,
        min_access_count: int | None = None,
        summarize: bool | None = None,
    ) -> Consolidated:
        """Promote what proved important to long-term memory, and sum up what belongs together, as one change.

        Nothing is lost: the sources stay in their logs. What is None is as the home has it set.
        """
        from memfolio.tend.consolidate.consolidate import consolidate

        usual = self.vault.config.consolidate
        settings = replace(
            usual,
            importance=usual.importance if min_importance is None else min_importance,
            uses=usual.uses if min_access_count is None else min_access_count,
            summarize=usual.summarize if summarize is None else summarize,
        )
        return consolidate(self._hand(dry_run=dry_run), self.library.index, settings, self._model)

    def tend(self, *, jobs: Sequence[str] = (), dry_run: bool = False, told: Told | None = None) -> Tending:
        """Look after the memory: run what is due by the clock, or these jobs at once; `dry_run` only shows it."""
        from memfolio.tend.tend import tend

        watching = {"told": told} if told else {}
        return tend(
            self.vault, self.library.index, self.agent, model=self._model, jobs=jobs, dry_run=dry_run, **watching
        )

    def end_session(self, session: str, *, dry_run: bool = False) -> Heard | None:
        """A conversation is over: learn from it. None where there is nothing in it that was not learned from."""
        from memfolio.tend.sessions.session import hear_out
        from memfolio.tend.tend import alone

        with alone(self.vault):
            heard = hear_out(
                self._hand(dry_run=dry_run),
                self.library.index,
                self.vault.config.learn,
                model=self._model,
                only=session,
                is_over=True,
            )
        return heard[0] if heard else None

    @cached_property
    def core(self) -> Core:
        """Core memory, MEMORY.md: what an agent always has before its eyes."""
        from memfolio.stores.core import Core

        return Core(self.vault, self.agent, find=self._find)

    @cached_property
    def graph(self) -> Graph:
        """People and things, and how they are related."""
        from memfolio.graph.graph import Graph

        return Graph(self.vault, self.library, self.agent)

    def checkpoint(
        self,
        context: str,
        *,
        decisions: Iterable[str] = (),
        findings: Iterable[str] = (),
        next_steps: Iterable[str] = (),
        open_questions: Iterable[str] = (),
        session: str | None = None,
    ) -> str:
        """Note where work stands, so that it can be taken up again; returns the path of the page."""
        from memfolio.stores.checkpoint import BY, Checkpoint, write

        checkpoint = Checkpoint.from_args(
            context, decisions=decisions, findings=findings, next_steps=next_steps, open_questions=open_questions
        )
        by = replace(BY, session=session)
        return write(self.vault, self.agent, checkpoint, now=self.vault.home.now(), by=by).path

    def should_flush(
        self, tokens: int, *, compaction: int = 0, session: str | None = None, window: int | None = None
    ) -> bool:
        """Whether an agent whose context has so many tokens should save what it knows: once before each compaction."""
        from memfolio.stores.flush import flush_due

        settings = self.vault.config.flush
        return flush_due(self.library.index, settings, tokens, compaction=compaction, session=session, window=window)

    def flush(
        self,
        transcript: object,
        *,
        session: str | None = None,
        user: str | None = None,
        compaction: int | None = None,
        dry_run: bool = False,
    ) -> Flushed:
        """Save what a transcript tells, as memories and a checkpoint, before it is compacted; the same one once."""
        from memfolio.learn.ask import learn_by_model
        from memfolio.stores.flush import flush

        self.library.attend()
        return flush(
            self.vault,
            self.agent,
            transcript,
            now=self.vault.home.now(),
            index=self.library.index,
            learn=partial(learn_by_model, self._model) if self._model else None,
            session=session,
            user=user,
            compaction=compaction,
            dry_run=dry_run,
        )

    def load_context(self, user: str | None = None, *, session: str | None = None) -> AgentContext:
        """Everything that an agent should know when a conversation begins."""
        from memfolio.stores.situation import load_context

        now = self.vault.home.now()
        return load_context(self.vault, self.library, self.agent, now=now, user=user, session=session)

    def save_context(
        self,
        *,
        session: str | None = None,
        user: str | None = None,
        task: str | None = None,
        task_history: Iterable[str] = (),
        topics: Iterable[str] = (),
        scratchpad: Mapping[str, Any] | None = None,
    ) -> Heard | None:
        """Keep what the next conversation should begin with, and learn from this one, which is over."""
        from memfolio.stores.situation import save_context

        save_context(
            self.vault,
            self.agent,
            session=session,
            user=user,
            task=task,
            task_history=task_history,
            topics=topics,
            scratchpad=scratchpad,
        )
        return self.end_session(session) if session else None

    def episode(
        self,
        description: str,
        *,
        episode_type: str,
        importance: float | str | None = None,
        context: Mapping[str, Any] | None = None,
        related: Iterable[str] = (),
        session: str | None = None,
        at: datetime | None = None,
    ) -> MemoryItem:
        """Note something that happened, of a type such as `error` or `decision`, with the `context` that it had then.

        The importance may be HIGH, MEDIUM or LOW, 1 to 10, or a share of 1; without one it follows from the type.
        """
        from memfolio.stores.episode import episode_of

        self.library.attend()
        found = episode_of(
            description,
            episode_type=episode_type,
            importance=importance,
            context=context,
            related=related,
            session=session,
            at=at,
        )
        return self.vault.apply(found.change(self.agent)).items[0]

    def _find(self, id: str) -> Located | None:
        found = self.library.locate(id)
        return found[1] if found else None

    def _hear_others(self, current: str) -> None:
        """Learn from the conversations that are over since this one has begun."""
        from memfolio.tend.sessions.session import hear_out
        from memfolio.tend.tend import alone

        with alone(self.vault):
            hear_out(
                self._hand(dry_run=False),
                self.library.index,
                self.vault.config.learn,
                model=self._model,
                besides=current,
                is_over=True,
            )

    def _hand(self, *, dry_run: bool) -> Hand:
        from memfolio.tend.hand import Hand

        self.library.attend()
        return Hand(vault=self.vault, agent=self.agent, now=self.vault.home.now(), dry_run=dry_run)
