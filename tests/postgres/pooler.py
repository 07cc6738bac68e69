"""A pooler in transaction mode: many clients, few connections to the server, each lent for one transaction."""

from __future__ import annotations

import os
import select
import shutil
import socket
import struct
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Queue
from urllib.parse import quote

import psycopg

from memfolio.vault.postgres.database import HomeDatabase
from memfolio.vault.postgres.server import OwnServer
from tests.postgres.proxy import NAME

PARAMETERS = ("server_version", "client_encoding", "server_encoding", "DateStyle", "TimeZone", "integer_datetimes")
STARTUP = 196608
IDLE = b"I"


class Stream:
    """One side of a connection, message by message."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock, self._rest = sock, b""

    def messages(self) -> list[bytes] | None:
        """The whole messages that have come; None where the other side has gone."""
        data = self.sock.recv(65536)
        if not data:
            return None
        self._rest += data
        found = []
        while len(self._rest) >= 5 and len(self._rest) > (size := struct.unpack("!I", self._rest[1:5])[0]):
            found.append(self._rest[: size + 1])
            self._rest = self._rest[size + 1 :]
        return found


class Pooler:
    """Takes any user at its word: only tests can reach it."""

    def __init__(self, folder: Path, url: str, size: int) -> None:
        self._url = url
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(folder / NAME))
        self._door.listen()
        self._free: Queue[Stream] = Queue()
        self._opened: list[psycopg.Connection[tuple[object, ...]]] = []
        self.clients = self.lent = 0
        for _ in range(size):
            self._connect()
        threading.Thread(target=self._accept, daemon=True).start()

    def _connect(self) -> None:
        """Have psycopg say who we are, and go on with its socket."""
        self._opened.append(conn := psycopg.connect(self._url, autocommit=True))
        self._free.put(Stream(socket.socket(fileno=os.dup(conn.fileno()))))

    def close(self) -> None:
        self._door.close()
        while not self._free.empty():
            self._free.get().sock.close()
        for conn in self._opened:
            conn.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                self.clients += 1
                threading.Thread(target=self._welcome, args=(client,), daemon=True).start()

    def _welcome(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            size, code = struct.unpack("!II", client.recv(8, socket.MSG_WAITALL))
            while code != STARTUP:  # it asks for encryption first
                client.sendall(b"N")
                size, code = struct.unpack("!II", client.recv(8, socket.MSG_WAITALL))
            client.recv(size - 8, socket.MSG_WAITALL)
            known = self._opened[0].info
            given = [(each, known.parameter_status(each) or "") for each in PARAMETERS]
            said = [_message(b"S", f"{name}\0{value}\0".encode()) for name, value in given]
            client.sendall(_message(b"R", bytes(4)) + b"".join(said) + _message(b"Z", IDLE))
            self._serve(Stream(client))

    def _serve(self, client: Stream) -> None:
        """Lend a connection whenever the client begins to speak, until the server is in no transaction any more."""
        while (first := client.messages()) is not None:
            if any(each[:1] == b"X" for each in first):
                return
            server = self._free.get()
            self.lent += 1
            if self._talk(client, server, first):
                self._free.put(server)
            else:  # the client has gone in the middle of a transaction, which ends with the connection
                server.sock.shutdown(socket.SHUT_RDWR)
                server.sock.close()
                self._connect()
                return

    def _talk(self, client: Stream, server: Stream, said: list[bytes] | None) -> bool:
        waiting = 0
        while said is not None:
            waiting += sum(each[:1] in (b"S", b"Q") for each in said)
            server.sock.sendall(b"".join(said))
            said = []
            if server.sock in (ready := select.select([client.sock, server.sock], [], [])[0]):
                answers = server.messages() or []
                client.sock.sendall(b"".join(answers))
                ends = [each for each in answers if each[:1] == b"Z"]
                waiting -= len(ends)
                if ends and ends[-1][5:] == IDLE and not waiting and client.sock not in ready:
                    return True
            if client.sock in ready:
                said = client.messages()
        return False


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


@contextmanager
def pooled(server: OwnServer, size: int) -> Iterator[tuple[Pooler, str]]:
    """A pooler with so many connections, and its address."""
    folder = Path(tempfile.mkdtemp(prefix="memfolio-pool-"))
    url = server.url.replace(quote(str(server.folder / "socket"), safe=""), quote(str(folder), safe=""))
    pooler = Pooler(folder, server.url, size)
    try:
        yield pooler, url
        HomeDatabase.at(url).drop_idle()
    finally:
        pooler.close()
        shutil.rmtree(folder)
