"""What somebody has to do, would do or should do is not done: it is a task, or nothing."""

from __future__ import annotations

import pytest

from memfolio.learn.learned import Turn
from memfolio.learn.rules import learn
from memfolio.types import Type


def told(content: str) -> list[tuple[str, Type]]:
    return [(each.text, each.type) for each in learn([Turn(content=content)]).statements]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("I have to renew the passport by 9 June.", "The user has to renew the passport by 9 June"),
        ("We have to hand back the keys on Friday.", "The user and others have to hand back the keys on Friday"),
        ("I have to write the review before Monday.", "The user has to write the review before Monday"),
        ("I must sign the lease by the end of May.", "The user must sign the lease by the end of May"),
        ("I have to cancel the gym in March.", "The user has to cancel the gym in March"),
    ],
)
def test_what_somebody_has_to_do_by_a_day_is_a_task(content: str, text: str) -> None:
    assert told(content) == [(text, Type.TASK)]


@pytest.mark.parametrize(
    ("content", "type_"),
    [
        ("I have to take antihistamines every morning.", Type.FACT),
        ("My thesis has to be handed in by 30 November.", Type.FACT),
        ("I had to move to Kiel in 2019.", Type.FACT),
        ("I can drive a tram.", Type.FACT),
        ("I'd rather walk than drive.", Type.PREFERENCE),
    ],
)
def test_what_is_so_or_was_done_is_still_learned(content: str, type_: Type) -> None:
    assert [each for _, each in told(content)] == [type_]


@pytest.mark.parametrize(
    "content",
    [
        "I have to move to Oslo.",
        "I'd have to move to Oslo.",
        "My brother has to work at the depot.",
        "Tom would have won the race.",
        "We would have to sell the boat.",
        "I should work at Bosch.",
        "I have until the end of August.",
    ],
)
def test_what_is_not_done_is_neither_an_event_nor_a_home(content: str) -> None:
    assert told(content) == []


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Pilar doesn't eat fish, which is funny given her job.", "Pilar doesn't eat fish"),
        ("I'm allergic to rye, which is a bit awkward for a baker.", "The user is allergic to rye"),
        ("Our flat is on the lake, which is really lovely in May.", "The user's flat is on the lake"),
        ("I live in Brest, which is in Brittany.", "The user lives in Brest, which is in Brittany"),
        (
            "My shop sells lamps from Ida, which are made in Kiel.",
            "The user's shop sells lamps from Ida, which are made",
        ),
    ],
)
def test_comment_on_what_was_said_is_left_out(content: str, text: str) -> None:
    assert [each.startswith(text) and "awkward" not in each and "lovely" not in each for each, _ in told(content)] == [
        True
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("From now on can you stop with the tables? Whole sentences.", "wants the assistant to stop with the tables"),
        (
            "When I ask about recipes, could you leave out the calories?",
            "wants the assistant to leave out the calories",
        ),
        ("Can you give me shorter answers when it's about work?", "shorter answers when it's about work"),
        ("put a reminder in for me to book the vet for Friday", "wants to be reminded to book the vet"),
        ("need to send the form off by 9 October", "needs to send the form off by 9 October"),
        ("We decided no more deliveries on Sundays.", "decided on no more deliveries on Sundays"),
        ("Decision from today: no meetings before ten.", "decided on no meetings before ten"),
        ("decided on felt for the lining", "decided on felt for the lining"),
        ("Lesson learned: check the tide table before we go out.", "learned a lesson: check the tide table"),
        ("From the 12th I work Mondays and Wednesdays only.", "works Mondays and Wednesdays only from the 12th"),
        ("moved to the flat on Quay Street last week", "moved to the flat on Quay Street"),
    ],
)
def test_wish_decision_or_duty_is_learned_as_people_type_it(content: str, text: str) -> None:
    found = learn([Turn(content=content)]).statements
    assert any(text in each.text for each in found), [each.text for each in found]


@pytest.mark.parametrize("content", ["Then don't buy milk.", "Need a new phone.", "Have a nice day on Friday!"])
def test_what_is_said_for_the_moment_is_no_duty(content: str) -> None:
    assert learn([Turn(content=content)]).statements == ()
