"""The HTTP server: listens within limits of time and size, and ends without leaving anything open."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from memfolio.errors import InputError
from memfolio.serve.http.errors import error_document, reply
from memfolio.types import frozen

# What a request may cost.


@frozen
class Limits:
    """How much a client may ask for; times in seconds."""

    body: int = 2 << 20
    head: int = 16 << 10
    head_seconds: float = 10
    body_seconds: float = 15
    send_seconds: float = 30
    linger_seconds: float = 2
    """How long a body that nobody wants is read on, so that its sender sees the answer."""
    connections: int = 256


# One connection of a client, which gets only so much time.


async def crowded(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers on a connection that is one too many."""
    headers = {"retry-after": "1", "connection": "close"}
    await reply(503, error_document("busy", "too many connections at once", "try again in a moment"), headers)(
        scope, receive, send
    )


class Parser(h11.Connection):
    """Holds every head to the limit; h11 alone does so only while a head is incomplete."""

    def __init__(self, limit: int) -> None:
        super().__init__(h11.SERVER, limit)
        self._limit = limit
        self.status = 400
        """The status to answer if the request could not be parsed."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        is_head = self.their_state is h11.IDLE
        before = len(self.trailing_data[0]) if is_head else 0
        try:
            event = super().next_event()
        except h11.RemoteProtocolError as error:
            self.status = error.error_status_hint if is_head else 400
            raise
        if is_head and before - len(self.trailing_data[0]) > self._limit:
            self.status = 431
            raise h11.RemoteProtocolError("the head is too long", error_status_hint=self.status)
        return event


class Connection(H11Protocol):
    """A connection on which a head must come and an answer must be taken in time; uvicorn alone waits for ever."""

    limits = Limits()

    _patience: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None
    _is_over = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn: Parser = Parser(self.limits.head)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self.app = crowded
        # Else the body of an answer waits until the client acknowledges its head, which takes 40 ms.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport.set_write_buffer_limits(0)  # so that whatever is not taken is noticed
        self._patience = self.loop.call_later(self.limits.head_seconds, self._give_up)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch(sys.maxsize)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._taking is not None:
            self._taking.cancel()

    def _watch(self, before: int) -> None:
        """Let a client go that took nothing meanwhile; closing in order would wait for it."""
        left = self.transport.get_write_buffer_size()
        if left < before:
            self._taking = self.loop.call_later(self.limits.send_seconds, self._watch, left)
        else:
            self.transport.abort()

    def handle_events(self) -> None:
        super().handle_events()
        is_waiting = self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]
        if self._patience is not None and not is_waiting:
            self._patience.cancel()
            self._patience = None
        elif self._patience is None and is_waiting:
            self._patience = self.loop.call_later(self.limits.head_seconds, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._patience, self._taking):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        self._turn_away(408, "slow", "the head of the request did not come in time")

    def send_400_response(self, msg: str) -> None:
        if self.conn.status == 431:
            self._turn_away(431, "too-long", "the head of the request is too long")
        else:
            self._turn_away(400, "http", "this is no HTTP request")

    def _turn_away(self, status: int, code: str, message: str) -> None:
        body = json.dumps(error_document(code, message, f"the head has room for {self.limits.head} bytes")).encode()
        lines = f"HTTP/1.1 {status} \r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(f"{lines}connection: close\r\n\r\n".encode() + body)
        # What still comes is taken for a while: closed at once, the answer would be lost to whoever sends on.
        self.transport.write_eof()
        self._is_over = True
        self.loop.call_later(self.limits.linger_seconds, self.transport.close)

    def data_received(self, data: bytes) -> None:
        if not self._is_over:
            super().data_received(data)


def connection_within(limits: Limits) -> type[Connection]:
    """Connections with limits of their own; the library makes them, and passes nothing on."""
    return type("Connection", (Connection,), {"limits": limits})


# The server: listens, and ends without leaving anything open.

GRACE_SECONDS = 20
KEEP_SECONDS = 30
ADDRESS = "take an address of this machine and a port that is free, such as 127.0.0.1:0, which takes any"


class Server(uvicorn.Server):
    """Ends streams before it waits for them."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, let what runs come to its end, close the memories."""
        self._end_streams()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """A socket that programs can connect to from now on."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host[:80]}:{port}: {reason}", hint=ADDRESS) from error


def address(door: socket.socket) -> str:
    """Return the address of a listening socket."""
    host, port, *_ = door.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server_of(app: ASGIApp, limits: Limits, end_streams: Callable[[], None] = lambda: None) -> Server:
    """A server of an application; `end_streams` ends those that would go on for ever."""
    config = uvicorn.Config(
        app,
        http=connection_within(limits),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return Server(config, end_streams)


def run(server: Server, door: socket.socket) -> None:
    """Serve until the process is told to end, by a signal or by Ctrl-C."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # the library raises it again when it has ended
    with suppress(KeyboardInterrupt):
        server.run(sockets=[door])
