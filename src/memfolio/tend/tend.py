"""Tending: runs what is due for one agent, one process at a time, each job on its own and within its time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from memfolio.errors import DiskError, HomeBusyError, InputError, MemfolioError
from memfolio.govern.proposals.proposals import Proposals
from memfolio.index.counts import last_runs
from memfolio.index.index import Index
from memfolio.intake import nearest
from memfolio.llm.model import Model
from memfolio.recall.asking import arguments
from memfolio.recall.library import Library
from memfolio.state import moment
from memfolio.tend.due import is_due
from memfolio.tend.hand import Hand
from memfolio.tend.jobs import JOBS, Job, Tended
from memfolio.vault.disk import disk_errors
from memfolio.vault.lock import FileLock
from memfolio.vault.vault import Vault

LOCK = "tend.lock"
LOOKED = "tended"
"""In the home's inside: when each job was last looked after, by agent. Only a hint: what a job did is in the trail."""

Told = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What one job did, or would do."""

    job: str
    did: str = ""
    changes: tuple[int, ...] = ()
    diff: str = ""
    notes: tuple[str, ...] = ()
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tending:
    """What was done, and what has to wait for the next time because the time was up."""

    agent: str
    done: tuple[Done, ...]
    waiting: tuple[str, ...] = ()
    dry_run: bool = False


def tend(
    vault: Vault,
    library: Library,
    agent: str,
    *,
    proposals: Proposals,
    reflect: Callable[[bool], str],
    model: Model | None = None,
    jobs: Sequence[str] = (),
    sessions: Sequence[str] = (),
    dry_run: bool = False,
    told: Told = lambda job, done, total: None,
) -> Tending:
    """Run what is due, or these jobs whether they are due or not. Raises HomeBusyError where another process tends.

    With `sessions`, these conversations are over, and are learned from.
    """
    now, end = vault.home.now(), time.monotonic() + vault.config.tend.seconds
    asked = arguments.words("session", sessions)
    wanted = [_named(name) for name in dict.fromkeys((*["sessions"][: len(asked)], *arguments.words("job", jobs)))]
    done, waiting = list[Done](), list[str]()
    with alone(vault, dry_run=dry_run):
        looked = {} if wanted else _looked(vault, library.index, agent, now)
        due = wanted or [job for job in JOBS if _is_due(vault, job, looked.get(job.name), now)]
        for job in due:
            if time.monotonic() > end:
                waiting.append(job.name)
                continue
            tended = Tended(
                hand=Hand(vault=vault, agent=agent, now=now, dry_run=dry_run),
                library=library,
                model=model,
                proposals=proposals,
                reflect=reflect,
                is_asked_for=bool(wanted),
                sessions=asked,
                enough=lambda: time.monotonic() > end,
                told=partial(told, job.name),
            )
            done.append(_run(job, tended))
        if not dry_run:
            try:
                _look(vault, agent, [each.job for each in done if not each.error], now)
            except DiskError as problem:  # what the jobs did stays done, and is to be told
                done = [replace(each, error=each.error or problem.message) for each in done]
    return Tending(agent=agent, done=tuple(done), waiting=tuple(waiting), dry_run=dry_run)


@contextmanager
def alone(vault: Vault, *, dry_run: bool = False, patience: float = 0) -> Iterator[None]:
    """Keep other processes from tending this home meanwhile; what they write goes on. Who only looks needs no lock.

    Raises HomeBusyError where one tends for longer than `patience` seconds, and whatever keeps the home from being
    written.
    """
    if dry_run:
        yield
        return
    if vault.trouble is not None and not vault.may_pass:
        raise vault.trouble
    lock = FileLock(vault.home.internal / LOCK, vault.home.disk, timeout=patience)
    try:
        with ExitStack() as held:
            try:
                with disk_errors(vault.home.root):
                    held.enter_context(lock())
            except HomeBusyError as error:
                hint = "wait until it is done; what is due is done by it, or the next time"
                raise HomeBusyError("another process is tending this home", hint=hint) from error
            yield
    finally:
        lock.close()


def _named(name: str) -> Job:
    job = next((job for job in JOBS if job.name == name), None)
    if job is None:
        raise InputError(f"there is no job {name[:40]!r}", hint=nearest(name, [job.name for job in JOBS]))
    return job


def _is_due(vault: Vault, job: Job, last: datetime | None, now: datetime) -> bool:
    config = vault.config
    return is_due(job.period, last, now, vault.home.zone, config.tend.hour, config.mind.every)


def _run(job: Job, tended: Tended) -> Done:
    hand, began = tended.hand, time.monotonic()
    tended.told(0, 0)
    did = error = ""
    try:
        did = job.run(tended)
    except MemfolioError as problem:  # the other jobs go on
        error = problem.message
    return Done(
        job=job.name,
        did=did or ("brought up to date" if hand.receipts else ""),
        changes=tuple(receipt.seq for receipt in hand.receipts),
        diff=hand.diff,
        notes=tuple(hand.notes),
        error=error,
        seconds=round(time.monotonic() - began, 3),
    )


def _looked(vault: Vault, index: Index, agent: str, now: datetime) -> dict[str, datetime]:
    """When each job was last looked after: by what it did, or by the hint that there was nothing to do.

    A time that has not come yet is of a clock that went wrong.
    """
    found: dict[str, datetime] = {}
    for job, at in [*index.read(last_runs).items(), *_hints(vault).get(agent, {}).items()]:
        if (time := moment(at)) is not None and time <= now:
            found[job] = max(time, found.get(job, time))
    return found


def _hints(vault: Vault) -> dict[str, dict[str, str]]:
    try:
        with disk_errors(vault.home.root):
            found = json.loads(vault.home.disk.read(vault.home.internal / LOOKED) or b"{}")
    except ValueError:
        return {}
    agents = found if isinstance(found, dict) else {}
    return {str(agent): _times(jobs) for agent, jobs in agents.items() if isinstance(jobs, dict)}


def _times(jobs: Mapping[str, object]) -> dict[str, str]:
    return {str(job): at for job, at in jobs.items() if isinstance(at, str) and moment(at)}


def _look(vault: Vault, agent: str, jobs: Sequence[str], now: datetime) -> None:
    hints = _hints(vault)
    before = hints.get(agent, {})
    periodic = {job.name for job in JOBS if job.period != "always"}
    after = before | {job: now.isoformat() for job in jobs if job in periodic}
    if after != before:
        with disk_errors(vault.home.root):
            vault.home.disk.put(vault.home.internal / LOOKED, json.dumps({**hints, agent: after}).encode())
