"""What a heartbeat over a large mind costs: `python -m bench.heartbeat`. Exits with 1 when a limit is not kept."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from random import Random
from time import process_time

from bench.board import Board, a_folder, run, sentence, timed
from memfolio.clock import SettableClock
from memfolio.index.mind_pages import BY_PAGE, MindPage
from memfolio.memory import Memory
from memfolio.mind.beliefs import find_conflicts
from memfolio.mind.heartbeat import BdiCycleResult, beat
from memfolio.tend.changes import JobChanges
from memfolio.vault.vault import OWNER

START = datetime(2026, 11, 15, 8, tzinfo=UTC)
SAID = ("It is {w}.", "It costs {n} EUR.", "It takes {n} hours and is not {w}.", "{w} holds since 2026-11-{d:02d}.")


def beliefs(count: int) -> str:
    """A page of beliefs, some of which contradict each other."""
    chosen = Random(count)
    parts = []
    for number in range(count):
        title = " ".join(sentence(number if chosen.random() < 0.98 else number // 2, 26).split()[1:])
        text = chosen.choice(SAID).format(
            w=chosen.choice(("open", "closed", "growing", "stable")), n=number % 9, d=number % 28 + 1
        )
        parts.append(f"## {title}\ncertainty: {chosen.uniform(0.3, 1):.2f} · updated: 2026-11-10\n\n{text}\n")
    return "# Beliefs\n\n" + "\n".join(parts)


def intentions(count: int) -> str:
    """A page of intentions: a quarter past their deadline, a quarter that nobody spoke of, a quarter without a date."""
    fields = ("deadline: 2026-11-01", "updated: 2026-10-01", "updated: 2026-11-14", "priority: high")
    return "\n".join(f"## {sentence(number, 40)}\n{fields[number % 4]}\n\nSoon.\n" for number in range(count))


def computed(step: Callable[[], object]) -> float:
    """Seconds of the processor, which other work on the machine does not make longer."""
    began = process_time()
    step()
    return process_time() - began


def cycle(board: Board) -> None:
    """A whole cycle, the first, which has much to write, and the one after it, which has nothing."""
    clock = SettableClock(START)
    with a_folder() as folder, Memory.open(folder / "home", clock=clock, background=False) as memory:
        for name, text in (("Beliefs", beliefs(5000)), ("Intentions", intentions(1000))):
            memory.vault.put_page(f"agents/main/mind/{name}.md", text, expects=None, by=OWNER)
        memory.searcher.index.catch_up()
        results: list[BdiCycleResult] = []

        def step() -> None:
            changes = JobChanges(vault=memory.vault, agent="main", now=clock.now())
            results.append(beat(changes, memory.searcher, lambda since: "none"))

        used: list[float] = []
        first, second = (timed(lambda: used.append(computed(step))) for _ in range(2))
        done = results[0]
        counts = f"{done.stale_intentions_pruned} pruned, {done.conflicts_detected} conflicts"
        note = f"{used[0]:.2f} s of the processor; {counts}"
        board.show("a cycle over 5,000 beliefs and 1,000 intentions", first, 2, unit=" s", note=note)
        board.show(
            "the cycle after it, which writes nothing", second, 2, unit=" s", note=f"{used[1]:.2f} s of the processor"
        )


def search(board: Board) -> None:
    """How the search for conflicts grows with the number of beliefs."""
    took = {}
    for count in (2500, 5000, 10_000):
        items = MindPage(BY_PAGE["Beliefs"], beliefs(count), agent="main", zone=UTC).items
        took[count] = min(computed(partial(find_conflicts, items, {}, 0.6)) for _ in range(3))
    note = ", ".join(f"{count:,}: {seconds:.2f} s" for count, seconds in took.items())
    board.show("four times as many beliefs take", took[10_000] / took[2500], 6, note=note)


if __name__ == "__main__":
    sys.exit(run({"cycle": cycle, "search": search}, sys.argv[1:]))
