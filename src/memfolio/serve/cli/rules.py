"""The commands below `rule` and `infer`: rules over facts, what follows from them, what is wrong, and what to do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memfolio.knowledge.join import as_document, as_text, rule_label, sentence, span_text
from memfolio.knowledge.rule import check_rule, render_part
from memfolio.serve.cli.call import Answer, Options
from memfolio.serve.cli.derive import Text
from memfolio.serve.cli.output import Line, document_of, page, yellow
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.knowledge.engine import RuleFinding
    from memfolio.knowledge.inference import Drawn, Hypothesis, KnowledgeAnswer, Proof, RuleFindings
    from memfolio.knowledge.join import Atom
    from memfolio.knowledge.verify import GuessedFact
    from memfolio.memory import Memory


def rule_export(text: str, memory: Memory) -> Answer:
    return Answer({"rules": json.loads(memory.rules.export("json"))}, page(text))


def rule_check(options: Options, text: Text) -> Answer:
    from memfolio.knowledge.rules import as_rule

    return Answer(document_of(check_rule(as_rule(text))))


def infer_forward(drawn: Drawn, persist: bool) -> Answer:
    lines = [f"{_sentence(each.atom)} by {rule_label(each.rule)}" for each in drawn.conclusions]
    lines += _more(drawn.total - len(lines))
    if not lines:
        lines = ["Nothing follows that is not there already."]
    elif not persist:
        lines.append("This is a preview: --persist keeps it.")
    if persist:
        kept, further = counted(len(drawn.counts), "rule"), counted(drawn.total, "further conclusion")
        lines.append(f"This keeps {kept} and {further}.")
    return _inferred(drawn, lines, persisted=persist)


def infer_backward(proof: Proof) -> Answer:
    proved = [as_text(each.proof) for each in proof.answers]
    missing = [f"missing: {gap}" for gap in proof.gaps]
    return _inferred(proof, [proof.undecided or proof.verdict, *proved, *_more(proof.total - len(proved)), *missing])


def infer_abduce(found: Sequence[Hypothesis]) -> Answer:
    lines = []
    for each in found:
        lines.append(f"{each.score:.2f}  {rule_label(each.rule)}")
        lines += [f"  known    {_sentence(atom)}" for atom in each.supports]
        lines += [f"  assumed  {render_part(part)}" for part in each.assumptions]
    return _inferred({"hypotheses": found}, lines or ["No rule concludes that."])


def infer_explain(answer: KnowledgeAnswer) -> Answer:
    return _inferred(answer, [str(answer)], paths=answer.paths, sources=answer.sources)


def infer_guess(found: Sequence[GuessedFact]) -> Answer:
    lines = []
    for each in found:
        guesser = "" if each.made_by.startswith("rule:") else f"{each.made_by}: "
        lines.append(f"{each.confidence:.2f}  {' '.join(each.triple)}  ({guesser}{each.reason})")
    return _inferred({"hypotheses": found}, lines or ["Nothing comes to mind."])


def infer_check(checked: RuleFindings, fail: bool = False) -> Answer:
    lines = [line for each in checked.findings for line in (f"{each.severity:<8}  {each.text}", _grounds(each))]
    return _inferred(checked, lines or ["No constraint is violated."], status=1 if fail and lines else 0)


def infer_policy(checked: RuleFindings) -> Answer:
    lines: list[Line] = []
    for each in checked.findings:
        lines += [f"{'escalate' if each.escalate else 'do':<8}  {each.text}", _grounds(each)]
    return _inferred(checked, lines or ["No policy asks for anything."])


def _grounds(finding: RuleFinding) -> Line:
    """Return the rule behind a finding, and its premises."""
    facts = "; ".join(sentence(each.triple) for each in finding.supports)
    return f"          {f'from {facts} ' if facts else ''}by {rule_label(finding.rule)}", "dim"


def _inferred(found: Any, lines: Sequence[Line], *, status: int = 0, **added: object) -> Answer:
    """Return a result with its notes."""
    document = as_document(found) | added
    notes = [f"note: {each}" for each in document.get("problems", ())]
    if "problems" in document and document.get("truncated"):
        notes.append("The search was cut: there may be more.")
    return Answer(document, [*lines, *yellow(notes)], status)


def _more(number: int) -> list[str]:
    return [f"… and {number:,} more"] if number > 0 else []


def _sentence(atom: Atom) -> str:
    return f"{sentence(atom.triple)} ({', '.join(filter(None, (f'{atom.confidence:.2f}', span_text(*atom[5:]))))})"
