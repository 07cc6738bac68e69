"""The command `workflow` with what is below it: procedures done step by step as a checklist, and how they went."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Command, Options, group
from memfolio.serve.cli.output import Screen
from memfolio.verbs import documents

if TYPE_CHECKING:
    from memfolio.procedures.run import Run
    from memfolio.procedures.runs import Runs

Name = Annotated[str, typer.Argument(metavar="NAME", help="The procedure: its page without .md.", show_default=False)]
Id = Annotated[str, typer.Argument(metavar="RUN", help="The run.", show_default=False)]
Values = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A value; may be repeated.")]
Result = Annotated[str | None, typer.Option("--result", metavar="TEXT", help="What came of it; JSON where it is.")]
Error = Annotated[str, typer.Option("--error", metavar="TEXT", help="What went wrong.")]
Redo = Annotated[bool, typer.Option("--redo", help="The step in doubt was not done: try it again.")]
Open = Annotated[bool, typer.Option("--open", help="Only those that have not ended.")]
Of = Annotated[str | None, typer.Argument(metavar="NAME", help="Only those of this procedure.", show_default=False)]


def start(options: Options, name: Name, set_: Values = None) -> Answer:
    """Begin a procedure and show its first step: a checklist, since a command line has no functions to call."""
    return after(options, lambda runs: runs.run(name, pairs(set_), checklist=True, by=PERSON))


def done(options: Options, id: Id, result: Result = None) -> Answer:
    """Say that the step is done that a run waits for, or of which it does not know, and show the next one."""
    return after(options, lambda runs: runs.done(id, result=read(result) if result else None, by=PERSON))


def failed(options: Options, id: Id, error: Error = "") -> Answer:
    """Say that the step has failed; the page says what follows."""
    return after(options, lambda runs: runs.done(id, ok=False, error=error, by=PERSON))


def skip(options: Options, id: Id) -> Answer:
    """Leave out the step that a run waits for."""
    return after(options, lambda runs: runs.skip(id, by=PERSON))


def resume(options: Options, id: Id, set_: Values = None, redo: Redo = False) -> Answer:
    """Go on with a run that was interrupted, asks for a value, or does not know whether a step was done."""
    if redo:
        return after(options, lambda runs: runs.redo(id, by=PERSON))
    return after(options, lambda runs: runs.resume(id, pairs(set_), by=PERSON))


def abandon(options: Options, id: Id) -> Answer:
    """End a run where it is; nothing is taken back."""
    return after(options, lambda runs: runs.abandon(id, by=PERSON))


def show(options: Options, id: Id) -> Answer:
    """Show how a run stands, step by step."""
    return after(options, lambda runs: runs.get(id), in_full=True)


def list_(options: Options, name: Of = None, open_: Open = False) -> Answer:
    """List the runs, the latest first."""
    with options.memory() as memory:
        found = memory.runs.list(name, open_only=open_)
    rows = [(run.id, run.procedure, f"{run.began:%Y-%m-%d %H:%M}", run.state) for run in found]
    columns = ("run", "procedure", "began", "state")
    return Answer({"runs": [*map(documents.run, found)]}, lambda screen: screen.table(columns, rows, wide="procedure"))


def stats(options: Options, name: Name) -> Answer:
    """Show how well a procedure works, and what its runs show about its steps."""
    from memfolio.procedures.run import findings, measure

    with options.memory() as memory:
        procedure = memory.procedures.get(name)
        runs = memory.runs.list(procedure.name)
        seen, found = measure(runs, memory.vault.config.procedures.window), findings(procedure, runs)

    rate = "" if seen.success_rate is None else f" ({seen.success_rate:.0%}), {seen.average_seconds:g} s on average"
    lines = [
        f"{seen.succeeded} of the latest {seen.runs} runs went well{rate}",
        *(f"version {version}: {good} of {count}" for version, (count, good) in seen.versions.items()),
        *(f"failed at step {step}: {count}" for step, count in seen.failing_steps.items()),
        *(f"{each.kind}: {each.text} (up to {each.seconds:g} s a run)" for each in found),
    ]
    return Answer(documents.fields_of(seen) | {"findings": found}, lambda screen: screen.say("\n".join(lines)))


def after(options: Options, act: Callable[[Runs], Run], *, in_full: bool = False) -> Answer:
    """How a run stands after something was done about it."""
    with options.memory() as memory:
        run = act(memory.runs)

    def draw(screen: Screen) -> None:
        state = f"{run.state}: {run.error}" if run.error else run.state
        screen.say(f"{run.id}  {run.procedure} {run.version}: {state}", "bold")
        for step in run.steps if in_full else ():
            went = [each for key, each in run.tried.items() if key.partition(":")[0] == str(step.number)]
            screen.say(f"{step.number:>3}. {step.text}  [{', '.join(each.outcome or 'open' for each in went)}]")
        if waits := run.waiting:
            told = {f"Step {waits.step} of {len(run.steps)}": waits.text, "Expect": waits.expect}
            told |= {"Needs": ", ".join(waits.names), **run.errors}
            screen.say("\n".join(f"{label}: {each}" for label, each in told.items() if each))

    return Answer(documents.run(run), draw)


def pairs(given: list[str] | None) -> dict[str, Any]:
    """The values of `key=value` texts."""
    values: dict[str, Any] = {}
    for each in given or ():
        name, sign, value = each.partition("=")
        if not (sign and name.strip()):
            raise InputError(f"{each[:40]!r} is no value", hint="write it like --set urgent=yes")
        values[name.strip()] = read(value)
    return values


def read(text: str) -> Any:
    """JSON where a text is JSON, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


list_.__name__ = "list"
WORKFLOW = (
    Command(start, "workflow start how-to-deploy --set urgent=yes"),
    Command(done, "workflow done X-1763217005123-5f2c91ab"),
    Command(failed, 'workflow failed X-1763217005123-5f2c91ab --error "no space left"'),
    Command(skip, "workflow skip X-1763217005123-5f2c91ab"),
    Command(resume, "workflow resume X-1763217005123-5f2c91ab --set urgent=yes"),
    Command(abandon, "workflow abandon X-1763217005123-5f2c91ab"),
    Command(show, "workflow show X-1763217005123-5f2c91ab"),
    Command(list_, "workflow list --open"),
    Command(stats, "workflow stats how-to-deploy"),
)
app = group("workflow", WORKFLOW)
