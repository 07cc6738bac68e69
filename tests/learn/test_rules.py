"""What the rules make of single turns: what is kept and how it is worded, and what is never kept."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.learn.learned import ENTITY_TYPES, Learned, Statement, Turn
from memfolio.learn.rules import learn
from memfolio.types import Kind, Type
from tests.conftest import many

FACT, PREFERENCE, EVENT, TASK = Type.FACT, Type.PREFERENCE, Type.EVENT, Type.TASK


def said(content: str, speaker: str = "Alex") -> Learned:
    return learn([Turn(content=content, speaker=speaker)])


def only(content: str, speaker: str = "Alex") -> Statement:
    (statement,) = said(content, speaker).statements
    return statement


KEPT = [
    ("I live in Berlin.", "Alex lives in Berlin", FACT, "lives_in"),
    ("i live in Berlin", "Alex lives in Berlin", FACT, "lives_in"),
    ("I've lived in Oslo for twelve years.", "Alex has lived in Oslo for twelve years", FACT, "lives_in"),
    ("I moved to Rome in 2019.", "Alex moved to Rome in 2019", FACT, "lives_in"),
    ("I'm moving to Lisbon in May!", "Alex is moving to Lisbon in May", FACT, "moves_to"),
    ("By the way, I work at Bosch.", "Alex works at Bosch", FACT, "works_at"),
    ("I work as a nurse.", "Alex works as a nurse", FACT, "job"),
    ("I'm from Porto originally.", "Alex is from Porto originally", FACT, "is_from"),
    ("I was born in 1990.", "Alex was born in 1990", FACT, "born"),
    ("I'm 34 years old.", "Alex is 34 years old", FACT, "age"),
    ("I'm a data scientist.", "Alex is a data scientist", FACT, "is_a"),
    ("I'm vegetarian.", "Alex is vegetarian", FACT, "status"),
    ("I'm allergic to peanuts.", "Alex is allergic to peanuts", FACT, "allergic_to"),
    ("I have two kids.", "Alex has two kids", FACT, "has"),
    ("I've got a daughter.", "Alex has a daughter", FACT, "has"),
    ("I don't have any siblings.", "Alex doesn't have any siblings", FACT, "has"),
    ("My birthday is on 3 March.", "Alex's birthday is on 3 March", FACT, "birthday"),
    ("My time zone is CET.", "Alex's time zone is CET", FACT, "time_zone"),
    ("I study biology in Graz.", "Alex studies biology in Graz", FACT, "studies"),
    ("I speak German and a bit of Dutch.", "Alex speaks German and a bit of Dutch", FACT, "speaks"),
    (
        "I've been playing the cello since I was nine.",
        "Alex has been playing the cello since Alex was nine",
        FACT,
        "plays",
    ),
    ("I'm learning Spanish.", "Alex is learning Spanish", FACT, "learns"),
    ("I go to therapy every second Thursday.", "Alex goes to therapy every second Thursday", FACT, "goes_to"),
    ("I have an appointment on Tuesday.", "Alex has an appointment on Tuesday", FACT, "plans"),
    ("My daughter turns 6 in June.", "Alex's daughter turns 6 in June", FACT, "age"),
    ("My parents live in Porto.", "Alex's parents live in Porto", FACT, "lives_in"),
    ("Anna's husband works for Siemens.", "Anna's husband works for Siemens", FACT, "works_at"),
    ("The API runs on port 8080.", "The API runs on port 8080", FACT, "runs_on"),
    ("Our database is PostgreSQL.", "Alex's database is PostgreSQL", FACT, "is"),
    ("We deploy on Fridays.", "Alex's team deploy on Fridays", FACT, "does"),
    ("We're using FastAPI for the backend.", "Alex's team are using FastAPI for the backend", FACT, "uses"),
    ("Heron is licensed under Apache 2.0.", "Heron is licensed under Apache 2.0", FACT, "is"),
    ("Our office is in Berlin.", "Alex's office is in Berlin", FACT, "located_in"),
    ("I prefer tea to coffee.", "Alex prefers tea to coffee", PREFERENCE, "prefers"),
    ("I'd rather walk than drive.", "Alex would rather walk than drive", PREFERENCE, "prefers"),
    ("I lost my job last month.", "Alex lost Alex's job last month", EVENT, "did"),
    ("My sister also lives in Rome.", "Alex's sister also lives in Rome", FACT, "lives_in"),
    ("We moved from Jenkins to Drone.", "Alex and others moved from Jenkins to Drone", FACT, "switched"),
    ("I really love hiking.", "Alex really loves hiking", PREFERENCE, "likes"),
    ("I don't like cilantro.", "Alex doesn't like cilantro", PREFERENCE, "likes"),
    (
        "dont like cilantro? well, i hate it. I can't stand loud music",
        "Alex can't stand loud music",
        PREFERENCE,
        "dislikes",
    ),
    ("I'm not a fan of horror films.", "Alex is not a fan of horror films", PREFERENCE, "likes"),
    ("My favourite band is Radiohead.", "Alex's favourite band is Radiohead", PREFERENCE, "favourite_band"),
    ("Green is my favourite colour.", "Green is Alex's favourite colour", PREFERENCE, "favourite_colour"),
    ("Please always answer in German.", "Alex wants the assistant to always answer in German", PREFERENCE, "wants"),
    ("Don't use tabs.", "Alex wants the assistant not to use tabs", PREFERENCE, "wants"),
    ("Stop using emojis.", "Alex wants the assistant to stop using emojis", PREFERENCE, "wants"),
    ("I got promoted yesterday!", "Alex got promoted yesterday", EVENT, "got"),
    ("My wife and I adopted a dog.", "Alex's wife and Alex adopted a dog", EVENT, "got"),
    ("We decided to use Kafka.", "Alex's team decided to use Kafka", Type.DECISION, "decided"),
    ("Let's go with option B.", "Alex decided to go with option B", Type.DECISION, "decided"),
    ("To deploy, run make build, then push.", "To deploy, run make build, then push", Type.LESSON, "how_to"),
    ("I think tabs are overrated.", "Alex thinks that tabs are overrated", Type.OBSERVATION, "thinks"),
    ("Remind me to call Mia tomorrow.", "Alex wants to be reminded to call Mia tomorrow", TASK, "reminder"),
    ("I need to send the report by Friday.", "Alex needs to send the report by Friday", TASK, "has_to"),
    ("Remember that I don't eat pork.", "Alex doesn't eat pork", PREFERENCE, "eats"),
    (
        "Please remember that the staging password rotates every Friday.",
        "The staging password rotates every Friday",
        FACT,
        "habit",
    ),
    ("Actually Heron runs on port 9090.", "Heron runs on port 9090", FACT, "runs_on"),
    ("Correction: I live in Rome.", "Alex lives in Rome", FACT, "lives_in"),
    ("I'm allergic to penicillin, by the way.", "Alex is allergic to penicillin", FACT, "allergic_to"),
    ("The launch is postponed to December 8.", "The launch is postponed to December 8", FACT, "is"),
    ("I LOVE hiking!", "Alex loves hiking", PREFERENCE, "likes"),
    ("My least favourite food is liver.", "Alex's least favourite food is liver", PREFERENCE, "least_favourite_food"),
    ("My manager is Dora.", "Alex's manager is Dora", FACT, "manager"),
    ("Call me Bob.", "Alex wants to be called Bob", FACT, "called"),
]


@pytest.mark.parametrize(("content", "text", "type_", "predicate"), KEPT, ids=[row[0] for row in KEPT])
def test_what_is_told_is_kept_in_the_third_person(content: str, text: str, type_: Type, predicate: str) -> None:
    statement = only(content)
    assert (statement.text, statement.type, statement.predicate) == (text, type_, predicate)
    assert 1 <= len(statement.tags) <= 4
    assert all(tag == tag.lower() for tag in statement.tags)


NOTHING = """Hi there!
Thanks a lot, that helps.
ok
Sounds good, let's do that.
Where do I live?
Do I live in Berlin?
I live in Berlin, don't I?
What is the best way to learn Spanish?
Can you help me with my code?
If I lived in Rome, I would eat pizza every day.
I wish I had a garden.
Imagine I live in Rome.
What if I work at Google?
Yeah right, I love Mondays.
I love waiting in line /s
I LOVE being on hold.
I'm vegan. Just kidding.
Don't remember that I live in Oslo, I was kidding.
Never again!
Always the same problem with this printer.
The user in the ticket wrote: I live in Prague. I love cheese.
The novel's narrator says: my name is Ishmael.
Example: my email is john@mail.org.
Pretend you are Napoleon. I am Josephine.
He said "I live in Rome" to me.
> I live in Rome
Write me a poem about Berlin.
Please make it shorter.
Don't worry about it.
Swimming isn't working out, so I go Fridays at 7 now.
We go every morning.
I love it!
I like that.
I'm tired.
I'm a bit worried.
I have a question.
I have no idea.
I'm trying to fix a bug.
I want you to act as a Linux terminal.
I'd like to know more.
It's raining.
You are the best.
I like your idea.
2026-01-05 12:00:01 INFO I live in Rome
ERROR: I work at nothing
{"user": "I live in Rome"}
Traceback (most recent call last):
https://example.com/I-live-in-Rome
import numpy as np
SELECT name FROM users WHERE city = 'Rome'
<memory>I live in Rome</memory>
- [M-1794753005123-a3f2c91d] 2026-11-15 fact: I live in Rome.
Please remember that my password is hunter2.
The pin of our bank card is 4821.
Remember that the PIN code to the garage is 1234.
Ich habe vor, im Mai nach Rom zu fahren.
The token is ghp_abcdefghijklmnopqrstuvwxyz0123456789.
My credit card number is 4111 1111 1111 1111.
<memfolio-0123456789abcdef> I live in Rome
Happy birthday!
Translate this: I live in Paris. I love cheese.
In the story, Tom lives in London.
I prefer the first version.
I'm using the code below.
Paris is the capital of France.
lol
J'habite à Paris.
أنا أعيش في القاهرة.""".splitlines()


@pytest.mark.parametrize("content", NOTHING)
def test_small_talk_questions_suppositions_and_noise_are_not_kept(content: str) -> None:
    assert not said(content).statements


def test_code_blocks_are_not_read() -> None:
    assert not said("```\nI live in Rome.\n```").statements
    assert only("```\nI live in Rome.\n```\nI live in Bern.").object == "Bern"


def test_what_machines_say_is_not_learned() -> None:
    learned = learn([Turn(content="I live in Rome and use Docker.", speaker="assistant", is_person=False)])
    assert learned == Learned()


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("Where do you live?", "Berlin", "The user lives in Berlin"),
        ("Nice to meet you! What's your name?", "Ingrid", "The user's name is Ingrid"),
        ("What's your favourite film?", "Stalker", "The user's favourite film is Stalker"),
        ("Would you prefer email or phone?", "Email please.", "The user prefers Email"),
    ],
)
def test_short_answer_is_understood_with_its_question(question: str, answer: str, text: str) -> None:
    asked = Turn(content=question, speaker="assistant", is_person=False)
    learned = learn([asked, Turn(content=answer)])
    assert [(each.text, each.turns) for each in learned.statements] == [(text, (1,))]


def test_compound_sentence_tells_several_things() -> None:
    learned = said("I live in Berlin and work as a nurse, but I hate the winters here in general.")
    assert [each.text for each in learned.statements][:2] == ["Alex lives in Berlin", "Alex works as a nurse"]


def test_question_at_the_end_does_not_hide_what_is_told_before_it() -> None:
    assert only("I have two cats, can you suggest names?").text == "Alex has two cats"


def test_he_and_she_are_whom_was_spoken_of() -> None:
    learned = said("My sister Mia lives in Graz. She is a teacher.")
    assert [each.text for each in learned.statements] == [
        "Alex's sister Mia lives in Graz",
        "Alex's sister Mia is a teacher",
    ]
    assert learned.statements[1].confidence < learned.statements[0].confidence


def test_only_one_home_can_be_true_but_many_likes() -> None:
    assert only("I live in Berlin.").is_single
    assert only("My favourite tea is Assam.").is_single
    assert not only("I like tea.").is_single


@pytest.mark.parametrize(
    "content",
    [
        "I don't live in Berlin.",
        "I moved to Berlin when I was ten.",
        "I'm moving to Rome next year.",
        "I also work at a bakery.",
        "I'm Batman.",
        "My old laptop was a Dell.",
        "My name is mud after that deploy.",
        "The meeting is on Tuesday.",
        "The meeting is Friday.",
    ],
)
def test_what_is_not_so_now_replaces_nothing(content: str) -> None:
    assert not only(content).is_single


@pytest.mark.parametrize(
    ("content", "about"),
    [
        ("I moved from Paris to Rome.", ("Alex", "lives_in", "Rome")),
        ("My sister Anna lives in Rome.", ("Anna", "lives_in", "Rome")),
        ("My manager is Dora.", ("Alex", "manager", "Dora")),
        ("Dora is my manager.", ("Alex", "manager", "Dora")),
        ("Dora is my wife.", ("Alex", "married_to", "Dora")),
        ("My birthday is May 3.", ("Alex", "birthday", "May 3")),
        ("My birthday is on May 3.", ("Alex", "birthday", "May 3")),
    ],
)
def test_what_is_so_now_is_about_whom_it_is_true_of(content: str, about: tuple[str, str, str]) -> None:
    statement = only(content)
    assert (statement.subject, statement.predicate, statement.object) == about
    assert statement.is_single


def test_who_stands_beside_somebody_in_a_list_is_not_that_one() -> None:
    assert not said("My girlfriend, Toby and I are going camping.").relations
    assert said("My girlfriend, Toby, called.").relations


def test_a_name_that_begins_like_a_place_is_no_hindrance() -> None:
    assert only("I live in Bonn.", "Bo").text == "Bo lives in Bonn"


def test_what_is_denied_is_marked() -> None:
    assert only("I don't like cilantro.").negated
    assert not only("I like cilantro.").negated
    assert not only("I can't stand cilantro.").negated


def test_doubt_lowers_confidence() -> None:
    assert only("I probably prefer tea.").confidence < only("I prefer tea.").confidence


def test_what_is_to_be_remembered_is_important() -> None:
    assert only("Please remember that I like tea.").importance == 0.8
    assert only("I like tea.").importance == 0.6


def test_subject_and_object_are_told_apart() -> None:
    for content in ("My favourite tea is Assam.", "Assam is my favourite tea."):
        statement = only(content)
        assert (statement.subject, statement.predicate, statement.object) == ("Alex", "favourite_tea", "Assam")
    statement = only("I live in Berlin with two cats, since 2010.")
    assert (statement.subject, statement.object) == ("Alex", "Berlin with two cats")


def test_opinions_and_procedures_are_of_their_kind() -> None:
    assert only("I think tabs are overrated.").kind is Kind.OPINION
    assert only("First run the tests, then push the tag.").kind is Kind.PROCEDURAL


def test_orders_are_kept_only_where_an_assistant_is_meant() -> None:
    assert only("Never use tabs.").type is PREFERENCE
    both = learn(
        [Turn(content="Always trust yourself.", speaker="Mia"), Turn(content="Never use tabs.", speaker="Leo")]
    )
    assert not both.statements


def test_the_same_statement_is_kept_once_with_all_its_turns() -> None:
    turn = Turn(content="I like tea.", speaker="Alex")
    (statement,) = learn([turn, turn]).statements
    assert statement.turns == (0, 1)


@pytest.mark.parametrize(
    ("content", "name", "type_"),
    [
        ("I live in Berlin.", "Berlin", "place"),
        ("I work at Zentralwerk GmbH.", "Zentralwerk GmbH", "organization"),
        ("We store it in postgres.", "Postgres", "tool"),
        ("We run on Kubernetes.", "Kubernetes", "tool"),
        ("I'm building Project Heron.", "Heron", "project"),
        ("Ask Mr. Tanaka about it.", "Tanaka", "person"),
        ("My sister Mia called.", "Mia", "person"),
        ("Yesterday I met Priya.", "Priya", "person"),
        ("Zdena works at a bank.", "Zdena", "person"),
        ("My wife is not Julia.", "Julia", "person"),
        ("We wrote it in Julia.", "Julia", "tool"),
        ("I work at Acme and I like jazz.", "Acme", "organization"),
        ("The launch of Heron is on Friday.", "Heron", "project"),
        ("Regarding Project Phoenix, we launch in May.", "Phoenix", "project"),
        ("Unfortunately Siemens rejected me.", "Siemens", "organization"),
    ],
)
def test_names_are_found_with_their_type(content: str, name: str, type_: str) -> None:
    assert (name, type_) in [(each.name, each.type) for each in said(content).mentions]


@pytest.mark.parametrize(
    "content",
    [
        "On Monday we met.",
        "In May I rest.",
        "I speak German.",
        "Thanks! Great. Hello.",
        "Music is my passion.",
        "Coffee is life. Money is tight. Legal said no.",
        "Everyone is here. Mine is red. Someone called.",
        "Honestly Coffee is great.",
    ],
)
def test_days_months_languages_and_sentence_starts_are_no_names(content: str) -> None:
    assert [each.name for each in said(content).mentions] == ["Alex"]


@pytest.mark.parametrize(
    ("content", "name", "alias"),
    [
        ("I met Robert (Bob) there.", "Robert", "Bob"),
        ("We use PostgreSQL, or Postgres for short.", "PostgreSQL", "Postgres"),
        ("My sister Anna called.", "Anna", "Alex's sister"),
    ],
)
def test_other_names_are_kept_with_the_name(content: str, name: str, alias: str) -> None:
    (mention,) = [each for each in said(content).mentions if each.name == name]
    assert alias in mention.aliases


@pytest.mark.parametrize(
    ("content", "relation"),
    [
        ("I live in Berlin.", ("Alex", "lives-in", "Berlin")),
        ("I work at Bosch.", ("Alex", "works-at", "Bosch")),
        ("My wife Hannah called.", ("Alex", "married-to", "Hannah")),
        ("I live with my wife Hannah, and I like tea.", ("Alex", "married-to", "Hannah")),
        ("My son Leo plays chess.", ("Alex", "parent-of", "Leo")),
        ("My mother Maria called.", ("Maria", "parent-of", "Alex")),
        ("Tom is my friend.", ("Alex", "friend-of", "Tom")),
        ("I prefer Rust.", ("Alex", "prefers", "Rust")),
        ("I work on the frontend in TypeScript.", ("Alex", "uses", "TypeScript")),
        ("I hate Jenkins.", ("Alex", "avoids", "Jenkins")),
        ("I don't use Docker.", ("Alex", "avoids", "Docker")),
        ("I can't stand Jenkins.", ("Alex", "avoids", "Jenkins")),
    ],
)
def test_the_mentioned_are_related(content: str, relation: tuple[str, str, str]) -> None:
    assert relation in [(each.subject, each.predicate, each.object) for each in said(content).relations]


@pytest.mark.parametrize(
    ("content", "relation"),
    [
        ("I prefer Playwright to Cypress.", ("prefers", "Playwright")),
        ("I switched from Jenkins to Docker.", ("uses", "Docker")),
    ],
)
def test_what_is_preferred_less_or_left_is_not_related(content: str, relation: tuple[str, str]) -> None:
    assert [(each.predicate, each.object) for each in said(content).relations] == [relation]


def test_causes_are_guessed_between_turns() -> None:
    learned = learn([Turn(content="I upgraded the driver last night."), Turn(content="That broke the build, sadly.")])
    assert [(each.cause, each.effect) for each in learned.causes] == [(0, 1)]
    learned = learn([Turn(content="The build has been red all day."), Turn(content="Because the disk was full.")])
    assert [(each.cause, each.effect) for each in learned.causes] == [(1, 0)]
    assert all(each.confidence <= 0.7 for each in learned.causes)


PIECES = st.sampled_from(
    [
        "I ",
        "my wife ",
        "Anna ",
        "and ",
        "is ",
        "live in ",
        "'s ",
        ", ",
        ". ",
        "\n",
        "```",
        "<memory>",
        '"',
        "I'm ",
        "?",
        "(",
    ]
)


@many(150)
@given(st.lists(st.one_of(st.text(max_size=30), st.lists(PIECES, max_size=20).map("".join)), max_size=5))
def test_any_text_is_read_without_error_and_always_alike(contents: list[str]) -> None:
    turns = [Turn(content=content, speaker=content[:10]) for content in contents]
    learned = learn(turns)
    assert learned == learn(turns)
    assert all(each.type in ENTITY_TYPES for each in learned.mentions)
    assert all(0 <= place < len(turns) for each in learned.statements for place in each.turns)
    assert all(0 < each.confidence <= 1 and each.text.strip() for each in learned.statements)


@pytest.mark.parametrize(
    "piece",
    ["a", "I ", "I like tea. ", "Aa ", "my wife Anna ", "and I ", "(", "<memory>", "</", '" is ', ", ", "well, ", "`a",
     "I think that a is ", "Ab (Cd) ", "to aaa bbb, ", "first run , ", "whenever I ask ", "我", "🙂", "\x00", " ", "\n",
     "https://", "*a ", "א", "I like tea and "],
)  # fmt: skip
def test_long_text_is_read_quickly(piece: str) -> None:
    content = piece * (100_000 // len(piece))
    start = time.process_time()
    said(content)
    assert time.process_time() - start < 0.5
