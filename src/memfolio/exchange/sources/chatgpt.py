"""Conversations with ChatGPT, as `Settings > Data controls > Export data` gives them: a zip, or what is in it.

Of each conversation the branch that was last shown comes; other attempts at an answer are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memfolio.exchange.incoming import Incoming, Note
from memfolio.exchange.sources.json_source import JsonSource, moment_in, object_in, text_in, token_in

HIDDEN = frozenset({"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"})
"""Kinds of messages that nobody said: what the model thought, and what it was told beforehand."""


class ChatGPT(JsonSource):
    """Conversations with ChatGPT."""

    name = "chatgpt"
    files = r"conversations(-\d+)?\.json"
    mark = r'"mapping"\s*:\s*\{'
    inside = ("conversations",)

    def incoming(self, record: Mapping[str, Any], otherwise: str) -> Iterator[Incoming]:
        named = record.get("conversation_id") or record.get("id")
        at, title = moment_in(record.get("create_time")), text_in(record.get("title"))
        for key, message in _branch(record):
            content, author = object_in(message, "content"), object_in(message, "author")
            words, role = _words(content), token_in(author.get("role"))
            if words and role and not _is_hidden(message, content):
                at = moment_in(message.get("create_time")) or at
                yield Note(
                    ref=f"{named or otherwise}/{key}",
                    content=words,
                    at=at,
                    role=role,
                    session=token_in(named),
                    author=text_in(author.get("name") or object_in(message, "metadata").get("model_slug")) or None,
                    fields={"attributes": {"title": title}} if title else {},
                )


def _branch(talk: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The messages from the first to the one that was last shown, with their keys."""
    nodes, found = object_in(talk, "mapping"), dict[str, Mapping[str, Any]]()
    key: Any = str(talk.get("current_node"))
    if key not in nodes:
        key = next((each for each in reversed([*nodes]) if not object_in(nodes, each).get("children")), "")
    while isinstance(key, str) and key in nodes and key not in found:
        found[key] = object_in(object_in(nodes, key), "message")
        key = object_in(nodes, key).get("parent")
    return list(reversed(found.items()))


def _is_hidden(message: Mapping[str, Any], content: Mapping[str, Any]) -> bool:
    is_hidden = object_in(message, "metadata").get("is_visually_hidden_from_conversation") is True
    return is_hidden or message.get("weight") == 0 or str(content.get("content_type")) in HIDDEN


def _words(content: Mapping[str, Any]) -> str:
    """What a message says; a picture or a recording is named by what it is."""
    parts = content.get("parts")
    said = [_part(each) for each in parts] if isinstance(parts, list) else []
    return "\n\n".join(
        filter(None, (*said, *(text_in(content.get(name)) for name in ("title", "text", "result", "url"))))
    )


def _part(part: object) -> str:
    if not isinstance(part, Mapping):
        return text_in(part)
    return text_in(part.get("text")) or f"[{text_in(part.get('content_type')) or 'attachment'}]"
