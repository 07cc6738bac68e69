"""Routing: where something that is to be remembered belongs, and what it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from memfolio.learn.drafting import drafted
from memfolio.learn.learned import Statement, Turn
from memfolio.learn.rules import learn
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

_BLOCKS = {CRITICAL: cues.CRITICAL, ACTIVE: cues.ACTIVE, IDENTITY: cues.IDENTITY}
_TAG = re.compile(r"[^\w.+#-]+")

TASK = """\
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
    type_ = first.type if first else cues.type_of(text)
    store, kind = _place(text, type_, first)
    names = [each.name for each in known.mentions]
    confidence = "low" if cues.DOUBTFUL.search(text) else "medium" if cues.UNSURE.search(text) else "high"
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
    said = model.ask(TASK, text, Classified)
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


def _member(choices: type[E], value: str, default: E) -> E:
    known = {each.value: each for each in choices}
    return known.get(value.strip().casefold(), default)


def _shortened(text: str) -> str:
    line = " ".join(normalise_content(text).split())
    return line if len(line) <= SUMMARY else f"{line[: SUMMARY - 1].rstrip()}…"
