"""Maintenance: runs the jobs that are due for one agent, one process at a time, each within its time."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from memfolio.arguments import nearest
from memfolio.embed.vectorizer import Embedded
from memfolio.errors import DiskError, HomeBusyError, InputError, MemfolioError
from memfolio.govern.proposals import Proposals
from memfolio.index.index import Index
from memfolio.index.lookup import last_runs
from memfolio.llm.model import Model
from memfolio.recall import query
from memfolio.recall.library import Library
from memfolio.state import moment
from memfolio.tend.hand import Hand, tender
from memfolio.text import counted
from memfolio.types import frozen
from memfolio.vault.vault import Vault

# When a job is due: by the clock on the wall of the home, once in each period, and late rather than never. Pure.


class JobSchedule(StrEnum):
    """How often a job is due."""

    ALWAYS = "always"
    BEAT = "beat"
    """Whenever a span has passed that is configured."""
    DAILY = "daily"
    WEEKLY = "weekly"


def is_due(
    period: JobSchedule, last: datetime | None, now: datetime, zone: tzinfo, hour: int, beat: timedelta = timedelta(0)
) -> bool:
    """Whether the time of a job has come since it was last looked after."""
    if period is JobSchedule.BEAT and last is not None:
        return now - last >= beat
    return period is JobSchedule.ALWAYS or last is None or last < latest(period, now, zone, hour)


def latest(period: JobSchedule, now: datetime, zone: tzinfo, hour: int) -> datetime:
    """The last moment before `now` at which a job of this period fell due.

    A week begins on Monday, so that the one before is over.
    """
    here = now.astimezone(zone)
    mark = here.replace(hour=hour, minute=0, second=0, microsecond=0)
    if mark > here:
        mark -= timedelta(days=1)
    if period is JobSchedule.WEEKLY:
        mark -= timedelta(days=mark.weekday())
    return mark


# The jobs that look after an agent's memory, in the order in which they are done.

LATELY = timedelta(days=7)
"""Conversations that have been over for longer have taught what they could."""


@frozen
class JobContext:
    """What a job has at hand."""

    hand: Hand
    library: Library
    proposals: Proposals
    reflect: Callable[[bool], str]
    """Reflects, or with True only tries, and says what came of it."""
    model: Model | None = None
    is_asked_for: bool = False
    """Whether somebody wants it done at once, due or not."""
    sessions: tuple[str, ...] = ()
    """The conversations that it is about; none for all."""
    enough: Callable[[], bool] = field(default=lambda: False)
    """Whether the time is up, to be asked between two changes."""
    progress: Callable[[int, int], None] = field(default=lambda done, total: None)

    @property
    def index(self) -> Index:
        return self.library.index


class Job(NamedTuple):
    """Something that is due again and again; `run` says in a few words what it did, or nothing."""

    name: str
    period: JobSchedule
    run: Callable[[JobContext], str]
    doc: str


def _sessions(context: JobContext) -> str:
    from memfolio.tend.sessions import Ended, hear_out

    settings = context.hand.vault.config.learn
    if not settings.enabled:
        return ""
    asked = context.is_asked_for
    ended = Ended(only=context.sessions, is_over=asked, again=asked)
    heard = hear_out(
        context.hand,
        context.index,
        settings,
        ended,
        model=context.model,
        enough=context.enough,
        progress=context.progress,
    )
    if not heard:
        return ""
    learned, conflicts = sum(each.learned for each in heard), sum(each.conflicts for each in heard)
    told = f"{_many(learned, 'statement') or 'nothing'} learned"
    return _listed(_many(len(heard), "conversation"), told, _many(conflicts, "conflict"))


def _consolidate(context: JobContext) -> str:
    from memfolio.tend.consolidate import consolidate

    settings = context.hand.vault.config.consolidate
    found = consolidate(context.hand, context.index, settings, context.model)
    promoted = f"{len(found.promoted)} promoted" if found.promoted else ""
    return _listed(_many(len(found.groups), "summary", "summaries"), promoted)


def _graph(context: JobContext) -> str:
    from memfolio.graph.grow import grow

    return _many(len(grow(context.hand, context.index, _classes(context)).pages), "page")


def _classes(context: JobContext) -> list[str]:
    """The classes of the ontology as types of entities: `sales-order`."""
    from memfolio.knowledge.ontology.ontology import Ontology
    from memfolio.knowledge.ontology.term import TermKind, spoken

    terms = Ontology(context.hand.vault, context.library, context.hand.agent).terms()
    return [spoken(each.name, each.kind).lower().replace(" ", "-") for each in terms if each.kind is TermKind.CLASS]


def _patterns(context: JobContext) -> str:
    from memfolio.tend.patterns import learn_patterns

    return _many(len(learn_patterns(context.hand, context.index, context.hand.now)), "pattern")


def _day(context: JobContext) -> str:
    from memfolio.tend.digest import close_days

    return _many(len(close_days(context.hand, context.index)), "day")


def _digest(context: JobContext) -> str:
    from memfolio.tend.digest import build

    return _many(len(build(context.hand, context.index, model=context.model).paths), "digest")


def _retention(context: JobContext) -> str:
    from memfolio.tend.retention import retain

    found = retain(context.hand, context.index)
    moved = [_many(found.memories, "memory", "memories"), _many(len(found.pages), "page")]
    archived = " and ".join(filter(None, moved))
    packed = _many(len(found.compressed), "log")
    return _listed(archived and f"{archived} archived", packed and f"{packed} compressed")


def _backup(context: JobContext) -> str:
    from memfolio.tend.backup import back_up, backup_folder, backups

    hand, settings = context.hand, context.hand.vault.config.backup
    if not settings.folder:
        return ""
    folder = backup_folder(hand.vault)
    made = backups(hand.vault, folder) if folder.is_dir() else []
    if made and hand.now.timestamp() - made[-1].path.stat().st_mtime < settings.every.total_seconds():
        return ""
    return back_up(hand.vault, folder, settings.keep, hand.now, dry_run=hand.dry_run).path.name


def _proposals(context: JobContext) -> str:
    """What nobody decided on in time is dropped, and what needs nobody's leave is committed."""
    proposals, hand = context.proposals, context.hand
    if hand.dry_run:
        return ""
    dropped, made = _many(len(proposals.expire(hand.now)), "proposal"), _many(len(proposals.review()), "proposal")
    return _listed(dropped and f"{dropped} expired", made and f"{made} committed")


def _reflect(context: JobContext) -> str:
    from memfolio.govern.reflection.log import due

    hand = context.hand
    is_due = due(hand.vault, context.index, hand.agent, hand.now) is not None
    return context.reflect(hand.dry_run) if is_due else ""


def _watch(context: JobContext) -> str:
    from memfolio.govern.alerts import watch

    hand = context.hand
    raised = [] if hand.dry_run else watch(hand.vault, context.library, hand.agent, hand.now)
    kinds = ", ".join(dict.fromkeys(line.by.trigger.partition(":")[0] for line in raised))
    return f"{_many(len(raised), 'alert')}: {kinds}" if raised else ""


def _heartbeat(context: JobContext) -> str:
    """Digests of weeks that are over are made by their own job."""
    from memfolio.mind.heartbeat import beat

    found = beat(context.hand, context.library)
    context.hand.notes.extend((*found.notes, *found.problems))
    return _listed(
        _many(found.stale_intentions_pruned, "intention let go", "intentions let go"),
        _many(found.desires_moved, "desire moved", "desires moved"),
        _many(found.beliefs_fed, "belief from facts", "beliefs from facts"),
        _many(found.conflicts_detected, "conflict"),
    )


def _procedures(context: JobContext) -> str:
    """Learn from what went well, and let go of what fails."""
    from memfolio.procedures.procedures import Procedures
    from memfolio.procedures.run import failing
    from memfolio.procedures.runs import Runs

    hand, settings = context.hand, context.hand.vault.config.procedures
    procedures = Procedures(hand.vault, context.library, hand.agent, model=context.model)
    runs, by = Runs(hand.vault, context.library, hand.agent, procedures), tender("procedures")
    since = None if context.is_asked_for else hand.now - LATELY
    learned = procedures.learn(since=since, by=by, dry_run=hand.dry_run) if settings.learn else []
    retired = failing(procedures.list(), runs.list(), settings)
    for each in retired:
        procedures.retire(each.procedure, each.reason, by=by, dry_run=hand.dry_run)
    told = _many(len(learned), "procedure learned", "procedures learned")
    return _listed(told, _many(len(retired), "procedure retired", "procedures retired"))


def _embed(context: JobContext) -> str:
    """Make the vectors that are missing; what cannot be embedded is told, and found by its words."""
    hand, library = context.hand, context.library
    if library.vectorizer.embedder is None and hand.vault.config.embedding.provider == "none":
        return ""
    is_shown = hand.dry_run and library.vectorizer.embedder is not None
    found = Embedded(made=library.missing_vectors()) if is_shown else library.embed(context.progress, context.enough)
    if found.missing:
        why = found.degraded or "the time is up"
        hand.notes.append(f"{_many(found.missing, 'memory', 'memories')} not embedded: {why}")
    return f"{_many(found.made, 'memory', 'memories')} embedded" if found.made else ""


def _typedb(context: JobContext) -> str:
    from memfolio.knowledge.typedb.mirror import catch_up

    hand = context.hand
    return "" if hand.dry_run or not hand.vault.config.typedb.url else catch_up(hand.vault, context.library, hand.agent)


def _listed(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _many(count: int, noun: str, plural: str = "") -> str:
    return counted(count, noun, plural) if count else ""


ALWAYS, BEAT, DAILY, WEEKLY = JobSchedule
JOBS = (
    Job("sessions", ALWAYS, _sessions, "learn from conversations that are over"),
    Job("consolidate", ALWAYS, _consolidate, "promote and sum up what proved important"),
    Job("graph", ALWAYS, _graph, "bring the pages of people and things up to date"),
    Job("day", DAILY, _day, "close the days that are over with a summary"),
    Job("patterns", WEEKLY, _patterns, "look for habits"),
    Job("digest", DAILY, _digest, "sum up weeks, months and quarters that are over"),
    Job("heartbeat", BEAT, _heartbeat, "let go of what is over, and look for contradictions"),
    Job("procedures", DAILY, _procedures, "learn how things are done, and what fails"),
    Job("retention", DAILY, _retention, "archive and compress what is past its time"),
    Job("proposals", ALWAYS, _proposals, "drop proposals that nobody decided on in time"),
    Job("reflect", ALWAYS, _reflect, "look back, where enough has happened, and propose"),
    Job("embed", ALWAYS, _embed, "embed the memories that semantic search lacks"),
    Job("watch", DAILY, _watch, "look for what the owner must be told"),
    Job("typedb", ALWAYS, _typedb, "bring the copy on a TypeDB server up to date"),
    Job("backup", DAILY, _backup, "copy the home, where a folder for that is set"),
)


# Tending: runs what is due for one agent, one process at a time, each job on its own and within its time.

LOOKED = "tended"
"""In the home's inside: when each job was last looked after, by agent. Only a hint: what a job did is in the trail."""

Told = Callable[[str, int, int], None]


@frozen
class JobResult:
    """What one job did, or would do."""

    job: str
    did: str = ""
    changes: tuple[int, ...] = ()
    diff: str = ""
    notes: tuple[str, ...] = ()
    error: str = ""
    seconds: float = 0.0


@frozen
class Tending:
    """What was done, and what has to wait for the next time because the time was up."""

    agent: str
    done: tuple[JobResult, ...]
    waiting: tuple[str, ...] = ()
    dry_run: bool = False


def tend(
    vault: Vault,
    library: Library,
    *,
    proposals: Proposals,
    reflect: Callable[[bool], str],
    model: Model | None = None,
    jobs: Sequence[str] = (),
    sessions: Sequence[str] = (),
    dry_run: bool = False,
    told: Told | None = None,
) -> Tending:
    """Run what is due, or these jobs whether they are due or not. Raises HomeBusyError where another process tends.

    With `sessions`, these conversations are over, and are learned from.
    """
    now, end = vault.home.now(), time.monotonic() + vault.config.tend.seconds
    agent, tell = library.agent, told or (lambda job, done, total: None)
    asked = query.words("session", sessions)
    wanted = [_named(name) for name in dict.fromkeys((*["sessions"][: len(asked)], *query.words("job", jobs)))]
    done, waiting = list[JobResult](), list[str]()
    with alone(vault, dry_run=dry_run):
        looked = {} if wanted else _looked(vault, library.index, agent, now)
        due = wanted or [job for job in JOBS if _is_due(vault, job, looked.get(job.name), now)]
        for job in due:
            if time.monotonic() > end:
                waiting.append(job.name)
                continue
            context = JobContext(
                hand=Hand(vault=vault, agent=agent, now=now, dry_run=dry_run),
                library=library,
                model=model,
                proposals=proposals,
                reflect=reflect,
                is_asked_for=bool(wanted),
                sessions=asked,
                enough=lambda: time.monotonic() > end,
                progress=partial(tell, job.name),
            )
            done.append(_run(job, context))
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
    with ExitStack() as held:
        try:
            held.enter_context(vault.holding("tend", patience=patience))
        except HomeBusyError as error:
            hint = "wait until it is done; what is due is done by it, or the next time"
            raise HomeBusyError("another process is tending this home", hint=hint) from error
        yield


@contextmanager
def tending(vault: Vault, library: Library, *, dry_run: bool = False, patience: float | None = None) -> Iterator[Hand]:
    """A hand for the agent of a library that nobody else's comes in the way of; by default as patient as a writer."""
    with alone(vault, dry_run=dry_run, patience=vault.config.lock_timeout if patience is None else patience):
        yield hand_of(vault, library, dry_run=dry_run)


def hand_of(vault: Vault, library: Library, *, dry_run: bool) -> Hand:
    """A hand for the agent of a library, whose index will follow what it does."""
    library.attend()
    return Hand(vault=vault, agent=library.agent, now=vault.home.now(), dry_run=dry_run)


def _named(name: str) -> Job:
    job = next((job for job in JOBS if job.name == name), None)
    if job is None:
        raise InputError(f"there is no job {name[:40]!r}", hint=nearest(name, [job.name for job in JOBS]))
    return job


def _is_due(vault: Vault, job: Job, last: datetime | None, now: datetime) -> bool:
    config = vault.config
    return is_due(job.period, last, now, vault.home.zone, config.tend.hour, config.mind.every)


def _run(job: Job, context: JobContext) -> JobResult:
    hand, began = context.hand, time.monotonic()
    context.progress(0, 0)
    did = error = ""
    try:
        did = job.run(context)
    except MemfolioError as problem:  # the other jobs go on
        error = problem.message
    return JobResult(
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
    return {agent: _times(jobs) for agent, jobs in vault.hint(LOOKED).items() if isinstance(jobs, dict)}


def _times(jobs: Mapping[str, object]) -> dict[str, str]:
    return {str(job): at for job, at in jobs.items() if isinstance(at, str) and moment(at)}


def _look(vault: Vault, agent: str, jobs: Sequence[str], now: datetime) -> None:
    hints = _hints(vault)
    before = hints.get(agent, {})
    periodic = {job.name for job in JOBS if job.period != "always"}
    after = before | {job: now.isoformat() for job in jobs if job in periodic}
    if after != before:
        vault.note_hint(LOOKED, {**hints, agent: after})


# Learning in the background: when a conversation begins, those before it are over and are learned from.

logger = logging.getLogger("memfolio")
QUIET = 2.0
"""Seconds without a turn after which the thread begins, so that it never competes with a conversation."""
PATIENCE = 30.0
"""Seconds for which closing waits for the conversation under way, since a model may be reading it."""


class Attendant:
    """Watches conversations change; what a process leaves undone is done when the home is context."""

    def __init__(self, learn: Callable[[str], object]) -> None:
        self._learn = learn
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._woken = threading.Condition()
        self._current: str | None = None
        self._turns = 0
        self._has_changed = False
        self.is_closed = False
        """Whether the thread should stop after the conversation under way."""
        self._thread: threading.Thread | None = None

    def saw(self, session: str | None) -> None:
        """A turn of this conversation was noted."""
        if session is None or (session == self._current and not self._has_changed):
            return
        if self._process != os.getpid():
            self._begin()  # a forked process has none of its parent's threads
        with self._woken:
            self._has_changed = self._has_changed or self._current not in (None, session)
            self._current = session
            self._turns += 1
            if self._has_changed and not self.is_running and not self.is_closed:
                self._thread = threading.Thread(target=self._run, name="memfolio-attend", daemon=True)
                self._thread.start()
            self._woken.notify_all()

    @property
    def is_running(self) -> bool:
        """Whether there is a thread; one that a defect ended is started anew for the next conversation."""
        return self._thread is not None and self._thread.is_alive()

    def _run(self) -> None:
        while session := self._ended():
            try:
                self._learn(session)
            except MemfolioError as error:
                logger.debug("learning stopped: %s", error)  # tending does it later

    def _ended(self) -> str | None:
        """Wait until conversations have changed and it is quiet; the one that goes on, or None when all is closed."""
        with self._woken:
            while not self.is_closed:
                turns = self._turns
                self._woken.wait(QUIET if self._has_changed else None)
                if self._has_changed and turns == self._turns and not self.is_closed:
                    self._has_changed = False
                    return self._current
            return None

    def close(self) -> None:
        """Stop after the conversation under way."""
        if self._process != os.getpid():
            return
        with self._woken:
            self.is_closed = True
            self._woken.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=PATIENCE)
