"""What Claude was told, as `Settings > Privacy > Export data` gives it: a zip, several of them, or what is in them.

Conversations become turns, of each the branch that was last shown. What tools answered and what files say are turns of
`tool`, since nobody in the conversation said it. What Claude remembers and the documents of projects become pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from memfolio.exchange.files import safe_path
from memfolio.exchange.incoming import Flaw, Incoming, Note, Sheet
from memfolio.exchange.sources.json_source import JsonSource, listed, moment_in, object_in, text_in, token_in

ROLES = {"human": "user"}
PASSED = frozenset({"text", "thinking", "redacted_thinking", "tool_use", "tool_result", "token_budget", "flag"})
"""Kinds of blocks that are read, or that nobody said."""
PARTS = "conversations|memories|projects"


class Claude(JsonSource):
    """Conversations with Claude, its memory and projects."""

    name = "claude"
    files = rf"(?:{PARTS})(?:-\d+)?\.(?:json|zip)|(?:memories|projects)/[^/]+\.json"
    passed = r"(?:users|login_history|manifest.*)\.json"
    mark = r'"(?:chat_messages|conversations_memory|prompt_template)"\s*:'
    inside = ("conversations",)

    def incoming(self, record: Mapping[str, Any], otherwise: str) -> Iterator[Incoming]:
        if "chat_messages" in record:
            return _turns(record, otherwise)
        return _remembered(record) if "conversations_memory" in record else _project(record)


def _turns(talk: Mapping[str, Any], otherwise: str) -> Iterator[Incoming]:
    named, title = talk.get("uuid"), text_in(talk.get("name"))
    for number, message in enumerate(_branch(talk), 1):
        if not isinstance(message, Mapping):
            yield Flaw(ref=f"{named or otherwise}/{number}", why="it is no message")
            continue
        turn = Note(
            ref=f"{named or otherwise}/{message.get('uuid') or number}",
            content=_said(message),
            at=moment_in(message.get("created_at")) or moment_in(talk.get("created_at")),
            role=ROLES.get(str(message.get("sender")), token_in(message.get("sender")) or "user"),
            session=token_in(named),
            fields={"attributes": {"title": title}} if title else {},
        )
        if turn.content:
            yield turn
        for nth, (role, author, content) in enumerate(_beside(message), 1):
            yield replace(turn, ref=f"{turn.ref}#{nth}", content=content, role=role or turn.role, author=author or None)
        if strange := {str(each.get("type")) for each in _blocks(message)} - PASSED:
            yield Flaw(ref=turn.ref, why=f"has a part that cannot be read: {', '.join(sorted(strange))[:80]}")


def _branch(talk: Mapping[str, Any]) -> list[Any]:
    """The messages up to the one that was last shown; all of them where they do not tell what they follow."""
    every = listed(talk, "chat_messages")
    named = {each["uuid"]: each for each in every if isinstance(each, Mapping) and isinstance(each.get("uuid"), str)}
    found, key = dict[str, Any](), talk.get("current_leaf_message_uuid") or next(reversed(named), None)
    while isinstance(key, str) and key in named and key not in found:
        found[key] = named[key]
        key = named[key].get("parent_message_uuid")
    is_whole = isinstance(key, str) and key.startswith("00000000-") and len(named) == len(every)
    return [*reversed(found.values())] if is_whole else every


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in listed(message, "content") if isinstance(each, Mapping)]


def _said(message: Mapping[str, Any]) -> str:
    """The words of a message; what the model thought is left out, and what was uploaded is named."""
    blocks = [each for each in _blocks(message) if each.get("type") == "text"]
    words = _joined(blocks) if _blocks(message) else text_in(message.get("text"))
    files = (text_in(each.get("file_name")) for each in listed(message, "files") if isinstance(each, Mapping))
    return "\n\n".join(filter(None, (words, *(f"[{name}]" for name in files if name))))


def _beside(message: Mapping[str, Any]) -> Iterator[tuple[str | None, str, str]]:
    """What the model wrote into documents, what tools answered and what attached files say: role, name and text."""
    for block in _blocks(message):
        given, name = object_in(block, "input"), text_in(block.get("name"))
        if block.get("type") == "tool_use" and (content := text_in(given.get("content") or given.get("file_text"))):
            yield None, text_in(given.get("title") or given.get("path")) or name, content
        content = text_in(block.get("content")) or _joined(listed(block, "content"))
        if content and block.get("type") == "tool_result":
            yield "tool", name, content
    for file in listed(message, "attachments"):
        if isinstance(file, Mapping) and (content := text_in(file.get("extracted_content"))):
            yield "tool", text_in(file.get("file_name")), content


def _remembered(record: Mapping[str, Any]) -> Iterator[Incoming]:
    """The pages in which Claude keeps what it knows of a person and of the projects."""
    texts = {"memory.md": record.get("conversations_memory")}
    texts |= {f"projects/{name}.md": text for name, text in object_in(record, "project_memories").items()}
    files = [each for each in listed(record, "memory_files") if isinstance(each, Mapping)]
    texts |= {f"files/{text_in(each.get('path')).strip('/')}": each.get("content") for each in files}
    yield from (_page(place, text) for place, text in texts.items() if text_in(text))


def _project(record: Mapping[str, Any]) -> Iterator[Incoming]:
    """The instructions and documents of a project."""
    name = text_in(record.get("name")).replace("/", "-") or str(record.get("uuid"))
    if told := "\n\n".join(filter(None, (text_in(record.get(each)) for each in ("description", "prompt_template")))):
        yield _page(f"projects/{name}/{name}.md", f"# {name}\n\n{told}")
    for each in listed(record, "docs"):
        if isinstance(each, Mapping) and (text := text_in(each.get("content"))):
            yield _page(f"projects/{name}/{text_in(each.get('filename')).strip('/') or each.get('uuid')}", text)


def _page(place: str, text: Any) -> Sheet:
    path = "/".join(part for part in f"memory/claude/{place}".split("/") if part not in ("", ".", ".."))
    return Sheet(ref=place, path=safe_path(path if path.endswith(".md") else f"{path}.md"), text=f"{text_in(text)}\n")


def _joined(blocks: Any) -> str:
    return "\n\n".join(filter(None, (text_in(each.get("text")) for each in blocks if isinstance(each, Mapping))))
