"""What all measurements share: a place to work in, a text to work on, and a board that keeps the limits."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate
from pathlib import Path

VOCABULARY = 20_000
SYLLABLES = [first + vowel for first in "bcdfghjklmnprstvwz" for vowel in ("a", "e", "i", "o", "u", "ar", "en", "or")]


@cache
def vocabulary() -> tuple[list[str], list[float]]:
    """Words of no language, and how often each comes: as in real text, a few come all the time, most hardly ever."""
    chosen = random.Random(7)
    words = list({"".join(chosen.choices(SYLLABLES, k=chosen.randint(1, 4))): None for _ in range(VOCABULARY)})
    return words, list(accumulate(1 / (rank + 2) for rank in range(len(words))))


def sentence(seed: int, length: int = 170) -> str:
    """Text of about so many characters, the same for the same seed."""
    words, weights = vocabulary()
    chosen = random.Random(seed)
    text = f"{seed}"
    while len(text) < length:
        text += " " + words[bisect(weights, chosen.random() * weights[-1])]
    return text


@contextmanager
def a_folder() -> Iterator[Path]:
    """A folder that is gone afterwards; what memfolio caches for homes in it goes with it."""
    folder = Path(tempfile.mkdtemp(prefix="memfolio-bench-"))
    os.environ["MEMFOLIO_CACHE"] = str(folder / "cache")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def timed(step: Callable[[], object]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def bare_append(fd: int, data: bytes) -> None:
    """The least that makes bytes last."""
    os.write(fd, data)
    os.fsync(fd)


def peak_megabytes() -> float:
    """The most memory that this process had; not `ru_maxrss`, which begins with that of the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1000


class Board:
    """Collects results and says whether all limits were kept."""

    def __init__(self) -> None:
        self.failed = False

    def show(
        self, name: str, value: float, limit: float, *, unit: str = "×", most: bool = True, note: str = ""
    ) -> None:
        kept = value <= limit if most else value >= limit
        self.failed |= not kept
        bound = f"{'at most' if most else 'at least'} {limit:,g}{unit}"
        print(
            f"{'ok  ' if kept else 'FAIL'} {name}: {value:,.2f}{unit} ({bound}){' · ' + note if note else ''}",
            flush=True,
        )


def run(benches: Mapping[str, Callable[[Board], None]], names: Sequence[str]) -> int:
    """Measure what is named, or everything; 1 when a limit was not kept."""
    board = Board()
    for name in names or list(benches):
        benches[name](board)
    return int(board.failed)
