"""A server for tests that kill it: remembers one thing after another, and says of each when it is acknowledged."""

from __future__ import annotations

import faulthandler
import signal
import sys

from memfolio import Memory
from memfolio.errors import HomeBusyError, StoreUnavailableError


def main(home: str, name: str, first: int) -> None:
    number = first
    while True:
        try:
            with Memory.open(home, background=False) as memory:
                while True:
                    memory.remember(f"{name} {number}", key=f"{name}-{number}")
                    sys.stdout.write(f"{number}\n")
                    sys.stdout.flush()
                    number += 1
        except (StoreUnavailableError, HomeBusyError):
            continue  # the same key again: what happened meanwhile is not known


if __name__ == "__main__":
    faulthandler.register(signal.SIGUSR1)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
