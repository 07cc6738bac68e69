"""The few tools that an agent needs every day, under the names of the verbs."""

from __future__ import annotations

from dataclasses import fields
from hashlib import blake2b
from typing import Any, Literal

from memfolio.intake import ANY_ID
from memfolio.memory import Memory
from memfolio.serve.tools.tool import as_moment

Type = Literal[
    "observation",
    "fact",
    "preference",
    "decision",
    "event",
    "outcome",
    "lesson",
    "task",
    "emotion",
    "correction",
    "error",
]


def remember(
    memory: Memory,
    text: str,
    type: Type = "observation",
    importance: float = 0.5,
    tags: list[str] | None = None,
    session: str | None = None,
    key: str | None = None,
) -> Any:
    """Keep something worth knowing later: a fact, preference, decision or lesson, in one self-contained sentence.

    The same text on the same day is kept once, so a request may safely be repeated.
    """
    mark = key or _mark(memory, text, type)
    return memory.remember(text, type=type, importance=importance, tags=tags or (), session=session, key=mark)


def recall(
    memory: Memory,
    query: str,
    limit: int = 10,
    type: Type | None = None,
    since: str | None = None,
    until: str | None = None,
    depth: int = 0,
) -> Any:
    """Find what is remembered about a question; ask before you answer from memory. Cite hits by their ids."""
    hits = memory.recall(
        query,
        limit=limit,
        types=type,
        since=as_moment(memory, "since", since),
        until=as_moment(memory, "until", until),
        depth=depth,
    )
    found = [
        {
            "id": hit.memory.id,
            "content": hit.memory.content,
            "type": hit.memory.type,
            "at": hit.memory.event_time or hit.memory.created_at,
            "score": round(hit.score, 4),
            "path": hit.path,
        }
        for hit in hits
    ]
    return {"hits": found, "degraded": list(hits.degraded)}


def forget(memory: Memory, what: str) -> Any:
    """Forget a memory by its id; with a description, only show what that would be, so that the person can agree."""
    is_id = ANY_ID.fullmatch(what.strip()) is not None
    mended = memory.forget(what, every=not is_id, dry_run=not is_id)
    shown = [{"id": each.id, "content": each.content} for each in mended.memories]
    return {"forgotten": is_id, "memories": shown, "hint": "" if is_id else "call this again with one of the ids"}


def correct(memory: Memory, id: str, text: str) -> Any:
    """Say what is right in the place of a memory that is wrong; the old one stays readable."""
    return _mended(memory.correct(id, text))


def confirm(memory: Memory, id: str) -> Any:
    """Say that a memory is right, which keeps it from fading."""
    return _mended(memory.confirm(id))


def explain(memory: Memory, id: str) -> Any:
    """Tell where a memory comes from, what it was made of and what became of it."""
    return memory.explain(id)


def checkpoint(
    memory: Memory,
    context: str,
    decisions: list[str] | None = None,
    findings: list[str] | None = None,
    next_steps: list[str] | None = None,
    open_questions: list[str] | None = None,
    session: str | None = None,
) -> Any:
    """Note where work stands before the conversation is cut, so that it can be taken up again."""
    path = memory.checkpoint(
        context,
        decisions=decisions or (),
        findings=findings or (),
        next_steps=next_steps or (),
        open_questions=open_questions or (),
        session=session,
    )
    return {"path": path}


def propose(memory: Memory, text: str, type: Type = "observation", importance: float = 0.5) -> Any:
    """Propose that something is remembered, for the agent or the person who decides on it."""
    proposal = memory.propose(text, type=type, importance=importance)
    return {"id": proposal.id, "to": proposal.to, "title": proposal.title}


def status(memory: Memory) -> Any:
    """How the memory is doing: how much there is, what is due, what waits for a decision, what does not work."""
    found = memory.status()
    told = ("agent", "memories", "due", "proposals", "reflection", "alerts", "trouble", "degraded")
    return {each.name: getattr(found, each.name) for each in fields(found) if each.name in told}


def _mended(mended: Any) -> dict[str, Any]:
    return {"memories": [{"id": each.id, "content": each.content} for each in mended.memories]}


def _mark(memory: Memory, text: str, type: str) -> str:
    day = memory.vault.home.now().astimezone(memory.vault.home.zone).date().isoformat()
    return f"tool-{blake2b(chr(0).join((memory.agent, day, type, text)).encode('utf-8', 'replace')).hexdigest()[:24]}"


TOOLS = (remember, recall, forget, correct, confirm, explain, checkpoint, propose, status)
