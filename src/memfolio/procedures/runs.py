"""A run folded from its ledger lines; metrics of procedures, and findings about their steps."""

from __future__ import annotations

import asyncio
import builtins
import inspect
import json
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import asdict, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial, reduce
from hashlib import blake2b
from itertools import chain, groupby, pairwise, product
from statistics import fmean
from typing import Any, NamedTuple

from memfolio.arguments import check_string
from memfolio.clock import EPOCH
from memfolio.errors import ConflictError, HomeBusyError, HomeError, IndexBusyError, InputError, NotFoundError
from memfolio.index.lookup import records
from memfolio.procedures.page import OnError, Procedure, Step, read_condition
from memfolio.procedures.procedures import Procedures
from memfolio.recall.searcher import Searcher
from memfolio.settings import Practising
from memfolio.state import moment
from memfolio.types import EMPTY, Action, Attribution, check_attribution, frozen
from memfolio.vault.change import AddLines, Change
from memfolio.vault.fields import without_surrogates
from memfolio.vault.lines import plain, plain_object
from memfolio.vault.paths import Form, Ledger, agent_root
from memfolio.vault.vault import Vault

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
    """What a run waits for before it can continue."""

    kind: str
    """`step`: do it and report; `doubt`: say whether it was done; `value`: provide the named values."""
    step: int
    text: str
    way: StepMode = StepMode.DO
    turn: int = 0
    """How many tries the run has begun: no two tries that a run waits for have the same."""
    expect: str = ""
    names: tuple[str, ...] = ()


@frozen
class Run:
    """A run with the steps of the page as they were when it began.

    Step 0 checks what must hold before the first step, and the number after the last step what must hold at the end.
    """

    id: str
    procedure: str
    version: str = ""
    is_checklist: bool = False
    given: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    """The given values, and the fields of results that are objects; later values replace earlier ones."""
    steps: tuple[Step, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    timeout: timedelta | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    """What to do about each error, in words."""
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
        """The outcome, or `waiting`, or `open` if it is running or was interrupted."""
        return self.outcome or ("waiting" if self.waiting else "open")

    @property
    def counts(self) -> bool:
        """Whether it shows how well its procedure works."""
        return self.outcome in (RunOutcome.SUCCEEDED, RunOutcome.FAILED)

    def of(self, step: int, way: StepMode = StepMode.DO) -> Tried:
        return self.tried.get(key_of(step, way), Tried())

    @property
    def results(self) -> dict[int, Any]:
        """Recorded results of completed steps by number."""
        done = [(key, tried) for key, tried in self.tried.items() if tried.outcome is RunOutcome.DONE]
        return {int(key.partition(":")[0]): tried.result for key, tried in done}


def key_of(step: int, way: StepMode) -> str:
    """Return the name of a step and mode within a run."""
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
    """Replay the lines of a run, oldest first; None if the first line does not begin one."""
    rest = iter(lines)
    run = _begun(next(rest, {}))
    return run and reduce(after, rest, run)


def after(run: Run, line: Line) -> Run:
    """Return the run after one more line; an invalid line changes nothing."""
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
            steps=tuple(map(_recorded_step, line["steps"])),
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
            # A try that was never made is no failure.
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
    """Return a step as JSON, without empty fields."""
    told = asdict(step) | {"timeout": _total(step.timeout)}
    return {name: value for name, value in told.items() if value is not None}


def _recorded_step(line: Line) -> Step:
    """Read a recorded step; raises an error for anything a page cannot say."""
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
    """Number of runs and of successful ones by version, oldest first."""
    success_rate_change: float | None = None
    """Success rate of the latest version minus that of the one before."""


class FailingProcedure(NamedTuple):
    """A procedure that fails too often, and why that is so."""

    procedure: str
    reason: str


def measure(runs: Iterable[Run], window: int) -> RunMetrics:
    """Measure the latest `window` runs of a procedure, in all and for each version."""
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
    """Whether a run began after the procedure was last restored: a restored procedure starts afresh."""
    # Pages tell days and runs have moments: compared as text, up to the length of the day.
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
    """An upper bound of the time that could be saved per run, as far as seconds were recorded."""


def findings(procedure: Procedure, runs: Sequence[Run]) -> list[StepFinding]:
    """Return findings about the steps from ended runs with exactly the steps of the page."""
    steps = procedure.steps
    # Runs of earlier versions tell nothing about steps that have changed since.
    own = [run for run in runs if run.counts and [*map(_done, run.steps)] == [*map(_done, steps)]]
    single = [found for step in steps for look in (_needless, _kept) for found in look(step, own)]
    return [*_repeated(steps, own), *_batches(steps, own), *single]


def _done(step: Step) -> tuple[str, object, object, object]:
    """What a step does and when; its words do not matter if a function does it."""
    words = "" if step.action else " ".join(step.text.casefold().split())
    return words, step.action, dict(step.arguments), step.condition


def _repeated(steps: Sequence[Step], runs: Sequence[Run]) -> Iterator[StepFinding]:
    """Find equal steps in a row only: a step between them may be the reason for the second one."""
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
    """Find functions that always gave the same result for the same values and have no effect to undo."""
    results: dict[str, list[str]] = {}
    # What is not repeatable, or can be taken back, has an effect; a cache would lose it.
    for run in runs if step.action and step.repeatable and not step.undo else ():
        if (tried := run.of(step.number)).outcome is RunOutcome.DONE and tried.result is not None:
            results.setdefault(json.dumps(run.given, sort_keys=True), []).append(json.dumps(tried.result))
    often = max(map(len, results.values()), default=0)
    if often >= FEW and all(len(set(given)) == 1 for given in results.values()):
        text = f"step {step.number} gave the same for the same values each time, up to {often} times"
        yield StepFinding(kind="cacheable", steps=(step.number,), text=text, seconds=_usual_seconds(step, runs))


def _usual_seconds(step: Step, runs: Sequence[Run]) -> float:
    """Return the average duration of a step."""
    tried = [run.of(step.number) for run in runs]
    return round(fmean([each.seconds for each in tried if each.outcome is RunOutcome.DONE] or [0.0]), 3)


# How a run goes on: what comes next follows from its state alone; functions are called, all else is handed over.

Actions = Mapping[str, Callable[..., Any]]
Write = Callable[[Run, Line], Run]
"""Adds a line about a run, durably; gives the run after it."""
PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds before the first further try; before each one after it twice as many, up to the longest."""
LONG = 4000
"""How many characters of a result or an error are kept."""


@frozen
class StepContext:
    """The context that a step's function gets as its first argument."""

    run: str
    step: int
    attempt: int
    key: str
    """The same for every attempt at this step in this run, for use as an idempotency key."""
    values: Mapping[str, Any]
    results: Mapping[int, Any]
    """Recorded results of earlier steps by number."""


class Call(NamedTuple):
    """A function that is to be called for a step."""

    step: Step
    way: StepMode
    function: Callable[..., Any]


Move = Call | Waiting | Line
"""A function to call, something to wait for, or the line that the state itself leads to."""


def advance(
    run: Run, actions: Actions, write: Write, *, now: Callable[[], datetime], sleep: Callable[[float], None]
) -> Run:
    """Go on until the run has ended or waits; each step is recorded before the next one begins."""
    while run.outcome is None:
        move = following(run, actions, now())
        if isinstance(move, Waiting):
            break
        run = _called(run, move, write, now(), sleep) if isinstance(move, Call) else write(run, move)
    return run


def following(run: Run, actions: Actions, now: datetime) -> Move:
    """Return the next move of a run that has not ended; the same state always gives the same move."""
    # A checklist hands every step over, though a function could do it.
    actions = {} if run.is_checklist else actions
    if late := next(_late(run, now), None):
        return late
    if run.is_aborted:
        return next(_undoing(run, actions), end_line(run, RunOutcome.FAILED, now))
    if run.timeout is not None and now - run.began > run.timeout:
        # The first step that still needs something is where the time ran out.
        left = (step.number for step in run.steps if next(_step(run, step, actions), None))
        error = f"timed out: the run took longer than {run.timeout.total_seconds():g} s"
        return _line("abort", next(left, len(run.steps)), error=error)
    steps = (move for step in run.steps for move in _step(run, step, actions))
    stages = (_checks(run, 0, run.before), steps, _checks(run, len(run.steps) + 1, run.after))
    return next(chain.from_iterable(stages), end_line(run, RunOutcome.SUCCEEDED, now))


def finish_line(
    step: int, way: StepMode, outcome: RunOutcome, seconds: float = 0.0, *, error: str = "", **more: Any
) -> Line:
    """The line that says how a try went."""
    why = {"error": without_surrogates(error)[:LONG]} if error else {}
    return _line("finish", step, way, outcome=outcome.value, seconds=round(max(0.0, seconds), 3), **why, **more)


def end_line(run: Run, outcome: RunOutcome, now: datetime) -> Line:
    """The last line of a run."""
    seconds = max(0.0, round((now - run.began).total_seconds(), 3))
    return {"op": "end", "outcome": outcome.value, "seconds": seconds}


def recordable(result: Any) -> Any:
    """Convert a result to JSON: other types become their type name, and long values are cut."""
    try:
        text = without_surrogates(json.dumps(plain(result, "result", 1), ensure_ascii=False))
    except InputError:
        return f"<{type(result).__name__}>"
    return json.loads(text) if len(text) <= LONG else f"{text[:LONG]}…"


def _line(op: str, step: int, way: StepMode = StepMode.DO, **more: Any) -> Line:
    return {"op": op, "step": step, **more} | ({} if way is StepMode.DO else {"way": way.value})


def _late(run: Run, now: datetime) -> Iterator[Line]:
    """Fail steps that were handed over and not reported within their timeout."""
    for step, way in product(run.steps, StepMode):
        tried = run.of(step.number, way)
        if tried.is_open and tried.is_handed and step.timeout is not None and now - tried.began > step.timeout:
            yield finish_line(step.number, way, RunOutcome.FAILED, **_timed_out(step.timeout.total_seconds()))


def _timed_out(seconds: float) -> dict[str, Any]:
    return {"error": f"timed out after {seconds:g} s", "timed_out": True}


def _checks(run: Run, number: int, conditions: Iterable[str]) -> Iterator[Move]:
    """Check conditions: the values decide where they can, everything else is handed over in words.

    Values that arrive later do not change the outcome of checks before the first step.
    """
    if number == 0 and run.tried.keys() - {"0"}:
        return
    held = [(each, _holds(each, run)) for each in conditions]
    if broken := "; ".join(each for each, holds in held if holds is False):
        yield _line("abort", number, error=f"does not hold: {broken}")
    if unknown := "; ".join(each for each, holds in held if holds is None):
        yield from _step(run, Step(number=number, text=f"Check that this holds: {unknown}"), {})


def _holds(condition: str, run: Run) -> bool | None:
    try:
        return read_condition(condition).holds(run.values)
    except InputError:
        return None  # said in words


def _step(run: Run, step: Step, actions: Actions) -> Iterator[Move]:
    """Yield the moves that a step still needs; none if it is over."""
    tried, instead = run.of(step.number), run.of(step.number, StepMode.FALLBACK)
    if tried.is_over or instead.is_over:
        return
    if step.condition and not tried.attempts:
        yield from _condition(run, step)
    if tried.is_open or not tried.failures or _may_try_again(step, tried):
        yield _attempt(run, step, StepMode.DO, actions)
    elif step.on_error is OnError.FALLBACK and step.fallback and not instead.failures:
        yield _attempt(run, step, StepMode.FALLBACK, actions)
    elif step.on_error is not OnError.SKIP:
        yield _line("abort", step.number, error=instead.error or tried.error)


def _may_try_again(step: Step, tried: Tried) -> bool:
    return tried.failures <= (step.retries or 0) and (step.repeatable or not tried.timed_out)


def _condition(run: Run, step: Step) -> Iterator[Move]:
    condition = read_condition(step.condition or "")
    if (holds := condition.holds(run.values)) is None:
        unknown = {name for name in condition.names if read_condition(f'"{name}"').holds(run.values) is None}
        names = tuple(sorted(unknown or condition.names))
        yield Waiting(kind="value", step=step.number, text=f"Only when {step.condition}: {step.text}", names=names)
    elif not holds:
        yield finish_line(step.number, StepMode.DO, RunOutcome.SKIPPED)


def _undoing(run: Run, actions: Actions) -> Iterator[Move]:
    """Undo completed steps, latest first; one that cannot be undone does not stop the others."""
    for step in reversed(run.steps):
        tried = run.of(step.number, StepMode.UNDO)
        if step.undo and step.number in run.results and not (tried.is_over or tried.failures):
            yield _attempt(run, step, StepMode.UNDO, actions)


def _attempt(run: Run, step: Step, way: StepMode, actions: Actions) -> Move:
    """Return the next attempt at a step; an open one waits for its agent, or for word of whether it was done."""
    tried = run.of(step.number, way)
    name, text = {
        StepMode.DO: (step.action, step.text),
        StepMode.FALLBACK: (step.fallback, f"Instead of: {step.text}: {step.fallback}"),
        StepMode.UNDO: (step.undo, f"Take back: {step.text}: {step.undo}"),
    }[way]
    # A repeatable step that a crash left open is simply tried again.
    if tried.is_open and (tried.is_handed or not step.repeatable):
        return Waiting(
            kind="step" if tried.is_handed else "doubt",
            step=step.number,
            text=text if tried.is_handed else f"Was this done? {text}",
            way=way,
            turn=sum(each.attempts for each in run.tried.values()),
            expect=(step.expect or "") if way is StepMode.DO else "",
        )
    if name is not None and name in actions:
        return Call(step, way, actions[name])
    return _line("start", step.number, way, handed=True)


def _called(run: Run, call: Call, write: Write, now: datetime, sleep: Callable[[float], None]) -> Run:
    """Run a step once: record the start, call it, record the outcome, and pause before a possible retry."""
    (step, way, function), number = call, call.step.number
    # Recorded before it is called: after a crash it is known that it may have been done.
    run = write(run, _line("start", number, way))
    attempt, key = run.of(number, way).attempts, f"{run.id}:{key_of(number, way)}"
    # A function may change what it is given; the run must not.
    values, results = deepcopy((run.values, run.results))
    context = StepContext(run=run.id, step=number, attempt=attempt, key=key, values=values, results=results)
    began = time.monotonic()
    came = _result(lambda: function(context, **step.arguments), _patience(run, call, now))
    outcome = RunOutcome.FAILED if "error" in came else RunOutcome.UNDONE if way is StepMode.UNDO else RunOutcome.DONE
    run = write(run, finish_line(number, way, outcome, time.monotonic() - began, **came))
    tried = run.of(number, way)
    if way is StepMode.DO and outcome is RunOutcome.FAILED and _may_try_again(step, tried):
        sleep(min(LONGEST_PAUSE, PAUSE * 2 ** min(tried.failures - 1, 10)))
    return run


def _patience(run: Run, call: Call, now: datetime) -> float:
    """Return the seconds a function may take: its timeout, and what the run has left unless it undoes a step."""
    spent = max(timedelta(), now - run.began)
    left = run.timeout - spent if run.timeout is not None and call.way is not StepMode.UNDO else None
    spans = [span.total_seconds() for span in (call.step.timeout, left) if span is not None]
    return min([*spans, threading.TIMEOUT_MAX])


def _result(act: Callable[[], Any], seconds: float) -> Line:
    """Return the result of a function or its error; it runs in a thread that is abandoned after the timeout.

    Exceptions that end the program, such as KeyboardInterrupt, are raised; the step is in doubt then.
    """
    future: Future[Any] = Future()
    threading.Thread(target=_settle, args=(future, act), name="memfolio-step", daemon=True).start()
    try:
        error = future.exception(seconds)
    except TimeoutError:
        return _timed_out(seconds)
    if error is None:
        return {"result": recordable(future.result())}
    if not isinstance(error, Exception | asyncio.CancelledError):
        raise error
    return {"error": "".join(traceback.format_exception_only(error)).strip()}


def _settle(future: Future[Any], act: Callable[[], Any]) -> None:
    try:
        result = act()
        future.set_result(asyncio.run(result) if inspect.iscoroutine(result) else result)
    except BaseException as error:  # noqa: BLE001 - whatever ends this thread, the run has to hear of it
        future.set_exception(error)


# The runs of one agent's procedures: begun, gone on with, and recorded line by line in `memory/meta/runs`.

BY = Attribution(actor="bot:runs", trigger="workflow")


class Runs:
    """Runs of one agent; a run goes on in one process and thread at a time."""

    def __init__(self, vault: Vault, searcher: Searcher, agent: str, procedures: Procedures) -> None:
        self._vault, self._searcher, self._procedures = vault, searcher, procedures
        self._ledger = Ledger(f"{agent_root(agent)}/memory/meta/runs", Form.LINES)
        self.sleep: Callable[[float], None] = time.sleep
        """Waits so many seconds before a step is tried again."""

    def start(self, name: str, values: Line = EMPTY, *, checklist: bool = False, by: Attribution = BY) -> Run:
        """Begin a run of a procedure as its page is; nothing is done before `resume`. A checklist calls no function."""
        procedure, retries = _runnable(self._procedures.get(name)), self._vault.config.procedures.retries
        calls = {} if checklist else self._procedures.actions
        steps = [
            replace(each, retries=retries) if each.retries is None and each.action in calls else each
            for each in procedure.steps
        ]
        line = begin_line(replace(procedure, steps=tuple(steps)), _json(values), is_checklist=checklist)
        return self.get(str(self._written(line, by)["id"]))

    def run(self, name: str, values: Line = EMPTY, *, checklist: bool = False, by: Attribution = BY) -> Run:
        """Begin a run and go as far as it can."""
        return self.resume(self.start(name, values, checklist=checklist, by=by).id, by=by)

    def resume(self, id: str, values: Line = EMPTY, *, by: Attribution = BY) -> Run:
        """Continue a run, with the values it asks for; a run that has ended is returned unchanged.

        Raises ConflictError if it is running elsewhere.
        """
        if (run := self.get(id)).outcome is not None:
            return run
        with self._alone(id) as run:
            return self._advanced(self._add(run, {"op": "set", "values": _json(values)}, by) if values else run, by)

    def done(
        self,
        id: str,
        *,
        ok: bool = True,
        error: str = "",
        result: Any = None,
        turn: int | None = None,
        by: Attribution = BY,
    ) -> Run:
        """Report how the step went that a run waits for or is in doubt about, and continue.

        With `turn`, taken from `run.waiting`, ConflictError is raised if the run waits for another attempt, for example
        because somebody has reported this one already.
        """
        if ok:
            return self._told(id, RunOutcome.DONE, by, turn, result=recordable(result))
        return self._told(id, RunOutcome.FAILED, by, turn, error=error or "it failed")

    def redo(self, id: str, *, by: Attribution = BY) -> Run:
        """Report that a step in doubt was not done, and try it again."""
        return self._told(id, RunOutcome.FAILED, by, error="was not done", redo=True)

    def skip(self, id: str, *, by: Attribution = BY) -> Run:
        """Skip the step that a run waits for, and continue."""
        return self._told(id, RunOutcome.SKIPPED, by)

    def abandon(self, id: str, *, by: Attribution = BY) -> Run:
        """End a run without undoing anything; it counts neither as a success nor as a failure."""
        with self._alone(id) as run:
            return self._add(run, end_line(run, RunOutcome.ABANDONED, self._vault.home.now()), by)

    def get(self, id: str) -> Run:
        """Return a run with what it waits for."""
        about = without_surrogates(check_string("a run", id))
        lines = self._searcher.index.read(lambda connection: records(connection, "runs", about))
        if (run := fold(lines)) is None:
            wrong = f"the first line of run {id[:80]!r} makes no sense" if lines else f"there is no run {id[:80]!r}"
            raise NotFoundError(wrong, hint="`memfolio workflow list` shows those that there are")
        return self._seen(run)

    def list(self, procedure: str | None = None, *, open_only: bool = False) -> builtins.list[Run]:
        """The runs, the latest first, of one procedure or of all."""
        lines: dict[str, builtins.list[Line]] = {}
        for line in self._searcher.index.read(lambda connection: records(connection, "runs")):
            lines.setdefault(str(line.get("run") or line["id"]), []).append(line)
        found = [run for run in map(fold, lines.values()) if run and procedure in (None, run.procedure)]
        wanted = [self._seen(run) for run in found if not (open_only and run.outcome)]
        return sorted(wanted, key=lambda run: (run.began, run.id), reverse=True)

    def _told(self, id: str, outcome: RunOutcome, by: Attribution, turn: int | None = None, **more: Any) -> Run:
        with self._alone(id) as run:
            waiting = run.waiting
            if waiting is None or waiting.kind == "value" or turn not in (None, waiting.turn):
                waits = (", ".join(waiting.names) or f"step {waiting.step}") if waiting else "nothing"
                raise ConflictError(f"this is not what run {id} waits for, but {waits}", hint="look at it, resume it")
            seconds = (self._vault.home.now() - run.of(waiting.step, waiting.way).began).total_seconds()
            if waiting.way is StepMode.UNDO and outcome is RunOutcome.DONE:
                outcome = RunOutcome.UNDONE
            run = self._add(run, finish_line(waiting.step, waiting.way, outcome, seconds, **more), by)
            return self._advanced(run, by)

    def _advanced(self, run: Run, by: Attribution) -> Run:
        write, now = partial(self._add, by=by), self._vault.home.now
        return self._seen(advance(run, self._procedures.actions, write, now=now, sleep=self.sleep))

    def _add(self, run: Run, line: Line, by: Attribution) -> Run:
        run = after(run, self._written({**line, "run": run.id}, by))
        if run.outcome is not None:  # whoever takes the lock from here on finds that it has ended
            self._vault.drop_lock(_lock(run.id))
        return run

    def _written(self, line: Line, by: Attribution) -> Line:
        """Append a line to the ledger and return it as written; lines that a retry depends on must not be redacted."""
        adding = AddLines(self._ledger, (line,), "X")
        change = Change(operations=(adding,), by=check_attribution(by), action=Action.APPEND)
        cleaned = self._vault.clean(change)
        [kept] = [record for each in cleaned.operations if isinstance(each, AddLines) for record in each.records]
        # A step that resumes with redacted arguments would do something else.
        if _needed(kept) != _needed(line):
            raise InputError(
                "a value or an argument looks like a secret, and would not be kept as it is",
                hint="leave it out, and let the function that needs it find it by itself",
            )
        receipt = self._vault.apply(cleaned)
        return {**kept, "id": receipt.ids[0], "at": receipt.at}

    def _seen(self, run: Run) -> Run:
        """Return the run with what it waits for, even if its time is up."""
        # As of its beginning, when no time limit had passed.
        move = None if run.outcome else following(run, self._procedures.actions, run.began)
        return replace(run, waiting=move if isinstance(move, Waiting) else None)

    @contextmanager
    def _alone(self, id: str) -> Iterator[Run]:
        """Lock a run, so that nobody else continues it, and read its current state."""
        self._unended(id)  # before a lock is made for it
        with ExitStack() as held:
            try:
                held.enter_context(self._vault.holding(_lock(id)))
            except HomeBusyError as error:
                hint = "wait until it has ended or waits, then look at it again"
                raise ConflictError(f"run {id} is under way in another process or thread", hint=hint) from error
            # Read again under the lock: another process may have gone on meanwhile.
            yield self._unended(id)

    def _unended(self, id: str) -> Run:
        run, trouble = self.get(id), self._searcher.index.trouble
        if isinstance(trouble, HomeError | IndexBusyError):  # then lines may be missing
            raise trouble
        if run.outcome is not None:
            raise ConflictError(f"run {run.id} has ended: {run.outcome}", hint="start another one")
        return run


def _runnable(procedure: Procedure) -> Procedure:
    if procedure.is_retired:
        raise ConflictError(f"{procedure.name} is retired", hint="restore it first")
    if procedure.problems:
        raise InputError(f"{procedure.path}, {procedure.problems[0]}", hint="mend the page first")
    if not procedure.steps:
        raise InputError(f"{procedure.name} has no steps", hint="a decision tree is decided, not run")
    return procedure


def _json(values: Line) -> dict[str, Any]:
    """Values as they will be read again; raises InputError for those that cannot be recorded."""
    if not isinstance(values, Mapping):
        raise InputError(f"the values are a {type(values).__name__}", hint="give them by their names")
    return plain_object(values, "values", 1)


def _needed(line: Line) -> tuple[Any, ...]:
    return line.get("values"), [step.get("arguments") for step in line.get("steps", ())]


def _lock(id: str) -> str:
    return f"run-{blake2b(repr(id).encode(), digest_size=8).hexdigest()}"


def scheduled(procedures: Procedures, runs: Runs) -> Iterator[str]:
    """Yield the procedures that became due since they were last done, in words."""
    last = {run.procedure: run.began for run in reversed(runs.list())} if procedures.due() else {}
    return (f"{each.procedure.title} (at {each.at:%H:%M})" for each in procedures.due(last=last))
