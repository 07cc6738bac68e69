"""The disk refuses at any step: the caller gets a typed error or success, and when the disk is well, all goes on."""

from __future__ import annotations

import errno
import os
import shutil
from itertools import count
from pathlib import Path

import pytest

from memfolio.errors import MemfolioError
from memfolio.testing import FailingDisk
from tests.vault.faults import SCENARIOS, Scenario, Stage, judge

CODES = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EMFILE)


def refuse(scenario: Scenario, home: Path, disk: FailingDisk) -> Stage:
    """Play the scenario on a disk that refuses; any error that is not one of ours passes through."""
    shutil.rmtree(home, ignore_errors=True)
    stage = Stage(home)
    scenario.prepare(stage)
    stage.disk, stage.persistent = disk, True
    try:
        scenario.act(stage)
    except MemfolioError:
        pass  # the home could not even be opened
    return stage


def refuse_everywhere(scenario: Scenario, home: Path, codes: tuple[int, ...], *, forever: bool) -> int:
    """How many refusals the scenario survived: at each step, with the next of `codes`."""
    for k in count(1):
        disk = FailingDisk(k, codes[k % len(codes)], forever=forever)
        try:
            stage = refuse(scenario, home, disk)
            if not disk.reached:
                return k - 1
            disk.heal()
            judge(stage)
        except BaseException as error:
            error.add_note(f"step {k} said {os.strerror(codes[k % len(codes)])}, forever: {forever}; {disk.failed}")
            raise
    raise AssertionError("count() does not end")


@pytest.mark.parametrize("forever", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_refused_change_is_a_typed_error_and_the_next_one_works(scenario: Scenario, forever: bool, home: Path) -> None:
    trials = refuse_everywhere(scenario, home, CODES, forever=forever)
    print(f"\n{scenario}: {trials} refusals")


@pytest.mark.long
@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("forever", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_every_step_may_be_refused_for_every_reason(scenario: Scenario, forever: bool, code: int, home: Path) -> None:
    trials = refuse_everywhere(scenario, home, (code,), forever=forever)
    print(f"\n{scenario}: {trials} refusals")
