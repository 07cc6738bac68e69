"""Audiences: what somebody said to the agent alone is not told to somebody else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from memfolio.memory import Memory

SALARY = "My salary is 5,400 euros a month"


@pytest.fixture
def memory(home: Path) -> Memory:
    memory = Memory.open(home, background=False)
    memory.observe("user", SALARY, user="alice", session="a")
    memory.observe("user", "I like long walks in the morning", user="bob", session="b")
    memory.remember("The office opens at eight in the morning", type="fact")
    return memory


def told(memory: Memory, question: str, who: str | None) -> str:
    hits = memory.recall(question, audience=who, limit=50)
    opening = memory.load_context(who).to_prompt() if who and not who.startswith("room:") else ""
    return "\n".join([*(hit.memory.content for hit in hits), memory.context(question, audience=who) or "", opening])


def test_what_one_user_says_is_not_told_to_another(memory: Memory) -> None:
    assert "5,400" in told(memory, "What is the salary?", "alice")
    assert "5,400" in told(memory, "What is the salary?", None)  # the owner's own look
    assert "5,400" not in told(memory, "What is the salary?", "bob")
    assert "5,400" not in (memory.context("What is the salary?", user="bob") or "")
    assert "opens at eight" in told(memory, "When does the office open?", "bob")


def test_what_is_learned_from_it_has_the_same_audience(memory: Memory) -> None:
    memory.end_session("a")
    memory.tend()
    learned = memory.recall("salary", kinds=["semantic"])[0].memory
    assert learned.audience == "alice"
    for question in ("What is the salary?", "Who is Alice?", "alice salary euros month", ""):
        assert "5,400" not in told(memory, question, "bob")
    assert "5,400" in told(memory, "What is the salary?", "alice")


def test_everybody_who_takes_part_in_a_session_has_heard_what_was_said_there(memory: Memory) -> None:
    memory.observe("user", "The vault code is a tulip", user="alice", session="both")
    assert "tulip" not in told(memory, "What is the vault code?", "bob")
    memory.observe("user", "Thanks, noted", user="bob", session="both")
    assert "tulip" in told(memory, "What is the vault code?", "bob")
    assert "tulip" not in told(memory, "What is the vault code?", "carol")


def test_a_room_hears_what_was_said_in_it_and_nothing_private(memory: Memory) -> None:
    memory.observe("user", "The party is a surprise", user="alice", session="r", audience="room:kitchen")
    assert "surprise" in told(memory, "What about the party?", "room:kitchen")
    assert "surprise" in told(memory, "What about the party?", "alice")
    assert "surprise" not in told(memory, "What about the party?", "bob")
    assert "5,400" not in told(memory, "What is the salary?", "room:kitchen")
    memory.remember("The garden is open to all", audience="all", user="alice")
    assert "garden" in told(memory, "Is the garden open?", "bob")


def test_no_question_of_another_user_brings_a_byte_of_it(home: Path) -> None:
    secrets = [f"zx{number:04d}q" for number in range(30)]
    with Memory.open(home, background=False) as memory:
        for number, secret in enumerate(secrets):
            memory.observe("user", f"My locker number {number} is {secret}", user="alice", session=f"a-{number % 3}")
            memory.observe("user", f"I saw bird {number} today", user="bob", session=f"b-{number % 3}")
        for session in ("a-0", "a-1", "a-2"):
            memory.end_session(session)
        memory.tend()
        words = "locker number alice my is bird today what who summary week which zx0001q zx".split()
        dice = random.Random(7)
        for _ in range(60):
            question = " ".join(dice.choices(words, k=dice.randint(1, 5)))
            hits = memory.recall(question, audience="bob", depth=dice.randint(0, 2), limit=50)
            found = "".join(repr(hit) for hit in hits) + str(memory.context(question, user="bob"))
            assert not any(secret in found for secret in secrets if secret not in question)


def test_a_name_cannot_break_out_of_the_view(memory: Memory) -> None:
    for name in ("bob' OR 1=1 --", 'alice"; DROP TABLE memories; --', "alice\0", "\ud800"):
        assert "5,400" not in told(memory, "What is the salary?", name)
    assert "5,400" in told(memory, "What is the salary?", "alice")


def test_nobody_is_told_or_shown_for_forgetting_what_another_asked_to_remember(memory: Memory) -> None:
    for text in (
        "Remember that I'm allergic to peanuts",
        "Remember this: call me Ali",
        "Remember my PIN hint is tulip",
    ):
        assert memory.act_on(text, user="alice", session="a")
    memory.checkpoint(context="Alice asked about her peanut allergy")
    secrets = ("peanut", "Ali", "tulip", "5,400")
    for text in ("What do you know about me?", "What do you know about alice?", "Forget about the salary"):
        found = memory.act_on(text, user="bob")
        assert found is not None
        assert not any(secret in repr((found.answer, found.core, found.fits, found.found)) for secret in secrets)
    pages = [
        memory.context("hello", user="bob", include=("core", "checkpoint")),
        memory.load_context("bob").to_prompt(),
    ]
    assert not any(secret in (page or "") for page in pages for secret in secrets)
    own = memory.context("hello", user="alice", include="core") or ""
    assert "alice is allergic to peanuts" in own
    assert "alice is allergic to peanuts" in memory.load_context("alice").to_prompt()
    assert "peanut" in (memory.context("hello", include=("core", "checkpoint")) or "")  # the owner's own look
