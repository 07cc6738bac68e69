"""Homes that are looked after by themselves: each job done once, by one worker, and given up if it always fails."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.errors import HomeError
from memfolio.serve import work
from memfolio.serve.work import HomeWorker, WorkDone
from memfolio.tend import tend
from memfolio.vault.journal import GENESIS, read_line, seal
from memfolio.vault.postgres import jobs
from memfolio.vault.postgres.database import HomeDatabase, migrate, migrations
from memfolio.vault.postgres.jobs import AGAIN_SECONDS, FIRST_PAUSE, MOST_ATTEMPTS, TEND, HomeJob, JobQueue
from memfolio.vault.postgres.server import SERVER, OwnServer
from memfolio.vault.postgres.vault import PostgresVault, find_home
from tests.postgres.job_worker import BAD
from tests.serve.calls import program

ROOT = Path(__file__).parents[2]
TABLE = tend.JOBS
KINDS = {job.name for job in TABLE}


class Jobs:
    """A database of its own, since a worker looks after all homes, and what the role that owns it sees and sets."""

    def __init__(self, server: OwnServer, database: str, folder: Path) -> None:
        self.url = server.url.replace("/memfolio?", f"/{database}?")
        self.owner_url = server.owner_url.replace("/memfolio?", f"/{database}?")
        self.folder = folder
        with psycopg.connect(server.owner_url, autocommit=True) as conn:
            conn.execute(f"CREATE DATABASE {database}")

    def queue(self) -> JobQueue:
        return JobQueue(HomeDatabase.at(self.url))

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """As a worker may, of the jobs of all homes."""
        returning = "" if sql.startswith("SELECT") else " RETURNING 1"
        return HomeDatabase.at(self.url).ask(None, sql + returning, values, {"memfolio.jobs": "all"})

    def make_due(self) -> None:
        """As if enough time had passed for every pause and for every lease."""
        self.ask("UPDATE memfolio.jobs SET run_at = now() - interval '1 second', lease_until = NULL")
        for (home,) in self.ask("SELECT DISTINCT home FROM memfolio.jobs"):
            HomeDatabase.at(self.url).ask(home, "DELETE FROM memfolio.leases WHERE home = %s RETURNING 1", [home])

    def kinds(self) -> dict[str, tuple[int, bool]]:
        """Each job's attempts, and whether it was given up."""
        rows = self.ask("SELECT kind, attempts, gave_up_at IS NOT NULL FROM memfolio.jobs")
        return {kind: (attempts, given_up) for kind, attempts, given_up in rows}

    def wait_of(self, kind: str = TEND) -> float:
        """Seconds until such a job is due, the last of them."""
        sql = "SELECT extract(epoch FROM max(run_at) - now())::float FROM memfolio.jobs WHERE kind = %s"
        ((seconds,),) = self.ask(sql, kind)
        return float(seconds)

    def worker(self) -> HomeWorker:
        return HomeWorker(load_config())

    def work(self) -> list[WorkDone]:
        """Do everything that is due."""
        done = list[WorkDone]()
        self.worker().run(done.append, once=True)
        return done

    def start(self, how: str) -> subprocess.Popen[str]:
        environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        command = [sys.executable, "-m", "tests.postgres.job_worker", how]
        return subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def database(server: OwnServer, quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    found = Jobs(server, f"jobs_{secrets.token_hex(6)}", quick_path)
    migrate(found.owner_url, SERVER)
    monkeypatch.setenv("MEMFOLIO_STORE", "postgres")
    monkeypatch.setenv("MEMFOLIO_DATABASE_URL", found.url)
    monkeypatch.setenv("MEMFOLIO_EMBEDDER", "none")
    monkeypatch.setenv("MEMFOLIO_HOME", str(quick_path / "operator"))
    monkeypatch.setenv("MEMFOLIO_CACHE", str(quick_path / "cache"))
    yield found
    HomeDatabase.at(found.url).drop_idle()


def made(folder: Path, name: str, *texts: str) -> Memory:
    memory = Memory.open(folder / name, background=False)
    for text in texts:
        memory.remember(text)
    return memory


@pytest.fixture
def bad(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[tend.JobContext], str]], None]:
    """Puts one more job into the table of tending, before all others."""

    def put(run: Callable[[tend.JobContext], str]) -> None:
        table = (tend.Job(BAD, tend.ALWAYS, run, "what goes wrong"), *TABLE)
        monkeypatch.setattr(tend, "JOBS", table)
        monkeypatch.setattr(work, "KINDS", [job.name for job in table])

    return put


def refuse(context: tend.JobContext) -> str:
    raise HomeError("the lamp is broken", hint="mend it")


def test_one_worker_looks_after_every_home(database: Jobs) -> None:
    names = ["anna", "ben", "cleo"]
    for name in names:
        with made(database.folder, name, f"I am {name}"):
            assert database.wait_of() > AGAIN_SECONDS - 60
        database.make_due()
    answer = program("--json", "db", "work", "--once")
    assert json.loads(answer.stdout) == {"done": 3, "failed": 0}, answer.stderr
    for name in names:
        with made(database.folder, name) as memory:
            tended = memory.vault.hint(tend.LAST_RUNS)["main"]
            assert {"retention", "watch", "procedures"} <= tended.keys()
    assert database.work() == []


def test_every_agent_of_a_home_is_looked_after(database: Jobs) -> None:
    for agent in ("main", "helper"):
        with Memory.open(database.folder / "home", agent, background=False) as memory:
            memory.remember(f"I am {agent}")
    by_hand = json.loads(program("--json", "--home", str(database.folder / "home"), "tend", "--all").stdout)
    assert [each["agent"] for each in by_hand["agents"]] == ["helper", "main"]
    made(database.folder, "other", "mine").close()
    with Memory.open(database.folder / "other", "helper", background=False) as memory:
        memory.remember("and mine")
        database.make_due()
        assert {each.home for each in database.work()} == {"home", "other"}
        assert memory.vault.hint(tend.LAST_RUNS).keys() == {"main", "helper"}


def test_a_trail_that_was_rewritten_from_inside_the_database_shows_in_the_heads_noted_outside(database: Jobs) -> None:
    heads = database.folder / "heads.jsonl"
    doctor = ["--json", "--home", str(database.folder / "home"), "db", "doctor", "--heads", str(heads)]
    with made(database.folder, "home", "one", "two") as memory:
        made(database.folder, "other", "mine").close()
        database.make_due()
        assert program("db", "work", "--once", "--heads", str(heads)).returncode == 0
        memory.remember("and three")
        (newest,) = [line for line in memory.vault.changes() if line.seq == 2]
        noted = {each["home"]: each["seq"] for each in map(json.loads, heads.read_text().splitlines())}
        assert noted.keys() == {"home", "other"}
        assert noted["home"] >= newest.seq
    sound = json.loads(program(*doctor).stdout)
    assert sound["ok"], sound
    assert sum("heads.jsonl names" in each["message"] for each in sound["findings"]) == 1
    rewrite_trail(database)
    answer = program(*doctor[:-2])
    assert json.loads(answer.stdout)["ok"], "the chain of the forged trail holds"
    answer = program(*doctor)
    assert answer.returncode == 1
    wrong = [each for each in json.loads(answer.stdout)["findings"] if each["level"] == "error"]
    assert [each["where"] for each in wrong] == ["trail"]
    assert f"change {noted['home']} is not the one" in wrong[0]["message"]


def rewrite_trail(database: Jobs) -> None:
    """Change a line of the trail and seal all behind it anew, as whoever owns the database can."""
    database_of_all, previous = HomeDatabase.at(database.url), GENESIS
    found = find_home(database_of_all, "home")
    assert found
    home = found[0]
    for (raw,) in database_of_all.ask(home, "SELECT raw FROM memfolio.trail WHERE home = %s ORDER BY seq", [home]):
        line = read_line(raw)
        line, forged = seal(replace(line, at=line.at.replace("20", "19", 1)) if line.seq == 2 else line, previous)
        previous = line.hash
        sql = "UPDATE memfolio.trail SET raw = %s WHERE home = %s AND seq = %s RETURNING 1"
        database_of_all.ask(home, sql, [forged, home, line.seq])
    database_of_all.ask(home, "UPDATE memfolio.homes SET head = %s WHERE home = %s RETURNING 1", [previous, home])


def test_only_the_first_change_in_a_while_writes_to_the_job(database: Jobs) -> None:
    with made(database.folder, "home", "one") as memory:
        before = database.ask("SELECT xmin::text FROM memfolio.jobs")
        memory.remember("another")
        assert database.ask("SELECT xmin::text FROM memfolio.jobs") == before
        database.ask("UPDATE memfolio.jobs SET run_at = now() + interval '3 days'")
        memory.remember("a third")
        assert AGAIN_SECONDS - 60 < database.wait_of() <= AGAIN_SECONDS


def test_a_home_in_which_nothing_happens_is_looked_after_more_and_more_rarely(database: Jobs) -> None:
    rests = list[float]()
    clock = SettableClock(datetime.now(UTC))
    with Memory.open(database.folder / "home", background=False, clock=clock) as memory:
        memory.remember("one")
        for days in (0, 3, 40):
            clock.set(datetime.now(UTC) + timedelta(days=days))
            rests.append(work.rest_of(memory.vault) / timedelta(days=1).total_seconds())
    assert 0 < rests[0] <= 1, "until the hour of the jobs of a day"
    assert rests[1:] == [pytest.approx(3, abs=0.01), 7]
    database.make_due()
    queue = database.queue()
    queue.done(taken(queue), seen=10**6, after=5000)
    assert 4900 < database.wait_of() <= 5000


def taken(queue: JobQueue) -> HomeJob:
    job = queue.take()
    assert job is not None
    return job


def test_a_change_while_a_home_is_tended_has_it_tended_again_soon(database: Jobs) -> None:
    queue = database.queue()
    with made(database.folder, "home", "one") as memory:
        database.make_due()
        job, seen = taken(queue), memory.vault.head
        vault = memory.vault
        assert isinstance(vault, PostgresVault)
        with ThreadPoolExecutor(1) as pool:
            with vault.exclusive():  # which stores its change behind the end of the job
                memory.remember("made meanwhile")
                vault.rows.send()
                finishing = pool.submit(queue.done, job, seen=seen, after=9000)
                time.sleep(0.3)
                assert not finishing.done(), "it waits for whoever is storing a change"
            finishing.result(30)
        assert database.wait_of() <= AGAIN_SECONDS
    assert database.kinds() == {TEND: (0, False)}


def test_no_two_workers_take_the_same_job(database: Jobs) -> None:
    database.ask(
        "INSERT INTO memfolio.jobs (home, run_at) SELECT home, now() FROM generate_series(1000, 1199) AS of (home)"
    )
    found: Counter[int] = Counter()
    lock = threading.Lock()

    def work_on(queue: JobQueue) -> None:
        while (job := queue.take()) is not None:
            with lock:
                found[job.home] += 1

    with ThreadPoolExecutor(8) as pool:
        for each in [pool.submit(work_on, database.queue()) for _ in range(8)]:
            each.result()
    assert found == Counter(range(1000, 1200))


def test_workers_beside_each_other_never_run_one_job_at_once(
    database: Jobs, bad: Callable[[Callable[[tend.JobContext], str]], None]
) -> None:
    under_way: Counter[str] = Counter()
    most: Counter[str] = Counter()
    lock = threading.Lock()

    def slow(context: tend.JobContext) -> str:
        home = context.changes.vault.home.root.name
        with lock:
            under_way[home] += 1
            most[home] = max(most[home], under_way[home])
            most["all"] = max(most["all"], under_way.total())
        time.sleep(0.3)
        with lock:
            under_way[home] -= 1
        return ""

    bad(slow)
    names = [f"home-{number}" for number in range(4)]
    for name in names:
        made(database.folder, name, name).close()
    database.make_due()
    with ThreadPoolExecutor(3) as pool:
        done = [pool.submit(database.work) for _ in range(3)]
        assert sorted(each.home for one in done for each in one.result()) == names
    assert most == Counter({**dict.fromkeys(names, 1), "all": most["all"]})
    assert most["all"] > 1


def test_a_lease_is_renewed_while_its_worker_lives_and_ends_with_it(
    database: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "LEASE_SECONDS", 1)
    made(database.folder, "home", "one").close()
    database.make_due()
    queue, other = database.queue(), database.queue()
    job = taken(queue)
    with queue.held(job):
        for _ in range(3):
            time.sleep(0.7)
            assert other.take() is None
    time.sleep(1.2)  # nobody renews it any more
    again = taken(other)
    assert (again.id, again.attempts) == (job.id, 2)
    queue.failed(job, "too late")  # by whom it was taken from
    assert database.ask("SELECT error, gave_up_at FROM memfolio.jobs") == [(None, None)]


def test_what_fails_is_tried_again_by_itself_and_does_not_hold_up_the_rest(
    database: Jobs, bad: Callable[[Callable[[tend.JobContext], str]], None]
) -> None:
    bad(refuse)
    with made(database.folder, "home", "one") as memory:
        database.make_due()
        assert [(each.kind, each.error) for each in database.work()] == [(TEND, "")]
        assert {"retention", "watch"} <= memory.vault.hint(tend.LAST_RUNS)["main"].keys()
        assert database.kinds() == {TEND: (0, False), BAD: (1, False)}
        assert FIRST_PAUSE - 30 < database.wait_of(BAD) <= FIRST_PAUSE
        for attempt in range(2, MOST_ATTEMPTS):
            database.make_due()
            assert (BAD, "the lamp is broken") in [(each.kind, each.error) for each in database.work()]
            assert database.kinds()[BAD] == (attempt, False)
            pause = FIRST_PAUSE * 4 ** (attempt - 1)
            assert pause - 30 < database.wait_of(BAD) <= pause
        database.make_due()
        database.work()
        assert database.kinds()[BAD] == (MOST_ATTEMPTS, True)
        database.make_due()
        assert [each.kind for each in database.work()] == [TEND], "nobody tries it any more"
        found = [each for each in memory.vault.doctor() if each.where == "jobs"]
        assert [each.level for each in found] == ["warning"]
        assert "bad of main was given up after 6 attempts: the lamp is broken" in found[0].message
    check_retried(database)
    bad(lambda context: "the lamp burns")
    assert (BAD, "") in [(each.kind, each.error) for each in database.work()]
    assert BAD not in database.kinds()


def check_retried(database: Jobs) -> None:
    """Whoever runs the database sees what was given up, and has it tried again."""
    status = json.loads(program("--json", "db", "status").stdout)
    ((number,),) = database.ask("SELECT id FROM memfolio.jobs WHERE kind = %s", BAD)
    wanted = {"id": number, "home": "home", "agent": "main", "job": BAD, "attempts": 6, "error": "the lamp is broken"}
    assert status["given_up"] == [wanted]
    assert status["jobs"] | {"late_seconds": 0} == {"due": 0, "late_seconds": 0, "under_way": 0, "given_up": 1}
    row = [str(number), "bad", "main", "home", "6", "the", "lamp", "is", "broken"]
    assert row in [line.split() for line in program("db", "status").stdout.splitlines()]
    assert "0 jobs" in program("db", "retry", "--job", str(number + 1000)).stdout
    assert json.loads(program("--json", "db", "retry", "--job", str(number)).stdout) == {"retried": 1}
    assert json.loads(program("--json", "db", "status").stdout)["jobs"]["due"] == 1


def test_a_defect_in_one_home_is_found_and_the_other_homes_are_looked_after(
    database: Jobs, bad: Callable[[Callable[[tend.JobContext], str]], None]
) -> None:
    def break_down(context: tend.JobContext) -> str:
        if context.changes.vault.home.root.name == "one":
            raise ZeroDivisionError("with words of the home")
        return ""

    bad(break_down)
    for name in ("one", "other"):
        made(database.folder, name, name).close()
    database.make_due()
    assert sorted((each.home, each.error) for each in database.work()) == [("one", "ZeroDivisionError"), ("other", "")]
    database.make_due()
    done = [each for each in database.work() if each.home == "one"]
    assert {(each.kind, each.error) for each in done} == {
        (TEND, ""),
        (BAD, "ZeroDivisionError"),
        *((kind, "") for kind in KINDS),
    }
    assert database.kinds() == {TEND: (0, False), BAD: (1, False)}


def test_a_home_that_somebody_tends_is_put_back_without_an_attempt(database: Jobs) -> None:
    with made(database.folder, "home", "one") as memory:
        database.make_due()
        with memory.vault.holding("tend"):
            database.work()
        assert database.kinds() == {TEND: (0, False)}
        assert 0 < database.wait_of() <= 60


def test_a_worker_that_is_asked_to_end_puts_its_job_back(database: Jobs) -> None:
    made(database.folder, "home", "one").close()
    database.make_due()
    worker = database.start("hang")
    assert worker.stdout
    with worker.stdout as lines:
        assert next(lines) == "hanging\n"
        worker.send_signal(signal.SIGINT)
        worker.wait(30)
    assert database.kinds() == {TEND: (0, False)}
    assert [each.kind for each in database.work()] == [TEND]


def test_a_job_whose_worker_is_killed_is_done_by_another_after_its_lease(database: Jobs) -> None:
    with made(database.folder, "home", "one") as memory:
        database.make_due()
        worker = database.start("hang")
        assert worker.stdout
        with worker.stdout as lines:
            assert next(lines) == "hanging\n"
            worker.kill()
            worker.wait(30)
        assert database.work() == [], "its lease has not ended"
        database.make_due()
        done = database.work()
        assert {each.kind for each in done} == KINDS | {TEND}, "each by itself, since one of them may be the cause"
        assert not any(each.error for each in done)
        assert database.kinds() == {TEND: (0, False)}
        assert {"retention", "watch"} <= memory.vault.hint(tend.LAST_RUNS)["main"].keys()


@pytest.mark.long
def test_a_job_that_kills_every_worker_is_given_up_and_the_others_are_done(database: Jobs) -> None:
    with made(database.folder, "home", "one") as memory:
        ends = list[int]()
        while not ends or ends[-1]:
            assert len(ends) < 20
            database.make_due()
            worker = database.start("end")
            worker.communicate(timeout=120)
            ends.append(worker.returncode)
        assert ends == [-signal.SIGKILL] * (1 + MOST_ATTEMPTS) + [0], "once among others, then by itself"
        assert database.kinds() == {TEND: (0, False), BAD: (MOST_ATTEMPTS, True)}
        assert {"retention", "watch"} <= memory.vault.hint(tend.LAST_RUNS)["main"].keys()
        assert any("ended in the middle" in each.message for each in memory.vault.doctor())


def test_a_database_of_the_version_before_gets_its_jobs_with_the_next_changes(
    server: OwnServer, quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Jobs(server, f"jobs_{secrets.token_hex(6)}", quick_path)
    with psycopg.connect(database.owner_url, autocommit=True) as conn:
        conn.execute("CREATE SCHEMA memfolio")
        conn.execute("CREATE TABLE memfolio.schema_version (version int PRIMARY KEY, at timestamptz DEFAULT now())")
        for version in (1, 2):
            conn.execute(migrations()[version])
            conn.execute("INSERT INTO memfolio.schema_version (version) VALUES (%s)", [version])
        conn.execute(f"GRANT USAGE ON SCHEMA memfolio TO {SERVER}")
        conn.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA memfolio TO {SERVER}")
    assert migrate(database.owner_url) == (2, 3)
    monkeypatch.setenv("MEMFOLIO_STORE", "postgres")
    monkeypatch.setenv("MEMFOLIO_DATABASE_URL", database.url)
    with made(quick_path, "home", "stored by a server whose role had its rights before"):
        assert database.kinds() == {TEND: (0, False)}
    HomeDatabase.at(database.url).drop_idle()
