"""What a connection has read is kept until somebody writes, and never shown to who may not hear it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.index import rows, search
from memfolio.index.database import Connection
from memfolio.text import match_expression
from tests.index.proof import opened


def contents(memory: Memory, question: str, **named: str) -> set[str]:
    return {hit.memory.content for hit in memory.recall(question, **named)}  # type: ignore[arg-type]


def test_what_somebody_else_changes_is_seen_in_the_next_answer(quick_path: Path) -> None:
    with opened(quick_path / "home") as reader, opened(quick_path / "home") as writer:
        first = writer.remember("The harbour opens at six")
        assert contents(reader, "harbour") == {"The harbour opens at six"}
        second = writer.correct(first.id, "The harbour opens at seven")
        assert contents(reader, "harbour") == {"The harbour opens at seven"}
        assert reader.recall("harbour")[0].replaced == (first.id,)
        writer.forget(second.id)
        assert contents(reader, "harbour") == set()
        writer.restore(second.id)
        assert contents(reader, "harbour") == {"The harbour opens at seven"}


def test_what_the_owner_has_read_is_not_told_to_a_listener(quick_path: Path) -> None:
    with opened(quick_path / "home") as memory:
        memory.observe("user", "My salary is five thousand", user="ann", session="s-1")
        memory.observe("user", "The salary of a captain is public", session="s-2", audience="all")
        everything = contents(memory, "salary")
        assert len(everything) == 2
        assert contents(memory, "salary", audience="ben") == {"The salary of a captain is public"}
        assert contents(memory, "salary", audience="ann") == everything
        assert contents(memory, "salary") == everything


def test_answers_are_the_same_when_little_is_kept(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(quick_path / "home") as memory:
        for number in range(30):
            memory.remember(f"The harbour has pier {number}", session=f"s-{number % 3}")
        before = [hit for _ in range(2) for hit in memory.recall("Which pier has the harbour?")]
        monkeypatch.setattr(rows, "KEPT", 5)
        assert [hit for _ in range(2) for hit in memory.recall("Which pier has the harbour?")] == before


def test_values_are_kept_for_as_long_as_nobody_writes(quick_path: Path) -> None:
    with opened(quick_path / "home") as memory:
        memory.remember("The harbour opens at six")
        asked: list[int] = []

        def read(new: list[int]) -> dict[int, str]:
            asked.extend(new)
            return dict.fromkeys(new, "read")

        def ask() -> dict[int, str]:
            return memory.searcher.index.read(lambda db: rows.of_kept(db, "test", [1, 2], read))

        assert ask() == ask() == {1: "read", 2: "read"}
        assert asked == [1, 2]
        memory.remember("The harbour closes at ten")
        ask()
        assert asked == [1, 2, 1, 2]


SAID = (
    "Alex likes running, C++ and state-of-the-art e-mail",
    "Alex ran to the harbour of 東京 and back",
    "где книга про harbour",
    "the harbour, the harbour and foo_bar",
)
ASKED = (
    ["harbour", "ran"],
    ["running", "Alex likes"],
    ["C++", "e-mail", "foo_bar"],
    ["東 京", "книга"],
    ["nothing", "at all"],
)


def test_words_that_were_just_weighed_are_not_counted_again(quick_path: Path) -> None:
    with opened(quick_path / "home") as memory:
        for text in SAID:
            memory.remember(text)

        def check(db: Connection) -> None:
            for wanted in (search.Filter(), search.Filter(session="nowhere")):
                for words in ASKED:
                    search.matches_any(words, search.Sieve(db, wanted), 10)
                    counted = search.frequencies(db, words, 1000)
                    asked = {
                        word: search.matches(match_expression([word]), search.Sieve(db, search.Filter()), 10)
                        for word in words
                    }
                    assert counted == {word: len(found) for word, found in asked.items()}
            search.matches_any(["harbour", "back"], search.Sieve(db, search.Filter()), 10)
            assert {"harbour", "back"} <= rows.kept(db, ("frequencies", 0)).keys()

        memory.searcher.index.read(check)


def test_few_memories_are_answered_from_as_many_ones(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask() -> list[object]:
        with opened(quick_path / "home") as memory:
            hits = [
                *memory.recall("Which pier has the harbour?"),
                *memory.recall("Where is pier 3?", include="archived"),
            ]
            return [(hit, hit.memory) for hit in hits]

    with opened(quick_path / "home") as memory:
        made = [memory.remember(f"The harbour has pier {n}" + n * " and more", session=f"s-{n % 3}") for n in range(30)]
        memory.forget(made[2].id)
        memory.correct(made[3].id, "Pier 3 is gone")
        memory.remember("long " * 400)
    with_all = ask()
    monkeypatch.setattr(search, "HANDFUL", 0)
    assert ask() == with_all
