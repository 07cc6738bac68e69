"""Routing: where something that is to be remembered belongs, and what it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from memfolio.index.index import Index
from memfolio.index.lookup import working
from memfolio.learn.learned import Statement, Turn, drafted
from memfolio.learn.rules import learn
from memfolio.llm.model import Model
from memfolio.settings import StoreTuning
from memfolio.state import Op
from memfolio.stores.core import ACTIVE, CRITICAL, IDENTITY
from memfolio.text import terms
from memfolio.types import Kind, Store, Type, default_kind
from memfolio.vault.change import AddLines, NewId, Operation
from memfolio.vault.fields import Draft, check_text, normalise_content
from memfolio.vault.paths import state_ledger

# Words by which a text tells what it is, where nothing better is known. Pure.


def _words(pattern: str) -> re.Pattern[str]:
    """A pattern of whole words, in which a run of white space stands for one space."""
    return re.compile(rf"(?i)\b(?:{' '.join(pattern.split()).replace(' | ', '|')})\b")


TYPES: dict[Type, re.Pattern[str]] = {
    Type.CORRECTION: _words(r"actually(?=,) | correction | i was wrong | that was wrong | not \w+ but | no longer"),
    Type.TASK: _words(r"(?:i|we) (?:need|have|must|should)(?: to)? | to-?do | remind me | due (?:on|by) | deadline"),
    Type.ERROR: _words(r"error | exception | crash(?:ed|es)? | fail(?:s|ed|ure)? | broke | bug | outage | timed out"),
    Type.LESSON: _words(r"learn(?:ed|t) | lesson | turns out | next time | the trick is | never | always | works best"),
    Type.EMOTION: _words(
        r"(?:i|we)(?:['’]m| am| feel| are)? (?:so )?(?:happy|sad|angry|excited|worried|anxious|upset|proud)"
    ),
}
"""What those types are told by that are not learned from statements, the most telling first."""
TASK_WORDS = _words(
    r"call | send | buy | pay | book | fix | finish | submit | renew | ask | write | check | order | schedule"
)
"""What a task begins with."""
IDENTITY_WORDS = _words(
    r"""my name is | call me | i(?: am|['’]m) (?:an?|from) | i live in | i work (?:at|for|as) | i speak
    | my (?:job|role|time ?zone|pronouns|birthday|email|native language) (?:is|are)
    | my (?:wife|husband|partner)(?:['’]s name)? is (?:called )?(?-i:[A-Z])\w*"""
)
CRITICAL_WORDS = _words(
    r"""allerg\w+ | diabet\w+ | epilep\w+ | medication | blood type | emergency contact | under no circumstances
    | must (?:never|always) | critical(?=:| that| to) | life[- ]threatening | colou?r[- ]?blind
    | i(?: am|['’]m) (?:an? |strictly )*(?:vegan|vegetarian)"""
)
ACTIVE_WORDS = _words(
    r"""(?:i am|i['’]m|we are|we['’]re) (?:currently )?working on | current(?:ly)? (?:project|working|focus)
    | my priority"""
)
PROCEDURE = _words(
    r"""how to | steps? ?(?=[0-9:]) | first\b.{1,200}\bthen | when(?:ever)? .{1,100}, (?:always|first|run|use)
    | to \w+ .{1,80}, (?:run|use|first|you) | procedure | workflow | runbook"""
)
VAULT_WORDS = _words(
    r"never (?:delete|forget|lose|archive) | keep (?:this |it )?forever | permanent(?:ly)? | for ?ever"
)
UNSURE = _words(r"maybe | perhaps | probably | i think | i guess | might | could be | possibly | apparently | seems?")
DOUBTFUL = _words(
    r"""not sure | no idea | unsure | don['’]t know | unconfirmed | rumou?r | (?:just )?(?:kidding|joking) | lol | jk"""
)


def type_of(text: str) -> Type:
    """What a text most likely is, by its words."""
    if TASK_WORDS.match(text):
        return Type.TASK
    if PROCEDURE.search(text):
        return Type.LESSON
    return next((type_ for type_, pattern in TYPES.items() if pattern.search(text)), Type.OBSERVATION)


CORE, EPISODIC, SEMANTIC, PROCEDURAL, VAULT = STORES = ("core", "episodic", "semantic", "procedural", "vault")
CONFIDENCE = {"high": 1.0, "medium": 0.7, "low": 0.4}
FEWEST_TAGS, MOST_TAGS = 2, 5
SUMMARY = 200
"""Characters."""

E = TypeVar("E", Kind, Type)

_BLOCKS = {CRITICAL: CRITICAL_WORDS, ACTIVE: ACTIVE_WORDS, IDENTITY: IDENTITY_WORDS}
_TAG = re.compile(r"[^\w.+#-]+")

CLASSIFY_TASK = """\
Classify a piece of information that is to be remembered.
store: core (identity, active priorities, key preferences), episodic (an event, decision or interaction), semantic
(a fact, concept or relationship), procedural (a workflow or how-to), vault (to be kept for ever, as the user says).
type: event, decision, outcome, lesson, fact, observation, preference, task, emotion, correction or error.
kind: episodic, semantic, procedural or opinion.
tags: 2 to 5 topical tags in lower case.
confidence: high (explicitly asked for, or clearly important), medium or low.
core_update: whether it changes who the user is, what goes on at the moment, or what must never be forgotten.
summary: one sentence that is understood by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """Where something belongs, what it is, and how sure that is."""

    store: str
    type: Type
    kind: Kind
    summary: str
    tags: tuple[str, ...] = ()
    confidence: float = CONFIDENCE["high"]
    core_update: bool = False
    block: str = CRITICAL
    """The block of core memory that it would go to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """What a model says; each field counts for itself, and where it makes no sense the rules decide."""

    store: str = ""
    type: str = ""
    kind: str = ""
    tags: tuple[str, ...] = ()
    confidence: str = ""
    core_update: bool = False
    summary: str = ""


def route(text: str, speaker: str | None = None) -> Routed:
    """Where a text belongs that somebody said, by rules alone."""
    text = check_text(text)
    known = learn([Turn(content=text, speaker=speaker or "The user")])
    first = next(iter(known.statements), None)
    type_ = first.type if first else type_of(text)
    store, kind = _place(text, type_, first)
    names = [each.name for each in known.mentions]
    confidence = "low" if DOUBTFUL.search(text) else "medium" if UNSURE.search(text) else "high"
    block = next((block for block, cue in _BLOCKS.items() if cue.search(text)), None)
    return Routed(
        store=store,
        type=type_,
        kind=kind,
        summary=_shortened(first.text if first else text),
        tags=_tags([*(first.tags if first else ()), *names, *terms(text, limit=8)], type_, kind),
        confidence=CONFIDENCE[confidence],
        core_update=block is not None and confidence != "low",
        block=block or CRITICAL,
    )


def route_by_model(model: Model, text: str, speaker: str | None = None) -> Routed:
    """The same by a language model; where it does not answer sensibly, by the rules. Raises ModelError."""
    routed = route(text, speaker)
    said = model.ask(CLASSIFY_TASK, text, Classified)
    kind, type_ = _member(Kind, said.kind, routed.kind), _member(Type, said.type, routed.type)
    store = said.store.strip().casefold()
    return replace(
        routed,
        store=store if store in STORES else routed.store,
        type=type_,
        kind=kind,
        tags=_tags(said.tags, type_, kind) if said.tags else routed.tags,
        confidence=CONFIDENCE.get(said.confidence.strip().casefold(), routed.confidence),
        core_update=said.core_update,
        summary=_shortened(said.summary) if said.summary.strip() else routed.summary,
    )


def draft(routed: Routed, statement: Statement, user: str | None = None) -> Draft:
    """The memory to be made of a routed statement, in the person's own words."""
    return drafted(statement, source="trigger", user=user)._replace(
        type=routed.type,
        kind=routed.kind,
        store=Store.VAULT if routed.store == VAULT else Store.LONG_TERM,
        importance=0.9 if routed.core_update or routed.store in (CORE, VAULT) else 0.6,
        confidence=routed.confidence,
        tags=routed.tags,
    )


def _place(text: str, type_: Type, first: Statement | None) -> tuple[str, Kind]:
    """The store and the kind of a text."""
    if PROCEDURE.search(text):
        return VAULT if VAULT_WORDS.search(text) else PROCEDURAL, Kind.PROCEDURAL
    kind = first.kind if first else default_kind(type_)
    if VAULT_WORDS.search(text):
        return VAULT, kind
    if IDENTITY_WORDS.search(text) or CRITICAL_WORDS.search(text):
        return CORE, kind
    stores = {Kind.SEMANTIC: SEMANTIC, Kind.OPINION: SEMANTIC, Kind.PROCEDURAL: PROCEDURAL}
    return stores.get(kind, EPISODIC), kind


def _tags(found: Iterable[str], type_: Type, kind: Kind) -> tuple[str, ...]:
    """Two to five tags: those that were found, and where they are too few what it is."""
    tags = [tag for each in found if len(tag := _TAG.sub("-", each.strip().lstrip("#").casefold()).strip("-")) > 1]
    unique = list(dict.fromkeys(tags))[:MOST_TAGS]
    return tuple(dict.fromkeys([*unique, type_.value, kind.value]))[: max(FEWEST_TAGS, len(unique))]


def _member(choices: type[E], value: str, default: E) -> E:
    known = {each.value: each for each in choices}
    return known.get(value.strip().casefold(), default)


def _shortened(text: str) -> str:
    line = " ".join(normalise_content(text).split())
    return line if len(line) <= SUMMARY else f"{line[: SUMMARY - 1].rstrip()}…"


# Working memory: a few memories at hand. The next one sends one of them to short-term memory; none is dropped.


def make_room(index: Index, agent: str, drafts: Sequence[Draft], shelves: StoreTuning) -> tuple[Operation, ...]:
    """What goes with adding these memories: that working memory sends on what it has no room for then."""
    coming = [NewId(place) for place, draft in enumerate(drafts) if draft.store is Store.WORKING]
    held: list[str | NewId] = []
    if coming:
        held += index.read(lambda connection: working(connection, least_used=shelves.least_used))
    leaving = [*held, *coming][: -shelves.working]
    return (AddLines(state_ledger(agent), tuple(map(_demoted, leaving))),) if leaving else ()


def _demoted(memory: str | NewId) -> dict[str, Any]:
    return {"op": Op.STORE.value, "memory": memory, "store": Store.SHORT_TERM.value}
