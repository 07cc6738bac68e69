"""The commands below `ontology`, `typedb` and `goal`: the terms in which facts are told, and a copy on a server."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Options, read_file
from memfolio.serve.cli.output import fields_of, picked, table, yellow
from memfolio.serve.cli.show import cell

if TYPE_CHECKING:
    from memfolio.govern.proposals import Proposal
    from memfolio.knowledge.ontology.document import Term
    from memfolio.knowledge.ontology.ontology import Added
    from memfolio.knowledge.rule import Rule
    from memfolio.knowledge.typedb.mirror import MirrorStatus, QueryRows
    from memfolio.memory import Memory

PROPOSED = ("id", "term", "status", "hash", "note")


def ontology_list(memory: Memory, domain: str | None = None, /) -> Answer:
    found: Sequence[Any] = memory.ontology.terms(domain) if domain else memory.ontology.domains()
    return Answer({"terms" if domain else "domains": list(map(_said, found))})


def ontology_show(term: Term, memory: Memory) -> Answer:
    known = memory.ontology.vocabulary()
    below = [each.id for each in known.children.get(term.id, ())]
    return Answer(_said(term) | {"above": known.ancestors(term.id), "below": below})


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
    from memfolio.knowledge.ontology.document import LITERAL_NAMES, new_term

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
    return Answer({"findings": found}, status=int(any(each.errors for each in found.values())))


def ontology_scaffold(scaffolded: tuple[Added, list[Rule]], memory: Memory, dry_run: bool) -> Answer:
    added, rules = scaffolded
    return _added(added, rules, [memory.vault.head] if rules and not dry_run else [])


def ontology_load(memory: Memory, name: str = "business", /, dry_run: bool = False) -> Answer:
    return ontology_scaffold(memory.scaffold(name, name, by=PERSON, dry_run=dry_run), memory, dry_run)


def ontology_conform(memory: Memory) -> Answer:
    found = memory.ontology.conform(memory.facts.all(include_derived=True))
    findings = [{"flaw": each.flaw.value, "fact": str(each.fact), "message": each.message} for each in found.findings]
    return Answer(picked(found, "facts untyped counts") | {"findings": findings}, status=int(bool(findings)))


def ontology_export(memory: Memory, format: str = "turtle") -> Answer:
    return Answer({"text": memory.ontology.export(memory.facts.all(include_derived=True), format).decode()})


def ontology_sparql(memory: Memory, query: str, limit: int = 1000, seconds: float = 10.0) -> Answer:
    found = memory.ontology.sparql(query, memory.facts.all(include_derived=True), limit=limit, seconds=seconds)
    rows = [[cell or "" for cell in row] for row in found.rows]
    shown = table(found.variables, rows) if found.holds is None else "yes" if found.holds else "no"
    more = yellow([f"There is more than {len(found.rows)} rows."] if found.cut else [])
    return Answer(fields_of(found), [shown, *more])


def _said(value: Any) -> dict[str, Any]:
    """The fields that say something."""
    return {name: each for name, each in fields_of(value).items() if each != "" and each not in ((), {}, False)}


def _added(added: Added, rules: Sequence[Rule] = (), further: Sequence[int] = ()) -> Answer:
    """Describe what was added, or would be, with the numbers of its changes."""
    seqs = [*([added.receipt.seq] if added.receipt else []), *further]
    document = {
        "terms": [each.id for each in added.terms if not each.rule],
        "rules": [each.name or each.id for each in rules],
        "report": added.report,
        "diff": added.diff,
        "seqs": seqs,
        "seq": seqs[0] if seqs else None,
    }
    return Answer(document)


def _proposals(proposals: Sequence[Proposal]) -> Answer:
    """List proposed terms, with the hash that an approval needs and their warnings."""
    rows = [(each.id, each.intent.named, each.status, each.shown, each.note) for each in proposals]
    return Answer({"proposals": [dict(zip(PROPOSED, row, strict=True)) for row in rows]})


def typedb_status(found: MirrorStatus) -> Answer:
    there = "" if found.database in found.databases else ", not there yet"
    sent = "nothing" if found.synced is None else f"up to change {found.synced} of {found.head}"
    known = [
        f"server     {found.url}, {found.version or 'which does not answer'}",
        f"database   {found.database}{there}",
        f"sent       {sent}",
        *filter(None, [found.trouble]),
    ]
    is_down = found.url and not found.is_reachable
    return Answer(
        fields_of(found), known if found.url else "server     none: typedb.url is not set", int(bool(is_down))
    )


def typedb_sync(options: Options, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        done = memory.typedb.sync_data(dry_run=dry_run, progress=partial(options.wait.step, "rows", "Sending"))
    rows = [(sort, f"{done.added[sort]:,}", f"{done.removed[sort]:,}") for sort in done.added]
    names = ("sort", "to add", "to remove") if dry_run else ("sort", "added", "removed")
    return Answer(fields_of(done) | {"dry_run": dry_run}, table(names, rows))


def typedb_query(found: QueryRows) -> Answer:
    cut = [f"{found.cut:,} further rows were cut off; ask for less, or raise typedb.bytes"] if found.cut else []
    return Answer({"rows": list(found.rows), "cut": found.cut}, [*map(cell, found.rows), *yellow(cut)])


def goal_seed(options: Options, file: str | None = None, /, example: bool = False, dry_run: bool = False) -> Answer:
    from memfolio.knowledge.model import EXAMPLE, read_goals, seed_goals

    if example is (file is not None):
        raise InputError("name a file of goals, or say --example", hint="docs/typedb.md shows what stands in one")
    given = read_goals(read_file(file or str(EXAMPLE), "name a JSON or TOML file in UTF-8"))
    with options.memory() as memory:
        done = seed_goals(memory.facts, given, agent=memory.agent, by=PERSON, dry_run=dry_run)
    return Answer(fields_of(done) | {"dry_run": dry_run})
