"""The ontology of one agent: its domains, their terms and how they grow and are drawn; whether terms and facts fit."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import cache, lru_cache

from memfolio.errors import NotFoundError, OntologyError, RuleError
from memfolio.graph.grow import Readable
from memfolio.index.facts import Fact
from memfolio.index.graph import nodes
from memfolio.knowledge.literal import LiteralKind, read_literal
from memfolio.knowledge.model import ATTRIBUTES, NODES, PREDICATES, RELATIONS, kind_named
from memfolio.knowledge.ontology.document import (
    BUSINESS,
    DOMAIN_PATTERN,
    LITERALS,
    PROPERTIES,
    RESERVED,
    ROWS,
    SECONDS,
    TYPE_PREDICATES,
    Answers,
    Document,
    Term,
    TermKind,
    Vocabulary,
    adopted,
    ask,
    export_ontology,
    key,
    node_of,
    read_page,
    spoken,
    template,
    term_of,
    write_page,
)
from memfolio.knowledge.rule import check_rule, parse
from memfolio.types import Attribution, frozen
from memfolio.vault.change import Change, PutPage, Receipt
from memfolio.vault.paths import agent_root
from memfolio.vault.vault import Vault

# Facts against an ontology: predicates and classes that it does not know, and what does not fit them. Pure.
#
# What is not said is not held against a fact: a thing of which no type is known fits everywhere.

MODEL = frozenset(map(key, (*PREDICATES, *RELATIONS, *ATTRIBUTES, "subClassOf", "contributesTo")))
"""The predicates of the base model, which need no ontology."""


class Flaw(StrEnum):
    """How a fact does not fit."""

    PREDICATE = "unknown predicate"
    CLASS = "unknown class"
    SUBJECT = "subject of another class"
    OBJECT = "object of another class"
    VALUE = "value of another type"
    MORE = "more than one object"


@frozen
class NonconformingFact:
    """A fact that does not fit, and why."""

    flaw: Flaw
    fact: Fact
    message: str


@frozen
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
        stated = ((each.subject, each.object) for each in facts if each.predicate in TYPE_PREDICATES)
        for name, called in (*types, *stated):
            self.classes[name.casefold()].update(term.id for term in known.named(called, TermKind.CLASS))

    def fact(self, fact: Fact) -> list[tuple[Flaw, str]]:
        """What is wrong with a fact; of several properties with that name, by the one that it fits best."""
        if fact.predicate in TYPE_PREDICATES:
            is_known = kind_named(fact.object) in NODES or self._known.find(fact.object, TermKind.CLASS) is not None
            return [] if is_known else [(Flaw.CLASS, self._unknown(fact.object, TermKind.CLASS))]
        found = [list(self._misfits(fact, term)) for term in self._properties(fact.predicate)]
        if not found and key(fact.predicate) not in MODEL:
            return [(Flaw.PREDICATE, self._unknown(fact.predicate, *PROPERTIES))]
        # Several domains may have a property of this name: the fact may mean any of them.
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
                    message = f"{subject[:60]} has {name} {longest.object[:60]!r} too, and can have one at a time"
                    yield fact, Flaw.MORE, message
                # Sorted by start, one overlaps an earlier one exactly if it begins before the latest end.
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


# Whether a term fits into a vocabulary: what is wrong with it, and what may be. Pure.

PASCAL = re.compile(r"[A-Z][A-Za-z0-9]{0,79}")
CAMEL = re.compile(r"[a-z][A-Za-z0-9]{0,79}")


@frozen
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


def validate(term: Term, known: Vocabulary) -> Report:
    """What is wrong with a term that is to be added to those that are known."""
    taken = (f"{term.id} exists already",) if term.id in known.terms else ()
    wrong = *_errors(term, known), *_undefined(term), *taken
    return Report(errors=wrong, warnings=_warnings(term, known))


def problems(known: Vocabulary) -> dict[str, Report]:
    """What is wrong with each term of a vocabulary, for those with which something is."""
    found = {
        term.id: Report(errors=_errors(term, known), warnings=(*_undefined(term), *_warnings(term, known)))
        for term in known
    }
    return {name: report for name, report in found.items() if report != GOOD}


def _errors(term: Term, known: Vocabulary) -> tuple[str, ...]:
    """Why a term cannot stand among those that are known."""
    return tuple(dict.fromkeys((*_flaws(term), *_misplaced(term, known))))


def _undefined(term: Term) -> Iterator[str]:
    """Whoever adds a term says what it means; one that came from elsewhere can be used without that."""
    if not term.definition.strip():
        yield "it has no definition"


def _flaws(term: Term) -> Iterator[str]:
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


def _misplaced(term: Term, known: Vocabulary) -> Iterator[str]:
    """Why what a term names cannot be its parent, domain or range."""
    parents = (("parent", each) for each in term.parents)
    named = (*parents, ("domain", term.domain_class), ("range", term.range))
    return filter(None, (_why_not(role, name, term, known) for role, name in named if name))


def _fitted(term: Term, known: Vocabulary) -> Term:
    """A term without those of its parents, domain and range that do not fit."""

    def fits(role: str, name: str) -> str:
        return "" if not name or _why_not(role, name, term, known) else name

    parents = tuple(filter(None, (fits("parent", each) for each in term.parents)))
    domain_class = fits("domain", term.domain_class)
    return replace(term, parents=parents, domain_class=domain_class, range=fits("range", term.range))


def _lacking(terms: Sequence[Term]) -> dict[str, tuple[str, ...]]:
    """The ids of the terms that lack a part, by the part."""
    properties = [each for each in terms if each.kind.is_property]
    parts = {"label": terms, "definition": terms, "domain_class": properties, "range": properties}
    found = {part: tuple(each.id for each in those if not getattr(each, part)) for part, those in parts.items()}
    return {part.removesuffix("_class"): ids for part, ids in found.items() if ids}


def _why_not(role: str, name: str, term: Term, known: Vocabulary) -> str:
    """Why a term cannot have another one in this role; nothing where it can."""
    is_parent = role == "parent"
    if not is_parent and not term.kind.is_property:
        return f"a {term.kind} has neither domain nor range"
    if role == "range" and term.kind is TermKind.DATATYPE:
        return "" if name in LITERALS else f"its range {name[:60]!r} is no type of value: {', '.join(LiteralKind)}"
    # Before it is asked whether the parent exists: the term itself may be the one that is missing.
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


def _warnings(term: Term, known: Vocabulary) -> tuple[str, ...]:
    close = {each.id: each for name in term.names for _, each in known.close(name)}
    alike = [name for name, each in close.items() if _could_be_one(term, each, known)]
    return (*_loose(term, known), *(f"may be {name}: it is written alike" for name in alike))


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


# An ontology for people: as a tree of text, and as a Mermaid class diagram. Pure.

DEEPEST_CLASS = 50


def tree(known: Vocabulary, chosen: Vocabulary) -> str:
    """Render the chosen classes as a tree with their properties; a class with several parents is expanded only once."""
    classes = {each.id: each for each in _sorted(chosen.of_kind(TermKind.CLASS))}
    below = {name: _sorted(each for each in known.children.get(name, ()) if each.id in classes) for name in classes}
    roots = [each for each in classes.values() if classes.keys().isdisjoint(each.parents)]
    lines: list[str] = []
    for root in (*roots, *classes.values()):  # the others are below themselves
        if root.id in below:
            lines += _branch(known, root, below, "", "", 0)
    return "\n".join(lines)


def mermaid(known: Vocabulary, chosen: Vocabulary) -> str:
    """Render the chosen classes with their properties and ranges as a Mermaid `classDiagram`."""
    classes = _sorted(chosen.of_kind(TermKind.CLASS))
    properties = [each for each in _sorted(chosen.of_kind(*PROPERTIES)) if each.domain_class and each.range]
    named = [each.id for each in classes] + [name for each in (*classes, *properties) for name in each.references]
    shown = [known.terms[name] for name in dict.fromkeys(named) if name in known.terms]
    lines = [f'    class {_node(each.id)}["{_plain(each.label) or each.name}"]' for each in shown]
    above = ((parent, each.id) for each in classes for parent in each.parents if parent in known.terms)
    lines += [f"    {_node(parent)} <|-- {_node(child)}" for parent, child in above]
    return "\n".join(["classDiagram", *lines, *(f"    {_relation(each)}" for each in properties)])


def _range_of(term: Term) -> str:
    """Return the range of a property in readable form."""
    return LITERALS[term.range].value if term.range in LITERALS else term.range.partition(":")[2] or "?"


def _sorted(terms: Iterable[Term]) -> list[Term]:
    return sorted(terms, key=lambda each: each.id)


def _branch(
    known: Vocabulary, term: Term, below: dict[str, list[Term]], first: str, rest: str, depth: int
) -> Iterator[str]:
    """Render a class with the classes `below` it that are not shown yet; `first` and `rest` indent its lines."""
    synonyms = f"  ({', '.join(term.synonyms)})" if term.synonyms else ""
    above = ", ".join(each for each in term.parents if depth == 0 and each in known.terms)
    yield f"{first}{term.name}{synonyms}{'  < ' if above else ''}{above}"
    is_first, children = term.id in below, below.pop(term.id, [])
    for each in _sorted(known.of_kind(*PROPERTIES)) if is_first else ():
        if each.domain_class == term.id:
            mark, once = "│" if children else " ", " (one)" if each.functional else ""
            yield f"{rest}{mark}  · {each.name} → {_range_of(each)}{once}"
    for each in children if depth < DEEPEST_CLASS else ():
        fork, line = ("└─ ", "   ") if each is children[-1] else ("├─ ", "│  ")
        yield from _branch(known, each, below, f"{rest}{fork}", f"{rest}{line}", depth + 1)


def _relation(term: Term) -> str:
    if term.range in LITERALS:
        return f"{_node(term.domain_class)} : {term.name} {_range_of(term)}"
    return f"{_node(term.domain_class)} --> {_node(term.range)} : {term.name}"


def _plain(label: str) -> str:
    return re.sub(r"[^\w .()-]", "", label)


def _node(id: str) -> str:
    return re.sub(r"\W", "_", id)


# The terms that an agent may use, in the pages of its home.

TERMER = Attribution(actor="bot:ontology", trigger="ontology")
_PAGE = re.compile(r"(?P<root>agents/[^/]+|shared)/knowledge/ontology/(?P<domain>[^/]+)\.jsonld")


@frozen
class Domain:
    """A page of an ontology, and how much is in it."""

    name: str
    path: str
    label: str
    classes: int
    properties: int
    rules: int


@frozen
class Added:
    """What was added, or would be: then there is no receipt."""

    terms: tuple[Term, ...]
    report: Report
    diff: str
    receipt: Receipt | None = None
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The ids of the imported terms without a label, definition, domain or range, by the part that they lack."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The texts of the business rules among them."""
        return tuple(each.rule for each in self.terms if each.rule)


class Ontology:
    """The terms that an agent may use: its own first, then those of the agents that it reads."""

    def __init__(self, vault: Vault, searcher: Readable, agent: str) -> None:
        self._vault = vault
        self._searcher = searcher
        self._agent = agent

    def domains(self) -> list[Domain]:
        """The pages, the agent's own first."""
        return [
            Domain(
                name=page.domain,
                path=path,
                label=page.label,
                classes=sum(each.kind is TermKind.CLASS for each in page.terms),
                properties=sum(each.kind.is_property for each in page.terms),
                rules=sum(each.kind is TermKind.RULE for each in page.terms),
            )
            for path, page in self._pages().items()
        ]

    def vocabulary(self, domain: str | None = None) -> Vocabulary:
        """All terms, or those of one domain; NotFoundError where there is no such domain."""
        pages = [each for each in self._pages().values() if domain in (None, each.domain)]
        if domain is not None and not pages:
            raise NotFoundError(f"there is no domain {domain[:60]!r}", hint="`memfolio ontology list` shows all")
        return Vocabulary(term for page in pages for term in page.terms)

    def terms(self, domain: str | None = None) -> list[Term]:
        """The classes and properties."""
        return [each for each in self.vocabulary(domain) if each.kind is not TermKind.RULE]

    def rules(self, domain: str | None = None) -> list[Term]:
        """The business rules; `rule` is the text of each."""
        return self.vocabulary(domain).of_kind(TermKind.RULE)

    def get(self, name: str) -> Term:
        """The term of an id, name, label or synonym; NotFoundError with the nearest where there is none."""
        return self.vocabulary().get(name)

    def resolved(self, term: Term) -> Term:
        """A term that names others by their labels or names, with the ids of these."""
        known = self.vocabulary()

        def id_of(name: str, *kinds: TermKind) -> str:
            found = known.find(name, *kinds) if name and ":" not in name else None
            return found.id if found else name

        # A name may be that of a class and of a property: the role tells which is meant.
        above = (TermKind.OBJECT, TermKind.DATATYPE) if term.kind.is_property else (term.kind,)
        return replace(
            term,
            parents=tuple(id_of(each, *above) for each in term.parents),
            domain_class=id_of(term.domain_class, TermKind.CLASS),
            range=id_of(term.range, TermKind.CLASS),
        )

    def validate(self, term: Term) -> Report:
        """Whether a term could be added, and what to think of before that."""
        return validate(self.resolved(term), self.vocabulary())

    def fitting(self, term: Term) -> Report:
        """What to think of before a term is added; OntologyError where it does not fit."""
        report = self.validate(term)
        if report.errors:
            reasons = "; ".join(report.errors)
            raise OntologyError(f"{term.id[:80]} does not fit: {reasons}", hint="correct that and try again")
        return report

    def problems(self) -> dict[str, Report]:
        """What is wrong with the terms that are there, and by their paths the pages that cannot be read."""
        _, broken = self._read_all()
        return broken | problems(self.vocabulary())

    def add(self, term: Term, *, by: Attribution = TERMER, dry_run: bool = False) -> Added:
        """Write a term into the page of its domain, which is made if need be; OntologyError if it does not fit."""
        return self._add([self.resolved(term)], by, dry_run=dry_run, report=self.fitting(term))

    def scaffold(self, domain: str, name: str, *, by: Attribution = TERMER, dry_run: bool = False) -> Added:
        """Begin a domain with a template; where the domain is there, add what it lacks."""
        whole = template(name, check_domain(domain))
        begun = replace(whole, nodes=tuple(node for node in whole.nodes if term_of(node) is None))
        return self._add(whole.terms, by, dry_run=dry_run, begun=begun)

    def load_business(self, *, by: Attribution = TERMER, dry_run: bool = False) -> Added:
        """Add what is missing of the business vocabulary; `rules` has the texts of its rules."""
        return self.scaffold(BUSINESS, BUSINESS, by=by, dry_run=dry_run)

    def import_(
        self, content: bytes, format: str, domain: str, *, by: Attribution = TERMER, dry_run: bool = False
    ) -> Added:
        """Add the classes and properties of an RDF document to a domain: `turtle`, `jsonld`, `xml` or `ntriples`.

        What does not fit is left out, as little as possible, and the report tells of it; `lacking` lists what terms are
        without. Needs the RDF library unless the document is a page in normal form.
        """
        found = adopted(content, format, check_domain(domain))
        if not found:
            raise OntologyError("the document defines no class and no property", hint="name one that does")
        warnings, sound = list[str](), dict[str, Term]()
        for each in found:
            if wrong := "; ".join(_flaws(each)):
                warnings.append(f"{each.id} was left out: {wrong}")
            elif sound.setdefault(each.id, each) is not each:
                name = each.more.get("skos:exactMatch", {}).get("@id", each.id)
                warnings.append(f"{name} was left out: another term of the document is called {each.id}, too")
        # With the new terms: they may refer to each other in any order.
        known = Vocabulary([*self.vocabulary(), *sound.values()])
        for each in sound.values():
            warnings += [f"{each.id} came in without a part: {why}" for why in _misplaced(each, known)]
        fitted = {name: _fitted(each, known) for name, each in sound.items()}
        labelled = [replace(each, label=each.label or spoken(each.name, each.kind)) for each in fitted.values()]
        added = self._add(labelled, by, dry_run=dry_run, report=Report(warnings=tuple(warnings)))
        return replace(added, lacking=_lacking([fitted[each.id] for each in added.terms]))

    def tree(self, domain: str | None = None) -> str:
        """The classes below each other, with their properties, as text."""
        return tree(self.vocabulary(), self.vocabulary(domain))

    def mermaid(self, domain: str | None = None) -> str:
        """The same as a Mermaid class diagram."""
        return mermaid(self.vocabulary(), self.vocabulary(domain))

    def conform(self, facts: Iterable[Fact]) -> Conformity:
        """How facts fit the ontology; what entities are counts beside what facts say they are."""
        known = [each for index in self._searcher.indexes() for each in index.read(nodes)]
        types = [(name, node.type) for node in known for name in (node.name, *node.aliases)]
        return conform(facts, self.vocabulary(), types)

    def export(self, facts: Iterable[Fact] = (), format: str = "turtle") -> bytes:
        """Ontology and facts as `turtle` or `jsonld`, by any of their names."""
        return export_ontology(self._pages().values(), facts, format)

    def sparql(self, query: str, facts: Iterable[Fact] = (), *, limit: int = ROWS, seconds: float = SECONDS) -> Answers:
        """The answers to a SPARQL query over ontology and facts; nothing can be changed or fetched by one."""
        return ask(query, self._pages().values(), facts, limit=limit, seconds=seconds)

    def _paths(self) -> list[str]:
        """The pages that the agent may read, by agent and name."""
        roots = [agent_root(index.agent) for index in self._searcher.indexes()]
        found = [match for path in self._vault.states() if (match := _PAGE.fullmatch(path)) and match["root"] in roots]
        return [each[0] for each in sorted(found, key=lambda each: (roots.index(each["root"]), each["domain"]))]

    def _pages(self) -> dict[str, Document]:
        """The pages by their paths; one that cannot be read does not stand in the way of the others."""
        pages, _ = self._read_all()
        return pages

    def _read_all(self) -> tuple[dict[str, Document], dict[str, Report]]:
        """The pages, and what is wrong with those that cannot be read."""
        pages, broken = dict[str, Document](), dict[str, Report]()
        for path in self._paths():
            try:
                pages[path] = self._read(path)
            except OntologyError as error:
                broken[path] = Report(errors=(error.message,))
        return pages, broken

    def _read(self, path: str) -> Document:
        name = path.rpartition("/")[2].removesuffix(".jsonld")
        try:
            return read_page(self._vault.content(path) or b"", name)
        except OntologyError as error:
            raise OntologyError(f"{path}: {error.message}", hint=error.hint) from error

    def _add(
        self,
        terms: Iterable[Term],
        by: Attribution,
        *,
        dry_run: bool,
        report: Report = GOOD,
        begun: Document | None = None,
    ) -> Added:
        """Write the terms that are not there yet, as one change of the page of their domain."""
        known = self.vocabulary().terms
        fresh = tuple(each for each in terms if each.id not in known)
        if not fresh:
            return Added(terms=(), report=report, diff="")
        domain = fresh[0].domain
        path = f"{agent_root(self._agent)}/knowledge/ontology/{domain}.jsonld"
        page = self._vault.page(path)
        before = self._read(path) if page else begun or Document(domain=domain)
        text = write_page(replace(before, nodes=(*before.nodes, *map(node_of, fresh))))
        put = PutPage.over(page, path, text)
        change = Change.of_page(put, by)
        # Before it is applied: afterwards there is no difference left.
        diff = self._vault.preview(change)
        return Added(terms=fresh, report=report, diff=diff, receipt=None if dry_run else self._vault.apply(change))
