"""A person or another process comes between any two steps of a change: nobody's work is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.vault.conftest import Tally
from tests.vault.faults import LOG, PAGE, Stage, named
from tests.vault.trials import by_rename, in_place, intrude_everywhere, meddle_everywhere, same_size

MEDDLING = "somebody else between two steps"
STRIDES = [8, pytest.param(1, marks=pytest.mark.long)]
MEDDLED = [
    ("further memories", LOG, in_place),
    ("further memories", LOG, by_rename),
    ("further memories", LOG, same_size),
    ("many memories over several parts", LOG, in_place),
    ("many memories over several parts", LOG, by_rename),
    ("a page is extended", PAGE, in_place),
    ("a page is extended", PAGE, by_rename),
    ("several files at once", LOG, in_place),
    ("several files at once", LOG, by_rename),
    ("several files at once", LOG, same_size),
]


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize(("name", "path", "how"), MEDDLED)
def test_what_a_person_writes_between_two_steps_is_kept(
    name: str, path: str, how: Callable[[Stage, str], None], stride: int, quick_path: Path, tally: Tally
) -> None:
    tally(MEDDLING, meddle_everywhere(named(name), quick_path / "home", path, how, stride=stride))


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("name", ["further memories", "a page is extended", "several files at once"])
def test_another_process_between_two_steps_waits_its_turn(
    name: str, stride: int, quick_path: Path, tally: Tally
) -> None:
    tally(MEDDLING, intrude_everywhere(named(name), quick_path / "home", stride=stride))
