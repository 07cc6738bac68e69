"""The verbs of a memory and its rooms as routes: who may call each; what it takes is read off its signature."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from math import isfinite
from operator import attrgetter
from typing import Annotated, Any, cast, get_type_hints

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, create_model
from pydantic_core import to_json

from memfolio.errors import InputError
from memfolio.govern.proposal import Proposal
from memfolio.govern.proposals import Proposals
from memfolio.govern.reflection.reflections import Pending
from memfolio.graph.graph import Entity, Graph, GraphStep, Neighbour
from memfolio.index.graph import Node
from memfolio.memory import Memory
from memfolio.recall.context import Context
from memfolio.recall.explain import Explanation
from memfolio.recall.hit import Hits
from memfolio.serve.cli.recall import FURTHER, document, hit_document
from memfolio.serve.tools.place import status_inside
from memfolio.status import Status
from memfolio.stores.core import Core, CoreEdit, CoreMemory
from memfolio.stores.edit import Mended
from memfolio.stores.flush import Flushed
from memfolio.stores.session_context import AgentContext
from memfolio.tend.consolidate import Consolidated
from memfolio.tend.sessions import SessionResult
from memfolio.tend.tend import Tending
from memfolio.types import Kind, MemoryItem, Store, Type
from memfolio.vault.past.past import Past
from memfolio.vault.past.view import TrailEntry
from memfolio.vault.purge.purge import Purged

OF_MEMORY = {"id", "content", "kind", "type", "store", "created_at", "tags", "attributes", *FURTHER}
OF_HIT = {"score": float, "depth": int, "why": list[dict[str, Any]], "agent": str, "path": str, "heading": list[str]}
OF_HIT |= {"snippet": str, "phase": str, "replaced": list[str]}
MATCH = {name: kind for name, kind in get_type_hints(MemoryItem).items() if name in OF_MEMORY} | OF_HIT
Match: Any = create_model("Match", **cast(Any, MATCH))


class RecallResult(BaseModel):
    """What answers a question, best first."""

    query: str
    took_ms: float
    intent: str
    filters: dict[str, Any]
    degraded: list[str]
    hits: list[Match]


VERBS: Mapping[str, Mapping[str, Any]] = {
    "read": {
        "recall": RecallResult,
        "context": str | None,
        "compose": Context,
        "get": MemoryItem,
        "explain": Explanation,
    }
    | {"status": Status, "load_context": AgentContext, "should_flush": bool, "core.read": CoreMemory}
    | {"graph.entities": list[Node], "graph.entity": Entity, "graph.neighbours": list[Neighbour]}
    | {"graph.path": list[GraphStep] | None, "proposals.pending": list[Proposal], "proposals.get": Proposal}
    | {"audit.log": list[TrailEntry]},
    "write": {"observe": MemoryItem, "observe_many": list[MemoryItem], "remember": MemoryItem, "forget": Mended}
    | {"correct": MemoryItem, "confirm": MemoryItem, "pin": MemoryItem, "checkpoint": str, "propose": Proposal}
    | {"consolidate": Consolidated, "tend": Tending, "reflect": Pending, "flush": Flushed}
    | {"save_context": SessionResult | None, "sync": list[str], "restore": Mended}
    | {"core.add": CoreEdit, "core.replace": CoreEdit, "core.remove": CoreEdit},
    "admin": {"purge": Purged, "audit.diff": str},
}
"""What each verb gives, below the scope that a token needs for it; the rooms that have tools are behind those."""
LONG = frozenset("consolidate tend reflect flush save_context sync purge".split())
"""Verbs that may take their time."""
ROOMS = {"core": Core, "graph": Graph, "proposals": Proposals, "audit": Past}
LEFT_OUT = ("self", "by", "told", "origin", "tier", "wanted")
"""What a caller has no say in: who speaks, and whose word it is, follow from the token."""


UNSOUND = re.compile("[\0\ud800-\udfff]")


def _only_text(value: object) -> object:
    if not isinstance(value, str):  # a number of seconds says neither its unit nor its zone
        raise ValueError("a time is text, such as 2026-11-15T14:30:00+01:00")
    return value


class JsonTypes(dict[str, Any]):
    """What the names in a signature stand for in JSON."""

    def __missing__(self, name: str) -> Any:
        return Any


FORMS = JsonTypes(
    str=str,
    bool=StrictBool,
    int=Annotated[int, Field(strict=True, ge=-(10**15), le=10**15)],
    float=Annotated[float, Field(strict=True, allow_inf_nan=False)],
    datetime=Annotated[AwareDatetime, BeforeValidator(_only_text)],
    object=str | list[dict[str, Any]],
    list=list,
    Iterable=list,
    Sequence=list,
    Mapping=dict,
    Type=Type,
    Kind=Kind,
    Store=Store,
)


def verb(name: str) -> Callable[..., Any]:
    """A verb of a memory, such as `recall`, or of one of its rooms, such as `core.read`."""
    room, _, own = name.rpartition(".")
    found: Callable[..., Any] = getattr(ROOMS[room] if room else Memory, own)
    return found


@cache
def parameters(name: str) -> dict[str, inspect.Parameter]:
    """What a verb takes, with types as JSON has them; `propose` takes all that `remember` takes."""
    signature = inspect.signature(verb(name), locals=FORMS, eval_str=True)
    taken = {each.name: each for each in signature.parameters.values() if each.name not in LEFT_OUT}
    if taken.pop("fields", None):
        taken = parameters("remember") | taken
    return taken


@cache
def body_of(name: str) -> type[BaseModel]:
    """The model of a verb's body."""
    taken: Any = {each.name: _field(each) for each in parameters(name).values()}
    if name == "observe_many":
        taken["turns"] = (list[body_of("observe")], ...)  # type: ignore[misc]
    return create_model(name.title().replace("_", "").replace(".", ""), __config__=ConfigDict(extra="forbid"), **taken)


def _field(parameter: inspect.Parameter) -> tuple[Any, Any]:
    kind: Any = parameter.annotation
    if parameter.kind is parameter.VAR_POSITIONAL:
        return Annotated[list[kind], Field(min_length=1)], ...
    return kind, ... if parameter.default is parameter.empty else parameter.default


def check(given: Mapping[str, Any]) -> None:
    """Raise InputError for text and numbers that JSON may name and no memory can hold."""
    waiting: list[Any] = [given]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list):
            waiting += each
        elif (isinstance(each, str) and UNSOUND.search(each)) or (isinstance(each, float) and not isfinite(each)):
            hint = "leave out NUL, half characters, NaN and Infinity"
            raise InputError("the body has text or numbers that are not valid", hint=hint)


def call(memory: Memory, name: str, given: dict[str, Any]) -> Any:
    """What a verb gives, as its route tells it."""
    if name == "status":
        return status_inside(memory)
    taken, in_order = parameters(name), list[Any]()
    for each in [name for name in given if name in taken]:
        if taken[each].kind is inspect.Parameter.VAR_POSITIONAL:
            in_order += given.pop(each)
        elif taken[each].kind is inspect.Parameter.POSITIONAL_ONLY:
            in_order.append(given.pop(each))
    value = attrgetter(name)(memory)(*in_order, **given)
    if name == "get" and value is None:
        raise memory.library.not_found(given["id"])
    return _shown(given, value)


def _shown(given: Mapping[str, Any], value: Any) -> Any:
    if isinstance(value, Hits):
        hits = [{**hit_document(hit), "attributes": hit.memory.attributes} for hit in value]
        return document(given["query"], value) | {"hits": hits}
    return value


def packed(value: Any) -> bytes:
    """An answer as JSON."""
    return to_json({"result": value}, fallback=_plain, inf_nan_mode="null")


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
