"""The power goes at any moment, and the disk has not written what nobody made it write: promises hold all the same."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from memfolio.testing import Call, RecordingDisk
from tests.vault.faults import SCENARIOS, Scenario, Stage, judge
from tests.vault.power import Cache, Forgetful, moments

STATES = 2_000


class Recording:
    """A scenario played once, with every step and the moment of every promise."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        disk = RecordingDisk()
        self.stage = Stage(folder / "home")
        scenario.prepare(self.stage)
        self.cache = Cache(folder)
        self.kept_before = len(self.stage.requests)
        self.promises: list[int] = []
        self.stage.disk = disk
        self.stage.acknowledged = lambda: self.promises.append(len(disk.calls))
        scenario.act(self.stage)
        self.calls: list[Call] = disk.calls

    def stage_at(self, moment: int, home: Path) -> Stage:
        """What had been asked and promised when `moment` steps had passed."""
        stage = Stage(home, edits=self.stage.edits)
        stage.clock.set(self.stage.clock.now())
        made = self.kept_before + sum(promise <= moment for promise in self.promises)
        for number, request in enumerate(self.stage.requests):
            stage.requests.append(replace(request, receipt=request.receipt if number < made else None))
        return stage


def cut_the_power(scenario: Scenario, folder: Path, states: int, seed: int) -> int:
    """Judge about `states` states that the scenario's disk may be in; returns how many it were."""
    recording = Recording(scenario, folder / "recorded")
    wanted = list(moments(recording.calls, recording.promises))
    chance = random.Random(seed)
    trials = 0
    for number, call in enumerate(recording.calls, 1):
        recording.cache.take(call)
        if number not in wanted:
            continue
        rounds = max(1, round(states / len(wanted)))
        for each in range(rounds):
            lost = folder / "lost"
            shutil.rmtree(lost, ignore_errors=True)
            recording.cache.lose(lost, Forgetful() if each == 0 else chance)
            try:
                judge(recording.stage_at(number, lost / "home"))
            except BaseException as error:
                error.add_note(f"the power went after step {number} of {len(recording.calls)}: {call}, try {each}")
                raise
            trials += 1
    return trials


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_promises_outlive_a_power_cut(scenario: Scenario, tmp_path: Path) -> None:
    trials = cut_the_power(scenario, tmp_path, STATES // len(SCENARIOS), seed=1)
    print(f"\n{scenario}: {trials} power cuts")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_promises_outlive_100000_power_cuts(scenario: Scenario, seed: int, tmp_path: Path) -> None:
    trials = cut_the_power(scenario, tmp_path, 10_000 // len(SCENARIOS), seed=seed + 2)
    print(f"\n{scenario}: {trials} power cuts")
