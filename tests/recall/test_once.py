"""A sentence is told once, however often it is repeated, and what tells nothing is not told at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.recall.dates import pattern

START = datetime(2026, 5, 4, 16, tzinfo=UTC)
SAID = (
    ("user", "Hi, I'm Nuala. My sister Roisin lives in Cork and works as a baker."),
    ("assistant", "Nice, noted."),
    ("user", "We decided to use NATS for the Kestrel queue."),
    ("assistant", "You decided to use NATS for the Kestrel queue."),
    ("user", "I prefer short answers with bullets."),
)
PAGE = """---
title: Kestrel
status: active
---
# Kestrel queue

## Decisions

- We decided to use NATS for the Kestrel queue.

## Kestrel queue of the future
"""


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    clock = SettableClock(START)
    with Memory.open(home, clock=clock, background=False) as memory:
        for role, text in SAID:
            memory.observe(role, text, session="s-1")
            clock.advance(seconds=30)
        memory.remember("Decision: use NATS for the Kestrel queue", type="fact")
        memory.remember("> We decided to use NATS for the Kestrel queue.\n\nGood, says Jonas.")
        (home / "agents/main/memory/notes.md").write_text(PAGE)
        for _ in range(2):  # facts are learned, the day is summed up, then a week and a month are
            clock.advance(days=16)
            memory.tend()
        memory.sync(embed=True)
        yield memory


@pytest.mark.parametrize(
    ("question", "telling"),
    [
        ("What did we decide to use for the Kestrel queue?", "NATS"),
        ("Where does Roisin live?", "Cork"),
        ("Which kind of answers do I prefer?", "bullets"),
    ],
)
def test_sentence_is_told_once_and_what_repeats_it_is_its_source(memory: Memory, question: str, telling: str) -> None:
    repeated = [hit.memory.id for hit in memory.recall(question, limit=20) if telling in hit.memory.content]
    assert len(repeated) > 1 or telling != "NATS"
    context = memory.compose(question)
    assert context.text is not None
    assert context.text.count(telling) == 1
    assert telling not in (memory.compose(question, known=context.ids).text or "")


def test_what_tells_nothing_is_not_told(memory: Memory) -> None:
    questions = ("What is the status of the Kestrel queue?", "conversation s-1", "Which memories of Monday are there?")
    for question in questions:
        text = memory.context(question) or ""
        assert not re.search(r"turns? of|memories (?:on|in)|title:|made_by|of the future\n", text)
        assert not re.search(r"\((?:M-\w+-\w+)", text)


def test_sentences_that_differ_in_what_matters_are_both_told(home: Path) -> None:
    pairs = [
        ("The launch is on Thursday", "The launch is not on Thursday"),
        ("The fee of the club is 95 pounds", "The fee of the club is 110 pounds"),
        ("The key hangs behind the door", "The key hangs behind the door of the cellar"),
    ]
    with Memory.open(home, background=False) as memory:
        for pair in pairs:
            for text in pair:
                memory.remember(text, type="fact")
        for question, pair in zip(("When is the launch?", "What is the fee of the club?"), pairs, strict=False):
            told = memory.context(question) or ""
            assert all(f": {text}\n" in told for text in pair)


def test_two_people_who_say_the_same_of_themselves_are_both_told(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        for name in ("Dana", "Kim"):
            memory.observe(name, "I live in Oslo and play the cello", session="s-1")
        told = memory.context("Who plays the cello?") or ""
        assert " Dana: I live in Oslo" in told
        assert " Kim: I live in Oslo" in told


@pytest.mark.parametrize(
    ("text", "is_bare"),
    [
        ("6 turns of user, assistant from 2026-05-04 16:00 to 2026-05-04 16:02", True),
        ("9 memories on 1 day in 1 conversation.", True),
        ("Summary of Monday, 2026-05-04: 9 memories in 1 conversation, from 16:00 to 16:03.", True),
        ("## Key Decisions", True),
        ("Highlights:", True),
        ("**Status:** active | **Timeout:** 5m", True),
        ("### [[2026-05-04]] Monday", True),
        ("- [[person--alex]]", True),
        ("4 turns to the left, then the door", False),
        ("- Alex leads Apollo", False),
        ("Password: hunter2", False),
    ],
)
def test_bare_passage_is_known(text: str, is_bare: bool) -> None:
    assert bool(pattern("bare").fullmatch(text)) is is_bare


@pytest.fixture
def learned(home: Path) -> Iterator[Memory]:
    """A home that learned from its conversations, and wrote pages about them."""
    clock = SettableClock(START)
    with Memory.open(home, clock=clock, background=False) as memory:
        for text in (
            "The calendar export uses ical with VTIMEZONE blocks; Outlook breaks without them.",
            "Dentist today: two fillings, and the next check is on 22 April.",
            "Ilse owns the Kestrel scheduler. Ilse plays the cello.",
        ):
            memory.observe("user", text, session="s-1")
            clock.advance(seconds=30)
        clock.advance(days=16)
        memory.tend()
        memory.sync(embed=True)
        yield memory


@pytest.mark.parametrize(
    ("question", "whole"),
    [
        ("Why does Outlook break with the calendar export?", "VTIMEZONE blocks; Outlook breaks without them."),
        ("When is the next check at the dentist?", "Dentist today: two fillings, and the next check is on 22 April."),
    ],
)
def test_turn_that_tells_more_than_what_was_learned_from_it_stands_whole(
    learned: Memory, question: str, whole: str
) -> None:
    facts = [hit.memory for hit in learned.recall(question, kinds="semantic") if hit.memory.derived_from]
    context = learned.compose(question)
    told = [each for each in facts if each.id in context.ids]
    assert told  # as a source of the turn
    assert context.text is not None
    assert whole in context.text
    assert not any(f"[{each.id}]" in context.text for each in told)
    assert "## Evidence" not in context.text


def test_person_met_on_the_way_is_told_only_as_far_as_it_is_asked(learned: Memory) -> None:
    told = learned.context("Who owns the Kestrel scheduler?") or ""
    assert "Ilse owns the Kestrel scheduler" in told
    assert "## People and things" not in told
    assert "cello" in (learned.context("What do you know about Ilse?") or "")


def test_passages_that_tell_nothing_are_no_hits(learned: Memory) -> None:
    for question in ("What did I do on May 4?", "turns of user", "What happened in May 2026?"):
        found = [hit.memory.content for hit in learned.recall(question, limit=30)]
        assert found
        assert not any(re.fullmatch(r"\d+ turns of .*|## Overview\s+\d+ memories .*", each) for each in found)


def test_bold_line_that_a_person_wrote_is_told(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.remember("The flat has four rooms")
        (home / "agents/main/memory/flat.md").write_text("# The flat\n\n**Wifi:** heron42\n")
        memory.sync()
        assert "heron42" in (memory.context("What is the wifi of the flat?") or "")
