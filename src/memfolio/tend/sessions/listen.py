"""What a conversation tells: its turns as rules and models read them, and what these make of them."""

from __future__ import annotations

from collections.abc import Sequence

from memfolio.errors import ModelError
from memfolio.index.rows import ROLES
from memfolio.learn.drafting import moment
from memfolio.learn.learned import Learned, Turn
from memfolio.learn.rules import learn
from memfolio.llm.model import Model
from memfolio.recall.context.fence import strip_fences
from memfolio.types import MemoryItem, Origin

USER = "The user"
MACHINES = ROLES - {"user", "human"}


def learn_from(turns: Sequence[MemoryItem], model: Model | None, notes: list[str]) -> Learned:
    """What these turns tell, by the model if there is one that answers, else by rules; words recalled are not new."""
    said = [as_turn(turn) for turn in turns]
    if model is None:
        return learn(said)
    from memfolio.learn.ask import learn_by_model

    try:
        return learn_by_model(model, said)
    except ModelError as error:
        note = f"learned without the model: {error.message}"
        if note not in notes:
            notes.append(note)
        return learn(said)


def as_turn(item: MemoryItem) -> Turn:
    """A turn as rules and models read it; strangers' words teach nothing, whoever plays them in."""
    role = item.role or ""
    is_user = role.casefold() in ("user", "human")
    return Turn(
        content=strip_fences(item.content),
        speaker=(item.user or USER) if is_user else role,
        is_person=role.casefold() not in MACHINES and item.origin is not Origin.UNTRUSTED,
        at=moment(item),
    )
