"""What a further open home costs a process that serves many: `python -m bench.homes`.

The homes are made by another process first, so that their indexes are on disk and nothing of them is in memory.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from bench.board import Board, a_folder, run, sentence, timed
from memfolio.embed import vectorizer
from memfolio.memory import Memory
from memfolio.vault import committer

HOMES = 200
FIRST = 3
"""How many homes are open before the counting begins: what the process loads once is not a cost of the next home."""
MEMORIES = 10
WARM_ROUNDS = 5
QUESTION = "what did we say about the harbour?"


def make_homes(folder: Path) -> None:
    for number in range(FIRST + HOMES):
        with Memory.open(folder / str(number)) as memory:
            memory.observe_many({"role": "user", "content": sentence(number * MEMORIES + n)} for n in range(MEMORIES))
            memory.sync(embed=True)
            memory.recall(QUESTION)


def resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def at_rest(count: int) -> tuple[float, int]:
    """Megabytes and threads once the short-lived threads of so many open homes have ended."""
    end = time.monotonic() + 60
    while threading.active_count() > count + 1 and time.monotonic() < end:
        time.sleep(0.1)
    gc.collect()
    return resident_megabytes(), threading.active_count()


def bench_many(board: Board) -> None:
    """Memory, threads and the first recall of each further home."""
    vectorizer.LINGER = committer.LINGER = (
        0.1  # idle threads end sooner, so that the measurement does not wait for them
    )
    with a_folder() as folder:
        subprocess.run([sys.executable, "-m", "bench.homes", "make", str(folder)], check=True)
        memories, first, warm = [], [], []
        for number in range(FIRST + HOMES):
            memory = Memory.open(folder / str(number))
            memories.append(memory)
            cost = timed(lambda memory=memory: memory.recall(QUESTION))  # type: ignore[misc]
            if number == FIRST - 1:
                before = at_rest(FIRST)
            if number >= FIRST:
                first.append(cost)
                warm += [timed(lambda memory=memory: memory.recall(QUESTION)) for _ in range(WARM_ROUNDS)]  # type: ignore[misc]
        after = at_rest(FIRST + HOMES)
        for memory in memories:
            memory.close()
    board.show(
        "memory per open home",
        (after[0] - before[0]) / HOMES,
        2,
        unit=" MB",
        note=f"{HOMES} homes of {MEMORIES} memories",
    )
    board.show("threads per open home", (after[1] - before[1]) / HOMES, 1, unit="")
    cold, hot = statistics.median(first), statistics.median(warm)
    board.show(
        "first recall over a warm one", cold / hot, 2, note=f"{cold * 1e3:.1f} ms over {hot * 1e3:.1f} ms, median"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make_homes(Path(sys.argv[2]))
    else:
        sys.exit(run({"many": bench_many}, sys.argv[1:]))
