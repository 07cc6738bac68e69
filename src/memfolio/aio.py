"""The same verbs, awaited: each runs on a worker thread, so that an event loop never waits for the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from memfolio.memory import Memory

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    verb: Callable[Concatenate[Memory, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    @wraps(verb)
    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(partial(verb, self.memory, *args, **kwargs))

    return call


class AsyncMemory:
    """What one agent remembers, for code that awaits. Tasks may share it."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @classmethod
    async def open(cls, *args: Any, **options: Any) -> Self:
        """Open a home as `Memory.open` does."""
        return cls(await asyncio.to_thread(partial(Memory.open, *args, **options)))

    observe = _awaited(Memory.observe)
    observe_many = _awaited(Memory.observe_many)
    remember = _awaited(Memory.remember)
    recall = _awaited(Memory.recall)
    get = _awaited(Memory.get)
    find = _awaited(Memory.find)
    forget = _awaited(Memory.forget)
    restore = _awaited(Memory.restore)
    correct = _awaited(Memory.correct)
    confirm = _awaited(Memory.confirm)
    pin = _awaited(Memory.pin)
    explain = _awaited(Memory.explain)
    status = _awaited(Memory.status)
    sync = _awaited(Memory.sync)
    reindex = _awaited(Memory.reindex)
    close = _awaited(Memory.close)

    def subscribe(self, callback: Callable[..., None]) -> None:
        """As `Memory.subscribe`; the callback comes on a worker thread."""
        self.memory.subscribe(callback)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
