"""What the recorded runs show about the steps of a procedure: which could go, be done together, or be kept. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import fmean

from memfolio.procedures.procedure import Procedure, Step
from memfolio.procedures.run import Outcome, Run

FEW, MANY = 3, 10
"""How many runs must show that a step is never needed or gives the same, and that a check never fails."""
_CHECK = re.compile(r"(?:check|verify|confirm|make sure|ensure|test)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something about some steps, what it rests on, and what it could be worth."""

    kind: str
    """`redundant`, `batchable` or `cacheable`."""
    steps: tuple[int, ...]
    text: str
    runs: int
    """How many runs show it."""
    seconds: float
    """What a run could be shorter by at most, as far as seconds were recorded."""
    is_possible: bool = False
    """Whether it is only worth a look, since the runs cannot show it."""


def findings(procedure: Procedure, runs: Sequence[Run]) -> list[Finding]:
    """What the runs with the very steps that the page has show about them."""
    same = [run for run in runs if [*map(_done, run.steps)] == [*map(_done, procedure.steps)]]
    own = [run for run in same if run.outcome in (Outcome.SUCCEEDED, Outcome.FAILED)]
    found = [*_repeated(procedure.steps, own), *_batches(procedure.steps, own)]
    for step in procedure.steps:
        found += _needless(step, own)
        found += _kept(step, own)
    return found


def _done(step: Step) -> tuple[str, object, object, object]:
    """What a step does and when; its words do not matter where a function does it."""
    words = "" if step.action else " ".join(step.text.casefold().split())
    return words, step.action, dict(step.arguments), step.condition


def _repeated(steps: Sequence[Step], runs: Sequence[Run]) -> Iterator[Finding]:
    """Neighbours only: what lies between two equal steps may be why the second one is there."""
    for one, other in pairwise(steps):
        if _done(one) == _done(other):
            text = f"step {other.number} does the same as step {one.number}, right after it"
            yield _finding("redundant", [one, other], text, runs, _seconds(other, runs))


def _batches(steps: Sequence[Step], runs: Sequence[Run]) -> Iterator[Finding]:
    for (action, _), group in groupby(steps, key=lambda step: (step.action, step.condition)):
        batch = [*group]
        if action and len({json.dumps(dict(each.arguments), sort_keys=True) for each in batch}) > 1:
            spent = [_seconds(each, runs) for each in batch]
            text = f"{len(batch)} steps in a row call {action} with different arguments: one call might do"
            yield _finding("batchable", batch, text, runs, sum(spent) - max(spent), is_possible=True)


def _needless(step: Step, runs: Sequence[Run]) -> Iterator[Finding]:
    tried = [run.of(step.number) for run in runs if str(step.number) in run.tried]
    outcomes, number = {each.outcome for each in tried}, len(tried)
    if number >= FEW and outcomes == {Outcome.SKIPPED}:
        yield _finding("redundant", [step], f"step {step.number} was skipped in all of {number} runs", runs, 0.0)
    elif number >= MANY and _CHECK.match(step.text) and not any(each.failures for each in tried):
        text = f"step {step.number} is a check that failed in none of {number} runs"
        yield _finding("redundant", [step], text, runs, _seconds(step, runs), is_possible=True)


def _kept(step: Step, runs: Sequence[Run]) -> Iterator[Finding]:
    """What a function gave for the same values; one that can be taken back is called for what it does."""
    if not step.action or step.undo or not step.repeatable:
        return
    results: dict[str, list[str]] = {}
    for run in runs:
        if (tried := run.of(step.number)).outcome is Outcome.DONE and tried.result is not None:
            results.setdefault(json.dumps(run.given, sort_keys=True), []).append(json.dumps(tried.result))
    often = max(map(len, results.values()), default=0)
    if often >= FEW and all(len(set(given)) == 1 for given in results.values()):
        text = f"step {step.number} gave the same for the same values each time, up to {often} times"
        yield _finding("cacheable", [step], text, runs, _seconds(step, runs), is_possible=True)


def _seconds(step: Step, runs: Sequence[Run]) -> float:
    """What a step takes on average, where it was done."""
    tried = [run.of(step.number) for run in runs]
    return fmean([each.seconds for each in tried if each.outcome is Outcome.DONE] or [0.0])


def _finding(
    kind: str, steps: Sequence[Step], text: str, runs: Sequence[Run], seconds: float, *, is_possible: bool = False
) -> Finding:
    numbers, gained = tuple(step.number for step in steps), round(seconds, 3)
    return Finding(kind=kind, steps=numbers, text=text, runs=len(runs), seconds=gained, is_possible=is_possible)
