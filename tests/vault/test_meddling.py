"""A person or another process comes between any two steps of a change: nobody's work is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vault.conftest import Tally
from tests.vault.faults import LOG, PAGE, named
from tests.vault.trials import intrude_everywhere, meddle_everywhere

MEDDLING = "somebody else between two steps"
MEDDLED = [
    ("further memories", LOG),
    ("many memories over several parts", LOG),
    ("a page is extended", PAGE),
    ("several files at once", LOG),
]


@pytest.mark.parametrize("by_rename", [False, True], ids=["in place", "by rename"])
@pytest.mark.parametrize(("name", "path"), MEDDLED)
def test_what_a_person_writes_between_two_steps_is_kept(
    name: str, path: str, by_rename: bool, quick_path: Path, tally: Tally
) -> None:
    tally(MEDDLING, meddle_everywhere(named(name), quick_path / "home", path, by_rename=by_rename, stride=2))


@pytest.mark.parametrize("name", ["further memories", "a page is extended", "several files at once"])
def test_another_process_between_two_steps_waits_its_turn(name: str, quick_path: Path, tally: Tally) -> None:
    tally(MEDDLING, intrude_everywhere(named(name), quick_path / "home", stride=2))
