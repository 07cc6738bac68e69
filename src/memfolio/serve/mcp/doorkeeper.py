"""Who is let in over HTTP: decided from the head of a request, before a byte of its body is read."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memfolio.errors import MemfolioError
from memfolio.serve.tokens import Token, Tokens

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
TOKEN = "memfolio.token"
"""Where a request has its token."""
SECONDS = 15.0
"""How long the body of a request may take."""
Refusal = tuple[int, str, str, str]
"""A status, a code, a message and a hint."""


class Doorkeeper:
    """Stands before the server: right names, right pages, a token that is not revoked, and a body that arrives."""

    def __init__(self, app: ASGIApp, tokens: Tokens, names: Collection[str] = (), *, seconds: float = SECONDS) -> None:
        self._app, self._tokens, self._seconds = app, tokens, seconds
        self._names = LOOPBACK | {name.lower().strip("[]") for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            found = await anyio.to_thread.run_sync(self._seen, scope)
            if not isinstance(found, Token):
                await _refuse(send, *found)
                return
            access = AccessToken(token="", client_id=found.id, scopes=[found.scope], subject=found.agent)
            scope[TOKEN] = found
            scope["user"] = AuthenticatedUser(access)  # by which a session is only for who began it
            receive = _in_time(receive, self._seconds)
        await self._app(scope, receive, send)

    def _seen(self, scope: Scope) -> Token | Refusal:
        try:
            return self._judged(scope)
        except MemfolioError as error:  # the list of tokens cannot be read
            return 503, error.code, error.message, error.hint

    def _judged(self, scope: Scope) -> Token | Refusal:
        hosts, origins, given = (_all(scope, name) for name in (b"host", b"origin", b"authorization"))
        if len(hosts) != 1 or _name(f"//{hosts[0]}") not in self._names:
            return 403, "host", "this server does not go by that name", "start it with --allow-host NAME"
        if any(_name(each) not in self._names for each in origins):
            return 403, "origin", "pages of that origin may not ask here", "start the server with --allow-host NAME"
        kind, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        token = self._tokens.bearer(secret.strip()) if kind.lower() == "bearer" else None
        hint = 'send Authorization: Bearer SECRET; `memfolio token create "what it is for"` makes one'
        return token or (401, "token", "there is no token, or it is not known, or it was revoked", hint)


def _all(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _in_time(receive: Receive, seconds: float) -> Receive:
    """What is received, as long as the body comes in time; a client that is too slow is taken for gone."""
    until, is_whole = anyio.current_time() + seconds, False

    async def received() -> Message:
        nonlocal is_whole
        if is_whole:
            return await receive()
        with anyio.move_on_at(until):
            message = await receive()
            is_whole = not message.get("more_body", False)
            return message
        is_whole = True
        return {"type": "http.disconnect"}

    return received


async def _refuse(send: Send, status: int, code: str, message: str, hint: str) -> None:
    document: dict[str, Any] = {"error": {"code": code, "message": message, "hint": hint}}
    challenge = [(b"www-authenticate", b"Bearer")] if status == 401 else []
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store"), *challenge]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(document).encode()})
