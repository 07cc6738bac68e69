"""The HTTP application: all routes behind the gate, streams of events, and what they say of themselves as OpenAPI."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import islice, takewhile
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from memfolio import __version__
from memfolio.config import Config
from memfolio.errors import MemfolioError
from memfolio.memory import Memory
from memfolio.serve.hooks.pause import check_unpaused
from memfolio.serve.http.errors import RESPONSES, SCHEMAS, Refusal, answer_to, document_of, error_document, reply
from memfolio.serve.http.gate import (
    AGENT,
    Metrics,
    RequestGate,
    ServerNames,
    admitted,
    foreign,
    listener_of,
    secret_of,
    too_small,
    unknown_token,
)
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
ASK_SECONDS = 1.0
"""How often somebody who listens has the changes of others asked for."""
WAITING = 1000
"""Events that wait for a reader; one who is slower is let go, and one who was away for longer hears of that alone."""


def event(name: str, data: bytes | dict[str, Any], id: int | None = None) -> bytes:
    """One event as it is sent; the data is JSON, which has no line breaks."""
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    mark = b"" if id is None else b"id: %d\n" % id
    return mark + b"event: %s\ndata: %s\n\n" % (name.encode(), text)


def change(line: TrailLine) -> bytes:
    """Return the event of a change."""
    by = {"actor": line.by.actor, "trigger": line.by.trigger, "session": line.by.session}
    data = {"seq": line.seq, "at": line.at, "action": line.action, **by, "paths": line.paths, "ids": list(line.ids)}
    return event("change", data, line.seq)


def missed(memory: Memory, after: int) -> list[bytes]:
    """Return the events since the last one received; if they are too many, one event that says so."""
    newest = takewhile(lambda line: line.seq > after, memory.vault.trail.newest_first())
    lines = [*islice(newest, WAITING + 1)]
    if len(lines) > WAITING:
        return [event("missed", {"after": after, "until": lines[0].seq}, lines[0].seq)]
    return [change(line) for line in memory.vault.told(reversed(lines))]


class Stream(StreamingResponse):
    """A response that streams events; closes their source when nobody reads on."""

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
    asking = asyncio.create_task(_ask(hall, token.agent))
    try:
        before = await hall.run(token.agent, lambda memory: [] if after is None else missed(memory, after))
        yield b"".join([b": listening\n\n", *before])
        async for heard in listener.events(lambda: hall.tokens.has(token)):
            if heard not in before:
                yield heard
    finally:
        asking.cancel()
        room.listeners.discard(listener)


async def _ask(hall: Hall, agent: str) -> None:
    """Hear of what other servers and processes do, where nothing tells of it: somebody listens, and nobody may ask."""
    while not hall.vault.config.watch:
        await asyncio.sleep(ASK_SECONDS)
        with suppress(MemfolioError):  # what is in the way is told to whoever asks something
            await hall.run(agent, lambda memory: memory.vault.refresh())


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
MOST_HOMES = 100
"""How many homes of a database are open at once, beside the server's own: each holds some files of its index open."""
_HOME = re.compile(r"/homes/(?P<name>[^/]+)(?P<rest>/.*)")


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
        """Close the memory if it was opened."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()


class ServedHome:
    """Another home of the database, opened when it is first asked for, and the requests that are under way there."""

    def __init__(self, open: Callable[[], Hall]) -> None:
        self.requests = 0
        self._open, self._lock = open, Lock()
        self._hall: Hall | None = None

    @property
    def is_in_use(self) -> bool:
        hall = self._hall
        return self.requests > 0 or (hall is not None and any(room.is_in_use for room in hall.rooms.values()))

    @property
    def is_open(self) -> bool:
        return self._hall is not None

    def hall(self) -> Hall:
        """What the requests share; the first who asks waits until it is open."""
        with self._lock:
            if self._hall is None:
                self._hall = self._open()
            return self._hall

    def end_streams(self) -> None:
        """Have everybody who listens there come to an end."""
        if self._hall is not None:
            self._hall.end_streams()

    def close(self) -> None:
        """Close the home where it was opened."""
        with self._lock:
            if self._hall is not None:
                self._hall.close()


class Hall:
    """Open from its making until `close`; threads may share it. All of its memories speak as an agent, or the owner.

    The hall of a server has the threads, and the other homes of a database; each of those has a hall of its own.
    """

    def __init__(
        self,
        config: Config,
        now: Callable[[], float] = time.monotonic,
        *,
        speaker: str = "agent",
        beside: Hall | None = None,
    ) -> None:
        self._config, self._beside = config, beside
        self.rooms = OpenByAgent(lambda agent: ServedMemory(config, agent, speaker), now)
        self.homes = OpenByAgent(
            lambda name: ServedHome(partial(self._other, name, now, speaker)), now, most=MOST_HOMES
        )
        # Held as long as the server runs: what is wrong with the home is known at once.
        self._first = Memory.open(config, config.agent, background=False, speaker=speaker)
        self.vault = self._first.vault
        self.tokens = Tokens(self.vault.home)
        self.metrics = Metrics(open_memories=lambda: len(self.rooms))
        # More threads than cores only make each other wait; what takes long has its own, and holds up nobody.
        self._quick: ThreadPoolExecutor = beside._quick if beside else _threads("memfolio-http", os.cpu_count() or 2)
        self._slow: ThreadPoolExecutor = beside._slow if beside else _threads("memfolio-http-long", 2)

    def _other(self, name: str, now: Callable[[], float], speaker: str) -> Hall:
        from memfolio.vault.postgres.vault import has_home

        config = replace(self._config, home=self._config.home.parent / name)
        if not has_home(config):
            raise unknown_token()  # what there is, is not told to strangers
        return Hall(config, now, speaker=speaker, beside=self)

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[Hall]:
        """The hall of another home of the database, for the time of a request."""
        home = self.homes.of(name)
        home.requests += 1
        try:
            hall = await asyncio.wrap_future(self._quick.submit(home.hall))
            yield hall
        finally:
            home.requests -= 1
            if not home.is_open:  # strangers may make up names
                self.homes.let_go(name)

    def room(self, agent: str) -> ServedMemory:
        """Return the memory of an agent; an unused one is closed after a while, and opened again."""
        return self.rooms.of(agent)

    def run(self, agent: str, work: Callable[[Memory], T], *, is_long: bool = False) -> asyncio.Future[T]:
        """Run work on an agent's memory in a thread."""
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
        for home in self.homes.values():
            home.end_streams()

    def close(self) -> None:
        """Let running calls finish, write everything, and release all locks."""
        for pool in (self._quick, self._slow) if self._beside is None else ():
            pool.shutdown()
        self.homes.close()
        self.rooms.close()
        self._first.close()


def _threads(name: str, count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(2, count), thread_name_prefix=name)


# Routes that ask for a token first, and say in OpenAPI what they take and give.

WHOSE = {"name": AGENT, "in": "query", "required": False, "schema": {"type": "string"}}
WHOSE["description"] = "Whose memory is meant, which is only ever that of the token's own agent."
SCOPE = "x-scope"


def hall_of(request: Request) -> Hall:
    """That of the home that the request is for."""
    hall: Hall = getattr(request.state, "hall", None) or request.app.state.hall
    return hall


class HomeRouter:
    """Takes the name of a home from the front of a path, `/homes/NAME/v1/…`, and leaves the rest to the application."""

    def __init__(self, app: ASGIApp, hall: Hall) -> None:
        self.app, self._hall = app, hall

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = _HOME.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if named is None:
            await self.app(scope, receive, send)
            return
        secret_of(HTTPConnection(scope))  # nothing is opened for who has none
        async with self._hall.of(named["name"]) as hall:
            scope["path"], scope["raw_path"] = named["rest"], quote(named["rest"]).encode()
            scope.setdefault("state", {})["hall"] = hall
            await self.app(scope, receive, send)


class GuardedRoute(APIRoute):
    """A route that requires a token if it has a scope."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle, scope = super().get_route_handler(), (self.openapi_extra or {}).get(SCOPE)

        async def guarded(request: Request) -> Response:
            if scope is not None:
                request.state.token = token = admitted(request, hall_of(request).tokens, scope)
                request.state.audience = listener_of(request, token)
            return await handle(request)

        return guarded


def add(
    app: FastAPI, path: str, endpoint: Callable[..., Any], scope: str, content: Mapping[str, Any], **how: Any
) -> None:
    """Add a route that requires a token of a scope; `content` describes its answer by media type."""
    extra = {SCOPE: scope, "security": [{"bearer": []}], "parameters": [WHOSE], **how.pop("extra", {})}
    mark = path.strip("/").removeprefix("v1/").replace("/", "_").replace("-", "_")
    responses = RESPONSES | ({200: {"content": content}} if content else {})
    how = {"response_model": None, "methods": ["POST"], **how}
    app.add_api_route(path, endpoint, operation_id=mark, responses=responses, openapi_extra=extra, **how)


# The application: all routes behind the gate, and what they say of themselves as OpenAPI.

BEARER = {"type": "http", "scheme": "bearer", "description": "The secret that `memfolio token create` showed."}
JSON = "application/json"


def build(config: Config, limits: Limits, names: ServerNames, now: Callable[[], float] = time.monotonic) -> FastAPI:
    """Build the application over a home, which stays open until the application ends.

    `now` is the clock by which unused memories are closed.
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
    if config.store == "postgres":
        app.add_middleware(HomeRouter, hall=hall)
    app.add_middleware(RequestGate, limits=limits, names=names, metrics=hall.metrics)
    for kind in (MemfolioError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, answered)
    _add_routes(app)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    return app


def _add_routes(app: FastAPI) -> None:
    for verb in verbs_at("http").values():
        answer = {"type": "object", "properties": {"result": verb.output}, "required": ["result"]}
        content = {JSON: {"schema": answer}} | ({MEDIA: {}} if verb.slow else {})
        extra = {"requestBody": {"content": {JSON: {"schema": verb.schema}}}}
        endpoint = _verb(verb)
        add(app, verb.route, endpoint, verb.scope, content, extra=extra, description=verb.description)
        # Older programs know the tools below their own path, and verbs with an underscore.
        for alias in {f"/v1/tools/{verb.name}", f"/v1/{verb.name}"} - {verb.route}:
            add(app, alias, endpoint, verb.scope, content, extra=extra, include_in_schema=False)
    add(app, "/v1/events", events, "read", {MEDIA: {}}, methods=["GET"])
    add(app, "/metrics", metrics, "admin", {"text/plain": {}}, methods=["GET"])
    app.add_api_route("/health", health, response_model=dict[str, str], operation_id="health")


async def answered(_: Request, error: Exception) -> Response:
    """Return the response to an error."""
    if not isinstance(error, RequestValidationError):
        return answer_to(error)
    first = error.errors()[0]
    place = ".".join(str(each)[:40] for each in first["loc"])
    hint = "send a JSON object as application/json; /openapi.json says what is in it"
    return reply(422, error_document("input", f"{place}: {first['msg'][:200]}", hint))


def _verb(verb: Verb) -> Callable[..., Any]:
    """Return the endpoint of a verb, which checks its arguments itself."""

    async def endpoint(request: Request, arguments: dict[str, Any]) -> Response:
        token, hall = request.state.token, hall_of(request)
        if arguments.get(AGENT_ID, token.agent) != token.agent:
            raise foreign(token.agent)
        if not token.lets(scope := verb.scope_for(arguments)):
            raise too_small(token, scope)

        def begin(report: OnProgress | None = None) -> asyncio.Future[bytes]:
            def work(memory: Memory) -> bytes:
                if scope != "read":
                    check_unpaused(memory.vault.config.home)
                return packed({"result": verb(memory.heard_by(request.state.audience), arguments, report)})

            return hall.run(token.agent, work, is_long=verb.slow)

        if verb.slow and MEDIA in request.headers.get("accept", ""):
            return Stream(progress(verb.name, begin))
        return Response(await begin(), media_type=JSON)

    return endpoint


async def events(request: Request) -> Response:
    """Changes of the agent's memory as they come, as server-sent events called `change`."""
    if request.state.audience is not None:  # changes name files, and files are named by what is in them
        hint = "use a token without an audience"
        raise Refusal(403, "audience", "changes of the memory are for its owner", hint)
    last = request.headers.get("last-event-id", "")
    after = int(last) if last.isascii() and last.isdigit() and len(last) < 16 else None
    return Stream(changes(hall_of(request), request.state.token, after))


async def metrics(request: Request) -> Response:
    """Return the server's metrics in the text format of Prometheus."""
    if hall_of(request) is not request.app.state.hall:  # the counts are those of all homes
        raise HTTPException(404)
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
        document["components"] = {"schemas": SCHEMAS, "securitySchemes": {"bearer": BEARER}}
        app.openapi_schema = document
    return app.openapi_schema
