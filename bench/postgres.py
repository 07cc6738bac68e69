"""A home in PostgreSQL beside what it is made of: each figure a ratio within one run, since machines differ.

    python -m bench.postgres [--writes 200] [--homes 200] [--carried 10000] [--commit-ms 2]

The server is one of its own in a folder that is thrown away; as root it runs as `nobody`. How costly a commit is
decides what writes are compared with: they are measured on the disk as it is, and once more with commits that take
`--commit-ms` longer, as those to a synchronous standby do.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import psycopg

from memfolio.config import Config, load_config
from memfolio.memory import Memory
from memfolio.serve.http.app import MOST_HOMES
from memfolio.vault.postgres.carry import export_home, import_home
from memfolio.vault.postgres.database import HomeDatabase, migrate
from memfolio.vault.postgres.server import OwnServer
from memfolio.vault.postgres.vault import PostgresVault

CLIENTS = 8
TEXT = "Alice drinks green tea in the morning, and coffee on Sundays " * 4
NUMBERS = itertools.count()
BURN = "import time; t = time.perf_counter(); n = 0\nwhile time.perf_counter() - t < 2: n += 1\nprint(n)"
ASK = """
import sys, time
from memfolio.memory import Memory
from memfolio.serve.http.app import MOST_HOMES
with Memory.open(sys.argv[1], background=False) as memory:
    memory.recall("warm up")
    print("ready", flush=True); sys.stdin.readline()
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < 2:
        memory.recall(f"note number {count % 50}"); count += 1
    print(count)
"""


def say(what: str, figure: str, wanted: str, *, holds: bool | None) -> None:
    mark = {True: "ok", False: "MISSED", None: "–"}[holds]
    print(f"{what:66} {figure:>24}   {wanted:18} {mark}", flush=True)


def seconds(work: Callable[[int], object], count: int, clients: int = 1) -> float:
    """How long so many calls take, shared by so many threads."""
    numbers = iter(range(count))
    lock = threading.Lock()

    def run() -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            work(number)

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        for each in [pool.submit(run) for _ in range(clients)]:
            each.result()  # work that failed must not count as quick
    return time.perf_counter() - began


class Bench:
    """One server, one folder, and the homes that are opened on the way."""

    def __init__(self, server: OwnServer, folder: Path, stack: ExitStack) -> None:
        self.server, self.folder, self.stack = server, folder, stack

    def config(self, name: str, store: str = "postgres", cache: str = "cache") -> Config:
        overrides = {"store": store, "database_url": self.server.url, "cache": self.folder / cache}
        return load_config(self.folder / store / name, overrides=overrides)

    def memory(self, name: str, store: str = "postgres", cache: str = "cache") -> Memory:
        config = self.config(name, store, cache)
        vault = PostgresVault.of(config) if store == "postgres" else None
        if vault is None:
            return self.stack.enter_context(Memory.open(config.home, background=False))
        vault.config = replace(vault.config, cache=self.folder / cache / name)
        return self.stack.enter_context(Memory(vault, "main", background=False))

    def prepare_writes(self) -> None:
        """The homes that are written to, and the table for bare inserts."""
        with psycopg.connect(self.server.owner_url, autocommit=True) as conn:
            conn.execute("CREATE TABLE bare (n bigint, data bytea)")
        # Opened before anything is measured, since connecting costs more than an insert.
        self.free = [
            self.stack.enter_context(psycopg.connect(self.server.owner_url, autocommit=True)) for _ in range(CLIENTS)
        ]
        self.one = self.memory("writer")
        self.many = [self.memory(f"writer-{number}") for number in range(CLIENTS)]
        for memory in (self.one, *self.many):
            memory.remember("warm up")

    def slow_down(self, milliseconds: float) -> None:
        """Have each commit take so much longer."""
        with (self.server.folder / "data" / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"commit_delay = {int(milliseconds * 1000)}\ncommit_siblings = 0\n")
        assert self.server.pid
        os.kill(self.server.pid, signal.SIGHUP)
        time.sleep(0.5)

    def insert(self, number: int) -> None:
        conn = self.free.pop()
        conn.execute("INSERT INTO bare VALUES (%s, %s)", [number, TEXT.encode()])
        self.free.append(conn)

    def writes(self, count: int, turns: int = 5) -> None:
        ratios: dict[int, list[float]] = {1: [], CLIENTS: []}
        group, bares = list[float](), list[float]()
        for _ in range(turns):
            bare = seconds(self.insert, count)
            alone = seconds(lambda n: self.one.remember(f"{next(NUMBERS)} {TEXT}"), count)
            bares.append(bare / count)
            ratios[1].append(alone / bare)
            bare = seconds(self.insert, count, CLIENTS)
            spread = seconds(lambda n: self.many[n % CLIENTS].remember(f"{next(NUMBERS)} {TEXT}"), count, CLIENTS)
            ratios[CLIENTS].append(spread / bare)
            together = seconds(lambda n: self.one.remember(f"{next(NUMBERS)} {TEXT}"), count, CLIENTS)
            group.append(alone / together)
        print(f"a bare insert takes {statistics.median(bares) * 1000:.2f} ms", flush=True)
        for clients, found in ratios.items():
            ratio = statistics.median(found)
            what = f"remember beside a bare insert, {clients} connection{'s' if clients > 1 else ''}"
            say(what, f"{ratio:.2f} times", "at most 2.5", holds=ratio <= 2.5)
        gain = statistics.median(group)
        say(f"{CLIENTS} clients on one home beside one", f"{gain:.2f} times", "at least 4", holds=gain >= 4)

    def recalls(self, count: int) -> None:
        homes = {store: self.memory("asked", store) for store in ("files", "postgres")}
        for memory in homes.values():
            for number in range(count):
                memory.remember(f"note number {number} about the garden and its {number} trees")
            memory.searcher.embed()
            memory.recall("trees")
        ratios = []
        for _ in range(5):
            took = {
                store: seconds(lambda n, memory=memory: memory.recall(f"note number {n}"), 50)  # type: ignore[misc]
                for store, memory in homes.items()
            }
            ratios.append(took["postgres"] / took["files"])
        ratio = statistics.median(ratios)
        say("recall in a warm home beside one in files", f"{ratio:.2f} times", "at most 1.3", holds=ratio <= 1.3)
        asking = [seconds(lambda n: homes["postgres"].vault.refresh(), 200) / 200 for _ in range(5)]
        share = statistics.median(asking) / (took["postgres"] / 50)
        figure = f"{statistics.median(asking) * 1000:.2f} ms, {share:.0%} of it"
        say("  of which asking whether others wrote", figure, "", holds=None)
        small = self.memory("small")
        for number in range(100):
            small.remember(f"small note {number}")
        began = time.perf_counter()
        hits = self.memory("small", cache="cold").recall("small note 7")
        took_cold = time.perf_counter() - began
        assert hits
        say(
            "first answer of a cold home of 100 memories", f"{took_cold:.2f} s", "at most 0.5 s", holds=took_cold <= 0.5
        )
        other, waits = self.memory("asked", cache="other"), list[float]()
        other.recall("trees")
        for number in range(20):
            homes["postgres"].remember(f"harbour of ship {number}")
            began = time.perf_counter()
            found = [hit.memory.content for hit in other.recall(f"harbour of ship {number}")]
            waits.append(time.perf_counter() - began)
            assert f"harbour of ship {number}" in found
        say(
            "a write is found by the next recall on another server",
            f"20 of 20, {max(waits) * 1000:.0f} ms",
            "all",
            holds=True,
        )

    def notifying(self, count: int) -> None:
        """What a hint to other servers would cost: with each write, and ten times a second beside the writes."""

        def insert_and_tell(number: int) -> None:
            conn = self.free.pop()
            with conn.pipeline():
                conn.execute("INSERT INTO bare VALUES (%s, %s)", [number, TEXT.encode()])
                conn.execute("SELECT pg_notify('home', %s)", [str(number)])
            self.free.append(conn)

        def hint(stop: threading.Event) -> None:
            with psycopg.connect(self.server.owner_url, autocommit=True) as conn:
                while not stop.wait(0.1):
                    conn.execute("SELECT pg_notify('home', 'hint')")

        found: dict[str, list[float]] = {"with each write": [], "ten times a second": []}
        for _ in range(5):
            bare = seconds(self.insert, count, CLIENTS)
            found["with each write"].append(seconds(insert_and_tell, count, CLIENTS) / bare)
            stop = threading.Event()
            hinting = threading.Thread(target=hint, args=(stop,))
            hinting.start()
            found["ten times a second"].append(seconds(self.insert, count, CLIENTS) / bare)
            stop.set()
            hinting.join()
        for when, ratios in found.items():
            what = f"bare inserts, {CLIENTS} connections, NOTIFY {when}"
            say(what, f"{statistics.median(ratios):.2f} times", "", holds=None)

    def carry(self, count: int) -> None:
        """A home from a folder into the database and back."""
        home = self.folder / "files" / "carried"
        with Memory.open(home, background=False) as memory:
            for first in range(0, count, 1000):
                texts = [f"note {first + number} about the garden and its {number} trees" for number in range(1000)]
                memory.observe_many([{"role": "user", "content": text} for text in texts])
        config = replace(self.config("carried"), home=home)
        target = self.folder / "back"
        ways: dict[str, Callable[[], object]] = {
            "into the database": partial(import_home, config),
            "and back": partial(export_home, config, target),
        }
        for way, work in ways.items():
            began = time.perf_counter()
            work()
            took = (time.perf_counter() - began) * 100_000 / count
            say(f"100,000 memories {way}, from {count:,}", f"{took:.1f} s", "at most 60 s", holds=took <= 60)

    def two_servers(self) -> None:
        burnt = [self._together([sys.executable, "-c", BURN], n, waits=False) for n in (1, 2)]
        machine = burnt[1] / burnt[0]
        command = [sys.executable, "-c", ASK, str(self.folder / "postgres" / "asked")]
        asked = [self._together(command, n, waits=True) for n in (1, 2)]
        gain = asked[1] / asked[0]
        if machine < 1.9:
            figure = f"{gain:.2f} times"
            say(f"two servers beside one; two burners reach only {machine:.2f}", figure, "skipped", holds=None)
        else:
            say("two servers beside one on recall", f"{gain:.2f} times", "at least 1.7", holds=gain >= 1.7)

    def _together(self, command: list[str], processes: int, *, waits: bool) -> int:
        environ = os.environ | {"MEMFOLIO_STORE": "postgres", "MEMFOLIO_DATABASE_URL": self.server.url}
        with ExitStack() as stack:
            started = [
                stack.enter_context(
                    subprocess.Popen(
                        command,
                        env=environ | {"MEMFOLIO_CACHE": str(self.folder / f"served-{number}")},
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        text=True,
                    )
                )
                for number in range(processes)
            ]
            for each in started if waits else ():
                assert each.stdout
                each.stdout.readline()
            return sum(int(each.communicate("go\n" if waits else None)[0]) for each in started)

    def many_homes(self, count: int) -> None:
        database, planning = HomeDatabase.at(self.server.url), list[float]()
        times = list[float]()
        rss = _resident()
        held: list[PostgresVault] = []
        for number in range(count):
            held.append(PostgresVault.of(self.config(f"known-{number}")))
            if number in (9, count - 1):
                planning.append(self._planning(database, held[-1]))
                began = time.perf_counter()
                migrate(self.server.owner_url, "memfolio")
                times.append(time.perf_counter() - began)
        each = (_resident() - rss) / count
        total = each * 10_000 / 2**30
        say(f"10,000 homes known, from {count} (small ones)", f"{total:.2f} GB", "at most 1 GB", holds=total <= 1)
        ratio = planning[1] / planning[0]
        say(f"planning with {count} homes beside 10", f"{ratio:.2f} times", "does not grow", holds=ratio < 2)
        ratio = times[1] / times[0]
        say(f"migrating with {count} homes beside 10", f"{ratio:.2f} times", "does not grow", holds=ratio < 2)
        for vault in held:
            vault.close()
        self._open_homes(min(count, 50))

    def _open_homes(self, count: int) -> None:
        """What a home takes that is open and was asked something, as a server keeps a hundred of them."""
        self.memory("asked").recall("trees")
        rss = _resident()
        for number in range(count):
            self.memory(f"known-{number}").recall("trees")
        total = (_resident() - rss) / count * MOST_HOMES / 2**30
        say(f"{MOST_HOMES} homes open, from {count} (small ones)", f"{total:.2f} GB", "at most 1 GB", holds=total <= 1)

    def _planning(self, database: HomeDatabase, vault: PostgresVault) -> float:
        sql = "EXPLAIN (SUMMARY, FORMAT JSON) SELECT path, version, seq, size, hash FROM memfolio.files WHERE home = %s"
        found = [database.ask(vault.rows.home, sql, [vault.rows.home])[0][0][0]["Planning Time"] for _ in range(50)]
        return float(statistics.median(found))


def _resident() -> float:
    """Bytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=200)
    parser.add_argument("--homes", type=int, default=200)
    parser.add_argument("--carried", type=int, default=10_000)
    parser.add_argument("--commit-ms", type=float, default=2)
    given = parser.parse_args()
    os.environ["MEMFOLIO_PROJECTS"] = "false"
    base = Path(tempfile.mkdtemp(prefix="memfolio-bench-"))
    base.chmod(0o755)
    os.environ["MEMFOLIO_CACHE"] = str(base / "caches")
    server = OwnServer(base / "server", "nobody" if os.geteuid() == 0 else None)
    try:
        server.start()
        with ExitStack() as stack:
            bench = Bench(server, base, stack)
            bench.prepare_writes()
            bench.writes(given.writes)
            bench.slow_down(given.commit_ms)
            bench.writes(given.writes)
            bench.slow_down(0)
            bench.notifying(given.writes)
            bench.recalls(300)
            bench.carry(given.carried)
            bench.two_servers()
            bench.many_homes(given.homes)
    finally:
        HomeDatabase.at(server.url).drop_idle()
        server.stop("immediate")
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
