"""Learning by the agent itself: it gets turns that neither an agent nor a model has read, and returns statements.

Its statements are checked like a model's: each names its turns, which must support it. Others are refused with a reason
and counted; the rest is one change per conversation, through the gate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from memfolio.errors import MemfolioError, PolicyError, ProposedError
from memfolio.index.maintenance import Conversation, turns_of, unheard
from memfolio.index.mind_pages import ItemStatus
from memfolio.index.search import frequencies
from memfolio.learn.ask import Beside, ModelStatement, learn_from
from memfolio.learn.learned import Learned, Statement, moment
from memfolio.learn.resolve import Reference, Resolution
from memfolio.llm.prompt import gives_orders
from memfolio.mind.heartbeat import Ending, intentions
from memfolio.recall.dates import moment_of
from memfolio.recall.searcher import Searcher
from memfolio.stores.flush import turn_of
from memfolio.tend.changes import JobChanges
from memfolio.tend.extract import clipped
from memfolio.tend.sessions import (
    CORRECTABLE,
    conversation_page,
    drafts_of,
    intend,
    is_owners_word,
    known_beside,
    learned_before,
    lines,
    only_new,
    resolved_beside,
    says_again,
    superseding,
)
from memfolio.tend.tend import tending
from memfolio.text import estimate_tokens
from memfolio.types import Action, Attribution, MemoryItem, Origin, Type, frozen
from memfolio.vault.change import AddEntries, AddLines, Change, Operation
from memfolio.vault.fields import local
from memfolio.vault.paths import Home, agent_of, state_ledger
from memfolio.vault.vault import Vault

BY = Attribution(actor="bot:learn", trigger="learn")
WAITING = timedelta(days=30)
"""How long turns that only the rules have read wait for an agent, which costs no further question to a model."""
TURNS, TOKENS = 40, 6_000
"""How much is handed out at once."""
LONGEST = 2_000
"""Characters of a turn that are shown."""
MOST_KNOWN = 100
"""How many are handed out at once."""
SURE = 0.9
"""How sure is what an agent says that turns tell: it read them beside each other, and the words were checked."""
SHARE = 1 / 3
"""How many words of a statement must come from its turns: an agent that took part says much in other words."""
_WORD = re.compile(r"[^\W\d_]+")
FIELDS = frozenset({"text", "type", "turns", "corrects", "due"})


@frozen
class Refusal:
    """Something that was said and is not kept, and why."""

    text: str
    why: str


@frozen
class Lesson:
    """What was learned of what was said, and the turns that are to be read next with what is known about them."""

    learned: tuple[MemoryItem, ...] = ()
    proposed: tuple[str, ...] = ()
    """Statements that wait for approval, as the policy requires."""
    refused: tuple[Refusal, ...] = ()
    turns: tuple[MemoryItem, ...] = ()
    known: tuple[MemoryItem, ...] = ()
    left: int = 0
    """How many turns wait besides those that are handed out."""


@frozen
class Doors:
    """Calls to the memory beside the change itself."""

    correct: Callable[[str, str], object]
    propose: Callable[..., Any]
    remind: Callable[[str, str, Sequence[str]], object]
    count: Callable[[str, int], None]


def hand_out(searcher: Searcher, now: datetime, zone: tzinfo, *, session: str | None, limit: int) -> Lesson:
    """Turns that neither an agent nor a model has read, the oldest conversation first, as many as are read at once."""
    searcher.prepare()
    waiting = _unread(searcher, now, session)
    shown, size = list[MemoryItem](), 0
    for item in waiting:
        size += min(estimate_tokens(item.content), LONGEST)
        if len(shown) == limit or (shown and size > TOKENS):
            break
        shown.append(replace(item, content=clipped(item.content, LONGEST)))
    known = known_beside(searcher, shown, now, zone)[:MOST_KNOWN]
    return Lesson(turns=tuple(shown), known=tuple(known), left=len(waiting) - len(shown))


def _unread(searcher: Searcher, now: datetime, session: str | None) -> list[MemoryItem]:
    """The turns that neither an agent nor a model has read and that the project at hand has a part in."""
    only = [session] if session else []
    found = list[MemoryItem]()
    for each in searcher.index.read(partial(unheard, only=only, since=now - WAITING)):
        turns = searcher.index.read(partial(turns_of, session=each.session))
        found += [turn.item for turn in turns if turn.item.id in each.unread and _is_at_hand(searcher, turn.item)]
    return found


def _is_at_hand(searcher: Searcher, item: MemoryItem) -> bool:
    return not searcher.projects or item.project is None or item.project.endswith(searcher.projects)


@frozen
class Said:
    """A statement about turns."""

    statement: ModelStatement
    items: tuple[MemoryItem, ...]
    corrects: tuple[MemoryItem, ...] = ()
    """Memories that it takes the place of, and turns of which something no longer holds."""
    due: str = ""


@dataclass(slots=True)
class Taken:
    """The outcome of the statements so far."""

    learned: list[MemoryItem] = field(default_factory=list)
    proposed: list[str] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


def take_in(
    vault: Vault,
    searcher: Searcher,
    given: Sequence[Mapping[str, Any]],
    through: str | None,
    doors: Doors,
    session: str | None = None,
) -> Lesson:
    """Learn what is said about turns; those up to `through` count as read, whether anything is said of them or not."""
    searcher.prepare()
    taken, said = Taken(), list[Said]()
    for each in given:
        found = _said(vault.home, searcher, each)
        if isinstance(found, str):
            taken.refused.append(Refusal(text=clipped(str(each.get("text", "")), 200), why=found))
        else:
            said.append(found)
    now = vault.home.now()
    waiting = {each.session: each for each in searcher.index.read(partial(unheard, since=now - WAITING))}
    read = _up_to(through, _unread(searcher, now, session)) if through else []
    sessions: dict[str, dict[str, MemoryItem]] = {}
    for item in (*read, *(item for each in said for item in each.items)):
        sessions.setdefault(item.session or "", {})[item.id] = item
    with tending(vault, searcher) as changes:
        for name, items in sessions.items():
            own = [each for each in said if (each.items[0].session or "") == name]
            further = {item.id: item for each in own for item in each.items}
            turns = sorted((items | further).values(), key=lambda item: (moment(item), item.id))
            conversation = waiting.get(name, Conversation(session=name, unread=frozenset(), last_us=0))
            _learn(changes, searcher, conversation, turns, own, taken, doors)
    doors.count("ungrounded", len(taken.refused))
    return Lesson(learned=tuple(taken.learned), proposed=tuple(taken.proposed), refused=tuple(taken.refused))


def _up_to(through: str, waiting: Sequence[MemoryItem]) -> list[MemoryItem]:
    """The turns that were read with this one: what was written before it, and at once with it, as it was handed out.

    The ids of what is written at once are in no order.
    """
    place = next((nth for nth, item in enumerate(waiting) if item.id == through), None)
    if place is None:
        return [item for item in waiting if item.id <= through]
    last = waiting[place].created_at
    return [
        item for nth, item in enumerate(waiting) if item.created_at < last or (nth <= place and item.created_at == last)
    ]


def _said(home: Home, searcher: Searcher, given: Mapping[str, Any]) -> Said | str:
    """One thing that was said, with the turns that it names; or why it makes no sense."""
    text, type_, named = given.get("text"), given.get("type", "fact"), given.get("turns")
    due, corrects = given.get("due") or "", given.get("corrects") or []
    corrects = [corrects] if isinstance(corrects, str) else corrects
    if unknown := sorted(set(given) - FIELDS):
        return f"it has {unknown[0]!r}; there are {', '.join(sorted(FIELDS))}"
    if not all(isinstance(each, str) for each in (text, type_, due)):
        return "text, type and due are texts"
    if not (isinstance(named, list) and isinstance(corrects, list)):
        return "turns is a list of ids, and corrects an id or a list of ids"
    found = [(each, searcher.find(each) if isinstance(each, str) else None) for each in named]
    items = [each.item for _, each in found if each and each.item.role and agent_of(each.path) == searcher.agent]
    if not items or len(items) < len(found):
        return "it names no turn, or one that is not there"
    replaced = [_corrected(searcher, each, items) for each in corrects]
    if why := next((each for each in replaced if isinstance(each, str)), ""):
        return why
    if due and (moment_due := moment_of(due, home.now(), home.zone, end=False)) is None:
        return "due is no time; write it like 2026-11-15 or 2026-11-15T14:30"
    places = tuple(range(len(items)))
    return Said(
        statement=ModelStatement(text=str(text), type=str(type_), turns=places),
        items=tuple(items),
        corrects=tuple(each for each in replaced if not isinstance(each, str)),
        due=local(moment_due, home.zone).isoformat(timespec="minutes") if due and moment_due else "",
    )


def _corrected(searcher: Searcher, id_: object, items: Sequence[MemoryItem]) -> MemoryItem | str:
    """What a statement from these turns corrects, or why it cannot: only the owner's words replace what is known."""
    known = searcher.find(id_) if isinstance(id_, str) else None
    if known is None or agent_of(known.path) != searcher.agent or known.item.id[:2] not in CORRECTABLE:
        return f"there is no memory {str(id_)[:60]!r} that it could correct: name one by its id, as `known` shows it"
    if known.item.superseded_by or known.item.forgotten_at:
        return f"{id_} does not hold any more; name {known.item.superseded_by or 'another one'} in its place, or none"
    if known.item.id in {item.id for item in items}:
        return f"{id_} is one of its turns: corrects is for what was said before"
    return (
        known.item if is_owners_word(items) else "only what the person said corrects what is known; `propose` the rest"
    )


def _learn(
    changes: JobChanges,
    searcher: Searcher,
    conversation: Conversation,
    turns: Sequence[MemoryItem],
    said: Sequence[Said],
    taken: Taken,
    doors: Doors,
) -> None:
    """Learn from one conversation as one change; what the policy does not let be done is proposed."""
    places = {item.id: place for place, item in enumerate(turns)}
    asked = [replace(s.statement, turns=tuple(places[item.id] for item in s.items)) for s in said]
    learned, found = learn_from(asked, list(map(turn_of, turns)), [_beside(searcher, each, turns) for each in said])
    held = dict[int, Statement]()
    for number, judged in enumerate(found):
        if isinstance(judged, str):
            taken.refused.append(Refusal(text=clipped(said[number].statement.text, 200), why=judged))
        else:
            held[number] = judged
    learned = _only_further(learned, held, said, turns, conversation.by_rules, searcher)
    dated = [(each, max(moment(turns[place]) for place in each.turns)) for each in learned.statements]
    corrects = [(old, each) for number, each in held.items() for old in said[number].corrects]
    way = changes.vault.config.learn.conflicts
    resolution, corrected = resolved_beside(searcher.index, dated, way, corrects)
    change = _change(changes, searcher, conversation, turns, learned, resolution, corrected)
    try:
        receipt = changes.make(change)
    except PolicyError as error:
        if not error.can_propose:
            raise
        _propose(held, said, taken, doors)
        return
    made = receipt.items if receipt else ()
    taken.learned += made
    if receipt:
        ended = _endings(changes, searcher, [(said[number], each) for number, each in held.items()])
        intend(changes, searcher.index, conversation, (), turns, ended)
    for number, each in held.items():
        if receipt and (due := said[number].due) and not _is_awaited(changes, said[number]):
            doors.remind(each.text, due, [item.id for item in said[number].items])


def _beside(searcher: Searcher, said: Said, turns: Sequence[MemoryItem]) -> Beside:
    """What a statement may take its words from besides its turns: what else the person said then, what they answered
    to, what it corrects, and the names that are known."""
    named = {item.id for item in said.items}
    answered = {before.id for before, item in pairwise(turns) if item.id in named}
    around = [each for each in turns if each.id in answered or turn_of(each).is_person]
    around = [each for each in (*around, *said.corrects) if each.origin is not Origin.UNTRUSTED]
    names = {word.casefold() for word in _WORD.findall(said.statement.text) if word[0].isupper()}
    counts = searcher.index.read(partial(frequencies, words=names, cap=1))
    return Beside(
        around="\n".join(each.content for each in around if not gives_orders(each.content)),
        names=frozenset(name for name in names if counts.get(name)),
        share=SHARE,
    )


def _is_awaited(changes: JobChanges, said: Said) -> bool:
    """Whether an intention of the same turns comes up on the same day already, as the rules made it of them."""
    turns, day, zone = {item.id for item in said.items}, said.due[:10], changes.vault.home.zone
    waiting = (each for each in intentions(changes.vault, changes.agent) if not turns.isdisjoint(each.links("from")))
    return any(
        day in each.fields.get("when", "") or (each.deadline and f"{local(each.deadline, zone):%Y-%m-%d}" == day)
        for each in waiting
    )


def _only_further(
    learned: Learned,
    held: Mapping[int, Statement],
    said: Sequence[Said],
    turns: Sequence[MemoryItem],
    by_rules: Collection[str],
    searcher: Searcher,
) -> Learned:
    """What was learned beside what the rules made of these turns before: what says the same adds nothing."""
    before = learned_before(searcher.index, by_rules, holds=False)
    told = [each for number, each in held.items() if said[number].corrects or not says_again(each, turns, before)]
    rest = replace(learned, statements=[each for each in learned.statements if each not in held.values()])
    further = only_new(rest, turns, by_rules)
    return replace(further, statements=[*told, *further.statements])


def _endings(changes: JobChanges, searcher: Searcher, held: Iterable[tuple[Said, Statement]]) -> list[Ending]:
    """The intentions that are corrected, by their own ids or by that of the task that they come from."""
    found = dict[str, Ending]()
    waiting = intentions(changes.vault, changes.agent)
    for each, statement in held:
        named = {old.id for old in each.corrects}
        turns = {turn for old in each.corrects if old.type is Type.TASK for turn in old.derived_from}
        at = max(map(moment, each.items))
        for item in waiting:
            if item.id in named or not turns.isdisjoint(item.links("from")):
                found[item.id] = Ending(item=item, status=ItemStatus.DONE, says=statement.text, at=at)
    return list(found.values())


def _change(
    changes: JobChanges,
    searcher: Searcher,
    conversation: Conversation,
    turns: Sequence[MemoryItem],
    learned: Learned,
    resolution: Resolution,
    corrected: Sequence[tuple[MemoryItem, Reference]],
) -> Change:
    agent = changes.agent
    closely = [item.id for item in turns]
    # What an agent says turns tell is its own word, however true it is.
    drafts = [
        each if each.origin is Origin.UNTRUSTED else each._replace(origin=Origin.AGENT, confidence=SURE)
        for each in drafts_of(resolution.kept, turns, closely)
    ]
    spoken = [each.item for each in searcher.index.read(partial(turns_of, session=conversation.session))]
    gone = [old.id for old, new in corrected if new != old.id]
    page = conversation_page(changes, searcher.index, conversation, spoken, turns, resolution, gone)
    path = page.path if page else conversation.page
    records = [*lines(turns, learned, resolution, path, closely), *superseding(corrected, resolution)]
    operations: list[Operation] = [
        *([AddEntries(agent, tuple(drafts))] if drafts else []),
        AddLines(state_ledger(agent), tuple(records)),
        *([page] if page else []),
    ]
    told = json.dumps([[item.id for item in turns], [each.text for each in learned.statements], gone])
    key = changes.vault.home.key_mark(agent, f"learn {blake2b(told.encode(), digest_size=16).hexdigest()}")
    by = replace(BY, session=conversation.session or None)
    return Change(operations=tuple(operations), by=by, action=Action.APPEND, key=key)


def _propose(held: Mapping[int, Statement], said: Sequence[Said], taken: Taken, doors: Doors) -> None:
    for number, each in held.items():
        try:
            if old := next((old for old in said[number].corrects if not old.role), None):
                doors.correct(old.id, each.text)
            else:
                taken.proposed.append(doors.propose(each.text, type=each.type.value).id)
        except ProposedError as error:
            taken.proposed.append(error.proposal)
        except MemfolioError as error:
            taken.refused.append(Refusal(text=clipped(each.text, 200), why=error.message))
