"""The server: listens, gives slow clients only so much time, and ends without leaving anything open."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from memfolio.errors import InputError
from memfolio.serve.http.errors import reply, told
from memfolio.serve.http.limits import Limits

GRACE_SECONDS = 20
KEEP_SECONDS = 30
ADDRESS = "take an address of this machine and a port that is free, such as 127.0.0.1:0, which takes any"


async def crowded(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers on a connection that is one too many."""
    headers = {"retry-after": "1", "connection": "close"}
    await reply(503, told("busy", "too many connections at once", "try again in a moment"), headers)(
        scope, receive, send
    )


def patient(limits: Limits) -> type[H11Protocol]:
    """The protocol, with an end to the time in which a head must come and an answer must be taken."""

    class Patient(H11Protocol):
        """A connection; uvicorn alone would wait for both for ever."""

        _patience: asyncio.TimerHandle | None = None
        _taking: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                self.app = crowded
            # Else the body of an answer waits until the client acknowledges its head, which takes 40 ms.
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            transport.set_write_buffer_limits(0)  # so that whatever is not taken is noticed
            self._patience = self.loop.call_later(limits.head_seconds, self._give_up)

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
                self._taking = self.loop.call_later(limits.send_seconds, self._watch, left)
            else:
                self.transport.abort()

        def handle_events(self) -> None:
            super().handle_events()
            is_waiting = self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]
            if self._patience is not None and not is_waiting:
                self._patience.cancel()
                self._patience = None
            elif self._patience is None and is_waiting:
                self._patience = self.loop.call_later(limits.head_seconds, self._give_up)

        def connection_lost(self, exc: Exception | None) -> None:
            for timer in (self._patience, self._taking):
                if timer is not None:
                    timer.cancel()
            super().connection_lost(exc)

        def _give_up(self) -> None:
            self._turn_away(408, "slow", "the head of the request did not come in time")

        def send_400_response(self, msg: str) -> None:
            self._turn_away(400, "http", "this is no HTTP request, or its head is too long")

        def _turn_away(self, status: int, code: str, message: str) -> None:
            body = json.dumps(told(code, message, f"the head has room for {limits.head} bytes")).encode()
            lines = f"HTTP/1.1 {status} \r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
            self.transport.write(f"{lines}connection: close\r\n\r\n".encode() + body)
            self.transport.close()

    return Patient


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
        told = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host[:80]}:{port}: {told}", hint=ADDRESS) from error


def address(door: socket.socket) -> str:
    """Where programs find a socket that listens."""
    host, port, *_ = door.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server_of(app: ASGIApp, limits: Limits, end_streams: Callable[[], None] = lambda: None) -> Server:
    """A server of an application; `end_streams` ends those that would go on for ever."""
    config = uvicorn.Config(
        app,
        http=patient(limits),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=limits.head,
        timeout_keep_alive=KEEP_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return Server(config, end_streams)


def run(server: Server, door: socket.socket) -> None:
    """Serve until the process is told to end, by a signal or by a person who presses Ctrl-C."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # the library raises it again when it has ended
    with suppress(KeyboardInterrupt):
        server.run(sockets=[door])
