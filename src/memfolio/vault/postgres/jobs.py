"""The jobs of all homes of a database: who may do which one now, and what becomes of those that fail.

Every home has a job `tend`, for all that is due there. What fails in it gets a job of its own, so that it is tried
again by itself, and does not hold up the rest.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from memfolio.vault.postgres.database import HomeDatabase, Row, renewed

TEND = "tend"
LEASE_SECONDS = 60
"""How long a job is kept from other workers should its own die; while that one lives, the lease is renewed."""
MOST_ATTEMPTS = 6
FIRST_PAUSE = 60
"""Seconds until what failed is tried again; four times as long after each further attempt."""
BUSY_PAUSE = 30
"""Seconds until a home is looked at again that somebody else is tending."""
AGAIN_SECONDS = 30 * 60
"""How soon a home is looked after again in which something happened meanwhile, as after a change."""
ENDED = "each worker that tried it ended in the middle of it"

_COLUMNS = "id, home, agent, kind, attempts, error"
_DUE = "gave_up_at IS NULL AND run_at <= now() AND (lease_until IS NULL OR lease_until < now())"
_TAKE = (
    "UPDATE memfolio.jobs SET owner = %s, lease_until = now() + make_interval(secs => %s), attempts = attempts + 1"
    f" WHERE id = (SELECT id FROM memfolio.jobs WHERE {_DUE} ORDER BY run_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)"
    f" RETURNING {_COLUMNS}"
)
_RENEW = "UPDATE memfolio.jobs SET lease_until = now() + make_interval(secs => %s) WHERE id = %s AND owner = %s"
_LET_GO = "UPDATE memfolio.jobs SET owner = NULL, lease_until = NULL"
# Whoever is storing a change holds the home's row, and has looked at the job before: its change is waited for and seen.
_DONE = (
    "WITH there AS (SELECT seq FROM memfolio.homes WHERE home = %s FOR SHARE)"
    f" {_LET_GO}, attempts = 0, error = NULL,"
    " run_at = now() + make_interval(secs => CASE WHEN seq > %s THEN least(%s, %s) ELSE %s END)"
    " FROM there WHERE id = %s AND owner = %s"
)
_FAILED = (
    f"{_LET_GO}, error = %s, run_at = now() + make_interval(secs => %s), attempts = least(attempts, %s),"
    " gave_up_at = CASE WHEN attempts >= %s THEN now() END WHERE id = %s AND owner = %s"
)
_PUT_BACK = (
    f"{_LET_GO}, attempts = attempts - 1, run_at = now() + make_interval(secs => %s) WHERE id = %s AND owner = %s"
)
_ADD = (
    "INSERT INTO memfolio.jobs (home, agent, kind, run_at, attempts, error)"
    " SELECT %s, %s, kind, now() + make_interval(secs => %s), %s, error"
    " FROM unnest(%s::text[], %s::text[]) AS given (kind, error) ON CONFLICT DO NOTHING"
)
_RETRY = "UPDATE memfolio.jobs SET gave_up_at = NULL, attempts = 0, run_at = now() WHERE gave_up_at IS NOT NULL"


class HomeJob(NamedTuple):
    """A job as a worker has taken it."""

    id: int
    home: int
    agent: str
    kind: str
    attempts: int
    """How often it was tried, this time included."""
    error: str | None = None


class JobQueue:
    """The jobs of one database as one worker sees them."""

    def __init__(self, database: HomeDatabase) -> None:
        self._database = database
        self._owner = secrets.token_hex(8)

    def _ask(self, sql: str, values: Sequence[Any] = (), home: int | None = None) -> list[Row]:
        returning = "" if "RETURNING" in sql or sql.startswith("SELECT") else " RETURNING 1"
        return self._database.ask(home, sql + returning, values, {"memfolio.jobs": "all"})

    def take(self) -> HomeJob | None:
        """The job that has been due for longest and that nobody is at; it is this worker's until its lease ends.

        What has been tried often enough without anybody saying how that went is given up on the way.
        """
        while rows := self._ask(_TAKE, [self._owner, LEASE_SECONDS]):
            job = HomeJob(*rows[0])
            if job.attempts <= MOST_ATTEMPTS:
                return job
            self.failed(job, ENDED)
        return None

    @contextmanager
    def held(self, job: HomeJob) -> Iterator[None]:
        """Keep the job from other workers for as long as this takes."""
        with renewed(lambda: self._ask(_RENEW, [LEASE_SECONDS, job.id, self._owner]), LEASE_SECONDS / 3):
            yield

    def done(self, job: HomeJob, *, seen: int, after: float) -> None:
        """The job is due again after so many seconds, or soon where the home has changed since it was `seen`."""
        values = [job.home, seen, AGAIN_SECONDS, after, after, job.id, self._owner]
        self._ask(_DONE, values, job.home)

    def failed(self, job: HomeJob, error: str) -> None:
        """Have it tried again after a while, or by nobody any more."""
        values = [error, pause_after(job.attempts), MOST_ATTEMPTS, MOST_ATTEMPTS, job.id, self._owner]
        self._ask(_FAILED, values)

    def put_back(self, job: HomeJob, after: float = 0) -> None:
        """Have it done as if nobody had tried."""
        self._ask(_PUT_BACK, [after, job.id, self._owner])

    def drop(self, job: HomeJob) -> None:
        """Nothing is left to do."""
        self._ask("DELETE FROM memfolio.jobs WHERE id = %s AND owner = %s", [job.id, self._owner])

    def add_failed(self, home: int, agent: str, errors: dict[str, str]) -> None:
        """Have what failed for the first time tried again, each by itself."""
        self._ask(_ADD, [home, agent, pause_after(1), 1, [*errors], [*errors.values()]])

    def add_each(self, home: int, agent: str, kinds: Collection[str]) -> None:
        """Have each of these tried by itself at once."""
        self._ask(_ADD, [home, agent, 0, 0, [*kinds], [None] * len(kinds)])

    def apart(self, home: int, agent: str) -> set[str]:
        """The kinds that have a job of their own."""
        sql = "SELECT kind FROM memfolio.jobs WHERE home = %s AND agent = %s"
        return {kind for (kind,) in self._ask(sql, [home, agent])} - {TEND}

    def name_of(self, home: int) -> str | None:
        """The name of a home; None where it is not there any more."""
        rows = self._ask("SELECT name FROM memfolio.homes WHERE home = %s", [home], home)
        return rows[0][0] if rows else None

    def status(self) -> dict[str, Any]:
        """How many jobs are due, under way and given up, and for how many seconds the oldest has been due."""
        sql = (
            f"SELECT count(*) FILTER (WHERE {_DUE}), count(*) FILTER (WHERE lease_until >= now()),"
            " coalesce(extract(epoch FROM now() - min(run_at) FILTER (WHERE run_at <= now())), 0)::float"
            " FROM memfolio.jobs WHERE gave_up_at IS NULL AND run_at <= now()"
        )
        ((due, under_way, late),) = self._ask(sql)
        (given_up,) = self._ask("SELECT count(*) FROM memfolio.jobs WHERE gave_up_at IS NOT NULL")
        return {"due": due, "under_way": under_way, "late_seconds": round(late), "given_up": given_up[0]}

    def given_up(self, most: int) -> list[tuple[HomeJob, str]]:
        """The jobs that nobody tries any more, the newest first, each with the name of its home."""
        sql = f"SELECT {_COLUMNS} FROM memfolio.jobs WHERE gave_up_at IS NOT NULL ORDER BY gave_up_at DESC LIMIT %s"
        jobs = [HomeJob(*row) for row in self._ask(sql, [most])]
        return [(job, self.name_of(job.home) or "") for job in jobs]

    def retry(self, ids: Sequence[int] = ()) -> int:
        """Have these jobs tried again that were given up, or all of them; how many there were."""
        only, values = (" AND id = ANY(%s)", [list(ids)]) if ids else ("", [])
        return len(self._ask(_RETRY + only, values))


def pause_after(attempts: int) -> int:
    """Seconds until a job is tried again that has failed so many times."""
    return FIRST_PAUSE * int(4 ** (attempts - 1))
