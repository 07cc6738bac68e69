"""Working memory: a few memories at hand. The next one sends one of them to short-term memory; none is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memfolio.index.index import Index
from memfolio.index.shelf import working
from memfolio.state import Op
from memfolio.tuning import Shelves
from memfolio.types import Store
from memfolio.vault.change import AddLines, NewId, Operation
from memfolio.vault.format.draft import Draft
from memfolio.vault.paths import state_ledger


def make_room(index: Index, agent: str, drafts: Sequence[Draft], shelves: Shelves) -> tuple[Operation, ...]:
    """What goes with adding these memories: that working memory sends on what it has no room for then."""
    coming = [NewId(place) for place, draft in enumerate(drafts) if draft.store is Store.WORKING]
    held: list[str | NewId] = []
    if coming:
        held += index.read(lambda connection: working(connection, least_used=shelves.least_used))
    leaving = [*held, *coming][: -shelves.working]
    return (AddLines(state_ledger(agent), tuple(map(_demoted, leaving))),) if leaving else ()


def _demoted(memory: str | NewId) -> dict[str, Any]:
    return {"op": Op.STORE.value, "memory": memory, "store": Store.SHORT_TERM.value}
