"""Learning from conversations that are over: turns → learned → resolved beside what is known → one change each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest
from typing import cast

from memfolio.index.conversations import Conversation, knowledge, turns_after, unheard
from memfolio.index.index import Index
from memfolio.index.rows import from_us
from memfolio.learn.drafting import moment
from memfolio.learn.learned import Statement
from memfolio.learn.resolve import Knowledge, Known, Resolution, Way, resolve
from memfolio.llm.model import Model
from memfolio.tend.hand import Hand, tender
from memfolio.tend.sessions.conflicts import conflict_page
from memfolio.tend.sessions.listen import learn_from
from memfolio.tend.sessions.page import compose_page, page_path
from memfolio.tend.sessions.writing import entries, lines
from memfolio.tuning import Learning
from memfolio.types import Action, MemoryItem
from memfolio.vault.change import AddLines, Change, Operation, PutPage
from memfolio.vault.paths import state_ledger

UNWRITTEN = "M-0-00000000"
"""Stands for the id of what is only shown."""


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
        *entries(hand.agent, resolution.kept, turns),
        AddLines(state_ledger(hand.agent), tuple(lines(conversation, turns, learned, resolution))),
        *_pages(hand, index, conversation, resolution, settings),
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


def _said(statement: Statement, turns: Sequence[MemoryItem]) -> datetime:
    return max(moment(turns[place]) for place in statement.turns)


def _pages(
    hand: Hand, index: Index, conversation: Conversation, resolution: Resolution, settings: Learning
) -> Iterator[Operation]:
    if settings.transcripts:
        yield from _page(hand, index, conversation)
    if resolution.contradicting:
        yield conflict_page(hand, resolution.contradicting)


def _page(hand: Hand, index: Index, conversation: Conversation) -> Iterator[Operation]:
    """The page about the whole conversation, unless a person made it theirs."""
    whole = [each.item for each in index.read(lambda db: turns_after(db, replace(conversation, until="")))]
    zone = hand.vault.home.zone
    path = page_path(hand.agent, conversation.session, moment(whole[0]), zone)
    page = hand.vault.page(path)
    text = compose_page(conversation.session, whole, zone, page.text if page else None)
    if text is not None:
        yield PutPage(path, text.encode("utf-8", "replace"), page.hash if page else None)
