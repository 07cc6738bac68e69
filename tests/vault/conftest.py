"""A home on a disk that syncs, and a count of the trials that tests make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

Tally = Callable[[str, int], None]
TRIALS = pytest.StashKey[Counter[str]]()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A path for a home, not yet created, on a disk that syncs."""
    return tmp_path / "home"


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
