"""Conversations with Claude, as `Settings > Privacy > Export data` gives them: a zip, or what is in it.

What tools answered and what files say are turns of `tool`, since nobody in the conversation said it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from memfolio.exchange.incoming import Flaw, Incoming, Note
from memfolio.exchange.sources.json_source import JsonSource, listed, moment_in, text_in, token_in

ROLES = {"human": "user"}


class Claude(JsonSource):
    """Conversations with Claude."""

    name = "claude"
    files = r"conversations(-\d+)?\.json"
    mark = r'"chat_messages"\s*:\s*\['
    inside = ("conversations",)

    def incoming(self, record: Mapping[str, Any], otherwise: str) -> Iterator[Incoming]:
        named, title = record.get("uuid"), text_in(record.get("name"))
        for number, message in enumerate(listed(record, "chat_messages"), 1):
            if not isinstance(message, Mapping):
                yield Flaw(ref=f"{named or otherwise}/{number}", why="it is no message")
                continue
            turn = Note(
                ref=f"{named or otherwise}/{message.get('uuid') or number}",
                content=_said(message),
                at=moment_in(message.get("created_at")) or moment_in(record.get("created_at")),
                role=ROLES.get(str(message.get("sender")), token_in(message.get("sender")) or "user"),
                session=token_in(named),
                fields={"attributes": {"title": title}} if title else {},
            )
            if turn.content:
                yield turn
            for nth, (author, content) in enumerate(_brought(message), 1):
                yield replace(turn, ref=f"{turn.ref}#{nth}", content=content, role="tool", author=author or None)


def _said(message: Mapping[str, Any]) -> str:
    """The words of a message; what the model thought is left out."""
    blocks = [each for each in listed(message, "content") if isinstance(each, Mapping)]
    return _joined(each for each in blocks if each.get("type") == "text") if blocks else text_in(message.get("text"))


def _brought(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What tools answered and what attached files say, each with its name."""
    for block in listed(message, "content"):
        content = (
            text_in(block.get("content")) or _joined(listed(block, "content")) if isinstance(block, Mapping) else ""
        )
        if content and block.get("type") == "tool_result":
            yield text_in(block.get("name")), content
    for file in listed(message, "attachments"):
        if isinstance(file, Mapping) and (content := text_in(file.get("extracted_content"))):
            yield text_in(file.get("file_name")), content


def _joined(blocks: Any) -> str:
    return "\n\n".join(filter(None, (text_in(each.get("text")) for each in blocks if isinstance(each, Mapping))))
