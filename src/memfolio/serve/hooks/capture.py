"""What is learned from an agent: its turns as they are said, and what a conversation held before it is cut."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING

from memfolio.intake import turn_of
from memfolio.serve.hooks.detached import run
from memfolio.serve.hooks.event import Event
from memfolio.serve.hooks.hosts import ANSWER, CUT, END, PROMPT
from memfolio.serve.hooks.transcript import turns_of
from memfolio.types import Attribution

if TYPE_CHECKING:
    from memfolio.memory import Memory

LISTENER = Attribution(actor="bot:auto-detect", trigger="hook")
ROLES = {PROMPT: "user", ANSWER: "assistant"}


def take_up(memory: Memory, event: Event, name: str) -> tuple[str, ...]:
    """Do what is to be done about an event that was kept under this name; the ids of the turn that it is, if any.

    Doing it twice changes nothing.
    """
    if event.act in ROLES:
        return _note(memory, event, name)
    if event.act == CUT and (turns := turns_of(event.transcript)):
        memory.flush(turns, session=event.session)
    elif event.act == END and event.session:
        home = str(memory.vault.config.home)
        run(["-m", "memfolio.serve.hooks.learn", home, memory.agent, event.session], home)
    return ()


def _note(memory: Memory, event: Event, name: str) -> tuple[str, ...]:
    """Note a turn; the same turn that two hooks report is one."""
    role, most = ROLES[event.act], memory.vault.config.max_content_bytes
    words = event.words.encode()[:most].decode("utf-8", "ignore").rstrip()
    if not words or (not event.turn and _is_last(memory, event.session, role, words)):
        return ()
    at = datetime.fromtimestamp(int(name.partition("-")[0]) / 1e9, UTC)
    turn = turn_of({"role": role, "content": words, "session": event.session, "at": at})
    whose = "\0".join((event.session or "", event.turn or name, role, words))
    memory.library.attend()
    by = replace(LISTENER, session=event.session)
    key = f"hook-{blake2b(whose.encode(), digest_size=16).hexdigest()}"
    return memory.vault.add(memory.agent, [turn], by, key=key).ids


def _is_last(memory: Memory, session: str | None, role: str, words: str) -> bool:
    """Whether these words are what was said last in a conversation whose host does not number its turns."""
    last = memory.recall("", session=session, limit=1) if session else []
    return any((hit.memory.role, hit.memory.content) == (role, words) for hit in last)
