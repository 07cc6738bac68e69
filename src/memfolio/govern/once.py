"""Keeping a text once, however often an agent sends it: a request whose answer was lost is sent again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial, wraps
from hashlib import blake2b
from itertools import count
from typing import Any, ParamSpec, TypeVar, cast

from memfolio.errors import ConflictError
from memfolio.types import MemoryItem, Store, Type

P = ParamSpec("P")
R = TypeVar("R")
Remember = Callable[..., MemoryItem]
LATE = timedelta(hours=1)
"""How long after midnight a request may be one of the day before."""
DISTINCT = ("kind", "user", "at", "valid_from", "valid_until", "attributes")
"""By what two memories of the same words, type and store differ, where it is given."""


def once_for_agents(remember: Callable[P, R]) -> Callable[P, R]:
    """`remember`, of which an agent that repeats itself without a key makes one memory a day."""

    @wraps(remember)
    def call(*args: P.args, **given: P.kwargs) -> R:
        memory, draft = cast(Any, args[0]), dict(given)
        text = args[1] if len(args) > 1 else draft.pop("text", None)
        if draft.pop("key", None) is not None or text is None or not memory.gate.acts_as_agent:
            return remember(*args, **given)
        return cast(R, _once(memory, partial(cast(Any, remember), memory), cast(str, text), draft))

    return call


def kept_once(memory: Any, text: str, draft: Mapping[str, Any]) -> MemoryItem:
    """`remember` for what only agents call: once, whoever has opened the memory."""
    if memory.gate.acts_as_agent:
        return cast(MemoryItem, memory.remember(text, **draft))
    return _once(memory, memory.remember, text, draft)


def _once(memory: Any, remember: Remember, text: str, draft: Mapping[str, Any]) -> MemoryItem:
    """The one memory of a text on a day; what was forgotten since is kept again, what was corrected is not."""
    now = memory.vault.home.now().astimezone(memory.vault.home.zone)
    before, today = (_mark(memory, text, draft, at) for at in (now - LATE, now))
    # A request that was sent before midnight may be repeated after it.
    late = _kept_under(memory, f"{before}-0") if before != today else None
    if late and now - late.created_at < LATE and not late.forgotten_at and not late.superseded_by:
        return late
    keys = (f"{today}-{attempt}" for attempt in count())
    return next(filter(None, (_kept(memory, partial(remember, text, key=key, **draft), key) for key in keys)))


def _kept(memory: Any, remember: Remember, key: str) -> MemoryItem | None:
    """What is kept under a key; None where that was forgotten, so that it takes another one to keep it again."""
    try:
        return remember()
    except ConflictError as error:
        there = _kept_under(memory, key)
        if there is None or there.forgotten_at:
            return None
        if there.superseded_by:
            hint = f"{there.superseded_by} has its place; give a key of your own to remember this all the same"
            raise ConflictError(f"{there.id} says this, and was corrected", hint=hint) from error
        return there  # in other words than it was sent: what must not be written was taken out


def _kept_under(memory: Any, key: str) -> MemoryItem | None:
    """What was remembered under a key, if it is there in any form."""
    line = memory.vault.was_made(memory.vault.home.key_mark(memory.agent, key))
    return cast("MemoryItem | None", memory.get(line.ids[0])) if line and line.ids else None


def _mark(memory: Any, text: str, draft: Mapping[str, Any], at: datetime) -> str:
    kind = draft.get("type") or Type.OBSERVATION
    store = draft.get("tier") or draft.get("store") or Store.LONG_TERM
    further = (f"{name}={draft[name]}" for name in DISTINCT if draft.get(name) is not None)
    said = map(str, (memory.agent, at.date().isoformat(), kind, store, *further, text))
    return f"once-{blake2b(chr(0).join(said).encode('utf-8', 'replace')).hexdigest()[:24]}"
