"""What a lesson changes: a skill is made, or one that is like it gets what it lacks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from memfolio.intake import ANY_ID
from memfolio.procedures.learn import Lesson
from memfolio.procedures.match import Heard, match
from memfolio.procedures.procedure import Form, Procedure, Refinement, Step

ALIKE = 0.6
"""Which share of its telling words two steps must have in common to be one."""
SHARED = 0.5
"""Which share of the steps of the shorter one two procedures must have in common to be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What is to be changed: `procedure` as it will be, in place of the one called `before`, if there is one."""

    procedure: Procedure
    before: str | None
    lesson: Lesson
    why: str


def cited(procedures: Iterable[Procedure]) -> set[str]:
    """The ids of all that was learned from."""
    told = (line for each in procedures for line in (*each.learned_from, *each.errors.values()))
    return {each for line in told for each in ANY_ID.findall(line)}


def intend(lesson: Lesson, procedures: Iterable[Procedure], day: str) -> Intent | None:
    """What a lesson should change; None where what went badly is like nothing that is known."""
    same = similar(lesson, procedures)
    if same:
        why = f"it went badly: {lesson.trouble}" if lesson.trouble else "it was done again"
        return Intent(procedure=refined(same, lesson, day), before=same.name, lesson=lesson, why=why)
    if lesson.trouble:
        return None
    made = Procedure(
        name="",
        path="",
        title=lesson.title,
        triggers=(lesson.trigger,) if lesson.trigger else (),
        steps=tuple(Step(number=at, text=text) for at, text in enumerate(lesson.steps, 1)),
        learned_from=lesson.sources,
    )
    return Intent(procedure=made, before=None, lesson=lesson, why="it went well")


def similar(lesson: Lesson, procedures: Iterable[Procedure]) -> Procedure | None:
    """The skill in use that a lesson is about."""
    known = [each for each in procedures if each.form is not Form.DECISION and each.steps]
    for found in match(known, " ".join((lesson.title, *lesson.steps)), limit=5):
        steps = found.procedure.steps
        common = sum(any(_alike(step.text, new) for step in steps) for new in lesson.steps)
        is_named = Heard(lesson.title).share(found.procedure.title)[0] >= ALIKE
        if common >= SHARED * min(len(steps), len(lesson.steps)) or (lesson.trouble and is_named):
            return found.procedure
    return None


def refined(procedure: Procedure, lesson: Lesson, day: str) -> Procedure:
    """The skill with what a lesson adds; what it says already is only one more source."""
    if lesson.trouble:
        name = lesson.trouble.replace(":", ",")
        errors = {**procedure.errors, name: f"seen in {lesson.sources[0]}; look at this before going on"}
        return replace(procedure, errors=errors)
    steps = _merged(procedure.steps, lesson.steps)
    sources = (*procedure.learned_from, *(each for each in lesson.sources if each not in procedure.learned_from))
    if len(steps) == len(procedure.steps):
        return replace(procedure, learned_from=sources)
    added = [step.text for step in steps if step.text not in {each.text for each in procedure.steps}]
    version = bumped(procedure.version)
    line = Refinement(at=day, version=version, kind="learned", text=f"added: {'; '.join(added)}"[:300])
    return replace(procedure, steps=steps, learned_from=sources, version=version, history=(*procedure.history, line))


def bumped(version: str) -> str:
    """The version after this one."""
    match = re.fullmatch(r"(.*?)(\d+)", version)
    if match is None or "." not in version:
        return f"{version}.1"
    return f"{match[1]}{int(match[2]) + 1}"


def _merged(steps: tuple[Step, ...], told: Iterable[str]) -> tuple[Step, ...]:
    """The steps with those that only the lesson tells, each behind the one that it came after."""
    merged, at = [*steps], 0
    for text in told:
        same = next((place for place, step in enumerate(merged) if _alike(step.text, text)), None)
        if same is None:
            merged.insert(at, Step(number=0, text=text))
        at = (at if same is None else same) + 1
    return tuple(replace(step, number=place) for place, step in enumerate(merged, 1))


def _alike(one: str, other: str) -> bool:
    return min(_heard(one).share(other)[0], _heard(other).share(one)[0]) >= ALIKE


_heard = lru_cache(maxsize=128)(Heard)
