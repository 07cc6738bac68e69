"""LangGraph: a store whose values are memories, one for each namespace and key."""

from __future__ import annotations

import asyncio
import json
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from memfolio.arguments import draft_of, nearest
from memfolio.errors import InputError
from memfolio.index.rows import from_us
from memfolio.serve.adapters import (
    OUT_OF_SIGHT,
    AdapterItem,
    Given,
    check_size,
    memory_of,
    missing,
    namespaces,
    value,
    values,
)
from memfolio.serve.hooks.pause import check_unpaused
from memfolio.state import Op
from memfolio.types import CORRECTION, Action, Attribution
from memfolio.vault.change import AddEntries, AddLines, Change, NewId
from memfolio.vault.fields import Draft
from memfolio.vault.lines import plain_object
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
        # Reads come first: a batch sees what was there before its puts.
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

    def _values(self, tag: str, *, past: bool = False) -> list[AdapterItem]:
        """The values with a tag, the last that were written last."""
        index = self.memory.searcher.index
        return index.read(lambda connection: [*values(connection, tag, past=past)])

    def _versions(self, place: Place, *, past: bool = False) -> list[AdapterItem]:
        """Return the value under a namespace and key; with `past`, also earlier ones."""
        return [each for each in self._values(_tag(*place), past=past) if _place(each) == place]

    def _at(self, place: Place) -> AdapterItem | None:
        """Return the current value under a namespace and key."""
        return next(reversed(self._versions(place)), None)

    def _below(self, prefix: tuple[str, ...]) -> Iterable[AdapterItem]:
        """All values below a namespace, the last that were written last."""
        return {_place(each): each for each in self._values(_tag(prefix))}.values()

    def _search(self, op: base.SearchOp) -> list[base.SearchItem]:
        prefix = tuple(op.namespace_prefix)
        found = self._answers(op.query, prefix) if op.query else ((each, None) for each in self._below(prefix))
        fitting = (
            base.SearchItem(**_fields(each), score=score)
            for each, score in found
            if _place(each)[0][: len(prefix)] == prefix and _fits(each.attributes["value"], op.filter or {})
        )
        return list(islice(fitting, op.offset, op.offset + op.limit))

    def _answers(self, query: str, prefix: tuple[str, ...]) -> Iterator[tuple[AdapterItem, float | None]]:
        """The values that answer a question, best first."""
        agents = [self.memory.agent]
        for hit in self.memory.recall(query, tags=[_tag(prefix)], limit=MOST, agents=agents, include=OUT_OF_SIGHT):
            if found := self.memory.searcher.index.read(partial(value, id=hit.memory.id)):
                yield found, hit.score

    def _namespaces(self, op: base.ListNamespacesOp) -> list[tuple[str, ...]]:
        known = self.memory.searcher.index.read(lambda connection: namespaces(connection, _tag(())))
        fitting = [each for each in known if all(_matches(each, one) for one in op.match_conditions or ())]
        return sorted({each[: op.max_depth] for each in fitting})[op.offset : op.offset + op.limit]

    def _put(self, ops: Mapping[Place, base.PutOp]) -> None:
        check_unpaused(self.memory.vault.config.home)
        with self.memory.vault.exclusive():  # of several who put the same key, each finds what the one before put
            old = {place: self._at(place) for place in ops}
            self._write([(op, old[place]) for place, op in ops.items() if op.value is not None])
            deleted = [place for place, op in ops.items() if op.value is None and old[place]]
            if going := [each.id for place in deleted for each in self._versions(place, past=True)]:
                self.memory.forget(going, by=FORGETTER)

    def _write(self, puts: Sequence[tuple[base.PutOp, AdapterItem | None]]) -> None:
        """Write values that differ from the current ones, each replacing its predecessor."""
        fresh = [(op, old) for op, old in puts if old is None or not _is_same(op, old)]
        if not fresh:
            return
        for op, _ in fresh:
            check_size(self.memory, op.value)
        agent, by_place = self.memory.agent, enumerate(old for _, old in fresh)
        added = AddEntries(agent, tuple(_draft(op, old) for op, old in fresh))
        lines = [{"op": Op.SUPERSEDE, "memory": old.id, "by": NewId(at)} for at, old in by_place if old]
        beside = (AddLines(state_ledger(agent), tuple(lines)),) if lines else ()
        change = Change(operations=(added, *beside), by=PUTTER, action=Action.EDIT if lines else Action.APPEND)
        # Redaction would change the name, under which nobody would find the value again.
        clean = self.memory.vault.clean(change).operations[0]
        for draft, written in zip(added.items, clean.items, strict=True):  # type: ignore[union-attr]
            if any(draft.attributes[name] != written.attributes[name] for name in ("namespace", "key")):
                raise InputError("a namespace or key looks like a secret", hint="nobody would find it: use another one")
        self.memory.searcher.prepare()
        self.memory.vault.apply(change)


def _place(held: AdapterItem) -> Place:
    return tuple(held.attributes["namespace"]), held.attributes["key"]


def _created(held: AdapterItem) -> str:
    """When the first version of a value was made."""
    return str(held.attributes.get("created") or from_us(held.made).isoformat())


def _fields(held: AdapterItem) -> dict[str, Any]:
    """A value as the library has it."""
    namespace, key = _place(held)
    times = {"created_at": datetime.fromisoformat(_created(held)), "updated_at": from_us(held.made)}
    return {"namespace": namespace, "key": key, "value": held.attributes["value"], **times}


def _draft(op: base.PutOp, old: AdapterItem | None) -> Draft:
    namespace = tuple(op.namespace)
    attributes: dict[str, Any] = {"namespace": list(namespace), "key": op.key, "value": dict(op.value or {})}
    attributes |= {} if op.index is None else {"index": op.index}
    attributes |= {"version": old.attributes["version"] + 1, "created": _created(old)} if old else {"version": 1}
    tags = [_tag(namespace[:depth]) for depth in range(len(namespace) + 1)]
    source = CORRECTION if old else "langgraph"  # a correction goes with what it corrects when it is forgotten
    return draft_of(content=_text(op), tags=[*tags, _tag(namespace, op.key)], attributes=attributes, source=source)


def _is_same(op: base.PutOp, old: AdapterItem) -> bool:
    """Whether a put would change nothing; to JSON, `1`, `1.0` and `true` are three things."""
    given = plain_object({"value": op.value, "index": op.index}, "value")
    known = {name: old.attributes.get(name) for name in ("value", "index")}
    return json.dumps(given, sort_keys=True) == json.dumps(known, sort_keys=True)


def _text(op: base.PutOp) -> str:
    """Return the searchable text of a value: all of it, the named fields, or only its name."""
    value = op.value or {}
    paths = [] if op.index is None else op.index or []
    named = [text for path in paths for text in base.get_text_at_path(value, path)]
    text = "\n".join(_lines(value) if op.index is None else named).replace("\0", "")
    return text if text.strip() else "/".join((*op.namespace, op.key))


def _lines(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield a value as lines of text; a single field has no label."""
    for name, each in value.items():
        said = each if isinstance(each, str) else json.dumps(each, ensure_ascii=False, default=str)
        yield said if len(value) == 1 else f"{name}: {said}"


def _tag(namespace: Sequence[str], key: str | None = None) -> str:
    """The tag of all below a namespace, or of one key; others may have the same, so what has it is looked at."""
    parts = (*namespace, *(() if key is None else ("key", key)))
    return "/".join(("store", *(re.sub(r"[^\w-]", "-", str(each)) for each in parts)))


def _matches(namespace: tuple[str, ...], condition: base.MatchCondition) -> bool:
    path, depth = tuple(condition.path), len(condition.path)
    part = namespace[:depth] if condition.match_type == "prefix" else namespace[max(0, len(namespace) - depth) :]
    return len(part) == depth and all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value has what a filter names, field by field; `{"$gte": 3}` and the like compare numbers."""
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(value, name, bound) for name, bound in wanted.items())
        return isinstance(value, Mapping) and all(_fits(value.get(name), each) for name, each in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_fits, value, wanted))
    return bool(value == wanted)


def _compares(value: Any, name: str, bound: Any) -> bool:
    if name in ("$eq", "$ne"):
        return (value == bound) is (name == "$eq")
    if name not in ORDERS:
        raise InputError(f"{name[:20]!r} is no comparison", hint=nearest(name, ["$eq", "$ne", *ORDERS]))
    try:
        return bool(ORDERS[name](float(value), float(bound)))
    except (TypeError, ValueError):
        return False
