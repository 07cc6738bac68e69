"""The process dies at every single step of a change: what was acknowledged is there, the rest whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vault.conftest import Tally
from tests.vault.faults import COMMITTING, LOG, PAGE, SCENARIOS, Scenario, named
from tests.vault.trials import die_before_a_person, die_everywhere, die_twice

DEATHS = "death at a step"
RECOVERING = ("several files at once", "a stale editor saved over memories", "trail rolls over")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_death_at_any_step_loses_nothing(scenario: Scenario, quick_path: Path, tally: Tally) -> None:
    tally(DEATHS, die_everywhere(scenario, quick_path / "home", stride=8))


@pytest.mark.parametrize("name", RECOVERING)
def test_death_while_recovering_from_death_loses_nothing(name: str, quick_path: Path, tally: Tally) -> None:
    tally(DEATHS, die_twice(named(name), quick_path / "home", stride=29, second_stride=7))


@pytest.mark.parametrize("name", ["several files at once", "page created, replaced, deleted", "further memories"])
def test_what_a_person_writes_after_a_death_is_kept(name: str, quick_path: Path, tally: Tally) -> None:
    tally(DEATHS, die_before_a_person(named(name), quick_path / "home", (LOG, PAGE), stride=6))


def test_death_between_commits_leaves_git_whole(quick_path: Path, tally: Tally) -> None:
    tally(DEATHS, die_everywhere(COMMITTING, quick_path / "home", stride=27, git=True))


@pytest.mark.long
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_death_before_or_behind_any_step_loses_nothing(scenario: Scenario, quick_path: Path, tally: Tally) -> None:
    tally(DEATHS, die_everywhere(scenario, quick_path / "home", after=True))


@pytest.mark.long
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_death_at_any_step_of_a_recovery_loses_nothing(scenario: Scenario, quick_path: Path, tally: Tally) -> None:
    tally(DEATHS, die_twice(scenario, quick_path / "home", stride=3))


@pytest.mark.long
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_what_a_person_writes_after_any_death_is_kept(scenario: Scenario, quick_path: Path, tally: Tally) -> None:
    tally(DEATHS, die_before_a_person(scenario, quick_path / "home", (LOG, PAGE)))


@pytest.mark.long
def test_death_at_any_step_between_commits_leaves_git_whole(quick_path: Path, tally: Tally) -> None:
    tally(DEATHS, die_everywhere(COMMITTING, quick_path / "home", git=True))
