"""The rooms of a memory, such as `memory.facts`: each is loaded and opened when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import cached_property, partial, wraps
from importlib import import_module
from operator import attrgetter
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, cast

from memfolio.errors import InputError, PolicyError, RefusedError
from memfolio.govern.gate import Gate
from memfolio.govern.proposals import LEFT_OUT, Proposal, Proposals, ProposedCall, carry_out, propose_instead
from memfolio.learn.rules import says_of_speaker
from memfolio.llm.model import Model, open_model
from memfolio.recall.query import telling
from memfolio.recall.searcher import Searcher
from memfolio.types import Type
from memfolio.vault.fields import Draft
from memfolio.vault.git.project import Project
from memfolio.vault.vault import Vault

LONGEST_REMINDER = 400
"""Characters of a reminder that are shown."""

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
    from memfolio.tend.tend import Attendant
    from memfolio.vault.past.past import Past


class Room(cached_property[Any]):
    """A room of a memory: the class at `where`, opened when it is first asked for."""

    def __init__(self, where: str, made_of: str, more: Mapping[str, str], is_owners: bool) -> None:
        super().__init__(self._open)
        self._where, self._made_of, self._more, self._is_owners = where, made_of.split(), more, is_owners

    @property
    def kind(self) -> Any:
        """The class, which is loaded for that."""
        module, _, name = self._where.partition(":")
        return getattr(import_module(f"memfolio.{module}"), name)

    # Attributes are looked up now, so that rooms may be made of rooms.
    def _open(self, memory: Rooms) -> Any:
        if self._is_owners:
            memory._check_owner(str(self.attrname))
        named = {name: attrgetter(path)(memory) for name, path in self._more.items()}
        return self.kind(*(attrgetter(path)(memory) for path in self._made_of), **named)


def room(where: str, made_of: str = "vault searcher agent", *, is_owners: bool = False, **more: str) -> Any:
    """A room that is given these attributes of the memory, in order and by name; an owner's opens for nobody else."""
    return Room(where, made_of, more, is_owners)


ROOM = "room:"
"""How the audience of a room begins, in which several people listen."""
LISTENERS = 64
"""How many people a memory is kept open for; more are opened again when they ask."""
P = ParamSpec("P")
R = TypeVar("R")


def for_owner(verb: Callable[P, R]) -> Callable[P, R]:
    """A verb about the memory as a whole, which is refused where somebody listens who hears a part of it."""

    @wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        cast(Any, args[0])._check_owner(verb.__name__)
        return verb(*args, **kwargs)

    return call


class Rooms:
    """What a memory consists of. Names that begin with `_` are what rooms are made of."""

    agent: str
    gate: Gate
    vault: Vault
    searcher: Searcher
    project: Project | None
    audience: str | None
    _heard: dict[str, Self]
    _attendant: Attendant | None

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
    typedb: TypeDB = room("knowledge.typedb.mirror:TypeDB", background="_is_mirrored", is_owners=True)
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
    agents: Agents = room("govern.agents:Agents", is_owners=True)
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

    @contextmanager
    def _proposals_of(self, agent: str) -> Iterator[Proposals]:
        config, clock, speaker = self.vault.config, self.vault.home.clock, self.vault.speaker
        given: dict[str, Any] = {"speaker": speaker, "audience": self.audience}
        with cast(Any, type(self)).open(config, agent, clock=clock, background=False, **given) as memory:
            yield memory.proposals

    def _carry_out(self, intent: ProposedCall) -> object:
        return carry_out(self, intent)

    def _propose(self, verb: str, arguments: Mapping[str, Any], error: PolicyError) -> Proposal:
        """Propose what a verb was kept from doing, to the agent whose memory it is about."""
        try:
            given = {name: each for name, each in arguments.items() if name not in LEFT_OUT}
            intent = self.gate.proposable.call(verb, given)
        except InputError:  # no page can hold this call
            raise error from None
        return propose_instead(self.proposals, self.searcher, intent, error)

    def _reminded(self, about: str = "") -> list[tuple[str, str]]:
        """What is due now, by the clock or because its topic comes up."""
        # The whole sentence: a title may break off before what matters.
        told = ((each, shorten(each.item.says, LONGEST_REMINDER, placeholder="…")) for each in self.mind.due(about))
        return [(each.item.id, f"{says} ({each.why})") for each, says in told]

    def _agenda(self, about: str = "") -> tuple[str, ...]:
        """The same in words, with the procedures whose time of day has come."""
        from memfolio.procedures.runs import scheduled

        return (*(text for _, text in self._reminded(about)), *scheduled(self.procedures, self.runs))

    def _hear_others(self, current: str) -> None:
        """Learn from the conversations before this one."""
        from memfolio.tend.sessions import hear_others

        attendant, hear = self._attendant, partial(hear_others, self.vault, self.searcher, model=self._model)
        hear(current, enough=lambda: attendant is not None and attendant.is_closed)

    # Who listens, and to whom and where something is said.

    def heard_by(self, audience: str | None) -> Self:
        """The same memory for somebody who listens: a person, or all in a `room:…`; None is the owner.

        Every verb and room reads only what they may hear, and what is added is for them. They may change what they
        hear; verbs that look after the memory are the owner's. It is open and closed together with this one.
        """
        # Whoever listens already hears no more by naming somebody else.
        if audience is None or self.audience is not None:
            return self
        if audience not in self._heard:
            if len(self._heard) >= LISTENERS:
                self._heard.clear()
            self._heard[audience] = self._as_heard_by(audience)
        return self._heard[audience]

    def _as_heard_by(self, audience: str) -> Self:
        heard = copy(self)
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            del vars(heard)[name]  # rooms are made of what this one reads
        heard.audience = telling("audience", audience)
        heard.searcher = self.searcher.heard_by(heard.audience)
        heard.vault = self.vault.heard(heard.searcher.shows, heard.searcher.hears, heard._placed)
        return heard

    def _check_owner(self, what: str) -> None:
        """Refuse what is about the memory as a whole where somebody listens who hears a part of it."""
        if self.audience is not None:
            hint = "open the memory without an audience"
            raise RefusedError(f"{what} is for the owner, and {self.audience} is listening", hint=hint)

    def _placed(self, draft: Draft) -> Draft:
        """A memory with the project in which it was said, and for those to whom it was.

        What is about the person who said it belongs to no project, and what is made of others to theirs.
        """
        if self.project is not None and not (draft.project or draft.derived_from):
            is_persons = draft.type in (Type.PREFERENCE, Type.EMOTION) or says_of_speaker(draft.content)
            draft = draft if is_persons else draft._replace(project=self.project.id)
        return draft if self.audience is None else self._said(draft, self.audience)

    def _said(self, draft: Draft, audience: str) -> Draft:
        """A memory for those who listen; RefusedError where it would let them hear what others said before.

        Whoever speaks in a session or a room hears what was said there, so nobody may join one by naming it.
        """
        room = draft.audience if (draft.audience or "").startswith(ROOM) else None
        if draft.user not in (None, audience) and not audience.startswith(ROOM):
            raise RefusedError(f"{audience} cannot speak as {draft.user}", hint="leave the user out")
        self._check_session(draft.session, None if room == audience else room)
        return draft if draft.audience else draft._replace(audience=audience)

    def _check_session(self, session: str | None, room: str | None = None) -> None:
        if not self.searcher.hears_session(session, room):
            hint = "name a session of your own, or none"
            raise RefusedError(f"{self.audience} does not take part in {session or room}", hint=hint)


def method_named(memory: type[Rooms], path: str) -> Callable[..., Any]:
    """The method at a path such as "core.read", of a memory or of one of its rooms."""
    room, _, method = path.rpartition(".")
    found: Callable[..., Any] = getattr(vars(Rooms)[room].kind if room else memory, method)
    return found
