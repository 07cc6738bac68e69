"""The HTTP application: all routes behind the gate, streams of events, and what they say of themselves as OpenAPI."""

from __future__ import annotations

import asyncio
import json
import os
import time
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from itertools import islice, takewhile
from threading import Lock
from typing import Any, TypeVar

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from memfolio import __version__
from memfolio.config import Config
from memfolio.errors import MemfolioError
from memfolio.memory import Memory
from memfolio.serve.http.errors import RESPONSES, answer_to, document_of, error_document, reply
from memfolio.serve.http.gate import AGENT, Metrics, RequestGate, ServerNames, admitted, foreign, too_small
from memfolio.serve.http.server import Limits
from memfolio.serve.idle import OpenByAgent
from memfolio.serve.tokens import Token, Tokens
from memfolio.vault.journal import TrailLine
from memfolio.verbs.documents import packed, told_inside
from memfolio.verbs.verb import AGENT as AGENT_ID
from memfolio.verbs.verb import OnProgress, Verb, verbs_at

# Streams of events: changes as they come, and how far a long call is.

MEDIA = "text/event-stream"
PING = b": still here\n\n"
PING_SECONDS = 10.0
WAITING = 1000
"""Events that wait for a reader; one who is slower is let go, and one who was away for longer hears of that alone."""


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
        # The last place is for the end, which lets a slow reader go.
        if (waiting := self._queue.qsize()) <= WAITING:
            self._queue.put_nowait(event if waiting < WAITING else None)

    async def events(
        self, is_welcome: Callable[[], bool] = lambda: True, every: float = PING_SECONDS
    ) -> AsyncIterator[bytes]:
        """Events until the end, with signs of life between them; ends early for whoever is not welcome any more."""
        while True:
            try:
                heard = await asyncio.wait_for(self._queue.get(), every)
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


async def progress(name: str, begin: Callable[[OnProgress], asyncio.Future[bytes]]) -> AsyncGenerator[bytes]:
    """How far a call is, then what it answers, as `result` or `error`."""
    listener = Listener()

    def report(job: str, done: int, total: int) -> None:
        listener.hear(event("progress", {"job": job, "done": done, "total": total}))

    report(name, 0, 1)
    future = begin(report)
    future.add_done_callback(lambda _: listener.hear(None))
    async for heard in listener.events():
        yield heard
    try:
        yield event("result", await future)
    except MemfolioError as error:
        yield event("error", document_of(error))


# What all requests share: the memories that are kept open, the tokens, the threads, and the counters.

T = TypeVar("T")


class ServedMemory:
    """The memory of one agent, opened when it is first used, those who listen to its changes, and calls under way."""

    def __init__(self, config: Config, agent: str, speaker: str) -> None:
        self.listeners: set[Listener] = set()
        self.calls: set[Future[Any]] = set()
        self._config, self._agent, self._speaker, self._lock = config, agent, speaker, Lock()
        self._memory: Memory | None = None

    @property
    def is_in_use(self) -> bool:
        """Whether somebody waits for an answer, listens, or memories are being embedded."""
        memory = self._memory
        return bool(self.calls or self.listeners) or (memory is not None and memory.searcher.is_embedding)

    def memory(self) -> Memory:
        """The memory; the first who asks waits until it is open."""
        with self._lock:
            if self._memory is None:
                self._memory = Memory.open(self._config, self._agent, speaker=self._speaker)
                self._memory.subscribe(self._tell)
            return self._memory

    def _tell(self, line: TrailLine) -> None:
        for each in [*self.listeners]:
            each.hear(change(line))

    def close(self) -> None:
        """Close the memory where it was opened."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()


class Hall:
    """Open from its making until `close`; threads may share it. All of its memories speak as an agent, or the owner."""

    def __init__(self, config: Config, now: Callable[[], float] = time.monotonic, *, speaker: str = "agent") -> None:
        self._config = config
        self.rooms = OpenByAgent(lambda agent: ServedMemory(config, agent, speaker), now)
        # Held as long as the server runs: what is wrong with the home is known at once.
        self._first = Memory.open(config, config.agent, background=False, speaker=speaker)
        self.vault = self._first.vault
        self.tokens = Tokens(self.vault.home)
        self.metrics = Metrics(open_memories=lambda: len(self.rooms))
        # More threads than cores only make each other wait; what takes long has its own, and holds up nobody.
        self._quick = ThreadPoolExecutor(max(2, os.cpu_count() or 2), thread_name_prefix="memfolio-http")
        self._slow = ThreadPoolExecutor(2, thread_name_prefix="memfolio-http-long")

    def room(self, agent: str) -> ServedMemory:
        """Where an agent's memory is; one that nobody uses is closed after a while, and opened again."""
        return self.rooms.of(agent)

    def run(self, agent: str, work: Callable[[Memory], T], *, is_long: bool = False) -> asyncio.Future[T]:
        """What a thread does with an agent's memory."""
        room = self.room(agent)

        def done() -> T:
            with told_inside(self._config.home):
                return work(room.memory())

        call = (self._slow if is_long else self._quick).submit(done)
        room.calls.add(call)
        call.add_done_callback(room.calls.discard)
        return asyncio.wrap_future(call)

    def end_streams(self) -> None:
        """Have everybody who listens come to an end."""
        for listener in [each for room in self.rooms.values() for each in room.listeners]:
            listener.hear(None)

    def close(self) -> None:
        """Let what runs come to its end, write all of it, and leave no lock."""
        for pool in (self._quick, self._slow):
            pool.shutdown()
        self.rooms.close()
        self._first.close()


# Routes that ask for a token first, and say in OpenAPI what they take and give.

WHOSE = {"name": AGENT, "in": "query", "required": False, "schema": {"type": "string"}}
WHOSE["description"] = "Whose memory is meant, which is only ever that of the token's own agent."
SCOPE = "x-scope"


class GuardedRoute(APIRoute):
    """A route that asks for a token first, where it has a scope."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle, scope = super().get_route_handler(), (self.openapi_extra or {}).get(SCOPE)

        async def guarded(request: Request) -> Response:
            if scope is not None:
                request.state.token = admitted(request, request.app.state.hall.tokens, scope)
            return await handle(request)

        return guarded


def add(
    app: FastAPI, path: str, endpoint: Callable[..., Any], scope: str, content: Mapping[str, Any], **how: Any
) -> None:
    """Add a route that needs a token of a scope; `content` is what it answers, by its media type."""
    extra = {SCOPE: scope, "security": [{"bearer": []}], "parameters": [WHOSE], **how.pop("extra", {})}
    mark = path.strip("/").removeprefix("v1/").replace("/", "_").replace("-", "_")
    responses = RESPONSES | ({200: {"content": content}} if content else {})
    how = {"response_model": None, "methods": ["POST"], **how}
    app.add_api_route(path, endpoint, operation_id=mark, responses=responses, openapi_extra=extra, **how)


# The application: all routes behind the gate, and what they say of themselves as OpenAPI.

BEARER = {"type": "http", "scheme": "bearer", "description": "The secret that `memfolio token create` showed."}
JSON = "application/json"


def build(config: Config, limits: Limits, names: ServerNames, now: Callable[[], float] = time.monotonic) -> FastAPI:
    """The application over a home, which is open from now until the application ends.

    `now` tells the seconds by which memories that nobody uses are closed.
    """
    hall = Hall(config, now)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        hall.close()

    app = FastAPI(title="memfolio", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.router.redirect_slashes = False
    app.router.route_class = GuardedRoute
    app.state.hall = hall
    app.add_middleware(RequestGate, limits=limits, names=names, metrics=hall.metrics)
    for kind in (MemfolioError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, answered)
    _add_routes(app, hall)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    return app


def _add_routes(app: FastAPI, hall: Hall) -> None:
    for verb in verbs_at("http").values():
        answer = {"type": "object", "properties": {"result": verb.output}, "required": ["result"]}
        content = {JSON: {"schema": answer}} | ({MEDIA: {}} if verb.slow else {})
        extra = {"requestBody": {"content": {JSON: {"schema": verb.schema}}}}
        endpoint = _verb(hall, verb)
        add(app, verb.route, endpoint, verb.scope, content, extra=extra, description=verb.description)
        # Older programs know the tools below their own path, and verbs with an underscore.
        for alias in {f"/v1/tools/{verb.name}", f"/v1/{verb.name}"} - {verb.route}:
            add(app, alias, endpoint, verb.scope, content, extra=extra, include_in_schema=False)
    add(app, "/v1/events", events, "read", {MEDIA: {}}, methods=["GET"])
    add(app, "/metrics", metrics, "admin", {"text/plain": {}}, methods=["GET"])
    app.add_api_route("/health", health, response_model=dict[str, str], operation_id="health")


async def answered(_: Request, error: Exception) -> Response:
    """What is answered in place of what was asked for."""
    if not isinstance(error, RequestValidationError):
        return answer_to(error)
    first = error.errors()[0]
    place = ".".join(str(each)[:40] for each in first["loc"])
    hint = "send a JSON object as application/json; /openapi.json says what is in it"
    return reply(422, error_document("input", f"{place}: {first['msg'][:200]}", hint))


def _verb(hall: Hall, verb: Verb) -> Callable[..., Any]:
    """The endpoint of a verb, which checks its arguments itself."""

    async def endpoint(request: Request, arguments: dict[str, Any]) -> Response:
        token = request.state.token
        if arguments.get(AGENT_ID, token.agent) != token.agent:
            raise foreign(token.agent)
        if not token.lets(scope := verb.scope_for(arguments)):
            raise too_small(token, scope)

        def begin(report: OnProgress | None = None) -> asyncio.Future[bytes]:
            def work(memory: Memory) -> bytes:
                return packed({"result": verb(memory, arguments, report)})

            return hall.run(token.agent, work, is_long=verb.slow)

        if verb.slow and MEDIA in request.headers.get("accept", ""):
            return Stream(progress(verb.name, begin))
        return Response(await begin(), media_type=JSON)

    return endpoint


async def events(request: Request) -> Response:
    """Changes of the agent's memory as they come, as server-sent events called `change`."""
    last = request.headers.get("last-event-id", "")
    after = int(last) if last.isascii() and last.isdigit() and len(last) < 16 else None
    return Stream(changes(request.app.state.hall, request.state.token, after))


async def metrics(request: Request) -> Response:
    """What the server counts, in the text format of Prometheus."""
    return Response(request.app.state.hall.metrics.text(), media_type="text/plain; version=0.0.4")


async def health() -> Response:
    """That the server answers; needs no token and says nothing of the home."""
    return Response(json.dumps({"status": "ok", "version": __version__}), media_type=JSON)


def described(app: FastAPI) -> dict[str, Any]:
    """The routes as OpenAPI, with the scope that each needs."""
    if app.openapi_schema is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # defaults of our own values that JSON has no form for
            document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        document["components"]["securitySchemes"] = {"bearer": BEARER}
        app.openapi_schema = document
    return app.openapi_schema
