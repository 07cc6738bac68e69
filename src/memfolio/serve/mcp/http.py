"""The server over HTTP, for everybody who has a token: each sees the memory of the agent that it is for."""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from memfolio.errors import InputError, RefusedError
from memfolio.serve.mcp.caller import Caller
from memfolio.serve.mcp.doorkeeper import TOKEN, Doorkeeper
from memfolio.serve.mcp.server import Guest, build
from memfolio.serve.tokens import Tokens
from memfolio.serve.tools.tool import Tool

if TYPE_CHECKING:
    from memfolio.memory import Memory

PATH = "/mcp"
BODY = 2 * 1024 * 1024
"""Bytes of a request at most."""
SESSIONS, IDLE = 256, 30 * 60.0
"""Sessions at most, and the seconds after which one that nobody uses is over."""
CONNECTIONS = 256
HINT = "write it like 127.0.0.1:8931, or only the port"


class Callers:
    """The memory of each agent that asks, opened when it first does, and all closed together; threads may share it."""

    def __init__(self, tools: Mapping[str, Tool], open: Callable[[str], Memory]) -> None:
        self._tools, self._open = tools, open
        self._lock = threading.Lock()
        self._known: dict[str, Caller] = {}

    def of(self, agent: str) -> Caller:
        """The caller of an agent's memory."""
        with self._lock:
            if agent not in self._known:
                self._known[agent] = Caller(self._tools, lambda: self._open(agent))
            return self._known[agent]

    def close(self) -> None:
        """Finish what was begun, and close every memory."""
        with self._lock:
            for caller in self._known.values():
                caller.close()
            self._known.clear()


def serve(callers: Callers, tokens: Tokens, address: str, names: Collection[str], tell: Callable[[str], None]) -> None:
    """Answer at an address until the process is told to end; `tell` gets the address once it is there."""
    logging.basicConfig(level=logging.WARNING)
    host, port = parsed(address)
    listening = bound(host, port)
    config = uvicorn.Config(
        application(callers, tokens, [host, *names]),
        log_config=None,
        access_log=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
        server_header=False,
        ws="none",
    )
    shown = f"[{host}]" if ":" in host else host
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # the library raises it again when it has ended
    tell(f"http://{shown}:{listening.getsockname()[1]}{PATH}")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        callers.close()


def application(callers: Callers, tokens: Tokens, names: Collection[str]) -> Doorkeeper:
    """The server with the doorkeeper in front of it, who knows names and origins better than the library does."""

    def who(context: Any) -> Guest:
        token = context.request.scope[TOKEN]
        return Guest(callers.of(token.agent), may_write=token.lets("write"))

    app = build(who).streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=BODY,
        max_sessions=SESSIONS,
        session_idle_timeout=IDLE,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Doorkeeper(app, tokens, names)


def parsed(address: str) -> tuple[str, int]:
    """Host and port of an address; a port alone is on this machine only."""
    host, _, port = address.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise InputError(f"{address[:60]!r} is not an address", hint=HINT)
    return host.strip("[]") or "127.0.0.1", int(port)


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there."""
    try:
        made = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        # Only of a socket that says it is TCP, asyncio sends small answers at once instead of after 40 ms.
        return socket.socket(made.family, made.type, socket.IPPROTO_TCP, fileno=made.detach())
    except OSError as error:
        raise RefusedError(f"nothing can listen at {host}:{port}: {error.strerror or error}", hint=HINT) from error
