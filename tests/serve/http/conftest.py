"""A server of its own for each module, over a home with a few memories and a token for every case."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import SO_SNDBUF, SOL_SOCKET, socket

import pytest

from memfolio.config import load_config
from memfolio.memory import Memory
from memfolio.serve.client import Client
from memfolio.serve.http.app import Hall, build
from memfolio.serve.http.gate import ServerNames
from memfolio.serve.http.server import Limits, Server, listen, server_of
from memfolio.serve.tokens import Tokens

QUICK = Limits(head_seconds=0.6, body_seconds=0.6, linger_seconds=0.2, send_seconds=2)
"""Limits of a server that gives slow clients little time."""


@dataclass(kw_only=True)
class Served:
    """A running server."""

    home: Path
    port: int
    secrets: dict[str, str]
    server: Server
    hall: Hall
    ids: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, name: str = "write") -> Client:
        return Client(self.address, self.secrets[name])


def furnished(home: Path) -> tuple[dict[str, str], list[str]]:
    """Tokens by what they are, and the ids of a few memories."""
    with Memory.open(home, background=False, speaker="owner") as memory:
        ids = [memory.remember(text).id for text in ("Alex prefers tea", "The launch is on Friday")]
        tokens, now = Tokens(memory.vault.home), memory.vault.home.now()
        secrets = {scope: tokens.create(scope, "main", scope, now=now)[1] for scope in ("read", "write", "admin")}
        secrets["other"] = tokens.create("other", "other", "admin", now=now)[1]
        revoked, secrets["revoked"] = tokens.create("old", "main", "admin", now=now)
        tokens.revoke(revoked.id, now=now)
    return secrets, ids


@contextmanager
def serving(
    home: Path,
    limits: Limits = QUICK,
    settings: str = "",
    sending: int = 0,
    now: Callable[[], float] = time.monotonic,
) -> Iterator[Served]:
    """A server; `sending` is how much the system keeps for a client that does not read."""
    secrets, ids = furnished(home)
    if settings:
        (home / "memfolio.toml").write_text(settings, encoding="utf-8")
    app = build(load_config(home), limits, ServerNames(), now)
    hall, server = app.state.hall, server_of(app, limits, app.state.hall.end_streams)
    with listen("127.0.0.1", 0) as door:
        if sending:
            door.setsockopt(SOL_SOCKET, SO_SNDBUF, sending)
        with in_thread(server, door):
            port = door.getsockname()[1]
            yield Served(home=home, port=port, secrets=secrets, server=server, hall=hall, ids=ids)


@contextmanager
def in_thread(server: Server, door: socket) -> Iterator[None]:
    """A server that runs as long as this lasts."""
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    until(lambda: server.started)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def until(is_so: Callable[[], object], seconds: float = 10) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    folder = Path(tempfile.mkdtemp(prefix="memfolio-"))
    before = os.environ.get("MEMFOLIO_CACHE")
    os.environ["MEMFOLIO_CACHE"] = str(folder / "cache")
    try:
        with serving(folder / "home") as served:
            yield served
    finally:
        os.environ.pop("MEMFOLIO_CACHE")
        if before is not None:
            os.environ["MEMFOLIO_CACHE"] = before
        shutil.rmtree(folder, ignore_errors=True)
