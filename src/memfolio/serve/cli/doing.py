"""The commands about what is to be done, and by whom: mind, heartbeat, procedure, workflow, agent and token."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.index.mind_pages import KINDS, WANTED, MindItemKind, Value, show_value
from memfolio.serve.cli.call import PERSON, Answer
from memfolio.serve.cli.derive import Text
from memfolio.serve.cli.output import Line, Lines, Screen, document_of, fields_of
from memfolio.serve.cli.typed import read_values
from memfolio.verbs.documents import mind_item

if TYPE_CHECKING:
    from memfolio.index.mind_pages import MindItem
    from memfolio.memory import Memory
    from memfolio.procedures.learn import ProcedureChange
    from memfolio.procedures.page import TreeDecision
    from memfolio.procedures.procedure import Procedure
    from memfolio.procedures.runs import Run
    from memfolio.serve.tokens import Tokens

# What the agent believes, wants and has taken on.


def adding(kind: MindItemKind) -> Callable[..., Answer]:
    """The command for a verb, with an option for each field of its kind; a persona has nothing but fields."""
    is_persona = kind.verb == "be"

    def run(memory: Memory, dry_run: bool = False, **given: Any) -> Answer:
        given = {name: value for name, value in given.items() if value is not None}
        add = memory.mind.be if is_persona else partial(memory.mind.add, kind, given.pop("text"))
        return Answer(mind_item(add(**given, by=PERSON, dry_run=dry_run)))

    asked: dict[str, Any] = {} if is_persona else {"text": Text, "title": str | None}
    asked |= {f"{name}_": _field(name, value) for name, value in kind.fields.items()} | {"dry_run": bool}
    defaults: dict[str, Any] = {"text": inspect.Parameter.empty, "dry_run": False}
    parameters = [
        inspect.Parameter(
            name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=defaults.get(name), annotation=annotation
        )
        for name, annotation in asked.items()
    ]
    memory = inspect.Parameter("memory", inspect.Parameter.POSITIONAL_ONLY)
    run.__signature__ = inspect.Signature([memory, *parameters])  # type: ignore[attr-defined]
    return run


def _field(name: str, value: Value) -> Any:
    flags = ("--deadline", "--by") if name == "deadline" else (f"--{name}",)
    if value is Value.NAMES:
        meaning = "An id, or a title in the mind; may be repeated."
        return Annotated[list[str] | None, typer.Option(*flags, metavar="ID", help=meaning)]
    wanted = "a time, or a topic that brings it up" if name == "when" else WANTED[value]
    return Annotated[str | None, typer.Option(*flags, metavar="VALUE", help=f"{wanted[0].upper()}{wanted[1:]}.")]


MADE = {f"mind {kind.verb}": adding(kind) for kind in KINDS}


def mind_show(item: MindItem, memory: Memory) -> Answer:
    links, path, zone = memory.mind.links(item), memory.mind.path(item.kind), memory.vault.home.zone
    plain = {name: value for name, value in item.fields.items() if name not in item.kind.links}
    lines = [f"{item.title}  {item.id}", *filter(None, [item.text])]
    lines += [f"{name:<10} {show_value(value, zone, name)}" for name, value in plain.items()]
    for link in links:
        state = f" ({link.why_not})" if link.why_not else ""
        lines.append(f"{link.field:<10} {link.id}{state}  {link.says}".rstrip())
    tied = [asdict(link) | {"holds": link.holds} for link in links]
    document = mind_item(item) | {"path": path, "links": tied}
    return Answer(document, [*lines, *item.problems, f"{path}:{item.line}"])


# What the agent knows how to do, and doing it step by step.


def procedure_show(found: Procedure, memory: Memory) -> Answer:
    from memfolio.procedures.page import render

    forgotten = memory.procedures.forgotten(found.name)
    notes = [f"{each} was forgotten; its words stay here until the page is edited" for each in forgotten]
    return Answer({**fields_of(found), "forgotten": forgotten}, [render(found).rstrip("\n"), *found.problems, *notes])


def procedure_decide(found: TreeDecision) -> Lines:
    lines = [f"{each.question} {each.answer}" for each in found.path]
    lines += [found.conclusion or f"{found.question} ({', '.join(found.answers)})"]
    return lines + ([found.unfit] if found.unfit else [])


def procedure_learn(found: Sequence[ProcedureChange]) -> Answer:
    lessons = [{"name": each.procedure.name, "refined": each.before is not None, "why": each.why} for each in found]
    return Answer({"learned": lessons})


def workflow_resume(memory: Memory, id: str, set_: list[str] | None = None, redo: bool = False) -> Answer:
    runs = memory.runs
    # To redo says that the step was not done, which only a person can know; to resume asks the run itself.
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
    return list(_standing(run))


def workflow_show(run: Run) -> Lines:
    return list(_standing(run, in_full=True))


def _standing(run: Run, *, in_full: bool = False) -> Iterator[Line]:
    state = f"{run.state}: {run.error}" if run.error else run.state
    yield f"{run.id}  {run.procedure} {run.version}: {state}", "bold"
    for step in run.steps if in_full else ():
        went = [each for key, each in run.tried.items() if key.partition(":")[0] == str(step.number)]
        yield f"{step.number:>3}. {step.text}  [{', '.join(each.outcome or 'open' for each in went)}]"
    if waits := run.waiting:
        parts = {f"Step {waits.step} of {len(run.steps)}": waits.text, "Expect": waits.expect}
        parts |= {"Needs": ", ".join(waits.names), **run.errors}
        yield from (f"{label}: {each}" for label, each in parts.items() if each)


# The agents of a home, and tokens for the server.


def token_create(memory: Memory, name: str, scope: str = "write", audience: str | None = None) -> Answer:
    now = memory.vault.home.now()
    token, secret = _tokens(memory).create(name, memory.agent, scope, now=now, audience=audience)

    def draw(screen: Screen) -> None:
        # The secret alone on standard output, so that it can be handed to another program.
        screen.say(secret)
        beside = f"{token.id} lets {token.agent} {token.scope}; keep it: it is not shown again"
        Screen(errors=True).say(beside, "yellow")

    return Answer(fields_of(token) | {"secret": secret}, draw)


def token_list(memory: Memory) -> Answer:
    return Answer({"tokens": [*map(fields_of, _tokens(memory).all())]})


def token_revoke(memory: Memory, id: str) -> Answer:
    return Answer(fields_of(_tokens(memory).revoke(id, now=memory.vault.home.now())))


def _tokens(memory: Memory) -> Tokens:
    from memfolio.serve.tokens import Tokens

    return Tokens(memory.vault.home)
