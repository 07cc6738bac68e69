"""The command `case` with what is below it: what was done before in situations like this, and how it went."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Command, DryRun, Options, group, read_text
from memfolio.serve.cli.output import Screen, as_json, fields_of

if TYPE_CHECKING:
    from memfolio.knowledge.case import Case
    from memfolio.knowledge.cases import Cases
    from memfolio.memory import Memory

Id = Annotated[str, typer.Argument(metavar="ID", help="The case.", show_default=False)]
Json = Annotated[
    str, typer.Argument(metavar="JSON", help="Its situation, solution and outcome; - reads it from standard input.")
]
Context = Annotated[str | None, typer.Argument(metavar="CONTEXT", help="The situation in words.", show_default=False)]
Beliefs = Annotated[list[str] | None, typer.Option("--belief", metavar="ID", help="What is believed; may be repeated.")]
Desires = Annotated[list[str] | None, typer.Option("--desire", metavar="ID", help="What is wanted; may be repeated.")]
Told = Annotated[str | None, typer.Option("--context", metavar="TEXT", help="The situation in words.")]
Plan = Annotated[str | None, typer.Option("--plan", metavar="ID", help="The plan that was followed.")]
Actions = Annotated[list[str] | None, typer.Option("--action", metavar="TEXT", help="What was done; may be repeated.")]
Success = Annotated[bool | None, typer.Option("--success/--failed", help="How it went.", show_default=False)]
Lessons = Annotated[str | None, typer.Option("--lessons", metavar="TEXT", help="What was learned.")]
Importance = Annotated[float | None, typer.Option("--importance", metavar="N", help="0 to 1, else 0.5.")]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.")]
NOTHING: dict[str, Any] = {"situation": {}, "solution": {}, "outcome": {}}


def store(
    options: Options,
    document: Json = "{}",
    belief: Beliefs = None,
    desire: Desires = None,
    context: Told = None,
    plan: Plan = None,
    action: Actions = None,
    success: Success = None,
    lessons: Lessons = None,
    importance: Importance = None,
    dry_run: DryRun = False,
) -> Answer:
    """Keep how something was solved; the same solution of the same situation is counted as a further use."""
    situation = {"beliefs": belief, "desires": desire, "context": context}
    given = read(document, situation, {"plan_id": plan, "actions": action}, {"success": success, "lessons": lessons})
    given |= {} if importance is None else {"importance": importance}
    with options.memory() as memory:
        case = cases_of(memory).store(**{**NOTHING, **given}, by=PERSON, dry_run=dry_run)
    return told(case, "would be kept" if dry_run else "is kept")


def retrieve(
    options: Options, context: Context = None, belief: Beliefs = None, desire: Desires = None, limit: Limit = 5
) -> Answer:
    """Find the cases most like a situation, by what is believed and wanted, and by its words."""
    with options.memory() as memory:
        found = cases_of(memory).retrieve(belief or (), desire or (), read_text(context or ""), limit=limit)
    hits = [fields_of(each) | {"case": shown(each.case), "warning": each.is_warning, "why": each.why} for each in found]

    def draw(screen: Screen) -> None:
        for each in found:
            screen.say(f"{each.score:.2f}  {each.case.id}  {summary(each.case)}", "yellow" if each.is_warning else "")
            screen.say(f"      {'; '.join(each.why)}", "dim")
        if not found:
            screen.say("No case is like this.")

    return Answer({"cases": hits}, draw)


def show(options: Options, id: Id) -> Answer:
    """Show a case in full, with every line about it."""
    with options.memory() as memory:
        case, lines = cases_of(memory).get(id), cases_of(memory).history(id)
    document = shown(case) | {"history": list(lines)}
    return Answer(document, lambda screen: screen.say(as_json(document)))


def list_(options: Options) -> Answer:
    """List the cases, the latest used first, and the lines that make no sense."""
    with options.memory() as memory:
        cases = cases_of(memory)
        found, problems = cases.list(), cases.problems()
    rows = [(each.id, f"{each.successes}/{each.uses}", f"{each.importance:.2f}", summary(each)) for each in found]

    def draw(screen: Screen) -> None:
        screen.table(("id", "worked", "importance", "case"), rows, wide="case")
        for problem in problems:
            screen.say(f"passed over: {problem}", "yellow")

    return Answer({"cases": [*map(shown, found)], "problems": [*problems]}, draw)


def revise(options: Options, id: Id, document: Json, dry_run: DryRun = False) -> Answer:
    """Adapt a case: what is given is changed, all else stays, and what it was before is kept in its history."""
    with options.memory() as memory:
        case = cases_of(memory).revise(id, **read(document), by=PERSON, dry_run=dry_run)
    return told(case, "would be revised" if dry_run else "is revised")


def retain(
    options: Options, id: Id, success: Success = None, lessons: Lessons = None, dry_run: DryRun = False
) -> Answer:
    """Note how a further use of a case went."""
    outcome = {"success": success, "lessons": lessons}
    with options.memory() as memory:
        case = cases_of(memory).retain(id, outcome, by=PERSON, dry_run=dry_run)
    return told(case, "would be noted" if dry_run else "is noted")


def delete(options: Options, id: Id, dry_run: DryRun = False) -> Answer:
    """Take a case out; `memfolio undo` brings it back."""
    with options.memory() as memory:
        case = cases_of(memory).delete(id, by=PERSON, dry_run=dry_run)
    return told(case, "would be deleted" if dry_run else "is deleted")


def read(document: str, *parts: Mapping[str, Any]) -> dict[str, Any]:
    """A document with what options say of its parts, which counts before."""
    try:
        given = json.loads(read_text(document))
    except (ValueError, RecursionError) as error:
        raise InputError(f"the case is no JSON: {str(error)[:80]}", hint="check it, or use the options") from error
    known = ("situation", "solution", "outcome", "importance", "origin")
    if not isinstance(given, dict) or not set(given) <= set(known):
        raise InputError("this is no object with the parts of a case", hint=f"use {', '.join(known)}")
    for name, part in zip(known, parts, strict=False):
        named = {key: value for key, value in part.items() if value is not None}
        if named and isinstance(given.setdefault(name, {}), dict):
            given[name] |= named
    return given


def told(case: Case, done: str) -> Answer:
    line = f"{case.id or 'It'} {done}: {summary(case)} (worked {case.successes} of {case.uses} times)"
    return Answer(shown(case), lambda screen: screen.say(line, "bold"))


def summary(case: Case) -> str:
    at, done = case.situation, case.solution
    return f"{at.context or ', '.join((*at.beliefs, *at.desires))} → {', '.join(done.actions) or done.plan_id}"


def shown(case: Case) -> dict[str, Any]:
    """A case as a document."""
    from memfolio.knowledge.case import PARTS

    return fields_of(case) | {name: fields_of(getattr(case, name)) for name in PARTS}


def cases_of(memory: Memory) -> Cases:
    from memfolio.knowledge.cases import Cases

    return Cases(memory.vault, memory.library, memory.agent)


list_.__name__ = "list"
CASE = (
    Command(store, 'case store --context "The build fails" --action "revert the merge" --success'),
    Command(retrieve, 'case retrieve "the build is broken" --belief B-1 --desire D-1'),
    Command(show, "case show C-1763217005123-5f2c91ab"),
    Command(list_, "case list"),
    Command(revise, 'case revise C-1763217005123-5f2c91ab \'{"solution": {"actions": ["ask", "revert"]}}\''),
    Command(retain, 'case retain C-1763217005123-5f2c91ab --failed --lessons "the cache was stale"'),
    Command(delete, "case delete C-1763217005123-5f2c91ab"),
)
app = group("case", CASE, help="Cases: what was done before in situations like this, and how it went.")
