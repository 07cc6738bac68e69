"""The command `workflow` with what is below it: procedures done step by step as a checklist, and how they went."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.output import Screen
from memfolio.verbs import documents

if TYPE_CHECKING:
    from memfolio.procedures.run import Run
    from memfolio.procedures.runs import Runs


def workflow_start(options: Options, name: str, set_: list[str] | None = None) -> Answer:
    return after(options, lambda runs: runs.run(name, pairs(set_), checklist=True, by=PERSON))


def workflow_done(options: Options, id: str, result: str | None = None) -> Answer:
    return after(options, lambda runs: runs.done(id, result=read(result) if result else None, by=PERSON))


def workflow_failed(options: Options, id: str, error: str = "") -> Answer:
    return after(options, lambda runs: runs.done(id, ok=False, error=error, by=PERSON))


def workflow_skip(options: Options, id: str) -> Answer:
    return after(options, lambda runs: runs.skip(id, by=PERSON))


def workflow_resume(options: Options, id: str, set_: list[str] | None = None, redo: bool = False) -> Answer:
    if redo:
        return after(options, lambda runs: runs.redo(id, by=PERSON))
    return after(options, lambda runs: runs.resume(id, pairs(set_), by=PERSON))


def workflow_abandon(options: Options, id: str) -> Answer:
    return after(options, lambda runs: runs.abandon(id, by=PERSON))


def workflow_show(options: Options, id: str) -> Answer:
    return after(options, lambda runs: runs.get(id), in_full=True)


def workflow_list(options: Options, name: str | None = None, /, open_: bool = False) -> Answer:
    with options.memory() as memory:
        found = memory.runs.list(name, open_only=open_)
    rows = [(run.id, run.procedure, f"{run.began:%Y-%m-%d %H:%M}", run.state) for run in found]
    columns = ("run", "procedure", "began", "state")
    return Answer({"runs": [*map(documents.run, found)]}, lambda screen: screen.table(columns, rows, wide="procedure"))


def workflow_stats(options: Options, name: str) -> Answer:
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
