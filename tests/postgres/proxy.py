"""A way to a PostgreSQL server that fails when it is told to."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self
from urllib.parse import quote

from memfolio.vault.postgres.database import HomeDatabase
from memfolio.vault.postgres.server import OwnServer

NAME = ".s.PGSQL.5432"
STORED = b"Z\x00\x00\x00\x05I"
"""The server says that it is ready, and in no transaction: what was stored is committed."""


class Proxy:
    """Passes on what both sides say; once armed, it ends the next connection that stores a change, as it does so."""

    def __init__(self, folder: Path, target: Path) -> None:
        self._target = str(target / NAME)
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(folder / NAME))
        self._door.listen()
        self._armed = ""
        self.dropped = 0
        self.requests = 0

    def arm(self, moment: str) -> None:
        """`before` the server hears of it, or `after` it has answered, which nobody hears."""
        self._armed = moment

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._door.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                threading.Thread(target=self._talk, args=(client, server), daemon=True).start()

    def _talk(self, client: socket.socket, server: socket.socket) -> None:
        muted = threading.Event()
        back = threading.Thread(target=self._answer, args=(client, server, muted), daemon=True)
        back.start()
        with suppress(OSError), client, server:
            while data := client.recv(65536):
                self.requests += 1
                if self._armed and b"memfolio.store(" in data:
                    moment, self._armed = self._armed, ""
                    self.dropped += 1
                    if moment == "after":
                        muted.set()
                        server.sendall(data)
                        self._await_answer(client, server, back)
                    client.shutdown(socket.SHUT_RDWR)
                    server.shutdown(socket.SHUT_RDWR)
                    return
                server.sendall(data)

    def _await_answer(self, client: socket.socket, server: socket.socket, back: threading.Thread) -> None:
        """Pass on what is left of the request, until the server has answered it."""
        client.settimeout(0.02)
        for _ in range(250):
            if not back.is_alive():
                return
            with suppress(TimeoutError):
                server.sendall(client.recv(65536))

    def _answer(self, client: socket.socket, server: socket.socket, muted: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if muted.is_set():
                    if STORED in data:
                        return
                    continue
                client.sendall(data)


@contextmanager
def by_proxy(server: OwnServer) -> Iterator[tuple[Proxy, str]]:
    """A way to a server that may fail, and its address."""
    folder = Path(tempfile.mkdtemp(prefix="memfolio-proxy-"))
    socket_folder = server.folder / "socket"
    url = server.url.replace(quote(str(socket_folder), safe=""), quote(str(folder), safe=""))
    try:
        with Proxy(folder, socket_folder) as proxy:
            yield proxy, url
            HomeDatabase.at(url).drop_idle()
    finally:
        shutil.rmtree(folder)
