"""A run folded from its ledger lines; metrics of procedures, and findings about their steps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import reduce
from itertools import groupby, pairwise
from statistics import fmean
from typing import Any, NamedTuple

from memfolio.clock import EPOCH
from memfolio.procedures.procedure import OnError, Procedure, Step, read_condition
from memfolio.settings import Practising
from memfolio.state import moment
from memfolio.types import frozen

# One run of a procedure, as the lines about it tell it. Values, and a fold without side effects.

Line = Mapping[str, Any]


class StepMode(StrEnum):
    """How a step is executed: its action, its fallback, or its undo."""

    DO = "do"
    FALLBACK = "fallback"
    UNDO = "undo"


class RunOutcome(StrEnum):
    """The outcome of an attempt, or of a run."""

    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
    UNDONE = "undone"
    SUCCEEDED = "succeeded"
    ABANDONED = "abandoned"


@frozen
class Tried:
    """The attempts of a step in one mode, and the outcome of the latest."""

    attempts: int = 0
    failures: int = 0
    outcome: RunOutcome | None = None
    """None before the first try, and while one is open: begun, and not known to be over."""
    is_handed: bool = False
    """Whether the agent was asked to do it, rather than a function called."""
    began: datetime = EPOCH
    seconds: float = 0.0
    error: str = ""
    result: Any = None
    timed_out: bool = False

    @property
    def is_open(self) -> bool:
        return self.attempts > 0 and self.outcome is None

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be done in this way."""
        return self.outcome in (RunOutcome.DONE, RunOutcome.SKIPPED, RunOutcome.UNDONE)


@frozen
class Waiting:
    """What a run waits for before it goes on."""

    kind: str
    """`step`: do it and tell how it went; `doubt`: say whether it was done; `value`: give the values it names."""
    step: int
    text: str
    way: StepMode = StepMode.DO
    turn: int = 0
    """How many tries the run has begun: no two tries that a run waits for have the same."""
    expect: str = ""
    names: tuple[str, ...] = ()


@frozen
class Run:
    """A run with the steps of the page as it was when the run began.

    Step 0 is what must hold before the first step, and the number after the last step what must hold at the end.
    """

    id: str
    procedure: str
    version: str = ""
    is_checklist: bool = False
    given: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    """What was given, and the fields of results that are objects; of the same name, what came last."""
    steps: tuple[Step, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    timeout: timedelta | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    """What to do about which error, in words."""
    began: datetime = EPOCH
    tried: dict[str, Tried] = field(default_factory=dict)
    """By the step's number, with `:fallback` or `:undo` for the other ways."""
    is_aborted: bool = False
    failed_step: int | None = None
    error: str = ""
    outcome: RunOutcome | None = None
    seconds: float = 0.0
    waiting: Waiting | None = field(default=None, compare=False)

    @property
    def state(self) -> str:
        """How it ended, else `waiting`, or `open` where it is under way or was interrupted."""
        return self.outcome or ("waiting" if self.waiting else "open")

    @property
    def counts(self) -> bool:
        """Whether it shows how well its procedure works."""
        return self.outcome in (RunOutcome.SUCCEEDED, RunOutcome.FAILED)

    def of(self, step: int, way: StepMode = StepMode.DO) -> Tried:
        return self.tried.get(key_of(step, way), Tried())

    @property
    def results(self) -> dict[int, Any]:
        """What the completed steps gave, by their numbers, as it was recorded."""
        done = [(key, tried) for key, tried in self.tried.items() if tried.outcome is RunOutcome.DONE]
        return {int(key.partition(":")[0]): tried.result for key, tried in done}


def key_of(step: int, way: StepMode) -> str:
    """What names a step done in one way, within a run."""
    return f"{step:d}" if way is StepMode.DO else f"{step:d}:{way}"


def begin_line(procedure: Procedure, values: Line, *, is_checklist: bool) -> dict[str, Any]:
    """The first line of a run, with all that it needs of the page."""
    return {
        "op": "begin",
        "procedure": procedure.name,
        "version": procedure.version,
        "mode": "checklist" if is_checklist else "call",
        "values": values,
        "steps": [_step_line(step) for step in procedure.steps],
        "before": procedure.preconditions,
        "after": procedure.postconditions,
        "errors": dict(procedure.errors),
        "timeout": _total(procedure.timeout),
    }


def fold(lines: Iterable[Line]) -> Run | None:
    """The run that these lines tell of, oldest first; None where the first of them does not begin one."""
    rest = iter(lines)
    run = _begun(next(rest, {}))
    return run and reduce(after, rest, run)


def after(run: Run, line: Line) -> Run:
    """The run after one more line; one that makes no sense changes nothing."""
    match line:
        case {"op": "set", "values": dict(values)}:
            return replace(run, given=run.given | values, values=run.values | values)
        case {"op": "start" | "finish", "step": int(step)}:
            return _tried(run, step, line)
        case {"op": "abort", "step": int(step)}:
            return replace(run, is_aborted=True, failed_step=step, error=str(line.get("error")))
        case {"op": "end", "outcome": outcome} if outcome in tuple(RunOutcome):
            return replace(run, outcome=RunOutcome(outcome), seconds=_seconds(line))
    return run


def _begun(line: Line) -> Run | None:
    try:
        return Run(
            id=str(line["id"]),
            procedure=str(line["procedure"]),
            version=str(line["version"]),
            before=tuple(map(str, line["before"])),
            after=tuple(map(str, line["after"])),
            is_checklist=line.get("mode") == "checklist",
            given=dict(line["values"]),
            values=dict(line["values"]),
            steps=tuple(map(_step, line["steps"])),
            timeout=_span(line["timeout"]),
            errors={str(error): str(remedy) for error, remedy in line["errors"].items()},
            began=moment(line.get("at")) or EPOCH,
        )
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):  # written by hand, not as it should be
        return None


def _tried(run: Run, step: int, line: Line) -> Run:
    way = StepMode(line["way"]) if line.get("way") in tuple(StepMode) else StepMode.DO
    tried, values, result = run.of(step, way), run.values, line.get("result")
    if line["op"] == "start":
        began, is_handed = moment(line.get("at")) or EPOCH, line.get("handed") is True
        tried = replace(tried, attempts=tried.attempts + 1, outcome=None, began=began, is_handed=is_handed)
    elif (outcome := line.get("outcome")) in tuple(RunOutcome):
        tried = replace(
            tried,
            failures=tried.failures + (outcome == RunOutcome.FAILED and line.get("redo") is not True),
            outcome=RunOutcome(outcome),
            seconds=tried.seconds + _seconds(line),
            error=str(line.get("error") or ""),
            result=result,
            timed_out=line.get("timed_out") is True,
        )
        values = values | result if outcome == RunOutcome.DONE and isinstance(result, dict) else values
    return replace(run, tried={**run.tried, key_of(step, way): tried}, values=values)


_TEXTS = ("text", "action", "condition", "expect", "on_error", "fallback", "undo")
_NUMBERS = {"number": int, "timeout": int | float, "retries": int}
_TYPES: dict[str, Any] = dict.fromkeys(_TEXTS, str) | _NUMBERS | {"arguments": dict, "repeatable": bool}


def _step_line(step: Step) -> dict[str, Any]:
    """A step as JSON, without what it does not say."""
    told = asdict(step) | {"timeout": _total(step.timeout)}
    return {name: value for name, value in told.items() if value is not None}


def _step(line: Line) -> Step:
    """A step as it was recorded; raises an error for what no page says."""
    if not all(value is None or isinstance(value, _TYPES[name]) for name, value in line.items()):
        raise TypeError("no step")
    read_condition(line.get("condition") or "always")
    told = {"timeout": _span(line.get("timeout")), "on_error": OnError(line.get("on_error") or OnError.ABORT)}
    return Step(**{**line, **told})


def _span(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)


def _total(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()


def _seconds(line: Line) -> float:
    value = line.get("seconds")
    return float(value) if isinstance(value, int | float) and value >= 0 else 0.0


# How well procedures work, by their latest runs. Pure.


@frozen
class RunMetrics:
    """How the latest runs went that have ended; those that were abandoned are not counted."""

    runs: int = 0
    succeeded: int = 0
    success_rate: float | None = None
    average_seconds: float | None = None
    last_run: datetime | None = None
    failing_steps: dict[int, int] = field(default_factory=dict)
    """How many runs failed at which step, most first."""
    versions: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By version, the first one first: how many runs there were, and how many of them went well."""
    success_rate_change: float | None = None
    """What the rate of the latest version has over that of the one before it."""


class FailingProcedure(NamedTuple):
    """A procedure that fails too often, and why that is so."""

    procedure: str
    reason: str


def measure(runs: Iterable[Run], window: int) -> RunMetrics:
    """How well the runs of one procedure went, the latest `window` of them, and of each version."""
    counted = sorted((run for run in runs if run.counts), key=lambda run: run.began)
    if not (latest := counted[-window:]):
        return RunMetrics()
    versions: dict[str, tuple[int, int]] = {}
    for version in dict.fromkeys(run.version for run in counted):
        own = [run for run in counted if run.version == version][-window:]
        versions[version] = len(own), _succeeded(own)
    rates = [good / count for count, good in versions.values()]
    failed = Counter(run.failed_step for run in latest if run.failed_step is not None)
    return RunMetrics(
        runs=len(latest),
        succeeded=_succeeded(latest),
        success_rate=_succeeded(latest) / len(latest),
        average_seconds=round(sum(run.seconds for run in latest) / len(latest), 3),
        last_run=latest[-1].began,
        failing_steps=dict(failed.most_common()),
        versions=versions,
        success_rate_change=rates[-1] - rates[-2] if len(rates) > 1 else None,
    )


def failing(procedures: Iterable[Procedure], runs: Sequence[Run], practising: Practising) -> list[FailingProcedure]:
    """The procedures that went well too seldom, of those with enough runs since they were last restored."""
    found: list[FailingProcedure] = []
    for each in procedures:
        seen = measure([run for run in runs if run.procedure == each.name and _is_fresh(run, each)], practising.window)
        if not each.is_retired and seen.runs >= practising.runs and (seen.success_rate or 0) < practising.failing:
            reason = f"{seen.succeeded} of the latest {seen.runs} runs went well, less than {practising.failing:.0%}"
            found.append(FailingProcedure(each.name, reason))
    return found


def _succeeded(runs: Iterable[Run]) -> int:
    return sum(run.outcome is RunOutcome.SUCCEEDED for run in runs)


def _is_fresh(run: Run, procedure: Procedure) -> bool:
    """Whether a run began after the day of the last restore: whoever restores a procedure lets it begin anew."""
    days = [each.at for each in procedure.history if each.kind in ("retired", "restored")]
    return all(run.began.isoformat()[: len(day)] > day for day in days)


# What the recorded runs show about the steps of a procedure: which could go, be done together, or be kept. Pure.

FEW = 3
"""How many runs must show that a step is never needed, or gives the same."""


@frozen
class StepFinding:
    """An optimization that the recorded runs suggest, and the seconds it could save."""

    kind: str
    """`redundant`, `batchable` or `cacheable`."""
    steps: tuple[int, ...]
    text: str
    seconds: float = 0.0
    """What a run could be shorter by at most, as far as seconds were recorded."""


def findings(procedure: Procedure, runs: Sequence[Run]) -> list[StepFinding]:
    """What the runs that ended with the very steps that the page has show about them."""
    steps = procedure.steps
    own = [run for run in runs if run.counts and [*map(_done, run.steps)] == [*map(_done, steps)]]
    single = [found for step in steps for look in (_needless, _kept) for found in look(step, own)]
    return [*_repeated(steps, own), *_batches(steps, own), *single]


def _done(step: Step) -> tuple[str, object, object, object]:
    """What a step does and when; its words do not matter where a function does it."""
    words = "" if step.action else " ".join(step.text.casefold().split())
    return words, step.action, dict(step.arguments), step.condition


def _repeated(steps: Sequence[Step], runs: Sequence[Run]) -> Iterator[StepFinding]:
    """Neighbours only: what lies between two equal steps may be why the second one is there."""
    for one, other in pairwise(steps):
        if _done(one) == _done(other):
            text = f"step {other.number} does the same as step {one.number}, right after it"
            numbers, seconds = (one.number, other.number), _usual_seconds(other, runs)
            yield StepFinding(kind="redundant", steps=numbers, text=text, seconds=seconds)


def _batches(steps: Sequence[Step], runs: Sequence[Run]) -> Iterator[StepFinding]:
    for (action, _), group in groupby(steps, key=lambda step: (step.action, step.condition)):
        batch = [*group]
        if action and len({json.dumps(dict(each.arguments), sort_keys=True) for each in batch}) > 1:
            spent, numbers = [_usual_seconds(each, runs) for each in batch], tuple(each.number for each in batch)
            text = f"{len(batch)} steps in a row call {action} with different arguments: one call might do"
            yield StepFinding(kind="batchable", steps=numbers, text=text, seconds=round(sum(spent) - max(spent), 3))


def _needless(step: Step, runs: Sequence[Run]) -> Iterator[StepFinding]:
    outcomes = [tried.outcome for run in runs if (tried := run.of(step.number)).outcome]
    if len(outcomes) >= FEW and {*outcomes} == {RunOutcome.SKIPPED}:
        text = f"step {step.number} was skipped in all of {len(outcomes)} runs"
        yield StepFinding(kind="redundant", steps=(step.number,), text=text)


def _kept(step: Step, runs: Sequence[Run]) -> Iterator[StepFinding]:
    """What a function gave for the same values; one that can be taken back is called for what it does."""
    results: dict[str, list[str]] = {}
    for run in runs if step.action and step.repeatable and not step.undo else ():
        if (tried := run.of(step.number)).outcome is RunOutcome.DONE and tried.result is not None:
            results.setdefault(json.dumps(run.given, sort_keys=True), []).append(json.dumps(tried.result))
    often = max(map(len, results.values()), default=0)
    if often >= FEW and all(len(set(given)) == 1 for given in results.values()):
        text = f"step {step.number} gave the same for the same values each time, up to {often} times"
        yield StepFinding(kind="cacheable", steps=(step.number,), text=text, seconds=_usual_seconds(step, runs))


def _usual_seconds(step: Step, runs: Sequence[Run]) -> float:
    """What a step takes on average, where it was done."""
    tried = [run.of(step.number) for run in runs]
    return round(fmean([each.seconds for each in tried if each.outcome is RunOutcome.DONE] or [0.0]), 3)
