"""A place for tests that make many homes, and a count of the trials they make."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
Tally = Callable[[str, int], None]
TRIALS = pytest.StashKey[Counter[str]]()


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where the machine has one: syncing costs nothing there."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(dir=MEMORY, prefix="memfolio-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    """Adds a number of trials to those of a fault; the sums are shown when all tests have run."""
    counts = request.config.stash.setdefault(TRIALS, Counter())

    def add(fault: str, trials: int) -> None:
        counts[fault] += trials

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for fault, trials in sorted(config.stash.get(TRIALS, Counter()).items()):
        terminalreporter.write_line(f"{fault}: {trials:,} trials")
