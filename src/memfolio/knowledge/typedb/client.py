"""A TypeDB 3 server over its HTTP API: bounded in time and size, without redirects, and never repeating a secret."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from memfolio.errors import MirrorError

if TYPE_CHECKING:
    from memfolio.settings import Mirroring

MOST_BYTES = 16 << 20
"""How long an answer may be."""
_MOST_SAID = 300
_UNAUTHORIZED, _FORBIDDEN = 401, 403
Answer = dict[str, Any]


class TypeDBClient:
    """Asks one server about one database. It signs in when the server wants it, and again when its token is old."""

    def __init__(self, settings: Mirroring) -> None:
        self._settings = settings
        self._url = settings.url
        self._token = ""
        self._socket: socket.socket | None = None
        self._is_closed = False

    def version(self) -> str:
        """What the server is, which it says without a sign-in."""
        said = self._checked(*self._ask("GET", "/v1/version"))
        return f"{said.get('distribution', 'TypeDB')} {said.get('version', '')}".strip()

    def databases(self) -> list[str]:
        """The databases on the server."""
        found = self._call("GET", "/v1/databases").get("databases")
        if not isinstance(found, list):
            raise self._strange("no list of databases")
        return [str(each.get("name", "")) for each in found if isinstance(each, dict)]

    def make_database(self) -> bool:
        """Make the database unless it is there; whether it was made."""
        if self._settings.database in self.databases():
            return False
        self._call("POST", f"/v1/databases/{quote(self._settings.database)}")
        return True

    def ask(self, query: str, *, most: int = 1, kind: str = "read") -> list[Any]:
        """The rows or documents that a query finds, at most so many; `kind` is read, write or schema."""
        asked = {"query": query, "commit": kind != "read", "queryOptions": {"answerCountLimit": most}}
        found = self._call("POST", "/v1/query", self._transaction(kind) | asked).get("answers")
        return found if isinstance(found, list) else []

    def write(self, queries: Iterable[str]) -> None:
        """Run queries in one write transaction: all of them count, or none."""
        opened = self._call("POST", "/v1/transactions/open", self._transaction("write"))
        path = f"/v1/transactions/{quote(str(opened.get('transactionId', '')), safe='')}"
        try:
            for query in queries:
                self._call("POST", f"{path}/query", {"query": query, "queryOptions": {"answerCountLimit": 1}})
            self._call("POST", f"{path}/commit")
        except MirrorError:
            with suppress(MirrorError):  # the server closes it by itself after a while
                self._call("POST", f"{path}/close")
            raise

    def close(self) -> None:
        """Break off a request that is under way, and make no other."""
        self._is_closed = True
        _end(self._socket)

    def _transaction(self, kind: str) -> Answer:
        return {"databaseName": self._settings.database, "transactionType": kind}

    def _call(self, method: str, path: str, body: Answer | None = None) -> Answer:
        """The answer to a request that needs a token; an old token is replaced once."""
        if self._token:
            status, answer = self._ask(method, path, body)
            if status != _UNAUTHORIZED:
                return self._checked(status, answer)
        self._sign_in()
        return self._checked(*self._ask(method, path, body))

    def _sign_in(self) -> None:
        self._token = ""
        who = {"username": self._settings.username, "password": self._settings.password}
        if self._url and not all(who.values()):
            hint = "set typedb.username, and MEMFOLIO_TYPEDB_PASSWORD in the environment"
            raise MirrorError(f"{self._url} wants a user name and a password", hint=hint)
        token = self._checked(*self._ask("POST", "/v1/signin", who)).get("token")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise self._strange("no token")
        self._token = token

    def _ask(self, method: str, path: str, body: Answer | None = None) -> tuple[int, Any]:
        """The status and the document that a request is answered with; None where that is no JSON."""
        from http.client import HTTPException

        if not self._url or self._is_closed:
            message = "the mirror is closed" if self._is_closed else "there is no TypeDB server"
            raise MirrorError(message, hint="set typedb.url in memfolio.toml")
        sent = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        started = time.monotonic()
        try:
            status, content = self._exchange(method, path, sent)
        except (OSError, HTTPException, ValueError) as error:
            if isinstance(error, TimeoutError) or time.monotonic() - started >= self._settings.timeout:
                message = f"{self._url} did not answer within {self._settings.timeout:g} seconds"
                raise MirrorError(message, hint="see how the server is doing, or raise typedb.timeout") from error
            why = self._cleaned(str(error)) or type(error).__name__
            raise MirrorError(f"{self._url} cannot be reached: {why}", hint="start it, or check typedb.url") from error
        try:
            return status, json.loads(content, parse_constant=str) if content.strip() else {}
        except (ValueError, RecursionError):
            return status, None

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        from http.client import HTTPConnection, HTTPSConnection

        headers = {"Content-Type": "application/json", "User-Agent": "memfolio", "Connection": "close"}
        headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        place = urlsplit(self._url)
        if not place.hostname:
            raise ValueError("the address names no host")  # which http.client would take for this machine
        scheme = HTTPSConnection if place.scheme == "https" else HTTPConnection
        with closing(scheme(place.netloc, timeout=self._settings.timeout)) as connection:
            connection.connect()
            self._socket = connection.sock
            # A server that sends a letter now and then never lets a single wait grow long.
            timer = threading.Timer(self._settings.timeout, _end, (connection.sock,))
            timer.daemon = True
            timer.start()
            try:
                connection.request(method, place.path.rstrip("/") + path, body, headers)
                with connection.getresponse() as response:
                    content = response.read(MOST_BYTES + 1)
            finally:
                timer.cancel()
        if len(content) > MOST_BYTES:
            hint = "ask for less: add `limit 100;` to the query"
            raise MirrorError(f"{self._url} answered with more than {MOST_BYTES:,} bytes", hint=hint)
        if response.length:
            raise ConnectionError("the answer breaks off")
        return response.status, content

    def _checked(self, status: int, answer: Any) -> Answer:
        """An answer that is one; MirrorError where the server redirects, refuses, or says something else."""
        if 300 <= status < 400:
            message = f"{self._url} answered {status}, a redirect, which is not followed"
            raise MirrorError(message, hint="put the address that it leads to into typedb.url")
        fields: Answer | None = answer if isinstance(answer, dict) else None
        if status >= 400:
            said = self._cleaned(
                ": ".join(str(fields[name]) for name in ("code", "message") if fields and name in fields)
            )
            is_locked = status in (_UNAUTHORIZED, _FORBIDDEN)
            hint = "check typedb.username and the password" if is_locked else "see the server's log"
            raise MirrorError(f"{self._url} answered {status}{said and ': '}{said}", hint=hint)
        if fields is None:
            raise self._strange("no JSON object")
        return fields

    def _strange(self, what: str) -> MirrorError:
        hint = "check that typedb.url is the address of its HTTP API, by default on port 8000"
        return MirrorError(f"{self._url} did not answer as TypeDB 3 does: {what}", hint=hint)

    def _cleaned(self, said: str) -> str:
        """Words of others for a message: one short line, without secrets."""
        for secret in filter(None, (self._settings.password, self._token)):
            said = said.replace(secret, "…")
        return " ".join("".join(c if c.isprintable() else " " for c in said).split())[:_MOST_SAID]


def _end(sock: socket.socket | None) -> None:
    if sock is not None:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
