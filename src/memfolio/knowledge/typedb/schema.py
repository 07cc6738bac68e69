"""The TypeQL 3 schema of the copy: the base model, and the classes and properties of the ontology beside it. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, count
from typing import NamedTuple

from memfolio.knowledge.model import ATTRIBUTES, NODES, PREDICATES, RELATIONS, kind_named
from memfolio.knowledge.ontology.term import Term, TermKind

NODE = "node"
"""The abstract type above all entities: what each of them has, and what may be related to anything."""
OWN = {"agent-id": "string", "digest": "string", "memory-kind": "string"}
"""Attributes beside those of the base model: whose it is, what it says in short, and how a memory is held."""
KEYED = ("owns uid @key", "owns agent-id", "owns digest")

RESERVED = frozenset(
    """with given match fetch update define undefine redefine insert put delete end entity relation attribute role asc
    desc struct fun return alias sub owns as plays relates iid isa links has is or not try in true false of from first
    last abs ceil floor round length check count max min mean median std sum list value select sort limit offset group
    groupby reduce require distinct like contains label let boolean integer double decimal datetime-tz datetime date
    duration string""".split()
)
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_MOST = 60
_VALUES = {f"xsd:{name}": name for name in ("integer", "double", "boolean")}
_VALUES |= {"xsd:decimal": "double", "xsd:date": "datetime", "xsd:dateTime": "datetime"}
"""The types of values of the ontology that the server has, too; all others are strings there."""


class Relation(NamedTuple):
    """A relation with its roles, the subject's first, each with an entity type that plays it."""

    label: str
    roles: tuple[tuple[str, str], ...]


class Schema:
    """Types, and which of them a word in a fact means."""

    def __init__(self, terms: Iterable[Term] = ()) -> None:
        self.attributes = {kebab(name): str(value) for name, value in ATTRIBUTES.items()} | OWN
        self.entities: dict[str, str] = {kebab(kind): NODE for kind in NODES}
        """Each with the type above it."""
        self.relations: dict[str, Relation] = {}
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
            self._relate(Relation(kebab(name), tuple((role, kebab(kind)) for role, kind in roles)), name)
        self._extend(sorted(terms, key=lambda term: term.id))

    def kind(self, word: str) -> str | None:
        """The entity type that `isA` names with this word."""
        return self._kinds.get(word) or self._kinds.get(kind_named(word))

    def attribute(self, predicate: str, kind: str) -> str | None:
        """The attribute that a predicate gives to an entity of this type."""
        label = self._named.get(kebab(predicate.rpartition(":")[2]), "")
        return label if any(_owns(label) in self._can[each] for each in self._above(kind)) else None

    def relation(self, predicate: str, subject: str, object: str) -> Relation | None:
        """The relation that a predicate states between entities of these types, with the roles that they play."""
        found = self.relations.get(PREDICATES.get(predicate, predicate))
        if found is None or found.roles[0][1] not in self._above(subject):
            return None
        role = next((role for role, kind in found.roles[1:] if kind in self._above(object)), None)
        return Relation(found.label, ((found.roles[0][0], subject), (role, object))) if role else None

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
        classes = [term for term in terms if term.kind is TermKind.CLASS]
        for term in classes:
            self._add_class(term)
        for term in classes:
            self._place(self._kinds[term.id], self._type(next(iter(term.parents), "")))
        for term in terms:
            if term.kind is TermKind.OBJECT:
                self._add_relation(term)
            elif term.kind is TermKind.DATATYPE:
                self._add_attribute(term)

    def _add_class(self, term: Term) -> None:
        label = self._kinds.get(kind_named(term.name)) if kind_named(term.name) in NODES else self._fresh(term.name)
        self._kinds[term.id] = label or NODE
        self._kinds.setdefault(term.name, self._kinds[term.id])
        self.entities.setdefault(self._kinds[term.id], NODE)

    def _place(self, label: str, parent: str) -> None:
        """Put a type below another, unless it is of the base model or stands above that one itself."""
        if label not in map(kebab, NODES) and label not in self._above(parent):
            self.entities[label] = parent

    def _add_relation(self, term: Term) -> None:
        if term.name not in PREDICATES and term.name not in RELATIONS:  # the base model's own
            roles = (("subject", self._type(term.domain_class)), ("object", self._type(term.range)))
            self._relate(Relation(self._fresh(term.name), roles), term.id, term.name)

    def _relate(self, relation: Relation, *names: str) -> None:
        for name in names:
            self.relations.setdefault(name, relation)
        for role, kind in relation.roles:
            self._can[kind].add(f"plays {relation.label}:{role}")

    def _add_attribute(self, term: Term) -> None:
        name = kebab(term.name)
        if name not in self._named:
            label = self._named[name] = self._fresh(name)
            self.attributes[label] = _VALUES.get(term.range, "string")
        if self._named[name] not in ("uid", *OWN):
            self._can[self._type(term.domain_class)].add(_owns(self._named[name]))

    def _type(self, id: str) -> str:
        return self._kinds.get(id, NODE)

    def _fresh(self, text: str) -> str:
        """A label that is no other's; the first of those that would be the same has no number."""
        taken = {NODE, *self.attributes, *self.entities, *(each.label for each in self.relations.values())}
        numbered = (f"-{number}" for number in count(2))
        return next(name for each in chain([""], numbered) if (name := f"{kebab(text)}{each}") not in taken)

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
