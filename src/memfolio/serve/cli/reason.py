"""The command `reason` with what is below it: problems are thought through, and judged by what came of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Command, Options, group, read_text
from memfolio.serve.cli.output import fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memfolio.reason.reason import Judgement, Reasoned

Problem = Annotated[
    str, typer.Argument(metavar="PROBLEM", help="The problem in words; - reads it from standard input.")
]
Name = Annotated[str, typer.Argument(metavar="METHOD", help="The method.", show_default=False)]
Id = Annotated[str, typer.Argument(metavar="ID", help="The judgement, or its memory.", show_default=False)]
Method = Annotated[str | None, typer.Option("--method", "-m", metavar="METHOD", help="The method, else one that fits.")]
Json = Annotated[str, typer.Option("--given", metavar="JSON", help="The inputs; @file reads a file, - standard input.")]
Uncertainty = Annotated[str | None, typer.Option(metavar="low|medium|high", help="How uncertain it is.")]
Complexity = Annotated[str | None, typer.Option(metavar="simple|moderate|complex", help="How complex it is.")]
Domain = Annotated[str | None, typer.Option(metavar="formal|empirical|social|mixed", help="What it is about.")]
Pressure = Annotated[
    str | None, typer.Option("--time-pressure", metavar="none|moderate|urgent", help="How urgent it is.")
]
Stakes = Annotated[str | None, typer.Option(metavar="low|medium|high", help="How much depends on it.")]
Data = Annotated[str | None, typer.Option("--data", metavar="rich|moderate|sparse", help="How many data there are.")]
Multi = Annotated[bool, typer.Option("--multi", help="By several methods, and what they say together.")]
Methods = Annotated[str, typer.Option("--methods", metavar="A,B", help="Which ones, else those that fit best.")]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many methods at most.")]
Store = Annotated[bool, typer.Option("--store", help="Keep the conclusion as a memory.")]
True_ = Annotated[bool, typer.Option("--true/--false", help="Whether it came true.", show_default=False)]


def ask(
    options: Options,
    problem: Problem,
    method: Method = None,
    given: Json = "{}",
    uncertainty: Uncertainty = None,
    complexity: Complexity = None,
    domain: Domain = None,
    time_pressure: Pressure = None,
    data: Data = None,
    stakes: Stakes = None,
    multi: Multi = False,
    methods: Methods = "",
    limit: Limit = 3,
    store: Store = False,
) -> Answer:
    """Think a problem through: by a method that computes where its inputs are given, else as steps to work through."""
    kind = {"uncertainty": uncertainty, "complexity": complexity, "domain": domain, "stakes": stakes}
    kind |= {"time_pressure": time_pressure, "data_availability": data}
    named = [each.strip() for each in methods.split(",") if each.strip()]
    with options.memory() as memory:
        found: Reasoned = memory.reason(
            read_text(problem),
            method=method,
            given=read(given),
            problem_classification=kind if any(kind.values()) else None,
            multi_method=multi,
            methods=named,
            limit=limit,
            store=store,
            by=PERSON,
        )
    return Answer(fields_of(found), lambda screen: screen.say("\n".join(told(found))))


def methods(options: Options) -> Answer:
    """List the methods, and which of them compute."""
    from memfolio.reason.registry import methods as every

    found = every().values()
    rows = [(each.name, each.category, "yes" if each.computes else "", each.good_for) for each in found]
    columns = ("method", "category", "computes", "good for")
    return Answer({"methods": [*found]}, lambda screen: screen.table(columns, rows, wide="good for"))


def show(options: Options, method: Name) -> Answer:
    """Show a method: what it reads, and its steps."""
    from memfolio.reason.registry import method_named

    found = method_named(method)
    lines = [f"{found.name} ({found.category}): {found.summary}", f"Good for {found.good_for}."]
    lines += [f"Computes from {found.wants}:"] if found.computes else []
    lines += [f"  {name}: {line}" for name, line in found.inputs.items()] + numbered(found.steps)
    return Answer(fields_of(found), lambda screen: screen.say("\n".join(lines)))


def outcome(options: Options, id: Id, true: True_) -> Answer:
    """Say whether a judgement that was kept came true."""
    with options.memory() as memory:
        found: Judgement = memory.reason.outcome(id, true, by=PERSON)
    line = f"{found.id} ({found.method}) {'came true' if true else 'did not come true'}"
    return Answer(fields_of(found), lambda screen: screen.say(line, "bold"))


def calibration(options: Options) -> Answer:
    """Show how sure the judgements that were kept have been, and what came true."""
    with options.memory() as memory:
        found = memory.reason.calibration()
    rows = [(name, each["count"], f"{each['brier']:.3f}", f"{each['bias']:+.2f}") for name, each in found.items()]
    columns = ("method", "judgements", "brier", "too sure by")
    none = "Of no judgement that says how sure it is an outcome is known."
    return Answer({"calibration": found}, lambda screen: screen.table(columns, rows) if rows else screen.say(none))


def read(given: str) -> dict[str, Any]:
    """The inputs that are given as JSON, in a file or on standard input."""
    try:
        found: dict[str, Any] = json.loads(Path(given[1:]).read_text("utf-8") if given[:1] == "@" else read_text(given))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the inputs cannot be read: {str(error)[:80]}", hint="give a JSON object") from error
    return found


def told(found: Reasoned) -> Iterator[str]:
    """What came of a problem, for people."""
    if found.fusion:
        yield found.conclusion or "Nothing is concluded."
        yield from (f"agree: {each}" for each in found.fusion.agreements)
        yield from (f"contradict each other: {each}" for each in found.fusion.disagreements)
    for result in found.results:
        sure = "" if result.confidence is None else f" ({result.confidence:.0%} sure)"
        yield f"{result.method}: {result.conclusion or 'steps to work through'}{sure}"
        yield from numbered(result.steps)
        yield from (f"  would change it: {each}" for each in result.would_change)
        yield from (f"  note: {each}" for each in result.notes)
    yield from (f"{name} could not be used: {why}" for name, why in found.failed.items())
    yield from (f"note: {each}" for each in found.notes)
    if found.judgement:
        yield f"kept as {found.judgement.memory}, judgement {found.judgement.id}"


def numbered(steps: tuple[str, ...]) -> list[str]:
    return [f"  {number}. {step}" for number, step in enumerate(steps, 1)]


REASON = (
    Command(ask, 'reason ask "Is she ill?" --method bayesian --given @inputs.json', 'reason ask "Why did it fail?"'),
    Command(methods, "reason methods"),
    Command(show, "reason show bayesian"),
    Command(outcome, "reason outcome J-1763217005123-5f2c91ab --true"),
    Command(calibration, "reason calibration"),
)
app = group("reason", REASON)
