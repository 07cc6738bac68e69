"""The rooms of a memory, such as `memory.facts`: each is loaded and opened when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from memfolio.govern.gate import Gate
from memfolio.govern.proposals import Proposals
from memfolio.llm.model import Model, open_model
from memfolio.recall.searcher import Searcher
from memfolio.vault.vault import Vault

if TYPE_CHECKING:  # a room is loaded when somebody asks for it
    from memfolio.govern.account import MemoryAccount
    from memfolio.govern.agents import Agents
    from memfolio.govern.reflection.reflections import Reflections
    from memfolio.govern.rooms import GovernedFacts, GovernedOntology, GovernedRules
    from memfolio.graph.graph import Graph
    from memfolio.knowledge.cases import Cases
    from memfolio.knowledge.inference import Inference
    from memfolio.knowledge.traverse import Questions
    from memfolio.knowledge.typedb.mirror import TypeDB
    from memfolio.mind.mind import Mind
    from memfolio.procedures.procedures import Procedures
    from memfolio.procedures.runs import Runs
    from memfolio.reason.inputs import World
    from memfolio.reason.reason import Judgements, Reasoner
    from memfolio.stores.core import Core
    from memfolio.stores.notes import WatchedFolders
    from memfolio.vault.past.past import Past


class Room(cached_property[Any]):
    """A room of a memory: the class at `where`, opened when it is first asked for."""

    def __init__(self, where: str, made_of: str, more: Mapping[str, str]) -> None:
        super().__init__(self._open)
        self._where, self._made_of, self._more = where, made_of.split(), more

    @property
    def kind(self) -> Any:
        """The class, which is loaded for that."""
        module, _, name = self._where.partition(":")
        return getattr(import_module(f"memfolio.{module}"), name)

    # Attributes are looked up now, so that rooms may be made of rooms.
    def _open(self, memory: Rooms) -> Any:
        named = {name: attrgetter(path)(memory) for name, path in self._more.items()}
        return self.kind(*(attrgetter(path)(memory) for path in self._made_of), **named)


def room(where: str, made_of: str = "vault searcher agent", **more: str) -> Any:
    """A room that is given these attributes of the memory, in order and by name."""
    return Room(where, made_of, more)


class Rooms:
    """What a memory consists of. Names that begin with `_` are what rooms are made of."""

    agent: str
    gate: Gate
    vault: Vault
    searcher: Searcher

    audit: Past = room("vault.past.past:Past", "vault")
    """What happened, and how to go back."""
    core: Core = room("govern.rooms:GovernedCore", "vault agent", find="searcher.find", gate="gate", propose="_propose")
    """Core memory, MEMORY.md: what an agent always has before its eyes."""
    facts: GovernedFacts = room("govern.rooms:GovernedFacts", inference="_infers", propose="_propose")
    """What is asserted, and what follows from it by the rules that are kept."""
    graph: Graph = room("graph.graph:Graph")
    """People and things, and how they are related."""
    rules: GovernedRules = room("govern.rooms:GovernedRules", propose="_propose")
    """What follows from what, what must not be, and what is to be done."""
    inference: Inference = room("knowledge.inference:Inference", facts="facts", rules="rules")
    """Conclusions, proofs, explanations and checks."""
    questions: Questions = room("knowledge.traverse:Questions", "vault searcher", refresh="inference.refresh")
    """What facts lead to: paths, effects, counts across agents, and what has the wrong kind."""
    cases: Cases = room("knowledge.cases:Cases")
    """What was done in which situation, and how it went."""
    ontology: GovernedOntology = room("govern.rooms:GovernedOntology", propose="_propose")
    """The terms in which facts are told."""
    typedb: TypeDB = room("knowledge.typedb.mirror:TypeDB", background="_is_mirrored")
    """The copy of all that on a TypeDB server, where one is configured."""
    mind: Mind = room("mind.mind:Mind")
    """What the agent is, believes, wants and has taken on."""
    procedures: Procedures = room("procedures.procedures:Procedures", model="_model")
    """What the agent knows how to do: skills, workflows and decision trees."""
    runs: Runs = room("procedures.runs:Runs", "vault searcher agent procedures")
    """Procedures that are being done, and how earlier runs went."""
    reason: Reasoner = room("reason.reason:Reasoner", "_judgements", world="_world", model="_open_model")
    """Thinks a problem through: call it with one."""
    proposals: Proposals = room("govern.proposals:Proposals", gate="gate", do="_carry_out", elsewhere="_proposals_of")
    """What is proposed to this agent, and by it."""
    reflections: Reflections = room("govern.reflection.reflections:Reflections", gate="gate", model="_model")
    """What this agent found when it looked back, and what became of it."""
    notes: WatchedFolders = room("stores.notes:WatchedFolders")
    """Folders of notes outside of the home that are found as they lie there."""
    account: MemoryAccount = room(
        "govern.account:MemoryAccount",
        "vault searcher agent audit gate",
        recall="recall",
        explain="explain",
        forget="forget",
        facts="_opened_facts",
    )
    """What a person asks for: what changed, why something was said, and to forget everything about a thing."""
    agents: Agents = room("govern.agents:Agents")
    """The agents of the home, as far as this one may know of them."""

    @cached_property
    def _judgements(self) -> Judgements:
        from memfolio.reason.reason import Judgements

        return Judgements(self.vault, self.searcher, self.agent)

    def _world(self) -> World:
        from memfolio.reason.inputs import World

        now, settings, inference = self.vault.home.now(), self.vault.config.reason, self.inference
        return World(
            now=now, settings=settings, facts=self.facts, rules=self.rules, inference=inference, cases=self.cases
        )

    def _opened_facts(self) -> GovernedFacts:
        """Facts for who rarely needs them."""
        return self.facts

    def _infers(self) -> Inference:
        """Inference for facts, which it is itself made of: asked for when it is needed."""
        return self.inference

    @cached_property
    def _model(self) -> Model | None:
        """The language model that sums up and learns; None where none is configured."""
        return open_model(self.vault.config, self.vault.usage)

    def _open_model(self) -> Model | None:
        return self._model
