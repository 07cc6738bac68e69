"""Lines of a host that the SDK cannot read, and leaves without an answer: mended, or answered with an error."""

from __future__ import annotations

import json
import re
from typing import Any

import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

_ID = r'"id"\s*:\s*(?P<id>\d{1,15}|"[^"\\]{1,80}")'
_PLACES = (re.compile(rf'\A\s*\{{(?:(?!"params").){{0,200}}?{_ID}'), re.compile(rf"{_ID}\s*\}}\s*\Z"))
"""Where a request has its id: before its parameters, or as the last that it says."""
UNREADABLE = "this cannot be read; send one JSON-RPC message a line, at most 200 levels deep"


async def hear(read: Any, write: Any, heard: Any) -> None:
    """Hand on what a host says."""
    async with heard:
        async for item in read:
            line = _line(item)
            if line is None:
                await heard.send(item)
            elif message := mended(line):
                await heard.send(SessionMessage(message))
            else:
                await write.send(SessionMessage(refused(line)))


def mended(line: str) -> types.JSONRPCMessage | None:
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


def _line(item: SessionMessage | Exception) -> str | None:
    """The line that is no JSON, or is no message and then stands for nothing; None for a message."""
    if isinstance(item, ValidationError):
        [first, *_] = item.errors(include_url=False)
        return str(first["input"]) if first["type"] == "json_invalid" else ""
    return "" if isinstance(item, Exception) else None
