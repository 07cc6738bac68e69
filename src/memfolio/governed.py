"""What is decided about a memory: verbs of a line or two over the rooms that propose, reflect, watch and take back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

from memfolio.errors import PolicyError
from memfolio.govern.gate import Gate
from memfolio.govern.proposal import carry_out
from memfolio.intake import text_of
from memfolio.llm.model import Model
from memfolio.policy import Deed
from memfolio.recall.library import Library
from memfolio.text import counted
from memfolio.types import Approval, Attribution, check_attribution, check_token
from memfolio.vault.paths import SHARED, agent_of
from memfolio.vault.trail import TrailLine
from memfolio.vault.vault import OWNER, Vault

if TYPE_CHECKING:
    from memfolio.govern.agents import Agents
    from memfolio.govern.proposal import Proposal, ProposedCall
    from memfolio.govern.proposals import Proposals
    from memfolio.govern.reflection.reflections import Pending, Reflections
    from memfolio.govern.undo import Undone

PROPOSER = Attribution(actor="bot:propose", approval=Approval.PENDING, trigger="propose")
FORGETTER = Attribution(actor="bot:trigger-forget", trigger="forget")
ADDING = ("remember", "facts.assert_", "rules.create", "ontology.commit")
"""Verbs that add something, which is for the agent that decides on it."""
REFLECTOR = Attribution(actor="system:reflect", trigger="reflect")


class Governed:
    """What every `Memory` can do about leave and decisions."""

    vault: Vault
    agent: str
    library: Library
    gate: Gate

    @cached_property
    def _model(self) -> Model | None:
        """The language model that sums up and learns; None where none is configured."""
        from memfolio.llm.model import open_model

        return open_model(self.vault.config)

    @cached_property
    def proposals(self) -> Proposals:
        """What is proposed to this agent, and by it."""
        from memfolio.govern.proposals import Proposals

        do = partial(carry_out, self)
        return Proposals(self.vault, self.library, self.agent, gate=self.gate, do=do, elsewhere=self._proposals_of)

    @contextmanager
    def _proposals_of(self, agent: str) -> Iterator[Proposals]:
        opened = cast(Any, type(self)).open  # of the whole `Memory`, which this is a part of
        config, clock = self.vault.config, self.vault.home.clock
        with opened(config.home, agent, clock=clock, background=False, speaker=self.vault.speaker) as memory:
            yield memory.proposals

    def propose(self, text: str, /, *, to: str | None = None, by: Attribution = PROPOSER, **fields: Any) -> Proposal:
        """Propose that something is remembered, with the fields of `remember`, for the agent that decides on it."""
        from memfolio.govern.proposal import intent_of

        intent = intent_of("remember", {"text": text_of(text), **fields})
        return self.proposals.add(intent, by=check_attribution(by), to=to)

    def _propose(self, intent: ProposedCall, error: PolicyError) -> Proposal:
        """Propose what a verb was kept from doing, to the agent whose memory it is about."""
        named = intent.arguments.get("id") or intent.arguments.get("what")
        found = self.library.locate(named) if named else None
        mine = self.agent if intent.verb.startswith(("core.", "graph.")) or not found else agent_of(found[1].path)
        to = None if intent.verb in ADDING or mine == SHARED else mine
        return self.proposals.add(intent, by=replace(PROPOSER, trigger=intent.verb), row=error.row, to=to)

    @cached_property
    def reflections(self) -> Reflections:
        """What this agent found when it looked back, and what became of it."""
        from memfolio.govern.reflection.reflections import Reflections

        return Reflections(self.vault, self.library, self.agent, gate=self.gate, model=self._model)

    def reflect(self, *, dry_run: bool = False, by: Attribution = REFLECTOR) -> Pending:
        """Look through what is remembered and propose what should change, as a page that waits for approval.

        Where the policy lets the actor apply a reflection, it is applied at once.
        """
        self.library.attend()
        now, applies = self.vault.home.now(), self.gate.lets(Deed.REFLECT, by)
        return self.reflections.reflect(now, dry_run=dry_run, applies=applies, by=by)

    def _reflected(self, dry_run: bool) -> str:
        """`reflect` as a job of tending: what came of it, in a few words."""
        found = self.reflect(dry_run=dry_run)
        proposed = counted(len(found.items), "proposal")
        return f"{proposed} in {found.path}" if found.items else ""

    def _reflect_if_due(self) -> None:
        from memfolio.govern.reflection.log import due

        if due(self.vault, self.library.index, self.agent, self.vault.home.now()):
            self.reflect()

    @cached_property
    def agents(self) -> Agents:
        """The agents of the home, as far as this one may know of them."""
        from memfolio.govern.agents import Agents

        return Agents(self.vault, self.library, self.agent)

    def undo(
        self, source: str, *, every_agent: bool = False, dry_run: bool = False, by: Attribution = FORGETTER
    ) -> Undone:
        """Take back everything that came from one source, and what was made of it; with `every_agent`, everywhere."""
        from memfolio.govern.undo import undo_source
        from memfolio.tend.digest import without_citations

        self.library.attend()
        by = replace(check_attribution(by), trigger="undo")
        undone = partial(undo_source, self.vault, self.library, check_token("source", source), by)
        return undone(without_citations=without_citations, every_agent=every_agent, dry_run=dry_run)

    def watch(self) -> list[TrailLine]:
        """Look for what the owner must be told: contradictions, growth, what does not work; returns new alerts."""
        from memfolio.govern.alerts import watch

        return watch(self.vault, self.library, self.agent, self.vault.home.now())

    def acknowledge(self, seqs: Sequence[int], by: Attribution = OWNER) -> TrailLine:
        """The owner has seen these alerts."""
        return self.vault.acknowledge(seqs, replace(check_attribution(by), approval=Approval.APPROVED))
