"""The command `ontology` with what is below it: the terms in which facts are told, and how facts fit them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Command, DryRun, Options, group
from memfolio.serve.cli.output import Screen, fields_of
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.govern.proposal import Proposal
    from memfolio.knowledge.ontology.ontology import Added, Report
    from memfolio.knowledge.rule import Rule

Name = Annotated[str, typer.Argument(metavar="TERM", help="An id, a name, a label or a synonym.", show_default=False)]
SHOWN = 20
"""How many findings people are shown."""
Id = Annotated[str, typer.Argument(metavar="ID", help="Such as business:Customer.", show_default=False)]
Domain = Annotated[str | None, typer.Argument(metavar="DOMAIN", help="Only this domain, else all.")]
NewDomain = Annotated[str, typer.Argument(metavar="DOMAIN", help="The domain to begin or to add to.")]
Definition = Annotated[str, typer.Option(metavar="TEXT", help="What it means, in a sentence.")]
Kind = Annotated[str | None, typer.Option(metavar="KIND", help="class, object_property or datatype_property.")]
Label = Annotated[str | None, typer.Option(metavar="TEXT", help="What people call it, else made of the id.")]
Parent = Annotated[list[str] | None, typer.Option(metavar="TERM", help="What it is a kind of; may be repeated.")]
From = Annotated[str | None, typer.Option("--domain-class", metavar="CLASS", help="The class that has the property.")]
To = Annotated[
    str | None, typer.Option("--range", metavar="CLASS", help="A class, or text, number, money, percent, date, …")
]
Synonym = Annotated[list[str] | None, typer.Option(metavar="TEXT", help="What else it is called; may be repeated.")]
One = Annotated[bool, typer.Option("--functional", help="A thing has the property once at a time.")]
Format = Annotated[str, typer.Option(metavar="FORMAT", help="turtle (or ttl), jsonld (or json-ld).")]
Limit = Annotated[int, typer.Option(min=1, help="How many rows at most.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="How long it may take.")]


def list_(options: Options, domain: Domain = None) -> Answer:
    """List the domains, or the terms of one."""
    with options.memory() as memory:
        found: Sequence[Any] = memory.ontology.terms(domain) if domain else memory.ontology.domains()
    names = ("id", "kind", "definition") if domain else ("name", "classes", "properties", "rules", "label")
    rows = [[getattr(each, name) for name in names] for each in found]
    document = {"terms" if domain else "domains": list(map(said, found))}
    return Answer(document, lambda screen: screen.table(names, rows, wide=names[-1]))


def show(options: Options, term: Name) -> Answer:
    """Show a term with all that is known about it."""
    with options.memory() as memory:
        known = memory.ontology.vocabulary()
    found = known.get(term)
    below = [each.id for each in known.children.get(found.id, ())]
    shown = said(found) | {"above": known.ancestors(found.id), "below": below}

    def draw(screen: Screen) -> None:
        for name, value in shown.items():
            if value:
                told = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
                screen.say(f"{name.replace('_', ' '):<13} {told}")

    return Answer(shown, draw)


def add(
    options: Options,
    id: Id,
    definition: Definition = "",
    kind: Kind = None,
    label: Label = None,
    parent: Parent = None,
    domain_class: From = None,
    range: To = None,
    synonym: Synonym = None,
    functional: One = False,
    propose: Annotated[bool, typer.Option("--propose", help="Propose it, for somebody to decide on.")] = False,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Why it is needed, for a proposal.")] = "",
    dry_run: DryRun = False,
) -> Answer:
    """Add a term to the page of its domain; --dry-run only says whether it fits."""
    from memfolio.knowledge.ontology.term import LITERAL_NAMES, new_term

    leads_to = "datatype_property" if range in (*LITERAL_NAMES, *LITERAL_NAMES.values()) else "object_property"
    term = new_term(
        kind or (leads_to if range or domain_class else "class"),
        id,
        label=label,
        definition=definition,
        parents=parent or (),
        domain_class=domain_class,
        range=range,
        synonyms=synonym or (),
        functional=functional,
    )
    with options.memory() as memory:
        if propose and not dry_run:
            return listed([memory.propose_term(term, rationale=why)])
        return told(memory.ontology.add(term, by=PERSON, dry_run=dry_run))


def proposals(options: Options) -> Answer:
    """List the terms that wait for a decision; `approve` adds one, `reject` drops it."""
    with options.memory() as memory:
        waiting = [each for each in memory.proposals.pending(all=True) if each.intent.verb == "ontology.commit"]
    return listed(waiting)


def validate(options: Options, term: Annotated[str | None, typer.Argument(metavar="TERM")] = None) -> Answer:
    """Say what is wrong, or may be, with a term or with all of them; exit code 1 where something is wrong."""
    with options.memory() as memory:
        wanted = memory.ontology.get(term).id if term else None
        found = {name: each for name, each in memory.ontology.problems().items() if wanted in (None, name)}

    def draw(screen: Screen) -> None:
        for name, report in found.items():
            warn(screen, name, report)
        screen.say(f"{counted(len(found), 'term')} to look at." if found else "All is well.", "bold")

    return Answer({"findings": found}, draw, status=int(any(each.errors for each in found.values())))


def tree(options: Options, domain: Domain = None) -> Answer:
    """Show the classes below each other, with their properties."""
    with options.memory() as memory:
        return _text("tree", memory.ontology.tree(domain) or "There are no classes.")


def mermaid(options: Options, domain: Domain = None) -> Answer:
    """Print the classes as a Mermaid diagram."""
    with options.memory() as memory:
        return _text("mermaid", memory.ontology.mermaid(domain))


def scaffold(
    options: Options,
    domain: NewDomain,
    template: Annotated[str, typer.Argument(metavar="TEMPLATE", help="saas, ecommerce, consulting or agency.")],
    dry_run: DryRun = False,
) -> Answer:
    """Begin a domain with the terms of a kind of business."""
    with options.memory() as memory:
        added, rules = memory.scaffold(domain, template, by=PERSON, dry_run=dry_run)
        return told(added, rules, [memory.vault.head] if rules and not dry_run else [])


def load(
    options: Options,
    name: Annotated[str, typer.Argument(metavar="NAME", help="business, or a template.")] = "business",
    dry_run: DryRun = False,
) -> Answer:
    """Load the business vocabulary, with its rules."""
    return scaffold(options, name, name, dry_run)


def conform(options: Options) -> Answer:
    """Say which facts do not fit the ontology; exit code 1 where there are any."""
    with options.memory() as memory:
        found = memory.ontology.conform(memory.facts.all(include_derived=True))
    names = ("flaw", "fact", "message")
    rows = [(each.flaw.value, str(each.fact), each.message) for each in found.findings]

    def draw(screen: Screen) -> None:
        if rows:
            screen.table(names, rows[:SHOWN], wide="message")
        if len(rows) > SHOWN:
            counts = ", ".join(f"{count} {flaw}" for flaw, count in found.counts.items())
            screen.say(f"These are {SHOWN} of {len(rows)} findings ({counts}); --json has all.", "yellow")
        screen.say(f"{counted(found.facts, 'fact')}, {counted(len(rows), 'finding')}.", "bold")

    findings = [dict(zip(names, row, strict=True)) for row in rows]
    counts = {"facts": found.facts, "untyped": found.untyped, "counts": found.counts}
    return Answer(counts | {"findings": findings}, draw, status=int(bool(rows)))


def export(options: Options, format: Format = "turtle") -> Answer:
    """Print ontology and facts as Turtle or JSON-LD."""
    with options.memory() as memory:
        return _text("text", memory.ontology.export(memory.facts.all(include_derived=True), format).decode())


def _text(name: str, text: str) -> Answer:
    return Answer({name: text}, lambda screen: screen.page(f"{text.rstrip()}\n"))


def sparql(
    options: Options,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A SELECT, ASK, CONSTRUCT or DESCRIBE.")],
    limit: Limit = 1000,
    seconds: Seconds = 10.0,
) -> Answer:
    """Ask ontology and facts in SPARQL."""
    with options.memory() as memory:
        found = memory.ontology.sparql(query, memory.facts.all(include_derived=True), limit=limit, seconds=seconds)

    def draw(screen: Screen) -> None:
        if found.holds is not None:
            screen.say("yes" if found.holds else "no")
        else:
            screen.table(found.variables, [[cell or "" for cell in row] for row in found.rows])
        if found.cut:
            screen.say(f"There is more than {len(found.rows)} rows.", "yellow")

    return Answer(fields_of(found), draw)


def import_(
    options: Options,
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON-LD, Turtle, RDF/XML or N-Triples; - is stdin.")],
    domain: NewDomain,
    format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="jsonld, turtle, xml or ntriples, else by the ending of FILE."),
    ] = None,
    dry_run: DryRun = False,
) -> Answer:
    """Add the classes and properties of an RDF document to a domain, and list what they lack."""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}", hint="name a file") from error
    kind = format or Path(file).suffix or "jsonld"
    with options.memory() as memory:
        return told(memory.ontology.import_(content, kind, domain, by=PERSON, dry_run=dry_run))


def said(value: Any) -> dict[str, Any]:
    """The fields that say something."""
    return {name: each for name, each in fields_of(value).items() if each != "" and each not in ((), {}, False)}


def warn(screen: Screen, name: str, report: Report) -> None:
    for error in report.errors:
        screen.say(f"{name}: {error}", "red")
    for warning in report.warnings:
        screen.say(f"{name}: {warning}", "yellow")


def told(added: Added, rules: Sequence[Rule] = (), further: Sequence[int] = ()) -> Answer:
    """What was added, or would be, as which change, and as which further ones."""
    seqs = [*([added.receipt.seq] if added.receipt else []), *further]
    terms = [each.id for each in added.terms if not each.rule]

    def draw(screen: Screen) -> None:
        if len(added.terms) == 1:
            screen.diff(added.diff)
        warn(screen, "note", added.report)
        for part, names in added.lacking.items():
            more = f" and {len(names) - SHOWN:,} more; --json has all" if len(names) > SHOWN else ""
            remark = ", so that one was made of the name" if part == "label" else ""
            screen.say(f"note: no {part}{remark}: {', '.join(names[:SHOWN])}{more}", "yellow")
        beside = f" and {counted(len(rules), 'rule')}" if rules else ""
        words, changes = f"{counted(len(terms), 'term')}{beside}", " ".join(map(str, seqs))
        done = f"{words} added, as change {changes}; `memfolio undo {changes}` takes that back"
        would = f"{words} would be added. Nothing was changed."
        screen.say((done if seqs else would) if terms or rules else "Nothing was added.", "bold")

    names = [each.name or each.id for each in rules]
    document = {"terms": terms, "rules": names, "report": added.report, "diff": added.diff, "seqs": seqs}
    return Answer(document | {"seq": seqs[0] if seqs else None, "lacking": dict(added.lacking)}, draw)


def listed(proposals: Sequence[Proposal]) -> Answer:
    """Proposals of terms, with the hash that an approval names and what there is to think of."""
    rows = [(each.id, each.intent.named, each.status, each.shown, each.note) for each in proposals]
    names = ("id", "term", "status", "hash", "note")

    def draw(screen: Screen) -> None:
        if rows:
            screen.table(names, rows, wide="note")
            screen.say("`memfolio approve ID` adds a term, `memfolio reject ID` drops it.")
        else:
            screen.say("No term waits for a decision.")

    return Answer({"proposals": [dict(zip(names, row, strict=True)) for row in rows]}, draw)


list_.__name__, import_.__name__ = "list", "import"
ONTOLOGY = (
    Command(list_, "ontology list", "ontology list business"),
    Command(show, "ontology show Customer"),
    Command(add, 'ontology add shop:Gift --parent Product --definition "Product that is given away."'),
    Command(proposals, "ontology proposals"),
    Command(validate, "ontology validate", "ontology validate Customer"),
    Command(tree, "ontology tree business"),
    Command(mermaid, "ontology mermaid business"),
    Command(scaffold, "ontology scaffold acme saas"),
    Command(load, "ontology load business"),
    Command(conform, "ontology conform"),
    Command(export, "ontology export --format jsonld"),
    Command(sparql, 'ontology sparql "SELECT ?c { ?c rdfs:subClassOf business:Party }"'),
    Command(import_, "ontology import terms.ttl shop --dry-run"),
)
app = group("ontology", ONTOLOGY)
