"""What is learned stands by itself: nothing in it hangs on what was said before, and nobody is only `he` or `her`."""

from __future__ import annotations

import pytest

from memfolio.learn.learned import Turn
from memfolio.learn.rules import learn


def texts(*turns: str) -> list[str]:
    return [each.text for each in learn([Turn(content=turn) for turn in turns]).statements]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("We don't eat lamb either.", ["The user and others don't eat lamb"]),
        ("The kiln has to be checked by 4 May though, that's Ben's job.", ["The kiln has to be checked by 4 May"]),
        ("I can't drive on Sundays until she's well again.", ["The user can't drive on Sundays"]),
        (
            "Astrid is off sick, Malte Voss is running the kiosk as long as she's away.",
            ["Astrid is off sick", "Malte Voss is running the kiosk"],
        ),
        (
            "I work in Ghent now, my boss there is Joost Maes.",
            ["The user works in Ghent now", "The user's boss is Joost Maes"],
        ),
        (
            "Our piano teacher is Delia Marsh, the fee is 32 pounds.",
            ["The user's piano teacher is Delia Marsh, the fee is 32 pounds"],
        ),
        (
            "We've chosen the blue tiles, so we begin on 3 March.",
            ["The user and others have chosen the blue tiles, the user and others begin on 3 March"],
        ),
        (
            "I'm allergic to peanuts, so please never suggest recipes with them.",
            ["The user is allergic to peanuts", "The user wants the assistant never to suggest recipes with peanuts"],
        ),
    ],
)
def test_what_hangs_on_something_else_is_left_out_or_kept_with_it(content: str, told: list[str]) -> None:
    assert texts(content) == told


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("My aunt Petra moved to Ghent because she loves the sea.", "because she loves the sea"),
        ("I left the car with my uncle because he has a garage.", "because he has a garage"),
        ("My brother Finn can't drive since he's broken his arm.", "since he's broken his arm"),
        ("I have to wear a brace for six weeks and may not row until then.", "may not row until then"),
        ("We finish the course on 3 March.", "finish the course on 3 March"),
        ("My sister moved to Leeds and works there on Mondays.", "works there on Mondays"),
    ],
)
def test_what_is_clear_within_the_sentence_stays(content: str, told: str) -> None:
    assert any(told in text for text in texts(content))


@pytest.mark.parametrize(
    "content",
    [
        "The number is 01603 555 019.",
        "The address is 7 Saltgate Lane, Beccles NR34 9XQ.",
        "We start on 10 November.",
        "We go there every Friday.",
        "Please don't tell Anselm's mother about it if she ever uses this tablet.",
        "I have to send her the scans by 12 June.",
        "The time is 4 pm.",
    ],
)
def test_what_means_nothing_alone_is_not_learned(content: str) -> None:
    assert texts(content) == []


def test_him_and_her_are_whom_was_spoken_of() -> None:
    assert texts("My physio is Runa Holt.", "I have to send her the scans by 12 June.") == [
        "The user's physio is Runa Holt",
        "The user has to send Runa Holt the scans by 12 June",
    ]
    assert texts("Our neighbour Kit is back.", "I'll show Ida her desk on 4 May.")[1:] == [
        "The user will show Ida her desk on 4 May"
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            "The main one is a study called Kestrel. It ends on 3 June.",
            ["Kestrel is a study", "Kestrel ends on 3 June"],
        ),
        (
            "The next thing is a workshop called Paper Moon. It starts on 9 May.",
            ["Paper Moon is a workshop", "Paper Moon starts on 9 May"],
        ),
        (
            "I'm working on a fair called May Lights. It opens on 2 May.",
            ["The user is working on a fair called May Lights", "May Lights opens on 2 May"],
        ),
        ("The other one is a café called Blue Door.", ["Blue Door is a café"]),
        (
            "I have a friend called Berta. She plays the tuba.",
            ["The user has a friend called Berta", "The user's friend called Berta plays the tuba"],
        ),
    ],
)
def test_what_is_called_so_is_told_of_by_its_name(content: str, told: list[str]) -> None:
    assert texts(content) == told


@pytest.mark.parametrize(
    "content",
    ["The last one is a joke called life.", "The other one is called Max.", "The best one isn't a place called Home."],
)
def test_nothing_is_made_of_what_has_no_name(content: str) -> None:
    assert texts(content) == []


@pytest.mark.parametrize(
    "content",
    [
        "Zora found a used one for 90 euros in Kiel.",
        "I'm switching to another one, Herr Lamm.",
        "The ten days are over.",
        "Colour, not Color.",
        "My knee is killing me, Dr Lamm.",
        "I can't lift the crates until then.",
        "On 3 May we play at her party in Kiel.",
    ],
)
def test_what_points_at_nothing_in_the_sentence_is_not_learned(content: str) -> None:
    assert texts(content) == []


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        (
            ["My aunt Petra turns sixty on 4 May, and we play at her party."],
            "The user and others play at the user's aunt Petra's party",
        ),
        (
            ["My cousin Olaf works in Kiel.", "We took on a trainee, she's called Birte."],
            "The user's trainee is called Birte",
        ),
        (["My boss is Ida Holm.", "She works in Graz."], "Ida Holm works in Graz"),
        (["The depot is called Nordlager, our contact there is Frau Lamm."], "Nordlager, the user's contact there is"),
        (["I bought a one-way ticket to Kiel for 3 May."], "a one-way ticket to Kiel"),
        (["My brother moved his shop to Kiel in March."], "The user's brother moved his shop to Kiel"),
    ],
)
def test_whom_a_pronoun_means_is_named(turns: list[str], told: str) -> None:
    assert any(told in text for text in texts(*turns)), texts(*turns)
    assert not [text for text in texts(*turns) if "Olaf is called" in text]


@pytest.mark.parametrize(
    "turns",
    [
        ["My sister Mia lives in Graz.", "I met Tom in Rome.", "He works at Bosch."],
        ["My aunt is 84.", "My uncle Yann is ill.", "I'm visiting her on Sunday in Graz."],
        ["My boss is Ida Holm.", "I called the landlord.", "I have to pay him by Friday."],
        ["Mia visited Tom in Rome.", "He works at Bosch."],
        ["I met Tom and Ida in Rome.", "She works at Bosch."],
        ["Our landlady lives in Kiel.", "He works at Bosch."],
    ],
)
def test_pronoun_that_may_mean_somebody_else_means_nobody(turns: list[str]) -> None:
    said = " ".join(texts(*turns))
    assert "Bosch" not in said
    assert "Friday" not in said
    assert "Sunday" not in said


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        (["I met Tom in Rome.", "He works at Bosch."], "Tom works at Bosch"),
        (["My sister visited Tom in Rome.", "She works at Bosch."], "The user's sister works at Bosch"),
        (["My sister Mia lives in Graz.", "I showed her Berlin.", "She loves museums."], "sister Mia loves museums"),
        (["Tom is my brother.", "He lives in Kiel."], "Tom lives in Kiel"),
        (["Pilar comes from Bilbao.", "She doesn't eat fish."], "Pilar doesn't eat fish"),
        (["My sister's husband is a vet.", "He plays the tuba."], "The user's sister's husband plays the tuba"),
        (["My dog Rex is ill.", "I have to take him to Kiel on Friday."], "take the user's dog Rex to Kiel on Friday"),
    ],
)
def test_pronoun_that_can_only_mean_one_is_resolved(turns: list[str], told: str) -> None:
    assert any(told in text for text in texts(*turns)), texts(*turns)
