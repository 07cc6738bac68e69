"""The page as routes of the server: each is a function of what was asked for, run on a thread with the memory open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from memfolio.config import Config
from memfolio.errors import ConflictError, MemfolioError
from memfolio.memory import Memory
from memfolio.serve.http.app import Hall, Listener, Stream, answered, build, event
from memfolio.serve.http.errors import Refusal, status_of
from memfolio.serve.http.gate import RequestGate, ServerNames
from memfolio.serve.http.server import Limits, Server
from memfolio.serve.page import PAGES, show
from memfolio.serve.page.launch import Address, Noticeboard
from memfolio.serve.page.session import HEADERS, Session, Sessions, check_request
from memfolio.types import Approval, Attribution

BY = Attribution(actor="human", approval=Approval.APPROVED, trigger="page")
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
LIMITS = Limits(head=128 << 10)
"""Of the server: a question or a prompt of any script fits into an address, and once more into what it was led from."""
LOOK_SECONDS, IDLE_SECONDS = 2.0, 15.0
"""How often an open page looks for changes of other processes, and a server for whether anybody has a session."""
Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


@dataclass(slots=True)
class Visit:
    """One request, and the memory it is about."""

    page: OwnerPage
    memory: Memory
    agent: str
    request: Request
    session: Session
    form: Mapping[str, list[str]]
    path: Mapping[str, Any]
    """Values in the path."""

    def given(self, name: str) -> str:
        """Return a value of the form, or of the query; empty if there is none."""
        return (self.form.get(name) or [self.request.query_params.get(name, "")])[-1]

    def url(self, path: str = "", **query: Any) -> str:
        return show.link(f"/a/{self.agent}/{path}", **query)

    def show(self, template: str, status: int = 200, /, **values: Any) -> Response:
        """Render a page; the outcome of the previous decision is shown once."""
        vault, outcome = self.memory.vault, self.session.outcome
        self.session.outcome = None
        here, agents = self.request.url.path.split("/")[3:4], vault.agents() or [self.agent]
        values |= {"url": self.url, "agent": self.agent, "agents": agents, "pages": PAGES, "here": here}
        values |= {"head": vault.head, "outcome": outcome, "home": vault.config.home.name}
        return self.page.html(template, status, waiting=self.page.waiting.get(self.agent), **values)

    def go(self, path: str, outcome: str, seqs: object = "", **query: Any) -> Response:
        """On to a page that tells what came of a decision, and by which changes, which can be taken back."""
        self.session.outcome = (outcome, str(seqs))
        return RedirectResponse(self.url(path, **query), 303)

    def check_shown(self, mark: str, says: str) -> None:
        """Reject a decision on something other than what was shown; the error shows the present state."""
        if self.given("shown") != mark:
            raise ConflictError(f"This was changed since you looked at it, and nothing was done. It says: {says}")


def mark_of(*parts: object) -> str:
    """Return a hash of what was shown, so that a decision applies to nothing else."""
    return blake2b("\0".join(map(str, parts)).encode(errors="surrogatepass"), digest_size=12).hexdigest()


class OwnerPage:
    """The page over one home, with the memories of its agents open in the owner's name."""

    server: Server | None = None
    count: Callable[[Memory], None]
    """Looks how much waits for the owner."""

    def __init__(self, config: Config, address: Address, now: Callable[[], float] = time.time) -> None:
        self.config, self.address = config, address
        self.hall, self._api = Hall(config, speaker="owner"), None
        self.board, self.sessions = Noticeboard(self.hall.vault, now), Sessions(now)
        self.templates = show.environment(self.hall.vault.home.zone)
        self.static = {each.name: each.read_bytes() for each in show.DATA.iterdir() if each.suffix in KINDS}
        self.waiting: dict[str, int] = {}
        """How much waited for the owner at the last look, by agent: to count it for every page takes too long."""
        self._names = ServerNames(hosts=[address.hosts[0].partition(":")[0]])
        self.app: ASGIApp = Starlette(
            routes=[*self._routes(), Mount("/", self._rest)],
            middleware=[Middleware(RequestGate, limits=LIMITS, names=self._names)],
            exception_handlers={Exception: answered},
            lifespan=self._lifespan,
        )

    def _routes(self) -> list[Route]:
        from memfolio.serve.page import history, memories, review, rooms

        self.count = lambda memory: self.waiting.update({memory.agent: review.count_waiting(memory)})
        own = [("GET", "/", self._start), ("GET", "/enter", self._entrance), ("POST", "/enter", self._enter)]
        own += [("GET", "/a/{agent}/events", self._events), ("GET", "/static/{name:path}", self._static)]
        own += [("POST", "/leave", self._leave)]
        nowhere = ("GET", "/a/{rest:path}", self._nowhere)
        views = [each for module in (review, memories, history, rooms) for each in module.ROUTES]
        named = [(method, f"/a/{{agent}}/{path}", self._viewed(view)) for method, path, view in views]
        return [Route(path, self._guarded(each), methods=[method]) for method, path, each in (*own, *named, nowhere)]

    _api: Any
    """The application of `memfolio serve`, which takes a second to make and is made for the first who asks for it."""

    async def _rest(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._api is None:
            self._api = await asyncio.to_thread(build, self.config, LIMITS, self._names)
        await self._api({**scope, "app": self._api, "root_path": ""}, receive, send)

    def _halls(self) -> list[Hall]:
        return [self.hall, *([self._api.state.hall] if self._api else [])]

    @asynccontextmanager
    async def _lifespan(self, _: Any) -> AsyncIterator[None]:
        watch = asyncio.create_task(self._watch())
        yield
        watch.cancel()
        for hall in self._halls():
            hall.close()

    async def _watch(self) -> None:
        """End the server when nobody has a session, or a key to begin one."""
        while True:
            await asyncio.sleep(IDLE_SECONDS)
            if self.server and not len(self.sessions) and not await asyncio.to_thread(lambda: self.board.has_keys):
                self.server.should_exit = True

    def end_streams(self) -> None:
        for hall in self._halls():
            hall.end_streams()

    def html(self, template: str, status: int = 200, **values: Any) -> Response:
        return Response(self.templates.get_template(template).render(values), status, media_type="text/html")

    def _guarded(self, answer: Endpoint) -> Endpoint:
        """Wrap an endpoint so that it is reached only from the page itself; a refusal is a page, too."""

        async def endpoint(request: Request) -> Response:
            try:
                check_request(request, self.address)
                response = await answer(request)
            except Refusal as error:
                told = error.document["error"]
                response = self.html("door.html", error.status_code, message=told["message"], hint=told["hint"])
            response.headers.update(HEADERS)
            return response

        return endpoint

    def _viewed(self, view: Callable[[Visit], Response]) -> Endpoint:
        """A view of the memory of the agent that the address names, for somebody with a session."""

        async def answer(request: Request) -> Response:
            session, agent = self.sessions.of(request), self._agent(request.path_params["agent"])
            form = parse_qs((await request.body()).decode(errors="replace"), keep_blank_values=True)

            def work(memory: Memory) -> Response:
                visit = Visit(self, memory, agent, request, session, form, request.path_params)
                try:
                    return view(visit)
                except MemfolioError as error:
                    return visit.show("trouble.html", status_of(error), error=error)

            # What may take long keeps nobody from looking.
            return await self.hall.run(
                agent, work, is_long=request.method == "POST" or "checks" in request.query_params
            )

        return answer

    def _agent(self, name: str) -> str:
        if name not in (self.config.agent, *self.hall.vault.agents()):
            raise Refusal(404, "agent", "There is no such agent in this home.", "")
        return name

    async def _nowhere(self, _: Request) -> Response:
        raise Refusal(404, "page", "There is no such page.", "")

    async def _static(self, request: Request) -> Response:
        if (name := request.path_params["name"]) not in self.static:
            return await self._nowhere(request)
        return Response(self.static[name], media_type=KINDS[name[name.rindex(".") :]])

    async def _start(self, request: Request) -> Response:
        """Where somebody begins: with what waits for them, else with the memories."""
        self.sessions.of(request)
        await self.hall.run(self.config.agent, self.count)
        page = "review" if self.waiting[self.config.agent] else "memories"
        return RedirectResponse(f"/a/{self.config.agent}/{page}", 303)

    async def _entrance(self, _: Request) -> Response:
        return self.html("door.html", message="Opening …", hint="")

    async def _enter(self, request: Request) -> Response:
        """Trade a key for a session; the answer says where to go on."""
        key, query = (await request.body()).decode(errors="replace"), request.query_params
        if not await asyncio.to_thread(self.board.take_key, key):
            raise Refusal(403, "key", "This link was used before, or is older than a minute.", "")
        page, agent = query.get("page", ""), self._agent(query.get("agent") or self.config.agent)
        response = Response(f"/a/{agent}/{page}" if page in PAGES else "/", media_type="text/plain")
        self.sessions.begin(response)
        return response

    async def _leave(self, request: Request) -> Response:
        self.sessions.end(request)
        return self.html("door.html", message="You are signed out.", hint="")

    async def _events(self, request: Request) -> Response:
        return Stream(self._heads(self.sessions.of(request), self._agent(request.path_params["agent"])))

    async def _heads(self, session: Session, agent: str) -> AsyncGenerator[bytes]:
        """The number of the newest change whenever it grows, and how much waits for the owner; never a word."""
        last, room, listener, ping = 0, self.hall.room(agent), Listener(), b":"

        def look(memory: Memory) -> int:
            memory.vault.refresh()
            if memory.vault.head != last:
                self.count(memory)
            return memory.vault.head

        room.listeners.add(listener)
        try:
            while ping:
                head = await self.hall.run(agent, look)
                yield event("head", {"head": head, "waiting": self.waiting[agent]}) if head != last else ping
                last, is_good = head, lambda: self.sessions.is_good(session)
                ping = await anext(listener.events(is_good, every=LOOK_SECONDS), b"")
        finally:
            room.listeners.discard(listener)
