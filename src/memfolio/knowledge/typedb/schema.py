"""The TypeQL 3 schema of the copy, and what is known as statements in it. Pure."""

from __future__ import annotations

import math
import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from memfolio.index.facts import Fact
from memfolio.knowledge.model import ATTRIBUTES, NODES, PREDICATES, RELATIONS, kind_named
from memfolio.knowledge.ontology.term import Term, TermKind
from memfolio.knowledge.rule import Rule, render

# The TypeQL 3 schema of the copy: the base model, and the classes and properties of the ontology beside it. Pure.

NODE = "node"
"""The abstract type above all entities: what each of them has, and what may be related to anything."""
KEYED = ("owns uid @key", "owns agent-id", "owns digest")
_TABLES = tomllib.loads((Path(__file__).parent.parent / "data" / "typedb.toml").read_text("utf-8"))
RESERVED = frozenset(_TABLES["reserved"].split())
OWN: dict[str, str] = _TABLES["own"]
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_MOST = 60


class SchemaRelation(NamedTuple):
    """A relation with its roles, the subject's first, each with an entity type that plays it."""

    label: str
    roles: tuple[tuple[str, str], ...]


class Schema:
    """Types, and which of them a word in a fact means."""

    def __init__(self, terms: Iterable[Term] = ()) -> None:
        self.attributes = {kebab(name): value for name, value in ATTRIBUTES.items()} | OWN
        self.entities: dict[str, str] = {kebab(kind): NODE for kind in NODES}
        """Each with the type above it."""
        self.relations: dict[str, SchemaRelation] = {}
        self._kinds = {kind: kebab(kind) for kind in NODES}
        """What `isA` may name, and its type."""
        self._named = {name: name for name in self.attributes}
        """What an attribute is called in facts, in kebab case, and its label."""
        self._can: defaultdict[str, set[str]] = defaultdict(set)
        """What each entity type owns and plays."""
        for kind, names in NODES.items():
            self._can[kebab(kind)] |= {_owns(kebab(name)) for name in names if name != "uid"}
        self._can["memory-item"].add(_owns("memory-kind"))
        for name, roles in RELATIONS.items():
            self._relate(SchemaRelation(kebab(name), tuple((role, kebab(kind)) for role, kind in roles)), name)
        self._extend(sorted(terms, key=lambda term: term.id))

    def kind(self, word: str) -> str | None:
        """The entity type that `isA` names with this word."""
        return self._kinds.get(word) or self._kinds.get(kind_named(word))

    def attribute(self, predicate: str, kind: str) -> str | None:
        """The attribute that a predicate gives to an entity of this type."""
        label = self._named.get(kebab(predicate.rpartition(":")[2]), "")
        return label if any(_owns(label) in self._can[each] for each in self._above(kind)) else None

    def relation(self, predicate: str, subject: str, object: str) -> SchemaRelation | None:
        """The relation that a predicate states between entities of these types, with the roles that they play."""
        found = self.relations.get(PREDICATES.get(predicate, predicate))
        if found is None or found.roles[0][1] not in self._above(subject):
            return None
        role = next((role for role, kind in found.roles[1:] if kind in self._above(object)), None)
        return SchemaRelation(found.label, ((found.roles[0][0], subject), (role, object))) if role else None

    def depth(self, kind: str) -> int:
        """How many types stand above this one."""
        return len(list(self._above(kind)))

    def define(self) -> str:
        """The statement that adds all types to a database; it can be sent again and again."""
        lines = [f"attribute {label}, value {value};" for label, value in sorted(self.attributes.items())]
        lines.append(f"entity {NODE} @abstract, {', '.join((*KEYED, *sorted(self._can[NODE])))};")
        for label, parent in sorted(self.entities.items(), key=lambda each: (self.depth(each[0]), each[0])):
            inherited = set[str]().union(*(self._can[each] for each in self._above(parent)))
            own = sorted(self._can[label] - inherited)  # to say again what is inherited is an error on some servers
            lines.append(f"entity {', '.join((label, f'sub {parent}', *own))};")
        for relation in sorted(set(self.relations.values())):
            roles = dict.fromkeys(f"relates {role}" for role, _ in relation.roles)
            lines.append(f"relation {', '.join((relation.label, *roles, *KEYED))};")
        return "\n  ".join(("define", *lines)) + "\n"

    def _extend(self, terms: list[Term]) -> None:
        """Add the classes of an ontology, each below its first parent, then what leads from them."""
        classes = [term for term in terms if term.kind is TermKind.CLASS]
        base = set(self.entities)
        for term in classes:
            kind = kind_named(term.name)
            label = self._kinds[kind] if kind in NODES else self._fresh(term.name)
            self._kinds[term.id] = label
            self._kinds.setdefault(term.name, label)
            self.entities.setdefault(label, NODE)
        for term in classes:
            label, parent = self._kinds[term.id], self._type(next(iter(term.parents), ""))
            if label not in base and label not in self._above(parent):  # a circle is cut there
                self.entities[label] = parent
        for term in terms:
            start = self._type(term.domain_class)
            is_known = term.name in PREDICATES or term.name in RELATIONS  # the base model's own
            if term.kind is TermKind.OBJECT and not is_known:
                roles = (("subject", start), ("object", self._type(term.range)))
                self._relate(SchemaRelation(self._fresh(term.name), roles), term.id, term.name)
            elif term.kind is TermKind.DATATYPE:
                self._add_attribute(term, start)

    def _relate(self, relation: SchemaRelation, *names: str) -> None:
        for name in names:
            self.relations.setdefault(name, relation)
        for role, kind in relation.roles:
            self._can[kind].add(f"plays {relation.label}:{role}")

    def _add_attribute(self, term: Term, start: str) -> None:
        name = kebab(term.name)
        if name not in self._named:
            label = self._named[name] = self._fresh(name)
            self.attributes[label] = _TABLES["values"].get(term.range, "string")
        if self._named[name] not in ("uid", *OWN):
            self._can[start].add(_owns(self._named[name]))

    def _type(self, id: str) -> str:
        return self._kinds.get(id, NODE)

    def _fresh(self, text: str) -> str:
        """A label that is no other's; the first of those that would be the same has no number."""
        taken = {NODE, *self.attributes, *self.entities, *(each.label for each in self.relations.values())}
        name = label = kebab(text)
        number = 1
        while label in taken:
            number += 1
            label = f"{name}-{number}"
        return label

    def _above(self, kind: str) -> Iterator[str]:
        """A type and those above it."""
        at: str | None = kind
        while at is not None:
            yield at
            at = self.entities.get(at)


def _owns(attribute: str) -> str:
    return f"owns {attribute} @card(0..)"


def kebab(text: str) -> str:
    """A text as a TypeQL identifier: words in small letters with - between, and no word of the language."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = "-".join(filter(None, _WORDS.split(plain))).lower()[:_MOST].strip("-")
    name = name if name[:1].isalpha() else f"term-{name}".strip("-")
    return f"{name}-term" if name in RESERVED else name


# What is known as things and relations of the schema, and the statements that write them. Pure.

MOST_TEXT = 60_000
"""How many bytes of a text are sent."""
BATCH, MOST_SENT = 100, 1 << 20
"""How many rows, and how many bytes of them, are written in one transaction: the server refuses requests of 2 MB."""
INT64 = 2**63
_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"})


@dataclass(frozen=True, slots=True)
class TypeDBRow:
    """A thing, or with players a relation: its type, its key on the server and what it has, as TypeQL literals."""

    label: str
    uid: str
    has: tuple[str, ...]
    players: tuple[tuple[str, TypeDBRow], ...] = ()
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


class RowGroup:
    """Makes the rows of one sort: their keys begin with the agent and the sort."""

    def __init__(self, agent: str, sort: str, schema: Schema) -> None:
        self._prefix, self._sort, self._schema = f"{agent}/{sort}/", sort, schema

    def things(self, known: Iterable[Any]) -> Iterator[TypeDBRow]:
        """Facts, rules, cases or memories."""
        paths = dict(_TABLES["rows"][self._sort])
        label = paths.pop("type")
        for each in known:
            values = [(name, attrgetter(path)(each)) for name, path in paths.items()]
            values += [("condition-text", render(each))] if isinstance(each, Rule) else []
            yield TypeDBRow(label, self._prefix + each.id, tuple(self._has(values)))

    def _has(self, values: Iterable[tuple[str, Any]]) -> Iterator[str]:
        for name, value in values:
            for each in dict.fromkeys(value if isinstance(value, tuple) else (value,)):
                if (found := literal(each, self._schema.attributes[name])) is not None:
                    yield f"has {name} {found}"

    def graph(self, facts: Sequence[Fact]) -> Iterator[TypeDBRow]:
        """What facts say as a graph: a thing for each subject with a known type, and the relations between such.

        Relations come last, and their keys before those of things when they are sorted from the end.
        """
        kinds = self._kinds(facts)
        values: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for fact in facts:
            if label := self._schema.attribute(fact.predicate, kinds.get(fact.subject, "")):
                values[fact.subject].add((label, fact.object))
        nodes = {
            name: TypeDBRow(kind, f"{self._prefix}node/{name}", tuple(self._has(sorted(values[name]))))
            for name, kind in sorted(kinds.items())
        }
        yield from nodes.values()
        for fact in facts:
            one, other = nodes.get(fact.subject), nodes.get(fact.object)
            if one and other and (found := self._schema.relation(fact.predicate, one.label, other.label)):
                (first, _), (second, _) = found.roles
                yield TypeDBRow(found.label, f"{self._prefix}tie/{fact.id}", (), ((first, one), (second, other)))

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


def batches(rows: Iterable[TypeDBRow]) -> Iterator[list[TypeDBRow]]:
    """Rows in groups that fit into a transaction, in their order."""
    batch, size = list[TypeDBRow](), 0
    for row in rows:
        weight = sum(len(each.encode()) for each in row.has)
        if batch and (len(batch) >= BATCH or size + weight > MOST_SENT):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += weight
    if batch:
        yield batch


def insert_queries(rows: Sequence[TypeDBRow], agent: str) -> list[str]:
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
