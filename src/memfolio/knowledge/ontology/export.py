"""Ontology and facts as RDF: written as Turtle or JSON-LD, and asked by SPARQL.

A fact is a triple, and a `rdf:Statement` about that triple with its confidence, validity and source: that form can be
written in JSON-LD as well as in Turtle.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memfolio.clock import iso
from memfolio.errors import InputError, OntologyError
from memfolio.index.facts import Fact
from memfolio.knowledge.literal import LiteralKind, read_literal
from memfolio.knowledge.ontology.conform import PROPERTIES, TYPE_PREDICATES
from memfolio.knowledge.ontology.document import PREFIXES, Document, write_page
from memfolio.knowledge.ontology.rdf import compact, library, serialize, statements
from memfolio.knowledge.ontology.term import BASE, LITERAL_NAMES, Term, TermKind
from memfolio.knowledge.ontology.vocabulary import Vocabulary

DATA = "https://memfolio.dev/data/"
LOCAL = {"thing": f"{DATA}thing/", "predicate": f"{DATA}predicate/", "fact": f"{DATA}fact/"}
"""Where what is no term of an ontology has its identifiers."""
ROWS = 1000
MOST_ROWS = 100_000
SECONDS = 10.0
LOADED = 4 * 1024 * 1024
"""Bytes that are loaded in a second, by a slow machine: the time for that does not count as the query's."""
MEMORY = 2 * 1024**3
ANSWER_BYTES = 16 * 1024 * 1024
QUERY_CHARACTERS = 20_000
_GAP = r"(?:\s|#[^\n\r]*+)*+"
_SERVICE = re.compile(rf"service{_GAP}(?:silent{_GAP})?(?:<[^>]*>|[^\s{{]+){_GAP}\{{", re.IGNORECASE)
_CODES = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a query found: rows of a SELECT, triples of a CONSTRUCT, or with `holds` the answer to an ASK."""

    variables: tuple[str, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()
    holds: bool | None = None
    cut: bool = False
    """Whether there is more than was asked for."""


def export(pages: Iterable[Document], facts: Iterable[Fact], format: str) -> bytes:
    """Pages and facts as one text."""
    if format not in ("turtle", "jsonld"):
        raise InputError(f"{format[:40]!r} is no format to export to", hint="use turtle or jsonld")
    documents = list(pages)
    return serialize(triples(documents, facts), format, prefixes(documents))


def ask(query: str, pages: Iterable[Document], facts: Iterable[Fact], *, limit: int, seconds: float) -> Answers:
    """The answers to a query, from a process that is stopped when it takes too long or too much memory."""
    check_query(query)
    if not 1 <= limit <= MOST_ROWS:
        raise InputError(f"{limit} is no limit", hint=f"use 1 to {MOST_ROWS:,}")
    documents = list(pages)
    named = prefixes(documents)
    question = {"query": query, "prefixes": named, "limit": limit, "bytes": ANSWER_BYTES, "memory": MEMORY}
    data = json.dumps(question).encode() + b"\n" + serialize(triples(documents, facts), "ntriples", {})
    answer = _run(data, seconds)
    rows = tuple(tuple(cell and _shown(cell, named) for cell in row) for row in answer["rows"])
    return Answers(variables=tuple(answer["variables"]), rows=rows, holds=answer.get("holds"), cut=answer["cut"])


def check_query(query: str) -> None:
    """OntologyError for a query that would ask another server, or is longer than anybody writes."""
    if len(query) > QUERY_CHARACTERS:
        raise OntologyError(f"the query has more than {QUERY_CHARACTERS:,} characters", hint="ask for less")
    plain = _CODES.sub(lambda code: chr(min(int(code[1] or code[2], 16), sys.maxunicode)), query)
    if _SERVICE.search(plain):
        raise OntologyError("SERVICE asks another server, which is never done", hint="ask about what is here")


def prefixes(pages: Iterable[Document]) -> dict[str, str]:
    """All prefixes that can be used in a query and are used in what is written."""
    named = {name: value for page in pages for name, value in page.context.items() if "://" in value}
    return {**named, **{page.domain: f"{BASE}{page.domain}/" for page in pages}, **LOCAL, **PREFIXES}


def triples(pages: Iterable[Document], facts: Iterable[Fact]) -> Iterator[Any]:
    """What pages and facts state, as triples of the RDF library."""
    rdf = library()
    documents, given = list(pages), list(facts)
    for page in documents:
        for quad in statements(write_page(page), "jsonld"):
            yield rdf.Triple(quad.subject, quad.predicate, quad.object)
    speaker = _Speaker(rdf, Vocabulary(term for page in documents for term in page.terms), given)
    for fact in given:
        yield from speaker.told(fact)


class _Speaker:
    """Puts facts into RDF."""

    def __init__(self, rdf: Any, known: Vocabulary, facts: Iterable[Fact]) -> None:
        self._rdf = rdf
        self._known = known
        self._things = {each.subject for each in facts}
        self._property = cache(lambda predicate: known.find(predicate, *PROPERTIES))
        self._node = lru_cache(maxsize=65536)(rdf.NamedNode)

    def told(self, fact: Fact) -> Iterator[Any]:
        """A fact as a triple, and what is known about it."""
        node = self._node
        triple = self._rdf.Triple(self._thing(fact.subject), *self._rest(fact))
        yield triple
        statement = node(f"{LOCAL['fact']}{quote(fact.id, safe='')}")
        yield self._rdf.Triple(statement, node(f"{PREFIXES['rdf']}type"), node(f"{PREFIXES['rdf']}Statement"))
        for name in ("subject", "predicate", "object"):
            yield self._rdf.Triple(statement, node(f"{PREFIXES['rdf']}{name}"), getattr(triple, name))
        for name, value in self._about(fact):
            yield self._rdf.Triple(statement, node(f"{BASE}{name}"), value)

    def _about(self, fact: Fact) -> Iterator[tuple[str, Any]]:
        yield "confidence", self._literal(str(fact.confidence), "xsd:decimal")
        for name, moment in (("validFrom", fact.valid_from), ("validUntil", fact.valid_until)):
            if moment is not None:
                yield name, self._literal(iso(moment), "xsd:dateTime")
        yield "source", self._literal(fact.source, "xsd:string")

    def _rest(self, fact: Fact) -> tuple[Any, Any]:
        """Predicate and object."""
        node = self._node
        if fact.predicate in TYPE_PREDICATES:
            found = self._known.find(fact.object, TermKind.CLASS)
            return node(f"{PREFIXES['rdf']}type"), _iri(node, found) if found else self._thing(fact.object)
        term = self._property(fact.predicate)
        local = node(f"{LOCAL['predicate']}{quote(fact.predicate, safe='')}")
        leads_to_thing = term.kind is TermKind.OBJECT if term else fact.object in self._things
        value = self._thing(fact.object) if leads_to_thing else self._value(fact.object)
        return _iri(node, term) if term else local, value

    def _thing(self, name: str) -> Any:
        return self._node(f"{LOCAL['thing']}{quote(name, safe='')}")

    def _value(self, text: str) -> Any:
        found = read_literal(text)
        kind, value = found.kind, found.value
        if isinstance(value, datetime):
            is_day = len(text.strip()) == 10
            return self._literal(text.strip(), "xsd:date") if is_day else self._literal(iso(value), "xsd:dateTime")
        if not isinstance(value, Decimal):
            return self._literal(str(value).lower() if kind is LiteralKind.BOOLEAN else text, LITERAL_NAMES[kind])
        said = {LiteralKind.MONEY: f"{value:f} {found.unit}", LiteralKind.DURATION: _seconds(value)}
        return self._literal(said.get(kind, f"{value:f}"), LITERAL_NAMES[kind])

    def _literal(self, text: str, type: str) -> Any:
        prefix, _, name = type.partition(":")
        return self._rdf.Literal(text, datatype=self._node(f"{PREFIXES[prefix]}{name}"))


def _seconds(value: Decimal) -> str:
    return f"{'-' if value < 0 else ''}PT{abs(value):f}S"


def _iri(node: Any, term: Term) -> Any:
    return node(f"{BASE}{term.domain}/{term.name}")


def _run(data: bytes, seconds: float) -> dict[str, Any]:
    command = [sys.executable, "-P", str(Path(__file__).with_name("ask.py"))]
    allowed = seconds + len(data) / LOADED
    try:
        ended = subprocess.run(command, input=data, capture_output=True, timeout=allowed, check=False)
    except subprocess.TimeoutExpired as error:
        raise OntologyError(f"the query took more than {seconds:g} seconds", hint="ask for less") from error
    if ended.returncode:
        last = ended.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        why = last if ended.returncode == 1 else f"it took more than {MEMORY >> 20:,} MB"
        raise OntologyError(f"the query cannot be answered: {why[:200]}", hint="ask for less, or add a LIMIT")
    answer: dict[str, Any] = json.loads(ended.stdout)
    if "error" in answer:
        raise OntologyError(f"the query cannot be answered: {answer['error']}", hint="only SPARQL queries are answered")
    return answer


def _shown(cell: list[str], named: Mapping[str, str]) -> str:
    """A value as it is read: names by their prefixes, values as they are."""
    kind, value = cell
    return compact(library().NamedNode(value), named) if kind == "NamedNode" else value
