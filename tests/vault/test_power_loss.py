"""The power goes at any moment, and the disk has not written what nobody made it write: promises hold all the same."""

from __future__ import annotations

import errno
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from memfolio.errors import MemfolioError
from tests.disks import Crash, RecordingDisk
from tests.vault.conftest import Tally
from tests.vault.faults import PAGE, SCENARIOS, Scenario, Stage, named
from tests.vault.trials import cut_the_power, cut_the_power_after

CUTS = "state after a power cut"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_promises_outlive_a_power_cut(scenario: Scenario, quick_path: Path, tally: Tally) -> None:
    tally(CUTS, cut_the_power(scenario, quick_path, 600 // len(SCENARIOS)))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_promises_outlive_100000_power_cuts(scenario: Scenario, seed: int, quick_path: Path, tally: Tally) -> None:
    tally(CUTS, cut_the_power(scenario, quick_path, 10_500 // len(SCENARIOS), seed=seed))


def again(stage: Stage) -> None:
    """Who opens the home finishes what was begun, and asks again for what has a key."""
    with stage.vault() as vault:
        for request in [each for each in stage.requests if each.receipt is None and each.key]:
            stage.requests.remove(request)
            stage.add(vault, *request.texts, key=request.key)
        stage.add(vault, "somebody goes on")


FAULTS = pytest.mark.parametrize("fault", [OSError, Crash])


@FAULTS
@pytest.mark.parametrize("name", ["several files at once", "a page is extended", "requests with a key"])
def test_power_cut_after_a_fault_breaks_no_promise(
    name: str, fault: type[BaseException], quick_path: Path, tally: Tally
) -> None:
    tally(CUTS, cut_the_power_after(fault, named(name), quick_path, stride=12, go_on=again))


@pytest.mark.long
@FAULTS
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_power_cut_after_any_fault_breaks_no_promise(
    scenario: Scenario, fault: type[BaseException], quick_path: Path, tally: Tally
) -> None:
    tally(CUTS, cut_the_power_after(fault, scenario, quick_path, go_on=again))


def test_folder_of_a_dead_process_is_made_durable_by_the_next(quick_path: Path) -> None:
    (folder := quick_path / "home" / "agents").mkdir(parents=True)
    disk = RecordingDisk()
    disk.root = quick_path / "home"
    disk.make_dirs(folder)
    assert [call.path for call in disk.calls if call.name == "open"] == [folder.parent]


def test_intent_that_could_not_be_saved_is_removed_durably(quick_path: Path) -> None:
    stage = Stage(quick_path / "home")
    with stage.vault() as vault:
        stage.put(vault, PAGE, b"before\n")
    for k in count(1):
        stage.disk = disk = RecordingDisk(k, OSError(errno.EIO, "refused"))
        with suppress(MemfolioError), stage.vault() as vault:
            stage.put(vault, PAGE, b"after %d\n" % k)
        if disk.failed is None:
            break
        removed = [n for n, call in enumerate(disk.calls) if call.name == "unlink" and "intents" in str(call.path)]
        if disk.failed.path == stage.home / ".memfolio" / "intents" and removed:
            assert [call.name for call in disk.calls[removed[0] + 1 :]][:2] == ["open", "fsync"]
            return
    raise AssertionError("no intent was refused")
