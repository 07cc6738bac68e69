"""The commands below `rule` and `infer`: rules over facts, what follows from them, what is wrong, and what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from memfolio.serve.cli.call import PERSON, Answer, Options, read_file
from memfolio.serve.cli.derive import Text
from memfolio.serve.cli.output import Line, page, table, yellow
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.knowledge.engine import RuleFinding
    from memfolio.knowledge.join import Atom
    from memfolio.knowledge.rule import Rule
    from memfolio.memory import Memory


def rule_create(
    memory: Memory,
    text: Text,
    name: str | None = None,
    about: str | None = None,
    domain: str | None = None,
    factor: float | None = None,
    dry_run: bool = False,
) -> Answer:
    given = {"name": name, "description": about, "domain": domain, "factor": factor}
    made = memory.rules.create(text, **given, by=PERSON, dry_run=dry_run)
    return _rule(made, "Nothing was changed." if dry_run else f"This is {made.id}.")


def rule_list(
    memory: Memory, type: str | None = None, domain: str | None = None, enabled: bool | None = None
) -> Answer:
    found = list(map(memory.rules.as_json, memory.rules.list(type, domain, enabled)))
    problems = list(memory.rules.problems())
    rows = [
        (each["id"], "on" if each["enabled"] else "off", "yes" if each.get("kept") else "", each["text"])
        for each in found
    ]
    listed = table(("id", "is", "kept", "rule"), rows, wide="rule", none="There are no such rules.")
    return Answer({"rules": found, "problems": problems}, [listed, *yellow(problems)])


def rule_show(memory: Memory, rule: str) -> Answer:
    found = memory.rules.get(rule)
    return _rule(found, *_parts(found))


def rule_toggle(memory: Memory, rule: str, enabled: bool | None = None, dry_run: bool = False) -> Answer:
    found = memory.rules.toggle(rule, enabled, by=PERSON, dry_run=dry_run)
    is_so = "would be" if dry_run else "is"
    return _rule(found, f"{found.name or found.id} {is_so} {'on' if found.enabled else 'off'}.")


def rule_delete(memory: Memory, rule: str, dry_run: bool = False) -> Answer:
    found = memory.rules.delete(rule, by=PERSON, dry_run=dry_run)
    return _rule(found, "Nothing was changed." if dry_run else "It is deleted.")


def rule_import(memory: Memory, file: str, dry_run: bool = False) -> Answer:
    text = read_file(file, "name a file with rules, in UTF-8")
    made = list(map(memory.rules.as_json, memory.rules.import_(text, by=PERSON, dry_run=dry_run)))
    were = ("rule could be", "rules could be") if dry_run else ("rule was", "rules were")
    return Answer({"rules": made}, f"{counted(len(made), *were)} imported.")


def rule_export(memory: Memory) -> Answer:
    return Answer({"rules": json.loads(memory.rules.export("json"))}, page(memory.rules.export()))


def rule_check(options: Options, text: Text) -> Answer:
    from memfolio.knowledge.rule import check_rule
    from memfolio.knowledge.rules import as_rule

    rule = check_rule(as_rule(text))
    return _rule(rule, *_parts(rule))


def _rule(rule: Rule, *lines: str) -> Answer:
    from memfolio.knowledge.rules import Rules

    document = Rules.as_json(rule)
    return Answer(document, [document["text"], *lines])


def _parts(rule: Rule) -> Iterator[str]:
    """What a person may want to know of a rule, part by part."""
    from memfolio.knowledge.rule import render_part

    parts = [("and" if number else "if", render_part(each)) for number, each in enumerate(rule.conditions)]
    if rule.conclusion:
        parts.append(("then", f"{render_part(rule.conclusion)} ({rule.factor} times as sure)"))
    elif rule.action:
        parts.append(("do", rule.action + ", and escalate" * rule.escalate))
    else:
        parts.append((rule.severity, rule.message or "this must not be"))
    if rule.created_at:
        parts.append(("made", f"{rule.created_at:%Y-%m-%d %H:%M} UTC, as {rule.id}"))
    parts.append(("is", ("on" if rule.enabled else "off") + ", and what it concludes is kept" * rule.kept))
    return (f"{name:<9} {value}" for name, value in parts)


def infer_forward(
    memory: Memory, persist: bool = False, rule: list[str] | None = None, domain: str | None = None, limit: int = 50
) -> Answer:
    from memfolio.knowledge.tree import called

    drawn = memory.inference.forward(persist=persist, rules=rule, domain=domain, limit=limit, by=PERSON)
    lines = [f"{_told(each.atom)} by {called(each.rule)}" for each in drawn.conclusions]
    lines += _more(drawn.total - len(lines))
    if not lines:
        lines = ["Nothing follows that is not there already."]
    elif not persist:
        lines.append("This is a preview: --persist keeps it.")
    if persist:
        kept, further = counted(len(drawn.counts), "rule"), counted(drawn.total, "further conclusion")
        lines.append(f"This keeps {kept} and {further}.")
    return _inferred(drawn, lines, persisted=persist)


def infer_backward(
    memory: Memory, subject: str, predicate: str, object: str, depth: int | None = None, limit: int = 50
) -> Answer:
    from memfolio.knowledge.tree import as_text

    proof = memory.inference.backward(subject, predicate, object, depth=depth, limit=limit)
    proved = [as_text(each.proof) for each in proof.answers]
    missing = [f"missing: {gap}" for gap in proof.gaps]
    return _inferred(proof, [proof.undecided or proof.verdict, *proved, *_more(proof.total - len(proved)), *missing])


def infer_abduce(memory: Memory, subject: str, predicate: str, object: str) -> Answer:
    from memfolio.knowledge.rule import render_part
    from memfolio.knowledge.tree import called

    found = memory.inference.abduce(subject, predicate, object)
    lines = []
    for each in found:
        lines.append(f"{each.score:.2f}  {called(each.rule)}")
        lines += [f"  known    {_told(atom)}" for atom in each.supports]
        lines += [f"  assumed  {render_part(part)}" for part in each.assumptions]
    return _inferred({"hypotheses": found}, lines or ["No rule concludes that."])


def infer_explain(memory: Memory, question: list[str]) -> Answer:
    found = memory.inference.explain(question if len(question) == 3 else " ".join(question))
    return _inferred(found, [str(found)], paths=found.paths, sources=found.sources)


def infer_guess(memory: Memory, premise: Text, limit: int = 10) -> Answer:
    found = memory.infer(premise, limit=limit)
    lines = []
    for each in found:
        guesser = "" if each.made_by.startswith("rule:") else f"{each.made_by}: "
        lines.append(f"{each.confidence:.2f}  {' '.join(each.triple)}  ({guesser}{each.reason})")
    return _inferred({"hypotheses": found}, lines or ["Nothing comes to mind."])


def infer_check(
    memory: Memory,
    severity: str | None = None,
    domain: str | None = None,
    rule: list[str] | None = None,
    fail: bool = False,
) -> Answer:
    checked = memory.inference.check(severity=severity, domain=domain, rules=rule)
    lines = [line for each in checked.findings for line in (f"{each.severity:<8}  {each.text}", _grounds(each))]
    return _inferred(checked, lines or ["No constraint is violated."], status=1 if fail and lines else 0)


def infer_policy(
    memory: Memory, context: list[str] | None = None, domain: str | None = None, rule: list[str] | None = None
) -> Answer:
    checked = memory.inference.evaluate([_triple(each) for each in context or ()], domain=domain, rules=rule)
    lines: list[Line] = []
    for each in checked.findings:
        lines += [f"{'escalate' if each.escalate else 'do':<8}  {each.text}", _grounds(each)]
    return _inferred(checked, lines or ["No policy asks for anything."])


def _triple(text: str) -> tuple[str, str, str]:
    """A fact as it is typed: `["acme", "isLate", "true"]`, or three words of which the last may have spaces."""
    from memfolio.knowledge.engine import as_triple

    try:
        return as_triple(json.loads(text) if text.lstrip().startswith("[") else text.split(maxsplit=2))
    except (ValueError, RecursionError):
        return as_triple(text)


def _grounds(finding: RuleFinding) -> Line:
    """The rule that found something, and what that rests on."""
    from memfolio.knowledge.tree import called, sentence

    facts = "; ".join(sentence(each.triple) for each in finding.supports)
    return f"          {f'from {facts} ' if facts else ''}by {called(finding.rule)}", "dim"


def _inferred(found: Any, lines: Sequence[Line], *, status: int = 0, **added: object) -> Answer:
    """What was found, with the notes that it has."""
    from memfolio.knowledge.tree import as_document

    document = as_document(found) | added
    problems = document.get("problems", ())
    notes = [f"note: {each}" for each in problems]
    if "problems" in document and document.get("truncated"):
        notes.append("The search was cut: there may be more.")
    return Answer(document, [*lines, *yellow(notes)], status)


def _more(number: int) -> list[str]:
    return [f"… and {number:,} more"] if number > 0 else []


def _told(atom: Atom) -> str:
    from memfolio.knowledge.tree import sentence, span_text

    return f"{sentence(atom.triple)} ({', '.join(filter(None, (f'{atom.confidence:.2f}', span_text(*atom[5:]))))})"
