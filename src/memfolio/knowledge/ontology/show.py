"""An ontology for people: as a tree of text, and as a Mermaid class diagram. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memfolio.knowledge.ontology.term import LITERALS, Term, TermKind
from memfolio.knowledge.ontology.vocabulary import Vocabulary

DEEPEST = 50


def tree(known: Vocabulary, domain: str | None = None) -> str:
    """The classes below each other, each with its properties; what is below one is shown where it first stands."""
    chosen = {each.id: each for each in _classes(known, domain)}
    roots = [each for each in chosen.values() if chosen.keys().isdisjoint(each.parents)]
    below: dict[str, list[Term]] = {}
    for name in chosen:
        below[name] = sorted(
            (each for each in known.children.get(name, ()) if each.id in chosen), key=lambda each: each.id
        )
    lines: list[str] = []
    for root in (*roots, *chosen.values()):  # the others are below themselves
        if root.id in below:
            lines += _branch(known, root, below, "", "", 0)
    return "\n".join(lines)


def mermaid(known: Vocabulary, domain: str | None = None) -> str:
    """The classes with their properties as a `classDiagram`."""
    lines = ["classDiagram"]
    for each in _classes(known, domain):
        label = re.sub(r"[^\w .()-]", "", each.label)
        lines.append(f'    class {_node(each.id)}["{label or each.name}"]')
        lines += [f"    {_node(above)} <|-- {_node(each.id)}" for above in each.parents if above in known.terms]
    for each in sorted(known.of_kind(TermKind.OBJECT, TermKind.DATATYPE), key=lambda each: each.id):
        if domain in (None, each.domain) and each.domain_class and each.range:
            lines.append(f"    {_relation(each)}")
    return "\n".join(lines)


def range_of(term: Term) -> str:
    """What a property leads to, as a person says it."""
    return LITERALS[term.range].value if term.range in LITERALS else term.range.partition(":")[2] or "?"


def _classes(known: Vocabulary, domain: str | None) -> list[Term]:
    found = known.of_kind(TermKind.CLASS)
    return sorted((each for each in found if domain in (None, each.domain)), key=lambda each: each.id)


def _branch(
    known: Vocabulary, term: Term, below: dict[str, list[Term]], first: str, rest: str, depth: int
) -> Iterator[str]:
    """A class with what is `below` it and not yet shown; `first` and `rest` stand before its first and other lines."""
    synonyms = f"  ({', '.join(term.synonyms)})" if term.synonyms else ""
    yield f"{first}{term.name}{synonyms}"
    is_first, children = term.id in below, below.pop(term.id, [])
    for each in _properties(known, term.id) if is_first else ():
        mark, once = "│" if children else " ", " (one)" if each.functional else ""
        yield f"{rest}{mark}  · {each.name} → {range_of(each)}{once}"
    for each in children if depth < DEEPEST else ():
        fork, line = ("└─ ", "   ") if each is children[-1] else ("├─ ", "│  ")
        yield from _branch(known, each, below, f"{rest}{fork}", f"{rest}{line}", depth + 1)


def _properties(known: Vocabulary, id: str) -> list[Term]:
    found = (each for each in known.of_kind(TermKind.OBJECT, TermKind.DATATYPE) if each.domain_class == id)
    return sorted(found, key=lambda each: each.id)


def _relation(term: Term) -> str:
    if term.range in LITERALS:
        return f"{_node(term.domain_class)} : {term.name} {range_of(term)}"
    return f"{_node(term.domain_class)} --> {_node(term.range)} : {term.name}"


def _node(id: str) -> str:
    return re.sub(r"\W", "_", id)
