"""The command `case` with what is below it: what was done before in situations like this, and how it went."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Command, DryRun, Options, group, in_empty_folder, read_text
from memfolio.serve.cli.output import Screen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from memfolio.knowledge.cases import Case

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
PARTS = ("situation", "solution", "outcome")


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
    given, solution = read(document), {"plan_id": plan, "actions": action}
    situation = {"beliefs": belief, "desires": desire, "context": context}
    for name, part in zip(PARTS, (situation, solution, outcome(success, lessons)), strict=True):
        if isinstance(given.setdefault(name, {}), dict):
            given[name] |= {key: value for key, value in part.items() if value is not None}
    given |= {} if importance is None else {"importance": importance}
    with options.memory(create=in_empty_folder) as memory:
        case = memory.cases.store(**given, by=PERSON, dry_run=dry_run)
    return told(case, "kept", dry_run=dry_run)


def retrieve(
    options: Options, context: Context = None, belief: Beliefs = None, desire: Desires = None, limit: Limit = 5
) -> Answer:
    """Find the cases most like a situation, by what is believed and wanted, and by its words."""
    with options.memory() as memory:
        found = memory.cases.retrieve(belief or (), desire or (), read_text(context or ""), limit=limit)
    hits = [asdict(each) | {"warning": each.is_warning, "why": each.why} for each in found]

    def draw(screen: Screen) -> None:
        options.tell(found.degraded)
        for each in found:
            screen.say(f"{each.score:.2f}  {each.case.id}  {summary(each.case)}", "yellow" if each.is_warning else "")
            screen.say(f"      {'; '.join(each.why)}", "dim")
        if not found:
            screen.say("No case is like this.")

    return Answer({"cases": hits, "degraded": found.degraded}, draw)


def show(options: Options, id: Id) -> Answer:
    """Show a case in full, with every line about it."""
    with options.memory() as memory:
        case, history = memory.cases.get(id), memory.cases.history(id)
    lines = "\n".join(described(case, history))
    return Answer(asdict(case) | {"history": history}, lambda screen: screen.say(lines))


def list_(options: Options) -> Answer:
    """List the cases, the latest used first, and the lines that make no sense."""
    with options.memory() as memory:
        found, problems = memory.cases.list(), memory.cases.problems()
    rows = [(each.id, f"{each.successes}/{each.uses}", f"{each.importance:.2f}", summary(each)) for each in found]

    def draw(screen: Screen) -> None:
        screen.table(("id", "worked", "importance", "case"), rows, wide="case")
        for problem in problems:
            screen.say(f"passed over: {problem}", "yellow")

    return Answer({"cases": [*map(asdict, found)], "problems": problems}, draw)


def revise(options: Options, id: Id, document: Json, dry_run: DryRun = False) -> Answer:
    """Adapt a case: what is given is changed, all else stays, and what it was before is kept in its history."""
    with options.memory() as memory:
        case = memory.cases.revise(id, **read(document), by=PERSON, dry_run=dry_run)
    return told(case, "revised", dry_run=dry_run)


def retain(
    options: Options, id: Id, success: Success = None, lessons: Lessons = None, dry_run: DryRun = False
) -> Answer:
    """Note how a further use of a case went."""
    with options.memory() as memory:
        case = memory.cases.retain(id, outcome(success, lessons), by=PERSON, dry_run=dry_run)
    return told(case, "noted", dry_run=dry_run)


def delete(options: Options, id: Id, dry_run: DryRun = False) -> Answer:
    """Take a case out; `memfolio undo` brings it back."""
    with options.memory() as memory:
        case = memory.cases.delete(id, by=PERSON, dry_run=dry_run)
    return told(case, "deleted", dry_run=dry_run)


def read(document: str) -> dict[str, Any]:
    """The parts of a case that a document has."""
    try:
        given = json.loads(read_text(document))
    except (ValueError, RecursionError) as error:
        raise InputError(f"the case is no JSON: {str(error)[:80]}", hint="check it, or use the options") from error
    known = (*PARTS, "importance")
    if not isinstance(given, dict) or not set(given) <= set(known):
        raise InputError("this is no object with the parts of a case", hint=f"use {', '.join(known)}")
    return given


def outcome(success: bool | None, lessons: str | None) -> dict[str, Any]:
    return {"success": success, "lessons": lessons}


def told(case: Case, done: str, *, dry_run: bool) -> Answer:
    verb = f"would be {done}" if dry_run else f"is {done}"
    line = f"{case.id or 'It'} {verb}: {summary(case)} (worked {case.successes} of {case.uses} times)"
    return Answer(asdict(case), lambda screen: screen.say(line, "bold"))


def described(case: Case, history: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What a person may want to know of a case, part by part, and what was done to it when."""
    at, done, went = case.situation, case.solution, case.outcome
    parts = [
        ("case", case.id),
        ("context", at.context),
        ("beliefs", ", ".join(at.beliefs)),
        ("desires", ", ".join(at.desires)),
        ("plan", done.plan_id),
        *(("action", each) for each in done.actions),
        (
            "went",
            f"{'well' if went.success else 'badly'}, the latest time; worked {case.successes} of {case.uses} times",
        ),
        ("metrics", ", ".join(f"{name} {value:g}" for name, value in went.metrics.items())),
        *(("lesson", each) for each in went.lessons.splitlines()),
        ("importance", f"{case.importance:g}"),
        ("origin", case.origin),
        *((str(line.get("op", "store")), f"{str(line.get('at', ''))[:16]}  {line.get('id', '')}") for line in history),
    ]
    return (f"{name:<10} {value}" for name, value in parts if value)


def summary(case: Case) -> str:
    at, done = case.situation, case.solution
    return f"{at.context or ', '.join((*at.beliefs, *at.desires))} → {', '.join(done.actions) or done.plan_id}"


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
app = group("case", CASE)
