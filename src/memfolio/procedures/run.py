"""One run of a procedure, as the lines about it tell it. Values, and a fold without side effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import Any

from memfolio.clock import EPOCH
from memfolio.procedures.procedure import OnError, Procedure, Step
from memfolio.state import moment

Line = Mapping[str, Any]


class Way(StrEnum):
    """How a step is tried: as it says, by what it says to do instead, or taking it back."""

    DO = "do"
    FALLBACK = "fallback"
    UNDO = "undo"


class Outcome(StrEnum):
    """What became of a try, or of a run."""

    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
    UNDONE = "undone"
    SUCCEEDED = "succeeded"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """How often a step was tried in one way, and what became of the latest try."""

    attempts: int = 0
    failures: int = 0
    outcome: Outcome | None = None
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
        return self.outcome in (Outcome.DONE, Outcome.SKIPPED, Outcome.UNDONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What a run waits for before it goes on."""

    kind: str
    """`step`: do it and tell how it went; `doubt`: say whether it was done; `value`: give the values it names."""
    step: int
    text: str
    way: Way = Way.DO
    attempt: int = 1
    expect: str = ""
    names: tuple[str, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    """What to do about which error, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run with the steps of the page as it was when the run began.

    Step 0 is what must hold before the first step, and the number after the last step what must hold at the end.
    """

    id: str
    procedure: str
    version: str = ""
    hash: str = ""
    is_checklist: bool = False
    given: dict[str, Any] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    timeout: timedelta | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    began: datetime = EPOCH
    tried: dict[str, Tried] = field(default_factory=dict)
    """By the step's number, with `:fallback` or `:undo` for the other ways."""
    is_aborted: bool = False
    failed_step: int | None = None
    error: str = ""
    outcome: Outcome | None = None
    seconds: float = 0.0
    waiting: Waiting | None = field(default=None, compare=False)
    page: str = field(default="", compare=False)
    """What became of the page since the run began: `changed`, `retired` or `gone`; empty where it is the same."""

    @property
    def state(self) -> str:
        """How it ended, else `waiting`, or `open` where it is under way or was interrupted."""
        return self.outcome or ("waiting" if self.waiting else "open")

    def of(self, step: int, way: Way = Way.DO) -> Tried:
        return self.tried.get(key_of(step, way), Tried())

    @property
    def values(self) -> dict[str, Any]:
        """What was given, and what results that are objects have added."""
        return reduce(or_, (each for each in self.results.values() if isinstance(each, dict)), self.given)

    @property
    def results(self) -> dict[int, Any]:
        """What the completed steps gave, by their numbers, as it was recorded."""
        done = [(key, tried) for key, tried in self.tried.items() if tried.outcome is Outcome.DONE]
        return {int(key.partition(":")[0]): tried.result for key, tried in done}


def key_of(step: int, way: Way) -> str:
    """What names a step done in one way, within a run."""
    return f"{step}" if way is Way.DO else f"{step}:{way}"


def begin_line(procedure: Procedure, values: Line, *, retries: int, is_checklist: bool) -> dict[str, Any]:
    """The first line of a run, with all that it needs of the page; `retries` for steps that a function does."""
    return {
        "op": "begin",
        "procedure": procedure.name,
        "version": procedure.version,
        "hash": procedure.hash,
        "mode": "checklist" if is_checklist else "call",
        "values": values,
        "steps": [_step_line(step, retries) for step in procedure.steps],
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
    match line.get("op"), line.get("step"):
        case "set", _ if isinstance(line.get("values"), Mapping):
            return replace(run, given={**run.given, **line["values"]})
        case "start" | "finish", int(step):
            way = Way(line["way"]) if line.get("way") in tuple(Way) else Way.DO
            tried = (_started if line["op"] == "start" else _finished)(run.of(step, way), line)
            return replace(run, tried={**run.tried, key_of(step, way): tried})
        case "abort", int(step):
            return replace(run, is_aborted=True, failed_step=step, error=str(line.get("error")))
        case "end", _ if line.get("outcome") in tuple(Outcome):
            return replace(run, outcome=Outcome(line["outcome"]), seconds=_seconds(line))
    return run


def _begun(line: Line) -> Run | None:
    try:
        return Run(
            id=str(line["id"]),
            procedure=str(line["procedure"]),
            version=str(line["version"]),
            hash=str(line["hash"]),
            before=tuple(map(str, line["before"])),
            after=tuple(map(str, line["after"])),
            is_checklist=line.get("mode") == "checklist",
            given=dict(line["values"]),
            steps=tuple(map(_step, line["steps"])),
            timeout=_span(line["timeout"]),
            errors=dict(line["errors"]),
            began=moment(line.get("at")) or EPOCH,
        )
    except (KeyError, TypeError, ValueError, OverflowError):  # written by hand, and not as it should be
        return None


def _started(tried: Tried, line: Line) -> Tried:
    began, is_handed = moment(line.get("at")) or EPOCH, line.get("handed") is True
    return replace(tried, attempts=tried.attempts + 1, outcome=None, began=began, is_handed=is_handed)


def _finished(tried: Tried, line: Line) -> Tried:
    if (outcome := line.get("outcome")) not in tuple(Outcome):
        return tried
    return replace(
        tried,
        failures=tried.failures + (outcome == Outcome.FAILED and line.get("redo") is not True),
        outcome=Outcome(outcome),
        seconds=tried.seconds + _seconds(line),
        error=str(line.get("error") or ""),
        result=line.get("result"),
        timed_out=line.get("timed_out") is True,
    )


_PLAIN = Step(number=0, text="")


def _step_line(step: Step, retries: int) -> dict[str, Any]:
    """A step as JSON, without what it has like every other."""
    line = {each.name: getattr(step, each.name) for each in fields(Step)}
    line = {name: value for name, value in line.items() if value != getattr(_PLAIN, name)}
    if step.retries is None and step.action:
        line["retries"] = retries
    told = {"arguments": dict(step.arguments), "timeout": _total(step.timeout)}
    return {"number": step.number, "text": step.text, **line, **told}


def _step(line: Line) -> Step:
    told = {"timeout": _span(line["timeout"]), "on_error": OnError(line.get("on_error", OnError.ABORT))}
    return Step(**{**line, **told})


def _span(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)


def _total(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()


def _seconds(line: Line) -> float:
    value = line.get("seconds")
    return float(value) if isinstance(value, int | float) and value >= 0 else 0.0
