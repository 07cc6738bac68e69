"""What the vault costs, as ratios within one run: `make bench`, or a part: `python -m bench.vault append growth`.

Each measurement stands beside its floor, the barest thing that would do the job, and its limit. Exits with 1 when a
limit is not kept.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.board import Board, a_folder, bare_append, run, sentence, timed
from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.types import Attribution, MemoryItem
from memfolio.vault.git.repository import CommitDraft
from memfolio.vault.vault import Vault

ROUNDS = 500
START = datetime(2026, 1, 5, 8, tzinfo=UTC)
BY = Attribution(session="s-42")


def turn(seed: int) -> MemoryItem:
    return MemoryItem(id="", content=sentence(seed), created_at=START, session="s-42", role="user")


@contextmanager
def a_home() -> Iterator[Path]:
    with a_folder() as folder:
        yield folder / "home"


def open_vault(home: Path, clock: SettableClock | None = None, **overrides: object) -> Vault:
    return Vault.open(config=load_config(home, overrides=overrides), clock=clock)


def bench_append(board: Board) -> None:
    """An acknowledged append with its audit line against one bare append and fsync of the same bytes."""
    with a_home() as home, open_vault(home) as vault:
        receipt = vault.add("main", [turn(0)], BY)
        log = home / receipt.paths[0]
        size = log.stat().st_size
        vault.add("main", [turn(1)], BY)
        entry = log.read_bytes()[size:]
        fd = os.open(home.parent / "bare", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        bare, ours = [], []
        for number in range(ROUNDS):
            item = turn(number + 2)
            bare.append(timed(lambda: bare_append(fd, entry)))
            ours.append(timed(lambda item=item: vault.add("main", [item], BY)))  # type: ignore[misc]
        os.close(fd)
    floor, cost = statistics.median(bare), statistics.median(ours)
    note = f"{cost * 1e3:.2f} ms over {floor * 1e3:.2f} ms bare, {1 / cost:,.0f} a second, median of {ROUNDS}"
    board.show("acknowledged append", cost / floor, 3.5, note=note)


def bench_stream(board: Board) -> None:
    """Single adds as fast as they go, with the committer at work beside them."""
    count, part, pause = 10_000, 2_000, 5.0
    with a_home() as home:
        fd = os.open(home.parent / "bare", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        bare, ours, made = [], [], []
        waited = 0.0
        with open_vault(home) as vault:
            recent = vault.journal
            first = vault.add("main", [turn(0)], BY).seq + 1
            for number in range(count):
                item = turn(number + 1)
                ours.append(timed(lambda item=item: vault.add("main", [item], BY)))  # type: ignore[misc]
                made.append(time.perf_counter())
                oldest = max(recent.committed + 1 - first, 0)
                waited = max(waited, made[-1] - made[min(oldest, number)])
                if number % 10 == 0:
                    bare.append(timed(lambda item=item: bare_append(fd, item.content.encode())))  # type: ignore[misc]
            while recent.pending and time.perf_counter() - made[-1] < pause:
                time.sleep(0.01)
            rest = time.perf_counter() - made[-1]
            commits = len(set(vault.commits_of(range(first, vault.head + 1)).values()))
        os.close(fd)
        size = folder_bytes(home)
        logs = sum(len(each.read_bytes()) for each in home.glob("agents/main/memory/*.md"))
    cost, floor = statistics.mean(ours), statistics.mean(bare)
    slow = sorted(ours)[int(0.95 * count)]
    note = f"{1 / cost:,.0f} adds a second over {1 / floor:,.0f} bare, 95 of 100 within {slow * 1e3:.1f} ms"
    board.show(f"{count:,} single adds", cost / floor, 5, note=note)
    was, now = part / sum(ours[:part]), part / sum(ours[-part:])
    note = f"{now:,.0f} over {was:,.0f} adds a second, last and first {part:,}"
    board.show("rate after 10,000 adds", now / was, 0.8, most=False, note=note)
    note = f"{logs / count:,.0f} in the log itself, {commits} commits"
    board.show("on disk", size / count, 2500, unit=" bytes a memory", note=note)
    board.show("until in git, steady stream", waited, 5, unit=" s")
    board.show("until in git, after a pause", rest, 1, unit=" s")


def fill(home: Path, *, entries: int, files: int, commits: int) -> None:
    """A home that has been used for years."""
    clock = SettableClock(START)
    with open_vault(home, clock, git_enabled=False) as vault:
        for day in range(300):
            clock.set(START + timedelta(days=day))
            vault.add("main", [turn(day * 1000 + number) for number in range(entries // 300 + 1)], BY)
    for number in range(files):
        page = home / f"agents/agent-{number % 100}/memory/graph/entities/{number // 1000}/concept--{number}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"# concept {number}\n\n{sentence(number)}\n")
    with open_vault(home, clock, commit_delay=60) as vault:
        vault.commit()
        add_commits(vault, commits)


def add_commits(vault: Vault, commits: int) -> None:
    """A long history, made quickly: without fsync, which changes nothing about its shape."""
    import pygit2

    tip_seq = vault.journal.head.seq
    for first in range(0, commits, 500):
        drafts = [
            CommitDraft(
                writes={f"shared/notes/{number % 50}.md": f"{number}\n".encode()},
                subject=f"[EDIT] shared/notes/{number % 50}.md",
                trailers=[("Actor", "system:bench"), ("Seq", str(tip_seq))],
                author="system:bench",
                at=START + timedelta(days=310, seconds=number),
            )
            for number in range(first, min(first + 500, commits))
        ]
        pygit2.settings.enable_fsync_gitdir(False)
        vault.history.commit(drafts)
        print(f"\r  preparing: {first + 500:,} of {commits:,} commits", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    pygit2.settings.enable_fsync_gitdir(True)
    vault.history.pack()
    for number in range(min(50, commits)):
        path = vault.home.root / f"shared/notes/{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(vault.history.read(f"shared/notes/{number}.md") or b"")
    vault.survey()


def bench_growth(board: Board) -> None:
    """An append and a commit in a large old home against the same in an empty one."""
    with a_home() as small, a_home() as large:
        fill(large, entries=100_000, files=10_000, commits=20_000)
        with open_vault(small, commit_delay=60) as empty, open_vault(large, commit_delay=60) as full:
            for vault in (empty, full):
                vault.add("main", [turn(0)], BY)
                vault.commit()
            appends: dict[Vault, list[float]] = {empty: [], full: []}
            commits: dict[Vault, list[float]] = {empty: [], full: []}
            for number in range(ROUNDS):
                for vault in (empty, full):
                    item = turn(number)
                    appends[vault].append(timed(lambda v=vault, i=item: v.add("main", [i], BY)))  # type: ignore[misc]
                    if number % 10 == 9:
                        commits[vault].append(timed(vault.committer.commit_now))
    for name, times in (("append", appends), ("commit", commits)):
        was, now = statistics.median(times[empty]), statistics.median(times[full])
        board.show(f"{name} in a large home", now / was, 1.5, note=f"{now * 1e3:.2f} ms over {was * 1e3:.2f} ms")


def write_for_a_while(home: Path, worker: int, count: int, gate: object, results: object) -> None:
    with open_vault(home) as vault:
        gate.wait()  # type: ignore[attr-defined]
        began = time.perf_counter()
        waits = [timed(lambda n=n: vault.add("main", [turn(worker * 100_000 + n)], BY)) for n in range(count)]  # type: ignore[misc]
        results.put((time.perf_counter() - began, max(waits)))  # type: ignore[attr-defined]


def run_writers(home: Path, workers: int, count: int) -> tuple[float, float]:
    """Entries per second of all writers together, and the longest that one of them waited."""
    context = multiprocessing.get_context("spawn")
    gate, results = context.Barrier(workers), context.Queue()
    crew = [
        context.Process(target=write_for_a_while, args=(home, number, count, gate, results))
        for number in range(workers)
    ]
    for process in crew:
        process.start()
    outcomes = [results.get(timeout=300) for _ in crew]
    for process in crew:
        process.join()
    return workers * count / max(took for took, _ in outcomes), max(wait for _, wait in outcomes)


def bench_processes(board: Board) -> None:
    """Eight processes appending at once against one."""
    with a_home() as alone, a_home() as together:
        single, _ = run_writers(alone, 1, 2000)
        eight, wait = run_writers(together, 8, 500)
        with open_vault(together) as vault:
            ids = [item.id for item in vault.entries("main")]
            sealed = vault.trail.problems()
    note = f"{eight:,.0f} over {single:,.0f} a second"
    board.show("8 processes at once", eight / single, 0.7, most=False, note=note)
    board.show("longest wait", wait, 1.0, unit=" s")
    board.show(
        "entries lost or doubled", abs(4000 - len(ids)) + abs(len(ids) - len(set(ids))) + len(sealed), 0, unit=""
    )


def folder_bytes(path: Path) -> int:
    return sum(each.stat().st_blocks * 512 for each in path.rglob("*") if each.is_file())


def bench_size(board: Board) -> None:
    """Bytes of git and trail for each entry, after packing, with a commit every second or so."""
    count, clock = 10_000, SettableClock(START)
    with a_home() as home, open_vault(home, clock, commit_delay=60) as vault:
        for number in range(count):
            clock.advance(seconds=20)
            vault.add("main", [turn(number)], BY)
            if number % 5 == 4:
                vault.commit()
        vault.commit()
        loose = folder_bytes(home / ".git")
        vault.history.pack()
        git, trail = folder_bytes(home / ".git"), folder_bytes(home / "audit")
    note = (
        f"git {git / count:,.0f} + trail {trail / count:,.0f} ({loose / count:,.0f} before packing), {count:,} entries"
    )
    board.show("git and trail", (git + trail) / count, 1500, unit=" bytes an entry", note=note)


BENCHES = {
    "append": bench_append,
    "stream": bench_stream,
    "growth": bench_growth,
    "processes": bench_processes,
    "size": bench_size,
}


if __name__ == "__main__":
    sys.exit(run(BENCHES, sys.argv[1:]))
