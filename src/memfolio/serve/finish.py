"""A process that makes the vectors a command has left, and ends: `python -m memfolio.serve.finish HOME AGENT`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memfolio.memory import Memory


def leave(memory: Memory) -> None:
    """Have such a process started where a command leaves more vectors than the next question would make by the way."""
    if memory.searcher.leaves_vectors():
        from memfolio.serve.hooks.kept import run

        home = memory.vault.home.root
        run(["-m", "memfolio.serve.finish", str(home), memory.agent], str(home))


def main(home: str, agent: str) -> None:
    from memfolio.config import load_config
    from memfolio.memory import Memory
    from memfolio.serve.cli.call import is_home

    if is_home(load_config(home)):  # somebody may have thrown it away since
        with Memory.open(home, agent, background=False) as memory:
            memory.searcher.embed()


if __name__ == "__main__":
    main(*sys.argv[1:])
