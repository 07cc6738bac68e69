"""A term of an ontology: a class, a property or a business rule, with what it means. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from memfolio.errors import OntologyError
from memfolio.knowledge.literal import LiteralKind

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


@dataclass(frozen=True, slots=True, kw_only=True)
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


def as_fields(term: Term) -> dict[str, Any]:
    """A term as plain values, in the words of a proposal; `term_from` reads them."""
    named = {"domain": term.domain, "node_type": term.kind.value, "node_id": term.id}
    several = {"parent_class": ", ".join(term.parents), "synonyms": list(term.synonyms)}
    said = named | several | {name: getattr(term, name) for name in (*_TEXTS, "functional")}
    return {name: value for name, value in said.items() if value}


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
