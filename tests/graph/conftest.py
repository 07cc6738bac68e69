"""Fixtures for tests of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from tests.graph.world import World


@pytest.fixture
def world(home: Path, clock: SettableClock) -> Iterator[World]:
    made = World(home, clock)
    yield made
    made.memory.close()
