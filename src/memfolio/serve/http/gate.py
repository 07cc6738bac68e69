"""The gate in front of a server: names, origins, tokens, bodies and counters, decided before a body is read."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memfolio.errors import MemfolioError
from memfolio.serve.http.errors import Refusal, answer_to
from memfolio.serve.http.server import Limits
from memfolio.serve.tokens import Token, Tokens
from memfolio.types import frozen

# One request and its answer, whose body may neither be too long nor take too long.

EVERYWHERE = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


class RequestEnded(BaseException):  # no Exception, which applications take for a mistake of their own and log
    """Ends the application's part in a request whose body is not wanted; the refusal is its answer."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


class Exchange:
    """Relays a request and its response; `status` is the response's, 0 before it."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limits: Limits) -> None:
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        self._receive, self._send, self._limits = receive, send, limits
        self._length = int(length) if length.isdigit() else 0
        self._has_more = self._length > 0 or "transfer-encoding" in headers
        self._size, self._until = 0, time.monotonic() + limits.body_seconds
        self.status = 0

    async def receive(self) -> Message:
        """The next piece of the body; raises RequestEnded where it is too long or too slow."""
        if not self._has_more:
            return await self._receive()
        if self._length > self._limits.body:
            raise self._too_long()
        try:
            message = await asyncio.wait_for(self._receive(), max(0, self._until - time.monotonic()))
        except TimeoutError:
            hint = f"send it within {self._limits.body_seconds:g} seconds"
            raise RequestEnded(Refusal(408, "slow", "the body did not come in time", hint)) from None
        self._size += len(message.get("body", b""))
        if self._size > self._limits.body:
            raise self._too_long()
        self._has_more = message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Pass a piece of the answer on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            closing = ((b"connection", b"close"),) if self._has_more else ()
            message["headers"] = [*message.get("headers", ()), *EVERYWHERE, *closing]
        elif self._has_more and not message.get("more_body", False):
            await self._send({**message, "more_body": True})
            await self._linger()
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    async def _linger(self) -> None:
        """Read on for a while: closing at once would take the answer from a client that still sends."""
        try:
            async with asyncio.timeout(self._limits.linger_seconds):
                while (await self._receive()).get("more_body", False):
                    pass
        except TimeoutError:
            return

    def _too_long(self) -> RequestEnded:
        message = f"the body has more than {self._limits.body} bytes"
        return RequestEnded(Refusal(413, "too-long", message, "send it in parts"))


# What the server counts, as Prometheus reads it.

NAME = "memfolio_http"
METHODS = ("GET", "POST", "HEAD")


class Metrics:
    """Requests by route, method and status, and how long they took; used by the event loop alone."""

    def __init__(self, **gauges: Callable[[], int]) -> None:
        self.in_flight = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._gauges = {"in_flight": lambda: self.in_flight, **gauges}

    @contextmanager
    def measured(self, scope: MutableMapping[str, Any], answer: Exchange) -> Iterator[None]:
        """Measure what happens inside as one request."""
        began = time.perf_counter()
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            # What is unknown goes by one name: strangers must not make up labels.
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._requests[route, method, answer.status or 500] += 1
            self._seconds[route] += time.perf_counter() - began

    def text(self) -> str:
        """Return everything in the text format 0.0.4."""
        return "\n".join([*self._lines(), ""])

    def _lines(self) -> Iterator[str]:
        for name, value in self._gauges.items():
            yield f"# TYPE {NAME}_{name} gauge\n{NAME}_{name} {value()}"
        yield f"# TYPE {NAME}_requests_total counter"
        for (route, method, status), count in sorted(self._requests.items()):
            yield f'{NAME}_requests_total{{route="{route}",method="{method}",status="{status}"}} {count}'
        yield f"# TYPE {NAME}_request_seconds summary"
        for route, seconds in sorted(self._seconds.items()):
            count = sum(count for (each, _, _), count in self._requests.items() if each == route)
            yield f'{NAME}_request_seconds_sum{{route="{route}"}} {seconds:.6f}'
            yield f'{NAME}_request_seconds_count{{route="{route}"}} {count}'


# Who is let in: decided from the head of a request, before a byte of its body is read.

AGENT = "agent"
HINT = 'send Authorization: Bearer SECRET; `memfolio token create "what it is for"` makes one'


def admitted(request: HTTPConnection, tokens: Tokens, scope: str = "read") -> Token:
    """The token of a request that may come in; raises Refusal for all others."""
    token = tokens.bearer(secret_of(request))
    if token is None:
        raise unknown_token()
    if any(each != token.agent for each in request.query_params.getlist(AGENT)):
        raise foreign(token.agent)
    if not token.lets(scope):
        raise too_small(token, scope)
    return token


AUDIENCE = "memfolio-audience"


def listener_of(request: HTTPConnection, token: Token) -> str | None:
    """Who listens: whom the token is for, else whom a header names; None is the owner."""
    named = [unquote(each) for each in request.headers.getlist(AUDIENCE)]
    if len({*named, *filter(None, [token.audience])}) > 1 or not all(each.strip() for each in named):
        hint = f"leave {AUDIENCE} out, or name one whom the token is for"
        raise Refusal(403, "foreign-audience", "the token is not for that audience", hint)
    return token.audience or next(iter(named), None)


def too_small(token: Token, scope: str) -> Refusal:
    """Return the refusal of a token whose scope is too small."""
    hint = f'`memfolio token create "…" --scope {scope}` makes one that is enough'
    return Refusal(403, "scope", f"this needs a token that may {scope}; yours may {token.scope}", hint)


def foreign(agent: str) -> Refusal:
    """Return the refusal of a request for another agent than the token's own."""
    return Refusal(403, "foreign-agent", f"the token is for {agent}", "name no other agent, or take its own token")


def secret_of(request: HTTPConnection) -> str:
    """What a request names as its token; raises Refusal where it names none."""
    given = request.headers.getlist("authorization")
    kind, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if kind.lower() != "bearer" or not secret.strip():
        raise _unknown("a token is needed", "Bearer")
    return secret.strip()


def unknown_token() -> Refusal:
    """What is said to somebody whom no home lets in."""
    return _unknown("the token is not known, or was revoked", 'Bearer error="invalid_token"')


def _unknown(message: str, challenge: str) -> Refusal:
    return Refusal(401, "token", message, HINT, www_authenticate=challenge)


# The gate in front of a server: only for names that it goes by and pages that may ask, and in bounds of its own.

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
ANYWHERE = frozenset({"", "0.0.0.0", "::"})
"""Addresses to listen at that nobody asks for."""
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/?#@\s]+)(?::[0-9]{0,5})?")


@frozen
class ServerNames:
    """The host names of a server, and the foreign origins that may call it."""

    hosts: Collection[str] = ()
    origins: Collection[str] = ()

    def check(self, headers: Headers) -> None:
        """Raise Refusal for a request to another host name, or from a foreign page."""
        named = [each.lower() for each in headers.getlist("host")]
        if len(named) != 1 or not self._is_ours(named[0]):
            raise Refusal(403, "host", "this server does not go by that name", "start it with --allow-host NAME")
        # A page of the server itself may ask, behind a proxy with TLS as well.
        own = {f"http://{named[0]}", f"https://{named[0]}", *(each.lower().rstrip("/") for each in self.origins)}
        if any(each.lower() not in own for each in headers.getlist("origin")):
            hint = "ask without an Origin, or from a page of this server"
            raise Refusal(403, "origin", "pages of that origin may not ask here", hint)

    def _is_ours(self, host: str) -> bool:
        asked = HOST.fullmatch(host)
        known = (LOOPBACK | {each.lower().strip("[]") for each in self.hosts}) - ANYWHERE
        return asked is not None and asked[1].strip("[]") in known


class RequestGate:
    """Wraps an application; requests refused on the way in or out are answered here, in one format."""

    def __init__(self, app: ASGIApp, limits: Limits, names: ServerNames, metrics: Metrics | None = None) -> None:
        self.app, self._limits, self._names = app, limits, names
        self._metrics = metrics or Metrics()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send, self._limits)
        with self._metrics.measured(scope, exchange):
            try:
                self._names.check(Headers(scope=scope))
                await self.app(scope, exchange.receive, exchange.send)
            except RequestEnded as ended:
                await answer_to(ended.refusal)(scope, receive, exchange.send)
            except (Refusal, MemfolioError) as error:
                await answer_to(error)(scope, receive, exchange.send)
