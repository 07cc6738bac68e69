"""Learning from conversations that are over: turns are resolved beside what is known, one change each."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import partial
from hashlib import blake2b
from typing import Any

from memfolio.errors import HomeBusyError, MemfolioError, PolicyError
from memfolio.govern.reflection.log import is_unwanted, refused
from memfolio.index.index import Index
from memfolio.index.maintenance import Conversation, placeholders, turns_of, unheard
from memfolio.index.rows import from_us
from memfolio.learn.learned import Learned, Statement, drafted, moment
from memfolio.learn.resolve import Contradiction, Reference, Resolution
from memfolio.learn.rules import learn
from memfolio.llm.model import Model
from memfolio.mind.mind import reminder_page
from memfolio.recall.searcher import Searcher
from memfolio.settings import Learning
from memfolio.state import Op
from memfolio.stores import flush
from memfolio.stores.flush import resolved, turn_of
from memfolio.tend.changes import JobChanges, tender
from memfolio.tend.digest import inline
from memfolio.tend.extract import clipped, extract
from memfolio.tend.tend import tending
from memfolio.text import counted
from memfolio.types import Action, MemoryItem, frozen
from memfolio.vault.change import AddEntries, AddLines, Change, NewId, Operation, PutPage
from memfolio.vault.fields import local
from memfolio.vault.paths import agent_root, state_ledger
from memfolio.vault.sections import is_ours, marked, renewed
from memfolio.vault.vault import Vault

# The pages that conversations leave behind: one about each, and one about the conflicts of a day.
#
# That in `sessions/` tells when it was, who spoke, what tells most, and links to its turns. That in
# `memory/conflicts/` has the statements that cannot both be true, for a person to decide.

LINE = 100
"""Characters of a turn that its line shows."""
MOST = 400
"""How many turns a page lists; the others are in the logs all the same."""
_UNSAFE = re.compile(r"[^a-z0-9]+")
ASK = """Both are kept. Which is right? Forget the other one by the id behind it (`memfolio forget ID`). Of the newer
one that is the turn that says it; what was learned from that turn alone is forgotten with it."""


def page_path(agent: str, session: str, began: datetime, zone: tzinfo) -> str:
    """Where the page about a conversation lies; a name of its own also where only signs tell it from another's."""
    slug = _UNSAFE.sub("-", session.casefold()).strip("-")[:60] or "session"
    if slug != session:
        slug = f"{slug}-{blake2b(session.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"
    return f"{agent_root(agent)}/sessions/{local(began, zone).date()}-{slug}.md"


def compose_page(session: str, turns: Sequence[MemoryItem], zone: tzinfo, there: str | None = None) -> str | None:
    """The page about a conversation with these turns, at least one, in the place of the one that is there.

    What a person wrote around ours stays; None where they changed ours.
    """
    body = _body(session, turns, zone)
    if there is None:
        return f"---\nsession: {session}\n---\n{marked(body)}\n"
    return renewed(there, body) if is_ours(there) else None


def _body(session: str, turns: Sequence[MemoryItem], zone: tzinfo) -> str:
    first, last = (local(moment(turn), zone) for turn in (turns[0], turns[-1]))
    people = ", ".join(dict.fromkeys(map(_speaker, turns)))
    best = extract([turn.content for turn in turns], limit=5, tokens=250)
    return "\n".join(
        [
            f"# Conversation {inline(session)} of {first:%Y-%m-%d}",
            "",
            f"{counted(len(turns), 'turn')} of {people} from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}",
            "",
            "## Summary",
            "",
            *(f"- {inline(sentence)} ({turns[place].id})" for place, sentence in best),
            "",
            "## Turns",
            "",
            *(_line(turn, zone) for turn in turns[:MOST]),
            *([f"- and {len(turns) - MOST} more in the logs"] if len(turns) > MOST else []),
            "",
        ]
    )


def _line(turn: MemoryItem, zone: tzinfo) -> str:
    words = clipped(inline(turn.content), LINE)
    return f"- {local(moment(turn), zone):%H:%M} {_speaker(turn)}: {words} ({turn.id})"


def _speaker(turn: MemoryItem) -> str:
    """Who speaks, by name where that is known."""
    role = turn.role or ""
    return inline(turn.user if turn.user and role.casefold() in ("user", "human") else role)


def conflict_page(changes: JobChanges, resolution: Resolution, turns: Sequence[MemoryItem]) -> PutPage:
    """The page of the day with these conflicts below what it has."""
    day = f"{local(changes.now, changes.vault.home.zone):%Y-%m-%d}"
    path = f"{agent_root(changes.agent)}/memory/conflicts/{day}.md"
    page = changes.vault.page(path)
    before = page.text.rstrip("\n") if page else f"# Conflicts found on {day}\n\n{ASK}"
    sections = (_section(clash, changes, resolution, turns) for clash in resolution.contradicting)
    text = "\n\n".join([before, *sections]) + "\n"
    return PutPage(path, text.encode("utf-8", "replace"), page.hash if page else None)


def _section(clash: Contradiction, changes: JobChanges, resolution: Resolution, turns: Sequence[MemoryItem]) -> str:
    title = inline(f"{clash.new.subject}: {clash.new.predicate}".replace("_", " "))
    lines = [f"## {title}", ""]
    for known in (clash.old, clash.new):
        day, cited = local(known.at, changes.vault.home.zone), _citation(known.ref, resolution, turns)
        lines.append(f"- {day:%Y-%m-%d}: {inline(known.text)} ({cited})")
    return "\n".join(lines)


def _citation(ref: Reference, resolution: Resolution, turns: Sequence[MemoryItem]) -> str:
    """An id to forget it by; of what has none yet that of the turn that says it."""
    return turns[resolution.kept[ref.index].turns[-1]].id if isinstance(ref, NewId) else ref


# What a conversation leaves behind: the memories and state lines that say what was learned from it. Pure.

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
    yield from flush.lines(resolution)
    for known, statement in resolution.repeated:
        if isinstance(known, str):
            yield from flush.said_again(known, (turns[place].id for place in statement.turns))
    for each in learned.causes:
        ends = {"memory": turns[each.cause].id, "to": turns[each.effect].id}
        yield {"op": Op.EDGE.value, **ends, "type": "causal", "predicate": "hypothesis"}
    yield {  # whose session it is, the writer adds
        "op": Op.SESSION.value,
        "read": placeholders(turn.id for turn in turns),
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


def _cited(places: Sequence[int], turns: Sequence[MemoryItem]) -> list[str]:
    return [turns[place].id for place in places[:CITED]]


# Learning from conversations that are over: turns → learned → resolved beside what is known → one change each.


@frozen
class SessionResult:
    """What one conversation brought."""

    session: str
    turns: int
    learned: int
    replaced: int
    conflicts: int


@frozen
class Ended:
    """Which conversations are over: those that fell silent, or all, or all that are named, besides one."""

    only: Collection[str] = ()
    besides: str | None = None
    is_over: bool = False
    """Whether they are over even if they were not silent for long."""
    again: bool = False
    """Whether what a person undid is learned once more."""


SILENT = Ended()
Progress = Callable[[int, int], None]


def hear_out(
    changes: JobChanges,
    index: Index,
    settings: Learning,
    ended: Ended = SILENT,
    *,
    model: Model | None = None,
    enough: Callable[[], bool] = lambda: False,
    progress: Progress = lambda done, total: None,
) -> list[SessionResult]:
    """Learn from every conversation that is over, each as one change, until there is `enough`.

    The caller keeps other processes from doing the same meanwhile (`tend.alone`). What cannot be learned from is noted
    and does not stop the others, unless it was named.
    """
    due, heard = _due(changes, index, settings, ended), []
    for done, each in enumerate(due):
        if enough():
            changes.notes.append(
                f"the time is up, {len(due) - done} of {len(due)} conversations wait for the next time"
            )
            break
        progress(done, len(due))
        try:
            found = _hear(changes, index, each, settings, model)
        except MemfolioError as error:
            if ended.only or isinstance(error, HomeBusyError):
                raise
            changes.notes.append(f"conversation {each.session} was not learned from: {error.message}")
            continue
        if found is not None:
            heard.append(found)
    return heard


def hear_others(
    vault: Vault, searcher: Searcher, current: str, *, model: Model | None, enough: Callable[[], bool]
) -> None:
    """Learn from the conversations that are over since this one has begun, unless somebody is at it."""
    with tending(vault, searcher, patience=0) as changes:
        ended = Ended(besides=current, is_over=True)
        hear_out(changes, searcher.index, vault.config.learn, ended, model=model, enough=enough)


def _due(changes: JobChanges, index: Index, settings: Learning, ended: Ended) -> list[Conversation]:
    silent = changes.now - settings.idle
    waiting = index.read(partial(unheard, only=ended.only))
    due = [each for each in waiting if ended.is_over or from_us(each.last_us) <= silent]
    due = [each for each in due if each.session != ended.besides]
    if ended.again or not due or changes.vault.trouble is not None:
        return due
    with changes.vault.exclusive():
        rest = [replace(each, unread=_not_undone(changes, each)) for each in due]
    return [each for each in rest if each.unread]


def _not_undone(changes: JobChanges, conversation: Conversation) -> frozenset[str]:
    """The turns behind those that were learned from in a change that a person took back: the trail has its key."""
    made_under = changes.vault.was_made
    undone = [each for each in conversation.unread if made_under(_key(changes, conversation, each))]
    return frozenset(each for each in conversation.unread if each > max(undone, default=""))


def _key(changes: JobChanges, conversation: Conversation, last: str) -> str:
    """What the change that learns from a conversation up to this turn has in the trail, also when it was undone."""
    return changes.vault.home.key_mark(changes.agent, f"session {conversation.session} {last}")


def _hear(
    changes: JobChanges, index: Index, conversation: Conversation, settings: Learning, model: Model | None
) -> SessionResult | None:
    all_turns = [each.item for each in index.read(partial(turns_of, session=conversation.session))]
    turns = [each for each in all_turns if each.id in conversation.unread]
    if not turns:
        return None  # forgotten meanwhile
    learned = _wanted(_learn(turns, model, changes), refused(changes.vault, changes.agent))
    dated = [(each, max(moment(turns[place]) for place in each.turns)) for each in learned.statements]
    resolution = resolved(index, dated, settings.conflicts)
    page = _page(changes, conversation, all_turns) if settings.transcripts else None
    path = page.path if page else conversation.page
    operations: list[Operation] = [
        *entries(changes.agent, resolution.kept, turns),
        AddLines(state_ledger(changes.agent), tuple(lines(turns, learned, resolution, path))),
        *([page] if page else []),
    ]
    if resolution.contradicting and settings.conflicts != "keep":
        operations.append(conflict_page(changes, resolution, turns))
    if not _make(changes, conversation, turns, operations):
        return None
    _intend(changes, conversation, resolution.kept, turns)
    return SessionResult(
        session=conversation.session,
        turns=len(turns),
        learned=len(resolution.kept),
        replaced=len(resolution.replaced),
        conflicts=len(resolution.contradicting),
    )


def _intend(
    changes: JobChanges, conversation: Conversation, kept: Sequence[Statement], turns: Sequence[MemoryItem]
) -> None:
    """Make intentions of the reminders that were asked for; where the policy forbids that, they stay memories."""
    if (page := reminder_page(changes.vault, changes.agent, kept, turns, changes.now)) is None:
        return
    by = replace(tender("session"), session=conversation.session)
    try:
        changes.make(Change(operations=(page,), by=by, action=Action.EDIT if page.expects else Action.CREATE))
    except PolicyError as error:
        changes.notes.append(f"no reminder was made of conversation {conversation.session}: {error.message}")


def _learn(turns: Sequence[MemoryItem], model: Model | None, changes: JobChanges) -> Learned:
    """What these turns tell, by the model if there is one that answers, else by rules; words recalled are not new."""
    spoken = list(map(turn_of, turns))
    if model is None:
        return learn(spoken)
    from memfolio.learn.ask import learn_by_model

    return changes.ask(lambda: learn_by_model(model, spoken), "learned without the model") or learn(spoken)


def _wanted(learned: Learned, marks: Container[str]) -> Learned:
    """What was learned, less what a person did not want to be, and relations that it tells of."""
    unwanted = [each.text for each in learned.statements if is_unwanted(each.text, marks)]
    unwanted_relations = [
        each for each in learned.relations for text in unwanted if each.subject in text and each.object in text
    ]
    return replace(
        learned,
        statements=[each for each in learned.statements if each.text not in unwanted],
        relations=[each for each in learned.relations if each not in unwanted_relations],
    )


def _make(
    changes: JobChanges, conversation: Conversation, turns: Sequence[MemoryItem], operations: Sequence[Operation]
) -> bool:
    by = replace(tender("session"), session=conversation.session)
    change = Change(operations=tuple(operations), by=by, action=Action.APPEND)
    if changes.dry_run:
        changes.make(change)
        return True
    key = _key(changes, conversation, max(each.id for each in turns))
    with changes.vault.exclusive():
        is_again = changes.vault.was_made(key) is not None
        return changes.make(change if is_again else replace(change, key=key)) is not None


def conversation_page(changes: JobChanges, index: Index, conversation: Conversation) -> PutPage | None:
    """The page about a conversation as far as it is noted, where the home wants such pages."""
    turns = [each.item for each in index.read(partial(turns_of, session=conversation.session))]
    return _page(changes, conversation, turns) if turns and changes.vault.config.learn.transcripts else None


def _page(changes: JobChanges, conversation: Conversation, all_turns: Sequence[MemoryItem]) -> PutPage | None:
    """The page about the whole conversation, unless a person made it theirs or something stands in its place."""
    zone = changes.vault.home.zone
    path = conversation.page or page_path(changes.agent, conversation.session, moment(all_turns[0]), zone)
    try:
        page, trouble = changes.vault.page(path), f"{path} is a folder"
    except MemfolioError as error:
        page, trouble = None, error.message
    if page is None and changes.vault.is_taken(path):
        changes.notes.append(f"there is no page about conversation {conversation.session}: {trouble}")
        return None
    text = compose_page(conversation.session, all_turns, zone, page.text if page else None)
    return PutPage(path, text.encode("utf-8", "replace"), page.hash if page else None) if text is not None else None
