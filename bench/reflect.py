"""What a reflection by rules alone costs: `python -m bench.reflect`. Exits with 1 when a limit is not kept."""

from __future__ import annotations

import resource
import sys
from datetime import UTC, datetime
from random import Random

from bench.board import Board, a_folder, run, sentence, timed
from memfolio.arguments import draft_of
from memfolio.clock import SettableClock
from memfolio.govern.reflection.gather import gather_findings
from memfolio.govern.reflection.page import Findings
from memfolio.memory import Memory
from memfolio.vault.vault import OWNER

START = datetime(2026, 6, 1, 8, tzinfo=UTC)
PEOPLE = "Maria Tomas Julia Ana Peter Ines Oskar Nadia Felix Clara".split()
PLACES = "Berlin Lisbon Prague Vienna Oslo Madrid Krakow Bern Dublin Turin".split()
SAID = (
    "{a} lives in {p}.",
    "I like {w} more than anything.",
    "We decided to use {w} for {b}'s project.",
    "My friend {a} works at {w}.",
    "I need to call {a} about {w}.",
    "I don't like {w}. {a} and {b} went to {p}.",
)


def spoken(seed: int) -> str:
    """Something that a person might say, most of which can be learned from."""
    chosen = Random(seed)
    a, b = chosen.sample(PEOPLE, 2)
    word = sentence(seed, 12).split()[-1].title()
    return chosen.choice(SAID).format(a=a, b=b, p=chosen.choice(PLACES), w=word)


def reflect(board: Board, memories: int = 10_000, episodes: int = 1_000) -> None:
    """So many memories of half a year, and so many episodes since the last reflection."""
    clock = SettableClock(START)
    with a_folder() as folder, Memory.open(folder / "home", clock=clock, background=False) as memory:
        for start in range(0, memories, 1000):
            facts = [draft_of(content=spoken(number), type="fact") for number in range(start, start + 1000)]
            memory.vault.add("main", facts, OWNER)
            clock.advance(days=15)
        since = clock.now()
        clock.advance(hours=1)
        told = ((f"s-{number // 20}", number) for number in range(episodes))
        memory.observe_many({"role": "user", "content": spoken(memories + n), "session": s} for s, n in told)
        memory.searcher.index.catch_up()

        def look(since: datetime | None) -> Findings:
            now = clock.now()
            return gather_findings(memory.vault, memory.searcher, "main", now=now, since=since, past=(), rejected=())

        took, first = timed(lambda: look(since)), timed(lambda: look(None))
        note = f"{len(look(since).items)} proposals; {first:.2f} s where there was no reflection before"
        name = f"a reflection on {episodes:,} episodes beside {memories:,} memories"
        board.show(name, took, 10, unit=" s", note=note)
        board.show("resident memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 400, unit=" MB")


if __name__ == "__main__":
    sys.exit(run({"reflect": reflect}, sys.argv[1:]))
