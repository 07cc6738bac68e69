"""Episodes: something that happened, as a memory with its importance, its surroundings and what it has to do with."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from memfolio.errors import InputError
from memfolio.intake import ANY_ID, draft_of, nearest
from memfolio.state import Op
from memfolio.types import Action, Attribution, Type
from memfolio.vault.change import AddEntries, AddLines, Change, NewId
from memfolio.vault.format.draft import Draft
from memfolio.vault.format.fields import LEVELS, plain_object, read_importance
from memfolio.vault.paths import state_ledger

INTERACTION, SYSTEM, ERROR, DECISION, LEARNING = "user_interaction system_event error decision learning".split()
TYPES = {
    INTERACTION: Type.EVENT,
    SYSTEM: Type.EVENT,
    ERROR: Type.ERROR,
    DECISION: Type.DECISION,
    LEARNING: Type.LESSON,
}
GRADES = {1: LEVELS["low"], 2: LEVELS["medium"], 3: LEVELS["high"]}
MOST_CONTEXT = 16 * 1024
"""Bytes of JSON."""
BY = Attribution(actor="bot:auto-detect", trigger="episode")


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A memory that is yet to be made, and the ties that it gets."""

    draft: Draft
    related: tuple[str, ...] = ()

    @property
    def edges(self) -> tuple[Mapping[str, Any], ...]:
        """The state lines that tie the memory, the first of its change, to the others."""
        tie = {"op": Op.EDGE.value, "memory": NewId(0), "type": "relation", "predicate": "related"}
        return tuple(tie | {"to": each} for each in self.related)

    def change(self, agent: str, by: Attribution = BY) -> Change:
        """The one change that makes it."""
        lines = (AddLines(state_ledger(agent), self.edges),) if self.related else ()
        return Change(operations=(AddEntries(agent, (self.draft,)), *lines), by=by, action=Action.APPEND)


def episode_of(
    description: str,
    *,
    episode_type: str = INTERACTION,
    importance: float | str | None = None,
    context: Mapping[str, Any] | None = None,
    related: Iterable[str] = (),
    **further: object,
) -> Episode:
    """The episode that these values mean; `further` are other fields of a memory, such as `session` or `at`."""
    name = str(episode_type).strip().casefold().replace(" ", "_").replace("-", "_")
    if name not in TYPES:
        raise InputError(f"unknown episode type {str(episode_type)[:40]!r}", hint=nearest(name, list(TYPES)))
    draft = draft_of(
        content=description,
        type=TYPES[name],
        importance=importance_of(name) if importance is None else as_importance(importance),
        attributes=_attributes(name, context),
        **further,
    )
    return Episode(draft=draft, related=_ids(related))


def importance_of(
    episode_type: str, *, feedback: str | None = None, recovered: bool = False, is_recurring: bool = False
) -> float:
    """How important an event is by what is known of it."""
    grade = 2 if episode_type in (INTERACTION, ERROR, DECISION) else 1
    grade += episode_type == INTERACTION and (feedback or "").casefold() == "positive"
    grade -= episode_type == ERROR and recovered
    grade -= is_recurring
    return GRADES[min(3, max(1, grade))]


def as_importance(value: object) -> float:
    """`high`, `medium` or `low`, a share from 0 to 1, or a grade up to 10, as a share; what lies outside is clamped."""
    if isinstance(value, str):
        found = read_importance(value.strip())
        if found is None:
            raise InputError(f"{value[:40]!r} is not an importance", hint="use low, medium, high, 0 to 1, or 2 to 10")
        return found
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise InputError(f"an importance is a {type(value).__name__}", hint="use low, medium, high, 0 to 1, or 2 to 10")
    return min(1.0, max(0.0, float(value) if value <= 1 else value / 10))


def _attributes(name: str, context: Mapping[str, Any] | None) -> dict[str, Any]:
    found: dict[str, Any] = {"episode_type": name} if TYPES[name] is Type.EVENT else {}
    if context is None:
        return found
    if not isinstance(context, Mapping):
        raise InputError(f"context is a {type(context).__name__}", hint="pass a dictionary")
    plain = plain_object(context, "context")
    size = len(json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if size > MOST_CONTEXT:
        raise InputError(f"context has {size:,} bytes, more than {MOST_CONTEXT:,}", hint="keep what explains the event")
    return found | ({"context": plain} if plain else {})


def _ids(related: Iterable[object]) -> tuple[str, ...]:
    ids: tuple[object, ...] = (related,) if isinstance(related, str) else tuple(related)
    for each in ids:
        if not isinstance(each, str) or not ANY_ID.fullmatch(each):
            raise InputError(f"{str(each)[:40]!r} is not the id of a memory", hint="`recall` shows the ids of memories")
    return tuple(dict.fromkeys(map(str, ids)))
