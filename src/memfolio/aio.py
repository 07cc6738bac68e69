"""The verbs of the table, awaited: each runs on a worker thread, so that an event loop never waits for the disk."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from memfolio.clock import Clock
from memfolio.embed.embedder import Embedder
from memfolio.govern.agents import Agents
from memfolio.govern.proposals import Proposals
from memfolio.govern.reflection.reflections import Reflections
from memfolio.govern.rooms import GovernedFacts, GovernedOntology, GovernedRules
from memfolio.graph.graph import Graph
from memfolio.knowledge.cases import Cases
from memfolio.knowledge.inference import Inference
from memfolio.knowledge.traverse import Questions
from memfolio.knowledge.typedb.mirror import TypeDB
from memfolio.memory import Memory
from memfolio.mind.mind import Mind
from memfolio.procedures.procedures import Procedures
from memfolio.procedures.runs import Runs
from memfolio.reason.reason import Reasoner
from memfolio.stores.core import Core
from memfolio.vault.past.past import Past
from memfolio.vault.trail import TrailLine
from memfolio.verbs.verb import table

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    verb: Callable[Concatenate[Memory, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    @wraps(verb)
    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(verb, self.memory, *args, **kwargs)

    return call


class AsyncMemory:
    """What one agent remembers, for code that awaits. Tasks may share it.

    A call that is cancelled is not waited for, but what it began is finished.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @classmethod
    async def open(
        cls,
        home: str | Path | None = None,
        agent: str | None = None,
        *,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        background: bool = True,
        speaker: str | None = None,
    ) -> Self:
        """Open a home as `Memory.open` does; one that nobody waits for any more is closed again."""
        thread = ThreadPoolExecutor(1)
        given: dict[str, Any] = {"clock": clock, "embedder": embedder, "background": background, "speaker": speaker}
        opening = thread.submit(Memory.open, home, agent, **given)
        try:
            return cls(await asyncio.wrap_future(opening))
        except asyncio.CancelledError:
            thread.submit(lambda: opening.result().close())  # whose turn comes when it is open
            raise
        finally:
            thread.shutdown(wait=False)

    if TYPE_CHECKING:  # what the loop below does, for those who check types
        observe = _awaited(Memory.observe)
        observe_many = _awaited(Memory.observe_many)
        remember = _awaited(Memory.remember)
        recall = _awaited(Memory.recall)
        context = _awaited(Memory.context)
        compose = _awaited(Memory.compose)
        get = _awaited(Memory.get)
        find = _awaited(Memory.find)
        forget = _awaited(Memory.forget)
        restore = _awaited(Memory.restore)
        correct = _awaited(Memory.correct)
        update = _awaited(Memory.update)
        confirm = _awaited(Memory.confirm)
        pin = _awaited(Memory.pin)
        explain = _awaited(Memory.explain)
        consolidate = _awaited(Memory.consolidate)
        tend = _awaited(Memory.tend)
        digest = _awaited(Memory.digest)
        heartbeat = _awaited(Memory.heartbeat)
        end_session = _awaited(Memory.end_session)
        checkpoint = _awaited(Memory.checkpoint)
        should_flush = _awaited(Memory.should_flush)
        flush = _awaited(Memory.flush)
        load_context = _awaited(Memory.load_context)
        save_context = _awaited(Memory.save_context)
        episode = _awaited(Memory.episode)
        heed = _awaited(Memory.heed)
        used = _awaited(Memory.used)
        weak = _awaited(Memory.weak)
        archive = _awaited(Memory.archive)
        backup = _awaited(Memory.backup)
        purge = _awaited(Memory.purge)
        propose = _awaited(Memory.propose)
        scaffold = _awaited(Memory.scaffold)
        propose_term = _awaited(Memory.propose_term)
        verify_fact = _awaited(Memory.verify_fact)
        infer = _awaited(Memory.infer)
        reflect = _awaited(Memory.reflect)
        undo = _awaited(Memory.undo)
        watch = _awaited(Memory.watch)
        acknowledge = _awaited(Memory.acknowledge)
        status = _awaited(Memory.status)
        sync = _awaited(Memory.sync)
        reindex = _awaited(Memory.reindex)
    else:

        def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
            """A verb of the table that is no method of `Memory`, such as `fact_assert`; what is given is named."""
            verb = None if name.startswith("_") else table().get(name)
            if verb is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

            async def call(**given: Any) -> Any:
                return await asyncio.to_thread(verb, self.memory, given)

            return call

    close = _awaited(Memory.close)

    @property
    def audit(self) -> Past:
        """As `Memory.audit`; its verbs are not awaited, so call them with `asyncio.to_thread`."""
        return self.memory.audit

    @property
    def core(self) -> Core:
        """As `Memory.core`, whose verbs are not awaited either."""
        return self.memory.core

    @property
    def graph(self) -> Graph:
        """As `Memory.graph`, likewise."""
        return self.memory.graph

    @property
    def facts(self) -> GovernedFacts:
        return self.memory.facts

    @property
    def rules(self) -> GovernedRules:
        return self.memory.rules

    @property
    def inference(self) -> Inference:
        return self.memory.inference

    @property
    def questions(self) -> Questions:
        return self.memory.questions

    @property
    def cases(self) -> Cases:
        return self.memory.cases

    @property
    def ontology(self) -> GovernedOntology:
        return self.memory.ontology

    @property
    def typedb(self) -> TypeDB:
        return self.memory.typedb

    @property
    def mind(self) -> Mind:
        return self.memory.mind

    @property
    def procedures(self) -> Procedures:
        return self.memory.procedures

    @property
    def runs(self) -> Runs:
        return self.memory.runs

    @property
    def reason(self) -> Reasoner:
        return self.memory.reason

    @property
    def proposals(self) -> Proposals:
        return self.memory.proposals

    @property
    def reflections(self) -> Reflections:
        return self.memory.reflections

    @property
    def agents(self) -> Agents:
        return self.memory.agents

    def subscribe(self, callback: Callable[[TrailLine], None]) -> None:
        """As `Memory.subscribe`; the callback comes on a worker thread."""
        self.memory.subscribe(callback)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


for _verb in table().values():
    if inspect.isfunction(_method := getattr(Memory, _verb.method, None)):
        setattr(AsyncMemory, _verb.method, _awaited(_method))
