"""The disk refuses at any step: the caller gets a typed error or success, and when the disk is well, all goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vault.conftest import Tally
from tests.vault.faults import SCENARIOS, Scenario
from tests.vault.trials import CODES, reason, refuse_everywhere

REFUSALS = "refusal by the disk"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_refused_change_is_a_typed_error_and_the_next_one_works(
    scenario: Scenario, quick_path: Path, tally: Tally
) -> None:
    tally(REFUSALS, refuse_everywhere(scenario, quick_path / "home", stride=8))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_disk_that_goes_on_refusing_loses_nothing(scenario: Scenario, quick_path: Path, tally: Tally) -> None:
    tally(REFUSALS, refuse_everywhere(scenario, quick_path / "home", forever=True, stride=16))


@pytest.mark.long
@pytest.mark.parametrize("code", CODES, ids=reason)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_every_step_may_be_refused_for_every_reason(
    scenario: Scenario, code: int, quick_path: Path, tally: Tally
) -> None:
    for forever in (False, True):
        tally(REFUSALS, refuse_everywhere(scenario, quick_path / "home", (code,), forever=forever))
