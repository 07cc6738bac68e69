"""Whether a term fits into a vocabulary, and whether facts fit an ontology."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from memfolio.embed.embedder import Embedder
from memfolio.errors import EmbedderError, OntologyError, RuleError
from memfolio.index.facts import Fact
from memfolio.knowledge.join import BEGINNING, END
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

    def fact(self, fact: Fact) -> list[NonconformingFact]:
        """What is wrong with a fact; of several properties with that name, by the one that it fits best."""
        if fact.predicate in TYPE_PREDICATES:
            is_known = kind_named(fact.object) in NODES or self._known.find(fact.object, TermKind.CLASS) is not None
            return [] if is_known else [self._unknown(Flaw.CLASS, fact, fact.object, TermKind.CLASS)]
        found = [list(self._misfits(fact, term)) for term in self._properties(fact.predicate)]
        if not found and key(fact.predicate) not in MODEL:
            return [self._unknown(Flaw.PREDICATE, fact, fact.predicate, *PROPERTIES)]
        return min(found, key=len, default=[])

    def repeated(self, facts: Iterable[Fact]) -> Iterator[NonconformingFact]:
        """Objects of a property that can have only one, while another one holds."""
        held: dict[tuple[str, str], list[Fact]] = defaultdict(list)
        for fact in facts:
            terms = self._properties(fact.predicate)
            if terms and all(term.functional for term in terms):
                held[fact.subject, terms[0].id].append(fact)
        for (subject, name), several in held.items():
            for before, fact in _overlapping(several):
                message = f"{subject[:60]} has {name} {before.object[:60]!r} too, and can have one at a time"
                yield NonconformingFact(flaw=Flaw.MORE, fact=fact, message=message)

    def _misfits(self, fact: Fact, term: Term) -> Iterator[NonconformingFact]:
        if wrong := self._misfit(fact.subject, term.domain_class):
            yield NonconformingFact(flaw=Flaw.SUBJECT, fact=fact, message=wrong)
        kind = read_literal(fact.object).kind
        if term.kind is TermKind.DATATYPE:
            wanted = LITERALS.get(term.range, LiteralKind.TEXT)
            if wanted not in (LiteralKind.TEXT, kind):
                yield NonconformingFact(
                    flaw=Flaw.VALUE, fact=fact, message=f"{fact.object[:60]!r} is {kind}, not {wanted}"
                )
        elif kind is not LiteralKind.TEXT and not self.classes.get(fact.object.casefold()):
            message = f"{fact.object[:60]!r} is {kind}, not a {term.range.partition(':')[2] or 'thing'}"
            yield NonconformingFact(flaw=Flaw.VALUE, fact=fact, message=message)
        elif wrong := self._misfit(fact.object, term.range):
            yield NonconformingFact(flaw=Flaw.OBJECT, fact=fact, message=wrong)

    def _misfit(self, thing: str, wanted: str) -> str:
        """Why a thing is none of a class; nothing where it is one, or where nobody knows."""
        classes = self.classes.get(thing.casefold(), set())
        if not wanted or not classes or any(self._known.is_a(each, wanted) for each in classes):
            return ""
        return f"{thing[:60]} is {' and '.join(sorted(classes))}, not {wanted}"

    def _unknown(self, flaw: Flaw, fact: Fact, name: str, *kinds: TermKind) -> NonconformingFact:
        near = self._nearest(name, *kinds)
        hint = f"; near is {near.id}" if near else ""
        return NonconformingFact(flaw=flaw, fact=fact, message=f"{name[:60]!r} is in no ontology{hint}")


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
    if not DOMAIN_PATTERN.fullmatch(domain) or domain in RESERVED:
        raise OntologyError(f"{domain[:60]!r} is no name of a domain", hint="use a word such as business or saas")
    return domain


def validate(term: Term, known: Vocabulary, embedder: Embedder | None = None) -> Report:
    """What is wrong with a term that is to be added to those that are known."""
    meanings = _meanings([term, *(each for each in known if each.id != term.id)], embedder)
    taken = (f"{term.id} exists already",) if term.id in known.terms else ()
    wrong = *_errors(term, known), *_undefined(term), *taken
    return Report(errors=wrong, warnings=_warnings(term, known, meanings, NEAR))


def problems(known: Vocabulary, embedder: Embedder | None = None) -> dict[str, Report]:
    """What is wrong with each term of a vocabulary, for those with which something is."""
    meanings = _meanings(list(known), embedder)
    found = {
        each.id: Report(
            errors=_errors(each, known), warnings=(*_undefined(each), *_warnings(each, known, meanings, SAME))
        )
        for each in known
    }
    return {name: report for name, report in found.items() if report != GOOD}


def _errors(term: Term, known: Vocabulary) -> tuple[str, ...]:
    """Why a term cannot stand among those that are known."""
    return (*flaws(term), *_place(term, known), *_reach(term, known))


def _undefined(term: Term) -> Iterator[str]:
    """Whoever adds a term says what it means; one that came from elsewhere can be used without that."""
    if not term.definition.strip():
        yield "it has no definition"


def fitted(term: Term, known: Vocabulary) -> tuple[Term, tuple[str, ...]]:
    """A term without those of its parents, domain and range that are wrong, and what is wrong with them."""
    bare = replace(term, parents=(), domain_class="", range="")
    parents = {each: list(_place(replace(bare, parents=(each,)), known)) for each in term.parents}
    reach = {
        "domain_class": list(_reach(replace(bare, domain_class=term.domain_class), known)),
        "range": list(_reach(replace(bare, range=term.range), known)),
    }
    fit = {name: getattr(term, name) for name, wrong in reach.items() if not wrong}
    kept = tuple(each for each, wrong in parents.items() if not wrong)
    return replace(bare, parents=kept, **fit), tuple(chain(*parents.values(), *reach.values()))


def lacking(term: Term) -> Iterator[str]:
    """The parts that a term does not have, and that others have."""
    parts = {"label": term.label, "definition": term.definition}
    parts |= {"domain": term.domain_class, "range": term.range} if term.kind.is_property else {}
    return (name for name, value in parts.items() if not value.strip())


def _warnings(term: Term, known: Vocabulary, meanings: Meanings, near: float) -> tuple[str, ...]:
    close = {each.id: each for name in term.names for _, each in known.close(name)}
    alike = [name for name, each in close.items() if _could_be_one(term, each, known)]
    written = (f"may be {name}: it is written alike" for name in alike)
    meant = (each for each in _meant(term, meanings, near) if each[1] in known.terms and each[1] not in alike)
    nearest = [each for each in meant if _could_be_one(term, known.terms[each[1]], known)][:NEAREST]
    same = (f"may be {name}: it means much the same ({score:.2f})" for score, name in nearest)
    return (*_loose(term, known), *written, *same)


def _family(term: Term) -> str:
    """Terms of two families are never taken for the same."""
    return _family_of(term.kind)


def _family_of(kind: TermKind) -> str:
    return "property" if kind.is_property else kind.value


def flaws(term: Term) -> Iterator[str]:
    """What is wrong with a term whatever else is known."""
    name = (term.name or term.id)[:60]
    if not DOMAIN_PATTERN.fullmatch(term.domain) or term.domain in RESERVED or not term.name:
        yield f"{term.id[:60]!r} does not begin with a domain: write it as domain:{name}, such as business:{name}"
    is_class = term.kind is TermKind.CLASS
    if term.name and not (PASCAL if is_class else CAMEL).fullmatch(term.name):
        wanted = "PascalCase, such as SalesOrder" if is_class else "camelCase, such as placesOrder"
        yield f"{term.name[:60]!r}, the name of a {_family(term)}, is not in {wanted}"
    if (term.kind is TermKind.RULE) != bool(term.rule):
        yield "a rule has the text of one, and nothing else has"
    if term.rule:
        try:
            check_rule(parse(term.rule))
        except RuleError as error:
            yield f"its rule cannot be used: {error.message}"


def _place(term: Term, known: Vocabulary) -> Iterator[str]:
    for parent in term.parents:
        if parent == term.id or term.id in known.ancestors(parent):
            yield f"it would stand above itself, by its parent {parent}"
        else:
            yield from _missing("parent", parent, _family(term), term, known)


def _reach(term: Term, known: Vocabulary) -> Iterator[str]:
    if not term.kind.is_property:
        if term.domain_class or term.range:
            yield f"a {term.kind} has neither domain nor range"
        return
    yield from _missing("domain", term.domain_class, "class", term, known)
    if term.kind is TermKind.OBJECT:
        yield from _missing("range", term.range, "class", term, known)
    elif term.range and term.range not in LITERALS:
        yield f"its range {term.range[:60]!r} is no type of value: {', '.join(LiteralKind)}"


def _missing(role: str, named: str, wanted: str, term: Term, known: Vocabulary) -> Iterator[str]:
    """What is wrong with another term that a term names."""
    found = known.terms.get(named)
    if named in LITERALS:
        yield f"its {role} {named} is a type of value, and no {wanted}"
    elif found and _family(found) != wanted:
        yield f"its {role} {named} is no {wanted}"
    elif named and not found and _is_ours(named, term, known):
        near = known.nearest(named, *(each for each in TermKind if _family_of(each) == wanted))
        yield f"its {role} {named[:80]} does not exist{f'; near is {near.id}' if near else ''}"


def _loose(term: Term, known: Vocabulary) -> Iterator[str]:
    for named in term.references:
        is_seen = named in known.terms or named in LITERALS or named.startswith(f"{BUSINESS}:")
        if not is_seen and not _is_ours(named, term, known):
            yield f"{named[:80]} is defined elsewhere and was not looked at"
    if term.kind.is_property and not (term.domain_class and term.range):
        yield "it does not say what it leads from and to: give it a domain and a range"


def _is_ours(named: str, term: Term, known: Vocabulary) -> bool:
    """Whether a name is one that this vocabulary would have to know."""
    domain, colon, _ = named.partition(":")
    return not colon or domain == term.domain or domain in known.domains


def _could_be_one(one: Term, other: Term, known: Vocabulary) -> bool:
    """Whether two terms of one family may mean the same: not where one stands above the other."""
    if one.id == other.id or _family(one) != _family(other):
        return False
    above, below = _all_above(one, known), _all_above(other, known)
    return other.id not in above and one.id not in below


def _all_above(term: Term, known: Vocabulary) -> set[str]:
    return {*term.parents, *(name for parent in term.parents for name in known.ancestors(parent))}


def _meanings(terms: Sequence[Term], embedder: Embedder | None) -> Meanings:
    """What terms mean, by label and definition; nothing where that would cost money or cannot be had."""
    if embedder is None or embedder.is_costly:
        return [], None
    try:
        return [each.id for each in terms], embedder.embed([f"{each.label}. {each.definition}" for each in terms])
    except EmbedderError:
        return [], None


def _meant(term: Term, meanings: Meanings, near: float) -> list[tuple[float, str]]:
    """The terms of the nearest meaning, with how near they are."""
    ids, rows = meanings
    if not ids:
        return []
    scores = (rows @ rows[ids.index(term.id)]).tolist()
    return sorted(((score, name) for score, name in zip(scores, ids, strict=True) if score >= near), reverse=True)
