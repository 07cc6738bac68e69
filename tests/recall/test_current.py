"""What holds now comes first and says what it replaces; what was so before stays to be asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.recall.current import asks_before, asks_now

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
ASIDE = ["Can you suggest a film for tonight?", "it rained all afternoon", "need to water the plants"]

CHANGED = [
    ("Where is my gym?", "My gym is in Harlow Street.", "Switched gyms, I go to the one on Canal Row now.", "Canal"),
    ("When is the launch?", "The launch is on 4 May.", "The launch got postponed to 18 May.", "18 May"),
    (
        "Who is my accountant?",
        "My accountant is Rahel Stein.",
        "Moved my books over to an accountant named Ojo.",
        "Ojo",
    ),
    ("How much is the parking permit?", "The parking permit is 80 euros.", "They raised the permit to 95 euros.", "95"),
    ("Which bank am I with?", "I am with Nordbank.", "I closed that bank account, moved to Tideway.", "Tideway"),
    ("What is the alarm code?", "The alarm code is 5512.", "The alarm code was changed to 7730.", "7730"),
    ("Wo wohne ich?", "Ich wohne in Bremen.", "Ich bin umgezogen und wohne jetzt in Kassel.", "Kassel"),
    ("我住在哪里?", "我住在北京。", "我搬家了,现在住在上海。", "上海"),
]
COMPATIBLE = [
    ("Which instruments do I play?", "I play the cello.", "I also play the flute."),
    ("Where do Ida and Olga live?", "Ida lives in Oslo.", "Olga lives in Bergen."),
    ("What is the code of the cellar?", "The code of the cellar is 311.", "The code of the attic was changed to 942."),
    ("How much is the bill for Orla?", "The bill for Orla is 300.", "The bill for Finn went up to 450."),
    ("Where is my bike?", "My bike is in the Smith garage.", "My brother's bike is in the Jones garage now."),
]


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with Memory.open(home, background=False) as memory:
        yield memory


def tell(memory: Memory, *texts: str) -> None:
    aside: Sequence[str] = ASIDE
    lines = [text for nth, each in enumerate(texts) for text in (each, aside[nth % len(aside)])]
    memory.observe_many(
        {"role": "user", "content": text, "session": f"s-{nth // 2}", "at": START + timedelta(days=9 * nth)}
        for nth, text in enumerate(lines)
    )


@pytest.mark.parametrize(("question", "old", "new", "value"), CHANGED)
def test_what_was_said_last_comes_first(memory: Memory, question: str, old: str, new: str, value: str) -> None:
    tell(memory, old, new)
    first, *others = memory.recall(question)
    assert value in first.memory.content
    assert first.replaces == tuple(each.memory.id for each in others if each.memory.content == old)
    context = memory.context(question) or ""
    line = next(each for each in context.splitlines() if each.startswith("- "))
    assert value in line
    assert "  | earlier: [" in context
    assert old in context


@pytest.mark.parametrize(("question", "one", "other"), COMPATIBLE)
def test_what_holds_beside_another_replaces_nothing(memory: Memory, question: str, one: str, other: str) -> None:
    tell(memory, one, other)
    assert [hit.replaces for hit in memory.recall(question) if hit.replaces] == []
    assert "earlier:" not in (memory.context(question) or "")


def test_question_about_the_past_gets_what_was_so_before(memory: Memory) -> None:
    tell(memory, "I live in Lyon, near the river.", "I moved, I live in Nantes now.")
    assert "Lyon" in memory.recall("Where did I live before?")[0].memory.content
    context = memory.context("Where did I live before?") or ""
    first = next(line for line in context.splitlines() if line.startswith("- "))
    assert "Lyon" in first
    assert "  | later: [" in context


def test_word_of_a_stranger_does_not_replace_the_owners(memory: Memory) -> None:
    tell(memory, "My gym is in Harlow Street.")
    memory.observe("tool", "My gym switched, it is in Canal Row now.", session="s-9", at=START + timedelta(days=90))
    assert [hit.replaces for hit in memory.recall("Where is my gym?") if hit.replaces] == []


MEETING = """# Atlas sync

- The launch of Atlas is on March 3 with Tom and Priya.
- The launch of Atlas moved to April 14, says Priya.
"""


def test_parts_of_one_note_hold_together_and_a_later_note_replaces(home: Path, tmp_path: Path) -> None:
    question = "When is the launch of Atlas?"
    for name, text, day in (("sync", MEETING, 1), ("later", "The launch of Atlas moved to May 5.\n", 40)):
        note = tmp_path / name / f"{name}.md"
        note.parent.mkdir()
        note.write_text(text)
        at = (START + timedelta(days=day)).timestamp()
        os.utime(note, (at, at))
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(tmp_path / "sync")
        assert len(hits := memory.recall(question)) == 2
        assert not any(hit.replaces for hit in hits)
        assert "earlier:" not in (memory.context(question) or "")
        memory.notes.watch(tmp_path / "later")
        first, *others = memory.recall(question)
        assert "May 5" in first.memory.content
        assert {*first.replaces} < {hit.memory.id for hit in others}


def test_questions_tell_whether_they_are_about_now() -> None:
    assert asks_now("What is my phone number?")
    assert not asks_now("Where did I live before?")
    assert asks_before("Where did I live before?")
    assert not asks_now("Can you help me plan my week?")
