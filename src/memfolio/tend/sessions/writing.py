"""What a conversation leaves behind: the memories and state lines that say what was learned from it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memfolio.index.conversations import marks
from memfolio.learn.drafting import drafted, moment
from memfolio.learn.learned import Learned, Statement
from memfolio.learn.resolve import Reference, Resolution
from memfolio.state import Op
from memfolio.stores import extract
from memfolio.types import MemoryItem
from memfolio.vault.change import AddEntries, Operation

CITED = 5
"""How many turns a mention names."""
NAMED = 100
"""How many people and things one conversation adds."""


def entries(agent: str, kept: Sequence[Statement], turns: Sequence[MemoryItem]) -> Iterator[Operation]:
    drafts = tuple(drafted(each, [turns[place] for place in each.turns]) for each in kept)
    if drafts:
        yield AddEntries(agent, drafts)


def lines(
    turns: Sequence[MemoryItem], learned: Learned, resolution: Resolution, page: str | None
) -> Iterator[dict[str, Any]]:
    yield from extract.lines(resolution)
    for known, statement in resolution.repeated:
        if isinstance(known, str):
            yield from extract.said_again(known, (turns[place].id for place in statement.turns))
    for each in learned.causes:
        yield _edge(turns[each.cause].id, turns[each.effect].id, "causal") | {"predicate": "hypothesis"}
    yield {  # whose session it is, the writer adds
        "op": Op.SESSION.value,
        "read": marks(turn.id for turn in turns),
        **({"page": page} if page else {}),
        "mentions": [
            {
                "name": each.name,
                "type": each.type,
                "aliases": list(each.aliases),
                "in": _cited(each.turns, turns),
                "on": f"{min((moment(turns[place]) for place in each.turns), default=moment(turns[0])):%Y-%m-%d}",
            }
            for each in learned.mentions[:NAMED]
        ],
        "relations": [
            {
                "subject": each.subject,
                "predicate": each.predicate,
                "object": each.object,
                "in": _cited(each.turns, turns),
            }
            for each in learned.relations[:NAMED]
        ],
    }


def _edge(source: Reference, target: Reference, type: str) -> dict[str, Any]:
    return {"op": Op.EDGE.value, "memory": source, "to": target, "type": type}


def _cited(places: Sequence[int], turns: Sequence[MemoryItem]) -> list[str]:
    return [turns[place].id for place in places[:CITED]]
