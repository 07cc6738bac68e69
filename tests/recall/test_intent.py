"""Questions are sorted by what they ask for."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.recall.question import Intent, by_words, is_complex
from memfolio.text import terms

LABELLED = [json.loads(line) for line in Path(__file__).with_name("intents.jsonl").read_text("utf-8").splitlines()]


def test_labelled_questions_cover_every_intent_in_every_language() -> None:
    found = {(each["intent"], each["language"]) for each in LABELLED}
    assert len(found) == len(Intent) * 9
    assert len(LABELLED) > 300


def test_words_sort_every_labelled_question() -> None:
    wrong = [each["text"] for each in LABELLED if (by_words(each["text"]) or Intent.GENERAL) != each["intent"]]
    assert not wrong


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("When I was in Rome, what did I eat?", Intent.WHAT),
        ("I'm moving house. How do I cancel the lease?", Intent.HOW),
        ("How do I get the latest version?", Intent.HOW),
        ("Why is the cache currently off?", Intent.WHY),
        ("What time is it now?", Intent.WHEN),
        ("Can you walk me through the order in which I did this?", Intent.GENERAL),
        ("Tell me when you are done", None),
        ("Remember when we went to Rome?", None),
        ("Was it raining?", None),
        ("How did she feel?", None),
        ("The man, who was late", None),
        ("", None),
    ],
)
def test_question_words_count_where_they_ask(text: str, intent: Intent | None) -> None:
    assert by_words(text) is intent


@pytest.mark.parametrize(
    "text",
    [
        "What did Anna choose, and why?",
        "Compare Redis and SQLite",
        "What is the difference between the two plans?",
        "How did my budget change over time?",
        "Where is Anna? Where is Tom?",
        "Eggs, milk, bread, tea",
        "Was hat Anna gewählt und warum?",
        "Quelle est la différence entre les deux ?",
        "¿Qué eligió Ana y por qué?",
        "Сравни Redis и SQLite",
        "两个方案的区别是什么？",
        " ".join(f"word{number}" for number in range(12)),
    ],
)
def test_questions_of_several_parts_are_complex(text: str) -> None:
    assert is_complex(text, terms(text))


@pytest.mark.parametrize(
    "text", ["Where does Anna live?", "When did we meet Tom and Ann?", "Wo wohnt Anna?", "tea", ""]
)
def test_other_questions_are_simple(text: str) -> None:
    assert not is_complex(text, terms(text))


@given(st.text())
def test_any_text_can_be_sorted(text: str) -> None:
    assert by_words(text) in (None, *Intent)
    is_complex(text, ())


@pytest.mark.parametrize("piece", ["so ", "and, ", "what ", "how did ", "?", "e\n", "the reason ", "a", "tell me "])
def test_endless_text_is_sorted_quickly(piece: str) -> None:
    text = (piece * 100_000)[:100_000]
    by_words(text), is_complex(text, ())
    start = time.process_time()
    by_words(text), is_complex(text, ())
    assert time.process_time() - start < 0.05


def test_sorting_takes_less_than_two_milliseconds() -> None:
    start = time.process_time()
    for each in LABELLED:
        by_words(each["text"])
    assert time.process_time() - start < 0.002 * len(LABELLED)
