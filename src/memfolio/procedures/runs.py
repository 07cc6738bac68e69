"""The runs of one agent's procedures: started, resumed, and recorded line by line."""

from __future__ import annotations

import asyncio
import builtins
import inspect
import json
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import blake2b
from itertools import chain, product
from typing import Any, NamedTuple

from memfolio.errors import ConflictError, HomeBusyError, HomeError, IndexBusyError, InputError, NotFoundError
from memfolio.index.lookup import records
from memfolio.procedures.procedure import OnError, Procedure, Step, read_condition
from memfolio.procedures.procedures import Procedures
from memfolio.procedures.run import Line, Run, RunOutcome, StepMode, Tried, Waiting, begin_line, fold, key_of
from memfolio.procedures.run import after as after_line
from memfolio.recall.query import check_text
from memfolio.recall.searcher import Searcher
from memfolio.types import EMPTY, Action, Attribution, check_attribution, frozen
from memfolio.vault.change import AddLines, Change
from memfolio.vault.fields import without_surrogates
from memfolio.vault.lines import plain, plain_object
from memfolio.vault.paths import Form, Ledger, agent_root
from memfolio.vault.vault import Vault

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
    """The same for every try of this step in this run: what is done under it once need not be done again."""
    values: Mapping[str, Any]
    results: Mapping[int, Any]
    """What earlier steps gave, by their numbers, as it was recorded."""


class Call(NamedTuple):
    """A function that is to be called for a step."""

    step: Step
    way: StepMode
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
        return next(_undoing(run, actions), end_line(run, RunOutcome.FAILED, now))
    if run.timeout is not None and now - run.began > run.timeout:
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
    """A result as a line can hold it: what is no JSON by its type, what is long cut."""
    try:
        text = without_surrogates(json.dumps(plain(result, "result", 1), ensure_ascii=False))
    except InputError:
        return f"<{type(result).__name__}>"
    return json.loads(text) if len(text) <= LONG else f"{text[:LONG]}…"


def _line(op: str, step: int, way: StepMode = StepMode.DO, **more: Any) -> Line:
    return {"op": op, "step": step, **more} | ({} if way is StepMode.DO else {"way": way.value})


def _late(run: Run, now: datetime) -> Iterator[Line]:
    """Tries that were handed over, of which nobody has told while there was time."""
    for step, way in product(run.steps, StepMode):
        tried = run.of(step.number, way)
        if tried.is_open and tried.is_handed and step.timeout is not None and now - tried.began > step.timeout:
            yield finish_line(step.number, way, RunOutcome.FAILED, **_timed_out(step.timeout.total_seconds()))


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
    """Completed steps are taken back, the latest first; one that cannot be does not stop the others."""
    for step in reversed(run.steps):
        tried = run.of(step.number, StepMode.UNDO)
        if step.undo and step.number in run.results and not (tried.is_over or tried.failures):
            yield _attempt(run, step, StepMode.UNDO, actions)


def _attempt(run: Run, step: Step, way: StepMode, actions: Actions) -> Move:
    """A try of a step; one that is open waits for the agent that has it, or for word of whether it was done."""
    tried = run.of(step.number, way)
    name, text = {
        StepMode.DO: (step.action, step.text),
        StepMode.FALLBACK: (step.fallback, f"Instead of: {step.text}: {step.fallback}"),
        StepMode.UNDO: (step.undo, f"Take back: {step.text}: {step.undo}"),
    }[way]
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
    """Try a step once: its start is recorded, then what came of it; where it may be tried again, after a pause."""
    (step, way, function), number = call, call.step.number
    run = write(run, _line("start", number, way))
    attempt, key = run.of(number, way).attempts, f"{run.id}:{key_of(number, way)}"
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
    """How many seconds a function has: what its step says, and no more than the run has left, unless it takes back."""
    spent = max(timedelta(), now - run.began)
    left = run.timeout - spent if run.timeout is not None and call.way is not StepMode.UNDO else None
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
        """Go on with a run, with values that it asks for; one that has ended is returned as it is.

        Raises ConflictError where it is under way elsewhere.
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
        """Tell how the step went that a run waits for, or of which it does not know, and go on.

        With `turn`, that of `run.waiting`, ConflictError is raised where the run waits for another try, as when
        somebody told of it already.
        """
        if ok:
            return self._told(id, RunOutcome.DONE, by, turn, result=recordable(result))
        return self._told(id, RunOutcome.FAILED, by, turn, error=error or "it failed")

    def redo(self, id: str, *, by: Attribution = BY) -> Run:
        """Say that a step in doubt was not done, and go on with another try of it."""
        return self._told(id, RunOutcome.FAILED, by, error="was not done", redo=True)

    def skip(self, id: str, *, by: Attribution = BY) -> Run:
        """Leave out the step that a run waits for, and go on."""
        return self._told(id, RunOutcome.SKIPPED, by)

    def abandon(self, id: str, *, by: Attribution = BY) -> Run:
        """End a run where it is; nothing is taken back, and it counts neither as a success nor as a failure."""
        with self._alone(id) as run:
            return self._add(run, end_line(run, RunOutcome.ABANDONED, self._vault.home.now()), by)

    def get(self, id: str) -> Run:
        """A run as it stands, what it waits for, and whether its page has changed since."""
        about = without_surrogates(check_text("a run", id))
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
        run = after_line(run, self._written({**line, "run": run.id}, by))
        if run.outcome is not None:  # whoever takes the lock from here on finds that it has ended
            self._vault.drop_lock(_lock(run.id))
        return run

    def _written(self, line: Line, by: Attribution) -> Line:
        """Add a line to the ledger; gives it as it stands there. What is asked for again must not be changed on it."""
        adding = AddLines(self._ledger, (line,), "X")
        change = Change(operations=(adding,), by=check_attribution(by), action=Action.APPEND)
        cleaned = self._vault.clean(change)
        [kept] = [record for each in cleaned.operations if isinstance(each, AddLines) for record in each.records]
        if _needed(kept) != _needed(line):
            raise InputError(
                "a value or an argument looks like a secret, and would not be kept as it is",
                hint="leave it out, and let the function that needs it find it by itself",
            )
        receipt = self._vault.apply(cleaned)
        return {**kept, "id": receipt.ids[0], "at": receipt.at}

    def _seen(self, run: Run) -> Run:
        """The run with what it waits for, though its time be up."""
        move = None if run.outcome else following(run, self._procedures.actions, run.began)
        return replace(run, waiting=move if isinstance(move, Waiting) else None)

    @contextmanager
    def _alone(self, id: str) -> Iterator[Run]:
        """The run as it is, with which nobody else can go on meanwhile; what of it is on disk is seen whole."""
        self._unended(id)  # before a lock is made for it
        with ExitStack() as held:
            try:
                held.enter_context(self._vault.holding(_lock(id)))
            except HomeBusyError as error:
                hint = "wait until it has ended or waits, then look at it again"
                raise ConflictError(f"run {id} is under way in another process or thread", hint=hint) from error
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
    """The procedures whose time of day has come since they were last done, in words."""
    last = {run.procedure: run.began for run in reversed(runs.list())} if procedures.due() else {}
    return (f"{each.procedure.title} (at {each.at:%H:%M})" for each in procedures.due(last=last))
