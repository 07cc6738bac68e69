"""Terms of an ontology, and the vocabulary of all that can be used together. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, TypedDict

from memfolio.errors import NotFoundError, OntologyError
from memfolio.graph.entities import distance
from memfolio.knowledge.literal import LiteralKind
from memfolio.types import frozen

# A term of an ontology: a class, a property or a business rule, with what it means. Pure.

BASE = "https://memfolio.dev/ontology/"
"""Begins the identifiers of all terms; there is nothing to be fetched."""
DOMAIN_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,39}")
LITERALS = {
    "xsd:string": LiteralKind.TEXT,
    "xsd:decimal": LiteralKind.NUMBER,
    "xsd:integer": LiteralKind.NUMBER,
    "xsd:double": LiteralKind.NUMBER,
    "mf:money": LiteralKind.MONEY,
    "mf:percent": LiteralKind.PERCENT,
    "xsd:date": LiteralKind.DATE,
    "xsd:dateTime": LiteralKind.DATE,
    "xsd:duration": LiteralKind.DURATION,
    "xsd:boolean": LiteralKind.BOOLEAN,
}
"""The types of values, and what a value of each is."""
TYPE_PREDICATES = frozenset({"isA", "is-a", "is_a", "type", "rdf:type", "instanceOf"})
LITERAL_NAMES = {kind.value: name for name, kind in reversed(LITERALS.items())}
"""How a person says the type of a value: text, number, money, percent, date, duration, boolean."""
_TEXTS = ("label", "definition", "domain_class", "range", "rule")


class TermKind(StrEnum):
    """What a term is."""

    CLASS = "class"
    OBJECT = "object_property"
    DATATYPE = "datatype_property"
    RULE = "rule"

    @property
    def is_property(self) -> bool:
        return self in PROPERTIES


PROPERTIES = (TermKind.OBJECT, TermKind.DATATYPE)


@frozen
class Term:
    """A term; `id` and whatever it refers to are written `domain:Name`."""

    kind: TermKind
    id: str
    label: str = ""
    definition: str = ""
    parents: tuple[str, ...] = ()
    domain_class: str = ""
    """The class of things that have the property."""
    range: str = ""
    """The class or the type of value that the property leads to."""
    synonyms: tuple[str, ...] = ()
    functional: bool = False
    """Whether a thing has the property at most once at a time."""
    rule: str = ""
    """A business rule in its text form."""
    more: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What its page says beside that."""

    @property
    def domain(self) -> str:
        return self.id.partition(":")[0] if ":" in self.id else ""

    @property
    def name(self) -> str:
        """Its name in facts: the id without its domain."""
        return self.id.partition(":")[2]

    @property
    def references(self) -> tuple[str, ...]:
        """The ids of the terms that it names."""
        return tuple(filter(None, (*self.parents, self.domain_class, self.range)))

    @property
    def names(self) -> tuple[str, ...]:
        """All by which it is found, as they are written."""
        return tuple(dict.fromkeys(filter(None, (self.name, self.label, *self.synonyms))))


def new_term(kind: TermKind | str, id: str, **fields: Any) -> Term:
    """A term as a person names it: literal types by their words, label made of the name."""
    try:
        chosen = TermKind(kind)
    except ValueError as error:
        raise OntologyError(f"{str(kind)[:40]!r} is no kind of term", hint=f"use {', '.join(TermKind)}") from error
    parents, synonyms = (_several(fields.pop(name, ())) for name in ("parents", "synonyms"))
    fields = {name: value for name, value in fields.items() if value}
    fields["range"] = LITERAL_NAMES.get(fields.get("range", ""), fields.get("range", ""))
    fields.setdefault("label", spoken(id.partition(":")[2], chosen))
    return Term(kind=chosen, id=id, parents=parents, synonyms=synonyms, **fields)


class NamedTerm(TypedDict):
    """The fields that every term has."""

    node_id: str
    node_type: str


class TermFields(NamedTerm, total=False):
    """The fields of a term in a proposal."""

    domain: str
    label: str
    parent_class: str
    domain_class: str
    range: str
    synonyms: list[str]
    functional: bool
    rule: str
    rationale: str
    definition: str


def as_fields(term: Term) -> dict[str, Any]:
    """A term as plain values, in the words of a proposal; `term_from` reads them."""
    named = {"domain": term.domain, "node_type": term.kind.value, "node_id": term.id}
    several = {"parent_class": ", ".join(term.parents), "synonyms": list(term.synonyms)}
    fields = named | several | {name: getattr(term, name) for name in (*_TEXTS, "functional")}
    return {name: value for name, value in fields.items() if value}


def term_from(fields: Mapping[str, Any]) -> Term:
    """The term that a proposal is about; OntologyError where it names no kind or no id."""
    named = str(fields.get("node_id", ""))
    return new_term(
        str(fields.get("node_type", "")),
        named if ":" in named or not fields.get("domain") else f"{fields['domain']}:{named}",
        parents=fields.get("parent_class") or (),
        synonyms=fields.get("synonyms") or (),
        **{name: fields.get(name) for name in (*_TEXTS, "functional")},
    )


def spoken(name: str, kind: TermKind) -> str:
    """A name as words: `SalesOrder` is Sales Order, `placesOrder` places order."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|\d+", name)
    return " ".join(words if kind is TermKind.CLASS else [word if word.isupper() else word.lower() for word in words])


def _several(given: str | Iterable[str]) -> tuple[str, ...]:
    parts = given.split(",") if isinstance(given, str) else given
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


# All terms that can be used together: found by any of their names, with what is above and below them. Pure.

LONG_ENOUGH = 5
"""Letters that a name needs to be taken for another one with a typing error: MRR is not ARR."""
CLOSE = 0.2
"""The share of letters in which two such names may differ."""


class Vocabulary:
    """Terms by their ids; a term that is given twice counts as it is given first."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms: dict[str, Term] = {}
        for term in terms:
            self.terms.setdefault(term.id, term)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms.values())

    @cached_property
    def domains(self) -> set[str]:
        return {each.domain for each in self}

    def of_kind(self, *kinds: TermKind) -> list[Term]:
        return [each for each in self if each.kind in kinds]

    @cached_property
    def _named(self) -> dict[str, list[Term]]:
        """Terms by their names; a term's own name comes before what is only a synonym of another."""
        found: dict[str, list[Term]] = defaultdict(list)
        for rank in (lambda term: (term.id, term.name), lambda term: (term.label,), lambda term: term.synonyms):
            for term in self:
                for name in rank(term):
                    if term not in found[key(name)]:
                        found[key(name)].append(term)
        return found

    def find(self, name: str, *kinds: TermKind) -> Term | None:
        """The first term of an id, name, label or synonym."""
        return next(iter(self.named(name, *kinds)), None)

    def named(self, name: str, *kinds: TermKind) -> list[Term]:
        """All terms of an id, name, label or synonym, of the kinds that are asked for; several domains may have one."""
        # An id is exact; everything else is compared without case, spaces and dashes.
        found = [self.terms[name]] if name in self.terms else self._named.get(key(name), [])
        return [each for each in found if not kinds or each.kind in kinds]

    def get(self, name: str) -> Term:
        """The same; NotFoundError with the nearest name where there is none."""
        if found := self.find(name):
            return found
        near = self.nearest(name)
        hint = f"did you mean {near.id}?" if near else "`memfolio ontology list` shows all"
        raise NotFoundError(f"there is no term {name[:80]!r}", hint=hint)

    def nearest(self, name: str, *kinds: TermKind) -> Term | None:
        """The term whose name is written most like this one, if any is."""
        close = self.close(name.rpartition(":")[2], share=2 * CLOSE)
        scored = [(apart, term.id, term) for apart, term in close if not kinds or term.kind in kinds]
        return min(scored, key=lambda each: each[:2])[2] if scored else None

    def close(self, name: str, share: float = CLOSE) -> Iterator[tuple[int, Term]]:
        """Terms with a name that differs from this one by a typing error or less, and by how many letters."""
        wanted = key(name)
        pairs = _pairs(wanted)
        for known, (others, terms) in self._written.items():
            most = int(max(len(wanted), len(known)) * share)
            if known == wanted:
                yield from ((0, term) for term in terms)
            elif (  # the cheapest first: that rules out nearly all
                (pairs ^ others).bit_count() <= 4 * most
                and abs(len(wanted) - len(known)) <= most
                and min(len(wanted), len(known)) >= LONG_ENOUGH
                and (apart := distance(wanted, known)) <= most
            ):
                yield from ((apart, term) for term in terms)

    @cached_property
    def _written(self) -> dict[str, tuple[int, list[Term]]]:
        """Terms by their names as these are compared, with the pairs of letters of each."""
        found: dict[str, tuple[int, list[Term]]] = {}
        for term in self:
            for name in dict.fromkeys(map(key, term.names)):
                found.setdefault(name, (_pairs(name), []))[1].append(term)
        return found

    def above(self, *ids: str) -> list[str]:
        """Terms and all that is above them, the nearest first; a cycle is gone round once."""
        found, waiting = dict[str, None](), list(ids)
        while waiting:
            name = waiting.pop(0)
            if name not in found:
                found[name] = None
                waiting += self.terms[name].parents if name in self.terms else ()
        return list(found)

    def ancestors(self, id: str) -> list[str]:
        """All that is above a term, the nearest first."""
        return self.above(*self.terms[id].parents) if id in self.terms else []

    def is_a(self, id: str, other: str) -> bool:
        """Whether a term is another one, or stands below it."""
        return other == "owl:Thing" or other in self.above(id)

    @cached_property
    def children(self) -> dict[str, list[Term]]:
        found: dict[str, list[Term]] = defaultdict(list)
        for term in self:
            for parent in term.parents:
                found[parent].append(term)
        return found


@lru_cache(maxsize=65536)
def key(name: str) -> str:
    """A name as it is compared: case, spaces, dashes and the humps of camel case do not matter."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def _pairs(name: str) -> int:
    """A bit for each two letters that follow each other; one typing error changes four of them at most."""
    bits = 0
    for one, other in pairwise(name):
        bits |= 1 << ((ord(one) * 31 + ord(other)) & 1023)
    return bits
