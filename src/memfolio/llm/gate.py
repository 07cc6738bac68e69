"""What every request to a model passes: it goes to the one address, shows only our key, and is paid for.

The libraries behind the door read keys, headers and addresses from the environment. What they add is taken off here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx2

from memfolio.embed.post import is_loopback
from memfolio.errors import ModelError
from memfolio.llm.provider import Endpoint
from memfolio.text import estimate_tokens

MAX_BYTES = 4 * 1024 * 1024
"""How much of an answer is read."""
PLACEHOLDER = "none"
"""What the libraries get in place of a key: the real one is added here and nowhere else."""

_HEADERS = frozenset("host content-type content-length anthropic-version anthropic-beta connection".split())


def open_client(endpoint: Endpoint, pay: Callable[[int], None]) -> httpx2.AsyncClient:
    """An HTTP client for one endpoint; `pay` is told the tokens of each request, and may refuse it by raising.

    It uses the proxy of the machine, except to the machine itself.
    """
    host = httpx2.URL(endpoint.address).host

    async def leave(request: httpx2.Request) -> None:
        if request.url.host != host:
            raise ModelError(
                f"{request.url.host} is not asked: model.url is {endpoint.address}", hint="check model.url"
            )
        for name in set(request.headers) - _HEADERS:
            del request.headers[name]
        request.headers.update(
            {"accept": "application/json", "accept-encoding": "identity", "user-agent": "memfolio"}
            | endpoint.credentials
        )
        pay(estimate_tokens(request.content.decode("utf-8", "replace")))

    async def enter(response: httpx2.Response) -> None:
        if 300 <= response.status_code < 400:
            raise ModelError(
                f"{endpoint.address} answered {response.status_code}, a redirect, which is not followed",
                hint="put the address that it leads to into model.url",
            )
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ModelError(f"{endpoint.address} answered with packed data", hint="check model.url")
        response.stream = _Capped(response.stream, endpoint.address)

    return httpx2.AsyncClient(
        follow_redirects=False,
        trust_env=not is_loopback(endpoint.address),
        timeout=None,  # one limit for the whole answer is set where it is asked for
        event_hooks={"request": [leave], "response": [enter]},
    )


class _Capped(httpx2.AsyncByteStream):
    """A body of which no more than `MAX_BYTES` are read, whatever the server says its length is."""

    def __init__(self, stream: object, address: str) -> None:
        assert isinstance(stream, httpx2.AsyncByteStream)
        self._stream = stream
        self._address = address

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for block in self._stream:
            size += len(block)
            if size > MAX_BYTES:
                raise ModelError(f"{self._address} answered with more than {MAX_BYTES:,} bytes", hint="check model.url")
            yield block

    async def aclose(self) -> None:
        await self._stream.aclose()
