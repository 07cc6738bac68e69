"""Learning by the agent itself: it gets turns that neither an agent nor a model has read, and returns statements.

Its statements are checked like a model's: each names its turns, which must support it. Others are refused with a reason
and counted; the rest is one change per conversation, through the gate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from hashlib import blake2b
from itertools import chain
from typing import Any

from memfolio.errors import MemfolioError, PolicyError, ProposedError
from memfolio.index.maintenance import Conversation, turns_of, unheard
from memfolio.index.mind_pages import ItemStatus
from memfolio.learn.ask import ModelStatement, learn_from
from memfolio.learn.learned import Learned, Statement, drafted, moment
from memfolio.learn.resolve import Reference, Resolution, plain_words
from memfolio.llm.prompt import gives_orders
from memfolio.mind.reminders import Ending, intentions
from memfolio.recall.dates import moment_of
from memfolio.recall.searcher import Searcher
from memfolio.state import Op
from memfolio.stores.flush import resolved, turn_of
from memfolio.tend.changes import JobChanges
from memfolio.tend.extract import clipped
from memfolio.tend.sessions import AGAIN, conversation_page, intend, learned_before, lines, only_new, says_again
from memfolio.tend.tend import tending
from memfolio.text import estimate_tokens
from memfolio.types import Action, Attribution, MemoryItem, Origin, Type, frozen
from memfolio.vault.change import AddEntries, AddLines, Change, NewId, Operation
from memfolio.vault.fields import local
from memfolio.vault.paths import Home, agent_of, state_ledger
from memfolio.vault.vault import Vault

BY = Attribution(actor="bot:learn", trigger="learn")
TURNS, TOKENS = 40, 6_000
"""How much is handed out at once."""
LONGEST = 2_000
"""Characters of a turn that are shown."""
ASKED_ABOUT = 12
"""How many turns are looked up for what is known about them."""
SPOKEN = "conversation"
"""The source of what was said, not brought in from elsewhere."""
FIELDS = frozenset({"text", "type", "turns", "corrects", "due"})

Known = Callable[[str], Iterable[MemoryItem]]


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


def hand_out(searcher: Searcher, known: Known, now: datetime, *, session: str | None, limit: int) -> Lesson:
    """Turns that neither an agent nor a model has read, the oldest conversation first, as many as are read at once."""
    searcher.prepare()
    waiting = _unread(searcher, now, session)
    shown, size = list[MemoryItem](), 0
    for item in waiting:
        size += min(estimate_tokens(item.content), LONGEST)
        if len(shown) == limit or (shown and size > TOKENS):
            break
        shown.append(replace(item, content=clipped(item.content, LONGEST)))
    told = [turn_of(item) for item in shown]
    asked = [turn.content for turn in told if turn.is_person and not gives_orders(turn.content)][:ASKED_ABOUT]
    made = learned_before(searcher.index, {item.id for item in shown})  # by the rules, which may be said better
    found = {item.id: item for item in (*made, *chain.from_iterable(map(known, asked)))}
    # A reminder is a memory and an intention; it is handed over once.
    tasks = [item.content for item in found.values() if item.type is Type.TASK and item.id[0] == "M"]
    once = [item for item in found.values() if item.id[0] == "M" or not any(each in item.content for each in tasks)]
    return Lesson(turns=tuple(shown), known=tuple(once), left=len(waiting) - len(shown))


def _unread(searcher: Searcher, now: datetime, session: str | None) -> list[MemoryItem]:
    """The turns that neither an agent nor a model has read and that the project at hand has a part in."""
    only = [session] if session else []
    found = list[MemoryItem]()
    for each in searcher.index.read(partial(unheard, only=only, since=now - AGAIN)):
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
    corrects: str = ""
    due: str = ""


@dataclass(slots=True)
class Taken:
    """The outcome of the statements so far."""

    learned: list[MemoryItem] = field(default_factory=list)
    proposed: list[str] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


def take_in(
    vault: Vault, searcher: Searcher, given: Sequence[Mapping[str, Any]], through: str | None, doors: Doors
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
    waiting = {each.session: each for each in searcher.index.read(partial(unheard, since=now - AGAIN))}
    at_hand = {item.id: item for item in _unread(searcher, now, None)} if through else {}
    sessions: dict[str, dict[str, MemoryItem]] = {}
    read = (item for id_, item in at_hand.items() if id_ <= (through or ""))
    for item in (*read, *(item for each in said for item in each.items)):
        sessions.setdefault(item.session or "", {})[item.id] = item
    with tending(vault, searcher) as changes:
        for session, items in sessions.items():
            own = [each for each in said if (each.items[0].session or "") == session]
            further = {item.id: item for each in own for item in each.items}
            turns = sorted((items | further).values(), key=lambda item: (moment(item), item.id))
            conversation = waiting.get(session, Conversation(session=session, unread=frozenset(), last_us=0))
            _learn(changes, searcher, conversation, turns, own, taken, doors)
    doors.count("ungrounded", len(taken.refused))
    return Lesson(learned=tuple(taken.learned), proposed=tuple(taken.proposed), refused=tuple(taken.refused))


def _said(home: Home, searcher: Searcher, given: Mapping[str, Any]) -> Said | str:
    """One thing that was said, with the turns that it names; or why it makes no sense."""
    text, type_, named = given.get("text"), given.get("type", "fact"), given.get("turns")
    corrects, due = given.get("corrects") or "", given.get("due") or ""
    if unknown := sorted(set(given) - FIELDS):
        return f"it has {unknown[0]!r}; there are {', '.join(sorted(FIELDS))}"
    if not all(isinstance(each, str) for each in (text, type_, corrects, due)) or not isinstance(named, list):
        return "text and type are texts, and turns is a list of ids"
    found = [(each, searcher.find(each) if isinstance(each, str) else None) for each in named]
    items = [each.item for _, each in found if each and each.item.role and agent_of(each.path) == searcher.agent]
    if not items or len(items) < len(found):
        return "it names no turn, or one that is not there"
    if corrects and (why := _cannot_correct(searcher, corrects, items)):
        return why
    if due and (moment_due := moment_of(due, home.now(), home.zone, end=False)) is None:
        return "due is no time; write it like 2026-11-15 or 2026-11-15T14:30"
    places = tuple(range(len(items)))
    return Said(
        statement=ModelStatement(text=str(text), type=str(type_), turns=places),
        items=tuple(items),
        corrects=corrects,
        due=local(moment_due, home.zone).isoformat(timespec="minutes") if due and moment_due else "",
    )


def _cannot_correct(searcher: Searcher, id_: str, items: Sequence[MemoryItem]) -> str:
    """Return why turns cannot correct a memory: only the owner's words replace what is known."""
    known = searcher.find(id_)
    if known is None or agent_of(known.path) != searcher.agent or known.item.role is not None:
        return f"there is no memory {id_[:60]!r} that it could correct"
    if known.item.superseded_by or known.item.forgotten_at:
        return f"{id_} does not hold any more"
    is_owners = all(item.source == SPOKEN for item in items) and any(turn_of(item).is_person for item in items)
    return "" if is_owners else "only what the person said corrects what is known; `propose` the rest"


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
    learned, found = learn_from(asked, list(map(turn_of, turns)))
    held = dict[int, Statement]()
    for number, judged in enumerate(found):
        if isinstance(judged, str):
            taken.refused.append(Refusal(text=clipped(said[number].statement.text, 200), why=judged))
        else:
            held[number] = judged
    learned = _beside(learned, held, said, turns, conversation.by_rules, searcher)
    dated = [(each, max(moment(turns[place]) for place in each.turns)) for each in learned.statements]
    # In the same words it is known; in others that mean the same it takes the place of what it names.
    besides = {
        said[number].corrects
        for number, each in held.items()
        if (named := said[number].corrects)
        and (old := searcher.find(named))
        and plain_words(old.item.content) != plain_words(each.text)
    }
    resolution = resolved(searcher.index, dated, changes.vault.config.learn.conflicts, besides=besides)
    corrected = {said[number].corrects: _ref(resolution, each) for number, each in held.items()}
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


def _is_awaited(changes: JobChanges, said: Said) -> bool:
    """Whether an intention of the same turns comes up on the same day already, as the rules made it of them."""
    turns, day, zone = {item.id for item in said.items}, said.due[:10], changes.vault.home.zone
    waiting = (each for each in intentions(changes.vault, changes.agent) if not turns.isdisjoint(each.links("from")))
    return any(
        day in each.fields.get("when", "") or (each.deadline and f"{local(each.deadline, zone):%Y-%m-%d}" == day)
        for each in waiting
    )


def _beside(
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
        task = searcher.find(each.corrects) if each.corrects else None
        turns = set(task.item.derived_from) if task and task.item.type is Type.TASK else set[str]()
        at = max(map(moment, each.items))
        for item in waiting:
            if item.id == each.corrects or not turns.isdisjoint(item.links("from")):
                found[item.id] = Ending(item=item, status=ItemStatus.DONE, says=statement.text, at=at)
    return list(found.values())


def _ref(resolution: Resolution, statement: Statement) -> Reference | None:
    """What a statement is known by: a memory that the change makes, or one that says so already."""
    if statement in resolution.kept:
        return NewId(resolution.kept.index(statement))
    return next((known for known, each in resolution.repeated if each == statement), None)


def _change(
    changes: JobChanges,
    searcher: Searcher,
    conversation: Conversation,
    turns: Sequence[MemoryItem],
    learned: Learned,
    resolution: Resolution,
    corrected: Mapping[str, Reference | None],
) -> Change:
    agent = changes.agent
    # What an agent says turns tell is its own word, however true it is.
    drafts = [drafted(each, [turns[place] for place in each.turns]) for each in resolution.kept]
    drafts = [each if each.origin is Origin.UNTRUSTED else each._replace(origin=Origin.AGENT) for each in drafts]
    spoken = [each.item for each in searcher.index.read(partial(turns_of, session=conversation.session))]
    gone = [old for old, new in corrected.items() if new not in (None, old)]
    page = conversation_page(changes, searcher.index, conversation, spoken, turns, resolution, gone)
    path, closely = page.path if page else conversation.page, [item.id for item in turns]
    records = list(lines(turns, learned, resolution, path, closely))
    replaced = {old for old, _ in resolution.replaced}
    for old, new in corrected.items():
        # An intention ends on its page.
        if old[:2] == "M-" and new is not None and new != old and old not in replaced:
            records.append({"op": Op.SUPERSEDE.value, "memory": old, "by": new})
    operations: list[Operation] = [
        *([AddEntries(agent, tuple(drafts))] if drafts else []),
        AddLines(state_ledger(agent), tuple(records)),
        *([page] if page else []),
    ]
    told = json.dumps([[item.id for item in turns], [each.text for each in learned.statements], list(corrected)])
    key = changes.vault.home.key_mark(agent, f"learn {blake2b(told.encode(), digest_size=16).hexdigest()}")
    by = replace(BY, session=conversation.session or None)
    return Change(operations=tuple(operations), by=by, action=Action.APPEND, key=key)


def _propose(held: Mapping[int, Statement], said: Sequence[Said], taken: Taken, doors: Doors) -> None:
    for number, each in held.items():
        try:
            if said[number].corrects:
                doors.correct(said[number].corrects, each.text)
            else:
                taken.proposed.append(doors.propose(each.text, type=each.type.value).id)
        except ProposedError as error:
            taken.proposed.append(error.proposal)
        except MemfolioError as error:
            taken.refused.append(Refusal(text=clipped(each.text, 200), why=error.message))
