"""Opinions that turned, duties and ages in plain words, and wishes for all answers that are put as a question."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memfolio.learn.learned import Statement, Turn
from memfolio.learn.resolve import Knowledge, resolve
from memfolio.learn.rules import learn


def texts(content: str) -> list[str]:
    return [each.text for each in learn([Turn(content=content)]).statements]


def only(content: str) -> Statement:
    [statement] = learn([Turn(content=content)]).statements
    return statement


@pytest.mark.parametrize(
    ("content", "predicate", "thing"),
    [
        ("I've come around to the idea of a smaller car.", "likes", "the idea of a smaller car"),
        ("I've really warmed to our new priest.", "likes", "the user's new priest"),
        ("I've learnt to love winter.", "likes", "winter"),
        ("I've gone off horror films.", "dislikes", "horror films"),
        ("We've had enough of package holidays.", "dislikes", "package holidays"),
        ("I've lost interest in chess.", "dislikes", "chess"),
        ("I used to love camping, but these days I hate it.", "dislikes", "camping"),
        ("I never liked beetroot, but I've come round to it.", "likes", "beetroot"),
    ],
)
def test_opinion_that_turned_is_learned(content: str, predicate: str, thing: str) -> None:
    statement = only(content)
    assert (statement.predicate, statement.object) == (predicate, thing)


@pytest.mark.parametrize(
    "content",
    [
        "I went off to university in 1999.",
        "He's gone off the rails.",
        "We've gone off-road.",
        "I've come round to see Tom.",
        "I've had enough of this.",
        "The moss has grown on the roof.",
    ],
)
def test_what_only_sounds_like_a_turn_is_no_opinion(content: str) -> None:
    assert not [each for each in learn([Turn(content=content)]).statements if each.type == "preference"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I love filter coffee.", "I've gone off filter coffee."),
        ("I can't stand the new logo.", "I've come round to the new logo."),
        ("I like chess.", "I've lost interest in chess."),
        ("I don't like tea any more.", "I like tea."),
    ],
)
def test_opinion_that_turned_replaces_the_old_one(before: str, after: str) -> None:
    said = [(only(before), datetime(2026, 5, 1, tzinfo=UTC)), (only(after), datetime(2026, 6, 1, tzinfo=UTC))]
    assert len(resolve(said, Knowledge([]), "supersede").replaced) == 1


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Imke does the flowers for the chapel.", "Imke does the flowers for the chapel"),
        ("Lorcan is doing the loans.", "Lorcan is doing the loans"),
        ("Piet does our website.", "Piet does the user's website"),
        ("My cousin is nineteen.", "The user's cousin is nineteen"),
        ("Wren has just turned five.", "Wren has just turned five"),
        ("Our son turns ten on 3 May.", "The user's son turns ten on 3 May"),
        ("The temperature must not rise above 18 degrees.", "The temperature must not rise above 18 degrees"),
        ("From now on I take the train to work.", "The user takes the train to work"),
        ("The Lions have withdrawn from the league.", "The Lions have withdrawn from the league"),
    ],
)
def test_duties_ages_limits_and_changes_are_learned(content: str, text: str) -> None:
    assert texts(content) == [text]


@pytest.mark.parametrize(
    "content",
    [
        "Mum is doing the dishes.",
        "Lorcan does the same.",
        "My husband is doing the shopping.",
        "The shop is ten minutes away.",
        "My brother is one of the best.",
        "The bus is nine minutes late.",
        "From now on things will be better.",
    ],
)
def test_chores_and_minutes_are_not_learned(content: str) -> None:
    assert texts(content) == []


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Could you keep your answers short?", "to keep its answers short"),
        ("Could you please always give me the source?", "to always give the user the source"),
        ("Would you please stop apologising?", "to stop apologising"),
        ("Can you keep your replies under five lines?", "to keep its replies under five lines"),
        ("Could you skip the introduction from now on?", "to skip the introduction from now on"),
        ("Will you use kilometres in all your answers?", "to use kilometres in all its answers"),
        ("And don't use bullet points when I ask a quick question.", "not to use bullet points when the user asks a"),
    ],
)
def test_wish_for_all_answers_may_be_a_question(content: str, text: str) -> None:
    assert only(content).text.startswith(f"The user wants the assistant {text}")


@pytest.mark.parametrize(
    "content",
    [
        "Could you keep it short?",
        "Could you send the mail?",
        "Can you make the summary shorter?",
        "Could you stop the timer?",
        "Would you write me a poem in German?",
        "Can you tell me about your answers?",
    ],
)
def test_what_is_asked_for_once_is_no_lasting_wish(content: str) -> None:
    assert texts(content) == []


@pytest.mark.parametrize("content", ["I can't eat oats.", "My son can't drink milk.", "We cannot eat lupins."])
def test_what_somebody_cannot_eat_is_no_preference(content: str) -> None:
    assert (only(content).predicate, only(content).type) == ("restricted", "fact")


@pytest.mark.parametrize(
    "content", ["I don't eat pork.", "I never drink coffee.", "My son eats everything with cheese."]
)
def test_what_somebody_does_not_eat_is_a_preference(content: str) -> None:
    assert only(content).type == "preference"
