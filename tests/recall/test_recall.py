"""Recall through the verbs: what is found by words, by meaning, by company and by cue."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memfolio import Hits, Memory

START = datetime(2026, 5, 4, 9, tzinfo=UTC)


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with Memory.open(home, background=False) as memory:
        yield memory


def talk(memory: Memory, session: str, *lines: tuple[str, str], start: datetime = START) -> None:
    memory.observe_many(
        {"role": role, "content": content, "session": session, "at": start + timedelta(minutes=number)}
        for number, (role, content) in enumerate(lines)
    )


def strategies(hits: Hits, content: str) -> set[str]:
    return {reason.strategy for hit in hits if hit.memory.content == content for reason in hit.why}


def test_answer_that_shares_no_word_is_found_beside_the_question_that_does(memory: Memory) -> None:
    talk(memory, "s-1", ("Mel", "Which instrument does Yara play?"), ("Kim", "Oh, the big one with four strings."))
    talk(memory, "s-2", ("Mel", "I painted the fence."), ("Kim", "Nice and dry today."))
    hits = memory.recall("What instrument does Yara play?", limit=2)
    assert [hit.memory.session for hit in hits] == ["s-1", "s-1"]
    assert "text" in strategies(hits, "Oh, the big one with four strings.")


def test_question_that_was_asked_before_does_not_stand_before_its_answer(memory: Memory) -> None:
    talk(memory, "s-1", ("user", "I drink oolong tea every morning"))
    talk(memory, "s-2", ("user", "What do I drink?"), start=START + timedelta(days=1))
    hits = memory.recall("What do I drink?")
    assert [hit.memory.session for hit in hits] == ["s-1", "s-2"]
    assert "echo" in strategies(hits, "What do I drink?")
    talk(memory, "s-3", ("user", "Who is my manager?"), ("user", "What is my job?"), ("user", "My manager is Luis."))
    assert memory.recall("manager")[0].memory.content == "My manager is Luis."
    assert "What is my job?" not in [hit.memory.content for hit in memory.recall("manager")[:2]]
    assert memory.recall("I drink oolong tea every morning")[0].memory.session == "s-1"


def test_turn_of_the_named_speaker_comes_first(memory: Memory) -> None:
    talk(memory, "s-1", ("Mel", "I adopted a puppy"), ("Kim", "I adopted a puppy too"))
    assert memory.recall("What did Kim adopt?")[0].memory.role == "Kim"
    assert memory.recall("What did Mel adopt?")[0].memory.role == "Mel"


def test_turn_that_tells_of_the_named_speaker_comes_before_their_reactions(memory: Memory) -> None:
    mine, reaction = "I planted roses in my garden last week", "Wow, garden roses"
    talk(memory, "s-1", ("Kim", reaction), ("Mel", "Yes, it is lovely"), ("Kim", mine))
    talk(memory, "s-2", ("Mel", mine), ("Kim", "Yes, it is lovely"), ("Mel", reaction))
    for name in ("Kim", "Mel"):
        found = [
            hit.memory.content
            for hit in memory.recall(f"Which garden roses does {name} have?")
            if hit.memory.role == name
        ]
        assert found.index(mine) < found.index(reaction)


def test_turn_of_who_tells_comes_before_that_of_who_is_told(memory: Memory) -> None:
    talk(memory, "s-1", ("Kim", "Rest your knee and swim"), ("Mel", "Swim, and rest your knee"))
    assert memory.recall("What did Kim advise Mel about the knee?")[0].memory.role == "Kim"
    assert memory.recall("What did Mel advise Kim about the knee?")[0].memory.role == "Mel"


def test_what_happened_at_the_named_time_is_found_without_a_common_word(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMFOLIO_EMBEDDING_PROVIDER", "none")
    with Memory.open(home, background=False) as memory:
        for month in (4, 5, 6):
            talk(memory, f"s-{month}", ("Kim", "Yesterday I went bowling"), start=START.replace(month=month, day=17))
            talk(memory, f"t-{month}", ("Kim", "A sport is what I need"), start=START.replace(month=month, day=2))
        for asked in ("What sport did Kim do on 16 May 2026?", "What sport did Kim do on May 17, 2026?"):
            hits = memory.recall(asked)
            found = [hit.memory.event_time for hit in hits if hit.memory.content == "Yesterday I went bowling"]
            assert [time.month for time in found if time] == [5]
        assert not strategies(memory.recall("What sport did Kim do?"), "Yesterday I went bowling")


def test_turn_of_the_named_month_comes_first(memory: Memory) -> None:
    for month in (5, 6, 7):
        talk(memory, f"s-{month}", ("user", "We went camping by the lake"), start=START.replace(month=month))
    hit = memory.recall("Where did we go camping in June?")[0]
    assert hit.memory.event_time is not None
    assert hit.memory.event_time.month == 6


def test_owners_words_come_before_the_assistants_unless_those_are_asked_for(memory: Memory) -> None:
    talk(memory, "s-1", ("user", "My budget for the kitchen is 9000"), ("assistant", "A budget for a kitchen is 9000"))
    assert memory.recall("kitchen budget")[0].memory.role == "user"
    assert memory.recall("What kitchen budget did you suggest?")[0].memory.role == "assistant"


def test_standing_wish_is_preferred(memory: Memory) -> None:
    talk(memory, "s-1", ("user", "The report about rivers is done"), ("user", "Always cite sources in a report"))
    assert memory.recall("report on rivers and sources")[0].memory.content.startswith("Always")


def test_neighbours_that_the_filter_stops_are_not_found(memory: Memory) -> None:
    talk(memory, "s-1", ("user", "the cello stands in the hall"), ("assistant", "noted"))
    memory.remember("a cello of one's own", type="fact")
    assert [hit.memory.content for hit in memory.recall("cello", types="fact")] == ["a cello of one's own"]


def test_forgotten_neighbour_is_not_found(memory: Memory) -> None:
    talk(memory, "s-1", ("user", "the cello stands in the hall"), ("user", "the code is 7788"))
    memory.forget("code 7788")
    assert all("7788" not in hit.memory.content for hit in memory.recall("cello", include=["archived", "superseded"]))


def test_order_within_a_session_survives_a_rebuild_where_times_are_equal(memory: Memory) -> None:
    turns = [{"role": "user", "content": f"turn {number}", "session": "s", "at": START} for number in range(9)]
    memory.observe_many(turns)
    before = [(hit.memory.id, hit.score) for hit in memory.recall("turn 4", limit=9)]
    memory.reindex()
    assert [(hit.memory.id, hit.score) for hit in memory.recall("turn 4", limit=9)] == before
    near = [hit.memory.content for hit in memory.recall("4", limit=7)]
    assert set(near) >= {"turn 3", "turn 4", "turn 5"}


@pytest.mark.parametrize(
    "text", ["", "   ", "the of and", "?!…", '"', "NEAR(", "a' OR 1=1 --", "x" * 100_000, "日本 text"]
)
def test_any_question_gets_an_answer(memory: Memory, text: str) -> None:
    memory.remember("tea")
    assert len(memory.recall(text)) <= 10


def test_question_without_words_gets_the_newest_first_also_among_shared_ones(memory: Memory, home: Path) -> None:
    for number in range(5):
        memory.remember(f"note {number}", at=START + timedelta(days=number))
    with Memory.open(home, "shared", background=False) as shared:
        shared.remember("shared note", at=START + timedelta(days=3, hours=1))
    found = [hit.memory.content for hit in memory.recall("", limit=3)]
    assert found == ["note 4", "shared note", "note 3"]


def test_shared_memories_are_ranked_among_the_agents_own(memory: Memory, home: Path) -> None:
    for text in ("apollo rocket launch at noon", "apollo rocket crew meets at seven", "apollo rocket fuel is loaded"):
        memory.remember(text)
    with Memory.open(home, "shared", background=False) as shared:
        for day in ("monday", "tuesday", "friday"):
            shared.remember(f"canteen menu for {day}: launch of the new soup")
    found = [hit.memory.content for hit in memory.recall("apollo rocket launch", limit=3)]
    assert all("apollo" in content for content in found)


def test_hints_do_not_make_something_fit_that_does_not(memory: Memory) -> None:
    tea = memory.remember("Alex prefers tea to coffee", type="preference", importance=0.8, tags=["drinks"])
    memory.remember("We chose PostgreSQL over MongoDB for billing", type="decision", importance=0.9)
    talk(memory, "s-1", ("user", "If in doubt call Priya, her private number is 555 0142"))
    assert memory.recall("Which hot beverage should I serve?")[0].memory.id == tea.id


def test_day_of_a_month_is_a_time_and_no_word(memory: Memory) -> None:
    memory.remember("node.js was upgraded from 18 to 22", at=START)
    then = memory.remember("The contract was signed", at=datetime(2026, 9, 18, 12, tzinfo=UTC))
    assert memory.recall("What happened on 18 September 2026?")[0].memory.id == then.id


def test_what_is_hidden_is_not_what_the_others_are_measured_against(memory: Memory) -> None:
    talk(memory, "s-1", ("user", "the train to Bergen was late"), ("tool", "When did the train to Oslo leave?"))
    hits = memory.recall("When did the train to Oslo leave?")
    assert [hit.memory.role for hit in hits] == ["user"]
    why = {reason.strategy: reason for reason in hits[0].why}
    assert why["text"].score == 1
    assert why["vector"].rank == 1
    assert why["vector"].score > 0.3


def test_words_of_a_speakers_name_stay_words_unless_the_whole_name_is_there(memory: Memory) -> None:
    talk(memory, "s-1", ("Invoice_bot", "hello"))
    late = memory.remember("the invoice is late")
    memory.remember("the parcel is late")
    assert memory.recall("invoice late")[0].memory.id == late.id


def test_mere_punctuation_asks_for_nothing_in_particular(memory: Memory) -> None:
    talk(memory, "s-1", ("user", "I adopted a puppy"), ("user", "It rains"))
    assert [hit.memory.content for hit in memory.recall("?!")] == ["It rains", "I adopted a puppy"]
