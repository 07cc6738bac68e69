"""Of turns as people write them, most of what a careful reader would note is learned, and hardly anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memfolio.learn.learned import Turn
from memfolio.learn.rules import learn
from memfolio.tend.extract import is_news, keys

TURNS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("turns.jsonl").read_text("utf-8").splitlines()
]
COVERED, SAYS_IT = 0.6, 0.5
"""The share of its words by which a statement covers a note, and of the statement's by which it says no more."""
_NOBODY = keys("the user and others wants assistant now")


def texts(content: str) -> list[str]:
    return [each.text for each in learn([Turn(content=content)]).statements]


def telling(text: str) -> frozenset[str]:
    return keys(text) - _NOBODY


def test_most_of_what_a_reader_would_note_is_learned() -> None:
    wanted = [(note, texts(turn["text"])) for turn in TURNS for note in turn["notes"]]
    found = sum(
        any(len(telling(note) & telling(text)) >= COVERED * len(telling(note)) for text in told)
        for note, told in wanted
    )
    assert len(wanted) > 90
    assert found / len(wanted) > 0.66


def test_hardly_anything_else_is_learned() -> None:
    told = [(text, turn["notes"]) for turn in TURNS if turn["notes"] for text in texts(turn["text"])]
    right = sum(
        any(len(telling(note) & telling(text)) >= SAYS_IT * len(telling(text)) for note in notes)
        for text, notes in told
    )
    assert right / len(told) > 0.93


def test_nothing_is_learned_of_what_is_imagined_quoted_or_only_said() -> None:
    assert not [(turn["text"], told) for turn in TURNS if not turn["notes"] and (told := texts(turn["text"]))]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            "What can I cook for my sister, she's vegan and hates mushrooms",
            "The user's sister is vegan and hates mushrooms",
        ),
        ("Could you write to Mr. Adeyemi? He's the building manager.", "Mr. Adeyemi is the building manager"),
        ("launch moved. 3 November it is, the tests take longer", "The launch is on 3 November now"),
        ("We don't launch on the 3rd, it's 24 November now", "The launch is on 24 November"),
        ("If I were rich I'd live in Paris, but I live in Leeds", "The user lives in Leeds"),
        ("As a single mum of two I can't do evening calls", "The user is a single mum of two"),
        ("The plumber (Mr. Holt) is coming Tuesday at 8.", "The plumber Mr. Holt is coming Tuesday at 8"),
        ("Payments settled: it's Mollie.", "The user decided on payments: Mollie"),
        ("No more dairy for us.", "The user has given up dairy"),
        ("From Monday I'm on parental leave.", "The user is on parental leave from Monday"),
        ("from now on British English please", "The user wants British English"),
        (
            "when I ask for a recipe give me grams, never cups",
            "The user wants the assistant to give the user grams, never cups when the user asks for a recipe",
        ),
        (
            "We must register the flat, remind me on Monday",
            "The user wants to be reminded on Monday to register the flat",
        ),
    ],
)
def test_what_is_said_in_passing_is_told_in_full(content: str, told: str) -> None:
    assert any(text.startswith(told) for text in texts(content)), texts(content)


@pytest.mark.parametrize(
    ("said", "news"),
    [
        ("Bram handed in his notice.", True),
        ("We got the flat in Delft!", True),
        ("The harbour office closes on Fridays.", True),
        ("Yesterday Lene was stung by a wasp.", True),
        ("Bram is sulking a bit lol", False),
        ("I cried a bit when he left, don't tell anybody", False),
        ("Jelle is lying on the floor reading to him.", False),
        ("about 5.5 so far, mostly the illustrator in Leeds", False),
        ("back from bouldering, did my first 6B, can't feel my forearms", False),
    ],
)
def test_what_a_digest_quotes_is_news(said: str, news: bool) -> None:
    assert is_news(said) is news
