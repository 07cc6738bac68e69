"""The command `infer` with what is below it: what follows, whether and why, what is wrong, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memfolio.serve.cli.call import PERSON, Answer, Options, read_text
from memfolio.serve.cli.output import Screen
from memfolio.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memfolio.knowledge.engine import RuleFinding
    from memfolio.knowledge.join import Atom

Line = str | tuple[str, str]
"""What is said, perhaps with its style."""


def infer_forward(
    options: Options, persist: bool = False, rule: list[str] | None = None, domain: str | None = None, limit: int = 50
) -> Answer:
    from memfolio.knowledge.tree import called

    with options.memory() as memory:
        drawn = memory.inference.forward(persist=persist, rules=rule, domain=domain, limit=limit, by=PERSON)
    lines = [f"{told(each.atom)} by {called(each.rule)}" for each in drawn.conclusions]
    lines += more(drawn.total - len(lines))
    if not lines:
        lines = ["Nothing follows that is not there already."]
    elif not persist:
        lines.append("This is a preview: --persist keeps it.")
    if persist:
        kept, further = counted(len(drawn.counts), "rule"), counted(drawn.total, "further conclusion")
        lines.append(f"This keeps {kept} and {further}.")
    return answer(drawn, lines, persisted=persist)


def infer_backward(
    options: Options, subject: str, predicate: str, object: str, depth: int | None = None, limit: int = 50
) -> Answer:
    from memfolio.knowledge.tree import as_text

    with options.memory() as memory:
        proof = memory.inference.backward(subject, predicate, object, depth=depth, limit=limit)
    proved = [as_text(each.proof) for each in proof.answers]
    missing = [f"missing: {gap}" for gap in proof.gaps]
    return answer(proof, [proof.undecided or proof.verdict, *proved, *more(proof.total - len(proved)), *missing])


def infer_abduce(options: Options, subject: str, predicate: str, object: str) -> Answer:
    from memfolio.knowledge.rule import render_part
    from memfolio.knowledge.tree import called

    with options.memory() as memory:
        found = memory.inference.abduce(subject, predicate, object)
    lines = []
    for each in found:
        lines.append(f"{each.score:.2f}  {called(each.rule)}")
        lines += [f"  known    {told(atom)}" for atom in each.supports]
        lines += [f"  assumed  {render_part(part)}" for part in each.assumptions]
    return answer({"hypotheses": found}, lines or ["No rule concludes that."])


def infer_explain(options: Options, question: list[str]) -> Answer:
    with options.memory() as memory:
        found = memory.inference.explain(question if len(question) == 3 else " ".join(question))
    return answer(found, [str(found)], paths=found.paths, sources=found.sources)


def infer_guess(options: Options, premise: str, limit: int = 10) -> Answer:
    with options.memory() as memory:
        found = memory.infer(read_text(premise), limit=limit)
    lines = []
    for each in found:
        guesser = "" if each.made_by.startswith("rule:") else f"{each.made_by}: "
        lines.append(f"{each.confidence:.2f}  {' '.join(each.triple)}  ({guesser}{each.reason})")
    return answer({"hypotheses": found}, lines or ["Nothing comes to mind."])


def infer_check(
    options: Options,
    severity: str | None = None,
    domain: str | None = None,
    rule: list[str] | None = None,
    fail: bool = False,
) -> Answer:
    with options.memory() as memory:
        checked = memory.inference.check(severity=severity, domain=domain, rules=rule)
    lines = [line for each in checked.findings for line in (f"{each.severity:<8}  {each.text}", grounds(each))]
    return answer(checked, lines or ["No constraint is violated."], status=1 if fail and lines else 0)


def infer_policy(
    options: Options, context: list[str] | None = None, domain: str | None = None, rule: list[str] | None = None
) -> Answer:
    given = [triple(each) for each in context or ()]
    with options.memory() as memory:
        checked = memory.inference.evaluate(given, domain=domain, rules=rule)
    lines: list[Line] = []
    for each in checked.findings:
        lines += [f"{'escalate' if each.escalate else 'do':<8}  {each.text}", grounds(each)]
    return answer(checked, lines or ["No policy asks for anything."])


def triple(text: str) -> tuple[str, str, str]:
    """A fact as it is typed: `["acme", "isLate", "true"]`, or three words of which the last may have spaces."""
    import json

    from memfolio.knowledge.engine import as_triple

    try:
        return as_triple(json.loads(text) if text.lstrip().startswith("[") else text.split(maxsplit=2))
    except (ValueError, RecursionError):
        return as_triple(text)


def grounds(finding: RuleFinding) -> Line:
    """The rule that found something, and what that rests on."""
    from memfolio.knowledge.tree import called, sentence

    facts = "; ".join(sentence(each.triple) for each in finding.supports)
    return f"          {f'from {facts} ' if facts else ''}by {called(finding.rule)}", "dim"


def answer(found: Any, lines: Iterable[Line], *, status: int = 0, **added: object) -> Answer:
    """What was found, with the notes that it has."""
    from memfolio.knowledge.tree import as_document

    document = as_document(found) | added

    def draw(screen: Screen) -> None:
        for each in lines:
            screen.say(*((each,) if isinstance(each, str) else each))
        for each in document.get("problems", ()):
            screen.say(f"note: {each}", "yellow")
        if "problems" in document and document.get("truncated"):
            screen.say("The search was cut: there may be more.", "yellow")

    return Answer(document, draw, status)


def more(number: int) -> list[str]:
    return [f"… and {number:,} more"] if number > 0 else []


def told(atom: Atom) -> str:
    from memfolio.knowledge.tree import sentence, span_text

    return f"{sentence(atom.triple)} ({', '.join(filter(None, (f'{atom.confidence:.2f}', span_text(*atom[5:]))))})"
