"""What tests of exchange share: a memory into which its owner imports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio import Memory


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with Memory.open(home, background=False, speaker="owner") as opened:
        yield opened
