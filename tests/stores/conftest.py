"""What tests of the stores share: a memory without threads, at a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.memory import Memory


@pytest.fixture
def memory(home: Path, clock: SettableClock) -> Iterator[Memory]:
    with Memory.open(home, clock=clock, background=False) as opened:
        yield opened
