"""Learning from conversations that are over: turns → learned → resolved beside what is known → one change each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest
from typing import Any, cast

from memfolio.errors import ModelError
from memfolio.index.conversations import LEARNED, Conversation, knowledge, turns_after, unheard
from memfolio.index.index import Index
from memfolio.index.rows import ROLES, from_us
from memfolio.learn.learned import Learned, Statement, Turn
from memfolio.learn.rules import learn
from memfolio.llm.model import Model
from memfolio.recall.context.fence import strip_fences
from memfolio.state import Op
from memfolio.tend.consolidate.summary import least_trusted
from memfolio.tend.hand import Hand, tender
from memfolio.tend.sessions.conflicts import conflict_page
from memfolio.tend.sessions.page import compose_page, moment, page_path
from memfolio.tend.sessions.resolve import Knowledge, Known, Reference, Resolution, Way, resolve
from memfolio.tuning import Learning
from memfolio.types import Action, MemoryItem, Origin, Store
from memfolio.vault.change import AddEntries, AddLines, Change, Operation, PutPage
from memfolio.vault.format.draft import Draft
from memfolio.vault.paths import state_ledger

CITED = 5
"""How many turns a mention names."""
NAMED = 100
"""How many people and things one conversation adds."""
USER = "The user"
UNWRITTEN = "M-0-00000000"
"""Stands for the id of what is only shown."""
MACHINES = ROLES - {"user", "human"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What one conversation brought."""

    session: str
    turns: int
    learned: int
    replaced: int
    conflicts: int


Told = Callable[[int, int], None]


def hear_out(
    hand: Hand,
    index: Index,
    settings: Learning,
    *,
    model: Model | None = None,
    only: str | None = None,
    besides: str | None = None,
    is_over: bool = False,
    told: Told = lambda done, total: None,
) -> list[Heard]:
    """Learn from every conversation that is over, each as one change that is made once, whoever else tries.

    `only` is about one of them, which `is_over` even if it was not silent for long; `besides` is left out.
    """
    silent = hand.now - settings.idle
    waiting = [each for each in index.read(unheard) if each.session != besides and only in (None, each.session)]
    due = [each for each in waiting if is_over or from_us(each.last_us) <= silent]
    known = Knowledge(map(Known.of, index.read(knowledge))) if due else Knowledge(())
    heard = []
    for done, each in enumerate(due):
        told(done, len(due))
        found = _hear(hand, index, each, known, settings, model)
        if found is not None:
            heard.append(found)
    return heard


def _hear(
    hand: Hand, index: Index, conversation: Conversation, known: Knowledge, settings: Learning, model: Model | None
) -> Heard | None:
    turns = [each.item for each in index.read(lambda db: turns_after(db, conversation))]
    learned = learn_from(turns, model, hand.notes)
    said = [(each, _said(each, turns)) for each in learned.statements]
    resolution = resolve(said, known, cast(Way, settings.conflicts))
    operations = [
        *_entries(hand.agent, resolution.kept, turns),
        AddLines(state_ledger(hand.agent), tuple(_lines(conversation, turns, learned, resolution))),
        *_pages(hand, conversation, turns, resolution, settings),
    ]
    key = hand.vault.home.key_mark(hand.agent, f"session {conversation.session} {conversation.last}")
    by = replace(tender("session"), session=conversation.session)
    receipt = hand.make(Change(operations=tuple(operations), by=by, action=Action.APPEND, key=key))
    if receipt is None and not hand.dry_run:
        return None  # another process was quicker
    for new, ref in zip_longest(resolution.added, [item.id for item in receipt.items] if receipt else ()):
        known.settle(new, ref or UNWRITTEN)
    return Heard(
        session=conversation.session,
        turns=len(turns),
        learned=len(resolution.kept),
        replaced=len(resolution.replaced),
        conflicts=len(resolution.contradicting),
    )


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


def _said(statement: Statement, turns: Sequence[MemoryItem]) -> datetime:
    return max(moment(turns[place]) for place in statement.turns)


def _entries(agent: str, kept: Sequence[Statement], turns: Sequence[MemoryItem]) -> Iterator[Operation]:
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


def _lines(
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


def _pages(
    hand: Hand, conversation: Conversation, turns: Sequence[MemoryItem], resolution: Resolution, settings: Learning
) -> Iterator[Operation]:
    zone = hand.vault.home.zone
    path = page_path(hand.agent, conversation.session, moment(turns[0]), zone)
    if settings.transcripts and hand.vault.page(path) is None:
        yield PutPage(path, compose_page(conversation.session, turns, zone).encode("utf-8", "replace"), None)
    if resolution.contradicting:
        yield conflict_page(hand, resolution.contradicting)
