"""What a conversation leaves behind: the memories and state lines that say what was learned from it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memfolio.index.conversations import LEARNED, Conversation
from memfolio.learn.learned import Learned, Statement
from memfolio.state import Op
from memfolio.tend.consolidate.summary import least_trusted
from memfolio.tend.sessions.page import moment
from memfolio.tend.sessions.resolve import Reference, Resolution
from memfolio.types import MemoryItem, Store
from memfolio.vault.change import AddEntries, Operation
from memfolio.vault.format.draft import Draft

CITED = 5
"""How many turns a mention names."""
NAMED = 100
"""How many people and things one conversation adds."""


def entries(agent: str, kept: Sequence[Statement], turns: Sequence[MemoryItem]) -> Iterator[Operation]:
    drafts = tuple(_draft(each, [turns[place] for place in each.turns]) for each in kept)
    if drafts:
        yield AddEntries(agent, drafts)


def _draft(statement: Statement, sources: Sequence[MemoryItem]) -> Draft:
    about: dict[str, Any] = {
        "subject": statement.subject,
        "predicate": statement.predicate,
        "object": statement.object,
        "single": statement.is_single,
        "negated": statement.negated,
    }
    return Draft(
        content=statement.text,
        type=statement.type,
        kind=statement.kind,
        store=Store.LONG_TERM,
        user=sources[0].user,
        importance=statement.importance,
        confidence=statement.confidence,
        tags=statement.tags,
        source=LEARNED,  # and no session, which only what was said in it belongs to
        origin=least_trusted(sources),
        event_time=max(map(moment, sources)),
        derived_from=tuple(each.id for each in sources),
        attributes={name: value for name, value in about.items() if value},
    )


def lines(
    conversation: Conversation, turns: Sequence[MemoryItem], learned: Learned, resolution: Resolution
) -> Iterator[dict[str, Any]]:
    for old, new in resolution.replaced:
        yield {"op": Op.SUPERSEDE.value, "memory": old, "by": new}
    for clash in resolution.contradicting:
        yield _edge(clash.new.ref, clash.old.ref, "contradicts")
    for known, statement in resolution.repeated:
        if isinstance(known, str):
            yield {"op": Op.ACCESS.value, "memory": known, "count": 1}
            yield from (_edge(known, turns[place].id, "derived_from") for place in statement.turns)
    for each in learned.causes:
        yield _edge(turns[each.cause].id, turns[each.effect].id, "causal") | {"predicate": "hypothesis"}
    yield {  # whose session it is, the writer adds
        "op": Op.SESSION.value,
        "until": conversation.last,
        "turns": len(turns),
        "mentions": [
            {"name": each.name, "type": each.type, "aliases": list(each.aliases), "in": _cited(each.turns, turns)}
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
