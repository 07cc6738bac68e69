"""How well procedures work, by their latest runs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from memfolio.procedures.procedure import Procedure
from memfolio.procedures.run import Outcome, Run
from memfolio.tuning import Practising


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
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


class Failing(NamedTuple):
    """A procedure that fails too often, and why that is so."""

    procedure: str
    reason: str


def measure(runs: Iterable[Run], window: int) -> Metrics:
    """How well the runs of one procedure went, the latest `window` of them, and of each version."""
    counted = sorted((run for run in runs if run.counts), key=lambda run: run.began)
    if not (latest := counted[-window:]):
        return Metrics()
    versions: dict[str, tuple[int, int]] = {}
    for version in dict.fromkeys(run.version for run in counted):
        own = [run for run in counted if run.version == version][-window:]
        versions[version] = len(own), _succeeded(own)
    rates = [good / count for count, good in versions.values()]
    failed = Counter(run.failed_step for run in latest if run.failed_step is not None)
    return Metrics(
        runs=len(latest),
        succeeded=_succeeded(latest),
        success_rate=_succeeded(latest) / len(latest),
        average_seconds=round(sum(run.seconds for run in latest) / len(latest), 3),
        last_run=latest[-1].began,
        failing_steps=dict(failed.most_common()),
        versions=versions,
        success_rate_change=rates[-1] - rates[-2] if len(rates) > 1 else None,
    )


def failing(procedures: Iterable[Procedure], runs: Sequence[Run], practising: Practising) -> list[Failing]:
    """The procedures that went well too seldom, of those with enough runs since they were last restored."""
    found: list[Failing] = []
    for each in procedures:
        seen = measure([run for run in runs if run.procedure == each.name and _is_fresh(run, each)], practising.window)
        if not each.is_retired and seen.runs >= practising.runs and (seen.success_rate or 0) < practising.failing:
            reason = f"{seen.succeeded} of the latest {seen.runs} runs went well, less than {practising.failing:.0%}"
            found.append(Failing(each.name, reason))
    return found


def _succeeded(runs: Iterable[Run]) -> int:
    return sum(run.outcome is Outcome.SUCCEEDED for run in runs)


def _is_fresh(run: Run, procedure: Procedure) -> bool:
    """Whether a run began after the day of the last restore: whoever restores a procedure lets it begin anew."""
    days = [each.at for each in procedure.history if each.kind in ("retired", "restored")]
    return all(run.began.isoformat()[: len(day)] > day for day in days)
