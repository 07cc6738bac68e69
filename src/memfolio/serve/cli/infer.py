"""The command `infer` with what is below it: what follows, whether and why, what is wrong, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Command, Options, group, read_text
from memfolio.serve.cli.output import Screen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memfolio.knowledge.relations import Atom

Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="Or ?x for any.", show_default=False)]
Predicate = Annotated[str, typer.Argument(metavar="PREDICATE", show_default=False)]
Object = Annotated[str, typer.Argument(metavar="OBJECT", help="Or ?y for any.", show_default=False)]
Question = Annotated[
    list[str], typer.Argument(metavar="QUESTION", help="Words in quotes, or a triple.", show_default=False)
]
RuleNames = Annotated[list[str] | None, typer.Option("--rule", metavar="ID", help="Only this rule; may be repeated.")]
Domain = Annotated[str | None, typer.Option("--domain", metavar="NAME", help="Only rules of this domain.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many are shown.")]
Depth = Annotated[int | None, typer.Option("--depth", metavar="N", min=1, help="How many rules deep.")]


def forward(
    options: Options,
    persist: Annotated[bool, typer.Option("--persist", help="Keep it, for as long as it follows.")] = False,
    rule: RuleNames = None,
    domain: Domain = None,
    limit: Limit = 50,
) -> Answer:
    """Show what follows from the facts by the rules and is not among them."""
    with options.memory() as memory:
        drawn = memory.inference.forward(persist=persist, rules=rule, domain=domain, limit=limit, by=PERSON)

    def draw(screen: Screen) -> None:
        for each in drawn.conclusions:
            screen.say(f"{told(each.atom)} by {each.rule.name or each.rule.id}")
        if drawn.total > len(drawn.conclusions):
            screen.say(f"… and {drawn.total - len(drawn.conclusions):,} more")
        if not drawn.total:
            screen.say("Nothing follows that is not there already.")
        elif not persist:
            screen.say("This is a preview: --persist keeps it.", "bold")
        tell(screen, drawn.problems)

    return answer(drawn, draw, persisted=persist)


def backward(options: Options, subject: Subject, predicate: Predicate, object: Object, depth: Depth = None) -> Answer:
    """Prove a triple, or say what is missing for it."""
    from memfolio.knowledge.tree import as_text

    with options.memory() as memory:
        proof = memory.inference.backward(subject, predicate, object, depth=depth)

    def draw(screen: Screen) -> None:
        screen.say(proof.verdict, "bold")
        for each in proof.answers:
            screen.say(as_text(each.proof))
        for gap in proof.gaps:
            screen.say(f"missing: {gap}")
        tell(screen, proof.problems, truncated=proof.truncated)

    return answer(proof, draw)


def abduce(options: Options, subject: Subject, predicate: Predicate, object: Object) -> Answer:
    """Rank what would explain an observation."""
    from memfolio.knowledge.rule_text import render_part
    from memfolio.knowledge.tree import as_document

    with options.memory() as memory:
        found = memory.inference.abduce(subject, predicate, object)

    def draw(screen: Screen) -> None:
        for each in found:
            screen.say(f"{each.score:.2f}  {each.rule.name or each.rule.id}", "bold")
            for atom in each.supports:
                screen.say(f"  known    {told(atom)}")
            for part in each.assumptions:
                screen.say(f"  assumed  {render_part(part)}")
        if not found:
            screen.say("No rule concludes that.")

    return Answer({"hypotheses": as_document(found)}, draw)


def explain(options: Options, question: Question) -> Answer:
    """Answer a question from facts, rules, gaps and hypotheses, with sources."""
    with options.memory() as memory:
        found = memory.inference.explain(question if len(question) == 3 else " ".join(question))
    return answer(found, lambda screen: screen.say(str(found)), paths=found.paths, sources=found.sources)


def guess(
    options: Options,
    premise: Annotated[str, typer.Argument(metavar="PREMISE", help="What to begin with; - reads it.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 10,
) -> Answer:
    """Say what might follow from a premise, by a model or by likeness; nothing of that is stored."""
    from memfolio.knowledge.tree import as_document

    with options.memory() as memory:
        found = memory.infer(read_text(premise), limit=limit)

    def draw(screen: Screen) -> None:
        for each in found:
            screen.say(f"{each.confidence:.2f}  {' '.join(each.triple)}  ({each.made_by}: {each.reason})")
        if not found:
            screen.say("Nothing comes to mind.")

    return Answer({"hypotheses": as_document(found)}, draw)


def check(
    options: Options,
    severity: Annotated[str | None, typer.Option("--severity", help="The mildest that is shown.")] = None,
    domain: Domain = None,
    rule: RuleNames = None,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 where there are violations.")] = False,
) -> Answer:
    """Show which constraints are violated, the worst first."""
    with options.memory() as memory:
        checked = memory.inference.check(severity=severity, domain=domain, rules=rule)

    def draw(screen: Screen) -> None:
        for each in checked.findings:
            screen.say(f"{each.rule.severity:<8}  {each.text}")
        if not checked.findings:
            screen.say("No constraint is violated.")
        tell(screen, checked.problems, truncated=checked.truncated)

    return answer(checked, draw, status=1 if fail and checked.findings else 0)


def policy(
    options: Options,
    context: Annotated[
        list[str] | None,
        typer.Option("--context", metavar="TRIPLE", help="A fact for this call only, as JSON or three words."),
    ] = None,
    domain: Domain = None,
    rule: RuleNames = None,
) -> Answer:
    """Show what policies ask for; actions that contradict each other are all shown."""
    given = [triple(each) for each in context or ()]
    with options.memory() as memory:
        checked = memory.inference.evaluate(given, domain=domain, rules=rule)

    def draw(screen: Screen) -> None:
        for each in checked.findings:
            screen.say(f"{'escalate  ' if each.rule.escalate else ''}{each.text}")
        if not checked.findings:
            screen.say("No policy asks for anything.")
        tell(screen, checked.problems, truncated=checked.truncated)

    return answer(checked, draw)


def triple(text: str) -> tuple[str, str, str]:
    """A fact as it is typed: `["acme", "isLate", "true"]`, or three words of which the last may have spaces."""
    import json

    try:
        parts = json.loads(text) if text.lstrip().startswith("[") else text.split(maxsplit=2)
    except ValueError:
        parts = []
    if len(parts) != 3 or not all(isinstance(each, str) for each in parts):
        raise InputError(f"{text[:80]!r} is no fact", hint="give subject, predicate and object")
    return parts[0], parts[1], parts[2]


def answer(found: object, draw: Callable[[Screen], None], status: int = 0, **more: object) -> Answer:
    from memfolio.knowledge.tree import as_document

    return Answer(as_document(found) | more, draw, status)


def told(atom: Atom) -> str:
    from memfolio.knowledge.tree import span_text

    return f"{' '.join(atom.triple)} ({', '.join(filter(None, (f'{atom.confidence:.2f}', span_text(*atom[5:]))))})"


def tell(screen: Screen, problems: Iterable[str], *, truncated: bool = False) -> None:
    for each in problems:
        screen.say(f"note: {each}", "yellow")
    if truncated:
        screen.say("The search was cut: there may be more.", "yellow")


INFER = (
    Command(forward, "infer forward", "infer forward --persist --domain finance"),
    Command(backward, 'infer backward "?who" isTaxable true'),
    Command(abduce, "infer abduce lawn is wet"),
    Command(explain, 'infer explain "is acme taxable"'),
    Command(guess, 'infer guess "Acme opens an office in Lisbon"'),
    Command(check, "infer check --severity error --fail"),
    Command(policy, 'infer policy --context "acme isLate true"'),
)
app = group("infer", INFER, help="What follows from facts and rules, whether and why, what is wrong, and what to do.")
