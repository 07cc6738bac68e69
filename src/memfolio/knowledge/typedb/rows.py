"""What is known as things and relations of the schema, and the statements that write them. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from operator import attrgetter
from typing import Any

from memfolio.index.facts import Fact
from memfolio.knowledge.rule import Rule
from memfolio.knowledge.rule_text import render
from memfolio.knowledge.typedb.schema import Schema

MOST_TEXT = 60_000
"""How many bytes of a text are sent."""
BATCH, MOST_SENT = 100, 1 << 20
"""How many rows, and how many bytes of them, are written in one transaction: the server refuses requests of 2 MB."""
INT64 = 2**63
_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"})


@dataclass(frozen=True, slots=True)
class Row:
    """A thing, or with players a relation: its type, its key on the server and what it has, as TypeQL literals."""

    label: str
    uid: str
    has: tuple[str, ...]
    players: tuple[tuple[str, Row], ...] = ()
    """Who plays which role."""

    @property
    def digest(self) -> str:
        """Differs when anything differs, also in those whom it relates: they are replaced together."""
        parts = (self.label, *self.has, *(f"{role}:{row.uid}:{row.digest}" for role, row in self.players))
        return sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:16]

    def statement(self, variable: str, agent: str) -> str:
        """What inserts it; its players are called $p0, $p1 and so on."""
        roles = ", ".join(f"{role}: $p{number}" for number, (role, _) in enumerate(self.players))
        keys = f"has uid {quoted(self.uid)}, has agent-id {quoted(agent)}, has digest {quoted(self.digest)}"
        return ", ".join((f"${variable} isa {self.label}{f' ({roles})' if roles else ''}, {keys}", *self.has)) + ";"


FIELDS = {
    "fact": "spo-fact subject-val=subject predicate-val=predicate object-val=object confidence source category origin "
    "valid-from valid-until created-at",
    "rule": "knowledge-rule rule-type=type confidence-factor=factor action-name=action domain-name=domain name "
    "description severity enabled",
    "case": "cbr-case situation=situation.context solution=solution.actions success=outcome.success "
    "lessons=outcome.lessons importance created-at",
    "memory": "memory-item memory-kind=kind memory-type=type store-name=store tag=tags content importance source "
    "origin created-at",
}
"""For each sort its type on the server, and which of its attributes there is which here, where names differ."""


class Group:
    """Makes the rows of one sort: their keys begin with the agent and the sort."""

    def __init__(self, agent: str, sort: str, schema: Schema) -> None:
        self._prefix, self._sort, self._schema = f"{agent}/{sort}/", sort, schema

    def things(self, known: Iterable[Any]) -> Iterator[Row]:
        """Facts, rules, cases or memories."""
        label, *fields = FIELDS[self._sort].split()
        pairs = [(name, path or name.replace("-", "_")) for name, _, path in (each.partition("=") for each in fields)]
        for each in known:
            values = [(name, attrgetter(path)(each)) for name, path in pairs]
            values += [("condition-text", render(each))] if isinstance(each, Rule) else []
            yield Row(label, self._prefix + each.id, tuple(self._has(values)))

    def _has(self, values: Iterable[tuple[str, Any]]) -> Iterator[str]:
        for name, value in values:
            for each in dict.fromkeys(value if isinstance(value, tuple) else (value,)):
                if (found := literal(each, self._schema.attributes[name])) is not None:
                    yield f"has {name} {found}"

    def graph(self, facts: Sequence[Fact]) -> Iterator[Row]:
        """What facts say as a graph: a thing for each subject with a known type, and the relations between such.

        Relations come last, and their keys before those of things when they are sorted from the end.
        """
        kinds = self._kinds(facts)
        values: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for fact in facts:
            if label := self._schema.attribute(fact.predicate, kinds.get(fact.subject, "")):
                values[fact.subject].add((label, fact.object))
        nodes = {
            name: Row(kind, f"{self._prefix}node/{name}", tuple(self._has(sorted(values[name]))))
            for name, kind in sorted(kinds.items())
        }
        yield from nodes.values()
        for fact in facts:
            one, other = nodes.get(fact.subject), nodes.get(fact.object)
            if one and other and (found := self._schema.relation(fact.predicate, one.label, other.label)):
                (first, _), (second, _) = found.roles
                yield Row(found.label, f"{self._prefix}tie/{fact.id}", (), ((first, one), (second, other)))

    def _kinds(self, facts: Iterable[Fact]) -> dict[str, str]:
        """The type of each subject that has one; of several the most special."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for fact in facts:
            if fact.predicate == "isA" and (kind := self._schema.kind(fact.object)):
                found[fact.subject].add(kind)
        return {name: max(kinds, key=lambda kind: (self._schema.depth(kind), kind)) for name, kinds in found.items()}


def quoted(text: str) -> str:
    """A text as a TypeQL string: whatever is in it, it does not end there."""
    whole = text.encode("utf-8", "replace")
    cut = whole.decode() if len(whole) <= MOST_TEXT else whole[: MOST_TEXT - 3].decode(errors="ignore") + "…"
    return f'"{cut.translate(_ESCAPED)}"'


def literal(value: Any, type: str) -> str | None:
    """A value as a TypeQL literal of a type; None where there is nothing to say, or it is of another type."""
    if value is None or value == "":
        return None
    with suppress(ValueError, OverflowError):
        match type:
            case "boolean":
                return {"true": "true", "false": "false"}.get(str(value).lower())
            case "integer":
                return str(int(str(value))) if abs(int(str(value))) < INT64 else None
            case "double":
                number = _number(str(value))
                return f"{number:.9f}" if math.isfinite(number) else None
            case "datetime":
                moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
                plain = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
                return plain.isoformat(timespec="microseconds")
            case _:
                return quoted(str(value))
    return None


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows in groups that fit into a transaction, in their order."""
    batch, size = list[Row](), 0
    for row in rows:
        weight = sum(len(each.encode()) for each in row.has)
        if batch and (len(batch) >= BATCH or size + weight > MOST_SENT):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += weight
    if batch:
        yield batch


def insert_queries(rows: Sequence[Row], agent: str) -> list[str]:
    """What adds rows that are not there: all things at once, and each relation to those that it relates."""
    things = [row.statement(f"n{number}", agent) for number, row in enumerate(rows) if not row.players]
    made = ["insert\n" + "\n".join(things)] if things else []
    for row in rows:
        if row.players:
            players = enumerate(player for _, player in row.players)
            found = " ".join(f"$p{number} isa {each.label}, has uid {quoted(each.uid)};" for number, each in players)
            made.append(f"match {found}\ninsert {row.statement('n0', agent)}")
    return made


def delete_query(uids: Iterable[str]) -> str:
    """What removes things and relations with these keys, as far as they are there."""
    which = " or ".join(f"{{ $u == {quoted(uid)}; }}" for uid in uids)
    return f"match $x has uid $u; {which};\ndelete $x;"


def held_query(agent: str, sort: str, after: str, most: int) -> str:
    """What asks for the keys and digests of a sort, from the one behind `after` on."""
    last = quoted(f"{agent}/{sort}0")
    return (
        f"match $x has uid $u, has digest $d; $u > {quoted(after or f'{agent}/{sort}/')}; $u < {last};\n"
        f'sort $u; limit {most}; fetch {{ "uid": $u, "digest": $d }};'
    )


def _number(text: str) -> float:
    """A number, or a percentage as the share that it is."""
    return float(text.rstrip("% ")) / 100 if text.endswith("%") else float(text)
