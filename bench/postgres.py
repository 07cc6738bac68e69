"""A home in PostgreSQL beside what it is made of: each figure a ratio within one run, since machines differ.

    python -m bench.postgres [--writes 200] [--homes 200]

The server is one of its own in a folder that is thrown away; as root it runs as `nobody`.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psycopg

from memfolio.config import Config, load_config
from memfolio.memory import Memory
from memfolio.vault.postgres.database import HomeDatabase, migrate
from memfolio.vault.postgres.server import OwnServer
from memfolio.vault.postgres.vault import PostgresVault

CLIENTS = 8
BURN = "import time; t = time.perf_counter(); n = 0\nwhile time.perf_counter() - t < 2: n += 1\nprint(n)"
ASK = """
import sys, time
from memfolio.memory import Memory
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

    threads = [threading.Thread(target=run) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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

    def writes(self, count: int) -> None:
        with psycopg.connect(self.server.owner_url, autocommit=True) as conn:
            conn.execute("CREATE TABLE bare (n bigint, data bytea)")
        text = b"Alice drinks green tea in the morning, and coffee on Sundays " * 4
        local = threading.local()

        def insert(number: int) -> None:
            if not hasattr(local, "conn"):
                local.conn = self.stack.enter_context(psycopg.connect(self.server.owner_url, autocommit=True))
            local.conn.execute("INSERT INTO bare VALUES (%s, %s)", [number, text])

        one = self.memory("writer")
        many = [self.memory(f"writer-{number}") for number in range(CLIENTS)]
        for memory in (one, *many):
            memory.remember("warm up")
        ratios: dict[int, list[float]] = {1: [], CLIENTS: []}
        group: list[float] = []
        for turn in range(3):
            bare = seconds(insert, count)
            alone = seconds(lambda n, turn=turn: one.remember(f"{turn} {n} {text.decode()}"), count)  # type: ignore[misc]
            ratios[1].append(alone / bare)
            bare = seconds(insert, count, CLIENTS)
            spread = seconds(
                lambda n, turn=turn: many[n % CLIENTS].remember(f"{turn} {n} {text.decode()}"),  # type: ignore[misc]
                count,
                CLIENTS,
            )
            ratios[CLIENTS].append(spread / bare)
            together = seconds(lambda n, turn=turn: one.remember(f"{turn} all {n}"), count, CLIENTS)  # type: ignore[misc]
            group.append(alone / together)
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
            bench.writes(given.writes)
            bench.recalls(300)
            bench.two_servers()
            bench.many_homes(given.homes)
    finally:
        HomeDatabase.at(server.url).drop_idle()
        server.stop("immediate")
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
