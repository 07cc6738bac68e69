"""A home in the test's own folder, and a count of the trials that tests make."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import TRIALS

Tally = Callable[[str, int], None]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A path for a home, not yet created, in the test's own folder."""
    return tmp_path / "home"


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    """Adds a number of trials to those of a fault; the sums are shown when all tests have run."""

    def add(fault: str, trials: int) -> None:
        request.node.user_properties.append((f"{TRIALS}{fault}", trials))

    return add
