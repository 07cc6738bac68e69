"""Who is a person and what is an animal, what somebody is for others, and who took over what."""

from __future__ import annotations

import pytest

from memfolio.learn.learned import Turn
from memfolio.learn.rules import learn
from memfolio.types import Type


def texts(content: str) -> list[str]:
    return [each.text for each in learn([Turn(content=content)]).statements]


def types(content: str) -> dict[str, str]:
    return {each.name: each.type for each in learn([Turn(content=content)]).mentions}


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("Our whippet Juno sleeps upstairs.", "Juno"),
        ("My horse Falko needs new shoes.", "Falko"),
        ("We adopted a kitten named Pixel.", "Pixel"),
        ("My parrot is called Rio.", "Rio"),
        ("Our cat, Minerva, is on a diet.", "Minerva"),
        ("Our dog Bruno hates thunder.", "Bruno"),
        ("We adopted a puppy yesterday! Her name is Pepper.", "Pepper"),
    ],
)
def test_pet_is_an_animal(content: str, name: str) -> None:
    assert types(content)[name] == "animal"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("My sister Bella is allergic to cats.", "Bella"),
        ("I met Max at the dog park.", "Max"),
        ("I gave the dog Tom's old blanket.", "Tom"),
        ("Our colleague Hugo is back.", "Hugo"),
        ("My neighbour Clara has a dog.", "Clara"),
    ],
)
def test_who_is_only_spoken_of_beside_an_animal_is_a_person(content: str, name: str) -> None:
    assert types(content)[name] == "person"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("Wilfred Amsel is the new treasurer of the rowing club.", "Wilfred Amsel"),
        ("Professor Anneke Dahl will be my supervisor.", "Anneke Dahl"),
        ("Marisol Quint is on maternity leave until March.", "Marisol Quint"),
        ("Ingeborg Falk is taking over the loans.", "Ingeborg Falk"),
        ("Odalys Brandt has promised to fix the boiler by Friday.", "Odalys Brandt"),
    ],
)
def test_what_only_people_do_tells_who_is_a_person(content: str, name: str) -> None:
    assert types(content)[name] == "person"


@pytest.mark.parametrize(
    "content",
    [
        "The Cutty Sark is going to be closed until May.",
        "Heron Deluxe has moved to Kubernetes.",
        "Marsh Gallery has decided to close on Mondays.",
        "Notre Dame is going to be the first stop.",
        "Copper Kettle is known for its scones.",
    ],
)
def test_what_things_do_as_well_makes_no_person(content: str) -> None:
    assert "person" not in types(content).values()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("I'm the tower's treasurer.", "The user is the tower's treasurer"),
        ("Barnaby Quill is going to be the new treasurer.", "Barnaby Quill is going to be the new treasurer"),
        ("Philippa will be our captain.", "Philippa will be the user's captain"),
        (
            "Our accountant is leaving at the end of the year.",
            "The user's accountant is leaving at the end of the year",
        ),
        ("We've told the landlord that we're moving out in March.", "The user and others are moving out in March"),
        ("I have told Sabine that I won't renew the lease.", "The user won't renew the lease"),
    ],
)
def test_role_is_learned(content: str, text: str) -> None:
    assert texts(content) == [text]


@pytest.mark.parametrize(
    "content",
    [
        "She was the best teacher.",
        "Who is the new director?",
        "The lead is heavy.",
        "The builder was late.",
        "The head of the table is reserved.",
        "I've told everyone.",
        "I've told you that I'm tired.",
    ],
)
def test_nothing_is_learned_of_words_that_only_sound_like_a_role(content: str) -> None:
    assert texts(content) == []


def test_office_to_come_is_no_task() -> None:
    [statement] = learn([Turn(content="I'm going to be the treasurer of the choir from May.")]).statements
    assert statement.type is Type.FACT


def test_what_was_told_somebody_is_no_task() -> None:
    learned = learn([Turn(content="I've told Philippa that I'm leaving the choir at the end of the year.")])
    assert [(each.text, each.type) for each in learned.statements] == [
        ("The user is leaving the choir at the end of the year", Type.FACT)
    ]


@pytest.mark.parametrize(
    "content",
    [
        "I've been ringing bells for twelve years.",
        "My aunt has been keeping bees for over twenty years.",
        "Ulla has been chairing the board since 2015.",
        "I've been singing in the choir for nine years.",
        "My cat has been living with us for six years.",
    ],
)
def test_what_somebody_has_long_been_doing_is_learned(content: str) -> None:
    assert len(texts(content)) == 1


@pytest.mark.parametrize(
    "content",
    [
        "I've been trying to call for two years.",
        "I've been having doubts for years.",
        "We've been talking about it for two years.",
        "I've been waiting for two years.",
        "I've been looking for a flat since May.",
    ],
)
def test_what_somebody_only_tries_or_waits_for_is_not(content: str) -> None:
    assert texts(content) == []


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("What shall I cook for mum? She can't have cranberries because of her pills.", "The user's mum can't have"),
        ("Does Priya eat fish? She's allergic to crab.", "Priya is allergic to crab"),
        ("Very important, Wilf is coeliac.", "Wilf is coeliac"),
        ("One thing: Mabel is allergic to lupin, she can't eat falafel.", "Mabel can't eat falafel"),
        ("Tomas, my brother, is a diabetic.", "The user's brother Tomas is a diabetic"),
        ("Ottilie won't touch seafood.", "Ottilie won't touch seafood"),
        ("Patch died this afternoon.", "Patch died this afternoon"),
    ],
)
def test_what_concerns_somebody_is_learned_however_it_is_introduced(content: str, text: str) -> None:
    found = learn([Turn(content=content)]).statements
    assert any(each.text.startswith(text) for each in found), [each.text for each in found]


@pytest.mark.parametrize(
    "content",
    [
        "Can you write a note to Nora's new teacher? She's allergic to kiwi.",
        "Is Ann or Ben coming? She's allergic to kiwi.",
        "Mabel is a pear in the school play.",
        "Nora has been twice since June.",
        "Elias has a cold today.",
    ],
)
def test_what_leaves_open_who_or_what_is_meant_is_not(content: str) -> None:
    assert learn([Turn(content=content)]).statements == ()


def test_who_is_known_from_before_is_a_person() -> None:
    turn = Turn(content="Quill mustn't eat nuts. Will it do without Quill? She's allergic to eggs as well.")
    assert not any("allergic" in each.text for each in learn([turn]).statements)
    told = {each.text: each.subject for each in learn([turn], people=["Quill"]).statements}
    assert told["Quill is allergic to eggs as well"] == "Quill"


@pytest.mark.parametrize(
    "content",
    ["Callum is my boss now.", "My boss is Callum.", "My new boss is called Callum.", "Callum, my boss, is away."],
)
def test_who_holds_a_role_for_somebody_is_one_value_of_theirs(content: str) -> None:
    (found,) = [each for each in learn([Turn(content=content)]).statements if each.predicate == "boss"]
    assert (found.subject.casefold(), found.object, found.is_single) == ("the user", "Callum", True)
