"""An event of a host, read from what it said: who speaks, in which conversation, and what. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from memfolio.recall.context.fence import strip_fences
from memfolio.serve.hooks.hosts import ACTS, ANSWER, PROMPT
from memfolio.vault.format.content import without_surrogates

WORDS = {PROMPT: ("prompt",), ANSWER: ("last_assistant_message", "prompt_response", "text")}
"""Under which names hosts pass on what was said; the names of the rest follow."""
SESSION, TURN = ("conversation_id", "session_id"), ("turn_id", "generation_id", "prompt_id")
SUBAGENT = ("agent_id", "subagent_id")
_TOLD = re.compile(r"<hook_context>[^<]*+</hook_context>")
"""What hooks told an agent of Gemini CLI, as it stands before or behind a prompt: without any other `<`."""
_UNFIT = re.compile(r"[^A-Za-z0-9._:-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
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


def read_parcel(parcel: bytes) -> tuple[str, str, Event | None]:
    """The version of who packed it, the name under which to keep it, and the event, if it is one of ours."""
    line, _, said = parcel.partition(b"\n")
    version, name, *words = line.decode("utf-8", "replace").split("\t")
    return version, name, _event(words, said)


def _event(words: list[str], said: bytes) -> Event | None:
    host, name, agent, subagents = (*words, "", "", "", "")[:4]
    act, payload = ACTS.get(host, {}).get(name), _object(said)
    if act is None or payload is None:
        return None
    return Event(
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
    )


def _object(said: bytes) -> dict[str, Any] | None:
    try:
        payload = json.loads(said.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def _text(payload: dict[str, Any], *names: str) -> str:
    """The first of these that is a text with something in it."""
    return next((found for name in names if isinstance(found := payload.get(name), str) and found.strip()), "")


def without_told(words: str) -> str:
    """What was said without what hooks put into it, ours and others'."""
    return strip_fences(_TOLD.sub("", words) if "<hook_context>" in words else words)


def _clean(words: str) -> str:
    """What was said without what we put into it, and without what no file can hold."""
    return without_surrogates(without_told(words)).replace("\0", "\ufffd").strip()
