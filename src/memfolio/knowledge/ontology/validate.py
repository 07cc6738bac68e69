"""Whether a term fits into a vocabulary, and whether facts fit an ontology."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any

from memfolio.embed.embedder import Embedder
from memfolio.errors import EmbedderError, OntologyError, RuleError
from memfolio.index.facts import Fact
from memfolio.knowledge.literal import LiteralKind, read_literal
from memfolio.knowledge.model import ATTRIBUTES, NODES, PREDICATES, RELATIONS, kind_named
from memfolio.knowledge.ontology.document import BUSINESS, RESERVED
from memfolio.knowledge.ontology.term import DOMAIN_PATTERN, LITERALS, PROPERTIES, Term, TermKind, Vocabulary, key
from memfolio.knowledge.rule import check_rule, parse

# Facts against an ontology: predicates and classes that it does not know, and what does not fit them. Pure.
#
# What is not said is not held against a fact: a thing of which no type is known fits everywhere.

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
class NonconformingFact:
    """A fact that does not fit, and why."""

    flaw: Flaw
    fact: Fact
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformity:
    """How facts fit: how many were looked at, how many of what is known has no known type, and what does not fit."""

    facts: int
    untyped: int
    findings: tuple[NonconformingFact, ...]

    @property
    def counts(self) -> dict[str, int]:
        return dict(Counter(each.flaw.value for each in self.findings))


def conform(facts: Iterable[Fact], known: Vocabulary, types: Iterable[tuple[str, str]] = ()) -> Conformity:
    """How facts fit a vocabulary; `types` are things with their classes that are known from elsewhere."""
    given = list(facts)
    check = _Check(known, types, given)
    found = [(fact, *each) for fact in given for each in check.fact(fact)]
    findings = [
        NonconformingFact(flaw=flaw, fact=fact, message=message)
        for fact, flaw, message in (*found, *check.repeated(given))
    ]
    subjects = {each.subject for each in given}
    untyped = sum(not check.classes.get(each.casefold()) for each in subjects)
    return Conformity(facts=len(given), untyped=untyped, findings=tuple(findings))


class _Check:
    """What is known while facts are looked at: the properties by predicate, and the classes of things."""

    def __init__(self, known: Vocabulary, types: Iterable[tuple[str, str]], facts: Iterable[Fact]) -> None:
        self._known = known
        self._nearest = lru_cache(maxsize=4096)(known.nearest)
        self._properties = cache(lambda predicate: known.named(predicate, *PROPERTIES))
        self.classes: dict[str, set[str]] = defaultdict(set)
        said = ((each.subject, each.object) for each in facts if each.predicate in TYPE_PREDICATES)
        for name, called in (*types, *said):
            self.classes[name.casefold()].update(term.id for term in known.named(called, TermKind.CLASS))

    def fact(self, fact: Fact) -> list[tuple[Flaw, str]]:
        """What is wrong with a fact; of several properties with that name, by the one that it fits best."""
        if fact.predicate in TYPE_PREDICATES:
            is_known = kind_named(fact.object) in NODES or self._known.find(fact.object, TermKind.CLASS) is not None
            return [] if is_known else [(Flaw.CLASS, self._unknown(fact.object, TermKind.CLASS))]
        found = [list(self._misfits(fact, term)) for term in self._properties(fact.predicate)]
        if not found and key(fact.predicate) not in MODEL:
            return [(Flaw.PREDICATE, self._unknown(fact.predicate, *PROPERTIES))]
        return min(found, key=len, default=[])

    def repeated(self, facts: Iterable[Fact]) -> Iterator[tuple[Fact, Flaw, str]]:
        """Objects of a property that can have only one, while another one holds."""
        held: dict[tuple[str, str], list[Fact]] = defaultdict(list)
        for fact in facts:
            terms = self._properties(fact.predicate)
            if terms and all(term.functional for term in terms):
                held[fact.subject, terms[0].id].append(fact)
        for (subject, name), several in held.items():
            longest: Fact | None = None
            for fact in sorted(several, key=lambda each: each.span[0]):
                is_other = longest and read_literal(longest.object) != read_literal(fact.object)
                if longest and is_other and fact.span[0] < longest.span[1]:
                    told = f"{subject[:60]} has {name} {longest.object[:60]!r} too, and can have one at a time"
                    yield fact, Flaw.MORE, told
                longest = max(longest or fact, fact, key=lambda each: each.span[1])

    def _misfits(self, fact: Fact, term: Term) -> Iterator[tuple[Flaw, str]]:
        if wrong := self._misfit(fact.subject, term.domain_class):
            yield Flaw.SUBJECT, wrong
        kind, shown = read_literal(fact.object).kind, repr(fact.object[:60])
        if term.kind is TermKind.DATATYPE:
            wanted = LITERALS.get(term.range, LiteralKind.TEXT)
            if wanted not in (LiteralKind.TEXT, kind):
                yield Flaw.VALUE, f"{shown} is {kind}, not {wanted}"
        elif kind is not LiteralKind.TEXT and not self.classes.get(fact.object.casefold()):
            yield Flaw.VALUE, f"{shown} is {kind}, not a {term.range.partition(':')[2] or 'thing'}"
        elif wrong := self._misfit(fact.object, term.range):
            yield Flaw.OBJECT, wrong

    def _misfit(self, thing: str, wanted: str) -> str:
        """Why a thing is none of a class; nothing where it is one, or where nobody knows."""
        classes = self.classes.get(thing.casefold(), set())
        if not wanted or not classes or any(self._known.is_a(each, wanted) for each in classes):
            return ""
        return f"{thing[:60]} is {' and '.join(sorted(classes))}, not {wanted}"

    def _unknown(self, name: str, *kinds: TermKind) -> str:
        near = self._nearest(name, *kinds)
        return f"{name[:60]!r} is in no ontology{f'; near is {near.id}' if near else ''}"


# Whether a term fits into a vocabulary: what is wrong with it, and what may be. Pure but for the embedder.

PASCAL = re.compile(r"[A-Z][A-Za-z0-9]{0,79}")
CAMEL = re.compile(r"[a-z][A-Za-z0-9]{0,79}")
NEAR = 0.6
"""How near the meaning of a term that is to be added is to another from which they may be one."""
SAME = 0.85
"""The same for terms that somebody let stand beside each other."""
NEAREST = 3
Meanings = tuple[list[str], Any]
"""Ids of terms, and a row of numbers for what each of them means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a term was found to be: with errors it cannot be added, and warnings are for whoever decides."""

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


GOOD = Report()


def check_domain(domain: str) -> str:
    """`domain` if it can be the name of one."""
    if not _is_domain(domain):
        raise OntologyError(f"{domain[:60]!r} is no name of a domain", hint="use a word such as business or saas")
    return domain


def _is_domain(name: str) -> bool:
    return DOMAIN_PATTERN.fullmatch(name) is not None and name not in RESERVED


def validate(term: Term, known: Vocabulary, embedder: Embedder | None = None) -> Report:
    """What is wrong with a term that is to be added to those that are known."""
    meanings = _meanings([term, *(each for each in known if each.id != term.id)], embedder)
    taken = (f"{term.id} exists already",) if term.id in known.terms else ()
    wrong = *_errors(term, known), *_undefined(term), *taken
    return Report(errors=wrong, warnings=_warnings(term, known, meanings, NEAR))


def problems(known: Vocabulary, embedder: Embedder | None = None) -> dict[str, Report]:
    """What is wrong with each term of a vocabulary, for those with which something is."""
    meanings, found = _meanings(list(known), embedder), dict[str, Report]()
    for term in known:
        warnings = *_undefined(term), *_warnings(term, known, meanings, SAME)
        found[term.id] = Report(errors=_errors(term, known), warnings=warnings)
    return {name: report for name, report in found.items() if report != GOOD}


def _errors(term: Term, known: Vocabulary) -> tuple[str, ...]:
    """Why a term cannot stand among those that are known."""
    return tuple(dict.fromkeys((*flaws(term), *(why for *_, why in _misplaced(term, known)))))


def _undefined(term: Term) -> Iterator[str]:
    """Whoever adds a term says what it means; one that came from elsewhere can be used without that."""
    if not term.definition.strip():
        yield "it has no definition"


def flaws(term: Term) -> Iterator[str]:
    """What is wrong with a term whatever else is known."""
    name, is_class = (term.name or term.id)[:60], term.kind is TermKind.CLASS
    if not _is_domain(term.domain) or not term.name:
        yield f"{term.id[:60]!r} does not begin with a domain: write it as domain:{name}, such as business:{name}"
    if term.name and not (PASCAL if is_class else CAMEL).fullmatch(term.name):
        wanted = "PascalCase, such as SalesOrder" if is_class else "camelCase, such as placesOrder"
        yield f"{term.name[:60]!r}, the name of a {_family(term.kind)}, is not in {wanted}"
    if (term.kind is TermKind.RULE) != bool(term.rule):
        yield "a rule has the text of one, and nothing else has"
    if term.rule:
        try:
            check_rule(parse(term.rule))
        except RuleError as error:
            yield f"its rule cannot be used: {error.message}"


def fitted(term: Term, known: Vocabulary) -> tuple[Term, tuple[str, ...]]:
    """A term without those of its parents, domain and range that are wrong, and what is wrong with them."""
    wrong = list(_misplaced(term, known))
    named = {(field, name) for field, name, _ in wrong}
    parents = tuple(each for each in term.parents if ("parents", each) not in named)
    without: dict[str, Any] = {field: "" for field, _ in named if field != "parents"}
    return replace(term, parents=parents, **without), tuple(why for *_, why in wrong)


def lacking(term: Term) -> Iterator[str]:
    """The parts that a term does not have, and that others have."""
    parts = {"label": term.label, "definition": term.definition}
    parts |= {"domain": term.domain_class, "range": term.range} if term.kind.is_property else {}
    return (name for name, value in parts.items() if not value.strip())


def _misplaced(term: Term, known: Vocabulary) -> Iterator[tuple[str, str, str]]:
    """The references of a term that are wrong: by which field, what it names, and why."""
    parents = (("parents", each) for each in term.parents)
    for field, name in (*parents, ("domain_class", term.domain_class), ("range", term.range)):
        if name and (why := _why_not(field, name, term, known)):
            yield field, name, why


def _why_not(field: str, name: str, term: Term, known: Vocabulary) -> str:
    """Why a term cannot name another one for its parent, domain or range; nothing where it can."""
    role, is_parent = {"parents": "parent", "domain_class": "domain"}.get(field, field), field == "parents"
    if not is_parent and not term.kind.is_property:
        return f"a {term.kind} has neither domain nor range"
    if field == "range" and term.kind is TermKind.DATATYPE:
        return "" if name in LITERALS else f"its range {name[:60]!r} is no type of value: {', '.join(LiteralKind)}"
    if is_parent and term.id in known.above(name):
        return f"it would stand above itself, by its parent {name}"
    wanted, found = _family(term.kind) if is_parent else "class", known.terms.get(name)
    if name in LITERALS:
        return f"its {role} {name} is a type of value, and no {wanted}"
    if found or not _is_ours(name, term, known):
        return f"its {role} {name} is no {wanted}" if found and _family(found.kind) != wanted else ""
    near = known.nearest(name, *(each for each in TermKind if _family(each) == wanted))
    return f"its {role} {name[:80]} does not exist{f'; near is {near.id}' if near else ''}"


def _family(kind: TermKind) -> str:
    """Terms of two families are never taken for the same."""
    return "property" if kind.is_property else kind.value


def _is_ours(name: str, term: Term, known: Vocabulary) -> bool:
    """Whether a name is one that this vocabulary would have to know."""
    domain, colon, _ = name.partition(":")
    return not colon or domain == term.domain or domain in known.domains


def _warnings(term: Term, known: Vocabulary, meanings: Meanings, near: float) -> tuple[str, ...]:
    close = {each.id: each for name in term.names for _, each in known.close(name)}
    alike = [name for name, each in close.items() if _could_be_one(term, each, known)]
    written = (f"may be {name}: it is written alike" for name in alike)
    meant = (each for each in _meant(term, meanings, near) if each[1] in known.terms and each[1] not in alike)
    nearest = [each for each in meant if _could_be_one(term, known.terms[each[1]], known)][:NEAREST]
    same = (f"may be {name}: it means much the same ({score:.2f})" for score, name in nearest)
    return (*_loose(term, known), *written, *same)


def _loose(term: Term, known: Vocabulary) -> Iterator[str]:
    for named in term.references:
        is_seen = named in known.terms or named in LITERALS or named.startswith(f"{BUSINESS}:")
        if not is_seen and not _is_ours(named, term, known):
            yield f"{named[:80]} is defined elsewhere and was not looked at"
    if term.kind.is_property and not (term.domain_class and term.range):
        yield "it does not say what it leads from and to: give it a domain and a range"


def _could_be_one(one: Term, other: Term, known: Vocabulary) -> bool:
    """Whether two terms of one family may mean the same: not where one stands above the other."""
    if one.id == other.id or _family(one.kind) != _family(other.kind):
        return False
    return other.id not in known.above(*one.parents) and one.id not in known.above(*other.parents)


def _meanings(terms: Sequence[Term], embedder: Embedder | None) -> Meanings:
    """What terms mean, by label and definition; nothing where that would cost money or cannot be had."""
    if embedder is not None and not embedder.is_costly:
        with suppress(EmbedderError):
            return [each.id for each in terms], embedder.embed([f"{each.label}. {each.definition}" for each in terms])
    return [], None


def _meant(term: Term, meanings: Meanings, near: float) -> list[tuple[float, str]]:
    """The terms of the nearest meaning, with how near they are."""
    ids, rows = meanings
    scores = (rows @ rows[ids.index(term.id)]).tolist() if ids else []
    return sorted(((score, name) for score, name in zip(scores, ids, strict=True) if score >= near), reverse=True)
