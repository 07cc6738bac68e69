"""A small client of the server, for Python programs that have no memory of their own at hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlsplit

from memfolio.errors import InputError, MemfolioError

Json = dict[str, Any]


class ServerError(MemfolioError):
    """What the server answered in place of what was asked for; `status` is its HTTP code."""

    def __init__(self, status: int, code: str, message: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.status, self.code = status, code


class Client:
    """The verbs of a memory over HTTP: each takes what the Python verb takes, by name, and returns plain values.

    A call is one connection, follows no redirect and is never repeated. What the policy wants approved comes back
    as `{"proposed": …}`.
    """

    def __init__(self, address: str, token: str, *, timeout: float = 60) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"{address[:80]!r} is no address", hint="pass one such as http://127.0.0.1:8765")
        self._connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port, self._timeout = parts.hostname, parts.port, timeout
        self._base = parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        """A verb by its name, such as `client.recall(query="tea")`; what is given is named."""
        if verb.startswith("_"):
            raise AttributeError(verb)
        return lambda **given: self.ask("POST", f"/v1/{verb.replace('_', '-')}", given)

    def tool(self, name: str, **arguments: Any) -> Any:
        """What a tool answers."""
        return self.ask("POST", f"/v1/tools/{quote(name, safe='')}", arguments)

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """One request and its answer; raises ServerError where that is an error."""
        connection = self._connect(self._host, self._port, timeout=self._timeout)
        try:
            answer: Json = json.loads(self._asked(connection, method, path, body).read())
        except (OSError, HTTPException, ValueError) as error:
            hint = "`memfolio serve` starts it"
            raise ServerError(0, "unreachable", f"the server does not answer: {error}", hint) from error
        finally:
            connection.close()
        return answer.get("result", answer)

    def events(self) -> Iterator[Json]:
        """Changes as they come, until the server ends or the token is revoked."""
        connection = self._connect(self._host, self._port, timeout=self._timeout)
        try:
            for line in self._asked(connection, "GET", "/v1/events", None):
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        finally:
            connection.close()

    def _asked(
        self, connection: HTTPConnection, method: str, path: str, body: Mapping[str, Any] | None
    ) -> HTTPResponse:
        data = None if body is None else json.dumps(body, default=_plain).encode()
        connection.request(method, self._base + path, data, self._headers)
        answer = connection.getresponse()
        if answer.status < 300:
            return answer
        error = json.loads(answer.read())["error"]
        raise ServerError(answer.status, error["code"], error["message"], error["hint"])


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else list(value)
