"""The server over HTTP, for everybody who has a token: each sees the memory of the agent that it is for."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from memfolio.errors import InputError
from memfolio.serve.http.gate import RequestGate, ServerNames, admitted, listener_of
from memfolio.serve.http.server import ADDRESS, Limits, address, listen, run, server_of
from memfolio.serve.idle import OpenByAgent
from memfolio.serve.mcp.caller import Caller
from memfolio.serve.mcp.server import Requester, build
from memfolio.serve.tokens import Tokens
from memfolio.verbs.verb import Verb

if TYPE_CHECKING:
    from memfolio.memory import Memory

PATH = "/mcp"
TOKEN = "memfolio.token"
"""Where a request has its token."""
Callers = OpenByAgent[Caller]
SESSIONS, IDLE = 256, 30 * 60.0
"""Sessions at most, and the seconds after which one that nobody uses is over."""


class Guarded:
    """Lets requests through that have a token, and tells the library whose they are."""

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app, self._tokens = app, tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope[TOKEN] = token = admitted(HTTPConnection(scope), self._tokens)
            access = AccessToken(token="", client_id=token.id, scopes=[token.scope], subject=token.agent)
            scope["user"] = AuthenticatedUser(access)  # by which a session is only for who began it
        await self._app(scope, receive, send)


def callers_of(
    tools: Mapping[str, Verb], opened: Callable[[str], Memory], now: Callable[[], float] = time.monotonic
) -> Callers:
    """The memory of each agent that asks, opened when it first does, and closed when nobody uses it."""
    return OpenByAgent(lambda agent: Caller(tools, lambda: opened(agent)), now)


def serve(callers: Callers, tokens: Tokens, at: str, names: Collection[str], tell: Callable[[str], None]) -> None:
    """Answer at an address until the process is told to end; `tell` gets the address once it is there."""
    logging.basicConfig(level=logging.WARNING)
    host, port = parsed(at)
    with listen(host, port) as door:
        limits = Limits()
        server = server_of(application(callers, tokens, ServerNames(hosts=[host, *names]), limits), limits)
        tell(f"{address(door)}{PATH}")
        try:
            run(server, door)
        finally:
            callers.close()


def application(callers: Callers, tokens: Tokens, names: ServerNames, limits: Limits) -> RequestGate:
    """The server behind the gate, which knows names and origins better than the library does."""

    def who(context: Any) -> Requester:
        token = context.request.scope[TOKEN]
        audience = listener_of(context.request, token)
        return Requester(callers.of(token.agent), may_write=token.lets("write"), audience=audience)

    app = build(who).streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=sys.maxsize,  # the gate counts, and answers as it always does
        max_sessions=SESSIONS,
        session_idle_timeout=IDLE,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return RequestGate(Guarded(app, tokens), limits, names)


def parsed(address: str) -> tuple[str, int]:
    """Host and port of an address; a port alone is on this machine only."""
    host, _, port = address.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise InputError(f"{address[:60]!r} is not an address", hint=ADDRESS)
    return host.strip("[]") or "127.0.0.1", int(port)
