"""Patterns: planted ones are found, noise has none, and what is stored is stored once."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.index.maintenance import DayMemory
from memfolio.tend.changes import JobChanges
from memfolio.tend.patterns import at_least, drawn_at_least, find, learn_patterns
from memfolio.types import Kind, Type

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 15, tzinfo=UTC)
TAGS = [f"topic {number}" for number in range(12)]
TYPES = [Type.OBSERVATION, Type.OBSERVATION, Type.DECISION, Type.ERROR, Type.LESSON]


def noise(chance: random.Random, days: int = 60) -> Iterator[DayMemory]:
    """Weekdays are busier than weekends and mornings busier than evenings, for all topics alike."""
    for back in range(days, 0, -1):
        day = NOW - timedelta(days=back)
        for session in range(chance.randrange(1 if day.weekday() > 4 else 4)):
            begins = day + timedelta(hours=chance.choice((8, 8, 9, 9, 9, 10, 14, 20)))
            for turn in range(chance.randrange(1, 8)):
                yield told(
                    f"M-{back}-{session}-{turn}",
                    begins + timedelta(minutes=5 * turn),
                    tags=chance.sample(TAGS, chance.choice((0, 1, 1, 2))),
                    type_=chance.choice(TYPES),
                    session=f"s-{back}-{session}",
                )


def told(
    id: str,
    at: datetime,
    *,
    tags: list[str] | None = None,
    type_: Type = Type.OBSERVATION,
    session: str | None = None,
    content: str = "Something happened",
) -> DayMemory:
    return DayMemory(id=id, at=at, type=type_, content=content, tags=tuple(tags or ()), session=session)


def test_binomial_tail_is_the_sum_of_its_terms() -> None:
    for hits, tries, chance in [(0, 5, 0.3), (3, 5, 0.3), (5, 5, 0.3), (40, 100, 0.5), (2, 300, 0.1), (290, 300, 0.9)]:
        terms = (math.comb(tries, n) * chance**n * (1 - chance) ** (tries - n) for n in range(hits, tries + 1))
        assert at_least(hits, tries, chance) == pytest.approx(math.fsum(terms), rel=1e-9)
    assert at_least(3, 2, 0.5) == 0
    assert at_least(1, 5, 0) == 0
    assert at_least(1, 5, 1) == 1
    assert 0 < at_least(900, 1000, 0.5) < 1e-100
    assert at_least(2, 5000, 0.5) == pytest.approx(1)


def test_tail_without_return_is_the_sum_of_its_terms() -> None:
    for hits, draws, marked, total in [(0, 5, 4, 20), (3, 5, 4, 20), (4, 5, 4, 20), (8, 10, 12, 60), (5, 9, 9, 10)]:
        ways = sum(math.comb(marked, n) * math.comb(total - marked, draws - n) for n in range(hits, draws + 1))
        assert drawn_at_least(hits, draws, marked, total) == pytest.approx(min(1, ways / math.comb(total, draws)))
    assert drawn_at_least(5, 5, 4, 20) == 0
    assert 0 < drawn_at_least(400, 1000, 1000, 5000) < 1e-30
    assert drawn_at_least(2, 1000, 1000, 5000) == pytest.approx(1)


def test_pure_noise_has_a_pattern_in_at_most_one_of_twenty_cases() -> None:
    false = sum(bool(find(noise(random.Random(seed)), NOW, BERLIN)) for seed in range(200))
    assert false <= 10


def test_topic_of_one_weekday_is_found_amid_noise() -> None:
    plant = [
        told(f"P-{week}", NOW - timedelta(days=6 + 7 * week, hours=-9), tags=["payroll"], session=f"p{week}")
        for week in range(8)
    ]
    found = find([*noise(random.Random(1)), *plant], NOW, BERLIN)
    (weekday,) = [each for each in found if each.key.startswith("weekday")]
    assert weekday.key == "weekday:0:payroll"
    assert weekday.support == 8
    assert weekday.text.startswith("“payroll” comes up on Mondays: 8 of its 8 days")
    assert set(weekday.examples) == {each.id for each in plant}


def test_topic_of_one_hour_is_found_in_the_time_of_the_home() -> None:
    plant = [told(f"P-{day}", NOW - timedelta(days=day, hours=3), tags=["tea"]) for day in range(1, 21)]
    found = find([*noise(random.Random(2)), *plant], NOW, BERLIN)
    assert "hour:22:tea" in {each.key for each in found}


def test_topic_repeated_in_one_long_conversation_is_no_pattern() -> None:
    plant = [told(f"P-{turn}", NOW - timedelta(days=9, minutes=turn), tags=["move"], session="p") for turn in range(40)]
    assert not [each for each in find([*noise(random.Random(3)), *plant], NOW, BERLIN) if "move" in each.key]


def test_what_follows_something_is_found_and_not_the_other_way_round() -> None:
    plant = [
        told(f"P-{day}-{nth}", NOW - timedelta(days=day, minutes=-nth), tags=[tag], session=f"p{day}")
        for day in range(2, 16)
        for nth, tag in enumerate(["deploy", "rollback"])
    ]
    found = {each.key: each for each in find([*noise(random.Random(4)), *plant], NOW, BERLIN)}
    assert found["sequence:deploy:rollback"].support == 14
    assert "sequence:rollback:deploy" not in found


def test_preference_stated_on_three_days_is_a_pattern() -> None:
    said = ["I prefer green tea in the morning", "Prefers green tea in the morning!", "i prefer green tea, mornings"]
    stated = [
        told(f"P-{nth}", NOW - timedelta(days=nth + 1), type_=Type.PREFERENCE, content=text)
        for nth, text in enumerate(said)
    ]
    (pattern,) = find(stated, NOW, BERLIN)
    assert (pattern.kind, pattern.support) == ("preference", 3)
    assert find(stated[:2], NOW, BERLIN) == []


def test_pattern_that_repeats_a_preference_names_all_who_stated_it() -> None:
    stated = [
        told(f"P-{nth}", NOW - timedelta(days=nth + 1), type_=Type.PREFERENCE, content="I prefer green tea")
        for nth in range(14)
    ]
    (pattern,) = find(stated, NOW, BERLIN)
    assert set(pattern.examples) == {each.id for each in stated}


def test_odd_episodes_are_taken() -> None:
    odd = [
        told("M-1", datetime.min.replace(tzinfo=UTC), tags=["a, b", " ", "<b>"], session="s"),
        told("M-2", datetime.max.replace(tzinfo=UTC), tags=["a, b"], session="s"),
        told("M-3", datetime(1969, 1, 1, tzinfo=UTC), tags=["x" * 1000]),
    ]
    assert find(odd, NOW, ZoneInfo("America/New_York")) == []
    assert find([], NOW, BERLIN) == []


def test_found_pattern_is_stored_once_and_stays_forgotten(home: Path, clock: SettableClock) -> None:
    with Memory.open(home, clock=clock, background=False) as memory:
        for week in range(1, 9):
            for day, tag in enumerate(["payroll", "chess", "garden", "mail", "mail", "mail"]):
                at = clock.now() - timedelta(days=7 * week - day)
                memory.remember(f"{tag} of week {week}", tags=[tag], at=at)
        changes = JobChanges(vault=memory.vault, agent="main", now=clock.now())
        stored = learn_patterns(changes, memory.searcher.index, clock.now())
        assert any(each.key == "weekday:6:payroll" for each in stored)
        hits = memory.recall("payroll comes up on Sundays", tags=["pattern"])
        (item,) = [hit.memory for hit in hits if hit.memory.attributes["pattern"] == "weekday:6:payroll"]
        assert (item.kind, item.type, len(item.derived_from)) == (Kind.SEMANTIC, Type.OBSERVATION, 8)
        assert learn_patterns(changes, memory.searcher.index, clock.now()) == []
        memory.forget(item.id)
        clock.advance(days=40)
        again = learn_patterns(changes, memory.searcher.index, clock.now())
        assert item.attributes["pattern"] not in {each.key for each in again}


def test_conversations_that_begin_alike_on_one_weekday_are_a_pattern() -> None:
    monday = datetime(2026, 10, 5, 8, tzinfo=UTC)
    plans = [
        told(
            f"M-{week}",
            monday + timedelta(weeks=week),
            session=f"s-{week}",
            content=f"Weekly plan please. Week {week}.",
        )
        for week in range(3)
    ]
    others = [
        told(f"M-o{day}", monday + timedelta(days=day), session=f"o-{day}", content="How do I sort a list?")
        for day in range(1, 14)
    ]
    [pattern] = find([*plans, *others], NOW, BERLIN)
    assert (pattern.kind, pattern.support, pattern.examples) == ("temporal", 3, ("M-0", "M-1", "M-2"))
    assert pattern.text == "“Weekly plan please” comes up on Mondays: 3 of its 3 days."
    assert not find([*plans[:2], *others], NOW, BERLIN)


def test_what_memories_are_is_no_topic() -> None:
    plant = [
        told(f"P-{day}", NOW - timedelta(days=day, hours=3), type_=Type.FACT, tags=["fact", "conversation"])
        for day in range(1, 21)
    ]
    found = find([*noise(random.Random(2)), *plant], NOW, BERLIN)
    assert [each.text for each in found if "fact" in each.key or "conversation" in each.key] == []
