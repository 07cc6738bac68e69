"""Clocks that go wrong, and requests that come twice."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memfolio.clock import SettableClock
from memfolio.vault.log import read_log
from memfolio.vault.paths import day_of, title_line
from memfolio.vault.vault import Vault
from tests.conftest import START
from tests.vault.conftest import Tally
from tests.vault.proof import BOT, appended, check_home, configured, entries, fork, item, wait

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia", "Australia/Lord_Howe"]
EDGES = [
    datetime(2026, 3, 29, 0, 59, 59, 999000, tzinfo=UTC),
    datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
    datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
    datetime(2026, 10, 25, 1, 30, tzinfo=UTC),
    datetime(2028, 2, 29, 12, 0, tzinfo=UTC),
    datetime(2026, 12, 31, 23, 59, 59, 999000, tzinfo=UTC),
    datetime(2027, 1, 1, tzinfo=UTC),
    datetime(2026, 11, 15, 23, 0, tzinfo=UTC),
    datetime(2011, 12, 30, 10, 0, tzinfo=UTC),
    datetime(1970, 1, 2, tzinfo=UTC),
]
moments = st.one_of(
    st.sampled_from(EDGES),
    st.builds(lambda edge, ms: edge + timedelta(milliseconds=ms), st.sampled_from(EDGES), st.integers(-5000, 5000)),
    st.datetimes(datetime(1970, 1, 3), datetime(2200, 1, 1), timezones=st.just(UTC)),
)


def check_entry(home: Path, path: str, mark: str, note: str, moment: datetime, zone: ZoneInfo) -> None:
    """The entry stands in the log of its day, under that day's title, with the hour a clock there shows."""
    here = moment.astimezone(zone)
    day = day_of(path)
    assert day == here.date()
    text = (home / path).read_text()
    assert text.startswith(title_line(here.date()))
    [entry] = [
        each.entry for each in read_log(text, day=day, tz=zone, agent="main").entries if each.entry.item.id == mark
    ]
    assert (entry.item.content, entry.item.event_time) in [(note, None), (note, moment)]
    heading = next(line for line in text.split("\n") if line.endswith(mark))
    assert heading.startswith(f"## {here:%H:%M:%S} ")


def check_trail(vault: Vault, ids: list[str]) -> None:
    lines = list(vault.trail.lines())
    assert [line.seq for line in lines] == list(range(1, len(lines) + 1))
    assert [mark for line in lines for mark in line.ids if mark.startswith("M-")] == ids, (
        "order is the order of writing"
    )
    months = [part.split("/")[1] for part in vault.trail.parts()]
    assert months == sorted(months), "the trail never goes back to an earlier month"
    assert vault.trail.problems() == []
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("trials", [100, pytest.param(20_000, marks=pytest.mark.long)])
def test_entries_land_on_their_day_whatever_the_clock_does(quick_path: Path, trials: int, tally: Tally) -> None:
    made = random.Random(0)

    @settings(max_examples=trials)
    @given(st.sampled_from(ZONES), st.lists(moments, min_size=1, max_size=6))
    @example("Europe/Berlin", EDGES)
    @example("Pacific/Apia", list(reversed(EDGES)))
    def check(zone: str, times: list[datetime]) -> None:
        home, clock = quick_path / str(made.random()), SettableClock(START)
        config = configured(home, timezone=zone, git_enabled=False)
        ids: list[str] = []
        with Vault.open(config=config, clock=clock) as vault:
            for number, moment in enumerate(times):
                clock.set(moment)
                receipt = vault.add("main", [item(f"note {number}")], BOT)
                ids += receipt.ids
                check_entry(
                    home, receipt.paths[0], receipt.ids[0], f"note {number}", receipt.items[0].created_at, config.zone
                )
                assert abs(receipt.items[0].created_at - moment) < timedelta(milliseconds=20)
            check_trail(vault, ids)
        with Vault.open(config=config, clock=clock) as vault:
            assert vault.survey() == []
            check_trail(vault, ids)

    check()
    tally("clocks that go back and forward", trials)


@pytest.mark.parametrize("zone", ZONES)
def test_an_event_time_decides_the_day_and_is_read_back(home: Path, clock: SettableClock, zone: str) -> None:
    config = configured(home, timezone=zone)
    with Vault.open(config=config, clock=clock) as vault:
        for number, moment in enumerate(EDGES):
            receipt = vault.add("main", [item(f"note {number}", event_time=moment)], BOT)
            check_entry(home, receipt.paths[0], receipt.ids[0], f"note {number}", moment, config.zone)


def test_a_home_goes_on_after_the_clock_went_back_a_year(home: Path, clock: SettableClock) -> None:
    ids: dict[str, str] = {}
    for number, years in enumerate([0, -1, 1, -2]):
        clock.set(START.replace(year=START.year + years))
        with Vault.open(config=configured(home), clock=clock) as vault:
            ids[vault.add("main", [item(f"note {number}")], BOT).ids[0]] = f"note {number}"
            assert vault.commit() == 0
    check_home(home, ids)


def test_a_clock_that_stands_still_gives_every_memory_its_own_id(home: Path, clock: SettableClock) -> None:
    with Vault.open(config=configured(home), clock=clock) as vault:
        ids = [vault.add("main", [item("the same words")], BOT).ids[0] for _ in range(200)]
        more = vault.add("main", [item("the same words")] * 100, BOT).ids
    assert len({*ids, *more}) == 300
    assert {mark: len(found) for mark, found in entries(home).items()} == dict.fromkeys([*ids, *more], 1)


def test_the_same_request_twice_is_one_memory(home: Path, clock: SettableClock, tally: Tally) -> None:
    trials = 100
    with Vault.open(config=configured(home), clock=clock) as vault:
        for number in range(trials):
            first = vault.add("main", [item(f"note {number}")], BOT, key=f"request {number}")
            again = vault.add("main", [item(f"note {number}")], BOT, key=f"request {number}")
            assert (first.repeated, again.repeated) == (False, True)
            assert (again.ids, again.seq, again.paths) == (first.ids, first.seq, first.paths)
    with Vault.open(config=configured(home), clock=clock) as vault:
        assert vault.add("main", [item("note 0")], BOT, key="request 0").repeated
        assert not vault.add("main", [item("note 0")], BOT, key="another request").repeated
        assert len(appended(vault)) == trials + 1
    (home / ".memfolio/recent.jsonl").unlink()
    with Vault.open(config=configured(home), clock=clock) as vault:
        assert vault.add("main", [item("note 1")], BOT, key="request 1").repeated
    tally("same request twice", trials)


def test_a_request_that_was_refused_can_be_made_again(home: Path, clock: SettableClock) -> None:
    with Vault.open(config=configured(home), clock=clock) as vault:
        with pytest.raises(ValueError, match="empty"):
            vault.add("main", [item("")], BOT, key="a request")
        assert not vault.add("main", [item("words")], BOT, key="a request").repeated


def test_the_same_request_of_many_processes_is_one_memory(home: Path) -> None:
    Vault.open(config=configured(home)).close()

    def ask() -> None:
        with Vault.open(config=configured(home)) as vault:
            for number in range(20):
                vault.add("main", [item(f"note {number}")], BOT, key=f"request {number}")

    pids = [fork(ask) for _ in range(6)]
    assert [wait(pid) for pid in pids] == [0] * 6
    contents = sorted(content for found in entries(home).values() for content in found)
    assert contents == sorted(f"note {number}" for number in range(20))
