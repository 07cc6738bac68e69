"""Sources in JSON, which may be large: ChatGPT, Claude, mem0 and MCP memory, read item by item within limits."""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

from memfolio.errors import InputError
from memfolio.exchange.reading import ImportedMemory, ImportProblem, Incoming, Sheet, fact, safe_path
from memfolio.types import TOKEN_PATTERN
from memfolio.vault.fields import without_surrogates

# Sources in JSON, which may be large: read item by item from a file, a folder or a zip archive, within limits.

CHUNK = 1 << 18
GLANCE = 1 << 16
LONGEST = 64 << 20
"""Characters that one item may have: only so much is held at a time."""
MOST_BYTES = 4 << 30
"""The largest size of a file, or of the unpacked contents of an archive."""
MOST_PACKED = 250
"""How many times larger than packed a file of an archive may be; text is ten to twenty times."""
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_ZIP = b"PK\x03\x04"
_SPACE = re.compile(r"\s*")
_decode = json.JSONDecoder().raw_decode
Object = Mapping[str, Any]
"""An object of somebody's JSON."""


def items(path: Path, names: re.Pattern[str]) -> Iterator[Any]:
    """Yield the items of the lists at `path`, or the values on its lines; raises InputError if a file is damaged.

    In a folder or an archive, only the files with these names are read.
    """
    try:
        for stream in _streams(path, names):
            with io.TextIOWrapper(stream, "utf-8-sig") as text:
                yield from _values(path, text)
    except (*_UNREADABLE, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}", hint="fetch the export again") from error


def glance(path: Path, names: re.Pattern[str]) -> str:
    """Return the beginning of the first file; empty if it cannot be read."""
    try:
        for stream in _streams(path, names):
            return stream.read(GLANCE).decode("utf-8", "replace")
    except (*_UNREADABLE, InputError, OSError):
        pass
    return ""


def unread(path: Path, names: re.Pattern[str]) -> list[str]:
    """The files in JSON of a folder or an archive that have other names."""
    found = [each.relative_to(path).as_posix() for each in _files(path)] if path.is_dir() else []
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            found = archive.namelist()
    return [each for each in found if re.search(r"(?:^|/)[^/.][^/]*\.json$", each) and not _is_named(each, names)]


def _files(folder: Path) -> list[Path]:
    """The files of a folder, and those in JSON of the folders in it."""
    return sorted(each for each in (*folder.iterdir(), *folder.glob("*/*.json")) if each.is_file())


def _is_named(place: str, names: re.Pattern[str]) -> bool:
    """Whether a file has one of these names; an archive may have all its files in one folder."""
    return bool(names.fullmatch(place) or names.fullmatch(place.partition("/")[2]))


def _streams(path: Path, names: re.Pattern[str]) -> Iterator[BinaryIO]:
    for each in _files(path) if path.is_dir() else [path]:
        if each != path and not names.fullmatch(each.relative_to(path).as_posix()):
            continue
        if not each.resolve().is_relative_to(path.resolve()):
            raise InputError(f"{each} is a link and is not followed", hint="copy the file to its place")
        _check_size(path, each.stat().st_size)
        with io.BufferedReader(io.FileIO(each), CHUNK) as file:
            if file.peek(4)[:4] != _ZIP:
                yield file
                continue
            with zipfile.ZipFile(file) as archive:
                for info in _members(path, archive, names):
                    with archive.open(info) as member:
                        yield cast(BinaryIO, member)


def _members(path: Path, archive: zipfile.ZipFile, names: re.Pattern[str]) -> list[zipfile.ZipInfo]:
    """Return the members of an archive with these names; rejects paths outside of it, and archive bombs."""
    found = [each for each in archive.infolist() if _is_named(each.filename, names)]
    if not found:
        raise InputError(f"{path} has no file that is called {names.pattern}", hint="name the export itself")
    for each in found:
        if ".." in each.filename.split("/") or each.filename.startswith("/"):
            raise InputError(f"{path} has a file that leads out of it", hint="do not trust this archive")
        if each.file_size > max(MOST_PACKED * each.compress_size, CHUNK):
            raise InputError(f"{path} unpacks to {each.file_size:,} bytes", hint="do not trust this archive")
    _check_size(path, sum(each.file_size for each in found))
    return sorted(found, key=lambda each: each.filename)


def _check_size(path: Path, size: int) -> None:
    if size > MOST_BYTES:
        raise InputError(f"{path} has {size:,} bytes", hint=f"at most {MOST_BYTES:,} are read; take it in parts")


def _values(path: Path, stream: io.TextIOWrapper) -> Iterator[Any]:
    """The items of lists and the values beside them; of the text no more is held than the longest of them needs."""
    text, at, is_open = "", 0, False
    while True:
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        mark, value, flaw = text[at : at + 1], None, None
        if (mark == "[" and not is_open) or (is_open and mark in (",", "]")):
            is_open, at = mark != "]", at + 1
            continue
        try:
            value, end = _decode(text, at)
        except (ValueError, RecursionError) as error:
            flaw, end = error, len(text)
        held = len(text) - at
        # A value near the end may go on, as 1 in `1e+9`; as much again is read, so that a long one is not tried often.
        if len(text) - end < 3 and held <= LONGEST and (more := stream.read(max(CHUNK, held))):
            text, at = text[at:] + more, 0
        elif not mark and not is_open:
            return
        elif flaw:
            raise InputError(f"{path} is cut short, or is not valid JSON", hint="fetch the export again") from flaw
        else:
            yield value
            at = end


class JsonSource(ABC):
    """A form that is kept as JSON, known by a `mark` near its beginning."""

    name: str
    files: str
    """The pattern of the places that its files have in a folder or an archive."""
    mark: str
    passed: str = ""
    """The same for files in which there is nothing to remember; of an export that has such, all others are told."""
    inside: tuple[str, ...] = ()
    """Lists that an object may have in place of the objects themselves."""

    @abstractmethod
    def incoming(self, record: Object, otherwise: str) -> Iterable[Incoming]:
        """What an object brings; `otherwise` names one that has no id."""

    def fits(self, path: Path) -> bool:
        """Whether the file, or one in the folder or archive, begins as this form does."""
        return re.search(self.mark, glance(path, re.compile(self.files))) is not None

    def count(self, path: Path) -> int:
        """How many things there are; everything is read, so that a cut file is noticed before anything comes in."""
        return sum(1 for _ in self.read(path))

    def read(self, path: Path) -> Iterator[Incoming]:
        """What each object brings, in their order."""
        number = 0
        for item in items(path, re.compile(self.files)):
            lists = [found for name in self.inside if (found := listed(item, name))]
            for each in (part for found in lists for part in found) if lists else [item]:
                number += 1
                found = list(self.incoming(each, f"item {number}")) if isinstance(each, Mapping) else []
                yield from found or [ImportProblem(ref=f"item {number}", why="there is nothing in it that can be read")]
        for name in unread(path, re.compile(f"{self.files}|{self.passed}")) if self.passed else ():
            yield ImportProblem(ref=name, why="is a part of the export that is not taken over")


def listed(of: object, name: str) -> list[Any]:
    """A list of somebody's JSON; an empty one for any other value."""
    value = of.get(name) if isinstance(of, Mapping) else None
    return value if isinstance(value, list) else []


def objects_in(of: object, name: str) -> list[Object]:
    """The objects of a list of somebody's JSON."""
    return [each for each in listed(of, name) if isinstance(each, Mapping)]


def object_in(of: object, name: str) -> Object:
    """An object of somebody's JSON; an empty one for any other value."""
    value = of.get(name) if isinstance(of, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def joined(texts: Iterable[object]) -> str:
    """The texts among somebody's values as paragraphs."""
    return "\n\n".join(filter(None, map(text_in, texts)))


def text_in(value: object) -> str:
    """A text of somebody's JSON as it can be kept; nothing for any other value."""
    return without_surrogates(value).replace("\0", "").strip() if isinstance(value, str) else ""


def token_in(value: object) -> str | None:
    """Return an identifier; None if the value is not one."""
    return value if isinstance(value, str) and TOKEN_PATTERN.fullmatch(value) else None


def moment_in(value: object) -> datetime | None:
    """A time as ISO text or as seconds or milliseconds since 1970; None for what is none. Without a zone it is UTC."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value.strip())
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return datetime.fromtimestamp(value / 1000 if abs(value) > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


# The knowledge graph of the MCP project's memory server: lines of JSON, or what its `read_graph` returns.
#
# What is observed of an entity becomes memories that name it; kinds and relations become facts.


class McpMemory(JsonSource):
    """The graph of the memory server."""

    name = "mcp-memory"
    files = r"memory.*\.jsonl?"
    mark = r'"(entityType|relationType)"\s*:'
    inside = ("entities", "relations")

    def incoming(self, record: Object, otherwise: str) -> Iterator[Incoming]:
        name, kind = text_in(record.get("name")), text_in(record.get("entityType"))
        if name and kind:
            yield fact(name, "isA", kind)
        for each in listed(record, "observations") if name else ():
            # Some versions of the server keep an observation as an object.
            if said := text_in(each.get("content") if isinstance(each, Mapping) else each):
                about = {"attributes": {"entity": name}, "type": "fact"}
                yield ImportedMemory(ref=f"{name}: {said}", content=f"{name}: {said}", fields=about)
        subject, other, predicate = (text_in(record.get(each)) for each in ("from", "to", "relationType"))
        if subject and other and predicate:
            yield fact(subject, predicate, other)


# Memories of mem0, as its `get_all` and its exports give them; relations of its graph become facts.


class Mem0(JsonSource):
    """Memories of mem0."""

    name = "mem0"
    files = r"mem0.*\.jsonl?"
    mark = r'\{\s*"id"\s*:[^{}]*"memory"\s*:\s*"'
    inside = ("results", "memories", "relations")

    def incoming(self, record: Object, otherwise: str) -> Iterator[Incoming]:
        if content := text_in(record.get("memory") or record.get("data")):
            ref = str(record.get("id") or record.get("hash") or otherwise)
            yield ImportedMemory(
                ref=ref, content=content, at=moment_in(record.get("created_at")), fields=_fields(record)
            )
            return
        subject, other = text_in(record.get("source")), text_in(record.get("target") or record.get("destination"))
        predicate = text_in(record.get("relationship") or record.get("relation"))
        if subject and other and predicate:
            yield fact(subject, predicate, other)


def _fields(record: Object) -> dict[str, Any]:
    kept = {name: record[name] for name in ("id", "agent_id", "run_id", "updated_at") if record.get(name)}
    user = {"user": record["user_id"]} if text_in(record.get("user_id")) else {}
    tags = [each for each in map(text_in, listed(record, "categories")) if each]
    return {"tags": tags, "attributes": {**object_in(record, "metadata"), "mem0": kept}, **user}


# Conversations with ChatGPT, as `Settings > Data controls > Export data` gives them: a zip, or what is in it.
#
# Of each conversation the branch that was last shown comes; other attempts at an answer are left.

HIDDEN = frozenset({"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"})
"""Kinds of messages that nobody said: the model's thoughts, and its instructions."""
SAID = ("title", "text", "result", "content", "url")
"""Fields with the text of a message that has no parts."""
READ = frozenset({"content_type", "parts", "language", "response_format_name", *SAID})


class ChatGPT(JsonSource):
    """Conversations with ChatGPT."""

    name = "chatgpt"
    files = r"conversations(?:-\d+)?\.json"
    passed = r"(?:user|user_settings|message_feedback|shared_conversations|export_manifest)\.json"
    mark = r'"mapping"\s*:\s*\{'
    inside = ("conversations",)

    def incoming(self, record: Object, otherwise: str) -> Iterator[Incoming]:
        named = record.get("conversation_id") or record.get("id")
        at, title = moment_in(record.get("create_time")), text_in(record.get("title"))
        if record.get("is_do_not_remember") is True:
            yield ImportProblem(ref=str(named or otherwise), why="was marked there as nothing to remember")
            return
        nodes, last = object_in(record, "mapping"), str(record.get("current_node"))
        if last not in nodes:
            last = next((each for each in reversed([*nodes]) if not object_in(nodes, each).get("children")), "")
        for key in branch(nodes, last, "parent")[0]:
            message, ref = object_in(object_in(nodes, key), "message"), f"{named or otherwise}/{key}"
            content, author, about = (object_in(message, name) for name in ("content", "author", "metadata"))
            words, role, kind = _words(content), token_in(author.get("role")), content.get("content_type")
            at = moment_in(message.get("create_time")) or at
            is_hidden = about.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0
            # An empty text says nothing; what is said in a way that is not known here is told.
            is_strange = any(value for name, value in content.items() if name not in READ)
            if is_hidden or str(kind) in HIDDEN or not (words or is_strange):
                continue
            if not words or not role:
                why = f"cannot be read: {str(kind or message.get('author'))[:60]}"
                yield ImportProblem(ref=ref, why=why)
                continue
            yield ImportedMemory(
                ref=ref,
                content=words,
                at=at,
                role=role,
                session=token_in(named),
                author=text_in(author.get("name") or about.get("model_slug")) or None,
                fields={"attributes": {"title": title}} if title else {},
            )


def branch(nodes: Object, last: Any, parent: str) -> tuple[list[str], Any]:
    """Return the keys from the first message to the last one shown, and the parent of the first one."""
    found = dict[str, None]()
    while isinstance(last, str) and last in nodes and last not in found:
        found[last] = None
        last = object_in(nodes, last).get(parent)
    return [*reversed(found)], last


def _words(content: Object) -> str:
    """Return the text of a message; images and recordings are represented by their kind."""
    return joined((*map(_part, listed(content, "parts")), *map(content.get, SAID)))


def _part(part: object) -> object:
    if not isinstance(part, Mapping):
        return part
    return _words({**part, "parts": []}) or f"[{text_in(part.get('content_type')) or 'attachment'}]"


# What Claude was told, as `Settings > Privacy > Export data` gives it: a zip, several of them, or what is in them.
#
# Conversations become turns, of each the branch that was last shown. What tools answered and what files say are turns
# of `tool`, since nobody in the conversation said it. What Claude remembers and the documents of projects become
# pages.

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

    def incoming(self, record: Object, otherwise: str) -> Iterator[Incoming]:
        if "chat_messages" in record:
            return _turns(record, otherwise)
        return _remembered(record) if "conversations_memory" in record else _project(record)


def _turns(talk: Object, otherwise: str) -> Iterator[Incoming]:
    named, title = talk.get("uuid"), text_in(talk.get("name"))
    for number, message in enumerate(_branch(talk), 1):
        if not isinstance(message, Mapping):
            yield ImportProblem(ref=f"{named or otherwise}/{number}", why="it is no message")
            continue
        turn = ImportedMemory(
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
        if strange := {str(each.get("type")) for each in objects_in(message, "content")} - PASSED:
            yield ImportProblem(ref=turn.ref, why=f"has a part that cannot be read: {', '.join(sorted(strange))[:80]}")


def _branch(talk: Object) -> list[Any]:
    """Return the messages up to the one shown last; all of them if they do not name their parents."""
    every = listed(talk, "chat_messages")
    named = {each["uuid"]: each for each in every if isinstance(each, Mapping) and isinstance(each.get("uuid"), str)}
    last = talk.get("current_leaf_message_uuid") or next(reversed(named), None)
    found, root = branch(named, last, "parent_message_uuid")
    is_whole = isinstance(root, str) and root.startswith("00000000-") and len(named) == len(every)
    return [named[each] for each in found] if is_whole else every


def _said(message: Object) -> str:
    """Return the text of a message without the model's thoughts, and with the names of uploads."""
    blocks = objects_in(message, "content") or [{"type": "text", "text": message.get("text")}]
    words = [each.get("text") for each in blocks if each.get("type") == "text"]
    files = [text_in(each.get("file_name")) for each in objects_in(message, "files")]
    return joined((*words, *(f"[{name}]" for name in files if name)))


def _beside(message: Object) -> Iterator[tuple[str | None, str, str]]:
    """What the model wrote into documents, what tools answered and what attached files say: role, name and text."""
    for block in objects_in(message, "content"):
        given, name, content = object_in(block, "input"), text_in(block.get("name")), ""
        if block.get("type") == "tool_use" and (content := text_in(given.get("content") or given.get("file_text"))):
            yield None, text_in(given.get("title") or given.get("path")) or name, content
        elif block.get("type") == "tool_result":
            content = joined((block.get("content"), *(each.get("text") for each in objects_in(block, "content"))))
            if content:
                yield "tool", name, content
    for file in objects_in(message, "attachments"):
        if content := text_in(file.get("extracted_content")):
            yield "tool", text_in(file.get("file_name")), content


def _remembered(record: Object) -> Iterator[Incoming]:
    """The pages in which Claude keeps what it knows of a person and of the projects."""
    texts = {"memory.md": record.get("conversations_memory")}
    texts |= {f"projects/{name}.md": text for name, text in object_in(record, "project_memories").items()}
    for each in objects_in(record, "memory_files"):
        texts[f"files/{text_in(each.get('path')).strip('/')}"] = each.get("content")
    yield from (_page(place, text) for place, text in texts.items() if text_in(text))


def _project(record: Object) -> Iterator[Incoming]:
    """The instructions and documents of a project."""
    name = text_in(record.get("name")).replace("/", "-") or str(record.get("uuid"))
    if told := joined((record.get("description"), record.get("prompt_template"))):
        yield _page(f"projects/{name}/{name}.md", f"# {name}\n\n{told}")
    for each in objects_in(record, "docs"):
        if text := text_in(each.get("content")):
            yield _page(f"projects/{name}/{text_in(each.get('filename')).strip('/') or each.get('uuid')}", text)


def _page(place: str, text: Any) -> Sheet:
    path = "/".join(part for part in f"memory/claude/{place}".split("/") if part not in ("", ".", ".."))
    return Sheet(ref=place, path=safe_path(path if path.endswith(".md") else f"{path}.md"), text=f"{text_in(text)}\n")
