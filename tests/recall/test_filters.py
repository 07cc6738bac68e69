"""Filters are exact to the millisecond, and decide before the limit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memfolio import InputError, Memory
from memfolio.clock import SettableClock
from memfolio.vault.vault import OWNER

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
TICK = timedelta(milliseconds=1)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON)


@pytest.mark.parametrize(
    ("since", "until", "is_found"),
    [
        (NOON, None, True),
        (NOON + TICK, None, False),
        (None, NOON, True),
        (None, NOON - TICK, False),
        (NOON, NOON, True),
        (NOON - TICK, NOON + TICK, True),
    ],
)
def test_event_time(memory: Memory, since: datetime | None, until: datetime | None, is_found: bool) -> None:
    memory.remember("tea", at=NOON)
    assert bool(memory.recall("tea", since=since, until=until)) is is_found


@pytest.mark.parametrize(
    ("at", "is_found"),
    [
        (NOON - TICK, False),
        (NOON, True),
        (NOON + timedelta(hours=1) - TICK, True),
        (NOON + timedelta(hours=1), False),
    ],
)
def test_validity_begins_at_its_start_and_ends_before_its_end(memory: Memory, at: datetime, is_found: bool) -> None:
    memory.remember("tea", valid_from=NOON, valid_until=NOON + timedelta(hours=1))
    assert bool(memory.recall("tea", valid_at=at)) is is_found
    assert memory.recall("tea")


def test_what_has_no_validity_is_always_valid(memory: Memory) -> None:
    memory.remember("tea")
    assert memory.recall("tea", valid_at=NOON - timedelta(days=4000))


def test_as_of_shows_what_was_known_then(memory: Memory, clock: SettableClock) -> None:
    old = memory.remember("the launch is on Thursday")
    clock.advance(hours=1)
    memory.correct(old.id, "the launch is on Friday")

    def known(moment: datetime) -> list[str]:
        return [hit.memory.content.split()[-1] for hit in memory.recall("launch", as_of=moment)]

    assert known(NOON - TICK) == []
    assert known(NOON) == ["Thursday"]
    assert known(NOON + timedelta(hours=1) - TICK) == ["Thursday"]
    assert known(NOON + timedelta(hours=1)) == ["Friday"]
    assert known(NOON + timedelta(days=1)) == ["Friday"]


def test_filter_decides_before_the_limit(memory: Memory) -> None:
    for number in range(400):
        memory.remember(f"tea number {number}", type="event")
    memory.remember("a word about tea among many others that nobody asks for", type="fact", importance=0.9)
    assert len(memory.recall("tea", types="fact", limit=1)) == 1
    assert len(memory.recall("tea", min_importance=0.9, limit=1)) == 1


def test_too_many_values_for_a_filter_are_refused(memory: Memory) -> None:
    with pytest.raises(InputError, match="1500 values for tag"):
        memory.recall("tea", tags=[f"t{number}" for number in range(1500)])
    assert memory.recall("tea", kinds=["episodic"] * 3000) == []


@pytest.mark.parametrize("name", ["user", "session", "entity", "store", "level", "since", "until", "valid_at", "as_of"])
@pytest.mark.parametrize("value", ["", " "])
def test_empty_text_is_refused_and_widens_no_search(memory: Memory, name: str, value: str) -> None:
    memory.remember("tea", user="kim", session="s-1")
    given: dict[str, Any] = {name: value}
    with pytest.raises(InputError, match=f"^{name} is empty"):
        memory.recall("tea", **given)


def test_empty_list_is_no_filter_and_an_empty_tag_is_refused(memory: Memory) -> None:
    memory.remember("tea", tags=["drinks"])
    assert memory.recall("tea", kinds=[], types=[], tags=[], include=[])
    for tags in ("", "#", ["drinks", ""]):
        with pytest.raises(InputError, match="tag is empty"):
            memory.recall("tea", tags=tags)


@pytest.mark.parametrize("name", ["limit", "depth", "min_importance"])
def test_number_of_any_length_is_refused(memory: Memory, name: str) -> None:
    values: list[Any] = [10**5000, -(10**5000), [10**5000]]  # which pytest itself cannot write out as parameters
    for value in values:
        with pytest.raises(InputError, match=name):
            memory.recall("tea", **{name: value})


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), True, "0.5"])
def test_importance_is_a_share(memory: Memory, value: Any) -> None:
    with pytest.raises(InputError, match="min_importance"):
        memory.recall("tea", min_importance=value)


def test_unknown_level_is_told_which_there_are(memory: Memory) -> None:
    with pytest.raises(InputError) as caught:
        memory.recall("tea", level="yearly")
    assert caught.value.hint == "known are daily, weekly, monthly, quarterly"


def test_an_entity_is_found_wherever_one_of_its_names_stands(memory: Memory) -> None:
    said = ["Ben called about the roof", "Ask Ben for the keys", "Ben's sister is Ida"]
    said += ["The bend in the road", "Benno sings"]
    for text in said:
        memory.observe("user", text, session="s-1")
    assert {hit.memory.content for hit in memory.recall("", entity="ben")} == set(said[:3])
    page = "---\ntype: person\naliases: [Benjamin Carter]\n---\n# Ben\n"
    memory.vault.put_page("agents/main/memory/graph/entities/person--ben.md", page.encode(), expects=None, by=OWNER)
    memory.observe("user", "Benjamin Carter sent the invoice", session="s-2")
    for name in ("Ben", "Benjamin Carter", "person--ben"):
        found = {hit.memory.content for hit in memory.recall("", entity=name, limit=50)}
        assert {*said[:3], "Benjamin Carter sent the invoice"} <= found
