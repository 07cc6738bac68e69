"""An event of a host and its transcript, read from what it said: who speaks, in which conversation, and what."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from memfolio.recall.fence import BULLET, FURTHER, HEADING, strip_fences
from memfolio.recall.hit import GAP
from memfolio.serve.hooks.door import ACTS, ANSWER, PROMPT, START
from memfolio.types import frozen
from memfolio.vault.disk import Disk
from memfolio.vault.fields import without_surrogates

# An event of a host, read from what it said: who speaks, in which conversation, and what. Pure.

WORDS = {PROMPT: ("prompt",), ANSWER: ("last_assistant_message", "prompt_response", "text")}
"""Under which names hosts pass on what was said; the names of the rest follow."""
SESSION, TURN = ("conversation_id", "session_id"), ("turn_id", "generation_id", "prompt_id")
SUBAGENT, FOLDER = ("agent_id", "subagent_id"), ("cwd",)
_TOLD = re.compile(r"<hook_context>[^<]*+</hook_context>")
"""What hooks told an agent of Gemini CLI, as it stands before or behind a prompt: without any other `<`."""
_UNFIT = re.compile(r"[^A-Za-z0-9._:-]")


@frozen
class HookEvent:
    """What happened: where, in which conversation and turn, and the words that were said, if any."""

    host: str
    name: str
    act: str
    agent: str | None
    session: str | None
    turn: str
    words: str
    source: str
    """Why a conversation begins."""
    transcript: str
    is_heard: bool
    """Whether it is to be remembered: not what a sub-agent says, unless that was asked for."""
    folder: str = ""
    """The folder in which the host works."""
    tokens: int = -1
    """How many the agent was told by a process that has ended since, with the memories that `words` name; -1 where this
    is no such note."""

    @property
    def can_be_told(self) -> bool:
        """Whether the host passes on to its agent what is answered; Cursor does so only at the beginning."""
        return self.act == START or (self.act == PROMPT and self.host != "cursor")


def read_parcel(parcel: bytes) -> tuple[str, str, HookEvent | None]:
    """The version of who packed it, the name under which to keep it, and the event, if it is one of ours."""
    line, _, said = parcel.partition(b"\n")
    version, name, *words = line.decode("utf-8", "replace").split("\t")
    return version, name, _event(words, said)


def _event(words: list[str], said: bytes) -> HookEvent | None:
    host, name, agent, subagents = (*words, "", "", "", "")[:4]
    act, payload = ACTS.get(host, {}).get(name), _parsed(said.decode("utf-8-sig", "replace"))
    if act is None or payload is None:
        return None
    return HookEvent(
        host=host,
        name=name,
        act=act,
        agent=agent or None,
        session=_UNFIT.sub("-", _text(payload, *SESSION))[:128] or None,
        turn=_text(payload, *TURN),
        words=_clean(_text(payload, *WORDS.get(act, ()))),
        source=_text(payload, "source"),
        transcript=_text(payload, "transcript_path"),
        is_heard=bool(subagents) or not _text(payload, *SUBAGENT),
        folder=_text(payload, *FOLDER) or _first(payload.get("workspace_roots")),
    )


def _first(value: object) -> str:
    """The first of several texts."""
    return value[0] if isinstance(value, list) and value and isinstance(value[0], str) else ""


def _text(payload: dict[str, Any], *names: str) -> str:
    """The first of these that is a text with something in it."""
    return next((found for name in names if isinstance(found := payload.get(name), str) and found.strip()), "")


def without_told(words: str) -> str:
    """What was said without what hooks put into it, ours and others'."""
    return strip_fences(_TOLD.sub("", words) if "<hook_context>" in words else words)


def _clean(words: str) -> str:
    """What was said without what we put into it, and without what no file can hold."""
    return without_surrogates(without_told(words)).replace("\0", "\ufffd").strip()


# Transcripts as hosts keep them: the end of the file, turned into turns that `flush` reads.

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


# What an agent was told in a conversation, and so has before its eyes. Pure.

_BULLET = re.compile(rf"^{re.escape(BULLET)}(?:\[([A-Z]-[0-9a-f-]+)\])?.*\n(?:{re.escape(FURTHER)}.*\n)*", re.MULTILINE)
_BARE = re.compile(rf"^{HEADING}.*\n(?={HEADING}|</)", re.MULTILINE)
"""A heading with nothing below it."""


def marks_of(text: str | None) -> set[str]:
    """How what a text tells is known again: by the id of what stands there whole, else by the words themselves."""
    return {
        found[1] if found[1] and GAP.strip() not in found[0] else found[0] for found in _BULLET.finditer(text or "")
    }


def untold(text: str | None, known: Set[str]) -> str | None:
    """The text without what is known, by its marks; None where nothing is left."""
    left = _BULLET.sub(lambda found: "" if found[0] in known or found[1] in known else found[0], text or "")
    return _BARE.sub("", left) if _BULLET.search(left) else None
