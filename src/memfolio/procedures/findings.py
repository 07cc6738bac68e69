"""What the recorded runs show about the steps of a procedure: which could go, be done together, or be kept. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import fmean

from memfolio.procedures.procedure import Procedure, Step
from memfolio.procedures.run import Outcome, Run

FEW = 3
"""How many runs must show that a step is never needed, or gives the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something about some steps, and what it could be worth."""

    kind: str
    """`redundant`, `batchable` or `cacheable`."""
    steps: tuple[int, ...]
    text: str
    seconds: float = 0.0
    """What a run could be shorter by at most, as far as seconds were recorded."""


def findings(procedure: Procedure, runs: Sequence[Run]) -> list[Finding]:
    """What the runs that ended with the very steps that the page has show about them."""
    steps = procedure.steps
    own = [run for run in runs if run.counts and [*map(_done, run.steps)] == [*map(_done, steps)]]
    single = [found for step in steps for look in (_needless, _kept) for found in look(step, own)]
    return [*_repeated(steps, own), *_batches(steps, own), *single]


def _done(step: Step) -> tuple[str, object, object, object]:
    """What a step does and when; its words do not matter where a function does it."""
    words = "" if step.action else " ".join(step.text.casefold().split())
    return words, step.action, dict(step.arguments), step.condition


def _repeated(steps: Sequence[Step], runs: Sequence[Run]) -> Iterator[Finding]:
    """Neighbours only: what lies between two equal steps may be why the second one is there."""
    for one, other in pairwise(steps):
        if _done(one) == _done(other):
            text = f"step {other.number} does the same as step {one.number}, right after it"
            numbers, seconds = (one.number, other.number), _seconds(other, runs)
            yield Finding(kind="redundant", steps=numbers, text=text, seconds=seconds)


def _batches(steps: Sequence[Step], runs: Sequence[Run]) -> Iterator[Finding]:
    for (action, _), group in groupby(steps, key=lambda step: (step.action, step.condition)):
        batch = [*group]
        if action and len({json.dumps(dict(each.arguments), sort_keys=True) for each in batch}) > 1:
            spent, numbers = [_seconds(each, runs) for each in batch], tuple(each.number for each in batch)
            text = f"{len(batch)} steps in a row call {action} with different arguments: one call might do"
            yield Finding(kind="batchable", steps=numbers, text=text, seconds=round(sum(spent) - max(spent), 3))


def _needless(step: Step, runs: Sequence[Run]) -> Iterator[Finding]:
    outcomes = [tried.outcome for run in runs if (tried := run.of(step.number)).outcome]
    if len(outcomes) >= FEW and {*outcomes} == {Outcome.SKIPPED}:
        text = f"step {step.number} was skipped in all of {len(outcomes)} runs"
        yield Finding(kind="redundant", steps=(step.number,), text=text)


def _kept(step: Step, runs: Sequence[Run]) -> Iterator[Finding]:
    """What a function gave for the same values; one that can be taken back is called for what it does."""
    results: dict[str, list[str]] = {}
    for run in runs if step.action and step.repeatable and not step.undo else ():
        if (tried := run.of(step.number)).outcome is Outcome.DONE and tried.result is not None:
            results.setdefault(json.dumps(run.given, sort_keys=True), []).append(json.dumps(tried.result))
    often = max(map(len, results.values()), default=0)
    if often >= FEW and all(len(set(given)) == 1 for given in results.values()):
        text = f"step {step.number} gave the same for the same values each time, up to {often} times"
        yield Finding(kind="cacheable", steps=(step.number,), text=text, seconds=_seconds(step, runs))


def _seconds(step: Step, runs: Sequence[Run]) -> float:
    """What a step takes on average, where it was done."""
    tried = [run.of(step.number) for run in runs]
    return round(fmean([each.seconds for each in tried if each.outcome is Outcome.DONE] or [0.0]), 3)
