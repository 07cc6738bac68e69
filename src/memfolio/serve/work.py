"""A worker that looks after all homes of a database: it does one job after another, as many workers as are started."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from memfolio.config import Config
from memfolio.errors import HomeBusyError, MemfolioError, StoreUnavailableError
from memfolio.memory import Memory
from memfolio.tend.tend import DAILY, JOBS, latest
from memfolio.vault.postgres.jobs import AGAIN_SECONDS, BUSY_PAUSE, TEND, HomeJob, JobQueue
from memfolio.vault.postgres.report import note_head
from memfolio.vault.postgres.vault import PostgresVault, database_of
from memfolio.vault.vault import Vault

KINDS = [job.name for job in JOBS]
POLL_SECONDS = 5.0
"""How often a worker with nothing to do asks for jobs."""
LONGEST = timedelta(days=7)
"""A home in which nothing happens is looked after at least this often."""
logger = logging.getLogger("memfolio")


class WorkDone(NamedTuple):
    """A job that was tried, and what went wrong."""

    home: str
    agent: str
    kind: str
    error: str = ""


class HomeWorker:
    """Takes jobs from the database that the configuration names.

    In the file `heads`, it notes where the trail of each home ended that it looked after.
    """

    def __init__(self, config: Config, heads: Path | None = None) -> None:
        self._config = config
        self._heads = heads
        self._queue = JobQueue(database_of(config))

    def run(self, tell: Callable[[WorkDone], None], *, once: bool = False) -> None:
        """Do jobs as they fall due, for ever, or with `once` those that are due now."""
        while True:
            done = None
            try:
                done = self.do_next()
            except StoreUnavailableError:
                if once:
                    raise
            if done is not None:
                tell(done)
            elif once:
                return
            else:
                time.sleep(POLL_SECONDS)

    def do_next(self) -> WorkDone | None:
        """Do the job that has been due for longest; None where nothing is due."""
        job = self._queue.take()
        if job is None:
            return None
        name = self._queue.name_of(job.home)
        if name is None:
            self._queue.drop(job)
            return WorkDone("", job.agent, job.kind)
        # A database that cannot be reached cannot be told anything either: the lease ends by itself.
        error = ""
        try:
            with self._queue.held(job):
                error = self._do(job, replace(self._config, home=self._config.home.parent / name))
        except HomeBusyError:
            self._queue.put_back(job, BUSY_PAUSE)
        except StoreUnavailableError:
            raise
        except MemfolioError as problem:
            error = problem.message
        except Exception as problem:  # a defect that shows in one home must not stop the work for all
            logger.exception("a job failed")
            error = type(problem).__name__  # and no more, since its text may be a part of the home
        except BaseException:
            self._queue.put_back(job)
            raise
        if error:
            self._queue.failed(job, error)
        return WorkDone(name, job.agent, job.kind, error)

    def _do(self, job: HomeJob, config: Config) -> str:
        """Do the job; what went wrong with it as a whole."""
        if job.kind == TEND:
            return self._tend(job, config)
        with Memory.open(config, job.agent, background=False) as memory:
            found = memory._tended(among=[job.kind])
        if error := next((each.error for each in found.done if each.error), ""):
            return error
        self._queue.drop(job)
        return ""

    def _tend(self, job: HomeJob, config: Config) -> str:
        """Do what is due for each agent of a home.

        What fails gets a job of its own, and is left out until that is done.
        """
        with Memory.open(config, background=False) as memory:
            vault = memory.vault
            agents, seen, after = vault.agents(), vault.head, float(AGAIN_SECONDS)
            if job.attempts > 1:  # something in it ends the worker, or raises: each by itself shows what it is
                for agent in agents:
                    self._queue.add_each(job.home, agent, KINDS)
            else:
                waits = [self._tend_agent(job, config, agent) for agent in agents]
                after = after if any(waits) else rest_of(vault)
            if self._heads is not None and isinstance(vault, PostgresVault):
                vault.refresh()
                note_head(vault, self._heads)
        self._queue.done(job, seen=seen, after=after)
        return ""

    def _tend_agent(self, job: HomeJob, config: Config, agent: str) -> bool:
        """Do what is due for one agent; whether something has to wait because the time was up."""
        with Memory.open(config, agent, background=False) as memory:
            apart = self._queue.apart(job.home, agent)
            found = memory._tended(among=[kind for kind in KINDS if kind not in apart])
        if errors := {each.job: each.error for each in found.done if each.error}:
            self._queue.add_failed(job.home, agent, errors)
        return bool(found.waiting)


def rest_of(vault: Vault) -> float:
    """Seconds until a home is looked after again in which nothing happens.

    At the hour at which the jobs of a day are due, and the longer nothing has happened, the more rarely.
    """
    now = vault.home.now()
    day = latest(DAILY, now, vault.home.zone, vault.config.tend.hour) + timedelta(days=1)
    newest = next(vault.trail.newest_first(), None)
    silence = now - datetime.fromisoformat(newest.at) if newest else timedelta(0)
    return max(day - now, min(silence, LONGEST)).total_seconds()
