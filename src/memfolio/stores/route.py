"""Routing: where something that is to be remembered belongs, what it is, and whom and what it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from memfolio.errors import ModelError
from memfolio.learn.learned import ENTITY_TYPES, Learned, Statement, Turn
from memfolio.llm.model import Model
from memfolio.stores import cues
from memfolio.stores.corepage import ACTIVE, CRITICAL, IDENTITY
from memfolio.text import terms
from memfolio.types import Kind, Store, Type, default_kind
from memfolio.vault.format.content import normalise_content
from memfolio.vault.format.draft import Draft, check_text

CORE, EPISODIC, SEMANTIC, PROCEDURAL, VAULT = STORES = ("core", "episodic", "semantic", "procedural", "vault")
CONFIDENCE = {"high": 1.0, "medium": 0.7, "low": 0.4}
FEWEST_TAGS, MOST_TAGS = 2, 5
SUMMARY = 200
"""Characters."""

E = TypeVar("E", Kind, Type)
Entity = tuple[str, str]
Triple = tuple[str, str, str]

_TAG = re.compile(r"[^\w.+#-]+")

TASK = """\
Classify a piece of information that is to be remembered.
store: core (identity, active priorities, key preferences), episodic (an event, decision or interaction), semantic
(a fact, concept or relationship), procedural (a workflow or how-to), vault (to be kept for ever, as the user says).
type: event, decision, outcome, lesson, fact, observation, preference, task, emotion, correction or error.
kind: episodic, semantic, procedural or opinion.
entities: who and what it names; type is person, project, organization, place, concept or tool.
relations: subject, relation, object, as far as it states them.
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
    entities: tuple[Entity, ...] = ()
    relations: tuple[Triple, ...] = ()
    tags: tuple[str, ...] = ()
    confidence: float = CONFIDENCE["high"]
    core_update: bool = False
    block: str = CRITICAL
    """The block of core memory that it would go to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntity:
    """An entity as a model names it."""

    name: str = ""
    type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRelation:
    """A relation as a model names it."""

    subject: str = ""
    relation: str = ""
    object: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """What a model says; each field counts for itself, and where it makes no sense the rules decide."""

    store: str = ""
    type: str = ""
    kind: str = ""
    entities: tuple[NamedEntity, ...] = ()
    relations: tuple[NamedRelation, ...] = ()
    tags: tuple[str, ...] = ()
    confidence: str = ""
    core_update: bool = False
    summary: str = ""


def route(text: str, *, learned: Learned | None = None) -> Routed:
    """Where a text belongs, by rules alone; `learned` is what was learned from it, else that is found out here."""
    text = check_text(text)
    known = _learned(text) if learned is None else learned
    first = next(iter(known.statements), None)
    type_ = first.type if first else cues.type_of(text)
    store, kind = _place(text, type_, first)
    entities = tuple((each.name, each.type) for each in known.mentions)
    is_identity, is_critical, is_active = (
        bool(each.search(text)) for each in (cues.IDENTITY, cues.CRITICAL, cues.ACTIVE)
    )
    return Routed(
        store=store,
        type=type_,
        kind=kind,
        summary=_shortened(first.text if first else text),
        entities=entities,
        relations=tuple((each.subject, each.predicate, each.object) for each in known.relations),
        tags=_tags(
            [*(first.tags if first else ()), *(name for name, _ in entities), *terms(text, limit=8)], type_, kind
        ),
        confidence=CONFIDENCE[
            "low" if cues.DOUBTFUL.search(text) else "medium" if cues.UNSURE.search(text) else "high"
        ],
        core_update=is_identity or is_critical or is_active,
        block=CRITICAL if is_critical else ACTIVE if is_active else IDENTITY if is_identity else CRITICAL,
    )


def route_by_model(model: Model, text: str, *, learned: Learned | None = None) -> Routed:
    """The same by a language model; where it does not answer, or not sensibly, by the rules."""
    routed = route(text, learned=learned)
    try:
        said = model.ask(TASK, text, Classified)
    except ModelError:
        return routed
    kind, type_ = _member(Kind, said.kind, routed.kind), _member(Type, said.type, routed.type)
    store = said.store.strip().casefold()
    return replace(
        routed,
        store=store if store in STORES else routed.store,
        type=type_,
        kind=kind,
        entities=_entities(said.entities) or routed.entities,
        relations=_relations(said.relations) or routed.relations,
        tags=_tags(said.tags, type_, kind) if said.tags else routed.tags,
        confidence=CONFIDENCE.get(said.confidence.strip().casefold(), routed.confidence),
        core_update=said.core_update,
        summary=_shortened(said.summary) if said.summary.strip() else routed.summary,
    )


def draft(routed: Routed, text: str) -> Draft:
    """The memory to be made of a routed text, in the person's own words."""
    found = {
        "entities": [list(each) for each in routed.entities],
        "relations": [list(each) for each in routed.relations],
    }
    return Draft(
        content=check_text(text),
        type=routed.type,
        kind=routed.kind,
        store=Store.VAULT if routed.store == VAULT else Store.LONG_TERM,
        importance=0.9 if routed.core_update or routed.store in (CORE, VAULT) else 0.6,
        confidence=routed.confidence,
        tags=routed.tags,
        source="trigger",
        attributes={name: value for name, value in found.items() if value},
    )


def _learned(text: str) -> Learned:
    from memfolio.learn.rules import learn

    return learn([Turn(content=text)])


def _place(text: str, type_: Type, first: Statement | None) -> tuple[str, Kind]:
    """The store and the kind of a text."""
    if cues.PROCEDURE.search(text):
        return VAULT if cues.VAULT.search(text) else PROCEDURAL, Kind.PROCEDURAL
    kind = first.kind if first else default_kind(type_)
    if cues.VAULT.search(text):
        return VAULT, kind
    if cues.IDENTITY.search(text) or cues.CRITICAL.search(text):
        return CORE, kind
    stores = {Kind.SEMANTIC: SEMANTIC, Kind.OPINION: SEMANTIC, Kind.PROCEDURAL: PROCEDURAL}
    return stores.get(kind, EPISODIC), kind


def _tags(found: Iterable[str], type_: Type, kind: Kind) -> tuple[str, ...]:
    """Two to five tags: those that were found, and where they are too few what it is."""
    tags = [tag for each in found if len(tag := _TAG.sub("-", each.strip().lstrip("#").casefold()).strip("-")) > 1]
    unique = list(dict.fromkeys(tags))[:MOST_TAGS]
    return tuple(dict.fromkeys([*unique, type_.value, kind.value]))[: max(FEWEST_TAGS, len(unique))]


def _entities(given: Sequence[NamedEntity]) -> tuple[Entity, ...]:
    kinds = ((each.name.strip(), each.type.strip().casefold()) for each in given)
    return tuple(dict.fromkeys((name, kind if kind in ENTITY_TYPES else "concept") for name, kind in kinds if name))


def _relations(given: Sequence[NamedRelation]) -> tuple[Triple, ...]:
    triples = ((each.subject.strip(), each.relation.strip(), each.object.strip()) for each in given)
    return tuple(dict.fromkeys(triple for triple in triples if all(triple)))


def _member(choices: type[E], value: str, default: E) -> E:
    known = {each.value: each for each in choices}
    return known.get(value.strip().casefold(), default)


def _shortened(text: str) -> str:
    line = " ".join(normalise_content(text).split())
    return line if len(line) <= SUMMARY else f"{line[: SUMMARY - 1].rstrip()}…"
