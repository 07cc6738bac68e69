"""Messages of an MCP host: unreadable lines answered, results marked as data, progress told while a call runs."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import to_json

from memfolio.recall.fence import fenced

# Lines of a host that the SDK cannot read, and leaves without an answer: repaired, or answered with an error.

_ID = r'"id"\s*:\s*(?P<id>\d{1,15}|"[^"\\]{1,80}")'
_PLACES = (re.compile(rf'\A\s*\{{(?:(?!"params").){{0,200}}?{_ID}'), re.compile(rf"{_ID}\s*\}}\s*\Z"))
"""Where a request has its id: before its parameters, or as the last that it says."""
UNREADABLE = "this cannot be read; send one JSON-RPC message a line, at most 200 levels deep"


async def forward(read: Any, write: Any, readable: Any) -> None:
    """Pass the messages of a host on to the SDK, and answer what it would leave without an answer."""
    async with readable:
        async for item in read:
            line = _unreadable(item)
            if line is None:
                await readable.send(item)
            elif message := repaired(line):
                await readable.send(SessionMessage(message))
            else:
                await write.send(SessionMessage(refused(line)))


def repaired(line: str) -> types.JSONRPCMessage | None:
    """The message without halves of characters, which JSON can write and no text can have; None where it is no message.

    Hosts cut texts between the two halves of an emoji.
    """
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
        return types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except (ValueError, RecursionError):
        return None


def refused(line: str) -> types.JSONRPCError:
    """The answer to what cannot be read, under its id where that can be found, so that nobody waits for it."""
    found = next(filter(None, (place.search(line) for place in _PLACES)), None)
    told = types.ErrorData(code=types.PARSE_ERROR, message=UNREADABLE)
    return types.JSONRPCError(jsonrpc="2.0", id=json.loads(found["id"]) if found else None, error=told)


def _unreadable(item: SessionMessage | Exception) -> str | None:
    """The line that is no JSON, or is no message and then stands for nothing; None for a message."""
    if isinstance(item, ValidationError):
        [first, *_] = item.errors(include_url=False)
        return str(first["input"]) if first["type"] == "json_invalid" else ""
    return "" if isinstance(item, Exception) else None


# The text of an answer: JSON between marks that say it is data, with nothing in it that could end them.

_STEERING = re.compile(
    r"[<\[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
    r"(?:(?<!\[)|(?=/?[A-Za-z_]+\]))"  # one set at the beginning is searched for several times faster than branches
)
"""What tags and chat templates begin with, and what nobody sees; in JSON it stands only inside texts."""


def marked(document: dict[str, Any]) -> str:
    """A document as text that an agent can take for nothing else, and that is not learned again when it is captured.

    A program that parses what stands between the marks gets the document as it was.
    """
    return fenced([_STEERING.sub(_escaped, to_json(document, indent=2).decode())])


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


# Waiting for a call that a thread makes: meanwhile its host is told how far it is, and may stop waiting.

EVERY = 0.5
"""Seconds between two reports."""
Report = Callable[[float, float | None, str | None], Awaitable[None]]


class Progress:
    """What a call last said of itself; its thread writes it, the loop reads it."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.words: str | None = None

    def __call__(self, job: str, done: int, total: int) -> None:
        self.words = f"{job}: {done:,} of {total:,}" if total else job

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
