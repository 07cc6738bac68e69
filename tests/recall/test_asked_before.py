"""A question that was asked before never stands before, or in the place of, what tells something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memfolio import Hits, Memory
from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.recall.hit import asks, states_nothing
from memfolio.vault.vault import Vault

START = datetime(2026, 5, 4, 9, tzinfo=UTC)
OTHERS = ("Dana likes long walks", "The heating was repaired in May", "Kim plays the cello")


@dataclass(frozen=True)
class Home:
    """What is remembered, what is asked, how that was asked before, and whether words alone find the answer."""

    answer: str
    question: str
    asked: Sequence[str]
    others: Sequence[str] = OTHERS
    by_words: bool = True


HOMES = {
    "by meaning alone": Home(
        "Alex prefers tea over coffee",
        "Which hot beverage should I serve?",
        ["Which hot beverage should I serve?"],
        by_words=False,
    ),
    "three times": Home(
        "Alex prefers tea over coffee",
        "Which hot beverage should I serve Alex?",
        ["Which hot beverage should I serve Alex?"] * 2 + ["Which beverage should I serve Alex then?"],
    ),
    "nothing else": Home("I drink oolong tea every morning", "What do I drink?", ["What do I drink?"] * 5, others=()),
    "other wording": Home(
        "The WiFi password of the cabin is on the fridge",
        "Where is the WiFi password?",
        ["Where can I find the WiFi password?", "Where is the password of the WiFi?", "WiFi password?"],
    ),
    "no question mark": Home(
        "The train to Porto leaves at 8:15",
        "when does the train to Porto leave",
        ["when does the train to Porto leave", "tell me when the train to Porto leaves"],
    ),
    "every word in most memories": Home(
        "The deploy runs every Friday at noon",
        "When does the deploy run?",
        ["When does the deploy run?"] * 5,
        others=("The deploy failed in March", "The deploy was fixed in April"),
    ),
    "as a request": Home(
        "The WiFi password of the cabin is on the fridge",
        "Where is the WiFi password?",
        [
            "remind me where the WiFi password is",
            "Please look up the WiFi password",
            "I was wondering where the WiFi password is.",
            "I don't know where the WiFi password is.",
            "Any idea where the WiFi password is",
            "WiFi password please",
        ],
    ),
    "in more than one sentence": Home(
        "Alex likes to drink oolong with milk",
        "What does Alex like to drink?",
        [
            "Hi! What does Alex like to drink?",
            "We talked about what Alex likes to drink. What was it?",
            "Quick question. Do you know what Alex likes to drink?",
        ],
    ),
    "German requests": Home(
        "Der Schlüssel zum Keller hängt hinter der Tür",
        "Wo ist der Schlüssel zum Keller?",
        ["Sag mir, wo der Schlüssel zum Keller ist", "Ich suche den Schlüssel zum Keller. Wo ist er?"],
    ),
    "German": Home(
        "Der Drucker steht im Keller neben dem Regal",
        "Wo steht der Drucker?",
        ["Wo steht der Drucker?", "Wo steht denn der Drucker?", "Wo ist der Drucker"],
    ),
    "German, other words": Home(
        "Alex trinkt am liebsten Tee",
        "Was soll ich Alex zu trinken servieren?",
        ["Was soll ich Alex servieren?", "Was soll ich Alex heute zu trinken servieren?"],
        others=("Der Drucker steht im Keller", "Kim spielt Cello"),
    ),
}


def opened(path: Path, home: Home, *, asked: bool) -> Memory:
    clock = SettableClock(START)
    memory = Memory.open(path, clock=clock, background=False)
    for text in (home.answer, *home.others):
        memory.remember(text)
        clock.advance(minutes=1)
    for number, text in enumerate(home.asked if asked else ()):
        memory.observe("user", text, session=f"s-{number}")
        clock.advance(hours=1)
    return memory


def contents(hits: Hits) -> list[str]:
    return [hit.memory.content for hit in hits]


@pytest.mark.parametrize("embedder", ["local", "none"])
@pytest.mark.parametrize("name", HOMES)
def test_answers_stand_as_if_the_question_had_never_been_asked(
    tmp_path: Path, name: str, embedder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = HOMES[name]
    if embedder == "none":
        monkeypatch.setenv("MEMFOLIO_EMBEDDING_PROVIDER", "none")
    with opened(tmp_path / "new", home, asked=False) as memory:
        before = contents(memory.recall(home.question))
    with opened(tmp_path / "asked", home, asked=True) as memory:
        found = contents(memory.recall(home.question))
        told = memory.context(home.question) or ""
    assert found[: len(before)] == before
    assert set(found[len(before) :]) <= set(home.asked)
    if embedder != "none" or home.by_words:
        assert home.answer in before
    if before:
        assert before[0] == home.answer or name == "by meaning alone"
    assert not any(question in told for question in home.asked)


@pytest.mark.parametrize("name", ["as a request", "in more than one sentence", "German requests"])
def test_answer_stands_before_its_askings_among_many_memories(home: Path, name: str) -> None:
    tried = HOMES[name]
    with opened(home, tried, asked=True) as memory:
        pumps = (f"On day {day} the pump in hall {day % 7} ran for {day % 11} hours" for day in range(250))
        memory.observe_many({"role": "user", "content": text, "session": "pumps"} for text in pumps)
        memory.sync(embed=True)
        assert contents(memory.recall(tried.question))[0] == tried.answer
        told = memory.context(tried.question) or ""
        assert tried.answer in told
        assert not any(question in told for question in tried.asked)


def test_request_that_tells_something_is_no_question_asked_before(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.observe("user", "Please remember that Alex drinks oolong", session="s-1")
        memory.observe("user", "I forgot to say that I need decaf. What does Alex drink?", session="s-2")
        hits = memory.recall("What does Alex drink?")
        assert contents(hits)[0] == "Please remember that Alex drinks oolong"
        assert not any(hit.only_asks for hit in hits)


def test_many_askings_do_not_crowd_out_the_answer(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.remember("The next release is called Walrus")
        memory.observe_many(
            {"role": "user", "content": "What is the next release?", "session": f"s-{number}"} for number in range(400)
        )
        assert memory.recall("What is the next release?", limit=3)[0].memory.content.endswith("Walrus")


def test_question_that_tells_something_is_no_question_asked_before(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.remember("I ran out of oolong. Which tea should I buy in Porto?")
        memory.observe("user", "Which tea should I buy?", session="s-1")
        hits = memory.recall("Which tea should I buy?")
        assert contents(hits)[0].startswith("I ran out of oolong")
        assert [any(why.strategy == "echo" for why in hit.why) for hit in hits] == [False, True]


def test_question_alone_is_found_where_nothing_else_is(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.observe("user", "Which tea should I buy?", session="s-1")
        assert contents(memory.recall("Which tea should I buy?")) == ["Which tea should I buy?"]
        assert memory.context("Which tea should I buy then?") is None


def test_without_the_weight_questions_count_like_everything_else(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.remember("I drink oolong tea every morning")
        memory.observe("user", "What do I drink?", session="s-1", at=START + timedelta(days=1))
    config = load_config(home)
    config = replace(config, recall=replace(config.recall, echo=0.0))
    with Memory(Vault.open(config=config), "main", background=False) as memory:
        assert contents(memory.recall("What do I drink?"))[0] == "What do I drink?"


def test_question_that_a_note_leaves_open_is_no_question_asked_before(home: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "Atlas.md").write_text(
        "# Atlas\n\n- Open: who writes the customer mail?\n- The server is in Oslo, in a cellar that stays dry.\n"
    )
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(notes)
        memory.observe("user", "Who writes the customer mail?", session="s")
        hits = memory.recall("Who writes the customer mail?")
        assert hits[0].memory.content == "Open: who writes the customer mail?"
        assert [hit.memory.content for hit in hits if hit.only_asks] == ["Who writes the customer mail?"]
        assert "Open: who writes" in (memory.context("Who writes the customer mail?") or "")


PROMPTS = [
    "Why didn't we go with Debezium?",
    "why did we not use debezium",
    "Debezium",
    "did we use debezium at all",
    "forget about debezium",
]


def test_prompts_without_a_question_mark_never_stand_before_what_tells(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        told = memory.remember("Logical replication with Debezium was rejected: too many moving parts").id
        for text in (*OTHERS, *(f"The shed number {number} was painted" for number in range(20))):
            memory.remember(text)
        for number, prompt in enumerate(PROMPTS):
            memory.observe("user", prompt, session=f"s-{number}")
        memory.sync(embed=True)
        for prompt in PROMPTS[:4]:
            assert memory.recall(prompt)[0].memory.id == told
            assert "moving parts" in (memory.context(f"{prompt}?") or "")


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [
        ("what is the address of the printer", True),
        ("hey, did Kim call back", True),
        ("was ist mit meiner Heizung", True),
        ("is there any milk left", True),
        ("What a day!", False),
        ("what we need is a longer ladder", False),
        ("When we were in Rome, it rained", False),
        ("Is it? No. It was closed.", False),
        ("I like tea", False),
    ],
)
def test_short_text_that_begins_like_a_question_asks(text: str, is_asked: bool) -> None:
    assert asks(text) is is_asked


NOTES = {
    "Oma Hilde.md": "---\naliases: [grandmother]\n---\nLikes crime novels with large print and marzipan from Lübeck.\n",
    "Lisbon.md": "Restaurants: O Velho Eurico, Taberna Sal Grosso. Liked O Velho Eurico best (the pork cheeks).\n",
    "Bikes.md": "Tyres of the cargo bike: 4.5 bar. New brake pads at Radwerk in August.\n",
    "Dal.md": "250 g red lentils, coconut milk, cumin, turmeric. Freezes well.\n",
}
PRESENT, RESTAURANT = "Which present would my grandmother like?", "Which restaurant did I like best in Lisbon?"


@pytest.fixture
def noted(home: Path, tmp_path: Path) -> Iterator[Memory]:
    """A home with notes, in which whoever asks is somebody known to nobody."""
    (tmp_path / "notes").mkdir()
    for name, text in NOTES.items():
        (tmp_path / "notes" / name).write_text(text, encoding="utf-8")
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(tmp_path / "notes")
        memory.sync(embed=True)
        yield memory


@pytest.mark.parametrize("later", [(RESTAURANT,), ("I went for a walk today.",), (RESTAURANT, "When is the next bus?")])
def test_what_was_said_after_an_open_question_is_not_taken_for_its_answer(noted: Memory, later: Sequence[str]) -> None:
    before = contents(noted.recall(PRESENT))
    for text in (PRESENT, *later):
        noted.observe("user", text, session="s-1")
    found = noted.recall(PRESENT)
    assert found.fits
    assert found[0].memory.content == before[0]
    assert {PRESENT, RESTAURANT}.isdisjoint(contents(found)[: len(before)])
    assert "marzipan" in (noted.context(PRESENT) or "")


def test_answer_of_an_agent_to_a_question_asked_before_is_found_by_it(noted: Memory) -> None:
    noted.observe("user", "Where did we put the ladder?", session="s-1")
    noted.observe("assistant", "Behind the shed, next to the compost.", session="s-1")
    noted.observe("user", "Thanks, and which restaurant did I like best?", session="s-1")
    assert contents(noted.recall("Where did we put the ladder?"))[0] == "Behind the shed, next to the compost."


ASKING = (
    "Tell me about the cargo bike",
    "Can you look up the brake pads of the cargo bike.",
    "Hi! How is my cargo bike?",
    "Which cargo bike fits a family of three?",
)
STATING = (
    "Our new cargo bike is yellow! Can you note that?",
    "Can you tell me which tyres fit the cargo bike I bought in May?",
    "Since my wife Anna rides the cargo bike, which saddle is best?",
)


@pytest.mark.parametrize("said", [*ASKING, *STATING])
def test_context_tells_of_prompts_only_what_states_something(noted: Memory, said: str) -> None:
    noted.observe("user", said, session="s-1")
    noted.observe("assistant", "Here is what your notes say.", session="s-1")
    assert (said in (noted.context("Is the bike insured?") or "")) is (said in STATING)
    assert states_nothing(said) is (said in ASKING)


@pytest.mark.parametrize(
    ("said", "is_asking"),
    [
        ("Hey, what is the wifi password?", True),
        ("In Lisbon, which restaurant did I like best?", True),
        ("Could you also check the boiler pressure, thanks", True),
        ("Wann hat Oma Geburtstag, und was mag sie?", True),
        ("Erzähl mir vom Lastenrad", True),
        ("The staging database is heron, right?", False),
        ("Grandma turned 88, which present would she like?", False),
        ("Which present would my grandmother, who is 88, like?", False),
        ("Tell me what to cook, I am vegan", False),
        ("Design is done", False),
        ("Thanks!", False),
    ],
)
def test_what_only_asks_states_nothing(said: str, is_asking: bool) -> None:
    assert states_nothing(said) is is_asking
