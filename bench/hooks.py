"""What a hook costs a host's user: `python -m bench.hooks`, or a part: `python -m bench.hooks prompt`.

Each measurement is a ratio to the bare import of SQLite in a fresh Python, taken in turns with it, since a prompt waits
for a fresh process each time. Exits with 1 when a limit is not kept.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from bench.board import Board, a_folder, run, sentence, timed
from bench.verbs import turns
from memfolio.memory import Memory

ROUNDS = 40
BETWEEN = 0.25
"""Seconds between two prompts, in which what the one before said is noted, as it is between a person's."""
BARE = (sys.executable, "-c", "import apsw")
SIZES = (10_000, 100_000)
BATCH = 5_000


def program() -> list[str]:
    """The program as it is installed, else the same function in a fresh Python."""
    installed = Path(sys.executable).parent / "memfolio"
    call = "from memfolio.serve.cli import main; main()"
    return [str(installed)] if installed.exists() else [sys.executable, "-c", call]


def hook(home: Path, event: str, **said: str) -> bytes:
    environ = os.environ | {"MEMFOLIO_HOME": str(home)}
    done = subprocess.run(
        [*program(), "hook", "claude-code", event],
        input=json.dumps(said).encode(),
        stdout=subprocess.PIPE,
        env=environ,
        check=True,
    )
    return done.stdout


def fill(home: Path, count: int) -> None:
    rows = turns(count)
    with Memory.open(home, background=False) as memory:
        for start in range(0, count, BATCH):
            memory.observe_many(rows[start : start + BATCH])
        memory.searcher.index.catch_up()


def prompt(board: Board) -> None:
    """A prompt in a conversation that has begun, at two sizes of the home."""
    for count in SIZES:
        with a_folder() as folder:
            fill(home := folder / "home", count)
            hook(home, "SessionStart", session_id="begun", source="startup")
            bare, mine, told = list[float](), list[float](), 0
            for number in range(ROUNDS):
                time.sleep(BETWEEN)
                bare.append(timed(partial(subprocess.run, BARE, check=True)))
                words = f"Please tell me about {sentence(number * 97, 60)}"
                began = time.perf_counter()
                answer = hook(home, "UserPromptSubmit", session_id=f"s-{number}", prompt=words)
                mine.append(time.perf_counter() - began)
                told += len(answer) > len(b"{}\n")
            stop(home)
        ratio = statistics.median(mine) / statistics.median(bare)
        note = f"{statistics.median(mine) * 1000:.0f} ms, {told} of {ROUNDS} told something"
        board.show(f"a prompt at {count:,} memories", ratio, 2.5, note=note)


def others(board: Board) -> None:
    """What a host waits for at the end, and while there is no warm process."""
    with a_folder() as folder:
        fill(home := folder / "home", SIZES[0])
        for event, most in (("SessionStart", 5), ("UserPromptSubmit", 1.5)):
            first = timed(partial(hook, home, event, session_id="a", prompt=sentence(97, 60)))
            board.show(f"{event} with no warm process", first, most, unit=" s")
            stop(home)
        ends = [timed(partial(hook, home, "SessionEnd", session_id=f"e-{nth}")) for nth in range(5)]
        board.show("the end of a conversation", max(ends), 1, unit=" s")
        stop(home)


def stop(home: Path) -> None:
    """End the warm process, which may just be starting."""
    while not (home / ".memfolio/hooks/socket").exists():
        time.sleep(0.05)
    subprocess.run([*program(), "hook", "stop", "--home", str(home)], stdout=subprocess.DEVNULL, check=True)


BENCHES = {"prompt": prompt, "others": others}

if __name__ == "__main__":
    sys.exit(run(BENCHES, sys.argv[1:]))
