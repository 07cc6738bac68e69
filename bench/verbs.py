"""What the verbs cost, as ratios within one run: `make bench`, or a part: `python -m bench.verbs remember cold`.

Each measurement stands beside its floor, the barest thing that would do the job, and its limit. Exits with 1 when a
limit is not kept.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import apsw

from bench.board import Board, a_folder, bare_append, run, sentence, timed
from memfolio.bench.speed import Talk, speed
from memfolio.embed.local import LocalEmbedder
from memfolio.memory import Memory
from memfolio.vault.vault import OWNER

ROUNDS = 500
ROUNDS_OF_FORGETTING = 30
T = TypeVar("T")
START = datetime(2026, 1, 5, 8, tzinfo=UTC)
MANY = 100_000
LENGTHS = {"user": 120, "assistant": 480}
"""Characters of a turn: 300 on average."""


def turn(number: int) -> dict[str, Any]:
    role = ("user", "assistant")[number % 2]
    return {
        "role": role,
        "content": sentence(number, LENGTHS[role]),
        "session": f"s-{number // 40}",
        "at": START + timedelta(minutes=5 * number),
    }


def turns(count: int) -> list[dict[str, Any]]:
    return [turn(number) for number in range(count)]


def bare_loop(folder: Path, rows: Sequence[dict[str, Any]], logs: bytes) -> float:
    """Seconds for the same rows in one FTS5 table, in one transaction, and the same bytes in one file."""
    began = time.perf_counter()
    with open(folder / "bare.md", "ab") as file:
        file.write(logs)
        file.flush()
        os.fsync(file.fileno())
    connection = apsw.Connection(str(folder / "bare.db"))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "normal")
    connection.execute(
        "CREATE VIRTUAL TABLE bare USING fts5 (content, role UNINDEXED, session UNINDEXED, at UNINDEXED, "
        "tokenize='porter unicode61 remove_diacritics 2')"
    )
    with connection:
        for row in rows:
            values = (row["content"], row["role"], row["session"], row["at"].isoformat())
            connection.execute("INSERT INTO bare VALUES (?, ?, ?, ?)", values)
    connection.close()
    took = time.perf_counter() - began
    for name in ("bare.db", "bare.md"):
        (folder / name).unlink()
    return took


def logs_of(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(home.glob("agents/main/memory/*.md")))


def bench_remember(board: Board) -> None:
    """One remembered sentence, with index and embedder, against one bare append and fsync of the same bytes."""
    with a_folder() as folder, Memory.open(folder / "home") as memory:
        memory.remember(sentence(0))
        memory.recall("warm up")
        log = next((folder / "home").glob("agents/main/memory/*.md"))
        size = log.stat().st_size
        memory.remember(sentence(1))
        entry = log.read_bytes()[size:]
        fd = os.open(folder / "bare", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        bare, ours = [], []
        for number in range(ROUNDS):
            text = sentence(number + 2)
            bare.append(timed(lambda: bare_append(fd, entry)))
            ours.append(timed(lambda text=text: memory.remember(text)))  # type: ignore[misc]
        os.close(fd)
    floor, cost = statistics.median(bare), statistics.median(ours)
    note = f"{cost * 1e3:.2f} ms over {floor * 1e3:.2f} ms bare, median of {ROUNDS}"
    board.show("remember", cost / floor, 4, note=note)


def bench_forget(board: Board) -> None:
    """Forgetting, restoring and undoing a memory in a log of 110 KB, against one remembered sentence."""
    with a_folder() as folder, Memory.open(folder / "home") as memory:
        items = [memory.remember(sentence(number)) for number in range(365)]
        log = next((folder / "home").glob("agents/main/memory/*.md"))
        memory.recall("warm up")
        memory.forget(items[0].id)
        costs: dict[str, list[float]] = {"remember": [], "forget": [], "restore": [], "undo": []}

        def measure(name: str, verb: Callable[[], T]) -> T:
            memory.vault.commit()  # git's work on what came before is not part of this
            began = time.perf_counter()
            done = verb()
            costs[name].append(time.perf_counter() - began)
            return done

        for number in range(ROUNDS_OF_FORGETTING):
            one = items[9 * number + 5].id
            measure("remember", partial(memory.remember, sentence(number + 500)))
            done = measure("forget", partial(memory.forget, one)).receipt
            assert done is not None
            measure("undo", partial(memory.audit.undo, done.seq, by=OWNER))
            memory.forget(one)
            measure("restore", partial(memory.restore, one))
        size = log.stat().st_size
    floor = statistics.median(costs.pop("remember"))
    for name, cost in ((name, statistics.median(each)) for name, each in costs.items()):
        note = f"{cost * 1e3:.1f} ms over {floor * 1e3:.2f} ms, median of {ROUNDS_OF_FORGETTING}, {size // 1000} KB"
        board.show(f"{name} in a large log", cost / floor, 10, note=note)


def bench_visible(board: Board) -> None:
    """From the call of `observe` to the memory in the answer of `recall`, in a home at rest."""
    with a_folder() as folder, Memory.open(folder / "home") as memory:
        memory.observe_many(turns(10_000))
        memory.searcher.vectorizer.fill(memory.searcher.index)
        memory.vault.commit()
        memory.recall("warm up")
        os.sync()  # what the turns before left to be written is not part of this
        times = []
        for number in range(50):
            began = time.perf_counter()
            item = memory.observe("user", f"the password hint number{number} is a fruit")
            hits = memory.recall(f"password hint number{number}")
            times.append(time.perf_counter() - began)
            assert item.id in [hit.memory.id for hit in hits], "it was not found"
    board.show("observe to recall", max(times) * 1e3, 50, unit=" ms", note="slowest of 50 among 10,000 turns")


def bench_recall(board: Board) -> None:
    """Recall in homes of usual sizes against the barest search by words and meaning, as `memfolio bench speed` does."""
    for found in speed([1000, 10_000]):
        for name, ratio, cost, floor in (
            ("p50", found.ratio_p50, found.p50_ms, found.floor_p50_ms),
            ("p95", found.ratio_p95, found.p95_ms, found.floor_p95_ms),
        ):
            board.show(f"recall in {found.memories:,}, {name}", ratio, 2.5, note=f"{cost:.2f} ms over {floor:.2f} ms")


def bench_context(board: Board) -> None:
    """The context of a prompt against a recall of the same words, in turns."""
    with a_folder() as folder, Memory.open(folder / "home", background=False) as memory:
        talk = Talk()
        memory.observe_many(talk.turns(1000))
        memory.sync(embed=True)
        recalls, contexts = [], []
        for question in [talk.question() for _ in range(100)]:
            recalls.append(timed(lambda question=question: memory.recall(question)))  # type: ignore[misc]
            contexts.append(timed(lambda question=question: memory.context(question)))  # type: ignore[misc]
    floor, cost = statistics.median(recalls), statistics.median(contexts)
    board.show("context over recall", cost / floor, 2, note=f"{cost * 1e3:.2f} ms over {floor * 1e3:.2f} ms, median")


def bench_bulk(board: Board) -> None:
    """10,000 turns at once against the bare loop, and with vectors against the embedder alone."""
    rows = turns(10_000)
    rounds = [one_bulk(rows) for _ in range(5)]
    for name, one, other, limit in (("observe_many", 1, 0, 25), ("observe_many with vectors", 3, 2, 50)):
        ratios = sorted(each[one] / each[other] for each in rounds)
        note = f"median of {len(ratios)}, from {100 * ratios[0]:.0f} to {100 * ratios[-1]:.0f}"
        board.show(name, 100 * statistics.median(ratios), limit, unit=" %", most=False, note=note)


def bench_background(board: Board) -> None:
    """10,000 turns until all are found by meaning: made by the thread of an open home, and by who waits for them."""
    rows = turns(10_000)
    rounds = [(seconds_to_vectors(rows, background=True), seconds_to_vectors(rows, background=False)) for _ in range(3)]
    ratios = sorted(ours / floor for ours, floor in rounds)
    best = len(rows) / min(ours for ours, _ in rounds)
    board.show("vectors in the background", ratios[1], 1.3, note=f"median of 3, at best {best:,.0f} memories/s in all")


def seconds_to_vectors(rows: Sequence[dict[str, Any]], *, background: bool) -> float:
    with a_folder() as folder, Memory.open(folder / "home", background=background) as memory:
        memory.observe("user", "the first one opens the index")
        memory.recall("warm up")
        began = time.perf_counter()
        memory.observe_many(rows)
        if not background:
            memory.searcher.embed()
        while memory.searcher.missing_vectors():
            time.sleep(0.01)
        return time.perf_counter() - began


def one_bulk(rows: Sequence[dict[str, Any]]) -> tuple[float, float, float, float]:
    """Seconds for the turns, for the bare loop, for the turns with their vectors, and for the embedder alone."""
    with a_folder() as folder:
        with Memory.open(folder / "home", background=False) as memory:
            memory.observe("user", "the first one opens the index")
            ours = timed(lambda: memory.observe_many(rows))
            vectors = timed(lambda: memory.searcher.vectorizer.fill(memory.searcher.index))
        floor = bare_loop(folder, rows, logs_of(folder / "home"))
    embedder = LocalEmbedder()
    embedder.embed(["warm up"])
    return ours, floor, ours + vectors, timed(lambda: embedder.embed([row["content"] for row in rows]))


def bench_large(board: Board) -> None:
    """100,000 memories: building the index, how they are and what happened, a cold process's first answer, the room."""
    rows = turns(MANY)
    with a_folder() as folder:
        home = folder / "home"
        with Memory.open(home, background=False) as memory:
            for first in range(0, MANY, 1000):
                memory.observe_many(rows[first : first + 1000])
                print(f"\r  preparing: {first + 1000:,} of {MANY:,} turns", end="", file=sys.stderr, flush=True)
            print(file=sys.stderr)
            memory.vault.commit()
            memory.vault.history.pack()
            ours = timed(lambda: memory.searcher.index.rebuild())
            floor = bare_loop(folder, rows, logs_of(home))
            note = f"{MANY / ours:,.0f} memories/s over {MANY / floor:,.0f}"
            board.show("reindex", ours / floor, 6, note=note)
            memory.searcher.vectorizer.fill(memory.searcher.index)
            sizes = memory.status().bytes
            for name, verb, limit in (("status", memory.status, 100), ("log of 50 changes", memory.audit.log, 50)):
                times = sorted(timed(verb) * 1e3 for _ in range(7))
                note = f"median of 7, from {times[0]:.0f} to {times[-1]:.0f}"
                board.show(name, times[3], limit, unit=" ms", note=note)
        bench_cold(board, home)
        parts = ", ".join(f"{name} {size / MANY:,.0f}" for name, size in sizes.items())
        board.show("on disk", sum(sizes.values()) / MANY, 3000, unit=" bytes a memory", note=parts)


COLD = """
import sys
from memfolio import Memory
with Memory.open(sys.argv[1], background=False) as memory:
    hits = memory.recall("what was said about bakora")
    assert hits and not hits.degraded, hits.degraded
    assert any(reason.strategy == "vector" for hit in hits for reason in hit.why)
    from bench.board import peak_megabytes
    print(peak_megabytes())
"""


def bench_cold(board: Board, home: Path) -> None:
    """A process that starts, opens the home and answers, against one that only imports what it must."""
    bare, ours, peak = [], [], 0.0
    for _ in range(7):
        bare.append(timed(lambda: subprocess.run([sys.executable, "-c", "import apsw, numpy"], check=True)))
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", COLD, str(home)], check=True, stdout=subprocess.PIPE, text=True)
        ours.append(time.perf_counter() - began)
        peak = max(peak, float(done.stdout))
    floor, cost = statistics.median(bare), statistics.median(ours)
    note = f"{cost:.2f} s over {floor:.2f} s, median of 7"
    board.show("cold open and recall", cost / floor, 3.5, note=note)
    board.show("memory of that process", peak, 300, unit=" MB")


def bench_install(board: Board) -> None:
    """The room of the base install, without pip and what the tests need."""
    site = Path(sysconfig.get_path("purelib"))
    lines = Path("requirements.lock").read_text().splitlines()
    names = sorted({line.partition("==")[0] for line in lines if "==" in line})
    board.show("base install", installed_bytes(site, names) / 1e6, 220, unit=" MB", note=f"{len(names)} packages")


def installed_bytes(site: Path, names: Sequence[str]) -> int:
    from importlib.metadata import PackageNotFoundError, distribution

    total = 0
    for name in names:
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:  # of another platform
            continue
        total += sum(path.stat().st_size for each in files if (path := site / each).is_file())
    return total


BENCHES = {
    "remember": bench_remember,
    "forget": bench_forget,
    "recall": bench_recall,
    "context": bench_context,
    "visible": bench_visible,
    "bulk": bench_bulk,
    "background": bench_background,
    "large": bench_large,
    "install": bench_install,
}


if __name__ == "__main__":
    sys.exit(run(BENCHES, sys.argv[1:]))
