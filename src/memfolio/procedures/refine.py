"""What a lesson changes: a skill is made, or one that is like it gets what it lacks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from memfolio.procedures.learn import Lesson
from memfolio.procedures.match import Heard
from memfolio.procedures.procedure import Procedure, Refinement, Step

ALIKE = 0.6
"""Which share of the telling words of a step or title the other must have, whose words are all in it, to be one."""
SHARED = 0.5
"""Which share of the steps of the shorter one two procedures with the same title must have in common to be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What is to be changed: `procedure` as it will be, in place of the one called `before`, if there is one."""

    procedure: Procedure
    before: str | None
    lesson: Lesson
    why: str


def intend(lesson: Lesson, procedures: Iterable[Procedure], day: str) -> Intent | None:
    """What a lesson should change; None where it is like a retired skill, or went badly and is like nothing known."""
    same = similar(lesson, procedures)
    if same:
        why = f"it went badly: {lesson.trouble}" if lesson.trouble else "it was done again"
        after = refined(same, lesson, day)
        return None if after == same else Intent(procedure=after, before=same.name, lesson=lesson, why=why)
    if lesson.trouble:
        return None
    made = Procedure(
        name="",
        path="",
        title=lesson.title,
        triggers=(lesson.trigger,),
        steps=tuple(Step(number=at, text=text) for at, text in enumerate(lesson.steps, 1)),
        learned_from=lesson.sources,
    )
    return Intent(procedure=made, before=None, lesson=lesson, why="it went well")


def similar(lesson: Lesson, procedures: Iterable[Procedure]) -> Procedure | None:
    """The procedure that a lesson is about: it has all of its steps, or its title and half of them."""
    for known in procedures:
        is_named = alike(lesson.title, known.title)
        if not known.steps or not (is_named or len(known.steps) == len(lesson.steps)):
            continue
        common = sum(any(alike(new, step.text) for step in known.steps) for new in lesson.steps)
        fewest = min(len(known.steps), len(lesson.steps))
        if common >= (SHARED * fewest if is_named else fewest) or (lesson.trouble and is_named):
            return known
    return None


def refined(procedure: Procedure, lesson: Lesson, day: str) -> Procedure:
    """The skill with what a lesson adds; what it says already is only one more source. A retired one stays as it is."""
    if procedure.is_retired:
        return procedure
    if lesson.trouble:
        name = lesson.trouble.replace(":", ",")
        told = {name: f"seen in {lesson.sources[0]}; look at this before going on"}
        return replace(procedure, errors={**told, **procedure.errors})
    steps = _merged(procedure.steps, lesson.steps)
    sources = tuple(dict.fromkeys((*procedure.learned_from, *lesson.sources)))
    if len(steps) == len(procedure.steps):
        return replace(procedure, learned_from=sources)
    known = {each.text for each in procedure.steps}
    added = "; ".join(step.text for step in steps if step.text not in known)
    version = bumped(procedure.version)
    line = Refinement(at=day, version=version, kind="learned", text=f"added: {added}"[:300])
    return replace(procedure, steps=steps, learned_from=sources, version=version, history=(*procedure.history, line))


def bumped(version: str) -> str:
    """The version after this one."""
    match = re.fullmatch(r"(.*\.)(\d+)", version)
    return f"{match[1]}{int(match[2]) + 1}" if match else f"{version}.1"


def alike(one: str, other: str) -> bool:
    """Whether two short texts tell the same: one has all telling words of the other, and that has most of its own."""
    shares = sorted((_heard(one).share(other)[0], _heard(other).share(one)[0]))
    return shares[0] >= ALIKE and shares[1] == 1


def _merged(steps: tuple[Step, ...], told: Iterable[str]) -> tuple[Step, ...]:
    """The steps with those that only the lesson tells, each behind the one that it came after."""
    merged, at = [*steps], 0
    for text in told:
        same = next((place for place, step in enumerate(merged) if alike(text, step.text)), None)
        if same is None:
            merged.insert(at, Step(number=0, text=text))
        at = (at if same is None else same) + 1
    return tuple(replace(step, number=place) for place, step in enumerate(merged, 1))


_heard = lru_cache(maxsize=128)(Heard)
