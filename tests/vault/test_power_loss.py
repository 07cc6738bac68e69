"""The power goes at any moment, and the disk has not written what nobody made it write: promises hold all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vault.conftest import Tally
from tests.vault.faults import SCENARIOS, Scenario
from tests.vault.trials import cut_the_power

CUTS = "state after a power cut"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_promises_outlive_a_power_cut(scenario: Scenario, quick_path: Path, tally: Tally) -> None:
    tally(CUTS, cut_the_power(scenario, quick_path, 1_100 // len(SCENARIOS)))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_promises_outlive_100000_power_cuts(scenario: Scenario, seed: int, quick_path: Path, tally: Tally) -> None:
    tally(CUTS, cut_the_power(scenario, quick_path, 10_500 // len(SCENARIOS), seed=seed))
