"""Ontology and facts as RDF, as a tree of text and as a Mermaid diagram, and asked by SPARQL."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memfolio.clock import iso
from memfolio.errors import InputError, OntologyError
from memfolio.index.facts import Fact
from memfolio.knowledge.literal import LiteralKind, read_literal
from memfolio.knowledge.ontology.document import (
    LOCAL,
    PREFIXES,
    Document,
    compact,
    format_named,
    library,
    serialize,
    write_page,
)
from memfolio.knowledge.ontology.term import BASE, LITERAL_NAMES, LITERALS, PROPERTIES, Term, TermKind, Vocabulary
from memfolio.knowledge.ontology.validate import TYPE_PREDICATES

# Ontology and facts as RDF: written as Turtle or JSON-LD, and asked by SPARQL.
#
# A fact is a triple, and a `rdf:Statement` about that triple with its confidence, validity and source: that form can
# be written in JSON-LD as well as in Turtle.

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


def export_ontology(pages: Iterable[Document], facts: Iterable[Fact], format: str) -> bytes:
    """Pages and facts as one text."""
    chosen = format_named(format)
    if chosen not in ("turtle", "jsonld"):
        raise InputError(f"{format[:40]!r} is no format to export to", hint="use turtle or jsonld")
    given = list(pages)
    return serialize(documents(given, facts), chosen, prefixes(given))


def ask(query: str, pages: Iterable[Document], facts: Iterable[Fact], *, limit: int, seconds: float) -> Answers:
    """The answers to a query, from a process that is stopped when it takes too long or too much memory."""
    library()
    check_query(query)
    if not 1 <= limit <= MOST_ROWS:
        raise InputError(f"{limit} is no limit", hint=f"use 1 to {MOST_ROWS:,}")
    given = list(pages)
    named = prefixes(given)
    question = {"query": query, "prefixes": named, "limit": limit, "bytes": ANSWER_BYTES, "memory": MEMORY}
    told = [each.decode() for each in documents(given, facts)]
    answer = _run(question | {"documents": told}, seconds)

    rows = tuple(tuple(cell and _shown(cell, named) for cell in row) for row in answer.pop("rows", ()))
    return Answers(variables=tuple(answer.pop("variables", ())), rows=rows, **answer)


def _shown(cell: list[str], named: Mapping[str, str]) -> str:
    kind, value = cell
    return compact(value, named) if kind == "NamedNode" else value


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


def documents(pages: Iterable[Document], facts: Iterable[Fact]) -> Iterator[bytes]:
    """What pages and facts state, as documents of JSON-LD."""
    known = []
    for page in pages:
        known.append(page)
        yield write_page(page)
    given = list(facts)
    speaker = _Speaker(Vocabulary(term for page in known for term in page.terms), {each.subject for each in given})
    nodes = [node for fact in given for node in speaker.told(fact)]
    yield json.dumps({"@context": {**LOCAL, **PREFIXES}, "@graph": nodes}).encode()


class _Speaker:
    """Puts facts into JSON-LD."""

    def __init__(self, known: Vocabulary, things: set[str]) -> None:
        self._things = things
        self._class = cache(lambda name: known.find(name, TermKind.CLASS))
        self._property = cache(lambda name: known.find(name, *PROPERTIES))

    def told(self, fact: Fact) -> Iterator[dict[str, Any]]:
        """A fact as a triple, and what is known about it."""
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
        return predicate, _thing(fact.object) if leads_to_thing else _value(fact.object)


def _iri(id: str) -> str:
    return f"{BASE}{id.replace(':', '/', 1)}"


def _thing(name: str) -> dict[str, str]:
    return {"@id": f"thing:{quote(name, safe='')}"}


def _value(text: str) -> dict[str, str]:
    found = read_literal(text)
    kind, value = found.kind, found.value
    if isinstance(value, datetime):
        is_day = len(text.strip()) == 10
        return _literal(text.strip(), "xsd:date") if is_day else _literal(iso(value), "xsd:dateTime")
    if not isinstance(value, Decimal):
        return _literal(str(value).lower() if kind is LiteralKind.BOOLEAN else text, LITERAL_NAMES[kind])
    duration = f"{'-' if value < 0 else ''}PT{abs(value):f}S"
    said = {LiteralKind.MONEY: f"{value:f} {found.unit}", LiteralKind.DURATION: duration}
    return _literal(said.get(kind, f"{value:f}"), LITERAL_NAMES[kind])


def _literal(text: str, type: str) -> dict[str, str]:
    return {"@value": text, "@type": type}


def _run(question: dict[str, Any], seconds: float) -> dict[str, Any]:
    command = [sys.executable, "-P", str(Path(__file__).with_name("ask.py"))]
    allowed = seconds + sum(map(len, question["documents"])) / LOADED
    given = json.dumps(question | {"seconds": int(allowed) + 2}).encode()
    try:
        ended = subprocess.run(command, input=given, capture_output=True, timeout=allowed, check=False)
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


# An ontology for people: as a tree of text, and as a Mermaid class diagram. Pure.

DEEPEST = 50


def tree(known: Vocabulary, chosen: Vocabulary) -> str:
    """The chosen classes below each other, with their properties; what is below one is shown where it first stands."""
    classes = {each.id: each for each in _sorted(chosen.of_kind(TermKind.CLASS))}
    below = {name: _sorted(each for each in known.children.get(name, ()) if each.id in classes) for name in classes}
    roots = [each for each in classes.values() if classes.keys().isdisjoint(each.parents)]
    lines: list[str] = []
    for root in (*roots, *classes.values()):  # the others are below themselves
        if root.id in below:
            lines += _branch(known, root, below, "", "", 0)
    return "\n".join(lines)


def mermaid(known: Vocabulary, chosen: Vocabulary) -> str:
    """The chosen classes with their properties, and what these lead to, as a `classDiagram`."""
    classes = _sorted(chosen.of_kind(TermKind.CLASS))
    properties = [each for each in _sorted(chosen.of_kind(*PROPERTIES)) if each.domain_class and each.range]
    named = [each.id for each in classes] + [name for each in (*classes, *properties) for name in each.references]
    shown = [known.terms[name] for name in dict.fromkeys(named) if name in known.terms]
    lines = [f'    class {_node(each.id)}["{_plain(each.label) or each.name}"]' for each in shown]
    above = ((parent, each.id) for each in classes for parent in each.parents if parent in known.terms)
    lines += [f"    {_node(parent)} <|-- {_node(child)}" for parent, child in above]
    return "\n".join(["classDiagram", *lines, *(f"    {_relation(each)}" for each in properties)])


def range_of(term: Term) -> str:
    """What a property leads to, as a person says it."""
    return LITERALS[term.range].value if term.range in LITERALS else term.range.partition(":")[2] or "?"


def _sorted(terms: Iterable[Term]) -> list[Term]:
    return sorted(terms, key=lambda each: each.id)


def _branch(
    known: Vocabulary, term: Term, below: dict[str, list[Term]], first: str, rest: str, depth: int
) -> Iterator[str]:
    """A class with what is `below` it and not yet shown; `first` and `rest` stand before its first and other lines."""
    synonyms = f"  ({', '.join(term.synonyms)})" if term.synonyms else ""
    above = ", ".join(each for each in term.parents if depth == 0 and each in known.terms)
    yield f"{first}{term.name}{synonyms}{'  < ' if above else ''}{above}"
    is_first, children = term.id in below, below.pop(term.id, [])
    for each in _sorted(known.of_kind(*PROPERTIES)) if is_first else ():
        if each.domain_class == term.id:
            mark, once = "│" if children else " ", " (one)" if each.functional else ""
            yield f"{rest}{mark}  · {each.name} → {range_of(each)}{once}"
    for each in children if depth < DEEPEST else ():
        fork, line = ("└─ ", "   ") if each is children[-1] else ("├─ ", "│  ")
        yield from _branch(known, each, below, f"{rest}{fork}", f"{rest}{line}", depth + 1)


def _relation(term: Term) -> str:
    if term.range in LITERALS:
        return f"{_node(term.domain_class)} : {term.name} {range_of(term)}"
    return f"{_node(term.domain_class)} --> {_node(term.range)} : {term.name}"


def _plain(label: str) -> str:
    return re.sub(r"[^\w .()-]", "", label)


def _node(id: str) -> str:
    return re.sub(r"\W", "_", id)
