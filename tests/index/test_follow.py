"""Changes are filed together before the next answer, in one transaction, and end as a rebuilt index would have them."""

from __future__ import annotations

from pathlib import Path

import apsw

from memfolio import Memory
from memfolio.index.database import newest
from memfolio.index.index import FEW_UNFILED
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import OWNER
from tests.index.proof import assert_index_equals_rebuilt, opened
from tests.index.test_moves import calls_of


def filed(memory: Memory) -> int:
    """How many memories are in the index file."""
    path = newest(memory.vault.config.cache, "main")
    assert path is not None
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return int(connection.execute("SELECT count(*) FROM memories").get)
    finally:
        connection.close()


def test_changes_are_filed_together_before_the_next_answer(home: Path) -> None:
    with opened(home) as memory:
        memory.remember("the first one opens the index")
        memory.recall("first")
        before = filed(memory)
        ids = {memory.remember(f"tea number {number}", tags=["tea"]).id for number in range(9)}
        assert filed(memory) == before
        assert {hit.memory.id for hit in memory.recall("tea", limit=20)} == ids
        assert filed(memory) == before + 9
        assert_index_equals_rebuilt(memory)


def test_changes_of_all_kinds_that_nobody_asked_for_are_filed_in_their_order(home: Path) -> None:
    with opened(home) as memory:
        one, two = memory.remember("tea is green"), memory.remember("tea is black")
        memory.recall("tea")
        state = state_ledger(memory.agent)
        with memory.vault.exclusive():
            three = memory.remember("tea is white", key="white")
            memory.vault.add_lines(state, [{"op": "pin", "memory": three.id, "pinned": True}], OWNER)
            memory.remember("tea is red")
            memory.vault.add_lines(state, [{"op": "tombstone", "memory": one.id}], OWNER)
            memory.remember("tea is yellow")
        found = {hit.memory.content for hit in memory.recall("tea", limit=20)}
        assert found == {"tea is black", "tea is white", "tea is red", "tea is yellow"}
        pinned, black = memory.get(three.id), memory.get(two.id)
        assert pinned is not None
        assert pinned.pinned
        assert black is not None
        assert black.content == "tea is black"
        assert_index_equals_rebuilt(memory)


def test_many_changes_that_nobody_asks_for_are_filed_by_the_way(home: Path) -> None:
    with opened(home) as memory:
        memory.remember("the first one opens the index")
        memory.recall("first")
        before = filed(memory)
        for number in range(FEW_UNFILED + 2):
            memory.remember(f"tea number {number}")
        assert before < filed(memory) < before + FEW_UNFILED + 2
        assert_index_equals_rebuilt(memory)


def test_a_home_that_is_closed_leaves_nothing_to_file(home: Path) -> None:
    with opened(home) as memory:
        memory.remember("the first one opens the index")
        memory.recall("first")
        before = filed(memory)
        memory.remember("tea is green")
        assert filed(memory) == before
    assert filed(memory) == before + 1


def test_what_another_process_adds_is_filed_without_reading_the_log_again(home: Path) -> None:
    with opened(home) as writer, opened(home) as reader:
        ids = [writer.remember(f"tea number {number}").id for number in range(50)]
        reader.recall("tea")
        ids += [writer.remember(f"coffee number {number}\n\nwith *two* lines", tags=["c"]).id for number in range(9)]
        calls = calls_of(lambda: reader.get(ids[-1]))
        assert calls["log._cuts"] < 50
        assert_index_equals_rebuilt(reader)
        writer.remember("a fence\n\n```\nthat is open")
        writer.forget(ids[3])
        writer.remember("and one more\n```\n\nbehind it")
        writer.restore(ids[3])
        restored = reader.get(ids[3])
        assert restored is not None
        assert restored.content == "tea number 3"
        assert_index_equals_rebuilt(reader)
        assert_index_equals_rebuilt(writer)
