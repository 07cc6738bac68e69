"""Waiting for a call that a thread makes: meanwhile its host is told how far it is, and may stop waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

import anyio

EVERY = 0.5
"""Seconds between two reports."""
Report = Callable[[float, float | None, str | None], Awaitable[None]]


class Progress:
    """What a call last said of itself; its thread writes it, the loop reads it."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.words: str | None = None

    def __call__(self, words: str) -> None:
        self.words = words

    async def report(self, report: Report) -> None:
        """Tell every moment how long it has taken, which only ever grows, and what it says."""
        while True:
            await anyio.sleep(EVERY)
            await report(round(time.monotonic() - self._began, 1), None, self.words)


async def waited_for(future: Future[Any], progress: Progress | None = None, report: Report | None = None) -> Any:
    """What a thread returns. Who is cancelled waits no longer; what has begun is finished, the rest never begins."""
    if progress is None or report is None:
        return await asyncio.wrap_future(future)
    async with anyio.create_task_group() as group:
        group.start_soon(progress.report, report)
        try:
            return await asyncio.wrap_future(future)
        finally:
            group.cancel_scope.cancel()
