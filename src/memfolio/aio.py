"""The verbs of the table, awaited: each runs on a worker thread, so that an event loop never waits for the disk."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, wraps
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from memfolio.clock import Clock
from memfolio.config import Config
from memfolio.embed.embedder import Embedder
from memfolio.memory import Memory
from memfolio.rooms import Rooms
from memfolio.vault.git.project import Project
from memfolio.vault.journal import TrailLine
from memfolio.verbs.verb import table

if TYPE_CHECKING:
    _given = cast(Memory, None)  # any one: its rooms have the types of ours

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

    The verbs of its rooms, such as `core`, are not awaited: call them with `asyncio.to_thread`. A call that is
    cancelled is not waited for, but what it began is finished.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @classmethod
    async def open(
        cls,
        home: str | Path | Config | None = None,
        agent: str | None = None,
        *,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        background: bool = True,
        speaker: str | None = None,
        project: str | Path | Project | None = None,
        audience: str | None = None,
    ) -> Self:
        """Open a home as `Memory.open` does; one that nobody waits for any more is closed again."""
        thread = ThreadPoolExecutor(1)
        given: dict[str, Any] = {"clock": clock, "embedder": embedder, "background": background, "speaker": speaker}
        opening = thread.submit(Memory.open, home, agent, project=project, audience=audience, **given)
        try:
            return cls(await asyncio.wrap_future(opening))
        except asyncio.CancelledError:
            thread.submit(lambda: opening.result().close())  # whose turn comes when it is open
            raise
        finally:
            thread.shutdown(wait=False)

    if TYPE_CHECKING:  # what the loops below do, for those who check types
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
        learn = _awaited(Memory.learn)
        cost = _awaited(Memory.cost)
        should_flush = _awaited(Memory.should_flush)
        flush = _awaited(Memory.flush)
        load_context = _awaited(Memory.load_context)
        save_context = _awaited(Memory.save_context)
        episode = _awaited(Memory.episode)
        act_on = _awaited(Memory.act_on)
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
        alerts = _awaited(Memory.alerts)
        watch = _awaited(Memory.watch)
        acknowledge = _awaited(Memory.acknowledge)
        status = _awaited(Memory.status)
        sync = _awaited(Memory.sync)
        reindex = _awaited(Memory.reindex)
        account = _given.account
        agents = _given.agents
        notes = _given.notes
        audit = _given.audit
        cases = _given.cases
        core = _given.core
        facts = _given.facts
        graph = _given.graph
        inference = _given.inference
        mind = _given.mind
        ontology = _given.ontology
        procedures = _given.procedures
        proposals = _given.proposals
        questions = _given.questions
        reason = _given.reason
        reflections = _given.reflections
        rules = _given.rules
        runs = _given.runs
        typedb = _given.typedb
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

    def subscribe(self, callback: Callable[[TrailLine], None]) -> Callable[[], None]:
        """As `Memory.subscribe`; the callback comes on a worker thread."""
        return self.memory.subscribe(callback)

    def heard_by(self, audience: str | None) -> Self:
        """As `Memory.heard_by`, which needs no waiting."""
        return type(self)(self.memory.heard_by(audience))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


for _verb in table().values():
    if inspect.isfunction(_method := getattr(Memory, _verb.method, None)):
        setattr(AsyncMemory, _verb.method, _awaited(_method))
for _name, _room in vars(Rooms).items():
    if isinstance(_room, cached_property) and not _name.startswith("_"):
        setattr(AsyncMemory, _name, property(attrgetter(f"memory.{_name}"), doc=_room.__doc__))
