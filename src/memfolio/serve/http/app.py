"""The application: all routes behind the door, and what they say of themselves as OpenAPI."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, create_model
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from memfolio import __version__
from memfolio.config import Config
from memfolio.errors import InputError, NotFoundError
from memfolio.intake import nearest
from memfolio.memory import Memory
from memfolio.serve.cli.output import as_json
from memfolio.serve.http.auth import AGENT, BY_TOOL, GuardedRoute, foreign, needed_for
from memfolio.serve.http.errors import HANDLED, RESPONSES, answer_to
from memfolio.serve.http.events import MEDIA, Told, changes, progress
from memfolio.serve.http.hall import Hall
from memfolio.serve.http.limits import Door, Limits
from memfolio.serve.http.verbs import LONG, VERBS, body_of, call, packed
from memfolio.serve.tools.sets import tools_of
from memfolio.serve.tools.tool import AGENT as AGENT_ID

BEARER = {"type": "http", "scheme": "bearer", "description": "The secret that `memfolio token create` showed."}
WHOSE = {"name": AGENT, "in": "query", "required": False, "schema": {"type": "string"}}
WHOSE["description"] = "Whose memory is meant, which is only ever that of the token's own agent."
TOOLS = tools_of("all")
JSON = "application/json"


def build(config: Config, limits: Limits, *, hosts: Sequence[str] = (), origins: Sequence[str] = ()) -> FastAPI:
    """The application over a home, which is open from now until the application ends."""
    hall = Hall(config, limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        hall.close()

    app = FastAPI(title="memfolio", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.router.route_class = GuardedRoute
    app.state.hall = hall
    app.add_middleware(Door, limits=limits, metrics=hall.metrics, hosts=hosts, origins=origins)
    for kind in HANDLED:
        app.add_exception_handler(kind, answer_to)
    for scope, verbs in VERBS.items():
        for name, gives in verbs.items():
            add(app, "POST", name, _verb(hall, name), scope, gives, {MEDIA: {}} if name in LONG else None)
    add(app, "GET", "tools", list_tools, "read", list[dict[str, Any]])
    add(app, "POST", "tools/{name}", call_tool, BY_TOOL, Any)
    add(app, "GET", "events", events, "read", None, {MEDIA: {}})
    add(app, "GET", "/metrics", metrics, "admin", None, {"text/plain": {}})
    app.add_api_route("/health", health, response_model=dict[str, str], operation_id="health")
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    return app


def add(
    app: FastAPI,
    method: str,
    name: str,
    endpoint: Callable[..., Any],
    scope: str,
    gives: Any,
    content: dict[str, Any] | None = None,
) -> None:
    """Add a route that needs a token of a scope; what it gives stands in `result`."""
    mark = name.strip("/").replace("tools/{name}", "call_tool")
    answer = None if gives is None else create_model(f"{mark.title().replace('_', '')}Answer", result=(gives, ...))
    app.add_api_route(
        name if name.startswith("/") else f"/v1/{name.replace('_', '-')}",
        endpoint,
        methods=[method],
        response_model=answer,
        operation_id=mark,
        description=inspect.getdoc(getattr(Memory, name, endpoint)) or "",
        responses=RESPONSES | ({200: {"content": content}} if content else {}),
        openapi_extra={"x-scope": scope, "security": [{"bearer": []}]},
    )


def _verb(hall: Hall, name: str) -> Callable[..., Any]:
    """The endpoint of a verb, with a body of the type that the verb takes."""

    async def endpoint(request: Request, given: BaseModel) -> Response:
        agent, arguments = request.state.token.agent, given.model_dump(exclude_unset=True)

        def work(told: Told) -> bytes:
            more = {"told": told} if name == "tend" else {}
            return hall.on_memory(agent, lambda memory: packed(call(memory, name, arguments | more)))

        if name in LONG and MEDIA in request.headers.get("accept", ""):
            return StreamingResponse(progress(name, work, hall.long), media_type=MEDIA)
        body = await hall.run(agent, lambda memory: packed(call(memory, name, arguments)), is_long=name in LONG)
        return Response(body, media_type=JSON)

    endpoint.__annotations__ |= {"request": Request, "given": body_of(name)}
    return endpoint


async def list_tools() -> Response:
    """What agents call by name, each with the schema of its arguments and the scope that it needs."""
    told = [
        {"name": name, "description": tool.description, "scope": needed_for(name), "schema": tool.schema}
        for name, tool in TOOLS.items()
    ]
    return Response(packed(told), media_type=JSON)


async def call_tool(request: Request, name: str, arguments: dict[str, Any]) -> Response:
    """Call a tool by its name; its arguments are checked against its schema, which GET /v1/tools shows."""
    hall, agent, tool = request.app.state.hall, request.state.token.agent, TOOLS.get(name)
    if tool is None:
        raise NotFoundError(f"there is no tool {name[:40]!r}", hint=nearest(name, list(TOOLS)))
    if arguments.get(AGENT_ID, agent) != agent:
        raise foreign(agent)
    try:
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise InputError("the arguments have text or numbers that are not valid", hint="mend them") from error
    told = await hall.run(agent, lambda memory: as_json({"result": tool(memory, arguments)}))
    return Response(told.encode("utf-8", "replace"), media_type=JSON)


async def events(request: Request) -> Response:
    """Changes of the agent's memory as they come, as server-sent events called `change`."""
    return StreamingResponse(changes(request.app.state.hall, request.state.token), media_type=MEDIA)


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
        for operation in (each for methods in document["paths"].values() for each in methods.values()):
            if "security" in operation:
                operation.setdefault("parameters", []).append(WHOSE)
        app.openapi_schema = document
    return app.openapi_schema
