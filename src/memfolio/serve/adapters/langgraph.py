"""LangGraph: a store whose values are memories, one for each namespace and key."""

from __future__ import annotations

import asyncio
import json
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from memfolio.errors import InputError
from memfolio.intake import draft_of, nearest
from memfolio.serve.adapters import OUT_OF_SIGHT, Given, check_size, held, memory_of, missing, plain
from memfolio.sources import CORRECTION
from memfolio.state import Op
from memfolio.types import Action, Attribution, MemoryItem
from memfolio.vault.change import AddEntries, AddLines, Change, NewId
from memfolio.vault.format.draft import Draft
from memfolio.vault.format.fields import plain_object
from memfolio.vault.paths import state_ledger

try:
    from langgraph.store import base
except ImportError as error:
    raise missing("langgraph", "langgraph") from error

Place = tuple[tuple[str, ...], str]
PUTTER = Attribution(actor="bot:langgraph", trigger="put")
FORGETTER = Attribution(actor="bot:langgraph", trigger="delete")
MOST = 1000
"""How many memories a search by words looks at."""
ORDERS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


class MemfolioStore(base.BaseStore):
    """A `BaseStore`: a put is a memory or takes the place of one, a delete forgets it, a search recalls.

    Threads, tasks and processes may share it. The reads of a batch see what was there before its puts. There is no TTL.
    """

    __slots__ = ("memory",)

    def __init__(self, memory: Given = None) -> None:
        self.memory = memory_of(memory)

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Do operations together; all that is put is one change."""
        asked = list(ops)
        for op in asked:
            base.validate_op_namespace(op)
            if not isinstance(getattr(op, "key", ""), str) or not isinstance(getattr(op, "value", None) or {}, Mapping):
                raise InputError("a key is no text, or a value no dictionary", hint="a store takes nothing else")
        results = [self._read(op) for op in asked]
        if puts := {(tuple(op.namespace), op.key): op for op in asked if isinstance(op, base.PutOp)}:
            self._put(puts)
        return results

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """The same on a thread, so that the event loop never waits for the disk."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: base.Op) -> base.Result:
        if isinstance(op, base.GetOp):
            found = self._at((tuple(op.namespace), op.key))
            return base.Item(**_fields(found)) if found else None
        if isinstance(op, base.SearchOp):
            return self._search(op)
        return self._namespaces(op) if isinstance(op, base.ListNamespacesOp) else None

    def _at(self, place: Place) -> MemoryItem | None:
        """What stands under a namespace and key."""
        return self._current(_tag(*place)).get(place)

    def _current(self, tag: str) -> dict[Place, MemoryItem]:
        """The values with a tag, oldest first: of several versions of one, the last.

        What something else took the place of, such as a fact that was learned later, is a value all the same.
        """
        rest = "ORDER BY json_extract(m.more, '$.attributes.version'), m.created_at, m.file, m.ordinal"
        found = [each.item for each in held(self.memory, rest, tags=(tag,)) if _is_value(each.item.attributes)]
        return {(tuple(item.attributes["namespace"]), item.attributes["key"]): item for item in found}

    def _search(self, op: base.SearchOp) -> list[base.SearchItem]:
        prefix = tuple(op.namespace_prefix)
        fitting = {
            item.id: item
            for (namespace, _), item in self._current(_tag(prefix)).items()
            if namespace[: len(prefix)] == prefix and _fits(item.attributes["value"], op.filter or {})
        }
        scores = self._scores(op.query, _tag(prefix)) if op.query else dict.fromkeys(fitting)
        found = [base.SearchItem(**_fields(fitting[name]), score=scores[name]) for name in scores if name in fitting]
        return found[op.offset : op.offset + op.limit]

    def _scores(self, query: str, tag: str) -> dict[str, float | None]:
        """What answers a question, best first."""
        agents = [self.memory.agent]
        hits = self.memory.recall(query, tags=[tag], limit=MOST, agents=agents, include=OUT_OF_SIGHT)
        return {hit.memory.id: hit.score for hit in hits}

    def _namespaces(self, op: base.ListNamespacesOp) -> list[tuple[str, ...]]:
        known = {namespace for namespace, _ in self._current(_tag(()))}
        fitting = [each for each in known if all(_matches(each, one) for one in op.match_conditions or ())]
        return sorted({each[: op.max_depth] for each in fitting})[op.offset : op.offset + op.limit]

    def _put(self, ops: Mapping[Place, base.PutOp]) -> None:
        with self.memory.vault.writer.ready():  # of several who put the same key, each finds what the one before put
            old = {place: self._at(place) for place in ops}
            self._write([(op, old[place]) for place, op in ops.items() if op.value is not None])
            for place, op in ops.items():
                if op.value is None and (item := old[place]):
                    self.memory.forget(item.id, by=FORGETTER)

    def _write(self, puts: Sequence[tuple[base.PutOp, MemoryItem | None]]) -> None:
        """Write the values that differ from what is held, each in the place of what stood there."""
        fresh = [(op, old) for op, old in puts if old is None or not _is_same(op, old)]
        if not fresh:
            return
        for op, _ in fresh:
            check_size(self.memory, op.value)
        agent, by_place = self.memory.agent, enumerate(old for _, old in fresh)
        added = AddEntries(agent, tuple(_draft(op, old) for op, old in fresh))
        lines = [{"op": Op.SUPERSEDE.value, "memory": old.id, "by": NewId(at)} for at, old in by_place if old]
        beside = (AddLines(state_ledger(agent), tuple(lines)),) if lines else ()
        change = Change(operations=(added, *beside), by=PUTTER, action=Action.EDIT if lines else Action.APPEND)
        for draft, written in zip(added.items, self.memory.gate.clean(change).operations[0].items, strict=True):  # type: ignore[union-attr]
            if any(draft.attributes[name] != written.attributes[name] for name in ("namespace", "key")):
                raise InputError("a namespace or key looks like a secret", hint="nobody would find it: use another one")
        self.memory.library.attend()
        self.memory.vault.apply(change)


def _draft(op: base.PutOp, old: MemoryItem | None) -> Draft:
    namespace = tuple(op.namespace)
    attributes: dict[str, Any] = {"namespace": list(namespace), "key": op.key, "value": dict(op.value or {})}
    attributes |= {} if op.index is None else {"index": op.index}
    attributes |= {"version": old.attributes["version"] + 1, "created": _created(old)} if old else {"version": 1}
    tags = [_tag(namespace[:depth]) for depth in range(len(namespace) + 1)]
    source = CORRECTION if old else "langgraph"  # a correction goes with what it corrects when it is forgotten
    return draft_of(content=_text(op), tags=[*tags, _tag(namespace, op.key)], attributes=attributes, source=source)


def _is_value(attributes: Mapping[str, Any]) -> bool:
    """Whether these are the attributes of a value, as nobody has changed them beyond use."""
    kinds = {"namespace": list | tuple, "key": str, "value": Mapping, "version": int}
    return all(isinstance(attributes.get(name), kind) for name, kind in kinds.items())


def _is_same(op: base.PutOp, old: MemoryItem) -> bool:
    given = plain_object({"value": op.value, "index": op.index}, "value")
    return bool(given == plain({"value": old.attributes["value"], "index": old.attributes.get("index")}))


def _text(op: base.PutOp) -> str:
    """What is searched of a value: all of it, the fields that are named, or only its name."""
    value = op.value or {}
    paths = [] if op.index is None else op.index or []
    named = [text for path in paths for text in base.get_text_at_path(value, path)]
    text = "\n".join(_lines(value) if op.index is None else named).replace("\0", "")
    return text if text.strip() else "/".join((*op.namespace, op.key))


def _lines(value: Mapping[str, Any]) -> Iterator[str]:
    """A value as lines of text; the only field of one stands for itself."""
    for name, each in value.items():
        said = each if isinstance(each, str) else json.dumps(each, ensure_ascii=False, default=str)
        yield said if len(value) == 1 else f"{name}: {said}"


def _tag(namespace: Sequence[str], key: str | None = None) -> str:
    """The tag of all below a namespace, or of one key; others may have the same, so what has it is looked at."""
    parts = (*namespace, *(() if key is None else ("key", key)))
    return "/".join(("store", *(re.sub(r"[^\w-]", "-", each) for each in parts)))


def _created(item: MemoryItem) -> str:
    """When the first version of a value was made."""
    return str(item.attributes.get("created") or item.created_at.isoformat())


def _fields(item: MemoryItem) -> dict[str, Any]:
    """A value as the library has it."""
    given = plain({name: item.attributes[name] for name in ("namespace", "key", "value")})
    created = datetime.fromisoformat(_created(item))
    return {**given, "namespace": tuple(given["namespace"]), "created_at": created, "updated_at": item.created_at}


def _matches(namespace: tuple[str, ...], condition: base.MatchCondition) -> bool:
    path, depth = tuple(condition.path), len(condition.path)
    part = namespace[:depth] if condition.match_type == "prefix" else namespace[max(0, len(namespace) - depth) :]
    return len(part) == depth and all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value has what a filter names, field by field; `{"$gte": 3}` and the like compare numbers."""
    if not isinstance(wanted, Mapping):
        return bool(plain(value) == plain(wanted))
    if any(name.startswith("$") for name in wanted):
        return all(_compares(value, name, bound) for name, bound in wanted.items())
    return isinstance(value, Mapping) and all(_fits(value.get(name), each) for name, each in wanted.items())


def _compares(value: Any, name: str, bound: Any) -> bool:
    if name in ("$eq", "$ne"):
        return (plain(value) == plain(bound)) is (name == "$eq")
    if name not in ORDERS:
        raise InputError(f"{name[:20]!r} is no comparison", hint=nearest(name, ["$eq", "$ne", *ORDERS]))
    try:
        return bool(ORDERS[name](float(value), float(bound)))
    except (TypeError, ValueError):
        return False
