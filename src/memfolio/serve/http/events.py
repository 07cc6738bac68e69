"""Streams of events: changes as they come, and how far a long call is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from memfolio.errors import MemfolioError
from memfolio.serve.http.errors import document_of
from memfolio.serve.tokens import Token
from memfolio.vault.audit import TrailLine

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.serve.http.hall import Hall

MEDIA = "text/event-stream"
PING = b": still here\n\n"
PING_SECONDS = 10.0
WAITING = 1000
"""Events that wait for a reader; one who is slower is let go, and one who was away for longer hears of that alone."""
Told = Callable[[str, int, int], None]


def event(name: str, data: bytes | dict[str, Any], id: int | None = None) -> bytes:
    """One event as it is sent; the data is JSON, which has no line breaks."""
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    mark = b"" if id is None else b"id: %d\n" % id
    return mark + b"event: %s\ndata: %s\n\n" % (name.encode(), text)


def change(line: TrailLine) -> bytes:
    """A change as listeners are told of it."""
    by = {"actor": line.by.actor, "trigger": line.by.trigger, "session": line.by.session}
    data = {"seq": line.seq, "at": line.at, "action": line.action, **by, "paths": line.paths, "ids": list(line.ids)}
    return event("change", data, line.seq)


def missed(memory: Memory, after: int) -> list[bytes]:
    """The changes since the one that was heard last; where those are too many, only that there were some."""
    newest = takewhile(lambda line: line.seq > after, memory.vault.trail.newest_first())
    lines = [*islice(newest, WAITING + 1)]
    if len(lines) > WAITING:
        return [event("missed", {"after": after, "until": lines[0].seq}, lines[0].seq)]
    return [change(line) for line in memory.vault.told(reversed(lines))]


class Stream(StreamingResponse):
    """Events as an answer; who makes them is told when nobody reads on."""

    def __init__(self, events: AsyncGenerator[bytes]) -> None:
        super().__init__(events, media_type=MEDIA)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events):
            await super().__call__(scope, receive, send)


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
        if (waiting := self._queue.qsize()) <= WAITING:
            self._queue.put_nowait(event if waiting < WAITING else None)

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


async def changes(hall: Hall, token: Token, after: int | None) -> AsyncGenerator[bytes]:
    """Changes of the memory that a token is for, as long as the token is good; first those after one of them."""
    listener, room = Listener(), hall.room(token.agent)
    room.listeners.add(listener)
    try:
        before = await hall.run(token.agent, lambda memory: [] if after is None else missed(memory, after))
        yield b"".join([b": listening\n\n", *before])
        async for heard in listener.events(lambda: hall.tokens.has(token)):
            if heard not in before:
                yield heard
    finally:
        room.listeners.discard(listener)


async def progress(name: str, begin: Callable[[Told], asyncio.Future[bytes]]) -> AsyncGenerator[bytes]:
    """How far a call is, then what it answers, as `result` or `error`."""
    listener = Listener()

    def told(job: str, done: int, total: int) -> None:
        listener.hear(event("progress", {"job": job, "done": done, "total": total}))

    told(name, 0, 1)
    future = begin(told)
    future.add_done_callback(lambda _: listener.hear(None))
    async for heard in listener.events():
        yield heard
    try:
        yield event("result", await future)
    except MemfolioError as error:
        yield event("error", document_of(error))
