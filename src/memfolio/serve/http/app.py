"""The application: all routes behind the gate, and what they say of themselves as OpenAPI."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, create_model
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from memfolio import __version__
from memfolio.config import Config
from memfolio.errors import MemfolioError
from memfolio.memory import Memory
from memfolio.serve.cli.output import as_json
from memfolio.serve.http.auth import foreign
from memfolio.serve.http.errors import answer_to, reply, told
from memfolio.serve.http.events import MEDIA, Stream, Told, changes, progress
from memfolio.serve.http.gate import Gate, Names
from memfolio.serve.http.hall import Hall
from memfolio.serve.http.limits import Limits
from memfolio.serve.http.routes import GuardedRoute, add
from memfolio.serve.http.verbs import LONG, VERBS, body_of, call, check, packed, verb
from memfolio.serve.tools.sets import READING, SLOW, tools_of
from memfolio.serve.tools.tool import AGENT as AGENT_ID
from memfolio.serve.tools.tool import Tool

BEARER = {"type": "http", "scheme": "bearer", "description": "The secret that `memfolio token create` showed."}
TOOLS = tools_of("all")
JSON = "application/json"


def build(config: Config, limits: Limits, names: Names, now: Callable[[], float] = time.monotonic) -> FastAPI:
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
    app.add_middleware(Gate, limits=limits, names=names, metrics=hall.metrics)
    for kind in (MemfolioError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, answered)
    _furnish(app, hall)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    return app


def _furnish(app: FastAPI, hall: Hall) -> None:
    for scope, verbs in VERBS.items():
        for name, kind in verbs.items():
            path = f"/v1/{name.replace('_', '-').replace('.', '-')}"
            answer = create_model(f"{body_of(name).__name__}Answer", result=(kind, ...))
            told = {"response_model": answer, "description": inspect.getdoc(verb(name)) or ""}
            add(app, path, _verb(hall, name), scope, {MEDIA: {}} if name in LONG else {}, **told)
    for name, tool in TOOLS.items():
        answer_shape = {"type": "object", "properties": {"result": tool.output}, "required": ["result"]}
        extra = {"requestBody": {"content": {JSON: {"schema": tool.schema}}}}
        scope, content = "read" if name in READING else "write", {JSON: {"schema": answer_shape}}
        add(app, f"/v1/tools/{name}", _tool(hall, tool), scope, content, extra=extra, description=tool.description)
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
    return reply(422, told("input", f"{place}: {first['msg'][:200]}", hint))


def _verb(hall: Hall, name: str) -> Callable[..., Any]:
    """The endpoint of a verb, with a body of the type that the verb takes."""

    async def endpoint(request: Request, given: BaseModel) -> Response:
        agent, arguments = request.state.token.agent, given.model_dump(exclude_unset=True)
        check(arguments)

        def begin(told: Told | None = None) -> asyncio.Future[bytes]:
            more = {"told": told} if told is not None and name == "tend" else {}
            return hall.run(agent, lambda memory: packed(call(memory, name, arguments | more)), is_long=name in LONG)

        if name in LONG and MEDIA in request.headers.get("accept", ""):
            return Stream(progress(name, begin))
        return Response(await begin(), media_type=JSON)

    endpoint.__annotations__ |= {"request": Request, "given": body_of(name)}
    return endpoint


def _tool(hall: Hall, tool: Tool) -> Callable[..., Any]:
    """The endpoint of a tool, which checks its arguments itself."""

    async def endpoint(request: Request, arguments: dict[str, Any]) -> Response:
        agent = request.state.token.agent
        if arguments.get(AGENT_ID, agent) != agent:
            raise foreign(agent)
        check(arguments)

        def work(memory: Memory) -> str:
            return as_json({"result": tool(memory, arguments)})

        told = await hall.run(agent, work, is_long=tool.name in SLOW)
        return Response(told.encode("utf-8", "replace"), media_type=JSON)

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
