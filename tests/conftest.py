"""Fixtures every test may use: a place for a home, and a clock that stands still."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from memfolio.clock import SettableClock

settings.register_profile(
    "quick", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.register_profile("long", parent=settings.get_profile("quick"), max_examples=5000)
settings.load_profile("quick")

START = datetime(2026, 11, 15, 14, 30, 5, 123000, tzinfo=UTC)


MEMORY = Path("/dev/shm")


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where the machine has one: syncing costs nothing there."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(dir=MEMORY, prefix="memfolio-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for what can be rebuilt, so that no test touches the person's own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("MEMFOLIO_CACHE", str(folder))
    return folder


@pytest.fixture
def home(quick_path: Path) -> Path:
    """A path for a home, not yet created."""
    return quick_path / "home"


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
