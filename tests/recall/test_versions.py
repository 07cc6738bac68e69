"""Memories in time: replaced versions lead to what replaced them, and what is out of sight stays there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.errors import InputError
from memfolio.vault.vault import OWNER


def test_words_of_a_replaced_version_find_what_replaced_it_with_the_chain(memory: Memory) -> None:
    memory.remember("The office plants are watered on Fridays")
    first = memory.remember("Sessions are kept in Redis")
    second = memory.correct(first.id, "Sessions are kept in Valkey")
    third = memory.correct(second.id, "Cookies are all there is")
    hits = memory.recall("Redis")
    assert hits[0].memory.id == third.id
    assert hits[0].replaced == (second.id, first.id)
    assert not {first.id, second.id} & {hit.memory.id for hit in hits}
    assert memory.recall("plants Fridays")[0].replaced == ()


def test_versions_come_themselves_when_they_are_asked_for(memory: Memory, clock: SettableClock) -> None:
    first = memory.remember("Sessions are kept in Redis")
    before = clock.now()
    clock.advance(hours=1)
    second = memory.correct(first.id, "Sessions are kept in Valkey")
    assert first.id in [hit.memory.id for hit in memory.recall("Redis", include="superseded")]
    assert [hit.memory.id for hit in memory.recall("sessions", as_of=before)] == [first.id]
    assert [hit.memory.id for hit in memory.recall("sessions")] == [second.id]


def test_forgotten_version_does_not_come_back_through_its_words(memory: Memory) -> None:
    first = memory.remember("Sessions are kept in Redis")
    second = memory.correct(first.id, "Sessions are kept in Valkey")
    memory.forget(second.id)
    assert not memory.recall("Redis sessions Valkey", include=["archived", "superseded", "dormant", "quarantined"])


def test_words_of_strangers_are_in_quarantine_until_they_are_confirmed(memory: Memory) -> None:
    strange = memory.observe("tool", "The wire transfer goes to account 7")
    assert strange.origin == "untrusted"
    for depth in (0, 2):
        assert not memory.recall("wire transfer", depth=depth, include=["archived", "superseded", "dormant"])
    assert memory.recall("wire transfer", include="quarantined")
    memory.confirm(strange.id, by=OWNER)
    assert [hit.memory.id for hit in memory.recall("wire transfer")] == [strange.id]


def test_fading_memory_ranks_lower_than_one_as_good(memory: Memory, clock: SettableClock) -> None:
    old = memory.observe("user", "The ferry to Naxos leaves at nine", session="s-1")
    clock.advance(days=20)
    fresh = memory.observe("user", "The ferry to Naxos leaves at ten", session="s-2")
    hits = memory.recall("ferry Naxos leaves")
    assert [(hit.memory.id, hit.phase) for hit in hits] == [(fresh.id, "active"), (old.id, "fading")]


def test_dormant_memory_shows_only_where_it_answers_nearly_as_well(memory: Memory, clock: SettableClock) -> None:
    old = memory.observe("user", "The ferry to Naxos leaves at nine")
    beside = memory.observe("user", "The ferry was late")
    clock.advance(days=60)
    assert memory.recall("ferry Naxos")[0].phase == "dormant"
    fresh = memory.remember("The ferry to Naxos leaves at ten")
    assert [hit.memory.id for hit in memory.recall("ferry Naxos")] == [fresh.id, old.id]
    assert beside.id in {hit.memory.id for hit in memory.recall("ferry Naxos", include="dormant")}


@pytest.mark.parametrize("keep", ["pin", "confirm"])
def test_what_is_pinned_or_confirmed_does_not_fade(memory: Memory, clock: SettableClock, keep: str) -> None:
    old = memory.observe("user", "The ferry to Naxos leaves at nine")
    getattr(memory, keep)(old.id)
    clock.advance(days=2000)
    assert [hit.phase for hit in memory.recall("ferry Naxos")] == ["active"]


def test_when_it_happened_does_not_make_it_fade(memory: Memory) -> None:
    memory.observe("user", "The ferry to Naxos leaves at nine", at=datetime(2019, 5, 1, tzinfo=UTC))
    assert [hit.phase for hit in memory.recall("ferry Naxos")] == ["active"]


def test_important_and_certain_memories_come_before_their_equals(memory: Memory) -> None:
    plain = memory.remember("The budget is nine thousand")
    weighty = memory.remember("The budget is ten thousand", importance=0.9)
    doubtful = memory.remember("The budget is six thousand", confidence=0.2)
    assert [hit.memory.id for hit in memory.recall("budget thousand")] == [weighty.id, plain.id, doubtful.id]


def test_times_may_be_words(memory: Memory, clock: SettableClock) -> None:
    past = memory.remember("We chose the blue logo", at=clock.now() - timedelta(days=8))
    today = memory.remember("We chose the green logo")
    assert [hit.memory.id for hit in memory.recall("logo", since="today")] == [today.id]
    assert [hit.memory.id for hit in memory.recall("logo", since="last_week", until="last_week")] == [past.id]
    with pytest.raises(InputError, match="since 'soonish' is not a time"):
        memory.recall("logo", since="soonish")


def test_filters_inside_the_question_count_unless_an_argument_says_otherwise(memory: Memory) -> None:
    chosen = memory.remember("We chose the blue logo", type="decision")
    seen = memory.remember("We saw the blue logo", type="event")
    assert [hit.memory.id for hit in memory.recall("blue logo type:decision")] == [chosen.id]
    assert [hit.memory.id for hit in memory.recall("blue logo type:decision", types="event")] == [seen.id]
    assert len(memory.recall("blue logo type:unknown")) == 2


def test_relative_cut_leaves_out_what_hardly_fits_but_nothing_with_a_word_of_the_question(memory: Memory) -> None:
    memory.remember("kiwi orchard harvest begins in autumn near Tauranga")
    poor = memory.remember("The harvest was poor, said the long report about everything else in the country")
    other = memory.remember("The printer is out of paper")
    found = [hit.memory.id for hit in memory.recall("kiwi orchard harvest Tauranga autumn")]
    assert poor.id in found
    assert other.id not in found


def test_newest_come_with_their_phase_and_what_they_replaced(memory: Memory, clock: SettableClock) -> None:
    memory.observe("user", "The ferry to Naxos leaves at nine")
    clock.advance(days=60)
    first = memory.remember("Sessions are kept in Redis")
    second = memory.correct(first.id, "Sessions are kept in Valkey")
    hits = memory.recall("")
    assert [(hit.memory.id, hit.replaced, hit.phase) for hit in hits[:1]] == [(second.id, (first.id,), "active")]
    assert hits[1].phase != "active"


def test_what_was_confirmed_later_was_not_known_then(memory: Memory, clock: SettableClock) -> None:
    strange = memory.observe("tool", "The wire transfer goes to account 7")
    clock.advance(hours=1)
    before = clock.now()
    clock.advance(hours=1)
    memory.confirm(strange.id, by=OWNER)
    assert not memory.recall("wire transfer", as_of=before)
    assert memory.recall("wire transfer", as_of=clock.now())


def test_what_is_no_longer_true_ranks_lower_unless_that_time_is_asked_for(memory: Memory, clock: SettableClock) -> None:
    then = clock.now() - timedelta(days=100)
    past = memory.remember("Kim lives in Oslo", type="fact", valid_until=clock.now() - timedelta(days=10))
    now = memory.remember("Kim lives in Rome", type="fact", valid_from=clock.now() - timedelta(days=10))
    assert [hit.memory.id for hit in memory.recall("Where does Kim live?")] == [now.id, past.id]
    assert [hit.memory.id for hit in memory.recall("Where does Kim live?", valid_at=then)] == [past.id]
