"""What the server counts, as Prometheus reads it."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memfolio.serve.http.exchange import Exchange

NAME = "memfolio_http"
METHODS = ("GET", "POST", "HEAD")


class Metrics:
    """Requests by route, method and status, and how long they took; used by the event loop alone."""

    def __init__(self, **gauges: Callable[[], int]) -> None:
        self.in_flight = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._gauges = {"in_flight": lambda: self.in_flight, **gauges}

    @contextmanager
    def measured(self, scope: MutableMapping[str, Any], answer: Exchange) -> Iterator[None]:
        """Count what happens inside as one request."""
        began = time.perf_counter()
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            # What is unknown goes by one name: strangers must not make up labels.
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._requests[route, method, answer.status or 500] += 1
            self._seconds[route] += time.perf_counter() - began

    def text(self) -> str:
        """All of it in the text format 0.0.4."""
        return "\n".join([*self._lines(), ""])

    def _lines(self) -> Iterator[str]:
        for name, value in self._gauges.items():
            yield f"# TYPE {NAME}_{name} gauge\n{NAME}_{name} {value()}"
        yield f"# TYPE {NAME}_requests_total counter"
        for (route, method, status), count in sorted(self._requests.items()):
            yield f'{NAME}_requests_total{{route="{route}",method="{method}",status="{status}"}} {count}'
        yield f"# TYPE {NAME}_request_seconds summary"
        for route, seconds in sorted(self._seconds.items()):
            count = sum(count for (each, _, _), count in self._requests.items() if each == route)
            yield f'{NAME}_request_seconds_sum{{route="{route}"}} {seconds:.6f}'
            yield f'{NAME}_request_seconds_count{{route="{route}"}} {count}'
