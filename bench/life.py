"""What a memory's life costs: `make bench`, or a part: `python -m bench.life groups`.

Exits with 1 when a limit is not kept.
"""

from __future__ import annotations

import gc
import math
import random
import resource
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from bench.board import Board, a_folder, run, sentence, timed
from memfolio.arguments import draft_of
from memfolio.clock import SettableClock
from memfolio.index.rows import to_us
from memfolio.memory import Memory
from memfolio.settings import Consolidation, Retention
from memfolio.tend.changes import JobChanges
from memfolio.tend.consolidate import belonging, group
from memfolio.tend.digest import build
from memfolio.tend.retention import due
from memfolio.types import MemoryItem
from memfolio.vault.vault import OWNER

START = datetime(2026, 1, 5, 8, tzinfo=UTC)
CANDIDATES = 10_000
DAYS, A_DAY = 365, 30
MANY = 1_000_000
BATCH = 10_000


def tags(seed: int, count: int) -> list[str]:
    """One to five of so many tags, a few of which come all the time."""
    chosen = random.Random(seed)
    weights = list(accumulate(1 / (rank + 1) for rank in range(count)))
    return sorted({f"t{each}" for each in chosen.choices(range(count), cum_weights=weights, k=chosen.randint(1, 5))})


def consolidate(board: Board) -> None:
    """Ten thousand candidates, half of them with tags, become long-term memories as one change."""
    with a_folder() as folder, Memory.open(folder / "home", background=False) as memory:
        drafts = [
            draft_of(
                content=sentence(number),
                importance=0.8,
                store="short_term",
                tags=tags(number, 2000) if number % 2 else [],
            )
            for number in range(CANDIDATES)
        ]
        memory.vault.add("main", drafts, OWNER)
        memory.searcher.index.catch_up()
        board.show("consolidating 10,000 candidates", timed(memory.consolidate), 3, unit=" s")


def best(step: Callable[[], object]) -> float:
    """The best of three, as `timeit` measures: without the collector of garbage."""
    gc.disable()
    try:
        return min(timed(step) for _ in range(3))
    finally:
        gc.enable()


def groups(board: Board) -> None:
    """Grouping grows no worse than n·log n, by tags and by words."""

    def by_tags(count: int) -> float:
        sets = [frozenset(tags(number, count // 5)) for number in range(count)]
        return best(lambda: group(sets, 0.3))

    def by_words(count: int) -> float:
        items = [MemoryItem(id=f"M-{n}-00000000", content=sentence(n), created_at=START) for n in range(count)]
        return best(lambda: list(belonging(items, Consolidation())))

    for name, measure in (("tags", by_tags), ("words", by_words)):
        few, many = measure(1000), measure(50_000)
        most = 50 * math.log(50_000) / math.log(1000)
        board.show(
            f"grouping 50,000 by {name} beside 1,000",
            many / few,
            round(most, 1),
            note=f"{few * 1000:.0f} ms and {many:.2f} s",
        )


def digests(board: Board) -> None:
    """A year of days, then one of them changed."""
    with a_folder() as folder:
        clock = SettableClock(START + timedelta(days=DAYS + 10))
        with Memory.open(folder / "home", clock=clock, background=False) as memory:
            for day in range(DAYS):
                at = START + timedelta(days=day)
                memory.observe_many(
                    {"role": "user", "content": sentence(day * A_DAY + n), "session": f"s{day}", "at": at}
                    for n in range(A_DAY)
                )
            changes = JobChanges(vault=memory.vault, agent="main", now=clock.now())
            whole = timed(lambda: build(changes, memory.searcher.index))
            memory.observe("user", "One more thing", at=START + timedelta(days=180))
            memory.searcher.index.catch_up()
            again = timed(lambda: build(changes, memory.searcher.index))
            same = timed(lambda: build(changes, memory.searcher.index))
            note = f"{whole:.2f} s, {again * 1000:.0f} ms, with nothing changed {same * 1000:.0f} ms"
            board.show("digests with one of 365 days changed beside all", 100 * again / whole, 5, unit=" %", note=note)


def retention(board: Board) -> None:
    """One question to an index of a million memories says what has faded and what is due."""
    with a_folder() as folder, Memory.open(folder / "home", background=False) as memory:
        fill(memory, MANY)
        index, config = memory.searcher.index, memory.vault.config
        now = to_us(datetime.now(UTC) + timedelta(days=100))
        settings = Retention(faded=True)
        before = resident_mb()
        took = timed(lambda: index.read(lambda db: due(db, now, settings, config.decay)).count)
        found = index.read(lambda db: due(db, now, settings, config.decay)).count
        board.show("decay and retention over 1,000,000", took, 5, unit=" s", note=f"{found:,} due")
        board.show("resident memory", resident_mb(), 300, unit=" MB", note=f"{before:.0f} MB before")


def fill(memory: Memory, count: int) -> None:
    for first in range(0, count, BATCH):
        memory.observe_many(
            {
                "role": ("user", "assistant")[number % 2],
                "content": sentence(number, 60),
                "session": f"s-{number // 40}",
                "at": START + timedelta(seconds=20 * number),
            }
            for number in range(first, first + BATCH)
        )


def resident_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


BENCHES = {"consolidate": consolidate, "groups": groups, "digests": digests, "retention": retention}

if __name__ == "__main__":
    sys.exit(run(BENCHES, sys.argv[1:]))
