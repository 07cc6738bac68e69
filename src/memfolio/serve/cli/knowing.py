"""The commands about what is known: fact, rule, infer, case, reason, ontology, typedb, goal, entity, and `path`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError, NotFoundError
from memfolio.serve.cli.call import PERSON, Answer, Options, read_bytes, read_file
from memfolio.serve.cli.derive import Text
from memfolio.serve.cli.errors import EXIT_CODES
from memfolio.serve.cli.output import Line, Lines, document_of, fields_of, page, picked, seq_of, table
from memfolio.serve.cli.show import noted
from memfolio.text import counted
from memfolio.verbs import documents

if TYPE_CHECKING:
    from memfolio.graph.graph import Entity, GraphStep
    from memfolio.knowledge.cases import Case
    from memfolio.knowledge.engine import RuleFinding
    from memfolio.knowledge.inference import Drawn, Hypothesis, Proof, RuleFindings
    from memfolio.knowledge.join import Atom, ProofNode
    from memfolio.knowledge.ontology.document import Term
    from memfolio.knowledge.ontology.ontology import Added
    from memfolio.knowledge.rule import Rule
    from memfolio.knowledge.traverse import Groups, Impact, Misfit, Paths
    from memfolio.knowledge.traverse import Path as FactPath
    from memfolio.knowledge.typedb.mirror import MirrorStatus
    from memfolio.memory import Memory
    from memfolio.reason.reason import Reasoned

# Facts: what is read from a file and written to one, and what depends on them.


def fact_explain(node: ProofNode, mermaid: bool = False) -> str:
    from memfolio.knowledge.join import as_mermaid, as_text

    return as_mermaid(node) if mermaid else as_text(node)


def fact_import(memory: Memory, file: str, dry_run: bool = False) -> Answer:
    from memfolio.knowledge.facts import MOST

    count, problems = 0, list[str]()
    good = _read_facts(BytesIO(read_bytes(file, "name a file of JSON lines")), memory, problems)
    while some := list(islice(good, MOST)):
        count += len(some) if dry_run else len(memory.facts.assert_many(some, by=PERSON))
    return Answer({"facts": count, "problems": problems}, status=1 if problems else 0)


def _read_facts(lines: Iterable[bytes], memory: Memory, problems: list[str]) -> Iterator[dict[str, Any]]:
    """Read the facts of a file, without fields that only a ledger or an export has."""
    from memfolio.knowledge.facts import GIVEN, assertion
    from memfolio.vault.lines import read_object

    for number, line in enumerate(lines, 1):
        try:
            if not line.strip():
                continue
            record = read_object(line.decode("utf-8-sig"))
            if record.get("op", "assert") != "assert":
                raise ValueError(f"{record['op']!r:.40} asserts nothing")
            record["source"] = record.get("from", record.get("source"))
            known = {name: record[name] for name in GIVEN if name in record}
            assertion(known, memory.agent, memory.vault.home.zone)
        except (ValueError, InputError) as error:
            problems.append(f"line {number}: {error.message if isinstance(error, InputError) else error}")
        else:
            yield known


def fact_export(
    options: Options, subject: str | None = None, predicate: str | None = None, object: str | None = None
) -> Answer:
    from memfolio.knowledge.facts import GIVEN

    with options.memory() as memory:
        found = map(document_of, memory.facts.all(subject, predicate, object, include_untrusted=True))
        records = ({name: each[name] for name in GIVEN if each.get(name) is not None} for each in found)
        if options.as_json:
            return Answer({"facts": list(records)}, [])
        # Written as they are read: a home may have more facts than fit into memory.
        options.wait.stop()
        for each in records:
            sys.stdout.write(json.dumps(each, ensure_ascii=False) + "\n")
    return Answer({}, [])


def fact_traverse(found: Paths, memory: Memory) -> Answer:
    return _paths(memory, found.paths, documents.paths(memory.questions, found))


def fact_impact(found: Impact, memory: Memory) -> Answer:
    paths = [path for each in found.kinds.values() for path in each]
    return _paths(memory, paths, documents.impact(memory.questions, found))


def _paths(memory: Memory, paths: Sequence[FactPath], document: dict[str, Any]) -> Answer:
    from memfolio.knowledge.traverse import as_text

    cite = memory.questions.ids(hop.cited for path in paths for hop in path.hops).__getitem__
    kinds = {node: f"{kind}: " for kind, nodes in document.get("kinds", {}).items() for node in nodes}
    lines = [kinds.get(path.nodes[-1], "") + as_text(path, cite) for path in paths]
    lines += [f"falls: {each['fact']} ({each['id']})" for each in document.get("conclusions", ())]
    return Answer(document, [*(lines or ["No results."]), *noted(document)])


def fact_count(found: Groups, memory: Memory, by: str) -> Answer:
    rows = [(value, len(each), ", ".join(one.node for one in each)) for value, each in found.groups.items()]
    shown = table((by, "count", "which"), rows, wide="which", none="No matches.")
    document = documents.groups(memory.questions, found)
    return Answer(document, [shown, *noted(document)])


def fact_misfits(found: Sequence[Misfit], memory: Memory) -> Answer:
    ids = memory.questions.ids(each.cited for each in found)
    return Answer(
        {"findings": [{"fact": ids[each.cited], "agent": each.cited.agent, "problem": str(each)} for each in found]}
    )


# Rules, what follows from them, what is wrong, and what to do.


def rule_export(text: str, memory: Memory) -> Answer:
    return Answer({"rules": json.loads(memory.rules.export("json"))}, page(text))


def rule_check(options: Options, text: Text) -> Answer:
    from memfolio.knowledge.rule import check_rule
    from memfolio.knowledge.rules import as_rule

    return Answer(document_of(check_rule(as_rule(text))))


def infer_forward(drawn: Drawn, persist: bool) -> Lines:
    from memfolio.knowledge.join import rule_label

    lines = [f"{_sentence(each.atom)} by {rule_label(each.rule)}" for each in drawn.conclusions]
    lines += _more(drawn.total - len(lines))
    preview = [] if persist else ["This is a preview: --persist stores it."]
    lines = lines + preview if lines else ["Nothing new follows."]
    if persist:
        lines.append(
            f"This keeps {counted(len(drawn.counts), 'rule')} and {counted(drawn.total, 'further conclusion')}."
        )
    return lines


def infer_backward(proof: Proof) -> Lines:
    from memfolio.knowledge.join import as_text

    proved = [as_text(each.proof) for each in proof.answers]
    missing = [f"missing: {gap}" for gap in proof.gaps]
    return [proof.undecided or proof.verdict, *proved, *_more(proof.total - len(proved)), *missing]


def infer_abduce(found: Sequence[Hypothesis]) -> Lines:
    from memfolio.knowledge.join import rule_label
    from memfolio.knowledge.rule import render_part

    lines = []
    for each in found:
        lines.append(f"{each.score:.2f}  {rule_label(each.rule)}")
        lines += [f"  known    {_sentence(atom)}" for atom in each.supports]
        lines += [f"  assumed  {render_part(part)}" for part in each.assumptions]
    return lines or ["No rule concludes that."]


def infer_check(checked: RuleFindings, memory: Memory, fail: bool = False) -> Answer:
    lines = _findings(checked, "No violations.", lambda each: each.severity)
    document = documents.knowledge(checked)
    return Answer(document, [*lines, *noted(document)], status=int(fail and bool(checked.findings)))


def infer_policy(checked: RuleFindings) -> Lines:
    return _findings(checked, "No actions.", lambda each: "escalate" if each.escalate else "do")


def _findings(checked: RuleFindings, none: str, label: Callable[[RuleFinding], str]) -> list[Line]:
    """What rules found, each with the premises and the rule behind it."""
    from memfolio.knowledge.join import rule_label, sentence

    lines: list[Line] = []
    for each in checked.findings:
        facts = "; ".join(sentence(atom.triple) for atom in each.supports)
        grounds = f"{'':10}{f'from {facts} ' if facts else ''}by {rule_label(each.rule)}"
        lines += [f"{label(each):<8}  {each.text}", (grounds, "dim")]
    return lines or [none]


def _more(number: int) -> list[str]:
    return [f"… and {number:,} more"] if number > 0 else []


def _sentence(atom: Atom) -> str:
    from memfolio.knowledge.join import sentence, span_text

    return f"{sentence(atom.triple)} ({', '.join(filter(None, (f'{atom.confidence:.2f}', span_text(*atom[5:]))))})"


# Cases, and problems that are thought through.


def case_show(case: Case, memory: Memory) -> Answer:
    return Answer(fields_of(case) | {"history": memory.cases.history(case.id)})


def reason_methods(options: Options) -> Answer:
    from memfolio.reason.reason import methods

    return Answer({"methods": list(methods().values())})


def reason_show(options: Options, method: str) -> Answer:
    from memfolio.reason.reason import method_named

    return Answer(fields_of(method_named(method)))


def reason_ask(found: Reasoned) -> Lines:
    return list(_reasoned(found))


def _reasoned(found: Reasoned) -> Iterator[str]:
    """Render the result of reasoning for people."""
    if found.fusion:
        yield found.conclusion or "No conclusion."
        yield from (f"agree: {each}" for each in found.fusion.agreements)
        yield from (f"contradict each other: {each}" for each in found.fusion.disagreements)
    for result in found.results:
        sure = "" if result.confidence is None else f" (confidence {result.confidence:.0%})"
        yield f"{result.method}: {result.conclusion or 'steps to work through'}{sure}"
        yield from (f"  {number}. {step}" for number, step in enumerate(result.steps, 1))
        yield from (f"  would change it: {each}" for each in result.would_change)
        yield from (f"  note: {each}" for each in result.notes)
    yield from (f"{name} could not be used: {why}" for name, why in found.failed.items())
    yield from (f"note: {each}" for each in found.notes)
    if found.judgement:
        yield f"stored as {found.judgement.memory}, judgement {found.judgement.id}"


# The terms in which facts are told, and a copy on a server.


def ontology_list(memory: Memory, domain: str | None = None, /) -> Answer:
    found: Sequence[Any] = memory.ontology.terms(domain) if domain else memory.ontology.domains()
    return Answer({"terms" if domain else "domains": found})


def ontology_show(term: Term, memory: Memory) -> Answer:
    known = memory.ontology.vocabulary()
    below = [each.id for each in known.children.get(term.id, ())]
    return Answer(fields_of(term) | {"above": known.ancestors(term.id), "below": below})


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
    dry_run: bool = False,
) -> Answer:
    from memfolio.knowledge.ontology.document import LITERAL_NAMES, new_term

    # Who gives a range or a class to which it belongs means a property, and the range says which kind of it.
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
    return _added(memory.ontology.add(term, by=PERSON, dry_run=dry_run))


def ontology_validate(memory: Memory, term: str | None = None, /) -> Answer:
    wanted = memory.ontology.get(term).id if term else None
    found = {name: each for name, each in memory.ontology.problems().items() if wanted in (None, name)}
    return Answer({"findings": found}, status=int(any(each.errors for each in found.values())))


def ontology_scaffold(scaffolded: tuple[Added, list[Rule]], memory: Memory, dry_run: bool) -> Answer:
    added, rules = scaffolded
    # The rules are a change of their own, the last one, so that they can be undone without the terms.
    return _added(added, rules, [memory.vault.head] if rules and not dry_run else [])


def ontology_conform(memory: Memory) -> Answer:
    found = memory.ontology.conform(memory.facts.all(include_derived=True))
    findings = [{"flaw": each.flaw.value, "fact": str(each.fact), "message": each.message} for each in found.findings]
    return Answer(picked(found, "facts untyped counts") | {"findings": findings}, status=int(bool(findings)))


def ontology_export(memory: Memory, format: str = "turtle") -> Answer:
    return Answer({"text": memory.ontology.export(memory.facts.all(include_derived=True), format).decode()})


def ontology_sparql(memory: Memory, query: str, limit: int = 1000, seconds: float = 10.0) -> Answer:
    # What is only known by rules is asked, too: whoever asks does not know what was said and what was concluded.
    found = memory.ontology.sparql(query, memory.facts.all(include_derived=True), limit=limit, seconds=seconds)
    rows = [[cell or "" for cell in row] for row in found.rows]
    shown = table(found.variables, rows) if found.holds is None else "yes" if found.holds else "no"
    more = [f"There is more than {len(found.rows)} rows."] if found.cut else []
    return Answer(fields_of(found), [shown, *more])


def ontology_import(memory: Memory, file: str, domain: str, format: str | None = None, dry_run: bool = False) -> Answer:
    content, kind = read_bytes(file, "name a file"), format or Path(file).suffix or "jsonld"
    return _added(memory.ontology.import_(content, kind, domain, by=PERSON, dry_run=dry_run))


def _added(added: Added, rules: Sequence[Rule] = (), further: Sequence[int] = ()) -> Answer:
    """Describe what was added, or would be, with the numbers of its changes."""
    seqs = [*([added.receipt.seq] if added.receipt else []), *further]
    document = {
        "terms": [each.id for each in added.terms if not each.rule],
        "rules": [each.name or each.id for each in rules],
        **picked(added, "report diff lacking"),
        "seqs": seqs,
        "seq": seqs[0] if seqs else None,
    }
    return Answer(document)


def typedb_status(found: MirrorStatus) -> Answer:
    return Answer(fields_of(found), status=int(bool(found.url) and not found.is_reachable))


def typedb_sync(options: Options, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        done = memory.typedb.sync_data(dry_run=dry_run, progress=partial(options.wait.step, "rows", "Sending"))
    rows = [(sort, f"{done.added[sort]:,}", f"{done.removed[sort]:,}") for sort in done.added]
    names = ("sort", "to add", "to remove") if dry_run else ("sort", "added", "removed")
    return Answer(fields_of(done) | {"dry_run": dry_run}, table(names, rows))


def goal_seed(options: Options, file: str | None = None, /, example: bool = False, dry_run: bool = False) -> Answer:
    from memfolio.knowledge.model import EXAMPLE, read_goals, seed_goals

    if example is (file is not None):
        raise InputError("name a file of goals, or say --example", hint=f"an example is {EXAMPLE}")
    given = read_goals(read_file(file or str(EXAMPLE), "name a JSON or TOML file in UTF-8"))
    with options.memory() as memory:
        done = seed_goals(memory.facts, given, agent=memory.agent, by=PERSON, dry_run=dry_run)
    return Answer(fields_of(done) | {"dry_run": dry_run})


# People and things.


def entity_show(entity: Entity, memory: Memory, name: str, hops: int = 1) -> Answer:
    near = memory.graph.neighbours(name, hops)
    document = fields_of(entity) | {"relations": list(map(_step, entity.relations))}
    if hops > 1:
        document["neighbours"] = [{"id": each.id, "hops": each.hops, "over": _step(each.step)} for each in near]
    known = {
        "also called": ", ".join(entity.aliases),
        "mentioned": counted(entity.mentions, "time") if entity.mentions else "",
        "first seen": entity.first_seen,
        "last updated": entity.last_updated,
        "others of that name": ", ".join(entity.others),
    }
    lines: list[Line] = [(f"{entity.name}  {entity.id}", "bold")]
    lines += [(f"{label}: {value}", "dim") for label, value in known.items() if value]
    lines += [f"\n{entity.summary}"] if entity.summary else []
    parts: dict[str, Sequence[object]] = {
        "Facts": entity.facts,
        "Timeline": entity.timeline,
        "Open questions": entity.questions,
        "Relations": [each.step for each in near],
    }
    for title, texts in parts.items():
        if texts:
            lines += [(f"\n{title}", "bold cyan"), *(f"- {text}" for text in texts)]
    return Answer(document, [*lines, (f"\n{entity.path}", "dim")])


def entity_merge(memory: Memory, keep: str | None = None, other: str | None = None, /, dry_run: bool = False) -> Answer:
    if keep is not None and other is not None:
        merged = memory.graph.merge(keep, other, dry_run=dry_run, by=PERSON)
        return Answer(picked(merged, "keep other diff") | {"dry_run": dry_run, "seq": seq_of(merged)})
    if keep is not None or not dry_run:
        raise InputError("two names are needed", hint="say who is kept and who is the same, or only --dry-run")
    pairs = memory.graph.alike()  # as graph/index.md lists them too
    rows = [(pair.one, pair.other, f"{pair.score:.2f}", pair.why) for pair in pairs]
    shown = table(("one", "other", "alike", "by"), rows, none="No duplicates found.")
    return Answer({"alike": [pair._asdict() for pair in pairs], "dry_run": True}, shown)


def path(steps: Sequence[GraphStep] | None, a: str, b: str) -> Answer:
    document = {"from": a, "to": b, "steps": None if steps is None else list(map(_step, steps))}
    none = "They are the same." if steps == [] else "No path of up to six relations."
    status = EXIT_CODES[NotFoundError] if steps is None else 0
    return Answer(document, list(map(str, steps)) if steps else none, status)


def _step(step: GraphStep) -> dict[str, object]:
    """A relation as it is written: from its subject to its object."""
    source, target = (step.here, step.there) if step.is_forward else (step.there, step.here)
    return {"source": source, "predicate": step.predicate, "target": target, "forward": step.is_forward}
