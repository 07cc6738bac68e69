"""One question to a JSON server: bounded in time and size, without redirects, and never repeating a secret."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar

from memfolio.errors import EmbedderError
from memfolio.text import printable
from memfolio.types import frozen

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from urllib.error import HTTPError
    from urllib.request import OpenerDirector

T = TypeVar("T")
LOOPBACK = ("localhost", "127.0.0.1", "::1")

_BLOCK = 65_536
_MAX_REASON = 200
_REFUSALS = (400, 413, 422)


def in_time(act: Callable[[], T], seconds: float, late: Callable[[], Exception]) -> T:
    """What `act` returns or raises, if it does so in time.

    A thread of its own, which keeps nobody from ending the process: neither the look-up of a name nor a server that
    sends a letter now and then can be given a time limit in another way.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(act())
        except BaseException as error:  # noqa: BLE001 - whatever ends this thread, who waits for it has to hear of it
            outcome.set_exception(error)

    threading.Thread(target=run, name="memfolio-ask", daemon=True).start()
    try:
        return outcome.result(timeout=seconds)
    except TimeoutError as error:
        raise late() from error


class ServerSilentError(EmbedderError):
    """The server cannot be reached or takes too long; it will do so again in a moment."""


class ServerBusyError(EmbedderError):
    """The server asks to come back later: 429 or 5xx. `after` is how many seconds it wants; 0 where it does not say."""

    def __init__(self, message: str, *, hint: str = "", after: float = 0.0) -> None:
        super().__init__(message, hint=hint)
        self.after = after


class ServerRefusedError(EmbedderError):
    """The server does not accept what it was sent: 400, 413 or 422. One text that is too long is enough for that."""


@frozen
class JsonServer:
    """Where to ask, what to show as a key, and how long and how much to listen."""

    url: str
    key: str = field(repr=False)
    credentials: Mapping[str, str] = field(repr=False)
    """The headers that show the key."""
    timeout: float
    max_bytes: int

    def post(self, question: dict[str, Any]) -> Any:
        """The server's answer to a question, both JSON; every failure is an EmbedderError."""
        return self._parse(in_time(lambda: self._ask(json.dumps(question).encode()), self.timeout, self._slow))

    def _ask(self, body: bytes) -> bytes:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "memfolio"}
        try:
            request = Request(self.url, data=body, headers={**headers, **self.credentials}, method="POST")
            with _opener(request.host).open(request, timeout=self.timeout) as response:
                return self._read(response)
        except HTTPError as error:
            with error:
                raise self._refused(error) from error
        except (HTTPException, OSError, ValueError, TypeError) as error:
            raise self._silent(error) from error

    def _read(self, response: HTTPResponse) -> bytes:
        """The body, up to the limit and not beyond the time, whatever the server says its length is."""
        until = time.monotonic() + self.timeout
        body = bytearray()
        while block := response.read1(_BLOCK):
            body += block
            if len(body) > self.max_bytes:
                raise EmbedderError(
                    f"{self.url} answered with more than {self.max_bytes:,} bytes", hint="check embedding.url"
                )
            if time.monotonic() > until:
                raise self._slow()
        if response.length:
            raise ConnectionError("the answer breaks off")
        return bytes(body)

    def _parse(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            hint = "check embedding.url: it should end where /embeddings is added, often in /v1"
            raise EmbedderError(f"{self.url} did not answer with JSON", hint=hint) from error

    def _slow(self) -> EmbedderError:
        message = f"{self.url} did not answer within {self.timeout:g} seconds"
        return ServerSilentError(message, hint="see how the server is doing, or raise embedding.timeout")

    def _silent(self, error: Exception) -> EmbedderError:
        reason = getattr(error, "reason", None)
        if isinstance(error, TimeoutError) or isinstance(reason, TimeoutError):
            return self._slow()
        # A value that cannot be sent is named in the error, and may be the key.
        why = type(error).__name__ if isinstance(error, ValueError) else self._cleaned(str(reason or error))
        return ServerSilentError(
            f"{self.url} cannot be reached: {why}", hint="start the server, or check embedding.url"
        )

    def _refused(self, error: HTTPError) -> EmbedderError:
        status = error.code
        if 300 <= status < 400:
            return EmbedderError(
                f"{self.url} answered {status}, a redirect, which is not followed",
                hint="put the address that it leads to into embedding.url",
            )
        if status in (401, 403):
            return EmbedderError(
                f"{self.url} answered {status}: the key is missing or not accepted",
                hint="set MEMFOLIO_EMBEDDING_KEY in the environment",
            )
        message = f"{self.url} answered {status}{self._reason(error)}"
        if status == 429 or status >= 500:
            after = _seconds(error.headers.get("Retry-After", ""))
            return ServerBusyError(message, hint="try again later", after=after)
        kind = ServerRefusedError if status in _REFUSALS else EmbedderError
        return kind(message, hint="check embedding.url, embedding.model and the key")

    def _reason(self, error: HTTPError) -> str:
        """What the server says is wrong, if that can be made out."""
        from http.client import HTTPException

        try:
            answer = json.loads(error.read(_BLOCK))
        except (HTTPException, OSError, ValueError, RecursionError):
            return ""
        inner = answer.get("error", answer.get("detail")) if isinstance(answer, dict) else None
        text = inner.get("message") if isinstance(inner, dict) else inner
        return f": {self._cleaned(text)}" if isinstance(text, str) else ""

    def _cleaned(self, text: str) -> str:
        """Words of others for a message: one short line, without the key."""
        plain = text.replace(self.key, "…") if self.key else text
        return printable(plain)[:_MAX_REASON]


def _seconds(text: str) -> float:
    """What Retry-After says; 0 where it says nothing, or names a date."""
    return float(text) if text.isascii() and text.isdecimal() else 0.0


def key_trouble(door: str, address: str, variable: str, *, is_missing: bool, is_kept: bool) -> tuple[str, str] | None:
    """Why a server cannot be asked for want of a key, and what to do; `is_kept` where the address may not have it."""
    if is_missing:
        message = f"{address} needs a key, and {variable} is not set"
        return message, f"set {variable} or MEMFOLIO_{door}_KEY in the environment"
    if is_kept:
        message = f"the key is not sent to {address}, an address that only the home names"
        return message, f"set MEMFOLIO_{door}_URL to it in the environment as well, if the key is meant for it"
    return None


def may_have_key(url: str, of_provider: str, *, is_own: bool) -> bool:
    """Whether the address is the provider's, the user's or this machine's: a home may be somebody else's."""
    return is_own or url.rstrip("/") == of_provider or is_loopback(url)


def is_loopback(url: str) -> bool:
    """Whether an address is one of the machine itself."""
    from urllib.parse import urlsplit

    try:
        return urlsplit(url).hostname in LOOPBACK
    except ValueError:
        return False


def _opener(host: str) -> OpenerDirector:
    """What opens a connection: through the machine's proxy, except to the machine itself."""
    from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    if is_loopback(f"//{host}"):
        return build_opener(Stay, ProxyHandler({}))
    return build_opener(Stay)
