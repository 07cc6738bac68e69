"""How well a hit answers: on one scale in every answer and in homes of every size, and silence where nothing does."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memfolio import InputError, Memory
from memfolio.clock import SettableClock
from memfolio.serve.cli.app import run

FITS = 0.077
FEW = ["Alex prefers tea to coffee", "The launch is on Thursday, once the contract is signed", "Kim plays the cello"]
MANY = [f"On day {number} the pump in hall {number % 7} ran for {number % 11} hours" for number in range(400)]
ANSWERED = [
    ("When is the launch?", FEW[1]),
    ("What does Alex like to drink?", FEW[0]),
    ("Which instrument does Kim play?", FEW[2]),
]
NONSENSE = [
    "Which glacier did the astronaut ski down?",
    "How do I renew a fishing licence in Peru?",
    "xyzzy plugh frobnicate",
]


@pytest.fixture(params=["few", "many"])
def memory(request: pytest.FixtureRequest, home: Path) -> Memory:
    memory = Memory.open(home, background=False)
    for text in FEW:
        memory.remember(text)
    if request.param == "many":
        memory.observe_many({"role": "user", "content": text} for text in MANY)
    memory.sync(embed=True)
    return memory


@pytest.mark.parametrize(("question", "answer"), ANSWERED)
def test_answer_fits_in_a_small_home_and_in_a_larger_one(memory: Memory, question: str, answer: str) -> None:
    hits = memory.recall(question)
    assert hits.fits
    assert hits[0].memory.content == answer
    assert FITS <= hits[0].fit <= 1
    assert answer in (memory.context(question) or "")
    memory.close()


@pytest.mark.parametrize("question", NONSENSE)
def test_nothing_fits_a_question_that_nothing_answers(memory: Memory, question: str) -> None:
    hits = memory.recall(question)
    assert not hits.fits
    assert all(hit.fit < FITS for hit in hits)
    assert memory.context(question) is None
    memory.close()


def test_what_fits_less_is_left_out_where_that_is_asked_for(memory: Memory) -> None:
    every = memory.recall("When is the launch?")
    some = memory.recall("When is the launch?", min_fit=FITS)
    assert [hit.memory.id for hit in some] == [hit.memory.id for hit in every if hit.fit >= FITS]
    assert memory.recall("When is the launch?", min_fit=1) == []
    assert all(hit.fit == 1 for hit in memory.recall("", min_fit=1))
    with pytest.raises(InputError, match="min_fit"):
        memory.recall("launch", min_fit=1.5)
    memory.close()


def test_command_says_that_nothing_fits_and_shows_the_nearest_apart(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Memory.open(home, background=False) as memory:
        memory.remember("The astronaut told us of the pump")
        memory.observe_many({"role": "user", "content": text} for text in MANY)
        memory.sync(embed=True)
    assert run(["--home", str(home), "recall", NONSENSE[0]]) == 0
    assert "No memory is likely to answer this" in capsys.readouterr().out
    assert run(["--home", str(home), "recall", "--json", NONSENSE[0]]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["fits"] is False
    assert told["hits"][0]["fit"] < FITS
    assert run(["--home", str(home), "recall", "--json", "--min-fit", "0.077", NONSENSE[0]]) == 0
    assert json.loads(capsys.readouterr().out)["hits"] == []


def test_fit_is_the_same_when_a_memory_has_faded(home: Path) -> None:
    clock = SettableClock(datetime(2026, 1, 5, 9, tzinfo=UTC))
    question = "How large are the partitions of the store?"
    with Memory.open(home, clock=clock, background=False) as memory:
        memory.observe("user", "Partitions of the store have 256 MB", session="s-1")
        memory.observe("user", "The landlord is Mr Oyelaran", session="s-1")
        [fresh] = [hit for hit in memory.recall(question) if "256" in hit.memory.content]
        clock.advance(days=25)
        [faded] = [hit for hit in memory.recall(question) if "256" in hit.memory.content]
    assert faded.phase == "fading"
    assert faded.score < fresh.score
    assert faded.fit == fresh.fit


def test_question_alone_is_no_reason_to_tell_something(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        for text in ("What should I give Ben for his birthday?", "The harbour was full of boats", *MANY[:40]):
            memory.observe("user", text, session="s-1")
        asked = "What is Ben's salary?"
        assert not memory.recall(asked).fits
        assert memory.context(asked) is None
