"""Transcripts as hosts keep them: the end of the file, turned into turns that `flush` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memfolio.serve.hooks.event import without_told
from memfolio.vault.disk import Disk

MOST_BYTES = 4 << 20
"""How much of the end of a transcript is read."""
MOST_TURNS = 400
_MADE_UP = ("<environment_context", "<user_instructions", "<permissions", "# AGENTS.md instructions")
"""How texts begin that a host says in the user's name."""


def turns_of(path: str) -> list[dict[str, object]]:
    """The last turns of a transcript; none where there is no such file, or nothing in it that we know."""
    try:
        data = _tail(Path(path).expanduser())
    except (OSError, ValueError, RuntimeError):
        return []
    return [turn for record in _records(data) if (turn := _turn(record))][-MOST_TURNS:]


def _tail(path: Path) -> bytes:
    """The end of a file, from the beginning of a line on."""
    disk = Disk()
    stamp = disk.stamp(path)
    start = max(0, stamp.size - MOST_BYTES) if stamp else 0
    data = (disk.read(path, start) or b"")[:MOST_BYTES]
    return data.partition(b"\n")[2] if start else data


def _records(data: bytes) -> Iterator[dict[str, Any]]:
    """The records of JSON lines, or of one document that has them as its messages."""
    text = data.decode("utf-8-sig", "replace")
    whole = _parsed(text)
    if whole is not None and isinstance(whole.get("messages"), list):
        yield from (each for each in whole["messages"] if isinstance(each, dict))
    else:
        yield from filter(None, map(_parsed, text.split("\n")))


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _turn(record: dict[str, Any]) -> dict[str, object] | None:
    """Who said what in a record; None for what nobody said: calls of tools, thoughts, sub-agents, notes."""
    inner = record.get("payload", record.get("message", record))
    if not isinstance(inner, dict) or record.get("isMeta") or record.get("isSidechain"):
        return None
    role, words = inner.get("role") or record.get("role") or record.get("type"), _words(inner.get("content"))
    if role not in ("user", "assistant", "gemini", "model") or not words or words.startswith(_MADE_UP):
        return None
    return {"role": "user" if role == "user" else "assistant", "content": words, "timestamp": record.get("timestamp")}


def _words(content: object) -> str:
    blocks = [{"text": content}] if isinstance(content, str) else content if isinstance(content, list) else []
    texts = [each.get("text") for each in blocks if isinstance(each, dict) and "think" not in str(each.get("type"))]
    return without_told("\n".join(text for text in texts if isinstance(text, str))).strip()
