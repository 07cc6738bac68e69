"""Learning from conversations that are over: turns → learned → resolved beside what is known → one change each."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass, replace
from functools import partial

from memfolio.errors import HomeBusyError, MemfolioError, ModelError
from memfolio.govern.reflection.reviews import is_unwanted, refused
from memfolio.index.conversations import Conversation, turns_of, unheard
from memfolio.index.index import Index
from memfolio.index.rows import ROLES, from_us
from memfolio.learn.drafting import moment
from memfolio.learn.learned import Learned, Turn
from memfolio.learn.rules import learn
from memfolio.llm.model import Model
from memfolio.recall.context.fence import strip_fences
from memfolio.stores.extract import resolved
from memfolio.tend.hand import Hand, tender
from memfolio.tend.sessions.page import compose_page, conflict_page, page_path
from memfolio.tend.sessions.writing import entries, lines
from memfolio.tuning import Learning
from memfolio.types import Action, MemoryItem, Origin
from memfolio.vault.change import AddLines, Change, Operation, PutPage
from memfolio.vault.paths import state_ledger

MACHINES = ROLES - {"user", "human"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What one conversation brought."""

    session: str
    turns: int
    learned: int
    replaced: int
    conflicts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Which conversations are over: those that fell silent, or all, or all that are named, besides one."""

    only: Collection[str] = ()
    besides: str | None = None
    is_over: bool = False
    """Whether they are over even if they were not silent for long."""
    again: bool = False
    """Whether what a person undid is learned once more."""


SILENT = Ended()
Told = Callable[[int, int], None]


def hear_out(
    hand: Hand,
    index: Index,
    settings: Learning,
    ended: Ended = SILENT,
    *,
    model: Model | None = None,
    enough: Callable[[], bool] = lambda: False,
    told: Told = lambda done, total: None,
) -> list[Heard]:
    """Learn from every conversation that is over, each as one change, until there is `enough`.

    The caller keeps other processes from doing the same meanwhile (`tend.alone`). What cannot be learned from is noted
    and does not stop the others, unless it was named.
    """
    due, heard = _due(hand, index, settings, ended), []
    for done, each in enumerate(due):
        if enough():
            hand.notes.append(f"the time is up, {len(due) - done} of {len(due)} conversations wait for the next time")
            break
        told(done, len(due))
        try:
            found = _hear(hand, index, each, settings, model)
        except MemfolioError as error:
            if ended.only or isinstance(error, HomeBusyError):
                raise
            hand.notes.append(f"conversation {each.session} was not learned from: {error.message}")
            continue
        if found is not None:
            heard.append(found)
    return heard


def _due(hand: Hand, index: Index, settings: Learning, ended: Ended) -> list[Conversation]:
    silent = hand.now - settings.idle
    waiting = index.read(partial(unheard, only=ended.only))
    due = [each for each in waiting if ended.is_over or from_us(each.last_us) <= silent]
    due = [each for each in due if each.session != ended.besides]
    if ended.again or not due or hand.vault.trouble is not None:
        return due
    with hand.vault.writer.ready():
        rest = [replace(each, unread=_not_undone(hand, each)) for each in due]
    return [each for each in rest if each.unread]


def _not_undone(hand: Hand, conversation: Conversation) -> frozenset[str]:
    """The turns behind those that were learned from in a change that a person took back: the trail has its key."""
    made_under = hand.vault.books.made_under
    undone = [each for each in conversation.unread if made_under(_key(hand, conversation, each))]
    return frozenset(each for each in conversation.unread if each > max(undone, default=""))


def _key(hand: Hand, conversation: Conversation, last: str) -> str:
    """What the change that learns from a conversation up to this turn has in the trail, also when it was undone."""
    return hand.vault.home.key_mark(hand.agent, f"session {conversation.session} {last}")


def _hear(
    hand: Hand, index: Index, conversation: Conversation, settings: Learning, model: Model | None
) -> Heard | None:
    whole = [each.item for each in index.read(partial(turns_of, session=conversation.session))]
    turns = [each for each in whole if each.id in conversation.unread]
    if not turns:
        return None  # forgotten meanwhile
    learned = _wanted(_learn(turns, model, hand.notes), refused(hand.vault, hand.agent))
    said = [(each, max(moment(turns[place]) for place in each.turns)) for each in learned.statements]
    resolution = resolved(index, said, settings.conflicts)
    page = _page(hand, conversation, whole) if settings.transcripts else None
    path = page.path if page else conversation.page
    operations: list[Operation] = [
        *entries(hand.agent, resolution.kept, turns),
        AddLines(state_ledger(hand.agent), tuple(lines(turns, learned, resolution, path))),
        *([page] if page else []),
    ]
    if resolution.contradicting and settings.conflicts != "keep":
        operations.append(conflict_page(hand, resolution, turns))
    if not _make(hand, conversation, turns, operations):
        return None
    return Heard(
        session=conversation.session,
        turns=len(turns),
        learned=len(resolution.kept),
        replaced=len(resolution.replaced),
        conflicts=len(resolution.contradicting),
    )


def _learn(turns: Sequence[MemoryItem], model: Model | None, notes: list[str]) -> Learned:
    """What these turns tell, by the model if there is one that answers, else by rules; words recalled are not new."""
    said = [_turn(turn) for turn in turns]
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


def _wanted(learned: Learned, marks: Container[str]) -> Learned:
    """What was learned, less what a person did not want to be, and relations that it tells of."""
    unwanted = [each.text for each in learned.statements if is_unwanted(each.text, marks)]
    told = [each for each in learned.relations for text in unwanted if each.subject in text and each.object in text]
    return replace(
        learned,
        statements=[each for each in learned.statements if each.text not in unwanted],
        relations=[each for each in learned.relations if each not in told],
    )


def _turn(item: MemoryItem) -> Turn:
    """A turn as rules and models read it; strangers' words teach nothing, whoever plays them in."""
    role = item.role or ""
    is_user = role.casefold() in ("user", "human")
    return Turn(
        content=strip_fences(item.content),
        speaker=(item.user or "The user") if is_user else role,
        is_person=role.casefold() not in MACHINES and item.origin is not Origin.UNTRUSTED,
        at=moment(item),
    )


def _make(hand: Hand, conversation: Conversation, turns: Sequence[MemoryItem], operations: Sequence[Operation]) -> bool:
    by = replace(tender("session"), session=conversation.session)
    change = Change(operations=tuple(operations), by=by, action=Action.APPEND)
    if hand.dry_run:
        hand.make(change)
        return True
    key = _key(hand, conversation, max(each.id for each in turns))
    with hand.vault.writer.ready():
        is_again = hand.vault.books.made_under(key) is not None
        return hand.make(change if is_again else replace(change, key=key)) is not None


def _page(hand: Hand, conversation: Conversation, whole: Sequence[MemoryItem]) -> PutPage | None:
    """The page about the whole conversation, unless a person made it theirs or something stands in its place."""
    zone = hand.vault.home.zone
    path = conversation.page or page_path(hand.agent, conversation.session, moment(whole[0]), zone)
    try:
        page, trouble = hand.vault.page(path), f"{path} is a folder"
    except MemfolioError as error:
        page, trouble = None, error.message
    if page is None and os.path.lexists(hand.vault.home.path(path)):
        hand.notes.append(f"there is no page about conversation {conversation.session}: {trouble}")
        return None
    text = compose_page(conversation.session, whole, zone, page.text if page else None)
    return PutPage(path, text.encode("utf-8", "replace"), page.hash if page else None) if text is not None else None
