"""How a run goes on: what comes next follows from its state alone; functions are called, all else is handed over."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, product
from typing import Any, NamedTuple

from memfolio.errors import InputError
from memfolio.procedures.condition import read_condition
from memfolio.procedures.procedure import OnError, Step
from memfolio.procedures.run import Line, Outcome, Run, Tried, Waiting, Way, key_of
from memfolio.vault.format.content import without_surrogates
from memfolio.vault.format.fields import plain

Actions = Mapping[str, Callable[..., Any]]
Write = Callable[[Run, Line], Run]
"""Adds a line about a run, durably; gives the run after it."""
PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds before the first further try; before each one after it twice as many, up to the longest."""
LONG = 4000
"""How many characters of a result or an error are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a function learns about the step that it does, as its first argument."""

    run: str
    step: int
    attempt: int
    key: str
    """The same for every try of this step in this run: what is done under it once need not be done again."""
    values: Mapping[str, Any]
    results: Mapping[int, Any]
    """What earlier steps gave, by their numbers, as it was recorded."""


class Call(NamedTuple):
    """A function that is to be called for a step."""

    step: Step
    way: Way
    function: Callable[..., Any]


Move = Call | Waiting | Line
"""A function to call, something to wait for, or the line that says what comes of the state by itself."""


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
    """What comes next in a run that has not ended; the same state always gives the same."""
    actions = {} if run.is_checklist else actions
    if late := next(_late(run, now), None):
        return late
    if run.is_aborted:
        return next(_undoing(run, actions), end_line(run, Outcome.FAILED, now))
    if run.timeout is not None and now - run.began > run.timeout:
        left = (step.number for step in run.steps if next(_step(run, step, actions), None))
        error = f"timed out: the run took longer than {run.timeout.total_seconds():g} s"
        return _line("abort", next(left, len(run.steps)), error=error)
    steps = (move for step in run.steps for move in _step(run, step, actions))
    stages = (_checks(run, 0, run.before), steps, _checks(run, len(run.steps) + 1, run.after))
    return next(chain.from_iterable(stages), end_line(run, Outcome.SUCCEEDED, now))


def finish_line(step: int, way: Way, outcome: Outcome, seconds: float = 0.0, *, error: str = "", **more: Any) -> Line:
    """The line that says how a try went."""
    why = {"error": without_surrogates(error)[:LONG]} if error else {}
    return _line("finish", step, way, outcome=outcome.value, seconds=round(max(0.0, seconds), 3), **why, **more)


def end_line(run: Run, outcome: Outcome, now: datetime) -> Line:
    """The last line of a run."""
    seconds = max(0.0, round((now - run.began).total_seconds(), 3))
    return {"op": "end", "outcome": outcome.value, "seconds": seconds}


def recordable(result: Any) -> Any:
    """A result as a line can hold it: what is no JSON by its type, what is long cut."""
    try:
        text = without_surrogates(json.dumps(plain(result, "result", 1), ensure_ascii=False))
    except InputError:
        return f"<{type(result).__name__}>"
    return json.loads(text) if len(text) <= LONG else f"{text[:LONG]}…"


def _line(op: str, step: int, way: Way = Way.DO, **more: Any) -> Line:
    return {"op": op, "step": step, **more} | ({} if way is Way.DO else {"way": way.value})


def _late(run: Run, now: datetime) -> Iterator[Line]:
    """Tries that were handed over, of which nobody has told while there was time."""
    for step, way in product(run.steps, Way):
        tried = run.of(step.number, way)
        if tried.is_open and tried.is_handed and step.timeout is not None and now - tried.began > step.timeout:
            yield finish_line(step.number, way, Outcome.FAILED, **_timed_out(step.timeout.total_seconds()))


def _timed_out(seconds: float) -> dict[str, Any]:
    return {"error": f"timed out after {seconds:g} s", "timed_out": True}


def _checks(run: Run, number: int, conditions: Iterable[str]) -> Iterator[Move]:
    """What must hold: what the values decide is decided, all else is handed over in words.

    Values that came later do not put in question what held before the first step.
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
    """What a step still needs: nothing, once it is over."""
    tried, instead = run.of(step.number), run.of(step.number, Way.FALLBACK)
    if tried.is_over or instead.is_over:
        return
    if step.condition and not tried.attempts:
        yield from _condition(run, step)
    if tried.is_open or not tried.failures or _may_try_again(step, tried):
        yield _attempt(run, step, Way.DO, actions)
    elif step.on_error is OnError.FALLBACK and step.fallback and not instead.failures:
        yield _attempt(run, step, Way.FALLBACK, actions)
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
        yield finish_line(step.number, Way.DO, Outcome.SKIPPED)


def _undoing(run: Run, actions: Actions) -> Iterator[Move]:
    """Completed steps are taken back, the latest first; one that cannot be does not stop the others."""
    for step in reversed(run.steps):
        tried = run.of(step.number, Way.UNDO)
        if step.undo and step.number in run.results and not (tried.is_over or tried.failures):
            yield _attempt(run, step, Way.UNDO, actions)


def _attempt(run: Run, step: Step, way: Way, actions: Actions) -> Move:
    """A try of a step; one that is open waits for the agent that has it, or for word of whether it was done."""
    tried = run.of(step.number, way)
    name, text = {
        Way.DO: (step.action, step.text),
        Way.FALLBACK: (step.fallback, f"Instead of: {step.text}: {step.fallback}"),
        Way.UNDO: (step.undo, f"Take back: {step.text}: {step.undo}"),
    }[way]
    if tried.is_open and (tried.is_handed or not step.repeatable):
        return Waiting(
            kind="step" if tried.is_handed else "doubt",
            step=step.number,
            text=text if tried.is_handed else f"Was this done? {text}",
            way=way,
            turn=sum(each.attempts for each in run.tried.values()),
            expect=(step.expect or "") if way is Way.DO else "",
        )
    if name is not None and name in actions:
        return Call(step, way, actions[name])
    return _line("start", step.number, way, handed=True)


def _called(run: Run, call: Call, write: Write, now: datetime, sleep: Callable[[float], None]) -> Run:
    """Try a step once: its start is recorded, then what came of it; where it may be tried again, after a pause."""
    (step, way, function), number = call, call.step.number
    run = write(run, _line("start", number, way))
    attempt, key = run.of(number, way).attempts, f"{run.id}:{key_of(number, way)}"
    values, results = deepcopy((run.values, run.results))
    context = Context(run=run.id, step=number, attempt=attempt, key=key, values=values, results=results)
    began = time.monotonic()
    came = _result(lambda: function(context, **step.arguments), _patience(run, call, now))
    outcome = Outcome.FAILED if "error" in came else Outcome.UNDONE if way is Way.UNDO else Outcome.DONE
    run = write(run, finish_line(number, way, outcome, time.monotonic() - began, **came))
    tried = run.of(number, way)
    if way is Way.DO and outcome is Outcome.FAILED and _may_try_again(step, tried):
        sleep(min(LONGEST_PAUSE, PAUSE * 2 ** min(tried.failures - 1, 10)))
    return run


def _patience(run: Run, call: Call, now: datetime) -> float:
    """How many seconds a function has: what its step says, and no more than the run has left, unless it takes back."""
    spent = max(timedelta(), now - run.began)
    left = run.timeout - spent if run.timeout is not None and call.way is not Way.UNDO else None
    spans = [span.total_seconds() for span in (call.step.timeout, left) if span is not None]
    return min([*spans, threading.TIMEOUT_MAX])


def _result(act: Callable[[], Any], seconds: float) -> Line:
    """What a function gave, or why it failed; it has a thread of its own, which is left behind when its time is up.

    What is meant to end the program, such as KeyboardInterrupt, is raised: then the step is in doubt.
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
