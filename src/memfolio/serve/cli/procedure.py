"""The commands below `procedure` and `workflow`: what an agent knows how to do, and doing it step by step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, read_text
from memfolio.serve.cli.derive import Text, makes_home
from memfolio.serve.cli.output import Line, fields_of, table, yellow
from memfolio.verbs import documents

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.procedures.procedure import Procedure
    from memfolio.procedures.run import Run


def procedure_list(memory: Memory, retired: bool = False) -> Answer:
    found, problems = memory.procedures.list(retired=retired), memory.procedures.problems()
    rows = [(each.name, each.form.value, each.version, "; ".join(each.triggers) or each.title) for each in found]
    shown = table(("name", "type", "version", "when"), rows, wide="when")
    return Answer({"procedures": [*map(fields_of, found)], "problems": problems}, [shown, *yellow(problems)])


def procedure_show(memory: Memory, name: str) -> Answer:
    from memfolio.procedures.page import render

    found, forgotten = memory.procedures.get(name), memory.procedures.forgotten(name)
    notes = [f"{each} was forgotten; its words stay here until the page is edited" for each in forgotten]
    return Answer({**fields_of(found), "forgotten": forgotten}, [render(found).rstrip("\n"), *found.problems, *notes])


@makes_home
def procedure_add(
    memory: Memory,
    title: str,
    step: list[str] | None = None,
    tree: Text | None = None,
    trigger: list[str] | None = None,
    type: str | None = None,
    dry_run: bool = False,
) -> Answer:
    form = type or ("decision" if tree else "skill")
    made = memory.procedures.add(title, **_parts(step, tree, trigger), form=form, by=PERSON, dry_run=dry_run)
    return _made(made, "made", dry_run=dry_run)


def procedure_update(
    memory: Memory,
    name: str,
    *,
    reason: str,
    kind: str = "adaptation",
    step: list[str] | None = None,
    tree: Text | None = None,
    trigger: list[str] | None = None,
    dry_run: bool = False,
) -> Answer:
    given = _parts(step, tree, trigger)
    made = memory.procedures.update(name, reason=reason, kind=kind, **given, by=PERSON, dry_run=dry_run)
    return _made(made, f"changed to version {made.version}", dry_run=dry_run)


def procedure_match(memory: Memory, text: Text, limit: int = 5) -> Answer:
    found = memory.procedures.match(text, limit)
    lines = [f"{each.score:.2f}  {each.procedure.name}  ({'; '.join(each.why)})" for each in found]
    hits = [{"name": each.procedure.name, "score": each.score, "why": each.why} for each in found]
    return Answer({"procedures": hits}, lines or "No procedure is meant by this.")


def procedure_decide(memory: Memory, name: str, answers: list[str] | None = None, /) -> Answer:
    given = answers or []
    named = dict(each.split("=", 1) for each in given) if given and all("=" in each[1:] for each in given) else None
    found = memory.procedures.decide(name, given if named is None else named)
    lines = [f"{each.question} {each.answer}" for each in found.path]
    lines += [found.conclusion or f"{found.question} ({', '.join(found.answers)})", *filter(None, [found.unfit])]
    return Answer(fields_of(found), lines)


def procedure_retire(memory: Memory, name: str, *, reason: str, dry_run: bool = False) -> Answer:
    return _made(memory.procedures.retire(name, reason, by=PERSON, dry_run=dry_run), "retired", dry_run=dry_run)


def procedure_restore(memory: Memory, name: str, dry_run: bool = False) -> Answer:
    return _made(memory.procedures.restore(name, by=PERSON, dry_run=dry_run), "in use again", dry_run=dry_run)


def procedure_learn(memory: Memory, dry_run: bool = False) -> Answer:
    found = memory.procedures.learn(by=PERSON, dry_run=dry_run)
    done = "would be " if dry_run else ""
    lines = [f"{each.procedure.name}: {done}{'refined' if each.before else 'learned'}, {each.why}" for each in found]
    lessons = [{"name": each.procedure.name, "refined": each.before is not None, "why": each.why} for each in found]
    return Answer({"learned": lessons}, lines or "There is nothing to learn.")


def _parts(step: list[str] | None, tree: str | None, trigger: list[str] | None) -> dict[str, Any]:
    """What was given of a procedure."""
    return {"steps": read_text("-") if step == ["-"] else step, "tree": tree or None, "triggers": trigger}


def _made(made: Procedure, done: str, *, dry_run: bool) -> Answer:
    return Answer(fields_of(made), f"{made.name} {'would be' if dry_run else 'is'} {done}.")


def workflow_start(memory: Memory, name: str, set_: list[str] | None = None) -> Answer:
    return _run(memory.runs.run(name, _values(set_), checklist=True, by=PERSON))


def workflow_done(memory: Memory, id: str, result: str | None = None) -> Answer:
    return _run(memory.runs.done(id, result=_value(result) if result else None, by=PERSON))


def workflow_failed(memory: Memory, id: str, error: str = "") -> Answer:
    return _run(memory.runs.done(id, ok=False, error=error, by=PERSON))


def workflow_skip(memory: Memory, id: str) -> Answer:
    return _run(memory.runs.skip(id, by=PERSON))


def workflow_resume(memory: Memory, id: str, set_: list[str] | None = None, redo: bool = False) -> Answer:
    runs = memory.runs
    return _run(runs.redo(id, by=PERSON) if redo else runs.resume(id, _values(set_), by=PERSON))


def workflow_abandon(memory: Memory, id: str) -> Answer:
    return _run(memory.runs.abandon(id, by=PERSON))


def workflow_show(memory: Memory, id: str) -> Answer:
    return _run(memory.runs.get(id), in_full=True)


def workflow_list(memory: Memory, name: str | None = None, /, open_: bool = False) -> Answer:
    found = memory.runs.list(name, open_only=open_)
    rows = [(run.id, run.procedure, f"{run.began:%Y-%m-%d %H:%M}", run.state) for run in found]
    shown = table(("run", "procedure", "began", "state"), rows, wide="procedure")
    return Answer({"runs": [*map(documents.run, found)]}, shown)


def workflow_stats(memory: Memory, name: str) -> Answer:
    from memfolio.procedures.run import findings, measure

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
    return Answer(fields_of(seen) | {"findings": found}, lines)


def _run(run: Run, *, in_full: bool = False) -> Answer:
    """How a run stands."""
    return Answer(documents.run(run), list(_standing(run, in_full=in_full)))


def _standing(run: Run, *, in_full: bool) -> Iterator[Line]:
    state = f"{run.state}: {run.error}" if run.error else run.state
    yield f"{run.id}  {run.procedure} {run.version}: {state}", "bold"
    for step in run.steps if in_full else ():
        went = [each for key, each in run.tried.items() if key.partition(":")[0] == str(step.number)]
        yield f"{step.number:>3}. {step.text}  [{', '.join(each.outcome or 'open' for each in went)}]"
    if waits := run.waiting:
        parts = {f"Step {waits.step} of {len(run.steps)}": waits.text, "Expect": waits.expect}
        parts |= {"Needs": ", ".join(waits.names), **run.errors}
        yield from (f"{label}: {each}" for label, each in parts.items() if each)


def _values(given: list[str] | None) -> dict[str, Any]:
    """The values of `key=value` texts."""
    values: dict[str, Any] = {}
    for each in given or ():
        name, sign, value = each.partition("=")
        if not (sign and name.strip()):
            raise InputError(f"{each[:40]!r} is no value", hint="write it like --set urgent=yes")
        values[name.strip()] = _value(value)
    return values


def _value(text: str) -> Any:
    """JSON where a text is JSON, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
