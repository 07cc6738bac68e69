"""What a question is understood to ask."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.recall.question import MAX_PHRASES, SAME_MONTH, SOON_AFTER, Intent, Question, names_in
from memfolio.recall.question import understand as read

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def understand(text: str, speakers: Iterable[str] = ()) -> Question:
    return read(text, now=NOW, zone=UTC, speakers=speakers)


def test_names_of_speakers_are_asked_for_by_speaker_and_not_by_word() -> None:
    question = understand("What did Caroline paint in summer?", ["Caroline", "Melanie"])
    assert question.speakers == {"Caroline"}
    assert question.words == ("paint", "summer")


def test_question_of_nothing_but_a_name_keeps_it() -> None:
    assert understand("Caroline?", ["Caroline"]).words == ("Caroline",)


def test_speaker_is_known_by_each_word_of_the_name() -> None:
    assert understand("where does alex live", ["Alex_Kim"]).speakers == {"Alex_Kim"}


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("What did Ann tell Ben?", {"Ann"}),
        ("what does ben think of Ann's garden", {"Ben"}),
        ("Where did Ann and Ben go?", {"Ann", "Ben"}),
        ("When did Ann, Ben and Cleo Kim meet?", {"Ann", "Ben", "Cleo_Kim"}),
        ("Are Ann's or Ben's roses older than those of Cleo Kim?", {"Ann", "Ben"}),
        ("Was haben Ben und Ann Cleo Kim gesagt?", {"Ann", "Ben"}),
        ("Which invoice did Ann send to Ben?", {"Ann", "Invoice_bot"}),
        ("Who was it?", set()),
    ],
)
def test_whoever_is_named_first_is_asked_about_and_those_joined_to_them(text: str, asked: set[str]) -> None:
    assert understand(text, ["Ann", "Ben", "Cleo_Kim", "Invoice_bot"]).speakers == asked


def test_words_side_by_side_are_phrases_but_not_across_a_word_that_does_not_matter() -> None:
    question = understand("the support group in the old town")
    assert question.phrases == ("support group", "old town")


def test_month_that_is_named_fits_in_whole_and_its_days_most() -> None:
    question = understand("what happened on 7 May 2023?")
    assert question.nearness(datetime(2023, 5, 7, 9, tzinfo=UTC)) == 1
    assert question.nearness(datetime(2023, 5, 20, tzinfo=UTC)) == SAME_MONTH
    assert question.nearness(datetime(2024, 5, 20, tzinfo=UTC)) == 0
    assert understand("in May?").nearness(datetime(2019, 5, 20, tzinfo=UTC)) == 1
    assert not understand("what may happen?").times


def test_what_happened_on_a_day_may_be_told_in_the_days_after() -> None:
    question = understand("what did we do on 7 May 2023?")
    assert question.nearness(datetime(2023, 5, 9, tzinfo=UTC)) == SOON_AFTER
    assert question.nearness(datetime(2023, 5, 6, tzinfo=UTC)) == SAME_MONTH
    assert understand("what did we do in May 2023?").nearness(datetime(2023, 6, 2, tzinfo=UTC)) == SOON_AFTER
    assert understand("what did we do in 2023?").nearness(datetime(2024, 1, 2, tzinfo=UTC)) == 0
    assert understand("what will we do on 29 December 9999?").nearness(datetime(9999, 12, 29, 9, tzinfo=UTC)) == 1


def test_relative_time_is_seen_from_now() -> None:
    question = understand("what did we decide last week?")
    assert question.nearness(datetime(2026, 11, 5, tzinfo=UTC)) == 1
    assert question.nearness(datetime(2026, 10, 5, tzinfo=UTC)) == 0


def test_names_are_looked_for_in_up_to_four_words_without_regard_to_case() -> None:
    assert {"alex chen", "alex", "o'brien"} <= set(names_in("Does Alex Chen know O'Brien?"))


@pytest.mark.parametrize("text", ["When is the launch?", "how long did it take", "What day is it"])
def test_questions_for_a_time(text: str) -> None:
    assert understand(text).intent is Intent.WHEN


@pytest.mark.parametrize("text", ["I was there when it ended", "What is the plan?"])
def test_questions_for_something_else(text: str) -> None:
    assert understand(text).intent is not Intent.WHEN


@pytest.mark.parametrize("text", ["What did you suggest?", "what was your advice", "the book you recommended"])
def test_questions_for_the_assistants_own_words(text: str) -> None:
    assert understand(text).asks_what_was_told
    assert not understand("what did Alex suggest?").asks_what_was_told


@given(st.text(max_size=300), st.lists(st.text(max_size=20), max_size=5))
def test_any_text_is_a_question(text: str, speakers: list[str]) -> None:
    question = understand(text, speakers)
    assert question.speakers <= set(speakers)
    assert len(question.phrases) <= MAX_PHRASES
