"""Learning from conversations that are over: turns are resolved beside what is known, one change each."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from functools import partial
from hashlib import blake2b
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from memfolio.errors import HomeBusyError, MemfolioError, PolicyError
from memfolio.govern.reflection.page import is_unwanted, refused
from memfolio.graph.entities import is_user
from memfolio.index.graph import Node, nodes
from memfolio.index.index import Index
from memfolio.index.lookup import by_ids, learned_from
from memfolio.index.maintenance import Conversation, placeholders, turns_of, unheard
from memfolio.index.rows import MACHINES, ROLES, from_us
from memfolio.learn.clauses import asks_for_help, readable
from memfolio.learn.contradict import has_denial
from memfolio.learn.learned import Learned, Mention, Statement, drafted, moment
from memfolio.learn.resolve import Contradiction, Reference, Resolution, plain_words
from memfolio.learn.rules import learn
from memfolio.learn.words import pattern
from memfolio.llm.model import Model
from memfolio.llm.prompt import gives_orders
from memfolio.mind.heartbeat import Ending, endings, intentions, reminder_page
from memfolio.recall.query import Query
from memfolio.recall.searcher import Searcher
from memfolio.settings import Learning
from memfolio.state import Op
from memfolio.stores import flush
from memfolio.stores.flush import LONGEST, resolved, said_in, turn_of
from memfolio.tend.changes import JobChanges, tender
from memfolio.tend.digest import inline
from memfolio.tend.extract import extract, is_news, is_offer, is_secret, keys, stands_alone
from memfolio.tend.tend import tending
from memfolio.text import counted, sentences
from memfolio.types import CLOSELY, SUMMED_UP, Action, MemoryItem, Origin, Type, frozen
from memfolio.vault.change import AddEntries, AddLines, Change, NewId, Operation, PutPage
from memfolio.vault.fields import Draft, local
from memfolio.vault.paths import agent_root, state_ledger
from memfolio.vault.sections import is_ours, marked, renewed
from memfolio.vault.vault import Vault

# The pages that conversations leave behind: one about each, and one about the conflicts of a day.
#
# That in `sessions/` tells what was talked about, decided, learned and left open, and which turns say so; what was said
# word for word stands in the logs. That in `memory/conflicts/` has the statements that cannot both be true, for a
# person to decide.

QUOTED = 5
"""How many sentences sum a conversation up, beside what was learned from it."""
LISTED = 12
"""How many lines of a kind a page has: the last ones."""
SECTIONS: Mapping[str, tuple[str, Collection[Type]]] = {
    "Decided": ("decisions", {Type.DECISION}),
    "Done": ("done", {Type.OUTCOME}),
    "Learned": ("findings", set(Type) - {Type.DECISION, Type.OUTCOME, Type.TASK}),
    "Next Steps": ("next_steps", {Type.TASK}),
    "Open Questions": ("open_questions", ()),
}
"""The parts of a page: which sentences belong there, and which types of memories."""
_WORD = re.compile(r"\w+")
_UNSAFE = re.compile(r"[^a-z0-9]+")
ASK = """Both are kept. Which is right? Forget the other one by the id behind it (`memfolio forget ID`). Of the newer
one that is the turn that says it; what was learned from that turn alone is forgotten with it."""


def page_path(agent: str, session: str, began: datetime, zone: tzinfo) -> str:
    """Where the page about a conversation lies; a name of its own also where only signs tell it from another's."""
    slug = _UNSAFE.sub("-", session.casefold()).strip("-")[:60] or "session"
    if slug != session:
        slug = f"{slug}-{blake2b(session.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"
    return f"{agent_root(agent)}/sessions/{local(began, zone).date()}-{slug}.md"


class PageLine(NamedTuple):
    """Something that was learned from a conversation, and the turns that say it."""

    type: Type
    text: str
    turns: tuple[str, ...]


def compose_page(
    session: str, turns: Sequence[MemoryItem], learned: Sequence[PageLine], zone: tzinfo, there: str | None = None
) -> str | None:
    """The page about a conversation with these turns, at least one, in the place of the one that is there.

    What a person wrote around ours stays; None where they changed ours, or where there is nothing to tell.
    """
    parts = _parts(turns, learned)
    if there is not None:
        return renewed(there, _body(session, turns, parts, zone)) if is_ours(there) else None
    return f"---\nsession: {session}\n---\n{marked(_body(session, turns, parts, zone))}\n" if parts else None


def _body(session: str, turns: Sequence[MemoryItem], parts: Mapping[str, Sequence[PageLine]], zone: tzinfo) -> str:
    first, last = (local(moment(turn), zone) for turn in (turns[0], turns[-1]))
    people = " and ".join(dict.fromkeys(map(_speaker, turns)))
    logs = ", ".join(f"[[{day}]]" for day in sorted({local(moment(turn), zone).date() for turn in turns}))
    written = [
        f"# Conversation {inline(session)} of {first:%Y-%m-%d}",
        f"{counted(len(turns), 'turn')} of {people}, {first:%H:%M} to {last:%H:%M}. Word for word: {logs}",
        *(f"## {title}\n\n" + "\n".join(map(_cited_line, lines)) for title, lines in parts.items()),
    ]
    return "\n\n".join(written) + "\n"


def _parts(turns: Sequence[MemoryItem], learned: Sequence[PageLine]) -> dict[str, list[PageLine]]:
    """What a page says, by its headings; nothing where nobody said anything worth telling."""
    turns = [turn for turn in turns if turn.origin is not Origin.UNTRUSTED and not gives_orders(turn.content)]
    told = {title: _told(title, turns, learned) for title in SECTIONS}
    words: dict[str, frozenset[str]] = {}
    for each in chain.from_iterable(told.values()):
        words |= {turn: words.get(turn, frozenset()) | keys(each.text) for turn in each.turns}
    # A statement may be about a small part of a long turn, which is quoted then.
    rest = [turn for turn in turns if _is_left(keys(turn.content), words.get(turn.id, frozenset()))]
    people = [turn for turn in rest if turn.role not in MACHINES]
    # A sentence of a turn may say what was learned of another one.
    telling = [each for each in _telling(people) if _is_left(keys(each.text), words.get(each.turns[0], frozenset()))]
    parts = {"Summary": telling, "Asked": _asked(people)} | told
    if not any(parts.values()) and all(turn.role in MACHINES for turn in turns):  # agents that report
        parts = {"Summary": _telling(rest)}
    return {title: lines for title, lines in parts.items() if lines}


def _is_left(words: frozenset[str], told: frozenset[str]) -> bool:
    """Whether most of what a turn says is not told yet."""
    return 2 * len(words & told) < len(words)


def _told(title: str, turns: Sequence[MemoryItem], learned: Sequence[PageLine]) -> list[PageLine]:
    """What a part of the page says: what was learned, and other turns in their own words."""
    kind, types = SECTIONS[title]
    known = set(chain.from_iterable(each.turns for each in learned))
    found = [each for each in learned if each.type in types and not is_secret(each.text)]
    found += _said_of(kind, turns, learned, known)
    order = {turn.id: place for place, turn in enumerate(turns)}
    once = {each.text.casefold(): each for each in sorted(found, key=lambda each: order.get(each.turns[0], 0))}
    return list(once.values())[-LISTED:]


def _said_of(
    kind: str, turns: Sequence[MemoryItem], learned: Sequence[PageLine], known: Container[str]
) -> Iterator[PageLine]:
    """The sentences of a kind in the words of the conversation, but for what was learned, drafts and echoes."""
    said = [keys(each.text) for each in learned]
    # What people say comes first, so that a machine does not repeat it.
    for turn in sorted(turns, key=lambda turn: turn.role in MACHINES):
        if turn.role in MACHINES and (turn.id in known or is_draft(turn.content)):
            continue
        for words in said_in(turn.content, kind):
            if not any(2 * len(keys(words) & each) > min(len(keys(words)), len(each)) for each in said):
                said.append(keys(words))
                yield _quoted(turn, words)


def is_draft(content: str) -> bool:
    """Whether a machine's turn is a text that somebody asked it to write: it stands in quotes, or is called a draft."""
    return pattern("draft").search(content) is not None


def _telling(turns: Sequence[MemoryItem]) -> list[PageLine]:
    """The sentences that tell most."""
    found = extract([turn.content for turn in turns], limit=2 * QUOTED, tokens=500)
    telling = (
        (at, words)
        for at, words in found
        if (stands_alone(words) and not is_offer(words) if turns[at].role in MACHINES else is_news(words))
    )
    return [_quoted(turns[at], words) for at, words in telling][:QUOTED]


def _asked(turns: Sequence[MemoryItem]) -> list[PageLine]:
    """What people wanted to know or to have done, in their words."""
    lines = ((turn, words) for turn in turns for line in readable(turn.content) for words in sentences(line))
    asked = [each for each in lines if each[1].endswith(("?", "？")) or asks_for_help(each[1])]
    telling = [
        each
        for each in asked
        if len(keys(each[1])) > 1 and len(each[1].split()) > 3 and len(each[1]) <= LONGEST and not is_secret(each[1])
    ]
    return [_quoted(*each) for each in telling[:QUOTED]]


def _quoted(turn: MemoryItem, words: str) -> PageLine:
    """A sentence of a turn, with who says it where that is not simply the user or the assistant."""
    is_plain = (turn.role or "user").casefold() in ROLES and not turn.user
    return PageLine(Type.OBSERVATION, words if is_plain else f"{_speaker(turn)}: {words}", (turn.id,))


def _cited_line(line: PageLine) -> str:
    return f"- {inline(line.text)} ({', '.join(line.turns[:CITED])})"


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
    return PutPage.over(page, path, text.encode("utf-8", "replace"))


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

KNOWN, KNOWN_TURNS = 3, 2
"""How many memories about a turn, and earlier turns, are read beside it."""
SHOWN = 40
"""How many of these a model is shown, which has to be paid for each."""
ASKED = 300
"""Characters of a turn by which they are looked up."""
_OVER = re.compile(r"\((?:done|dropped|expired|retired)\b")
SPOKEN = "conversation"
"""The source of what was said, not brought in from elsewhere."""
CORRECTABLE = ("M-", "I-")
"""How the ids of memories and intentions begin."""
CITED = 5
"""How many turns a mention names."""
NAMED = 100
"""How many people and things one conversation adds."""


def drafts_of(kept: Sequence[Statement], turns: Sequence[MemoryItem], closely: Collection[str]) -> list[Draft]:
    """The memories that these statements become; those from turns that were read `closely` say so."""
    found = []
    for each in kept:
        sources = [turns[place] for place in each.turns]
        draft, is_close = drafted(each, sources), all(item.id in closely for item in sources)
        found.append(draft._replace(attributes={**draft.attributes, CLOSELY: True}) if is_close else draft)
    return found


def lines(
    turns: Sequence[MemoryItem],
    learned: Learned,
    resolution: Resolution,
    page: str | None,
    closely: Collection[str],
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
        **({"closely": placeholders(closely)} if closely else {}),
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
AGAIN = timedelta(days=7)
"""How long turns that only the rules have read wait for a model: an old home is not read as a whole."""
Progress = Callable[[int, int], None]


def hear_out(
    changes: JobChanges,
    searcher: Searcher,
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
    due, heard = _due(changes, searcher.index, settings, ended, has_model=model is not None), []
    for done, each in enumerate(due):
        if enough():
            changes.notes.append(
                f"the time is up, {len(due) - done} of {len(due)} conversations wait for the next time"
            )
            break
        progress(done, len(due))
        try:
            found = _hear(changes, searcher, each, settings, model)
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
        hear_out(changes, searcher, vault.config.learn, ended, model=model, enough=enough)


def _due(changes: JobChanges, index: Index, settings: Learning, ended: Ended, *, has_model: bool) -> list[Conversation]:
    silent = changes.now - settings.idle
    waiting = index.read(partial(unheard, only=ended.only, since=changes.now - AGAIN if has_model else None))
    due = [each for each in waiting if ended.is_over or from_us(each.last_us) <= silent]
    due = [each for each in due if each.session != ended.besides]
    # What nobody has read comes first: questions to a model are few.
    due.sort(key=lambda each: each.unread == each.by_rules)
    if ended.again or not due or changes.vault.trouble is not None:
        return due
    with changes.vault.exclusive():
        rest = [(each, _not_undone(changes, each)) for each in due]
    return [replace(each, unread=left, by_rules=each.by_rules & left) for each, left in rest if left]


def _not_undone(changes: JobChanges, conversation: Conversation) -> frozenset[str]:
    """The turns behind those that were learned from in a change that a person took back: the trail has its key."""
    # Turns that the rules have read were learned from in a change that stands; a model's reading has a key of its own.
    keys = {
        _key(changes, conversation, each, is_again=is_again): each
        for each in conversation.unread
        for is_again in (False, True)
        if is_again or each not in conversation.by_rules
    }
    undone = [each for key, each in keys.items() if changes.vault.was_made(key)]
    return frozenset(each for each in conversation.unread if each > max(undone, default=""))


def _key(changes: JobChanges, conversation: Conversation, last: str, *, is_again: bool) -> str:
    """What the change that learns from a conversation up to this turn has in the trail, also when it was undone."""
    again = " again" if is_again else ""
    return changes.vault.home.key_mark(changes.agent, f"session {conversation.session} {last}{again}")


def _hear(
    changes: JobChanges, searcher: Searcher, conversation: Conversation, settings: Learning, model: Model | None
) -> SessionResult | None:
    index = searcher.index
    all_turns = [each.item for each in index.read(partial(turns_of, session=conversation.session))]
    turns = [each for each in all_turns if each.id in conversation.unread]
    if not turns:
        return None  # forgotten meanwhile
    people, known = index.read(lambda db: list(nodes(db))), list[MemoryItem]()
    if model is not None:
        beside = known_beside(searcher, turns, changes.now, changes.vault.home.zone)
        own = {each.item.id for each in index.read(partial(by_ids, ids=[item.id for item in beside]))}
        known = [item for item in beside if item.id in own and not gives_orders(item.content)][:SHOWN]
    learned, closely = _learn(turns, conversation.by_rules, model, changes, _names(people), known)
    if not closely and len(conversation.by_rules) == len(turns):
        return None  # the rules have read all of it, and no model did
    learned = _wanted(learned, refused(changes.vault, changes.agent))
    learned = naming_known(learned, turns, people)
    before = learned_before(index, conversation.by_rules, holds=False)
    told = [each for each in learned.statements if each.corrects or not says_again(each, turns, before)]
    learned = replace(learned, statements=told)
    dated = [(each, max(moment(turns[place]) for place in each.turns)) for each in told]
    corrects = [
        (known[place], each)
        for each in told
        for place in each.corrects
        if each.may_replace and is_owners_word([turns[turn] for turn in each.turns])
    ]
    resolution, corrected = resolved_beside(index, dated, settings.conflicts, corrects, by_words=not closely)
    gone = [old.id for old, new in corrected if new != old.id]
    page = conversation_page(changes, index, conversation, all_turns, turns, resolution, gone)
    path, drafts = page.path if page else conversation.page, drafts_of(resolution.kept, turns, closely)
    records = (*lines(turns, learned, resolution, path, closely), *superseding(corrected, resolution))
    operations: list[Operation] = [
        *([AddEntries(changes.agent, tuple(drafts))] if drafts else []),
        AddLines(state_ledger(changes.agent), records),
        *([page] if page else []),
    ]
    if resolution.contradicting and settings.conflicts != "keep":
        operations.append(conflict_page(changes, resolution, turns))
    if not _make(changes, conversation, turns, operations):
        return None
    intend(changes, index, conversation, resolution.kept, turns)
    return SessionResult(
        session=conversation.session,
        turns=len(turns),
        learned=len(resolution.kept),
        replaced=len({*(old for old, _ in resolution.replaced), *gone}),
        conflicts=len(resolution.contradicting),
    )


# What was known before, beside which turns are read, and what no longer holds because of them.


def known_beside(searcher: Searcher, turns: Sequence[MemoryItem], now: datetime, zone: tzinfo) -> list[MemoryItem]:
    """What is known about what people say in these turns, the nearest to each turn first.

    What the rules made of these turns stands before it: it may be said better.
    """
    found = {item.id: item for item in learned_before(searcher.index, {item.id for item in turns})}
    asked = [turn.content for turn in map(turn_of, turns) if turn.is_person and not gives_orders(turn.content)]
    most = max(KNOWN, SHOWN // max(len(asked), 1))
    # The nearest to each turn come first, so that no turn goes without for another.
    for near in zip_longest(*(_known_about(searcher, text, turns, now, zone, most) for text in asked)):
        found |= {item.id: item for item in near if item}
    return _each_once(searcher, found.values())


def _known_about(
    searcher: Searcher, text: str, turns: Sequence[MemoryItem], now: datetime, zone: tzinfo, most: int
) -> list[MemoryItem]:
    """What is known about what a turn says, the nearest first: memories, and a few turns that may say it alone."""

    def recalled(types: Iterable[Type], limit: int) -> Iterator[MemoryItem]:
        asked = Query.from_args(text[:ASKED], now=now, zone=zone, types=types, limit=limit, inline=False)
        return (hit.memory for hit in searcher.recall(asked))

    ids = {item.id for item in turns}
    # What was learned beside what was only said, which would crowd it out.
    there = [*recalled(set(Type) - {Type.OBSERVATION}, most + 5), *recalled([Type.OBSERVATION], 4)]
    there = [item for item in there if item.id.startswith(CORRECTABLE) and item.source not in SUMMED_UP]
    earlier = [item for item in there if item.role and item.id not in ids and turn_of(item).is_person]
    return [*[item for item in there if not item.role][:most], *earlier[:KNOWN_TURNS]]


def _each_once(searcher: Searcher, known: Collection[MemoryItem]) -> list[MemoryItem]:
    """Without turns of which something was learned, and intentions that are over or come from a task among them."""
    learned = learned_before(searcher.index, {item.id for item in known if item.role}, holds=False)
    sources = {turn for item in learned for turn in item.derived_from}
    tasks = [item.content for item in known if item.type is Type.TASK and item.id[0] == "M"]
    return [
        item
        for item in known
        if item.id not in sources
        and not (item.id[0] == "I" and (_OVER.search(item.content) or any(task in item.content for task in tasks)))
    ]


def is_owners_word(turns: Sequence[MemoryItem]) -> bool:
    """Whether these turns were said, by a person among others: only then they replace what is known."""
    return all(item.source == SPOKEN for item in turns) and any(turn_of(item).is_person for item in turns)


def resolved_beside(
    index: Index,
    said: Sequence[tuple[Statement, datetime]],
    way: str,
    corrects: Sequence[tuple[MemoryItem, Statement]],
    *,
    by_words: bool = False,
) -> tuple[Resolution, list[tuple[MemoryItem, Reference]]]:
    """What to keep of what was said, and each of what it corrects with what takes its place.

    Who read both names what no longer holds: by words alone, one appointment would be taken for another.
    """
    # In the same words it is known; in others that mean the same it takes the place of what it names.
    besides = {old.id for old, each in corrects if plain_words(old.content) != plain_words(each.text)}
    resolution = resolved(index, said, way, besides=besides, by_words=by_words)
    return resolution, [(old, ref) for old, each in corrects if (ref := _ref(resolution, each))]


def _ref(resolution: Resolution, statement: Statement) -> Reference | None:
    """What a statement is known by: a memory that the change makes, or one that says so already."""
    if statement in resolution.kept:
        return NewId(resolution.kept.index(statement))
    return next((known for known, each in resolution.repeated if each == statement), None)


def superseding(corrected: Iterable[tuple[MemoryItem, Reference]], resolution: Resolution) -> Iterator[dict[str, Any]]:
    """State lines that say what takes the place of what; an intention ends on its page."""
    replaced = {old for old, _ in resolution.replaced}
    for old, new in corrected:
        if old.role:  # a turn stays as it was said, and may say more than what no longer holds
            yield {"op": Op.EDGE.value, "memory": new, "to": old.id, "type": "supersedes"}
        elif old.id[:2] == "M-" and old.id != new and old.id not in replaced:
            replaced.add(old.id)
            yield {"op": Op.SUPERSEDE.value, "memory": old.id, "by": new}


def intend(
    changes: JobChanges,
    index: Index,
    conversation: Conversation,
    kept: Sequence[Statement],
    turns: Sequence[MemoryItem],
    ended: Sequence[Ending] = (),
) -> None:
    """Make intentions of the reminders that were asked for, and end those that the turns say are done.

    Where the policy forbids that, they stay memories. `ended` are further ones that end.
    """
    vault, agent, session = changes.vault, changes.agent, conversation.session
    known = {each.item.id for each in ended}
    rest = [each for each in intentions(vault, agent) if each.id not in known]
    # What the rules have read ended what was waiting then; what was asked for since goes on waiting.
    fresh = [each for each in turns if each.id not in conversation.by_rules]
    over = [*ended, *endings(rest, fresh, vault.home.zone)]
    if (page := reminder_page(vault, agent, kept, turns, changes.now, over)) is None:
        return
    asked = index.read(partial(learned_from, turns={each for end in over for each in end.item.links("from")}))
    ends = {each: end.at for end in over for each in end.item.links("from")}
    validity = [
        {"op": Op.VALIDITY.value, "memory": each.id, "valid_until": at.isoformat()}
        for each in asked
        if each.type is Type.TASK and (at := next((ends[turn] for turn in each.derived_from if turn in ends), None))
    ]
    operations: list[Operation] = [page, *([AddLines(state_ledger(agent), tuple(validity))] if validity else [])]
    by = replace(tender("session"), session=session or None)
    try:
        changes.make(Change(operations=tuple(operations), by=by, action=Action.EDIT if page.expects else Action.CREATE))
    except PolicyError as error:
        changes.notes.append(f"no reminder was made of conversation {session}: {error.message}")


def _learn(
    turns: Sequence[MemoryItem],
    by_rules: Collection[str],
    model: Model | None,
    changes: JobChanges,
    people: Collection[str],
    known: Sequence[MemoryItem],
) -> tuple[Learned, list[str]]:
    """What these turns tell, by the model if there is one that answers, else by rules; and the turns it has read.

    What the rules have read before, they do not read again.
    """
    spoken = list(map(turn_of, turns))
    found: tuple[Learned, Collection[int]] | None = None
    if model is not None:
        from memfolio.learn.ask import read_by_model

        fresh = len(turns) - len(by_rules)
        told = [item.content for item in known]
        found = changes.ask(lambda: read_by_model(model, spoken, fresh, told), "learned without the model")
    learned, places = found or (learn(spoken, people), ())
    closely = [turns[place].id for place in sorted(places)]
    return only_new(learned, turns, set(by_rules).difference(closely)), closely


def _names(known: Iterable[Node]) -> list[str]:
    """What people and pets are called who have a page."""
    return [
        name
        for node in known
        if node.type in ("person", "animal")
        for name in (node.name, *node.aliases)
        if not is_user(name)
    ]


def only_new(learned: Learned, turns: Sequence[MemoryItem], old: Collection[str]) -> Learned:
    """What was learned, less what these old turns alone tell."""
    if not old:
        return learned
    places = {place for place, turn in enumerate(turns) if turn.id in old}
    return Learned(
        statements=[each for each in learned.statements if not places.issuperset(each.turns)],
        mentions=[each for each in learned.mentions if not places.issuperset(each.turns)],
        relations=[each for each in learned.relations if not places.issuperset(each.turns)],
        causes=[each for each in learned.causes if not places.issuperset((each.cause, each.effect))],
    )


def learned_before(index: Index, turns: Collection[str], *, holds: bool = True) -> list[MemoryItem]:
    """What was learned from these turns; with `holds`, what of it holds."""
    return index.read(partial(learned_from, turns=turns, holds=holds)) if turns else []


def says_again(statement: Statement, turns: Sequence[MemoryItem], before: Iterable[MemoryItem]) -> bool:
    """Whether a statement says nothing but what was learned from one of its turns before.

    Of what was forgotten or replaced since, it need not say more in other words either.
    """
    sources = [turns[place] for place in statement.turns]
    told, names = keys(statement.text), keys(" ".join(turn.user or "user" for turn in sources))
    for each in before:
        shared = told & keys(each.content)
        is_gone = each.forgotten_at is not None or each.superseded_by is not None
        is_same = bool(told) and (shared == told or (is_gone and 2 * len(shared - names) > len(told - names)))
        is_alike = is_same and has_denial(statement.text) == has_denial(each.content)
        if is_alike and any(turn.id in each.derived_from for turn in sources):
            return True
    return False


def naming_known(learned: Learned, turns: Sequence[MemoryItem], known: Iterable[Node]) -> Learned:
    """What was learned, and where people name somebody who has a page: alone, a first name tells nobody who that is."""
    named = {name.casefold() for each in learned.mentions for name in (each.name, *each.aliases)}
    said = [f" {' '.join(_WORD.findall(turn.content))} " if turn.role not in MACHINES else "" for turn in turns]
    further = []
    for node in known:
        names = [each for each in (node.name, *node.aliases) if each[:1].isupper() and not is_user(each)]
        if named.isdisjoint(map(str.casefold, names)):
            places = tuple(at for at, text in enumerate(said) if any(f" {each} " in text for each in names))
            further += [Mention(name=node.name, type=node.type, turns=places)] if places else []
    return replace(learned, mentions=(*learned.mentions, *further))


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
    key = _key(changes, conversation, max(each.id for each in turns), is_again=bool(conversation.by_rules))
    with changes.vault.exclusive():
        is_again = changes.vault.was_made(key) is not None
        return changes.make(change if is_again else replace(change, key=key)) is not None


def conversation_page(
    changes: JobChanges,
    index: Index,
    conversation: Conversation,
    all_turns: Sequence[MemoryItem],
    turns: Sequence[MemoryItem],
    resolution: Resolution,
    corrected: Collection[str] = (),
) -> PutPage | None:
    """The page about a conversation, of which these turns told something new, where the home wants such pages."""
    if not all_turns or not changes.vault.config.learn.transcripts:
        return None
    replaced = {*corrected, *(old for old, _ in resolution.replaced)}
    spoken = {each.id for each in all_turns}
    is_first = len(all_turns) == len(turns) and not conversation.by_rules
    before = [] if is_first else learned_before(index, spoken)
    known = [
        PageLine(each.type, each.content, tuple(turn for turn in each.derived_from if turn in spoken))
        for each in before
        if each.id not in replaced
    ]
    fresh = [PageLine(each.type, each.text, tuple(turns[at].id for at in each.turns)) for each in resolution.kept]
    return _page(changes, conversation, all_turns, [*known, *fresh])


def _page(
    changes: JobChanges, conversation: Conversation, all_turns: Sequence[MemoryItem], learned: Sequence[PageLine]
) -> PutPage | None:
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
    text = compose_page(conversation.session, all_turns, learned, zone, page.text if page else None)
    return PutPage.over(page, path, text.encode("utf-8", "replace")) if text is not None else None
