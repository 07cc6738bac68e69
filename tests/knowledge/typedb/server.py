"""A server on this machine that speaks TypeDB 3's documented HTTP API, and fails in every way when it is told to."""

from __future__ import annotations

import copy
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.knowledge.typedb.typeql import BadQueryError, Database

USER, PASSWORD = "keeper", "pässwörd-77"
TRANSACTION = re.compile(r"/v1/transactions/([\w-]+)/(query|commit|close|rollback)")
ALLOWED = {"query", "commit", "databaseName", "transactionType", "transactionOptions", "queryOptions"}
MOST_SENT = 2 << 20
Before = Callable[["Handler"], bool]


class TypeDBServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.databases: dict[str, Database] = {}
        self.transactions: dict[str, tuple[str, str, Database]] = {}
        self.tokens: set[str] = set()
        self.signs = 0
        self.paths: list[str] = []
        self.before: Before = lambda _: False
        """Answers in place of the server where it returns True."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def things(self, database: str = "memfolio") -> list[Any]:
        """What a database holds, in an order of its own, without the numbers of things."""
        held = self.databases[database].things if database in self.databases else []
        return sorted(
            (each["type"], sorted(map(str, each["has"])), sorted((role, uid(p)) for role, p in each["plays"]))
            for each in held
        )


def uid(thing: dict[str, Any]) -> str:
    return next(str(value) for name, value in thing["has"] if name == "uid")


class Handler(BaseHTTPRequestHandler):
    server: TypeDBServer

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.paths.append(f"{self.command} {self.path}")
        with suppress(ConnectionError):
            if self.server.before(self):
                return
            if len(content) > MOST_SENT:
                self.send_json(400, {"code": "HSR2", "message": "Failed to buffer the request body"})
                return
            self.answer(json.loads(content) if content else {})

    def answer(self, body: dict[str, Any]) -> None:
        if self.path == "/v1/version":
            self.send_json(200, {"distribution": "TypeDB", "version": "3.2.0"})
        elif self.path == "/v1/signin":
            self.sign_in(body)
        elif (self.headers["Authorization"] or "").removeprefix("Bearer ") not in self.server.tokens:
            self.send_json(401, {"code": "AUT2", "message": "Invalid token supplied."})
        else:
            self.serve(body)

    def sign_in(self, body: dict[str, Any]) -> None:
        if (body.get("username"), body.get("password")) != (USER, PASSWORD):
            self.send_json(401, {"code": "AUT1", "message": f"Invalid credential {body.get('password')} supplied."})
            return
        self.server.signs += 1
        token = f"token-{self.server.signs}"
        self.server.tokens.add(token)
        self.send_json(200, {"token": token})

    def serve(self, body: dict[str, Any]) -> None:
        try:
            if unknown := set(body) - ALLOWED:
                raise BadQueryError(f"unknown field {unknown}")
            if self.path.startswith("/v1/databases"):
                self.about_databases(self.path.removeprefix("/v1/databases").strip("/"))
            elif self.path == "/v1/transactions/open":
                name = f"t-{len(self.server.transactions)}"
                known = self.server.databases[body["databaseName"]]
                held = body["databaseName"], body["transactionType"], copy.deepcopy(known)
                self.server.transactions[name] = held
                self.send_json(200, {"transactionId": name})
            elif found := TRANSACTION.fullmatch(self.path):
                self.in_transaction(found[1], found[2], body)
            elif self.path == "/v1/query":
                name, kind = body["databaseName"], body["transactionType"]
                work = copy.deepcopy(self.server.databases[name])
                answer = work.run(body["query"], kind)
                if body.get("commit", True) and kind != "read":
                    self.server.databases[name] = work
                self.send_answer(answer, body)
            else:
                self.send_json(404, {"code": "HSR1", "message": "no such path"})
        except BadQueryError as error:
            self.send_json(400, {"code": "TSV8", "message": str(error)})
        except KeyError as error:
            self.send_json(404, {"code": "SRV1", "message": f"{error} not found"})

    def about_databases(self, name: str) -> None:
        if self.command == "POST":
            if name in self.server.databases:
                raise BadQueryError(f"the database {name} is there already")
            self.server.databases[name] = Database()
            self.send_bytes(200, b"")
        else:
            self.send_json(200, {"databases": [{"name": each} for each in self.server.databases]})

    def in_transaction(self, id: str, verb: str, body: dict[str, Any]) -> None:
        name, kind, work = self.server.transactions[id]
        if verb == "query":
            self.send_answer(work.run(body["query"], kind), body)
            return
        if verb == "commit":
            self.server.databases[name] = work
        del self.server.transactions[id]
        self.send_bytes(200, b"")

    def send_answer(self, answer: dict[str, Any], body: dict[str, Any]) -> None:
        most, found = body.get("queryOptions", {}).get("answerCountLimit", 10_000), answer["answers"]
        is_cut = found is not None and len(found) > most
        self.send_json(206 if is_cut else 200, answer | {"answers": found[:most] if is_cut else found})

    def send_json(self, status: int, document: Any) -> bool:
        return self.send_bytes(status, json.dumps(document).encode())

    def send_bytes(self, status: int, body: bytes, **headers: str) -> bool:
        """Send an answer; True, so that it can be all of `before`."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", headers.get("Length", str(len(body))))
        self.end_headers()
        self.wfile.write(body)
        return True

    def drip(self, data: bytes, pause: float) -> bool:
        """Send a letter now and then, so that no single wait is long."""
        for byte in data:
            self.wfile.write(bytes([byte]))
            time.sleep(pause)
        return True

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


def configure(server: TypeDBServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a server into the configuration, and a proxy that nobody may ask into the environment."""
    values = {"URL": server.url, "USERNAME": USER, "PASSWORD": PASSWORD, "TIMEOUT": "5"}
    for name, value in values.items():
        monkeypatch.setenv(f"MEMFOLIO_TYPEDB_{name}", value)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)


@contextmanager
def serving(server: TypeDBServer | None = None) -> Iterator[TypeDBServer]:
    """A server that runs for a while."""
    server = server or TypeDBServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
