"""What a request may cost: the door in front of all routes, with limits of size, time and number."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memfolio.serve.http.errors import Refusal, reply
from memfolio.serve.http.metrics import Metrics

LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERYWHERE = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a client may ask for; times in seconds."""

    body: int = 1 << 20
    head: int = 16 << 10
    head_seconds: float = 10
    body_seconds: float = 15
    send_seconds: float = 30
    linger_seconds: float = 2
    """How long a body that nobody wants is read on, so that its sender sees the answer."""
    requests: int = 64
    """At once, of those that have a token."""
    connections: int = 256
    agents: int = 16
    """Whose memory is kept open at once."""


class Door:
    """Lets requests through that come to the right place, and gives each so much room and time."""

    def __init__(
        self, app: ASGIApp, *, limits: Limits, metrics: Metrics, hosts: Sequence[str] = (), origins: Sequence[str] = ()
    ) -> None:
        self._app, self._limits, self._metrics = app, limits, metrics
        self._hosts = {*LOOPBACK, *(each.lower() for each in hosts)}
        self._origins = {each.lower() for each in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send, self._limits)
        with self._metrics.measured(scope, exchange):
            refusal = self._refusal(scope)
            if refusal is None:
                await self._app(scope, exchange.receive, exchange.send)
            else:
                answer = reply(refusal.status_code, refusal.document, refusal.headers)
                await answer(scope, exchange.receive, exchange.send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers = [(name, value.decode("latin-1").lower()) for name, value in scope["headers"]]
        hosts, origins = ([value for name, value in headers if name == wanted] for wanted in (b"host", b"origin"))
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return Refusal(403, "host", "this server does not go by that name", "start it with --allow-host NAME")
        if any(each not in {*self._origins, f"http://{hosts[0]}", f"https://{hosts[0]}"} for each in origins):
            hint = "start it with --allow-origin ORIGIN"
            return Refusal(403, "origin", "pages of that origin may not ask here", hint)
        return None

    def _is_ours(self, host: str) -> bool:
        try:
            return urlsplit(f"//{host}").hostname in self._hosts
        except ValueError:
            return False


class Exchange:
    """One request and its answer, whose body may neither be too long nor take too long."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limits: Limits) -> None:
        headers = dict(scope["headers"])
        self._receive, self._send, self._limits = receive, send, limits
        length = headers.get(b"content-length", b"0")
        self._length = int(length) if length.isdigit() else 0
        self.has_more = self._length > 0 or b"transfer-encoding" in headers
        self._size, self._until = 0, time.monotonic() + limits.body_seconds
        self.status = 0

    async def receive(self) -> Message:
        """The next piece of the body; raises Refusal where it is too long or too slow."""
        if self._length > self._limits.body:
            raise self._too_long()
        if not self.has_more:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), max(0, self._until - time.monotonic()))
        except TimeoutError:
            hint = f"send it within {self._limits.body_seconds:g} seconds"
            raise Refusal(408, "slow", "the body did not come in time", hint) from None
        self._size += len(message.get("body", b""))
        self.has_more = message["type"] == "http.request" and message.get("more_body", False)
        if self._size > self._limits.body:
            raise self._too_long()
        return message

    async def send(self, message: Message) -> None:
        """Pass a piece of the answer on; a client that does not take it is let go."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            closing = ((b"connection", b"close"),) if self.has_more else ()
            message["headers"] = [*message.get("headers", ()), *EVERYWHERE, *closing]
        elif self.has_more and not message.get("more_body", False):
            await self._pass({**message, "more_body": True})
            await self._linger()
            message = {"type": "http.response.body", "body": b""}
        await self._pass(message)

    async def _pass(self, message: Message) -> None:
        try:
            await asyncio.wait_for(self._send(message), self._limits.send_seconds)
        except TimeoutError:
            raise ConnectionError("the client does not take its answer") from None

    async def _linger(self) -> None:
        """Read on for a while: closing at once would take the answer from a client that still sends."""
        try:
            async with asyncio.timeout(self._limits.linger_seconds):
                while (await self._receive()).get("more_body", False):
                    pass
        except TimeoutError:
            return

    def _too_long(self) -> Refusal:
        return Refusal(413, "too-long", f"the body has more than {self._limits.body} bytes", "send it in parts")
