"""Episodes: something that happened, as a memory with its importance, its surroundings and what it has to do with."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from memfolio.arguments import ANY_ID, draft_of, nearest
from memfolio.errors import InputError
from memfolio.state import Op
from memfolio.types import Action, Attribution, Type, frozen
from memfolio.vault.change import AddEntries, AddLines, Change, NewId
from memfolio.vault.fields import Draft, read_importance
from memfolio.vault.lines import plain_object
from memfolio.vault.paths import state_ledger

TYPES = {
    "user_interaction": (Type.EVENT, "medium"),
    "system_event": (Type.EVENT, "low"),
    "error": (Type.ERROR, "medium"),
    "decision": (Type.DECISION, "medium"),
    "learning": (Type.LESSON, "low"),
}
"""Type and default importance of each kind of episode."""
MOST_CONTEXT = 16 * 1024
"""Bytes of JSON."""
BY = Attribution(actor="bot:auto-detect", trigger="episode")


@frozen
class Episode:
    """A memory that is yet to be made, and the ties that it gets."""

    draft: Draft
    related: tuple[str, ...] = ()

    @property
    def edges(self) -> tuple[Mapping[str, Any], ...]:
        """The state lines that tie the memory, the first of its change, to the others."""
        # The memory has no id before it is written: `NewId(0)` stands for it.
        tie = {"op": Op.EDGE, "memory": NewId(0), "type": "relation", "predicate": "related"}
        return tuple(tie | {"to": each} for each in self.related)

    def change(self, agent: str, by: Attribution = BY) -> Change:
        """The one change that makes it."""
        lines = (AddLines(state_ledger(agent), self.edges),) if self.related else ()
        return Change(operations=(AddEntries(agent, (self.draft,)), *lines), by=by, action=Action.APPEND)


def episode_of(
    description: str,
    *,
    episode_type: str = "user_interaction",
    importance: float | str | None = None,
    context: Mapping[str, Any] | None = None,
    related: Iterable[str] = (),
    **further: object,
) -> Episode:
    """The episode that these values mean; `further` are other fields of a memory, such as `session` or `at`."""
    # Older callers write User Interaction or user-interaction.
    name = str(episode_type).strip().casefold().replace(" ", "_").replace("-", "_")
    if name not in TYPES:
        raise InputError(f"unknown episode type {str(episode_type)[:40]!r}", hint=nearest(name, list(TYPES)))
    type_, level = TYPES[name]
    around = as_object("context", context, MOST_CONTEXT)
    draft = draft_of(
        content=description,
        type=type_,
        importance=as_importance(level if importance is None else importance),
        attributes=({"episode_type": name} if type_ is Type.EVENT else {}) | ({"context": around} if around else {}),
        **further,
    )
    return Episode(draft=draft, related=_ids(related))


def as_importance(value: object) -> float:
    """`high`, `medium` or `low`, a share from 0 to 1, or a grade up to 10, as a share; what lies outside is clamped."""
    if isinstance(value, str):
        found = read_importance(value.strip())
        if found is None:
            raise InputError(f"{value[:40]!r} is not an importance", hint="use low, medium, high, 0 to 1, or 2 to 10")
        return found
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise InputError(f"an importance is a {type(value).__name__}", hint="use low, medium, high, 0 to 1, or 2 to 10")
    # A 1 is a share: whoever grades from 1 to 10 begins at 2.
    return min(1.0, max(0.0, float(value) if value <= 1 else value / 10))


def as_object(name: str, value: object, most: int) -> dict[str, Any]:
    """A dictionary as JSON would read it back, of at most so many bytes; None is an empty one."""
    if not isinstance(value, Mapping | None):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass a dictionary")
    plain = plain_object(value or {}, name)
    size = len(json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if size > most:
        raise InputError(
            f"{name} has {size:,} bytes, more than {most:,}", hint="keep what is needed; remember the rest"
        )
    return plain


def _ids(related: Iterable[object]) -> tuple[str, ...]:
    ids: tuple[object, ...] = (related,) if isinstance(related, str) else tuple(related)
    for each in ids:
        if not isinstance(each, str) or not ANY_ID.fullmatch(each):
            raise InputError(f"{str(each)[:40]!r} is not the id of a memory", hint="`recall` shows the ids of memories")
    return tuple(dict.fromkeys(map(str, ids)))
