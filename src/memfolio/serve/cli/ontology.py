"""The commands below `ontology`, `typedb` and `goal`: the terms in which facts are told, and a copy on a server."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Options, read_file
from memfolio.serve.cli.derive import Text
from memfolio.serve.cli.output import Line, diff, fields_of, page, pairs, table, yellow
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.govern.proposal import Proposal
    from memfolio.knowledge.ontology.ontology import Added, Report
    from memfolio.knowledge.rule import Rule
    from memfolio.memory import Memory

SHOWN = 20
"""How many findings people are shown."""


def ontology_list(memory: Memory, domain: str | None = None, /) -> Answer:
    found: Sequence[Any] = memory.ontology.terms(domain) if domain else memory.ontology.domains()
    names = ("id", "kind", "definition") if domain else ("name", "classes", "properties", "rules", "label")
    rows = [[getattr(each, name) for name in names] for each in found]
    return Answer({"terms" if domain else "domains": list(map(_said, found))}, table(names, rows, wide=names[-1]))


def ontology_show(memory: Memory, term: str) -> Answer:
    known = memory.ontology.vocabulary()
    found = known.get(term)
    below = [each.id for each in known.children.get(found.id, ())]
    document = _said(found) | {"above": known.ancestors(found.id), "below": below}
    return Answer(document, pairs(document, 13))


def ontology_add(
    memory: Memory,
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
    if propose and not dry_run:
        return _proposals([memory.propose_term(term, rationale=why)])
    return _added(memory.ontology.add(term, by=PERSON, dry_run=dry_run))


def ontology_proposals(memory: Memory) -> Answer:
    return _proposals([each for each in memory.proposals.pending(all=True) if each.intent.verb == "ontology.commit"])


def ontology_validate(memory: Memory, term: str | None = None, /) -> Answer:
    wanted = memory.ontology.get(term).id if term else None
    found = {name: each for name, each in memory.ontology.problems().items() if wanted in (None, name)}
    lines = [line for name, report in found.items() for line in _warnings(name, report)]
    lines.append((f"{counted(len(found), 'term')} to look at." if found else "All is well.", "bold"))
    return Answer({"findings": found}, lines, status=int(any(each.errors for each in found.values())))


def ontology_tree(memory: Memory, domain: str | None = None, /) -> Answer:
    return _text("tree", memory.ontology.tree(domain) or "There are no classes.")


def ontology_mermaid(memory: Memory, domain: str | None = None, /) -> Answer:
    return _text("mermaid", memory.ontology.mermaid(domain))


def ontology_scaffold(memory: Memory, domain: str, template: str, dry_run: bool = False) -> Answer:
    added, rules = memory.scaffold(domain, template, by=PERSON, dry_run=dry_run)
    return _added(added, rules, [memory.vault.head] if rules and not dry_run else [])


def ontology_load(memory: Memory, name: str = "business", /, dry_run: bool = False) -> Answer:
    return ontology_scaffold(memory, name, name, dry_run)


def ontology_conform(memory: Memory) -> Answer:
    found = memory.ontology.conform(memory.facts.all(include_derived=True))
    names = ("flaw", "fact", "message")
    rows = [(each.flaw.value, str(each.fact), each.message) for each in found.findings]
    lines: list[Line] = [table(names, rows[:SHOWN], wide="message")] if rows else []
    if len(rows) > SHOWN:
        counts = ", ".join(f"{count} {flaw}" for flaw, count in found.counts.items())
        lines += yellow([f"These are {SHOWN} of {len(rows)} findings ({counts}); --json has all."])
    lines.append((f"{counted(found.facts, 'fact')}, {counted(len(rows), 'finding')}.", "bold"))
    findings = [dict(zip(names, row, strict=True)) for row in rows]
    document = {"facts": found.facts, "untyped": found.untyped, "counts": found.counts, "findings": findings}
    return Answer(document, lines, status=int(bool(rows)))


def ontology_export(memory: Memory, format: str = "turtle") -> Answer:
    return _text("text", memory.ontology.export(memory.facts.all(include_derived=True), format).decode())


def _text(name: str, text: str) -> Answer:
    return Answer({name: text}, page(f"{text.rstrip()}\n"))


def ontology_sparql(memory: Memory, query: str, limit: int = 1000, seconds: float = 10.0) -> Answer:
    found = memory.ontology.sparql(query, memory.facts.all(include_derived=True), limit=limit, seconds=seconds)
    rows = [[cell or "" for cell in row] for row in found.rows]
    shown = table(found.variables, rows) if found.holds is None else "yes" if found.holds else "no"
    more = yellow([f"There is more than {len(found.rows)} rows."] if found.cut else [])
    return Answer(fields_of(found), [shown, *more])


def ontology_import(memory: Memory, file: str, domain: str, format: str | None = None, dry_run: bool = False) -> Answer:
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}", hint="name a file") from error
    kind = format or Path(file).suffix or "jsonld"
    return _added(memory.ontology.import_(content, kind, domain, by=PERSON, dry_run=dry_run))


def _said(value: Any) -> dict[str, Any]:
    """The fields that say something."""
    return {name: each for name, each in fields_of(value).items() if each != "" and each not in ((), {}, False)}


def _warnings(name: str, report: Report) -> Iterator[Line]:
    yield from ((f"{name}: {error}", "red") for error in report.errors)
    yield from ((f"{name}: {warning}", "yellow") for warning in report.warnings)


def _added(added: Added, rules: Sequence[Rule] = (), further: Sequence[int] = ()) -> Answer:
    """What was added, or would be, as which change, and as which further ones."""
    seqs = [*([added.receipt.seq] if added.receipt else []), *further]
    terms = [each.id for each in added.terms if not each.rule]
    lines: list[Line] = [diff(added.diff)] if len(added.terms) == 1 else []
    lines += _warnings("note", added.report)
    for part, names in added.lacking.items():
        more = f" and {len(names) - SHOWN:,} more; --json has all" if len(names) > SHOWN else ""
        remark = ", so that one was made of the name" if part == "label" else ""
        lines += yellow([f"note: no {part}{remark}: {', '.join(names[:SHOWN])}{more}"])
    words = counted(len(terms), "term") + (f" and {counted(len(rules), 'rule')}" if rules else "")
    changes = " ".join(map(str, seqs))
    done = f"{words} added, as change {changes}; `memfolio undo {changes}` takes that back"
    would = f"{words} would be added. Nothing was changed."
    lines.append(((done if seqs else would) if terms or rules else "Nothing was added.", "bold"))
    document = {
        "terms": terms,
        "rules": [each.name or each.id for each in rules],
        "report": added.report,
        "diff": added.diff,
        "seqs": seqs,
        "seq": seqs[0] if seqs else None,
        "lacking": dict(added.lacking),
    }
    return Answer(document, lines)


def _proposals(proposals: Sequence[Proposal]) -> Answer:
    """Proposals of terms, with the hash that an approval names and what there is to think of."""
    rows = [(each.id, each.intent.named, each.status, each.shown, each.note) for each in proposals]
    names = ("id", "term", "status", "hash", "note")
    how = ["`memfolio approve ID` adds a term, `memfolio reject ID` drops it."] if rows else []
    shown = table(names, rows, wide="note", none="No term waits for a decision.")
    return Answer({"proposals": [dict(zip(names, row, strict=True)) for row in rows]}, [shown, *how])


def typedb_status(memory: Memory) -> Answer:
    found = memory.typedb.status()
    there = "" if found.database in found.databases else ", not there yet"
    sent = "nothing" if found.synced is None else f"up to change {found.synced} of {found.head}"
    lines = [
        f"server     {found.url}, {found.version or 'which does not answer'}",
        f"database   {found.database}{there}",
        f"sent       {sent}",
        *filter(None, [found.trouble]),
    ]
    is_down = found.url and not found.is_reachable
    return Answer(
        fields_of(found), lines if found.url else "server     none: typedb.url is not set", status=1 if is_down else 0
    )


def typedb_schema(memory: Memory) -> Answer:
    text = memory.typedb.schema()
    return Answer({"schema": text}, page(text))


def typedb_sync_schema(memory: Memory) -> Answer:
    made = memory.typedb.sync_schema()
    done = "The database was made, and its schema is defined." if made else "The schema is defined."
    return Answer({"made": made}, (done, "bold"))


def typedb_sync(options: Options, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        done = memory.typedb.sync_data(dry_run=dry_run, progress=partial(options.wait.step, "rows", "Sending"))
    rows = [(sort, f"{done.added[sort]:,}", f"{done.removed[sort]:,}") for sort in done.added]
    names = ("sort", "to add", "to remove") if dry_run else ("sort", "added", "removed")
    return Answer(fields_of(done) | {"dry_run": dry_run}, table(names, rows))


def typedb_query(memory: Memory, typeql: Text) -> Answer:
    found = memory.typedb.query(typeql)
    rows = [json.dumps(row, ensure_ascii=False) for row in found.rows]
    cut = [f"{found.cut:,} further rows were cut off; ask for less, or raise typedb.bytes"] if found.cut else []
    return Answer({"rows": list(found.rows), "cut": found.cut}, [*rows, *yellow(cut)])


def goal_seed(options: Options, file: str | None = None, /, example: bool = False, dry_run: bool = False) -> Answer:
    from memfolio.knowledge.model import EXAMPLE, read_goals, seed_goals

    if example is (file is not None):
        raise InputError("name a file of goals, or say --example", hint="docs/typedb.md shows what stands in one")
    given = read_goals(read_file(file or str(EXAMPLE), "name a JSON or TOML file in UTF-8"))
    with options.memory() as memory:
        done = seed_goals(memory.facts, given, agent=memory.agent, by=PERSON, dry_run=dry_run)
    counts = ", ".join(f"{count} {name}" for name, count in done.members.items() if count)
    are = "would be" if dry_run else "are"
    gone = f"; {len(done.retracted)} {are} retracted" if done.retracted else ""
    asserted = f"{counted(len(done.facts), 'fact')} {are} asserted{gone}" if done.facts or gone else "nothing is new"
    lines: list[Line] = [" ".join(triple) for triple in done.facts] if dry_run else []
    return Answer(fields_of(done) | {"dry_run": dry_run}, [*lines, (f"{counts}: {asserted}.", "bold")])
