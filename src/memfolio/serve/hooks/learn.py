"""Learning from a conversation that is over, in a process of its own: it may take minutes."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.errors import HomeBusyError, MemfolioError
from memfolio.serve.hooks.door import INSIDE
from memfolio.serve.hooks.kept import note

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.tend.tend import Tending

PATIENCE, PAUSE = 15 * 60.0, 1.0
"""Seconds for which another process that tends the home is waited for, and until it is looked at again."""


def learn(home: Path, agent: str, session: str, patience: float = PATIENCE) -> None:
    """Learn from a conversation as soon as nobody else tends the home: two hosts may end at the same time."""
    from memfolio.memory import Memory

    if not (home / INSIDE).is_dir():
        return  # the home is gone since
    try:
        with Memory.open(home, agent, background=False) as memory:
            failed = [done.error for done in _tend(memory, session, patience).done if done.error]
    except MemfolioError as error:
        failed = [error.message]
    for message in failed:
        note(home, f"nothing is learned from {session}: {message}")


def _tend(memory: Memory, session: str, patience: float) -> Tending:
    limit = time.monotonic() + patience
    while True:
        try:
            return memory.tend(sessions=[session])
        except HomeBusyError:
            if time.monotonic() > limit:
                raise
        time.sleep(PAUSE)


if __name__ == "__main__":
    learn(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
