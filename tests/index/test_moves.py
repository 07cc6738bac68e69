"""What moves between a log and its archive is filed entry by entry, and ends as a rebuilt index would have it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from memfolio import Memory
from memfolio.vault.vault import OWNER
from tests.index.proof import assert_index_equals_rebuilt, opened


def calls_of(step: Callable[[], object]) -> Counter[str]:
    """How often each of our functions is called, by name; a generator counts once for each value."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and "/memfolio/vault/" in frame.f_code.co_filename:
            calls[f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"] += 1

    sys.setprofile(note)
    try:
        step()
    finally:
        sys.setprofile(None)
    return calls


def test_what_is_forgotten_restored_and_undone_is_filed_as_a_rebuilt_index_has_it(home: Path) -> None:
    with opened(home) as memory:
        ids = [memory.remember(f"tea number {number} [[person--alex]]", tags=["tea"]).id for number in range(9)]
        memory.pin(ids[4])
        for one in (ids[0], ids[4], ids[8]):
            memory.forget(one)
            assert_index_equals_rebuilt(memory)
            memory.restore(one)
            assert_index_equals_rebuilt(memory)
            done = memory.forget(one).receipt
            assert done is not None
            undone = memory.audit.undo(done.seq, by=OWNER).receipt
            assert undone is not None
            assert_index_equals_rebuilt(memory)
            memory.audit.undo(undone.seq, by=OWNER)
            assert_index_equals_rebuilt(memory)
        log = next(home.glob("agents/main/memory/2*.md"))
        log.write_text(log.read_text() + "\n- a note by hand\n- another\n")
        memory.sync()
        memory.forget(ids[5])
        memory.forget("another")
        assert_index_equals_rebuilt(memory)
        memory.restore(ids[5])
        assert_index_equals_rebuilt(memory)


def test_a_large_log_is_parsed_once_and_no_entry_that_stays_is_read(home: Path) -> None:
    with opened(home) as memory:
        ids = [memory.remember(f"tea number {number}").id for number in range(200)]
        memory.recall("tea")
        for step in (_forgetting(memory, ids[99]), _restoring(memory, ids[99])):
            calls = calls_of(step)
            assert calls["log.split_log"] <= 4  # the log and its archive, before and after
            assert calls["log._cuts"] <= 2 * len(ids) + 20
            assert calls["log.read"] <= 2
            assert calls["entry.parse_entry"] <= 2


def _forgetting(memory: Memory, id: str) -> Callable[[], object]:
    return lambda: memory.forget(id)


def _restoring(memory: Memory, id: str) -> Callable[[], object]:
    return lambda: memory.restore(id)
