"""The commands below `procedure` and `workflow`: an agent's procedures, and running them step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from memfolio.serve.cli.call import PERSON, Answer, read_text
from memfolio.serve.cli.derive import Text
from memfolio.serve.cli.output import Line, Lines, document_of, fields_of
from memfolio.serve.cli.typed import read_values

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.procedures.page import Procedure, TreeDecision
    from memfolio.procedures.procedures import ProcedureChange, ProcedureMatch
    from memfolio.procedures.runs import Run


def procedure_show(found: Procedure, memory: Memory) -> Answer:
    from memfolio.procedures.page import render

    forgotten = memory.procedures.forgotten(found.name)
    notes = [f"{each} was forgotten; its words stay here until the page is edited" for each in forgotten]
    return Answer({**fields_of(found), "forgotten": forgotten}, [render(found).rstrip("\n"), *found.problems, *notes])


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
    return Answer(fields_of(made))


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
    return Answer(fields_of(made))


def procedure_match(found: Sequence[ProcedureMatch]) -> Answer:
    return Answer(
        {"procedures": [{"name": each.procedure.name, "score": each.score, "why": each.why} for each in found]}
    )


def procedure_decide(found: TreeDecision) -> Lines:
    lines = [f"{each.question} {each.answer}" for each in found.path]
    lines += [found.conclusion or f"{found.question} ({', '.join(found.answers)})"]
    return lines + ([found.unfit] if found.unfit else [])


def procedure_learn(found: Sequence[ProcedureChange]) -> Answer:
    lessons = [{"name": each.procedure.name, "refined": each.before is not None, "why": each.why} for each in found]
    return Answer({"learned": lessons})


def _parts(step: list[str] | None, tree: str | None, trigger: list[str] | None) -> dict[str, Any]:
    """Return the given parts of a procedure."""
    return {"steps": read_text("-") if step == ["-"] else step, "tree": tree or None, "triggers": trigger}


def workflow_resume(memory: Memory, id: str, set_: list[str] | None = None, redo: bool = False) -> Answer:
    runs = memory.runs
    run = runs.redo(id, by=PERSON) if redo else runs.resume(id, read_values(set_ or ()), by=PERSON)
    return Answer(document_of(run), workflow_run(run))


def workflow_stats(memory: Memory, name: str) -> Answer:
    from memfolio.procedures.runs import findings, measure

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


def workflow_run(run: Run) -> Lines:
    """Show the state of a run."""
    return list(_standing(run, in_full=False))


def workflow_show(run: Run) -> Lines:
    return list(_standing(run, in_full=True))


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
