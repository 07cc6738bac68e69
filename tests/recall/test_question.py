"""What a question is understood to ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.recall.question import MAX_PHRASES, understand


def test_names_of_speakers_are_asked_for_by_speaker_and_not_by_word() -> None:
    question = understand("What did Caroline paint in summer?", ["Caroline", "Melanie"])
    assert question.speakers == {"Caroline"}
    assert question.words == ("paint", "summer")


def test_question_of_nothing_but_a_name_keeps_it() -> None:
    assert understand("Caroline?", ["Caroline"]).words == ("Caroline",)


def test_speaker_is_known_by_each_word_of_the_name() -> None:
    assert understand("where does alex live", ["Alex_Kim"]).speakers == {"Alex_Kim"}


def test_words_side_by_side_are_phrases_but_not_across_a_word_that_does_not_matter() -> None:
    question = understand("the support group in the old town")
    assert question.phrases == ("support group", "old town")


def test_months_and_years_are_found_and_the_verb_may_is_none() -> None:
    assert understand("what happened in May 2023?").months == {5}
    assert understand("what happened in May 2023?").years == {2023}
    assert understand("what may happen in 1066?").months == understand("what may happen in 1066?").years == frozenset()


@pytest.mark.parametrize("text", ["When is the launch?", "how long did it take", "What day is it"])
def test_questions_for_a_time(text: str) -> None:
    assert understand(text).asks_when


@pytest.mark.parametrize("text", ["Tell me when it ends", "What is the plan?"])
def test_questions_for_something_else(text: str) -> None:
    assert not understand(text).asks_when


@pytest.mark.parametrize("text", ["What did you suggest?", "what was your advice", "the book you recommended"])
def test_questions_for_the_assistants_own_words(text: str) -> None:
    assert understand(text).asks_what_was_told
    assert not understand("what did Alex suggest?").asks_what_was_told


@given(st.text(max_size=300), st.lists(st.text(max_size=20), max_size=5))
def test_any_text_is_a_question(text: str, speakers: list[str]) -> None:
    question = understand(text, speakers)
    assert question.speakers <= set(speakers)
    assert len(question.phrases) <= MAX_PHRASES
