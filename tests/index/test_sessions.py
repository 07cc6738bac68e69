"""Neighbours in a session: the same however they are asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.index import sessions
from memfolio.index.filter import Filter

START = datetime(2026, 5, 4, 9, tzinfo=UTC)


def test_neighbours_are_the_same_in_long_sessions(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory.open(home, background=False) as memory:
        memory.observe_many(
            {
                "role": "user",
                "content": f"line {n}",
                "session": f"s-{n % 3}",
                "at": START + timedelta(minutes=7 * n % 60),
            }
            for n in range(60)
        )
        memory.remember("not in a session")

        def near() -> dict[int, list[tuple[int, int]]]:
            return memory.library.index.read(
                lambda db: {
                    row: sorted(found)
                    for row, found in sessions.around(db, sessions.turns(db, range(100), Filter()).values(), 3).items()
                }
            )

        short = near()
        monkeypatch.setattr(sessions, "AT_ONCE", 5)
        assert short == near()
        assert len(short) == 60
        assert {len(found) for found in short.values()} == {3, 4, 5, 6}
