"""Streams of events: changes as they come, and how far a long call is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from memfolio.errors import MemfolioError
from memfolio.serve.http.errors import document_of
from memfolio.serve.tokens import Token
from memfolio.vault.audit import TrailLine

if TYPE_CHECKING:
    from memfolio.serve.http.hall import Hall

MEDIA = "text/event-stream"
PING = b": still here\n\n"
PING_SECONDS = 10.0
WAITING = 1000
"""Events that wait for a slow reader; one that falls further behind is let go."""
Told = Callable[[str, int, int], None]


def event(name: str, data: bytes | dict[str, Any], id: int | None = None) -> bytes:
    """One event as it is sent; the data is JSON, which has no line breaks."""
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    mark = b"" if id is None else b"id: %d\n" % id
    return mark + b"event: %s\ndata: %s\n\n" % (name.encode(), text)


class Listener:
    """Somebody who reads events; they come from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    def hear(self, event: bytes | None) -> None:
        """Pass an event on; None is the end."""
        try:
            self._loop.call_soon_threadsafe(self._put, event)
        except RuntimeError:  # the loop ended, and whoever listened on it
            return

    def _put(self, event: bytes | None) -> None:
        self._queue.put_nowait(None if self._queue.qsize() >= WAITING else event)

    async def events(self, is_welcome: Callable[[], bool] = lambda: True) -> AsyncIterator[bytes]:
        """Events until the end, with signs of life between them; ends early for whoever is not welcome any more."""
        while True:
            try:
                heard = await asyncio.wait_for(self._queue.get(), PING_SECONDS)
            except TimeoutError:
                heard = PING
            if heard is None or not is_welcome():
                return
            yield heard


class Changes:
    """Those who listen to the changes of one memory."""

    def __init__(self) -> None:
        self.listeners: set[Listener] = set()

    def tell(self, line: TrailLine) -> None:
        """Tell all of a change; called by the writer, which must not wait."""
        for each in [*self.listeners]:
            each.hear(event("change", change(line), line.seq))

    def end(self) -> None:
        """Let all of them come to an end."""
        for each in [*self.listeners]:
            each.hear(None)


def change(line: TrailLine) -> dict[str, Any]:
    """A change as listeners are told of it."""
    by = {"actor": line.by.actor, "trigger": line.by.trigger, "session": line.by.session}
    return {"seq": line.seq, "at": line.at, "action": line.action, **by, "paths": line.paths, "ids": list(line.ids)}


async def changes(hall: Hall, token: Token) -> AsyncIterator[bytes]:
    """Changes of the memory that a token is for, as long as the token is good."""
    listener = Listener()
    with hall.held(token.agent) as kept:
        kept.changes.listeners.add(listener)
        try:
            await hall.run(token.agent, lambda memory: None)
            yield b": listening\n\n"
            async for heard in listener.events(lambda: token in hall.tokens.all()):
                yield heard
        finally:
            kept.changes.listeners.discard(listener)


async def progress(name: str, work: Callable[[Told], bytes], pool: Executor) -> AsyncIterator[bytes]:
    """How far a call is, then what it answers, as `result` or `error`."""
    listener, loop = Listener(), asyncio.get_running_loop()

    def told(job: str, done: int, total: int) -> None:
        listener.hear(event("progress", {"job": job, "done": done, "total": total}))

    told(name, 0, 1)
    future = loop.run_in_executor(pool, work, told)
    future.add_done_callback(lambda _: listener.hear(None))
    async for heard in listener.events():
        yield heard
    try:
        yield event("result", await future)
    except MemfolioError as error:
        yield event("error", document_of(error))
