"""Times are found in questions, and read from filters, as people write them."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.recall.dates import Span, TimeMention, mentions, moment_of, span_of

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 15, 14, 30, tzinfo=UTC)
"""A Sunday."""

ZONES = st.sampled_from(
    [UTC, *map(ZoneInfo, ("Europe/Berlin", "America/Sao_Paulo", "Pacific/Kiritimati", "Asia/Beirut"))]
)
PIECES = st.sampled_from(
    """last this next past since week before after until from to between and
    May march 7 31 29 february 2026 0000 9999-12-31 0001-01-01
    days weeks years ago vor hace il y a Q4 W53 2024-W53 yesterday hier monday 99999 _ , . - в прошлом году""".split()
)
TEXTS = st.text(max_size=60) | st.lists(PIECES, max_size=10).map(" ".join)
TIMES = st.datetimes(timezones=ZONES)


def days(start: str, end: str) -> tuple[date, date]:
    return date.fromisoformat(start), date.fromisoformat(end)


def found(span: Span | None) -> tuple[date, date] | None:
    """The first and the last day of a span."""
    return span and (span.start.date(), (span.end - timedelta(microseconds=1)).date())


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("today", "2026-11-15", "2026-11-15"),
        ("Yesterday", "2026-11-14", "2026-11-14"),
        ("last_week", "2026-11-02", "2026-11-08"),
        ("the last week", "2026-11-02", "2026-11-08"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("this quarter", "2026-10-01", "2026-12-31"),
        ("this year", "2026-01-01", "2026-12-31"),
        ("last weekend", "2026-11-07", "2026-11-08"),
        ("last_7_days", "2026-11-08", "2026-11-15"),
        ("past 3 days", "2026-11-12", "2026-11-15"),
        ("past month", "2026-10-15", "2026-11-15"),
        ("3 days ago", "2026-11-12", "2026-11-12"),
        ("two weeks ago", "2026-10-26", "2026-11-01"),
        ("a month ago", "2026-10-01", "2026-10-31"),
        ("last Friday", "2026-11-13", "2026-11-13"),
        ("last Sunday", "2026-11-08", "2026-11-08"),
        ("next Saturday", "2026-11-21", "2026-11-21"),
        ("next month", "2026-12-01", "2026-12-31"),
        ("Sunday", "2026-11-15", "2026-11-15"),
        ("this Monday", "2026-11-09", "2026-11-09"),
        ("2026", "2026-01-01", "2026-12-31"),
        ("2026-11", "2026-11-01", "2026-11-30"),
        ("2026-11-15", "2026-11-15", "2026-11-15"),
        ("15.11.2026", "2026-11-15", "2026-11-15"),
        ("2026-W46", "2026-11-09", "2026-11-15"),
        ("Q3 2026", "2026-07-01", "2026-09-30"),
        ("March", "2026-03-01", "2026-03-31"),
        ("may", "2026-05-01", "2026-05-31"),
        ("December", "2025-12-01", "2025-12-31"),
        ("last November", "2025-11-01", "2025-11-30"),
        ("March 2026", "2026-03-01", "2026-03-31"),
        ("7 May 2023", "2023-05-07", "2023-05-07"),
        ("May 7th, 2023", "2023-05-07", "2023-05-07"),
        ("16 November", "2025-11-16", "2025-11-16"),
        ("from May 1 to May 9", "2026-05-01", "2026-05-09"),
        ("between March and May 2023", "2023-03-01", "2023-05-31"),
        ("from November to February", "2025-11-01", "2026-02-28"),
        ("from May 2023 to June", "2023-05-01", "2023-06-30"),
        ("gestern", "2026-11-14", "2026-11-14"),
        ("letzte Woche", "2026-11-02", "2026-11-08"),
        ("vor 3 Tagen", "2026-11-12", "2026-11-12"),
        ("7. Mai 2023", "2023-05-07", "2023-05-07"),
        ("letzten Freitag", "2026-11-13", "2026-11-13"),
        ("hier", "2026-11-14", "2026-11-14"),
        ("la semaine dernière", "2026-11-02", "2026-11-08"),
        ("la semaine dernie\u0300re", "2026-11-02", "2026-11-08"),
        ("les 7 derniers jours", "2026-11-08", "2026-11-15"),
        ("il y a 2 semaines", "2026-10-26", "2026-11-01"),
        ("1er mai", "2026-05-01", "2026-05-01"),
        ("ayer", "2026-11-14", "2026-11-14"),
        ("la semana pasada", "2026-11-02", "2026-11-08"),
        ("7 de mayo de 2023", "2023-05-07", "2023-05-07"),
        ("вчера", "2026-11-14", "2026-11-14"),
        ("на прошлой неделе", "2026-11-02", "2026-11-08"),
        ("в прошлую пятницу", "2026-11-13", "2026-11-13"),
        ("3 дня назад", "2026-11-12", "2026-11-12"),
        ("7 мая 2023", "2023-05-07", "2023-05-07"),
    ],
)
def test_whole_expression_names_its_days(text: str, start: str, end: str) -> None:
    assert found(span_of(text, NOW, BERLIN)) == days(start, end)


@pytest.mark.parametrize("text", ["", "soon", "2026-13", "31 February 2026", "last week or so", "the year", "20261115"])
def test_what_names_no_time_has_no_span(text: str) -> None:
    assert span_of(text, NOW, BERLIN) is None


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("What did we decide last week about billing?", "2026-11-02", "2026-11-08"),
        ("What happened on 9 October, 2022?", "2022-10-09", "2022-10-09"),
        ("What was said at 2026-11-14T14:30?", "2026-11-14", "2026-11-14"),
        ("What did Anna say between 3 May and 9 May 2023?", "2023-05-03", "2023-05-09"),
        ("at 10:30 May 5 2023", "2023-05-05", "2023-05-05"),
        ("What did Tim do the week before 16 November 2023?", "2023-11-09", "2023-11-16"),
        ("What did she get two weeks before August 11, 2023?", "2023-07-28", "2023-08-11"),
        ("What did he do last weekend before April 10, 2023?", "2023-04-03", "2023-04-10"),
        ("What is planned on the Saturday after October 28, 2023?", "2023-10-28", "2023-11-04"),
        ("May I ask what you did in May?", "2026-05-01", "2026-05-31"),
        ("what did i do in march", "2026-03-01", "2026-03-31"),
        ("Qu'avons-nous fait hier ?", "2026-11-14", "2026-11-14"),
        ("Was war letzten Monat los?", "2026-10-01", "2026-10-31"),
    ],
)
def test_time_is_found_inside_a_question(text: str, start: str, end: str) -> None:
    assert [found(each.span) for each in mentions(text, NOW, BERLIN)] == [days(start, end)]


@pytest.mark.parametrize(
    "text",
    [
        "What may happen?",
        "May I go?",
        "They march on.",
        "A mission to Mars",
        "Did Jan call?",
        "a second opinion",
        "Was ist hier passiert?",
        "on Mondays",
        "last_week_report",
        "id 2026-11-15-foo, version 1.2026, $2000",
        "What happened in 1066?",
        "3 day\u017f ago",
    ],
)
def test_false_friends_are_no_times(text: str) -> None:
    assert mentions(text, NOW, BERLIN) == []


def test_open_ends() -> None:
    monday = datetime(2026, 11, 9, tzinfo=BERLIN)
    since, after, before, until = (
        mentions(f"What came {word} Monday?", NOW, BERLIN)[0] for word in ("since", "after", "before", "until")
    )
    tuesday, tick = monday + timedelta(days=1), timedelta(microseconds=1)
    assert [each.covers(monday) for each in (since, after, before, until)] == [True, False, False, True]
    assert [each.covers(monday - tick) for each in (since, after, before, until)] == [False, False, True, True]
    assert [each.covers(tuesday) for each in (since, after, before, until)] == [True, True, False, False]
    assert since.months == since.years == frozenset()


def only(text: str) -> TimeMention:
    (mention,) = mentions(text, NOW, BERLIN)
    return mention


def test_month_without_a_year_is_that_month_of_any_year() -> None:
    may = only("What happened in May?")
    assert may.recurs
    assert may.months == {5}
    assert not may.years
    assert may.covers(datetime(2019, 5, 31, 12, tzinfo=UTC))
    assert not may.covers(datetime(2019, 6, 1, tzinfo=BERLIN))
    winter = only("from November to February")
    assert winter.months == {11, 12, 1, 2}
    assert winter.covers(datetime(2019, 1, 5, tzinfo=UTC))
    assert not winter.covers(datetime(2019, 3, 1, tzinfo=BERLIN))


def test_month_with_a_year_is_that_one() -> None:
    may = only("What happened in May 2023?")
    assert not may.recurs
    assert may.months == {5}
    assert may.years == {2023}
    assert not may.covers(datetime(2022, 5, 7, tzinfo=UTC))
    assert only("What happened in 2023?").months == frozenset()


def test_days_begin_at_midnight_of_the_zone_even_when_clocks_change() -> None:
    span = span_of("2026-10-25", NOW, BERLIN)
    assert span is not None
    assert span.end.astimezone(UTC) - span.start.astimezone(UTC) == timedelta(hours=25)


def test_hours_are_counted_through_a_change_of_clocks() -> None:
    now = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)
    assert mentions("the last 1 hour", now, BERLIN)[0].span == Span(now - timedelta(hours=1), now)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("now", NOW, NOW),
        ("2h ago", NOW - timedelta(hours=2), NOW - timedelta(hours=2)),
        ("2h", NOW - timedelta(hours=2), NOW - timedelta(hours=2)),
        ("7d", NOW - timedelta(days=7), NOW - timedelta(days=7)),
        ("2 weeks", NOW - timedelta(weeks=2), NOW - timedelta(weeks=2)),
        ("1 day ago", NOW - timedelta(days=1), NOW - timedelta(days=1)),
        ("3 months ago", datetime(2026, 8, 15, 13, 30, tzinfo=UTC), datetime(2026, 8, 15, 13, 30, tzinfo=UTC)),
        ("2026-03-01T12:00", datetime(2026, 3, 1, 12, tzinfo=BERLIN), datetime(2026, 3, 1, 12, tzinfo=BERLIN)),
        ("2026-03-01T12:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 3, 1, 12, tzinfo=UTC)),
        (
            "last_week",
            datetime(2026, 11, 2, tzinfo=BERLIN),
            datetime(2026, 11, 9, tzinfo=BERLIN) - timedelta(microseconds=1),
        ),
        ("1234567d", None, None),
        ("2026-03-01T25:00", None, None),
        ("999999 weeks ago", None, None),
        ("nonsense", None, None),
    ],
)
def test_moment_is_the_first_or_the_last_of_a_span(text: str, first: datetime | None, last: datetime | None) -> None:
    assert moment_of(text, NOW, BERLIN, end=False) == first
    assert moment_of(text, NOW, BERLIN, end=True) == last


def test_last_day_of_the_calendar_is_a_time() -> None:
    assert moment_of("9999-12-31", NOW, BERLIN, end=False) == datetime(9999, 12, 31, tzinfo=BERLIN)


@given(TEXTS, TIMES, ZONES, TIMES)
def test_any_text_at_any_time_can_be_read(text: str, now: datetime, zone: tzinfo, moment: datetime) -> None:
    for mention in mentions(text, now, zone):
        assert mention.span.start < mention.span.end
        assert mention.months <= set(range(1, 13))
        assert mention.years <= set(range(1, 10_000))
        mention.covers(moment)
    first, last = (moment_of(text, now, zone, end=end) for end in (False, True))
    assert (first is None) == (last is None)
    if first and last:
        assert first.tzinfo
        assert first <= last


@pytest.mark.parametrize("piece", ["may ", "1 ", "last ", "a", "\n_ ", "between ", "2026-", "vor 3 ", "1 day ago and "])
def test_endless_text_is_read_quickly(piece: str) -> None:
    text = (piece * 100_000)[:100_000]
    mentions(text, NOW, BERLIN)
    start = time.process_time()
    mentions(text, NOW, BERLIN)
    assert time.process_time() - start < 0.05
