"""What a careful reader would note in ordinary turns is learned; nothing is from turns that hold nothing."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from memfolio.learn.learned import Turn
from memfolio.learn.rules import learn

CASES: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("notes.jsonl").read_text("utf-8").splitlines()
]
DANGLING = re.compile(r"(?i)^(?:it|that|this|they|he|she)\b|\b(?:about|with|for|to|of) (?:it|that|him|them)$")


def texts(content: str) -> list[str]:
    return [each.text for each in learn([Turn(content=content)]).statements]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:40])
def test_what_is_worth_a_note_is_learned_and_nothing_from_other_turns(case: dict[str, Any]) -> None:
    found = texts(case["text"])
    for words in case["notes"]:
        assert any(all(word.casefold() in text.casefold() for word in words) for text in found), found
    if not case["notes"]:
        assert not found


def test_what_is_learned_stands_by_itself() -> None:
    assert not [text for case in CASES for text in texts(case["text"]) if DANGLING.search(text)]


def test_clause_that_needs_the_one_before_is_kept_with_it() -> None:
    assert texts("The quiz night is over, we dissolved it in spring.") == [
        "The quiz night is over, the user and others dissolved it in spring"
    ]
    assert texts("The fair won't be in May, it's going to be 3 July now.") == [
        "The fair won't be in May",
        "The fair is going to be 3 July now",
    ]


@pytest.mark.parametrize(
    ("said", "subject", "single"),
    [
        ("Ich wohne in Graz.", "The user", True),
        ("Meine Tante wohnt in Graz.", "", False),
        ("我住在成都。", "The user", True),
        ("我妹妹住在成都。", "", False),
    ],
)
def test_home_of_others_takes_the_place_of_nothing_that_is_known_of_the_speaker(
    said: str, subject: str, single: bool
) -> None:
    [statement] = learn([Turn(content=said)]).statements
    assert (statement.predicate == "lives_in", statement.subject, statement.is_single) == (True, subject, single)


def test_session_of_two_hundred_turns_is_learned_in_a_second() -> None:
    turns = [Turn(content=CASES[place % len(CASES)]["text"]) for place in range(200)]
    learn(turns[:40])  # patterns are compiled once
    took = min(_seconds(turns) for _ in range(3))
    assert took < 1


def _seconds(turns: list[Turn]) -> float:
    begun = time.process_time()
    learn(turns)
    return time.process_time() - begun
