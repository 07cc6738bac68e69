"""A small client of the server, for Python programs that have no memory of their own at hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlsplit

from memfolio.errors import InputError, MemfolioError

Json = dict[str, Any]
NOTHING: Mapping[str, str] = {}


class ServerError(MemfolioError):
    """What the server answered in place of what was asked for; `status` is its HTTP code."""

    def __init__(self, status: int, code: str, message: str, hint: str, **_: str) -> None:
        super().__init__(message, hint=hint)
        self.status, self.code = status, code


class Client:
    """The verbs of a memory over HTTP: each takes what the Python verb takes, by name, and returns plain values.

    A call is one connection, follows no redirect and is never repeated. What the policy wants approved comes back
    as `{"proposed": …}`.
    """

    def __init__(self, address: str, token: str, *, timeout: float = 60) -> None:
        parts = urlsplit(address)
        try:
            self._host, self._port = parts.hostname, parts.port
        except ValueError:
            self._host = None
        if parts.scheme not in ("http", "https") or not self._host:
            raise InputError(f"{address[:80]!r} is no address", hint="pass one such as http://127.0.0.1:8765")
        self._connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._base, self._timeout = parts.path.rstrip("/"), timeout
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        """A verb by its name, such as `client.recall(query="tea")`; what is given is named."""
        if verb.startswith("_"):
            raise AttributeError(verb)
        return lambda **given: self.ask("POST", f"/v1/{verb.replace('_', '-')}", given)

    def tool(self, name: str, /, **arguments: Any) -> Any:
        """What a tool answers."""
        return self.ask("POST", f"/v1/tools/{quote(name, safe='')}", arguments)

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """One request and its answer; raises ServerError where that is an error."""
        with self._asked(method, path, body) as answer:
            document: Json = json.loads(answer.read())
        # What was only proposed has no result.
        return document.get("result", document)

    def events(self, after: int | None = None) -> Generator[Json, None, None]:
        """Changes as they come, until the server ends or the token is revoked; first those after a `seq`.

        Where those are too many, `{"after": …, "until": …}` stands for them.
        """
        last = {} if after is None else {"Last-Event-ID": str(after)}
        with self._asked("GET", "/v1/events", headers=last) as answer:
            for line in answer:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])

    @contextmanager
    def _asked(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] = NOTHING
    ) -> Iterator[HTTPResponse]:
        data = None if body is None else json.dumps(body, default=_plain).encode()
        connection = self._connect(self._host or "", self._port, timeout=self._timeout)
        try:
            connection.request(method, self._base + path, data, {**self._headers, **headers})
            answer = connection.getresponse()
            # A redirect is an error too: a token must not be sent to another address.
            if answer.status >= 300:
                raise ServerError(answer.status, **json.loads(answer.read())["error"])
            yield answer
        except (OSError, HTTPException, ValueError, TypeError, LookupError) as error:
            hint = "`memfolio serve` starts it"
            raise ServerError(0, "unreachable", f"the server does not answer: {error}", hint) from error
        finally:
            connection.close()


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else list(value)
