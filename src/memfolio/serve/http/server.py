"""The server: listens, gives slow clients only so much time, and ends without leaving anything open."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from memfolio.errors import InputError
from memfolio.serve.http.errors import told
from memfolio.serve.http.limits import Limits

GRACE_SECONDS = 20
KEEP_SECONDS = 30
BACKLOG = 128


def patient(limits: Limits) -> type[H11Protocol]:
    """The protocol, with an end to the time in which the head of a request must come."""

    class Patient(H11Protocol):
        """A connection; uvicorn alone would wait for a head for ever."""

        _patience: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            # Else the body of an answer waits until the client acknowledges its head, which takes 40 ms.
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._patience = self.loop.call_later(limits.head_seconds, self._give_up)

        def handle_events(self) -> None:
            super().handle_events()
            is_waiting = self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]
            if self._patience is not None and not is_waiting:
                self._patience.cancel()
                self._patience = None
            elif self._patience is None and is_waiting:
                self._patience = self.loop.call_later(limits.head_seconds, self._give_up)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._patience is not None:
                self._patience.cancel()
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

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, let what runs come to its end, close the memories."""
        app: Any = self.config.app
        app.state.hall.end_streams()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """A socket that programs can connect to from now on."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        hint = "choose another --port, or an address of this machine"
        raise InputError(f"cannot listen on {host}:{port}: {error.strerror or error}", hint=hint) from error


def server_of(app: FastAPI, limits: Limits) -> Server:
    """A server of an application; `run(sockets=[…])` serves until it is told to end."""
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
        limit_concurrency=limits.connections,
        timeout_keep_alive=KEEP_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return Server(config)
