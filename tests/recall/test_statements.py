"""How many statements one recall sends to its index: unlike time, that is the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.index.database import Connection

START = datetime(2026, 5, 4, 9, tzinfo=UTC)
SAID = (
    "I moved the boat to the northern harbour",
    "The rent of the berth is 240 euros",
    "Ada repaired the engine on Thursday",
    "We sail to the islands when the wind is right",
    "The insurance of the boat ends in March",
)


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with Memory.open(home, background=False) as memory:
        memory.observe_many(
            {
                "role": "user",
                "content": f"{text}, part {nth}",
                "session": f"s-{nth // 5}",
                "at": START + timedelta(hours=nth),
            }
            for nth, text in enumerate(12 * SAID)
        )
        memory.sync(embed=True)
        memory.recall("Who likes tea?")  # what is read once, such as who speaks, is read
        yield memory


@contextmanager
def statements(memory: Memory) -> Iterator[list[str]]:
    """What is sent to the index meanwhile, in its order."""
    sent: list[str] = []

    def trace(_: object, sql: str, __: object) -> bool:
        sent.append(" ".join(sql.split()))
        return True

    def listen(db: Connection) -> None:
        db.exec_trace = trace

    memory.searcher.index.read(listen)
    sent.clear()
    yield sent


def test_recall_in_a_small_home_sends_few_statements(memory: Memory) -> None:
    with statements(memory) as sent:
        memory.recall("Where is the boat?")
    assert len(sent) <= 10, "\n".join(sent)


def test_question_that_was_asked_before_is_only_matched_by_its_words_again(memory: Memory) -> None:
    memory.recall("Where is the boat?")
    with statements(memory) as sent:
        memory.recall("Where is the boat?")
    begin, version, words, *rest, commit = sent
    assert (begin, version, commit) == ("BEGIN", "PRAGMA data_version", "COMMIT")
    assert "MATCH" in words
    assert len(rest) <= 1, "\n".join(sent)


def test_number_of_statements_does_not_grow_with_the_words_or_the_hits(memory: Memory) -> None:
    with statements(memory) as sent:
        memory.recall("Where is the boat that Ada repaired, the harbour, the engine, the berth and the wind?", limit=50)
    assert len(sent) <= 10, "\n".join(sent)


def test_what_was_written_meanwhile_is_read_again_and_nothing_twice(memory: Memory) -> None:
    memory.recall("Where is the boat?")
    memory.observe("user", "Oskar bought a kayak", session="s-99")
    memory.sync(embed=True)
    with statements(memory) as sent:
        found = memory.recall("Who bought a kayak?")
    assert found[0].memory.session == "s-99"
    asked = [sql for sql in sent if sql not in ("BEGIN", "COMMIT", "PRAGMA data_version")]
    assert len(asked) == len(set(asked)) <= 14, "\n".join(sent)
