"""The server: listens, and ends without leaving anything open."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

from memfolio.errors import InputError
from memfolio.serve.http.connection import connection_within
from memfolio.serve.http.limits import Limits

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
    """Serve until the process is told to end, by a signal or by a person who presses Ctrl-C."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # the library raises it again when it has ended
    with suppress(KeyboardInterrupt):
        server.run(sockets=[door])
