"""JSON documents, one function per type; every door answers with them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from memfolio.clock import iso
from memfolio.errors import MemfolioError
from memfolio.types import MemoryItem

if TYPE_CHECKING:
    from memfolio.govern.agents import Agent
    from memfolio.govern.proposals import Proposal
    from memfolio.index.facts import Fact
    from memfolio.index.graph import Node
    from memfolio.index.mind_pages import MindItem
    from memfolio.knowledge.cases import Similar
    from memfolio.knowledge.facts import FactHistoryEntry
    from memfolio.knowledge.rule import Rule
    from memfolio.knowledge.traverse import Cited, Groups, Impact, Paths, Questions
    from memfolio.knowledge.traverse import Path as FactPath
    from memfolio.memory import Memory
    from memfolio.mind.mind import Reminder
    from memfolio.procedures.runs import Run
    from memfolio.recall.hit import Hit, Hits
    from memfolio.status import Status
    from memfolio.stores.core import CoreEdit
    from memfolio.stores.edit import EditResult
    from memfolio.tend.retention import Weak


class Named(TypedDict):
    """The id and content of a memory."""

    id: str
    content: str


class HitDocument(Named):
    """A memory that was found, as far as it has each of these."""

    kind: str
    type: str
    store: str
    origin: str
    at: str
    score: float
    fit: float
    depth: int
    path: str
    created_at: str
    tags: list[str]
    importance: float
    agent: str


class HitsDocument(TypedDict):
    query: str
    took_ms: float
    intent: str
    filters: dict[str, Any]
    degraded: list[str]
    fits: bool
    hits: list[HitDocument]


class EditDocument(TypedDict):
    """The outcome or preview of a change of memories; `seq` is the change, null if nothing was changed."""

    memories: list[MemoryItem]
    diff: str
    seq: int | None
    hint: str


class ForgottenDocument(EditDocument):
    """The same, with whether the memory is forgotten."""

    forgotten: bool


class FactDocument(TypedDict):
    """The main fields of a fact; its sources are separate."""

    id: str
    subject: str
    predicate: str
    object: Any
    confidence: float
    source: str
    origin: str
    valid_from: str | None
    valid_until: str | None
    derived: bool


class ProposalDocument(TypedDict):
    id: str
    to: str
    title: str
    path: str
    shown: str


class WeakDocument(Named):
    certainty: float
    dormant_in: float | None
    archived_in: float | None


def as_json(document: dict[str, Any]) -> str:
    """A document as text."""
    return json.dumps(document, ensure_ascii=False, indent=2, default=plain)


def packed(document: dict[str, Any]) -> bytes:
    """The same in few bytes."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=plain).encode("utf-8", "replace")


def plain(value: object) -> object:
    """Convert a value that JSON has no type for to the nearest one that it has."""
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, MemoryItem):
        return as_document(value)
    if dataclasses.is_dataclass(value):
        return fields_of(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return dict(value) if isinstance(value, Mapping) else str(value)


def fields_of(value: Any) -> dict[str, Any]:
    """The fields of a dataclass by their names, but for those that are not to be shown."""
    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.repr}


def document_of(value: Any, key: str | None = None, shape: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """Return the document of any value that a method returns, made by `shape` if given; a list is put under `key`."""
    if key is not None:
        listed = isinstance(value, list | tuple) and not hasattr(value, "_asdict")
        return {key: [document_of(each, shape=shape) for each in value] if listed else value}
    if isinstance(value, dict):  # a function of `verbs/` answers with a document
        return dict(value)
    # By the name of the type: comparing types would load every room.
    found: dict[str, Any] = (shape or _SHAPES.get(type(value).__name__, fields_of))(value)
    return found


def as_document(item: MemoryItem, **more: object) -> dict[str, Any]:
    """Return a memory as a document, with times in UTC."""
    return {name: value for name, value in fields_of(item).items() if value is not None} | more


FURTHER = (
    *("event_time", "role", "session", "user", "importance", "confidence"),
    *("origin", "valid_from", "valid_until", "superseded_by"),
)
"""Further fields of a found memory, for programs."""
ON_REQUEST = frozenset({"why", "snippet", "confidence"})
"""Fields of a hit that are returned only with `explain`."""
USUAL: tuple[Any, ...] = (None, "", "active", [], (), {})
"""Values of a hit that are left out, since they say nothing out of the ordinary."""


def hits(query: str, found: Hits, *, explain: bool = False) -> HitsDocument:
    """Return the hits for a question, best first; with `explain`, also why each was found."""
    document = hits_document(query, found)
    for hit, told in zip(found, document["hits"], strict=True):
        told |= {"attributes": hit.memory.attributes, "at": hit.memory.event_time or hit.memory.created_at}
    if not explain:
        document["hits"] = list(map(_in_short, document["hits"]))
    return cast("HitsDocument", document)


def _in_short(hit: dict[str, Any]) -> dict[str, Any]:
    # An agent pays for every token: what is as usual is not told.
    always = HitDocument.__annotations__
    wanted = {name: value for name, value in hit.items() if name not in ON_REQUEST}
    return {name: value for name, value in wanted.items() if name in always or value not in USUAL}


def hits_document(query: str, found: Hits) -> dict[str, Any]:
    """Return hits as the command line prints them with `--json`."""
    return {
        "query": query,
        "took_ms": found.took_ms,
        "intent": found.intent,
        "filters": dict(found.filters),
        "degraded": list(found.degraded),
        "fits": found.fits,
        "hits": [hit_document(hit) for hit in found],
    }


def hit_document(hit: Hit) -> dict[str, Any]:
    """All that is known of a hit."""
    item = hit.memory
    return {
        "id": item.id,
        "content": item.content,
        "kind": item.kind,
        "type": item.type,
        "store": item.store,
        "score": hit.score,
        "fit": hit.fit,
        "depth": hit.depth,
        "why": [reason._asdict() for reason in hit.why],
        "created_at": item.created_at,
        "tags": item.tags,
        "agent": hit.agent,
        "path": hit.path,
        "heading": hit.heading,
        "snippet": hit.snippet,
        "phase": phase(hit),
        "replaced": hit.replaced,
        "replaces": hit.replaces,
        **{name: getattr(item, name) for name in FURTHER},
    }


def phase(hit: Hit) -> str:
    """Return how far the memory has faded; `archived` names a place here, so the phase of that name becomes dormant."""
    return "dormant" if hit.phase == "archived" else hit.phase


def edit_result(value: EditResult) -> EditDocument:
    return {
        "memories": list(value.memories),
        "diff": value.diff,
        "seq": value.receipt.seq if value.receipt else None,
        "hint": value.hint,
    }


def core_edit(value: CoreEdit) -> dict[str, Any]:
    """Core memory as it is after an edit, or would be, with what that did."""
    return fields_of(value.memory) | {"diff": value.diff, "seq": value.receipt.seq if value.receipt else None}


def proposal(value: Proposal) -> ProposalDocument:
    """Return a proposal with the hash that its approval must name."""
    own = {name: each for name, each in fields_of(value).items() if name != "hash"}
    return cast("ProposalDocument", own | {"title": value.title, "path": value.path, "shown": value.shown})


def term_proposal(value: Proposal) -> dict[str, Any]:
    """The proposal of a term, with the fields of the term."""
    own = {name: getattr(value, name) for name in ("id", "title", "shown", "status", "note")}
    return own | dict(value.intent.arguments)


def weak(value: Weak) -> WeakDocument:
    item = value.located.item
    return {
        "id": item.id,
        "content": item.content,
        "certainty": value.certainty,
        "dormant_in": value.dormant_in,
        "archived_in": value.archived_in,
    }


def fact(value: Fact) -> FactDocument:
    from memfolio.knowledge.facts import fact_json

    return cast("FactDocument", fact_json(value))


def fact_history(value: FactHistoryEntry) -> dict[str, Any]:
    """A line of a fact's history, with the fact as it was from then on."""
    from memfolio.knowledge.facts import entry_json

    return entry_json(value)


def rule(value: Rule) -> dict[str, Any]:
    from memfolio.knowledge.rules import Rules

    return Rules.as_json(value)


def knowledge(value: object) -> dict[str, Any]:
    """Return a finding, proof or explanation with its premises."""
    from memfolio.knowledge.tree import as_document

    return cast("dict[str, Any]", as_document(value))


def paths(ask: Questions, found: Paths) -> dict[str, Any]:
    """Paths along facts."""
    return {"paths": _paths(ask, found.paths), "is_cut": found.is_cut}


def impact(ask: Questions, found: Impact) -> dict[str, Any]:
    """Return what depends on something: affected nodes by kind, paths to them, and conclusions that would fall."""
    ids = ask.ids(found.conclusions)
    return {
        "paths": _paths(ask, [path for each in found.kinds.values() for path in each]),
        "kinds": {kind: [path.nodes[-1] for path in each] for kind, each in found.kinds.items()},
        "conclusions": [{"id": name, "fact": " ".join(each.atom.triple)} for each, name in ids.items()],
        "is_cut": found.is_cut,
    }


def groups(ask: Questions, found: Groups) -> dict[str, Any]:
    """Return the counts, each with the facts behind it."""
    ids = ask.ids(cited for members in found.groups.values() for each in members for cited in each.facts)
    told = {
        value: [each._asdict() | {"facts": [ids[cited] for cited in each.facts]} for each in members]
        for value, members in found.groups.items()
    }
    return {"groups": told, "problems": list(found.problems), "is_cut": found.is_cut}


def _paths(ask: Questions, found: Sequence[FactPath]) -> list[dict[str, Any]]:
    from memfolio.knowledge.traverse import as_document

    ids: Mapping[Cited, str] = ask.ids(hop.cited for path in found for hop in path.hops)
    return [as_document(path, ids.__getitem__) for path in found]


def similar_cases(found: Similar) -> dict[str, Any]:
    """Cases like a situation, each with how like it is and why."""
    cases = [{"case": each.case, "score": each.score, "why": each.why, "is_warning": each.is_warning} for each in found]
    return {"cases": cases, "degraded": list(found.degraded)}


def changed(value: Any) -> dict[str, Any]:
    return {"changed": value}


def reminder(found: Reminder) -> dict[str, Any]:
    return {"id": found.item.id, "title": found.item.title, "why": found.why}


def agent(value: Agent) -> dict[str, Any]:
    """An agent with its settings."""
    settings = {name: each for name, each in fields_of(value.settings).items() if name != "agent"}
    return {name: each for name, each in fields_of(value).items() if name != "settings"} | settings


def node(value: Node) -> dict[str, Any]:
    """An entity that has a page, with how often it is mentioned."""
    return fields_of(value) | {"mentions": value.mentions}


def mind_item(item: MindItem) -> dict[str, Any]:
    own = {name: getattr(item, name) for name in ("id", "title", "text", "status", "line", "problems")}
    return own | {"kind": item.kind.name, "fields": dict(item.fields)}


def run(value: Run) -> dict[str, Any]:
    """A run for programs, with `failure` for its error: a document with an `error` is that of a call that failed."""
    fields = fields_of(value) | {"state": value.state, "failure": value.error}
    return {name: each for name, each in fields.items() if name != "error"}


_SHAPES: Mapping[str, Callable[[Any], Any]] = {
    "MemoryItem": as_document,
    "Fact": fact,
    "FactHistoryEntry": fact_history,
    "Rule": rule,
    "Node": node,
    "Agent": agent,
    "CoreEdit": core_edit,
    "MindItem": mind_item,
    "Run": run,
}
"""Types that are not simply rendered by their fields; keyed by type name, so that no room has to be imported."""


def status(memory: Memory) -> Status:
    """Return the status of a home by its name only: a remote caller must not learn its path on this machine."""
    # Whoever asks over a network is not told where on the machine the home lies.
    found, home = memory.status(), memory.vault.config.home
    return replace(
        found,
        home=Path(home.name),
        obstacle=found.obstacle and inside(home, found.obstacle),
        problems={path: inside(home, each) for path, each in found.problems.items()},
        trouble=found.trouble and inside(home, found.trouble),
        degraded=tuple(inside(home, each) for each in found.degraded),
    )


def inside(home: Path, words: str) -> str:
    """Words without the folder that a home is in."""
    return words.replace(f"{home}/", "").replace(str(home), home.name)


@contextmanager
def told_inside(home: Path) -> Iterator[None]:
    """Remove the path of the home from errors raised inside."""
    try:
        yield
    except MemfolioError as error:
        error.message, error.hint = inside(home, error.message), inside(home, error.hint)
        raise
