"""The life of a memory after it was made: verbs of a line or two over the rooms that consolidate, tend and forget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from memfolio.llm.model import Model
from memfolio.recall.library import Library
from memfolio.vault.vault import Vault

if TYPE_CHECKING:  # what tends is loaded when somebody asks for it
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

        given = {"importance": min_importance, "uses": min_access_count, "summarize": summarize}
        settings = replace(
            self.vault.config.consolidate, **{name: value for name, value in given.items() if value is not None}
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
