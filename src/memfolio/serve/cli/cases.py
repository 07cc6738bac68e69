"""The commands below `case` and `reason`: similar past situations, and thinking a problem through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer, Options, read_text
from memfolio.serve.cli.derive import Text
from memfolio.serve.cli.output import fields_of

if TYPE_CHECKING:
    from memfolio.knowledge.cases import Case, Similar
    from memfolio.memory import Memory
    from memfolio.reason.reason import Reasoned

PARTS = {
    "situation": ("beliefs", "desires", "context"),
    "solution": ("plan_id", "actions"),
    "outcome": ("success", "lessons"),
}


def case_store(
    memory: Memory,
    document: Text = "{}",
    /,
    beliefs: list[str] | None = None,
    desires: list[str] | None = None,
    context: str | None = None,
    plan_id: str | None = None,
    actions: list[str] | None = None,
    success: bool | None = None,
    lessons: str | None = None,
    importance: float | None = None,
    dry_run: bool = False,
) -> Answer:
    typed, given = dict(locals()), _read_case(document)
    for part, names in PARTS.items():
        if isinstance(given.setdefault(part, {}), dict):
            given[part] |= {name: typed[name] for name in names if typed[name] is not None}
    given |= {} if importance is None else {"importance": importance}
    return Answer(fields_of(memory.cases.store(**given, by=PERSON, dry_run=dry_run)))


def case_retrieve(found: Similar) -> Answer:
    cases = [fields_of(each) | {"warning": each.is_warning, "why": each.why} for each in found]
    return Answer({"cases": cases, "degraded": found.degraded})


def case_show(case: Case, memory: Memory) -> Answer:
    return Answer(fields_of(case) | {"history": memory.cases.history(case.id)})


def case_revise(memory: Memory, id: str, document: Text, dry_run: bool = False) -> Answer:
    return Answer(fields_of(memory.cases.revise(id, **_read_case(document), by=PERSON, dry_run=dry_run)))


def case_retain(
    memory: Memory, id: str, success: bool | None = None, lessons: str | None = None, dry_run: bool = False
) -> Answer:
    outcome = {"success": success, "lessons": lessons}
    return Answer(fields_of(memory.cases.retain(id, outcome, by=PERSON, dry_run=dry_run)))


CLASSES = ("uncertainty", "complexity", "domain", "time_pressure", "data_availability", "stakes")
"""How a problem is classified, from which a method follows."""


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


def reason_ask(
    memory: Memory,
    problem: Text,
    method: str | None = None,
    given: str = "{}",
    uncertainty: str | None = None,
    complexity: str | None = None,
    domain: str | None = None,
    time_pressure: str | None = None,
    data_availability: str | None = None,
    stakes: str | None = None,
    multi_method: bool = False,
    methods: str = "",
    limit: int = 3,
    store: bool = False,
) -> Answer:
    typed, inputs = dict(locals()), _inputs(given)
    kind = {name: typed[name] for name in CLASSES if typed[name]}
    how = {name: typed[name] for name in ("method", "multi_method", "limit", "store")}
    named = [each.strip() for each in methods.split(",") if each.strip()]
    found = memory.reason(problem, given=inputs, problem_classification=kind or None, methods=named, by=PERSON, **how)
    return Answer(fields_of(found), list(_reasoned(found)))


def reason_methods(options: Options) -> Answer:
    from memfolio.reason.reason import methods

    return Answer({"methods": list(methods().values())})


def reason_show(options: Options, method: str) -> Answer:
    from memfolio.reason.reason import method_named

    return Answer(fields_of(method_named(method)))


def _inputs(given: str) -> dict[str, Any]:
    """The inputs that are given as JSON, in a file or on standard input."""
    try:
        found: dict[str, Any] = json.loads(Path(given[1:]).read_text("utf-8") if given[:1] == "@" else read_text(given))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the inputs cannot be read: {str(error)[:80]}", hint="give a JSON object") from error
    return found


def _reasoned(found: Reasoned) -> Iterator[str]:
    """Render the result of reasoning for people."""
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
