"""The command `ontology` with what is below it: the terms in which facts are told, and how facts fit them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.output import Screen, fields_of
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.govern.proposal import Proposal
    from memfolio.knowledge.ontology.ontology import Added
    from memfolio.knowledge.ontology.validate import Report
    from memfolio.knowledge.rule import Rule

SHOWN = 20
"""How many findings people are shown."""


def ontology_list(options: Options, domain: str | None = None, /) -> Answer:
    with options.memory() as memory:
        found: Sequence[Any] = memory.ontology.terms(domain) if domain else memory.ontology.domains()
    names = ("id", "kind", "definition") if domain else ("name", "classes", "properties", "rules", "label")
    rows = [[getattr(each, name) for name in names] for each in found]
    document = {"terms" if domain else "domains": list(map(said, found))}
    return Answer(document, lambda screen: screen.table(names, rows, wide=names[-1]))


def ontology_show(options: Options, term: str) -> Answer:
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


def ontology_add(
    options: Options,
    id: str,
    definition: str = "",
    kind: str | None = None,
    label: str | None = None,
    parent: list[str] | None = None,
    domain_class: str | None = None,
    range: str | None = None,
    synonym: list[str] | None = None,
    functional: bool = False,
    propose: bool = False,
    why: str = "",
    dry_run: bool = False,
) -> Answer:
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


def ontology_proposals(options: Options) -> Answer:
    with options.memory() as memory:
        waiting = [each for each in memory.proposals.pending(all=True) if each.intent.verb == "ontology.commit"]
    return listed(waiting)


def ontology_validate(options: Options, term: str | None = None, /) -> Answer:
    with options.memory() as memory:
        wanted = memory.ontology.get(term).id if term else None
        found = {name: each for name, each in memory.ontology.problems().items() if wanted in (None, name)}

    def draw(screen: Screen) -> None:
        for name, report in found.items():
            warn(screen, name, report)
        screen.say(f"{counted(len(found), 'term')} to look at." if found else "All is well.", "bold")

    return Answer({"findings": found}, draw, status=int(any(each.errors for each in found.values())))


def ontology_tree(options: Options, domain: str | None = None, /) -> Answer:
    with options.memory() as memory:
        return _text("tree", memory.ontology.tree(domain) or "There are no classes.")


def ontology_mermaid(options: Options, domain: str | None = None, /) -> Answer:
    with options.memory() as memory:
        return _text("mermaid", memory.ontology.mermaid(domain))


def ontology_scaffold(options: Options, domain: str, template: str, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        added, rules = memory.scaffold(domain, template, by=PERSON, dry_run=dry_run)
        return told(added, rules, [memory.vault.head] if rules and not dry_run else [])


def ontology_load(options: Options, name: str = "business", /, dry_run: bool = False) -> Answer:
    return ontology_scaffold(options, name, name, dry_run)


def ontology_conform(options: Options) -> Answer:
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


def ontology_export(options: Options, format: str = "turtle") -> Answer:
    with options.memory() as memory:
        return _text("text", memory.ontology.export(memory.facts.all(include_derived=True), format).decode())


def _text(name: str, text: str) -> Answer:
    return Answer({name: text}, lambda screen: screen.page(f"{text.rstrip()}\n"))


def ontology_sparql(options: Options, query: str, limit: int = 1000, seconds: float = 10.0) -> Answer:
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


def ontology_import(
    options: Options, file: str, domain: str, format: str | None = None, dry_run: bool = False
) -> Answer:
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
