"""Routes that ask for a token first, and say in OpenAPI what they take and give."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from memfolio.serve.http.auth import AGENT, admitted
from memfolio.serve.http.errors import RESPONSES

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
