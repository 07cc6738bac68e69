"""Closing days: what the last entry of a day says, and that there is only one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memfolio import Memory
from memfolio.arguments import draft_of
from memfolio.clock import SettableClock
from memfolio.stores.edit import purge
from memfolio.tend.changes import JobChanges, tender
from memfolio.tend.digest import build, close_days
from memfolio.types import Kind, MemoryItem, Type

DAY = datetime(2026, 11, 12, 8, tzinfo=UTC)
STORY = [
    ("decision", "We moved billing to PostgreSQL"),
    ("error", "The deployment of the invoice service failed"),
    ("observation", "Anna asked for numbers"),
    ("outcome", "The invoice service deployment works after a second try"),
    ("error", "The printer smokes"),
    ("task", "Send Priya the contract"),
    ("task", "Update the wiki page about vacations"),
    ("observation", "The wiki page about vacations is done"),
]


@pytest.fixture
def memory(home: Path, clock: SettableClock) -> Iterator[Memory]:
    home.mkdir()
    (home / "memfolio.toml").write_text('timezone = "Europe/Berlin"\n')
    with Memory.open(home, clock=clock, background=False) as opened:
        yield opened


def tell(memory: Memory, begins: datetime = DAY, count: int = len(STORY)) -> list[MemoryItem]:
    drafts = [
        draft_of(content=text, type=kind, tags=["work"], session=f"s{nth % 2}", at=begins + timedelta(hours=nth))
        for nth, (kind, text) in enumerate(STORY[:count])
    ]
    return list(memory.vault.add("main", drafts, tender("test")).items)


def close(memory: Memory, *, dry_run: bool = False) -> list[date]:
    changes = JobChanges(vault=memory.vault, agent="main", now=memory.vault.home.now(), dry_run=dry_run)
    return close_days(changes, memory.searcher.index)


def summaries(memory: Memory) -> list[MemoryItem]:
    return [each for each in memory.vault.entries("main") if "day-summary" in each.tags]


def test_closed_day_ends_with_one_readable_summary(memory: Memory) -> None:
    told = tell(memory)
    assert close(memory) == [date(2026, 11, 12)]
    (item,) = summaries(memory)
    assert (item.kind, item.type, item.source) == (Kind.EPISODIC, Type.EVENT, "summary")
    assert item.event_time == datetime(2026, 11, 12, 23, 59, 59, tzinfo=ZoneInfo("Europe/Berlin"))
    first = item.content.splitlines()[0]
    assert first.startswith(
        "Summary of Thursday, 2026-11-12: 8 memories in 2 conversations, from 09:00 to 16:00. Topics: work, "
    )
    assert "Errors:\n- The deployment of the invoice service failed (M-" in item.content
    assert f"For tomorrow:\n- Send Priya the contract ({told[5].id})" in item.content
    assert set(item.derived_from) <= {each.id for each in told}
    assert all(each in item.content for each in item.derived_from)
    assert memory.vault.entries("main", date(2026, 11, 12))[-1].id == item.id


def test_day_is_closed_once_even_if_its_summary_is_forgotten(memory: Memory) -> None:
    tell(memory)
    close(memory)
    assert close(memory) == []
    memory.forget(summaries(memory)[0].id)
    assert close(memory) == []


@pytest.mark.parametrize("is_purged", [False, True])
def test_day_is_summed_up_again_without_what_was_forgotten(memory: Memory, is_purged: bool) -> None:
    told = tell(memory)
    close(memory)
    if is_purged:
        purge(memory.vault, memory.searcher, [told[0].id], tender("test"))
    else:
        memory.forget(told[0].id)
    assert close(memory) == [date(2026, 11, 12)]
    (item,) = [each for each in summaries(memory) if each.forgotten_at is None]
    assert "7 memories" in item.content
    assert "PostgreSQL" not in item.content
    assert close(memory) == []
    memory.forget(item.id)
    assert close(memory) == []


def test_day_that_is_left_with_little_stays_without_a_summary(memory: Memory) -> None:
    told = tell(memory, count=5)
    close(memory)
    memory.forget(told[0].id)
    assert close(memory) == []


def test_another_time_zone_closes_no_day_twice(memory: Memory, home: Path, clock: SettableClock) -> None:
    tell(memory)
    close(memory)
    memory.close()
    (home / "memfolio.toml").write_text('timezone = "Pacific/Kiritimati"\n')
    with Memory.open(home, clock=clock, background=False) as opened:
        assert date(2026, 11, 12) not in close(opened)


def test_passwords_are_not_summed_up_and_a_day_of_greetings_has_no_summary(memory: Memory) -> None:
    tell(memory)
    memory.remember("The password: hunter2", type="decision", at=DAY)
    for nth in range(6):
        memory.observe("user", "Wow, thanks!", session="s", at=DAY - timedelta(days=1, hours=nth))
    assert close(memory) == [date(2026, 11, 12)]
    assert "hunter2" not in summaries(memory)[0].content


def test_today_and_days_with_little_are_not_closed(memory: Memory) -> None:
    tell(memory, datetime(2026, 11, 15, 7, tzinfo=UTC), count=6)
    tell(memory, datetime(2026, 11, 10, 7, tzinfo=UTC), count=4)
    assert close(memory) == []


def test_missing_days_are_closed_as_one_change_and_do_not_count_as_memories(memory: Memory) -> None:
    for back in range(1, 4):
        tell(memory, DAY - timedelta(days=back))
    head = memory.vault.head
    assert close(memory, dry_run=True) == [date(2026, 11, day) for day in (9, 10, 11)]
    assert memory.vault.head == head
    assert len(close(memory)) == 3
    assert memory.vault.head == head + 1
    changes = JobChanges(vault=memory.vault, agent="main", now=datetime(2026, 11, 20, tzinfo=UTC))
    build(changes, memory.searcher.index, levels=("weekly",))
    page = memory.vault.page("agents/main/memory/weekly/2026-W46.md")
    assert page is not None
    assert "24 memories on 3 days" in page.text


def test_at_most_twelve_memories_are_cited_and_odd_days_are_closed(memory: Memory) -> None:
    drafts = [
        draft_of(content=f"<!-- memfolio:end --> # {kind} number {nth}", type=kind, at=at + timedelta(minutes=nth))
        for at in (datetime(1, 1, 1, 12, tzinfo=UTC), datetime(1960, 2, 29, 12, tzinfo=UTC))
        for nth, kind in enumerate(["decision", "error", "task", "lesson", "fact"] * 8)
    ]
    memory.vault.add("main", drafts, tender("test"))
    assert close(memory) == [date(1, 1, 1), date(1960, 2, 29)]
    assert all(0 < len(each.derived_from) <= 12 for each in summaries(memory))
