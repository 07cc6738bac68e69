"""The command `case` with what is below it: what was done before in situations like this, and how it went."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Options, in_empty_folder, read_text
from memfolio.serve.cli.output import Screen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from memfolio.knowledge.cases import Case

PARTS = ("situation", "solution", "outcome")


def case_store(
    options: Options,
    document: str = "{}",
    /,
    belief: list[str] | None = None,
    desire: list[str] | None = None,
    context: str | None = None,
    plan: str | None = None,
    action: list[str] | None = None,
    success: bool | None = None,
    lessons: str | None = None,
    importance: float | None = None,
    dry_run: bool = False,
) -> Answer:
    given, solution = read(document), {"plan_id": plan, "actions": action}
    situation = {"beliefs": belief, "desires": desire, "context": context}
    for name, part in zip(PARTS, (situation, solution, outcome(success, lessons)), strict=True):
        if isinstance(given.setdefault(name, {}), dict):
            given[name] |= {key: value for key, value in part.items() if value is not None}
    given |= {} if importance is None else {"importance": importance}
    with options.memory(create=in_empty_folder) as memory:
        case = memory.cases.store(**given, by=PERSON, dry_run=dry_run)
    return told(case, "kept", dry_run=dry_run)


def case_retrieve(
    options: Options,
    context: str | None = None,
    /,
    belief: list[str] | None = None,
    desire: list[str] | None = None,
    limit: int = 5,
) -> Answer:
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


def case_show(options: Options, id: str) -> Answer:
    with options.memory() as memory:
        case, history = memory.cases.get(id), memory.cases.history(id)
    lines = "\n".join(described(case, history))
    return Answer(asdict(case) | {"history": history}, lambda screen: screen.say(lines))


def case_list(options: Options) -> Answer:
    with options.memory() as memory:
        found, problems = memory.cases.list(), memory.cases.problems()
    rows = [(each.id, f"{each.successes}/{each.uses}", f"{each.importance:.2f}", summary(each)) for each in found]

    def draw(screen: Screen) -> None:
        screen.table(("id", "worked", "importance", "case"), rows, wide="case")
        for problem in problems:
            screen.say(f"passed over: {problem}", "yellow")

    return Answer({"cases": [*map(asdict, found)], "problems": problems}, draw)


def case_revise(options: Options, id: str, document: str, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        case = memory.cases.revise(id, **read(document), by=PERSON, dry_run=dry_run)
    return told(case, "revised", dry_run=dry_run)


def case_retain(
    options: Options, id: str, success: bool | None = None, lessons: str | None = None, dry_run: bool = False
) -> Answer:
    with options.memory() as memory:
        case = memory.cases.retain(id, outcome(success, lessons), by=PERSON, dry_run=dry_run)
    return told(case, "noted", dry_run=dry_run)


def case_delete(options: Options, id: str, dry_run: bool = False) -> Answer:
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
