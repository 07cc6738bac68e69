"""The ontology of one agent as a small object: its domains, their terms, and how they grow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from memfolio.embed.meaning import Meaning
from memfolio.errors import NotFoundError, OntologyError
from memfolio.graph.grow import Readable
from memfolio.index.facts import Fact
from memfolio.index.graph import nodes
from memfolio.knowledge.ontology import export
from memfolio.knowledge.ontology.document import (
    BUSINESS,
    Document,
    adopted,
    node_of,
    read_page,
    template,
    term_of,
    write_page,
)
from memfolio.knowledge.ontology.export import ROWS, SECONDS, Answers, ask, export_ontology
from memfolio.knowledge.ontology.term import Term, TermKind, Vocabulary, spoken
from memfolio.knowledge.ontology.validate import (
    GOOD,
    Conformity,
    Report,
    check_domain,
    conform,
    fitted,
    flaws,
    lacking,
    problems,
    validate,
)
from memfolio.types import Action, Attribution
from memfolio.vault.change import Change, PutPage, Receipt
from memfolio.vault.paths import agent_root
from memfolio.vault.vault import Vault

TERMER = Attribution(actor="bot:ontology", trigger="ontology")
_PAGE = re.compile(r"(?P<root>agents/[^/]+|shared)/knowledge/ontology/(?P<domain>[^/]+)\.jsonld")


class OntologyReader(Readable, Protocol):
    """What the ontology needs of `recall.library.Library`."""

    meaning: Meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A page of an ontology, and how much is in it."""

    name: str
    path: str
    label: str
    classes: int
    properties: int
    rules: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What was added, or would be: then there is no receipt."""

    terms: tuple[Term, ...]
    report: Report
    diff: str
    receipt: Receipt | None = None
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The ids of the imported terms that have no label, definition, domain or range, by the part that they lack."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The texts of the business rules among them."""
        return tuple(each.rule for each in self.terms if each.rule)


class Ontology:
    """The terms that an agent may use: its own first, then those of the agents that it reads."""

    def __init__(self, vault: Vault, library: OntologyReader, agent: str) -> None:
        self._vault = vault
        self._library = library
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

        above = (TermKind.OBJECT, TermKind.DATATYPE) if term.kind.is_property else (term.kind,)
        return replace(
            term,
            parents=tuple(id_of(each, *above) for each in term.parents),
            domain_class=id_of(term.domain_class, TermKind.CLASS),
            range=id_of(term.range, TermKind.CLASS),
        )

    def validate(self, term: Term) -> Report:
        """Whether a term could be added, and what to think of before that."""
        return validate(self.resolved(term), self.vocabulary(), self._library.meaning.embedder)

    def fitting(self, term: Term) -> Report:
        """What to think of before a term is added; OntologyError where it does not fit."""
        report = self.validate(term)
        if report.errors:
            told = "; ".join(report.errors)
            raise OntologyError(f"{term.id[:80]} does not fit: {told}", hint="correct that and try again")
        return report

    def problems(self) -> dict[str, Report]:
        """What is wrong with the terms that are there, and by their paths the pages that cannot be read."""
        _, broken = self._read_all()
        return broken | problems(self.vocabulary(), self._library.meaning.embedder)

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
        told, once = list[str](), dict[str, Term]()
        for each in found:
            if wrong := tuple(flaws(each)):
                told.append(f"{each.id} was left out: {'; '.join(wrong)}")
            elif once.setdefault(each.id, each) is not each:
                name = each.more.get("skos:exactMatch", {}).get("@id", each.id)
                told.append(f"{name} was left out: another term of the document is called {each.id}, too")
        known = Vocabulary([*self.vocabulary(), *once.values()])
        kept, lacks = list[Term](), dict[str, list[str]]()
        for each in once.values():
            term, wrong = fitted(each, known)
            told += [f"{each.id} came in without a part: {why}" for why in wrong]
            kept.append(replace(term, label=term.label or spoken(term.name, term.kind)))
            lacks[each.id] = list(lacking(term))
        added = self._add(kept, by, dry_run=dry_run, report=Report(warnings=tuple(told)))
        parts = dict.fromkeys(part for each in added.terms for part in lacks[each.id])
        without = {part: tuple(each.id for each in added.terms if part in lacks[each.id]) for part in parts}
        return replace(added, lacking=without)

    def tree(self, domain: str | None = None) -> str:
        """The classes below each other, with their properties, as text."""
        return export.tree(self.vocabulary(), self.vocabulary(domain))

    def mermaid(self, domain: str | None = None) -> str:
        """The same as a Mermaid class diagram."""
        return export.mermaid(self.vocabulary(), self.vocabulary(domain))

    def conform(self, facts: Iterable[Fact]) -> Conformity:
        """How facts fit the ontology; what entities are counts beside what facts say they are."""
        known = [each for index in self._library.indexes() for each in index.read(nodes)]
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
        roots = [agent_root(index.agent) for index in self._library.indexes()]
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
        put = PutPage(path, text, page.hash if page else None)
        change = Change(operations=(put,), by=by, action=Action.EDIT if page else Action.CREATE)
        diff = self._vault.preview(change)
        return Added(terms=fresh, report=report, diff=diff, receipt=None if dry_run else self._vault.apply(change))
