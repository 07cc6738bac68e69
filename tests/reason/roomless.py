"""A world without rooms, for the methods that look at nothing but what they are given."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from memfolio.reason.inputs import World
from memfolio.settings import Reasoning

NO_ROOM: Any = None


def roomless(work: int = 1_000_000) -> World:
    return World(
        now=datetime(2026, 11, 15, tzinfo=UTC),
        settings=Reasoning(work=work),
        facts=NO_ROOM,
        rules=NO_ROOM,
        inference=NO_ROOM,
        cases=NO_ROOM,
    )
