"""Facts against an ontology: predicates and classes that it does not know, and what does not fit them. Pure.

What is not said is not held against a fact: a thing of which no type is known fits everywhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache

from memfolio.index.facts import Fact
from memfolio.knowledge.literal import LiteralKind, read_literal
from memfolio.knowledge.model import ATTRIBUTES, NODES, PREDICATES, RELATIONS, kind_named
from memfolio.knowledge.ontology.term import LITERALS, PROPERTIES, Term, TermKind
from memfolio.knowledge.ontology.vocabulary import Vocabulary, key
from memfolio.knowledge.relations import BEGINNING, END

MODEL = frozenset(map(key, (*PREDICATES, *RELATIONS, *ATTRIBUTES, "subClassOf", "contributesTo")))
"""The predicates of the base model, which need no ontology."""
TYPE_PREDICATES = frozenset({"isA", "is-a", "is_a", "type", "rdf:type", "instanceOf"})


class Flaw(StrEnum):
    """How a fact does not fit."""

    PREDICATE = "unknown predicate"
    CLASS = "unknown class"
    SUBJECT = "subject of another class"
    OBJECT = "object of another class"
    VALUE = "value of another type"
    MORE = "more than one object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fact that does not fit, and why."""

    flaw: Flaw
    fact: Fact
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformity:
    """How facts fit: how many were looked at, how many of what is known has no known type, and what does not fit."""

    facts: int
    untyped: int
    findings: tuple[Finding, ...]

    @property
    def counts(self) -> dict[str, int]:
        return dict(Counter(each.flaw.value for each in self.findings))


def conform(facts: Iterable[Fact], known: Vocabulary, types: Iterable[tuple[str, str]] = ()) -> Conformity:
    """How facts fit a vocabulary; `types` are things with their classes that are known from elsewhere."""
    given = list(facts)
    check = _Check(known, types, given)
    findings = [each for fact in given for each in check.fact(fact)]
    subjects = {each.subject for each in given}
    return Conformity(
        facts=len(given),
        untyped=sum(not check.classes.get(each.casefold()) for each in subjects),
        findings=(*findings, *check.repeated(given)),
    )


class _Check:
    """What is known while facts are looked at: the properties by predicate, and the classes of things."""

    def __init__(self, known: Vocabulary, types: Iterable[tuple[str, str]], facts: Iterable[Fact]) -> None:
        self._known = known
        self._nearest = lru_cache(maxsize=4096)(known.nearest)
        self._properties = cache(lambda predicate: known.named(predicate, *PROPERTIES))
        self.classes: dict[str, set[str]] = defaultdict(set)
        said = ((each.subject, each.object) for each in facts if each.predicate in TYPE_PREDICATES)
        for name, called in (*types, *said):
            if terms := known.named(called, TermKind.CLASS):
                self.classes[name.casefold()].update(term.id for term in terms)

    def fact(self, fact: Fact) -> list[Finding]:
        """What is wrong with a fact; of several properties with that name, by the one that it fits best."""
        if fact.predicate in TYPE_PREDICATES:
            is_known = kind_named(fact.object) in NODES or self._known.find(fact.object, TermKind.CLASS) is not None
            return [] if is_known else [self._unknown(Flaw.CLASS, fact, fact.object, TermKind.CLASS)]
        found = [list(self._misfits(fact, term)) for term in self._properties(fact.predicate)]
        if not found and key(fact.predicate) not in MODEL:
            return [self._unknown(Flaw.PREDICATE, fact, fact.predicate, *PROPERTIES)]
        return min(found, key=len, default=[])

    def repeated(self, facts: Iterable[Fact]) -> Iterator[Finding]:
        """Objects of a property that can have only one, while another one holds."""
        held: dict[tuple[str, str], list[Fact]] = defaultdict(list)
        for fact in facts:
            terms = self._properties(fact.predicate)
            if terms and all(term.functional for term in terms):
                held[fact.subject, terms[0].id].append(fact)
        for (subject, name), several in held.items():
            for before, fact in _overlapping(several):
                message = f"{subject[:60]} has {name} {before.object[:60]!r} too, and can have one at a time"
                yield Finding(flaw=Flaw.MORE, fact=fact, message=message)

    def _misfits(self, fact: Fact, term: Term) -> Iterator[Finding]:
        if wrong := self._misfit(fact.subject, term.domain_class):
            yield Finding(flaw=Flaw.SUBJECT, fact=fact, message=wrong)
        kind = read_literal(fact.object).kind
        if term.kind is TermKind.DATATYPE:
            wanted = LITERALS.get(term.range, LiteralKind.TEXT)
            if wanted not in (LiteralKind.TEXT, kind):
                yield Finding(flaw=Flaw.VALUE, fact=fact, message=f"{fact.object[:60]!r} is {kind}, not {wanted}")
        elif kind is not LiteralKind.TEXT and not self.classes.get(fact.object.casefold()):
            message = f"{fact.object[:60]!r} is {kind}, not a {term.range.partition(':')[2] or 'thing'}"
            yield Finding(flaw=Flaw.VALUE, fact=fact, message=message)
        elif wrong := self._misfit(fact.object, term.range):
            yield Finding(flaw=Flaw.OBJECT, fact=fact, message=wrong)

    def _misfit(self, thing: str, wanted: str) -> str:
        """Why a thing is none of a class; nothing where it is one, or where nobody knows."""
        classes = self.classes.get(thing.casefold(), set())
        if not wanted or not classes or any(self._known.is_a(each, wanted) for each in classes):
            return ""
        return f"{thing[:60]} is {' and '.join(sorted(classes))}, not {wanted}"

    def _unknown(self, flaw: Flaw, fact: Fact, name: str, *kinds: TermKind) -> Finding:
        near = self._nearest(name, *kinds)
        hint = f"; near is {near.id}" if near else ""
        return Finding(flaw=flaw, fact=fact, message=f"{name[:60]!r} is in no ontology{hint}")


def _overlapping(facts: Iterable[Fact]) -> Iterator[tuple[Fact, Fact]]:
    """Facts with the one that began before them, still holds and has another value."""
    longest: Fact | None = None
    for fact in sorted(facts, key=_start):
        if longest and _start(fact) < _end(longest) and read_literal(longest.object) != read_literal(fact.object):
            yield longest, fact
        longest = max(longest or fact, fact, key=_end)


def _start(fact: Fact) -> int:
    return BEGINNING if fact.valid_from_us is None else fact.valid_from_us


def _end(fact: Fact) -> int:
    return END if fact.valid_until_us is None else fact.valid_until_us
