"""What an agent wants and is able to do: verbs of a line or two over its mind, its procedures and its reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from memfolio.knowing import Knowing

if TYPE_CHECKING:  # what thinks is loaded when somebody asks for it
    from memfolio.mind.mind import Mind
    from memfolio.procedures.procedures import Procedures
    from memfolio.procedures.runs import Runs
    from memfolio.reason.inputs import World
    from memfolio.reason.reason import Reasoner


class Doing(Knowing):
    """What every `Memory` can do with a mind, with procedures and with problems."""

    @cached_property
    def mind(self) -> Mind:
        """What the agent is, believes, wants and has taken on."""
        from memfolio.mind.mind import Mind

        return Mind(self.vault, self.library, self.agent)

    @cached_property
    def procedures(self) -> Procedures:
        """What the agent knows how to do: skills, workflows and decision trees."""
        from memfolio.procedures.procedures import Procedures

        return Procedures(self.vault, self.library, self.agent, model=self._model)

    @cached_property
    def runs(self) -> Runs:
        """Procedures that are being done, and how earlier runs went."""
        from memfolio.procedures.runs import Runs

        return Runs(self.vault, self.library, self.agent, self.procedures)

    @cached_property
    def reason(self) -> Reasoner:
        """Thinks a problem through: call it with one."""
        from memfolio.reason.reason import Judgements, Reasoner

        judgements = Judgements(self.vault, self.library, self.agent)
        return Reasoner(judgements, world=self._world, model=lambda: self._model)

    def _world(self) -> World:
        from memfolio.reason.inputs import World

        return World(
            now=self.vault.home.now(),
            settings=self.vault.config.reason,
            facts=self.facts,
            rules=self.rules,
            inference=self.inference,
            cases=self.cases,
        )

    def _reminded(self, about: str = "") -> list[tuple[str, str]]:
        """What is to be done and comes up now, or with what is talked about."""
        return [(each.item.id, f"{each.item.title} ({each.why})") for each in self.mind.due(about)]

    def _agenda(self, about: str = "") -> tuple[str, ...]:
        """The same in words, with the procedures whose time of day has come."""
        last = {run.procedure: run.began for run in reversed(self.runs.list())} if self.procedures.due() else {}
        scheduled = (f"{each.procedure.title} (at {each.at:%H:%M})" for each in self.procedures.due(last=last))
        return (*(text for _, text in self._reminded(about)), *scheduled)

    def _misread(self) -> Mapping[str, str]:
        """What on the pages of the mind and of procedures makes no sense, by path."""
        told: dict[str, str] = {}
        for problem in (*self.mind.problems(), *self.procedures.problems()):
            path, _, what = problem.partition(": ")
            told[path] = f"{told[path]}; {what}" if path in told else what
        return told
