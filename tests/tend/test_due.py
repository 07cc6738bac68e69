"""When jobs are due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from memfolio.tend.tend import JobSchedule, is_due, latest

BERLIN = ZoneInfo("Europe/Berlin")
TIMES = st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


def due(period: JobSchedule, last: str, now: str) -> bool:
    return is_due(period, at(last), at(now), BERLIN, 3)


def test_day_begins_at_its_hour() -> None:
    assert not due(JobSchedule.DAILY, "2026-11-14 03:10", "2026-11-15 02:59")
    assert due(JobSchedule.DAILY, "2026-11-14 03:10", "2026-11-15 03:00")
    assert not due(JobSchedule.DAILY, "2026-11-15 03:00", "2026-11-15 23:59")


def test_week_is_due_once_it_is_over() -> None:
    assert not due(JobSchedule.WEEKLY, "2026-11-09 04:00", "2026-11-15 23:59")  # its Sunday
    assert due(JobSchedule.WEEKLY, "2026-11-09 04:00", "2026-11-16 03:00")
    assert not due(JobSchedule.WEEKLY, "2026-11-16 03:00", "2026-11-22 12:00")


def test_what_slept_through_its_time_is_due_when_it_wakes() -> None:
    assert due(JobSchedule.WEEKLY, "2026-09-01 03:00", "2026-11-18 17:00")


def test_what_never_ran_and_what_always_runs_is_due() -> None:
    assert is_due(JobSchedule.WEEKLY, None, at("2026-11-15 12:00"), BERLIN, 3)
    assert due(JobSchedule.ALWAYS, "2026-11-15 12:00", "2026-11-15 12:00")


def test_beat_is_due_once_its_span_has_passed() -> None:
    begun, span = at("2026-11-15 12:00"), timedelta(minutes=30)
    for minutes, expected in ((0, False), (29, False), (30, True), (-5, False)):
        assert is_due(JobSchedule.BEAT, begun, begun + timedelta(minutes=minutes), BERLIN, 3, span) is expected
    assert is_due(JobSchedule.BEAT, None, begun, BERLIN, 3, span)


def test_hour_that_the_clock_skips_does_not_lose_the_day() -> None:
    assert is_due(JobSchedule.DAILY, at("2026-03-28 03:00"), at("2026-03-29 04:00"), BERLIN, 2)


@given(st.sampled_from([JobSchedule.DAILY, JobSchedule.WEEKLY]), TIMES, st.integers(0, 23))
def test_nothing_is_due_twice_and_everything_again_within_its_period(
    period: JobSchedule, now: datetime, hour: int
) -> None:
    mark = latest(period, now, BERLIN, hour)
    assert mark <= now
    assert not is_due(period, now, now, BERLIN, hour)
    span = {"daily": 1, "weekly": 7}[period.value]
    assert is_due(period, now, now + timedelta(days=span, hours=2), BERLIN, hour)
