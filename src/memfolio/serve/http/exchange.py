"""One request and its answer, whose body may neither be too long nor take too long."""

from __future__ import annotations

import asyncio
import time

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from memfolio.serve.http.errors import Refusal
from memfolio.serve.http.limits import Limits

EVERYWHERE = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


class Cut(BaseException):  # no Exception, which applications take for a mistake of their own and log
    """Ends the application's part in a request whose body is not wanted; the refusal is its answer."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


class Exchange:
    """Passes the pieces of a request and its answer on; `status` is what was answered, 0 before that."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limits: Limits) -> None:
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        self._receive, self._send, self._limits = receive, send, limits
        self._length = int(length) if length.isdigit() else 0
        self._has_more = self._length > 0 or "transfer-encoding" in headers
        self._size, self._until = 0, time.monotonic() + limits.body_seconds
        self.status = 0

    async def receive(self) -> Message:
        """The next piece of the body; raises Cut where it is too long or too slow."""
        if not self._has_more:
            return await self._receive()
        if self._length > self._limits.body:
            raise self._too_long()
        try:
            message = await asyncio.wait_for(self._receive(), max(0, self._until - time.monotonic()))
        except TimeoutError:
            hint = f"send it within {self._limits.body_seconds:g} seconds"
            raise Cut(Refusal(408, "slow", "the body did not come in time", hint)) from None
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

    def _too_long(self) -> Cut:
        message = f"the body has more than {self._limits.body} bytes"
        return Cut(Refusal(413, "too-long", message, "send it in parts"))
