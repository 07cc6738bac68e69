"""Conversations with ChatGPT, as `Settings > Data controls > Export data` gives them: a zip, or what is in it.

Of each conversation the branch that was last shown comes; other attempts at an answer are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memfolio.exchange.incoming import Flaw, Incoming, Note
from memfolio.exchange.sources.json_source import JsonSource, listed, moment_in, object_in, text_in, token_in

HIDDEN = frozenset({"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"})
"""Kinds of messages that nobody said: what the model thought, and what it was told beforehand."""
SAID = ("title", "text", "result", "content", "url")
"""Where a message that has no parts says something."""


class ChatGPT(JsonSource):
    """Conversations with ChatGPT."""

    name = "chatgpt"
    files = r"conversations(?:-\d+)?\.json"
    passed = r"(?:user|user_settings|message_feedback|shared_conversations|export_manifest)\.json"
    mark = r'"mapping"\s*:\s*\{'
    inside = ("conversations",)

    def incoming(self, record: Mapping[str, Any], otherwise: str) -> Iterator[Incoming]:
        named = record.get("conversation_id") or record.get("id")
        at, title = moment_in(record.get("create_time")), text_in(record.get("title"))
        if record.get("is_do_not_remember") is True:
            yield Flaw(ref=str(named or otherwise), why="was marked there as nothing to remember")
            return
        for key, message in _branch(record):
            ref, content, author = f"{named or otherwise}/{key}", object_in(message, "content"), message.get("author")
            words, role = _words(content), token_in(object_in(message, "author").get("role"))
            at = moment_in(message.get("create_time")) or at
            if _is_hidden(message, content) or not (words or _is_strange(content)):
                continue
            if not words or not role:
                yield Flaw(ref=ref, why=f"cannot be read: {str(content.get('content_type') or author)[:60]}")
                continue
            yield Note(
                ref=ref,
                content=words,
                at=at,
                role=role,
                session=token_in(named),
                author=_author(message) or None,
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


def _is_strange(content: Mapping[str, Any]) -> bool:
    """Whether a message says something in a way that is not known here; an empty text says nothing."""
    known = {"content_type", "parts", "language", "response_format_name", *SAID}
    return any(value for name, value in content.items() if name not in known)


def _author(message: Mapping[str, Any]) -> str:
    name = object_in(message, "author").get("name") or object_in(message, "metadata").get("model_slug")
    return text_in(name)


def _words(content: Mapping[str, Any]) -> str:
    """What a message says; a picture or a recording is named by what it is."""
    said = (*map(_part, listed(content, "parts")), *(text_in(content.get(name)) for name in SAID))
    return "\n\n".join(filter(None, said))


def _part(part: object) -> str:
    if not isinstance(part, Mapping):
        return text_in(part)
    return _words({**part, "parts": []}) or f"[{text_in(part.get('content_type')) or 'attachment'}]"
