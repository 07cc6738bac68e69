"""Flushing: due once for every compaction, one change, and never the same twice."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import InputError, ModelError
from memfolio.index.lookup import edges_of
from memfolio.memory import Memory
from memfolio.settings import Flush
from memfolio.stores.checkpoint import latest
from memfolio.stores.flush import Flushed, flush, flush_due, flush_prompt, should_flush

TALK = [
    {"role": "user", "content": "I live in Oslo. Please fix the login loop."},
    {"role": "assistant", "content": "Which browser do you use?"},
    {"role": "user", "content": "We decided to use PKCE for the login."},
    {"role": "tool", "content": "I hate tea and live in Rome."},
    {"role": "assistant", "content": "Good. Should I write a test for it?"},
]


def save(memory: Memory, data: object, **further: Any) -> Flushed:
    return flush(memory.vault, memory.searcher, data, **further)


@pytest.mark.parametrize(
    ("tokens", "window", "last", "due"),
    [
        (176_000, 200_000, None, True),
        (175_999, 200_000, None, False),
        (176_000, 200_000, 0, False),
        (176_000, 200_000, 3, True),
        (2_000, 8_000, None, False),
        (4_000, 8_000, None, True),
        (0, 1_000, None, False),
    ],
)
def test_flush_is_due_near_the_end_of_the_window_and_once(
    tokens: int, window: int, last: int | None, due: bool
) -> None:
    found = should_flush(tokens, window=window, reserve=20_000, soft=4_000, compaction=0, last=last)
    assert found is due


@pytest.mark.parametrize("bad", [{"tokens": -1}, {"window": 0}, {"compaction": 1.5}, {"reserve": True}, {"soft": "x"}])
def test_numbers_that_are_none_are_refused(bad: dict[str, Any]) -> None:
    good = {"tokens": 1, "window": 1000, "reserve": 0, "soft": 0, "compaction": 0, "last": None}
    with pytest.raises(InputError):
        should_flush(**(good | bad))


def test_flush_of_a_compaction_is_remembered_across_restarts(home: Path, clock: SettableClock) -> None:
    def due(memory: Memory, compaction: int, session: str | None = "s-1") -> bool:
        return flush_due(memory.searcher.index, Flush(), 190_000, compaction=compaction, session=session)

    with Memory.open(home, clock=clock, background=False) as memory:
        assert due(memory, 0)
        save(memory, TALK, session="s-1", compaction=0)
        assert not due(memory, 0)
    with Memory.open(home, clock=clock, background=False) as memory:
        assert not due(memory, 0)
        assert due(memory, 1)
        assert due(memory, 0, session="s-2")
        save(memory, "", session="s-1", compaction=1)
        assert not due(memory, 1)


def test_transcript_becomes_a_checkpoint_and_memories_in_one_change(memory: Memory) -> None:
    before = memory.vault.head
    saved = save(memory, TALK, session="s-1", compaction=0)
    assert memory.vault.head == before + 1
    found = latest(memory.vault, "main")
    assert found is not None
    path, checkpoint = found
    assert (path, checkpoint) == (saved.path, saved.checkpoint)
    assert "fix the login loop" in checkpoint.context
    assert any("PKCE" in each for each in checkpoint.decisions)
    assert any("Oslo" in each for each in checkpoint.findings)
    assert checkpoint.open_questions == ("Should I write a test for it?",)
    assert {each.source for each in saved.memories} == {"flush"}
    assert not any("Rome" in each.content for each in saved.memories)
    assert memory.recall("Oslo")[0].memory.id in {each.id for each in saved.memories}


def test_the_same_is_saved_once(memory: Memory, clock: SettableClock) -> None:
    first = save(memory, TALK, session="s-1")
    before = memory.vault.head
    again = save(memory, TALK, session="s-1")
    assert again.receipt is not None
    assert again.receipt.repeated
    assert (again.path, again.memories, memory.vault.head) == (first.path, (), before)


def test_transcript_that_has_grown_brings_only_what_is_new(memory: Memory, clock: SettableClock) -> None:
    first = save(memory, TALK, session="s-1")
    clock.advance(minutes=5)
    longer = [*TALK, {"role": "user", "content": "I work at Acme."}]
    second = save(memory, longer, session="s-1")
    assert not {each.content for each in first.memories} & {each.content for each in second.memories}
    assert any("Acme" in each.content for each in second.memories)
    assert second.checkpoint is not None
    assert any("Oslo" in each for each in second.checkpoint.findings)


def test_what_was_forgotten_does_not_come_back(memory: Memory, clock: SettableClock) -> None:
    first = save(memory, TALK, session="s-1")
    [oslo] = [each for each in first.memories if "Oslo" in each.content]
    memory.forget(oslo.id)
    clock.advance(minutes=5)
    second = save(memory, [*TALK, {"role": "user", "content": "ok"}], session="s-1")
    assert not any("Oslo" in each.content for each in second.drafts)
    assert second.checkpoint is not None
    assert not any("Oslo" in each for each in second.checkpoint.findings)


def test_what_was_forgotten_does_not_come_back_in_other_words(memory: Memory, clock: SettableClock) -> None:
    [jazz] = save(memory, "User: I love jazz.").memories
    memory.forget(jazz.id)
    clock.advance(minutes=5)
    assert save(memory, "User: I love Jazz!").drafts == ()


def test_what_is_known_is_not_saved_again(memory: Memory, clock: SettableClock) -> None:
    for turn in TALK[:3]:
        memory.observe(turn["role"], turn["content"], session="s-1", user="alex")
    saved = save(memory, TALK[:3], session="s-1", user="alex")
    assert {each.attributes["subject"] for each in saved.memories if "Oslo" in each.content} == {"alex"}
    clock.advance(hours=1)
    memory.end_session("s-1")
    assert save(memory, TALK[:3], session="s-2", user="alex").drafts == ()
    facts = [each.memory.content for each in memory.recall("Oslo", kinds=["semantic"])]
    assert facts == ["alex lives in Oslo"]


def test_what_is_contradicted_is_replaced_in_the_same_change(memory: Memory, clock: SettableClock) -> None:
    [oslo] = save(memory, "User: I live in Oslo.", user="alex").memories
    clock.advance(days=1)
    before = memory.vault.head
    [rome] = save(memory, "User: I live in Rome.", user="alex").memories
    assert memory.vault.head == before + 1
    assert memory.get(oslo.id).superseded_by == rome.id  # type: ignore[union-attr]


def test_what_a_person_asked_for_is_not_replaced_by_what_was_overheard(memory: Memory, clock: SettableClock) -> None:
    asked = memory.heed("Remember that I live in Berlin.", user="alex")
    assert asked is not None
    assert asked.remembered is not None
    clock.advance(days=1)
    [rome] = save(memory, "User: I live in Rome.", user="alex").memories
    assert memory.get(asked.remembered.id).superseded_by is None  # type: ignore[union-attr]
    edges = memory.searcher.index.read(lambda connection: edges_of(connection, rome.id))
    assert [(each.type, each.target) for each in edges] == [("contradicts", asked.remembered.id)]


@pytest.mark.parametrize("data", ["User: hello", b"\xff\xfe\0\x01", '[{"role": "user", "content": "hi"}]', "ok\n"])
def test_transcript_that_teaches_nothing_is_no_trouble(memory: Memory, data: object) -> None:
    saved = save(memory, data)
    assert saved.drafts == ()
    assert bool(saved.path) is not isinstance(data, bytes)


@pytest.mark.parametrize("data", ["", [], "{broken", [{"role": "tool", "content": "x"}], "NO_REPLY"])
def test_nothing_is_saved_from_nothing(memory: Memory, data: object) -> None:
    before = memory.vault.head
    saved = save(memory, data)
    assert (saved.path, saved.drafts, saved.receipt, memory.vault.head) == (None, (), None, before)


def test_malformed_lines_are_told_and_the_rest_is_saved(memory: Memory) -> None:
    text = "\n".join([json.dumps(TALK[0]), "{broken", json.dumps(TALK[2])])
    saved = save(memory, text)
    assert saved.problems == ("line 2 is not JSON",)
    assert any("Oslo" in each.content for each in saved.memories)


def test_several_who_flush_the_same_at_once_save_it_once(home: Path, clock: SettableClock) -> None:
    with ExitStack() as stack:
        memories = [stack.enter_context(Memory.open(home, clock=clock, background=False)) for _ in range(3)]
        before = memories[0].vault.head
        with ThreadPoolExecutor(3) as pool:
            saved = list(pool.map(lambda memory: save(memory, TALK, session="s-1"), memories))
        assert sum(bool(each.memories) for each in saved) == 1
        assert len({each.path for each in saved}) == 1
        memories[0].sync()
        assert memories[0].vault.head == before + 1


def test_model_that_fails_loses_nothing_and_is_told(memory: Memory) -> None:
    class FailingModel:
        name = "failing"

        def questions(self, turns: int, most: int) -> int:
            return 100

        def drop(self, why: str, count: int) -> None:
            pass

        def ask(self, task: str, material: str, answer: type[Any]) -> Any:
            raise ModelError("it does not answer")

    saved = save(memory, TALK, model=FailingModel())
    assert any("Oslo" in each.content for each in saved.memories)
    assert saved.problems == ("the rules took the place of the model: it does not answer",)


def test_dry_run_shows_and_saves_nothing(memory: Memory) -> None:
    before = memory.vault.head
    saved = save(memory, TALK, compaction=0, dry_run=True)
    assert "+## Current Task Context" in saved.diff
    assert "Oslo" in saved.diff
    assert (saved.receipt, memory.vault.head) == (None, before)


def test_answer_of_an_agent_goes_where_it_may(memory: Memory, home: Path) -> None:
    text = (
        "TYPE: fact\nCONTENT: Alex is allergic to nuts\nTARGET: MEMORY.md\n\n"
        "TYPE: error\nCONTENT: The build broke on ARM\nTARGET: SOUL.md\n"
    )
    before = memory.vault.head
    saved = save(memory, text, session="s-1", compaction=2)
    assert memory.vault.head == before + 1
    assert saved.core == ("Alex is allergic to nuts",)
    assert [each.content for each in saved.memories] == ["The build broke on ARM"]
    assert "- Alex is allergic to nuts" in (home / "agents/main/MEMORY.md").read_text()
    assert not (home / "agents/main/SOUL.md").exists()
    assert save(memory, text, session="s-1", compaction=2).memories == ()


def test_what_has_no_room_in_core_memory_is_kept_in_the_log(home: Path, clock: SettableClock) -> None:
    home.mkdir()
    (home / "memfolio.toml").write_text("[core]\ntokens = 100\n")
    with Memory.open(home, clock=clock, background=False) as memory:
        long = "word " * 200
        saved = save(memory, f"TYPE: fact\nCONTENT: {long}\nTARGET: MEMORY.md\nTYPE: fact\nCONTENT: b\nTARGET: USER.md")
        assert [each.content for each in saved.memories] == [long.strip()]
        assert saved.core == ("b",)


def test_prompt_has_every_placeholder_filled_and_a_closed_set_of_targets(clock: SettableClock) -> None:
    text = flush_prompt(clock.now(), UTC, summary="{date} is a word")
    assert text.count("2026-11-15") == 2
    assert "{date} is a word" in text
    assert "TARGET: daily log | MEMORY.md | USER.md" in text
    assert "answer with: NO_REPLY" in text
    assert "{" not in flush_prompt(clock.now(), UTC)


def test_checkpoint_keeps_what_a_german_conversation_found_and_left_open(memory: Memory) -> None:
    said = "Ich habe herausgefunden, dass der Server in UTC läuft. Nächster Schritt: die Zeitzone setzen."
    found = memory.flush([{"role": "user", "content": f"{said}\nOffene Frage: wer macht das?"}]).checkpoint
    assert found is not None
    assert found.findings == ("Ich habe herausgefunden, dass der Server in UTC läuft.",)
    assert found.next_steps == ("Die Zeitzone setzen.",)
    assert found.open_questions == ("Wer macht das?",)


def test_checkpoint_keeps_findings_next_steps_and_open_questions_in_the_words_of_the_conversation(
    memory: Memory,
) -> None:
    found = memory.flush(
        [
            {"role": "user", "content": "Please fix the flaky login test."},
            {
                "role": "assistant",
                "content": "I found that two workers share the token cache.\nNext step: give each its own.",
            },
            {"role": "user", "content": "Good. Open question: do we keep the old cookie?"},
            {"role": "assistant", "content": "I'm not sure whether mobile needs it."},
        ]
    ).checkpoint
    assert found is not None
    assert found.findings == ("I found that two workers share the token cache.",)
    assert found.next_steps == ("Give each its own.",)
    assert found.open_questions == ("Do we keep the old cookie?", "I'm not sure whether mobile needs it.")
