"""The sentences that say most: what is chosen, what is left out, and how long it may take."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.tend.extract import extract, shortened
from memfolio.text import estimate_tokens
from tests.conftest import many

BILLING = "We decided to use PostgreSQL for the billing service."


def test_what_many_texts_are_about_is_chosen_before_what_one_says_by_the_way() -> None:
    texts = [
        "Billing moves to PostgreSQL next week. The cat slept.",
        "The billing database is PostgreSQL 17 and holds invoices. Rain again.",
        "Invoices of the billing service are stored in PostgreSQL. Somebody laughed.",
    ]
    found = extract(texts, limit=2, tokens=100)
    assert all("PostgreSQL" in sentence for _, sentence in found)
    assert len(found) == 2


def test_same_thing_said_twice_is_given_once() -> None:
    found = extract([BILLING, "Anna bought green tea.", BILLING.replace("We", "They")], limit=3, tokens=100)
    assert [at for at, _ in found] == [0, 1]


def test_sentences_come_in_the_order_of_their_texts_with_their_index() -> None:
    texts = ["Green tea is in the kitchen.", "", "Deploys happen on Tuesdays. The server is in Oslo."]
    assert extract(texts, limit=9, tokens=100) == [
        (0, "Green tea is in the kitchen."),
        (2, "Deploys happen on Tuesdays."),
        (2, "The server is in Oslo."),
    ]


def test_abbreviations_and_list_marks_do_not_break_sentences() -> None:
    texts = ["- Dr. Smith comes at 5 p.m. with the e.g. contract.\n2) Call Anna."]
    assert [words for _, words in extract(texts, limit=5, tokens=99)] == [
        "Dr. Smith comes at 5 p.m. with the e.g. contract.",
        "Call Anna.",
    ]


def test_a_best_sentence_that_is_too_long_is_cut_between_words() -> None:
    ((at, words),) = extract(["invoice " * 400], limit=3, tokens=10)
    assert at == 0
    assert words.endswith("invoice …")
    assert estimate_tokens(words) <= 10


@pytest.mark.parametrize(
    "noise",
    [
        "Wow, that's awesome!",
        "Should we move the billing service to MySQL?",
        "If I were rich, billing would be free.",
        "I moved billing to the moon. Just kidding!",
        "```\nbilling = invoices(10)\nbilling runs in code\n```",
        '  File "/srv/billing/app.py", line 12, in <module>',
        "ERROR billing refused",
        "The billing password is hunter2",
        "BILLING_API_KEY=0a1b2c",
        "Please translate this: The billing service is gone.",
    ],
)
def test_what_nobody_tells_is_left_out(noise: str) -> None:
    assert extract([noise], limit=3, tokens=100) == []
    assert extract([f"{BILLING}\n{noise}"], limit=3, tokens=100) == [(0, BILLING)]


def test_sentence_that_begins_with_a_link_is_told_as_it_stands() -> None:
    told = "[[Anna]] moved to https://altona.example with Tom."
    assert extract([told], limit=1, tokens=40) == [(0, told)]


def test_scripts_without_spaces_are_summed_up_too() -> None:
    assert extract(["東京に行きました。天気は良かった。"], limit=1, tokens=40) == [(0, "東京に行きました。")]


@pytest.mark.serial
def test_five_thousand_short_texts_take_less_than_a_second() -> None:
    chance = random.Random(1)
    words = [f"word{number}" for number in range(3000)]
    texts = [" ".join(chance.choices(words, k=14)) + ". And that was all." for _ in range(5000)]
    best = min(_seconds(texts) for _ in range(3))
    assert best < 1.0


def _seconds(texts: list[str]) -> float:
    begun = time.process_time()
    assert len(extract(texts, limit=20, tokens=2000)) == 20
    return time.process_time() - begun


@pytest.mark.serial
@pytest.mark.parametrize("text", ["a. " * 999_999, "x" * 3_000_000, "." * 3_000_000, "\n" * 3_000_000, "a\n" * 999_999])
def test_huge_and_odd_texts_are_over_quickly(text: str) -> None:
    begun = time.process_time()
    assert len(extract([text], limit=5, tokens=100)) <= 1
    assert time.process_time() - begun < 2


@many(200)
@given(st.lists(st.text(max_size=80), max_size=6), st.integers(-1, 5), st.integers(0, 40))
def test_limits_hold_for_any_texts(texts: list[str], limit: int, tokens: int) -> None:
    found = extract(texts, limit=limit, tokens=tokens)
    assert len(found) <= max(limit, 0)
    assert sum(estimate_tokens(words) for _, words in found) <= tokens
    assert [at for at, _ in found] == sorted(at for at, _ in found)
    assert found == extract(texts, limit=limit, tokens=tokens)


@given(st.text(max_size=300), st.integers(0, 30))
def test_shortened_text_is_one_line_and_fits(text: str, tokens: int) -> None:
    short = shortened(text, tokens)
    assert estimate_tokens(short) <= tokens
    assert len(short.splitlines()) <= 1
