"""Fixtures every test may use: a place for a home, a clock that stands still, and a memory."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

from memfolio import Memory
from memfolio.clock import SettableClock

# The quick profile tries the same examples each time, so that a failure is due to the change that is tested; the long
# one looks for new ones.
settings.register_profile(
    "quick",
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.register_profile("long", parent=settings.get_profile("quick"), max_examples=5000, derandomize=False)
settings.load_profile("quick")
AnyTest = TypeVar("AnyTest", bound=Callable[..., None])


def many(examples: int) -> Callable[[AnyTest], AnyTest]:
    """So many examples of a property with the long profile, where it is a long test, and a fifth of them else."""
    if settings.get_current_profile_name() != "long":
        return settings(max_examples=examples // 5)
    return lambda test: pytest.mark.long(settings(max_examples=examples)(test))


START = datetime(2026, 11, 15, 14, 30, 5, 123000, tzinfo=UTC)
SHARED_MEMORY = Path("/dev/shm")
TRIALS = "trials of "
"""How the number of trials of a fault is called among what a test reports."""
ROOM = 4 << 30
"""Bytes that the folders of all tests may take, with plenty to spare."""

# Compiled code is kept, whatever the environment says: tests start hundreds of processes, each of which would compile
# the package anew, as pytest would every test.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# As in an environment that is activated: `memfolio` is found by its name.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

gc.disable()  # until everything is loaded

if SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > ROOM:
    # Syncing costs nothing there. What a loss of power leaves is tried with disks of `tests/disks.py`.
    os.environ["TMPDIR"] = tempfile.tempdir = str(SHARED_MEMORY)


@pytest.fixture
def quick_path() -> Iterator[Path]:
    """A folder beside `tmp_path`, so that this one stays empty until the test writes to it."""
    folder = Path(tempfile.mkdtemp(prefix="memfolio-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for what can be rebuilt, so that no test touches the person's own."""
    folder = Path(tempfile.mkdtemp(prefix="memfolio-cache-"))
    monkeypatch.setenv("MEMFOLIO_CACHE", str(folder))
    monkeypatch.setenv("MEMFOLIO_PROJECTS", "false")  # the repository in which the tests run is none of theirs
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def home(quick_path: Path) -> Path:
    """A path for a home, not yet created; where homes are in a database, each needs a name of its own."""
    return quick_path / (f"home-{quick_path.name}" if os.environ.get("MEMFOLIO_STORE") == "postgres" else "home")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of a few megabytes and files, to be filled up."""
    folder = tmp_path / "small"
    folder.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=8m,nr_inodes=2000", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(options, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("only root may mount a file system here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def clock() -> SettableClock:
    """A clock that stands at 2026-11-15 14:30:05.123 UTC."""
    return SettableClock(START)


@pytest.fixture
def memory(home: Path, clock: SettableClock) -> Iterator[Memory]:
    """The memory of the main agent in a new home, which nothing but the test works at."""
    with Memory.open(home, clock=clock, background=False) as memory:
        yield memory


def pytest_collection_finish() -> None:
    """Collect garbage from now on, and not among the millions of objects that all tests and libraries are."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts: Counter[str] = Counter()
    for report in (each for reports in terminalreporter.stats.values() for each in reports):
        if isinstance(report, pytest.TestReport) and report.when == "call":
            for name, trials in report.user_properties:
                if isinstance(trials, int) and name.startswith(TRIALS):
                    counts[name] += trials
    for name, trials in sorted(counts.items()):
        terminalreporter.write_line(f"{name.removeprefix(TRIALS)}: {trials:,} trials")
