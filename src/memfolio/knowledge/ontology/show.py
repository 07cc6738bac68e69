"""An ontology for people: as a tree of text, and as a Mermaid class diagram. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memfolio.knowledge.ontology.term import LITERALS, PROPERTIES, Term, TermKind
from memfolio.knowledge.ontology.vocabulary import Vocabulary

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
