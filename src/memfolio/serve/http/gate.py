"""The gate in front of a server: only for names that it goes by and pages that may ask, and in bounds of its own."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from memfolio.errors import MemfolioError
from memfolio.serve.http.errors import Refusal, answer_to
from memfolio.serve.http.exchange import Cut, Exchange
from memfolio.serve.http.limits import Limits
from memfolio.serve.http.metrics import Metrics

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
ANYWHERE = frozenset({"", "0.0.0.0", "::"})
"""Addresses to listen at that nobody asks for."""
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/?#@\s]+)(?::[0-9]{0,5})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What a server is called, and which pages may ask there beside its own."""

    hosts: Collection[str] = ()
    origins: Collection[str] = ()

    def check(self, headers: Headers) -> None:
        """Raise Refusal for a request that is meant for somebody else, or comes from a page elsewhere."""
        named = [each.lower() for each in headers.getlist("host")]
        if len(named) != 1 or not self._is_ours(named[0]):
            raise Refusal(403, "host", "this server does not go by that name", "start it with --allow-host NAME")
        own = {f"http://{named[0]}", f"https://{named[0]}", *(each.lower().rstrip("/") for each in self.origins)}
        if any(each.lower() not in own for each in headers.getlist("origin")):
            hint = "ask without an Origin, or from a page of this server"
            raise Refusal(403, "origin", "pages of that origin may not ask here", hint)

    def _is_ours(self, host: str) -> bool:
        asked = HOST.fullmatch(host)
        known = (LOOPBACK | {each.lower().strip("[]") for each in self.hosts}) - ANYWHERE
        return asked is not None and asked[1].strip("[]") in known


class Gate:
    """Stands before an application; what is refused on the way in or out is answered here, in the one form."""

    def __init__(self, app: ASGIApp, limits: Limits, names: Names, metrics: Metrics | None = None) -> None:
        self.app, self._limits, self._names = app, limits, names
        self._metrics = metrics or Metrics()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send, self._limits)
        with self._metrics.measured(scope, exchange):
            try:
                self._names.check(Headers(scope=scope))
                await self.app(scope, exchange.receive, exchange.send)
            except Cut as cut:
                await answer_to(cut.refusal)(scope, receive, exchange.send)
            except (Refusal, MemfolioError) as error:
                await answer_to(error)(scope, receive, exchange.send)
