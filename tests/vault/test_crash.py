"""The process dies at every single step of a change: what was acknowledged is there, the rest whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from memfolio.errors import MemfolioError
from memfolio.testing import Crash, CrashingDisk
from tests.vault.faults import LOG, SCENARIOS, SECOND_LOG, Scenario, Stage, judge


def deaths(k: int, size: int | None) -> Iterator[CrashingDisk]:
    """The ways to die at step `k`; `size` is how many bytes it writes, None when it is no write."""
    yield CrashingDisk(k)
    yield CrashingDisk(k, after=True)
    if size is not None:
        for torn in sorted({1, size // 3, size // 2, size - 1}):
            yield CrashingDisk(k, torn=torn)


def die(scenario: Scenario, home: Path, disk: CrashingDisk) -> Stage:
    """Play the scenario until the process dies."""
    shutil.rmtree(home, ignore_errors=True)
    stage = Stage(home)
    scenario.prepare(stage)
    stage.disk = disk
    try:
        scenario.act(stage)
    except (Crash, MemfolioError):
        # A dead process has no locks left to release, which the unwinding code takes for an error of the disk.
        if disk.last is None:
            raise
    if disk.last and disk._torn is not None and not disk.last.data[: disk._torn].strip():
        stage.edits.setdefault(LOG, [])  # a blank line may be anybody's, so it is a person's
        stage.edits.setdefault(SECOND_LOG, [])
    return stage


def die_everywhere(scenario: Scenario, home: Path) -> int:
    """How many deaths the scenario survived."""
    trials = 0
    for k in count(1):
        first = CrashingDisk(k)
        die(scenario, home, first)
        if first.last is None:
            return trials
        for disk in deaths(k, len(first.last.data) if first.last.name == "write" else None):
            stage = die(scenario, home, disk)
            try:
                judge(stage)
            except BaseException as error:
                error.add_note(f"died at step {k}: {disk.last}, after={disk._after} torn={disk._torn}")
                raise
            trials += 1
    raise AssertionError("unreachable")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_death_at_any_step_loses_nothing_and_leaves_nothing_half_done(scenario: Scenario, home: Path) -> None:
    trials = die_everywhere(scenario, home)
    print(f"\n{scenario}: {trials} deaths")
