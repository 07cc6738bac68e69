"""Terms of an ontology, and its pages: read from RDF, and written as JSON-LD and Turtle.

The RDF library is an extra; a page in our normal form needs none. SPARQL is answered in a process of its own.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, TypedDict
from urllib.parse import quote

from memfolio.clock import iso
from memfolio.errors import InputError, NotFoundError, OntologyError
from memfolio.graph.entities import distance
from memfolio.index.facts import Fact
from memfolio.knowledge.literal import LiteralKind, read_literal
from memfolio.machine import install_command
from memfolio.text import packaged_table, packaged_text
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


# Pages of an ontology: JSON-LD in a normal form that is read without any library, and terms made of it. Pure.
#
# A context is always written in the page itself: what would have to be fetched is refused before it is parsed.

MOST_BYTES = 8 * 1024 * 1024
DEEPEST = 24
_TABLES = packaged_table("knowledge/ontology/data/rdf.toml")
PREFIXES: dict[str, str] = _TABLES["prefixes"]
LOCAL: dict[str, str] = _TABLES["local"]
"""Namespaces of identifiers that are not terms of an ontology."""
RESERVED = frozenset({*PREFIXES, *LOCAL, "urn", "mailto", "tag", "doi", "http", "https"})
"""Words before a colon that are not domains."""
HEADER = "owl:Ontology"
FUNCTIONAL = "owl:FunctionalProperty"
TYPES = {
    "owl:Class": TermKind.CLASS,
    "owl:ObjectProperty": TermKind.OBJECT,
    "owl:DatatypeProperty": TermKind.DATATYPE,
    "mf:Rule": TermKind.RULE,
    "rdfs:Class": TermKind.CLASS,
}
ORDER = (
    *("@id", "@type", "rdfs:label", "rdfs:subClassOf", "rdfs:subPropertyOf", "rdfs:domain", "rdfs:range"),
    *("skos:definition", "skos:altLabel", "mf:rule"),
)
"""The keys of a term, in the order in which they are written; all others come behind them."""
Node = Mapping[str, Any]


@frozen
class Document:
    """A page: the nodes of its graph as written, the terms among them, and the prefixes in use."""

    domain: str
    nodes: tuple[Node, ...] = ()
    terms: tuple[Term, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The title of the page."""
        headers = (_text(node, "rdfs:label") for node in self.nodes if _is_header(node))
        return next(filter(None, headers), self.domain)


@lru_cache(maxsize=64)
def read_page(content: bytes, domain: str) -> Document:
    """Read a page; one that is not in normal form is read by the RDF library.

    Raises OntologyError if it is not JSON-LD, needs a remote document, or is too large or too deep.
    """
    given = parse_json(content, domain)
    if is_normal(given, domain):
        nodes, context = given["@graph"], given["@context"]
    else:
        context = prefixes_of(given, domain)
        nodes = nodes_in(content, "JSON_LD", domain, context)
    terms = tuple(terms_in(nodes, domain))
    return Document(domain=domain, nodes=tuple(nodes), terms=terms, context=context)


def write_page(document: Document) -> bytes:
    """The page in normal form: one term a node, sorted, so that differences read well."""
    domain, nodes = document.domain, list(document.nodes)
    # Other programs expect a page to say what it is.
    if not any(map(_is_header, nodes)):
        nodes.append({"@id": f"{domain}:", "@type": HEADER, "rdfs:label": domain})
    others = {
        name.partition(":")[0] for term in terms_in(nodes, domain) for name in term.references if "//" not in name
    }
    named = {name: f"{BASE}{name}/" for name in (domain, *sorted(others - RESERVED - {domain}))}
    page = {
        "@context": {**PREFIXES, **named, **document.context},
        "@graph": list(map(_tidy, sorted(nodes, key=_place))),
    }
    try:
        return f"{json.dumps(page, ensure_ascii=False, indent=2)}\n".encode()
    except UnicodeEncodeError as error:
        hint = "take half a surrogate pair out of it"
        raise OntologyError(f"{domain} has characters that cannot be written", hint=hint) from error


def parse_json(content: bytes, where: str) -> Any:
    """Parse JSON-LD that is within bounds and refers to nothing remote."""
    _check_size(content, where)
    try:
        given = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise OntologyError(f"{where} is no JSON: {error}", hint="correct it there, and save it in UTF-8") from error
    if not isinstance(given, (dict, list)):
        raise OntologyError(f"{where} is no JSON-LD: {str(given)[:40]!r}", hint="write an object with @graph")
    _check_contexts(given, where)
    return given


def _check_size(content: bytes, where: str) -> None:
    if len(content) > MOST_BYTES:
        raise OntologyError(f"{where} has more than {MOST_BYTES:,} bytes", hint="split it into several domains")


def is_normal(given: Any, domain: str) -> bool:
    """Whether a document is in our normal form: prefixes only in its context, and a flat graph of compact names."""
    match given:
        case {"@context": dict(context), "@graph": list(graph)} if len(given) == 2:
            ours = {**PREFIXES, domain: f"{BASE}{domain}/"}
            return (
                all(map(_is_start, context.values()))
                and all(context.get(name, value) == value for name, value in ours.items())
                and all(isinstance(node, dict) and _is_flat(node, {*context}) for node in graph)
            )
        case _:
            return False


def _is_start(value: Any) -> bool:
    """Whether a prefix can stand for it, since identifiers may begin with it."""
    return isinstance(value, str) and value[-1:] in ("/", "#")


def prefixes_of(given: Any, domain: str) -> dict[str, str]:
    """The prefixes that a document names, with ours before them."""
    parts = listed(given.get("@context")) if isinstance(given, dict) else []
    named = [pair for part in parts if isinstance(part, dict) for pair in part.items()]
    return {**{name: value for name, value in named if _is_start(value)}, **PREFIXES, domain: f"{BASE}{domain}/"}


def terms_in(nodes: Iterable[Node], domain: str) -> Iterator[Term]:
    """The terms of a domain among the nodes of a graph."""
    found = (term_of(node) for node in nodes if str(node.get("@id")).startswith(f"{domain}:"))
    return (term for term in found if term)


def term_of(node: Node) -> Term | None:
    """Return the term that a node describes; None if it describes something else."""
    types = _types(node)
    kind = next((TYPES[name] for name in types if name in TYPES), None)
    if kind is None:
        return None
    return Term(
        kind=kind,
        id=str(node["@id"]),
        label=_text(node, "rdfs:label"),
        definition=_text(node, "skos:definition"),
        parents=_references(node, _above(kind)),
        domain_class=next(iter(_references(node, "rdfs:domain")), ""),
        range=next(iter(_references(node, "rdfs:range")), ""),
        synonyms=_texts(node, "skos:altLabel"),
        functional=FUNCTIONAL in types,
        rule=_text(node, "mf:rule"),
        more={name: value for name, value in node.items() if name not in ORDER},
    )


def node_of(term: Term) -> dict[str, Any]:
    """The node for a term."""
    kind = next(name for name, kind in TYPES.items() if kind is term.kind)
    return {
        "@id": term.id,
        "@type": [kind, FUNCTIONAL] if term.functional else kind,
        "rdfs:label": term.label,
        _above(term.kind): [{"@id": each} for each in term.parents],
        "rdfs:domain": [{"@id": each} for each in (term.domain_class,) if each],
        "rdfs:range": [{"@id": each} for each in (term.range,) if each],
        "skos:definition": term.definition,
        "skos:altLabel": list(term.synonyms),
        "mf:rule": term.rule,
        **term.more,
    }


def listed(value: Any) -> list[Any]:
    """A value as JSON-LD means it: nothing, one, or several."""
    return [] if value is None else value if isinstance(value, list) else [value]


def _types(node: Node) -> list[str]:
    return [each for each in listed(node.get("@type")) if isinstance(each, str)]


def _is_header(node: Node) -> bool:
    return HEADER in _types(node)


def _above(kind: TermKind) -> str:
    return "rdfs:subPropertyOf" if kind.is_property else "rdfs:subClassOf"


def _place(node: Node) -> tuple[int, str]:
    """Sort key of a node in its page: the header, terms by kind and id, then the rest."""
    kinds = [TYPES[each] for each in _types(node) if each in TYPES]
    rank = list(TermKind).index(kinds[0]) if kinds else len(TermKind)
    return -1 if _is_header(node) else rank, str(node.get("@id"))


def _tidy(node: Node) -> dict[str, Any]:
    """A node with its keys in order, without those that say nothing, and one value without a list around it."""
    keys = sorted(node, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    filled = {name: node[name] for name in keys if node[name] not in ("", [])}
    return {name: value[0] if isinstance(value, list) and len(value) == 1 else value for name, value in filled.items()}


def _is_flat(node: Node, prefixes: set[str]) -> bool:
    values = [each for name, value in node.items() if name != "@type" for each in listed(value)]
    return (
        isinstance(node.get("@id"), str)
        and all(isinstance(each, str) for each in listed(node.get("@type")))
        and {name.partition(":")[0] for name in node} <= {*prefixes, "@id", "@type"}
        and not any(isinstance(each, list) for each in values)
        and all(set(each) == {"@id"} or "@value" in each for each in values if isinstance(each, dict))
    )


def _texts(node: Node, name: str) -> tuple[str, ...]:
    texts = (each.get("@value") if isinstance(each, dict) else each for each in listed(node.get(name)))
    return tuple(each.strip() for each in texts if isinstance(each, str) and each.strip())


def _text(node: Node, name: str) -> str:
    return next(iter(_texts(node, name)), "")


def _references(node: Node, name: str) -> tuple[str, ...]:
    named = (str(each["@id"]) for each in listed(node.get(name)) if isinstance(each, dict) and "@id" in each)
    return tuple(each for each in named if not each.startswith("_:"))


def _check_contexts(given: Any, where: str, depth: int = 0) -> None:
    """Raise OntologyError if a part is nested too deep, or a context is not written out."""
    if depth > DEEPEST:
        raise OntologyError(f"{where[:200]} is nested too deep", hint="write each term as a node of @graph")
    inside: Any = given.items() if isinstance(given, dict) else enumerate(given) if isinstance(given, list) else ()
    for name, value in inside:
        for part in listed(value) if name == "@context" else ():
            if isinstance(part, str) or (isinstance(part, dict) and "@import" in part):
                raise OntologyError(
                    f"{where[:200]}/@context would have to be fetched: {str(part)[:120]}",
                    hint="write the context into the document; nothing is ever fetched",
                )
        _check_contexts(value, f"{where}/{name}", depth + 1)


# The RDF library, which is an extra: it reads what is not in normal form, and writes Turtle.

FORMATS = {
    "TURTLE": "turtle ttl",
    "JSON_LD": "jsonld json",
    "RDF_XML": "xml rdfxml rdf owl",
    "N_TRIPLES": "ntriples nt",
}
"""The formats by their names in the RDF library, each with the names that people give it."""


def searcher() -> Any:
    """The module pyoxigraph; OntologyError with the line that installs it."""
    try:
        return import_module("pyoxigraph")
    except ImportError as error:
        raise OntologyError(
            "this needs the RDF library, which is not installed", hint=install_command("rdf")
        ) from error


def format_named(name: str, *formats: str) -> str:
    """The one of these formats that a person calls so, such as JSON_LD for `json-ld`."""
    plain = re.sub(r"[\W_]+", "", name.casefold())
    names = {each: FORMATS[each].split() for each in formats}
    if found := next((each for each in formats if plain in names[each]), None):
        return found
    hint = f"use {', '.join(each[0] for each in names.values())}"
    raise OntologyError(f"{name[:40]!r} is no format for this", hint=hint)


def nodes_in(content: bytes, format: str, where: str, context: Mapping[str, str]) -> list[dict[str, Any]]:
    """The nodes of a document of any form, as the normal form has them."""
    nodes: dict[str, dict[str, Any]] = {}
    rdf = searcher()
    _check_size(content, where)
    if format == "RDF_XML" and b"<!ENTITY" in content:  # a few lines of these can expand to more than any memory holds
        raise OntologyError(f"{where} declares entities, which are not read", hint="save it as Turtle")
    try:
        for quad in rdf.parse(content, getattr(rdf.RdfFormat, format), base_iri="urn:document:"):
            named = _called(quad.subject, context)
            node = nodes.setdefault(named, {"@id": named})
            if (key := _called(quad.predicate, context)) == "rdf:type":
                node.setdefault("@type", []).append(_called(quad.object, context))
            else:
                node.setdefault(key, []).append(_value(quad.object, context))
    except SyntaxError as error:
        named = FORMATS[format].split()[0]
        raise OntologyError(f"{where} is no {named}: {error.msg}", hint="correct it there") from error
    return list(nodes.values())


def compact(name: str, context: Mapping[str, str]) -> str:
    """An identifier by its prefix, the longest that fits."""
    # Our terms lie below the prefix mf: the longest is the domain.
    fitting = [prefix for prefix, start in context.items() if name.startswith(start)]
    best = max(fitting, key=lambda prefix: len(context[prefix]), default=None)
    return f"{best}:{name[len(context[best]) :]}" if best else name


def _called(term: Any, context: Mapping[str, str]) -> str:
    return compact(term.value, context) if isinstance(term, searcher().NamedNode) else str(term)


def _value(term: Any, context: Mapping[str, str]) -> Any:
    if not isinstance(term, searcher().Literal):
        return {"@id": _called(term, context)}
    if term.language:
        return {"@value": term.value, "@language": term.language}
    kind = _called(term.datatype, context)
    return term.value if kind == "xsd:string" else {"@value": term.value, "@type": kind}


# Documents of others: their classes and properties as terms of ours.

_VALUES = {name: ours for ours, names in _TABLES["values"].items() for name in names.split()}
"""The types of values of others, each with ours."""


def adopted(content: bytes, format: str, domain: str) -> list[Term]:
    """The classes and properties of a document as terms of `domain`; `skos:exactMatch` names the originals."""
    chosen, where = format_named(format, *FORMATS), "the document"
    given = parse_json(content, where) if chosen == "JSON_LD" else {}
    if is_normal(given, domain) and (ours := list(terms_in(given["@graph"], domain))):
        return ours
    context = prefixes_of(given, domain)
    defined = [node for node in nodes_in(content, chosen, where, context) if node["@id"][:2] != "_:"]
    for node in defined:
        _decide_kind(node)
    terms = [_told(term, node) for node in defined if (term := term_of(node))]
    names = {term.id: f"{domain}:{_name_here(term)}" for term in terms}

    def whole(name: str) -> str:
        prefix, _, rest = name.partition(":")
        return name if prefix in PREFIXES or prefix not in context else f"{context[prefix]}{rest}"

    def named(name: str) -> str:
        return names.get(name) or _VALUES.get(name) or whole(name)

    return [
        replace(
            term,
            id=names[term.id],
            parents=tuple(map(named, term.parents)),
            domain_class=named(term.domain_class),
            range=named(term.range),
            more={} if names[term.id] == term.id else {"skos:exactMatch": {"@id": whole(term.id)}},
        )
        for term in terms
    ]


def _decide_kind(node: dict[str, Any]) -> None:
    """Decide whether what is only called a property leads to things or to values; without a range, to values."""
    if TYPES.keys().isdisjoint(_types(node)) and not {"rdf:Property", FUNCTIONAL}.isdisjoint(_types(node)):
        ranges = [str(each.get("@id")) for each in listed(node.get("rdfs:range")) if isinstance(each, dict)]
        leads_to_things = any(each not in _VALUES and not each.startswith("xsd:") for each in ranges)
        node["@type"] += ["owl:ObjectProperty" if leads_to_things else "owl:DatatypeProperty"]


def _told(term: Term, node: Node) -> Term:
    """A term with what its node says of it by the keys of other vocabularies."""
    by_name = {re.split(r"[#/:]", name)[-1]: value for name, value in node.items()}
    found = {part: (_texts(by_name, name) for name in names) for part, names in _TABLES["keys"].items()}
    label, definition, synonyms = (next(filter(None, found[part]), ()) for part in ("label", "definition", "synonyms"))
    return replace(term, label="".join(label[:1]), definition="".join(definition[:1]), synonyms=synonyms, rule="")


def _name_here(term: Term) -> str:
    """A name in our form: `http://x.org/#sales_order` is the class SalesOrder or the property salesOrder.

    The label is used where the name would not begin with a letter, as for `http://x.org/#4711`.
    """
    texts = (re.split(r"[#/:]", term.id.rstrip("#/"))[-1], term.label)
    words = (re.findall(r"[A-Za-z0-9]+", each) for each in texts)
    local, label = ("".join(word[0].upper() + word[1:] for word in each) for each in words)
    name = label if label[:1].isalpha() and not local[:1].isalpha() else local
    return name if term.kind is TermKind.CLASS else name[:1].lower() + name[1:]


# The vocabularies that come with the package: one for business in general, and beginnings for kinds of business.

BUSINESS = "business"
TEMPLATES = ("saas", "ecommerce", "consulting", "agency")


def template(name: str, domain: str = "") -> Document:
    """Return a template under its own name, or renamed to `domain`."""
    if name not in (BUSINESS, *TEMPLATES):
        raise OntologyError(f"there is no template {name[:40]!r}", hint=f"use {', '.join(TEMPLATES)}")
    text, called = packaged_text(f"knowledge/ontology/data/{name}.jsonld"), domain or name
    context = f'"{called}": "{BASE}{called}/'
    text = text.replace(f'"{name}:', f'"{called}:').replace(f'"{name}": "{BASE}{name}/', context)
    return read_page(text.encode(), called)


# Ontology and facts as RDF: written as Turtle or JSON-LD, and asked by SPARQL.
#
# A fact is a triple, and a `rdf:Statement` about that triple with its confidence, validity and source: that form can
# be written in JSON-LD as well as in Turtle.

ROWS = 1000
SECONDS = 10.0
LOADED = 4 * 1024 * 1024
"""Bytes that are loaded in a second, by a slow machine: the time for that does not count as the query's."""
MEMORY = 2 * 1024**3
_GAP = r"(?:\s|#[^\n\r]*+)*+"
_SERVICE = re.compile(rf"service{_GAP}(?:silent{_GAP})?(?:<[^>]*>|[^\s{{]+){_GAP}\{{", re.IGNORECASE)
_CODES = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


@frozen
class Answers:
    """The answers to a query: rows of a SELECT, triples of a CONSTRUCT, or `holds` for an ASK."""

    variables: tuple[str, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()
    holds: bool | None = None
    cut: bool = False
    """Whether there are more answers than the limit."""


def export_ontology(pages: Iterable[Document], facts: Iterable[Fact], format: str) -> bytes:
    """Pages and facts as one text."""
    chosen = format_named(format, "TURTLE", "JSON_LD")
    given, rdf = list(pages), searcher()
    quads = (quad for text in documents(given, facts) for quad in rdf.parse(text, rdf.RdfFormat.JSON_LD))
    triples = (rdf.Triple(quad.subject, quad.predicate, quad.object) for quad in quads)
    text: bytes = rdf.serialize(triples, format=getattr(rdf.RdfFormat, chosen), prefixes=prefixes(given))
    return text


def ask(query: str, pages: Iterable[Document], facts: Iterable[Fact], *, limit: int, seconds: float) -> Answers:
    """The answers to a query, from a process that is stopped when it takes too long or too much memory."""
    searcher()
    # The process can open no connection outside Windows; this is for Windows, and says what is wrong.
    if _SERVICE.search(_CODES.sub(lambda code: chr(min(int(code[1] or code[2], 16), sys.maxunicode)), query)):
        raise OntologyError("SERVICE asks another server, which is never done", hint="ask about what is here")
    if limit < 1:
        raise InputError(f"{limit} is no limit", hint="use 1 or more")
    given = list(pages)
    named = prefixes(given)
    texts = [each.decode() for each in documents(given, facts)]
    question = {"query": query, "prefixes": named, "limit": limit, "memory": MEMORY, "documents": texts}
    answer = _run(question, seconds)

    def shown(kind: str, value: str) -> str:
        return compact(value, named) if kind == "NamedNode" else value

    rows = tuple(tuple(cell and shown(*cell) for cell in row) for row in answer.pop("rows", ()))
    return Answers(variables=tuple(answer.pop("variables", ())), rows=rows, **answer)


def prefixes(pages: Iterable[Document]) -> dict[str, str]:
    """Return every prefix that queries and exports may use."""
    named = {name: value for page in pages for name, value in page.context.items() if "://" in value}
    return {**named, **{page.domain: f"{BASE}{page.domain}/" for page in pages}, **LOCAL, **PREFIXES}


def documents(pages: Iterable[Document], facts: Iterable[Fact]) -> Iterator[bytes]:
    """Yield pages and facts as JSON-LD documents."""
    known, given = list(pages), list(facts)
    yield from map(write_page, known)
    # What is the subject of a fact is a thing wherever it is an object, too.
    writer = _FactNodes(Vocabulary(term for page in known for term in page.terms), {each.subject for each in given})
    nodes = [node for fact in given for node in writer.nodes(fact)]
    yield json.dumps({"@context": {**LOCAL, **PREFIXES}, "@graph": nodes}).encode()


class _FactNodes:
    """Puts facts into JSON-LD."""

    def __init__(self, known: Vocabulary, things: set[str]) -> None:
        self._things = things
        self._class = cache(lambda name: known.find(name, TermKind.CLASS))
        self._property = cache(lambda name: known.find(name, *PROPERTIES))

    def nodes(self, fact: Fact) -> Iterator[dict[str, Any]]:
        """Yield a fact as a triple, and a node with its metadata."""
        subject, (predicate, value) = _thing(fact.subject), self._rest(fact)
        yield subject | {predicate: value}
        times = {"mf:validFrom": fact.valid_from, "mf:validUntil": fact.valid_until}
        yield {
            "@id": f"fact:{quote(fact.id, safe='')}",
            "@type": "rdf:Statement",
            "rdf:subject": subject,
            "rdf:predicate": {"@id": predicate},
            "rdf:object": value,
            "mf:confidence": _literal(str(fact.confidence), "xsd:decimal"),
            "mf:source": fact.source,
            **{name: _literal(iso(moment), "xsd:dateTime") for name, moment in times.items() if moment},
        }

    def _rest(self, fact: Fact) -> tuple[str, dict[str, str]]:
        """Predicate and object."""
        if fact.predicate in TYPE_PREDICATES:
            found = self._class(fact.object)
            return f"{PREFIXES['rdf']}type", {"@id": _iri(found.id)} if found else _thing(fact.object)
        term = self._property(fact.predicate)
        leads_to_thing = term.kind is TermKind.OBJECT if term else fact.object in self._things
        predicate = _iri(term.id) if term else f"predicate:{quote(fact.predicate, safe='')}"
        return predicate, _thing(fact.object) if leads_to_thing else _typed(fact.object)


def _iri(id: str) -> str:
    return f"{BASE}{id.replace(':', '/', 1)}"


def _thing(name: str) -> dict[str, str]:
    return {"@id": f"thing:{quote(name, safe='')}"}


def _typed(text: str) -> dict[str, str]:
    found = read_literal(text)
    kind, value = found.kind, found.value
    if isinstance(value, datetime):
        is_day = len(text.strip()) == 10
        return _literal(text.strip(), "xsd:date") if is_day else _literal(iso(value), "xsd:dateTime")
    if not isinstance(value, Decimal):
        return _literal(str(value).lower() if kind is LiteralKind.BOOLEAN else text, LITERAL_NAMES[kind])
    duration = f"{'-' if value < 0 else ''}PT{abs(value):f}S"
    texts = {LiteralKind.MONEY: f"{value:f} {found.unit}", LiteralKind.DURATION: duration}
    return _literal(texts.get(kind, f"{value:f}"), LITERAL_NAMES[kind])


def _literal(text: str, type: str) -> dict[str, str]:
    return {"@value": text, "@type": type}


def _run(question: dict[str, Any], seconds: float) -> dict[str, Any]:
    command = [sys.executable, "-P", str(Path(__file__).with_name("ask.py"))]
    # Loading is not the fault of the query, and gets its time beside it.
    allowed = seconds + sum(map(len, question["documents"])) / LOADED
    given = json.dumps(question | {"seconds": int(allowed) + 2}).encode()
    try:
        ended = subprocess.run(command, input=given, capture_output=True, timeout=allowed, check=False)
    except subprocess.TimeoutExpired as error:
        raise OntologyError(f"the query took more than {seconds:g} seconds", hint="ask for less") from error
    if ended.returncode:
        last = ended.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        # Python ends with 1 after an error; whoever exceeds a limit is killed, or aborts.
        why = last if ended.returncode == 1 else f"it took more than {MEMORY >> 20:,} MB"
        raise OntologyError(f"the query cannot be answered: {why[:200]}", hint="ask for less, or add a LIMIT")
    answer: dict[str, Any] = json.loads(ended.stdout)
    if "error" in answer:
        raise OntologyError(f"the query cannot be answered: {answer['error']}", hint="only SPARQL queries are answered")
    return answer
