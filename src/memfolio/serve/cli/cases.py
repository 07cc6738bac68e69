"""The commands below `case` and `reason`: what was done in situations like this, and thinking a problem through."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Options, read_text
from memfolio.serve.cli.derive import Text, makes_home
from memfolio.serve.cli.output import Line, fields_of, note, table, yellow

if TYPE_CHECKING:
    from memfolio.knowledge.cases import Case
    from memfolio.memory import Memory
    from memfolio.reason.reason import Reasoned

PARTS = ("situation", "solution", "outcome")


@makes_home
def case_store(
    memory: Memory,
    document: Text = "{}",
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
    given, solution = _read_case(document), {"plan_id": plan, "actions": action}
    situation, outcome = {"beliefs": belief, "desires": desire, "context": context}, _outcome(success, lessons)
    for name, part in zip(PARTS, (situation, solution, outcome), strict=True):
        if isinstance(given.setdefault(name, {}), dict):
            given[name] |= {key: value for key, value in part.items() if value is not None}
    given |= {} if importance is None else {"importance": importance}
    return _case(memory.cases.store(**given, by=PERSON, dry_run=dry_run), "kept", dry_run=dry_run)


def case_retrieve(
    memory: Memory,
    context: Text | None = None,
    /,
    belief: list[str] | None = None,
    desire: list[str] | None = None,
    limit: int = 5,
) -> Answer:
    found = memory.cases.retrieve(belief or (), desire or (), context or "", limit=limit)
    lines: list[Line] = list(map(note, found.degraded))
    for each in found:
        lines.append((f"{each.score:.2f}  {each.case.id}  {_summary(each.case)}", "yellow" if each.is_warning else ""))
        lines.append((f"      {'; '.join(each.why)}", "dim"))
    if not found:
        lines.append("No case is like this.")
    cases = [asdict(each) | {"warning": each.is_warning, "why": each.why} for each in found]
    return Answer({"cases": cases, "degraded": found.degraded}, lines)


def case_show(memory: Memory, id: str) -> Answer:
    case, history = memory.cases.get(id), memory.cases.history(id)
    return Answer(asdict(case) | {"history": history}, list(_described(case, history)))


def case_list(memory: Memory) -> Answer:
    found, problems = memory.cases.list(), memory.cases.problems()
    rows = [(each.id, f"{each.successes}/{each.uses}", f"{each.importance:.2f}", _summary(each)) for each in found]
    shown = table(("id", "worked", "importance", "case"), rows, wide="case")
    notes = yellow(f"passed over: {problem}" for problem in problems)
    return Answer({"cases": [*map(asdict, found)], "problems": problems}, [shown, *notes])


def case_revise(memory: Memory, id: str, document: Text, dry_run: bool = False) -> Answer:
    case = memory.cases.revise(id, **_read_case(document), by=PERSON, dry_run=dry_run)
    return _case(case, "revised", dry_run=dry_run)


def case_retain(
    memory: Memory, id: str, success: bool | None = None, lessons: str | None = None, dry_run: bool = False
) -> Answer:
    case = memory.cases.retain(id, _outcome(success, lessons), by=PERSON, dry_run=dry_run)
    return _case(case, "noted", dry_run=dry_run)


def case_delete(memory: Memory, id: str, dry_run: bool = False) -> Answer:
    return _case(memory.cases.delete(id, by=PERSON, dry_run=dry_run), "deleted", dry_run=dry_run)


def _read_case(document: str) -> dict[str, Any]:
    """The parts of a case that a document has."""
    try:
        given = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the case is no JSON: {str(error)[:80]}", hint="check it, or use the options") from error
    known = (*PARTS, "importance")
    if not isinstance(given, dict) or not set(given) <= set(known):
        raise InputError("this is no object with the parts of a case", hint=f"use {', '.join(known)}")
    return given


def _outcome(success: bool | None, lessons: str | None) -> dict[str, Any]:
    return {"success": success, "lessons": lessons}


def _case(case: Case, done: str, *, dry_run: bool) -> Answer:
    is_done = f"would be {done}" if dry_run else f"is {done}"
    line = f"{case.id or 'It'} {is_done}: {_summary(case)} (worked {case.successes} of {case.uses} times)"
    return Answer(asdict(case), (line, "bold"))


def _described(case: Case, history: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What a person may want to know of a case, part by part, and what was done to it when."""
    at, done, went = case.situation, case.solution, case.outcome
    how = f"{'well' if went.success else 'badly'}, the latest time; worked {case.successes} of {case.uses} times"
    parts = [
        ("case", case.id),
        ("context", at.context),
        ("beliefs", ", ".join(at.beliefs)),
        ("desires", ", ".join(at.desires)),
        ("plan", done.plan_id),
        *(("action", each) for each in done.actions),
        ("went", how),
        ("metrics", ", ".join(f"{name} {value:g}" for name, value in went.metrics.items())),
        *(("lesson", each) for each in went.lessons.splitlines()),
        ("importance", f"{case.importance:g}"),
        ("origin", case.origin),
        *((str(line.get("op", "store")), f"{str(line.get('at', ''))[:16]}  {line.get('id', '')}") for line in history),
    ]
    return (f"{name:<10} {value}" for name, value in parts if value)


def _summary(case: Case) -> str:
    at, done = case.situation, case.solution
    return f"{at.context or ', '.join((*at.beliefs, *at.desires))} → {', '.join(done.actions) or done.plan_id}"


def reason_ask(
    memory: Memory,
    problem: Text,
    method: str | None = None,
    given: str = "{}",
    uncertainty: str | None = None,
    complexity: str | None = None,
    domain: str | None = None,
    time_pressure: str | None = None,
    data: str | None = None,
    stakes: str | None = None,
    multi: bool = False,
    methods: str = "",
    limit: int = 3,
    store: bool = False,
) -> Answer:
    kind = {"uncertainty": uncertainty, "complexity": complexity, "domain": domain, "stakes": stakes}
    kind |= {"time_pressure": time_pressure, "data_availability": data}
    found = memory.reason(
        problem,
        method=method,
        given=_inputs(given),
        problem_classification=kind if any(kind.values()) else None,
        multi_method=multi,
        methods=[each.strip() for each in methods.split(",") if each.strip()],
        limit=limit,
        store=store,
        by=PERSON,
    )
    return Answer(fields_of(found), list(_reasoned(found)))


def reason_methods(options: Options) -> Answer:
    from memfolio.reason.registry import methods

    found = list(methods().values())
    rows = [(each.name, each.category, "yes" if each.computes else "", each.good_for) for each in found]
    return Answer({"methods": found}, table(("method", "category", "computes", "good for"), rows, wide="good for"))


def reason_show(options: Options, method: str) -> Answer:
    from memfolio.reason.registry import method_named

    found = method_named(method)
    lines = [f"{found.name} ({found.category}): {found.summary}", f"Good for {found.good_for}."]
    lines += [f"Computes from {found.wants}:"] if found.computes else []
    lines += [f"  {name}: {line}" for name, line in found.inputs.items()] + _numbered(found.steps)
    return Answer(fields_of(found), lines)


def reason_outcome(memory: Memory, id: str, *, true: bool) -> Answer:
    found = memory.reason.outcome(id, true, by=PERSON)
    line = f"{found.id} ({found.method}) {'came true' if true else 'did not come true'}"
    return Answer(fields_of(found), (line, "bold"))


def reason_calibration(memory: Memory) -> Answer:
    found = memory.reason.calibration()
    rows = [(name, each["count"], f"{each['brier']:.3f}", f"{each['bias']:+.2f}") for name, each in found.items()]
    none = "Of no judgement that says how sure it is an outcome is known."
    return Answer({"calibration": found}, table(("method", "judgements", "brier", "too sure by"), rows, none=none))


def _inputs(given: str) -> dict[str, Any]:
    """The inputs that are given as JSON, in a file or on standard input."""
    try:
        found: dict[str, Any] = json.loads(Path(given[1:]).read_text("utf-8") if given[:1] == "@" else read_text(given))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the inputs cannot be read: {str(error)[:80]}", hint="give a JSON object") from error
    return found


def _reasoned(found: Reasoned) -> Iterator[str]:
    """What came of a problem, for people."""
    if found.fusion:
        yield found.conclusion or "Nothing is concluded."
        yield from (f"agree: {each}" for each in found.fusion.agreements)
        yield from (f"contradict each other: {each}" for each in found.fusion.disagreements)
    for result in found.results:
        sure = "" if result.confidence is None else f" ({result.confidence:.0%} sure)"
        yield f"{result.method}: {result.conclusion or 'steps to work through'}{sure}"
        yield from _numbered(result.steps)
        yield from (f"  would change it: {each}" for each in result.would_change)
        yield from (f"  note: {each}" for each in result.notes)
    yield from (f"{name} could not be used: {why}" for name, why in found.failed.items())
    yield from (f"note: {each}" for each in found.notes)
    if found.judgement:
        yield f"kept as {found.judgement.memory}, judgement {found.judgement.id}"


def _numbered(steps: tuple[str, ...]) -> list[str]:
    return [f"  {number}. {step}" for number, step in enumerate(steps, 1)]
