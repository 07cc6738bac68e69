"""Who is let in: decided from the head of a request, before a byte of its body is read."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from memfolio.serve.http.errors import Refusal
from memfolio.serve.tokens import Token, Tokens
from memfolio.serve.tools.sets import READING

BY_TOOL = "by tool"
AGENT = "agent"
CREATE = '`memfolio token create "what it is for"` makes one'


class GuardedRoute(APIRoute):
    """A route that asks for a token first, where it has a scope."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle, scope = super().get_route_handler(), (self.openapi_extra or {}).get("x-scope")

        async def guarded(request: Request) -> Response:
            if scope is None:
                return await handle(request)
            hall = request.app.state.hall
            request.state.token = admitted(request, hall.tokens, scope)
            with hall.place():
                return await handle(request)

        return guarded


def admitted(request: Request, tokens: Tokens, scope: str) -> Token:
    """The token of a request that may come in; raises Refusal for all others."""
    token = tokens.bearer(_secret(request))
    if token is None:
        raise _unknown("the token is not known, or was revoked", 'Bearer error="invalid_token"')
    if any(each != token.agent for each in request.query_params.getlist(AGENT)):
        raise foreign(token.agent)
    needed = needed_for(request.path_params["name"]) if scope == BY_TOOL else scope
    if not token.lets(needed):
        hint = f'`memfolio token create "…" --scope {needed}` makes one that is enough'
        raise Refusal(403, "scope", f"this needs a token that may {needed}; yours may {token.scope}", hint)
    return token


def needed_for(tool: str) -> str:
    """The scope that a tool needs."""
    return "read" if tool in READING else "write"


def foreign(agent: str) -> Refusal:
    """What is said to somebody who names another agent than the token's own."""
    return Refusal(403, "foreign-agent", f"the token is for {agent}", "name no other agent, or take its own token")


def _secret(request: Request) -> str:
    given = request.headers.getlist("authorization")
    kind, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if kind.lower() != "bearer" or not secret:
        raise _unknown("a token is needed", "Bearer")
    return secret


def _unknown(message: str, challenge: str) -> Refusal:
    hint = f"send Authorization: Bearer SECRET; {CREATE}"
    return Refusal(401, "token", message, hint, www_authenticate=challenge)
