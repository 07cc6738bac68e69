"""Maintenance: runs the jobs that are due for one agent, one process at a time, each within its time."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from memfolio.arguments import check_known
from memfolio.embed.vectorizer import Embedded
from memfolio.errors import DiskError, HomeBusyError, MemfolioError
from memfolio.govern.proposals import Proposals
from memfolio.index.graph import EntityFact
from memfolio.index.index import Index
from memfolio.index.lookup import last_runs
from memfolio.llm.model import Model
from memfolio.recall import query
from memfolio.recall.dates import dated, upcoming
from memfolio.recall.searcher import Searcher
from memfolio.state import moment
from memfolio.tend.changes import JobChanges, tender
from memfolio.text import counted, name_key
from memfolio.types import frozen
from memfolio.vault.fields import local
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

    changes: JobChanges
    searcher: Searcher
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
        return self.searcher.index


class Job(NamedTuple):
    """Something that is due again and again; `run` says in a few words what it did, or nothing."""

    name: str
    period: JobSchedule
    run: Callable[[JobContext], str]
    doc: str


def _sessions(context: JobContext) -> str:
    from memfolio.tend.sessions import Ended, hear_out

    settings = context.changes.vault.config.learn
    if not settings.enabled:
        return ""
    asked = context.is_asked_for
    ended = Ended(only=context.sessions, is_over=asked, again=asked)
    heard = hear_out(
        context.changes,
        context.searcher,
        settings,
        ended,
        model=context.model,
        enough=context.enough,
        progress=context.progress,
    )
    if not heard:
        return ""
    learned, conflicts = sum(each.learned for each in heard), sum(each.conflicts for each in heard)
    outcome = f"{_many(learned, 'statement') or 'nothing'} learned"
    return _listed(_many(len(heard), "conversation"), outcome, _many(conflicts, "conflict"))


def _consolidate(context: JobContext) -> str:
    from memfolio.tend.consolidate import consolidate

    settings = context.changes.vault.config.consolidate
    found = consolidate(context.changes, context.index, settings, context.model)
    promoted = f"{len(found.promoted)} promoted" if found.promoted else ""
    return _listed(_many(len(found.groups), "summary", "summaries"), promoted)


_COMING = re.compile(r"\b(?:will|is|are) (?:going to\b|\w+ing\b)|\b(?:will|plans? to|starts|is to)\b")
"""Words with which something is told that is under way or to come."""
_PLANNED = frozenset({"plans", "moves_to", "due"})
"""What a fact is about whose day, once over, is history."""
_LASTS = re.compile(
    r"\b(?:must|may|can|can't|is|are|ha(?:s|ve) to|lives?)(?! been)\b.*?"
    r"\bfor (?=(?:another )?\S+ (?:day|week|month)s?\b)"
)
"""Words before a time that something takes from the day on which it is said."""


def at_present(fact: EntityFact, now: datetime, zone: tzinfo) -> str:
    """What a fact about the user says with dates for days; empty where it ended, or was for a day that is over."""
    if (fact.until is not None and fact.until <= now) or name_key(fact.subject) == name_key(fact.object):
        return ""
    text = _LASTS.sub("in ", fact.text)
    is_ending = fact.type == "task" or fact.predicate in _PLANNED or text != fact.text
    if not is_ending and not _COMING.search(fact.text):
        return dated(fact.text, fact.at, zone)
    day = upcoming(text.replace("in another ", "in "), fact.at, zone)
    is_over = day is not None and local(day, zone).date() < local(now, zone).date()
    return "" if is_over else dated(fact.text, fact.at, zone, weekdays=True)


def _graph(context: JobContext) -> str:
    from memfolio.graph.grow import grow

    return _many(len(grow(context.changes, context.index, _classes(context), at_present).pages), "page")


def _classes(context: JobContext) -> list[str]:
    """The classes of the ontology as types of entities: `sales-order`."""
    from memfolio.knowledge.ontology.document import TermKind, spoken
    from memfolio.knowledge.ontology.ontology import Ontology

    terms = Ontology(context.changes.vault, context.searcher, context.changes.agent).terms()
    return [spoken(each.name, each.kind).lower().replace(" ", "-") for each in terms if each.kind is TermKind.CLASS]


def _patterns(context: JobContext) -> str:
    from memfolio.tend.patterns import learn_patterns

    return _many(len(learn_patterns(context.changes, context.index, context.changes.now)), "pattern")


def _day(context: JobContext) -> str:
    from memfolio.tend.digest import close_days

    return _many(len(close_days(context.changes, context.index)), "day")


def _digest(context: JobContext) -> str:
    from memfolio.tend.digest import build

    return _many(len(build(context.changes, context.index, model=context.model).paths), "digest")


def _retention(context: JobContext) -> str:
    from memfolio.tend.retention import retain

    found = retain(context.changes, context.index)
    moved = [_many(found.memories, "memory", "memories"), _many(len(found.pages), "page")]
    archived = " and ".join(filter(None, moved))
    packed = _many(len(found.compressed), "log")
    return _listed(archived and f"{archived} archived", packed and f"{packed} compressed")


def _backup(context: JobContext) -> str:
    from memfolio.tend.backup import back_up, backup_folder, backups

    changes, settings = context.changes, context.changes.vault.config.backup
    if not settings.folder or changes.vault.config.store != "files":
        return ""
    folder = backup_folder(changes.vault)
    made = backups(changes.vault, folder) if folder.is_dir() else []
    if made and changes.now.timestamp() - made[-1].path.stat().st_mtime < settings.every.total_seconds():
        return ""
    return back_up(changes.vault, folder, settings.keep, changes.now, dry_run=changes.dry_run).path.name


def _proposals(context: JobContext) -> str:
    """What nobody decided on in time is dropped, and what needs nobody's leave is committed."""
    proposals, changes = context.proposals, context.changes
    if changes.dry_run:
        return ""
    dropped, made = _many(len(proposals.expire(changes.now)), "proposal"), _many(len(proposals.review()), "proposal")
    return _listed(dropped and f"{dropped} expired", made and f"{made} committed")


def _reflect(context: JobContext) -> str:
    from memfolio.govern.reflection.page import due

    changes = context.changes
    is_due = due(changes.vault, context.index, changes.agent, changes.now) is not None
    return context.reflect(changes.dry_run) if is_due else ""


def _watch(context: JobContext) -> str:
    from memfolio.vault.alerts import watch

    raised = [] if context.changes.dry_run else watch(context.changes.vault)
    kinds = ", ".join(dict.fromkeys(line.by.trigger.partition(":")[0] for line in raised))
    return f"{_many(len(raised), 'alert')}: {kinds}" if raised else ""


def _heartbeat(context: JobContext) -> str:
    """Digests of weeks that are over are made by their own job."""
    from memfolio.mind.heartbeat import beat

    found = beat(context.changes, context.searcher)
    context.changes.notes.extend((*found.notes, *found.problems))
    return _listed(
        _many(found.stale_intentions_pruned, "intention let go", "intentions let go"),
        _many(found.desires_moved, "desire moved", "desires moved"),
        _many(found.beliefs_fed, "belief from facts", "beliefs from facts"),
        _many(found.conflicts_detected, "conflict"),
    )


def _procedures(context: JobContext) -> str:
    """Learn from what went well, and let go of what fails."""
    from memfolio.procedures.procedures import Procedures
    from memfolio.procedures.runs import Runs, failing

    changes, settings = context.changes, context.changes.vault.config.procedures
    procedures = Procedures(changes.vault, context.searcher, changes.agent, model=context.model)
    runs, by = Runs(changes.vault, context.searcher, changes.agent, procedures), tender("procedures")
    since = None if context.is_asked_for else changes.now - LATELY
    learned = procedures.learn(since=since, by=by, dry_run=changes.dry_run) if settings.learn else []
    retired = failing(procedures.list(), runs.list(), settings)
    for each in retired:
        procedures.retire(each.procedure, each.reason, by=by, dry_run=changes.dry_run)
    outcome = _many(len(learned), "procedure learned", "procedures learned")
    return _listed(outcome, _many(len(retired), "procedure retired", "procedures retired"))


def _embed(context: JobContext) -> str:
    """Make the vectors that are missing; what cannot be embedded is told, and found by its words."""
    changes, searcher = context.changes, context.searcher
    if searcher.vectorizer.embedder is None and changes.vault.config.embedding.provider == "none":
        return ""
    is_shown = changes.dry_run and searcher.vectorizer.embedder is not None
    found = Embedded(made=searcher.missing_vectors()) if is_shown else searcher.embed(context.progress, context.enough)
    if found.missing:
        why = found.degraded or "the time is up"
        changes.notes.append(f"{_many(found.missing, 'memory', 'memories')} not embedded: {why}")
    return f"{_many(found.made, 'memory', 'memories')} embedded" if found.made else ""


def _typedb(context: JobContext) -> str:
    from memfolio.knowledge.typedb.mirror import catch_up

    changes = context.changes
    return (
        ""
        if changes.dry_run or not changes.vault.config.typedb.url
        else catch_up(changes.vault, context.searcher, changes.agent)
    )


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

LAST_RUNS = "tended"
"""In the home's inside: when each job was last looked after, by agent. Only a hint: what a job did is in the trail."""

OnProgress = Callable[[str, int, int], None]


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
    searcher: Searcher,
    *,
    proposals: Proposals,
    reflect: Callable[[bool], str],
    model: Model | None = None,
    jobs: Sequence[str] = (),
    sessions: Sequence[str] = (),
    among: Collection[str] | None = None,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
) -> Tending:
    """Run what is due, or these jobs whether they are due or not. Raises HomeBusyError where another process tends.

    With `sessions`, these conversations are over, and are learned from. With `among`, no other jobs are looked at.
    """
    now, end = vault.home.now(), time.monotonic() + vault.config.tend.seconds
    agent, tell = searcher.agent, on_progress or (lambda job, done, total: None)
    asked = query.words("session", sessions)
    wanted = [_named(name) for name in dict.fromkeys((*["sessions"][: len(asked)], *query.words("job", jobs)))]
    done, waiting = list[JobResult](), list[str]()
    with alone(vault, dry_run=dry_run):
        looked = {} if wanted else _last_runs(vault, searcher.index, agent, now)
        looked_at = [job for job in JOBS if among is None or job.name in among]
        due = wanted or [job for job in looked_at if _is_due(vault, job, looked.get(job.name), now)]
        for job in due:
            if time.monotonic() > end:
                waiting.append(job.name)
                continue
            context = JobContext(
                changes=JobChanges(vault=vault, agent=agent, now=now, dry_run=dry_run),
                searcher=searcher,
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
                _note_runs(vault, agent, [each.job for each in done if not each.error], now)
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
    with ExitStack() as stack:
        try:
            stack.enter_context(vault.holding("tend", patience=patience))
        except HomeBusyError as error:
            hint = "wait until it is done; what is due is done by it, or the next time"
            raise HomeBusyError("another process is tending this home", hint=hint) from error
        yield


@contextmanager
def tending(
    vault: Vault, searcher: Searcher, *, dry_run: bool = False, patience: float | None = None
) -> Iterator[JobChanges]:
    """Changes of jobs that no other process tends beside; by default as patient as a writer."""
    with alone(vault, dry_run=dry_run, patience=vault.config.lock_timeout if patience is None else patience):
        yield job_changes(vault, searcher, dry_run=dry_run)


def job_changes(vault: Vault, searcher: Searcher, *, dry_run: bool) -> JobChanges:
    """Changes of jobs for one agent, whose index follows them."""
    searcher.prepare()
    return JobChanges(vault=vault, agent=searcher.agent, now=vault.home.now(), dry_run=dry_run)


def _named(name: str) -> Job:
    jobs = {job.name: job for job in JOBS}
    check_known("there is no job", [name], jobs)
    return jobs[name]


def _is_due(vault: Vault, job: Job, last: datetime | None, now: datetime) -> bool:
    config = vault.config
    return is_due(job.period, last, now, vault.home.zone, config.tend.hour, config.mind.every)


def schedule(vault: Vault, searcher: Searcher) -> list[tuple[Job, datetime | None, bool]]:
    """Every job, when it was last looked after, and whether its time has come since."""
    now = vault.home.now()
    looked = _last_runs(vault, searcher.index, searcher.agent, now)
    return [(job, looked.get(job.name), _is_due(vault, job, looked.get(job.name), now)) for job in JOBS]


def _run(job: Job, context: JobContext) -> JobResult:
    changes, began = context.changes, time.monotonic()
    context.progress(0, 0)
    did = error = ""
    try:
        did = job.run(context)
    except MemfolioError as problem:  # the other jobs go on
        error = problem.message
    return JobResult(
        job=job.name,
        did=did or ("brought up to date" if changes.receipts else ""),
        changes=tuple(receipt.seq for receipt in changes.receipts),
        diff=changes.diff,
        notes=tuple(changes.notes),
        error=error,
        seconds=round(time.monotonic() - began, 3),
    )


def _last_runs(vault: Vault, index: Index, agent: str, now: datetime) -> dict[str, datetime]:
    """When each job was last looked after: by what it did, or by the hint that there was nothing to do.

    A time that has not come yet is of a clock that went wrong.
    """
    found: dict[str, datetime] = {}
    for job, at in [*index.read(last_runs).items(), *_hints(vault).get(agent, {}).items()]:
        if (time := moment(at)) is not None and time <= now:
            found[job] = max(time, found.get(job, time))
    return found


def _hints(vault: Vault) -> dict[str, dict[str, str]]:
    return {agent: jobs for agent, jobs in vault.hint(LAST_RUNS).items() if isinstance(jobs, dict)}


def _note_runs(vault: Vault, agent: str, jobs: Sequence[str], now: datetime) -> None:
    hints = _hints(vault)
    before = hints.get(agent, {})
    periodic = {job.name for job in JOBS if job.period != "always"}
    after = before | {job: now.isoformat() for job in jobs if job in periodic}
    if after != before:
        vault.note_hint(LAST_RUNS, {**hints, agent: after})


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
