"""Filters typed into a question count, and whatever only looks like one stays text."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.recall.asking.inline import split
from memfolio.recall.asking.query import Query

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 15, 14, 30, tzinfo=UTC)
TICK = timedelta(microseconds=1)
NAMES = "kind type store tag session user entity importance level since until after before error".split()
VALUES = 'decision semantic vault a,b "Alex Chen" 0.5 weekly last_week 0001-01-01 9999-12-31 "" # : ? , now'.split(" ")
FILTERS = st.tuples(st.sampled_from(NAMES), st.sampled_from([":", "::", " :"]), st.sampled_from(VALUES)).map("".join)
TEXTS = st.text(max_size=60) | st.lists(FILTERS | st.text(max_size=5), max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("text", "rest", "filters"),
    [
        ("type:decision what about billing", "what about billing", {"types": ["decision"]}),
        ("what did we choose type:decision,lesson?", "what did we choose?", {"types": ["decision", "lesson"]}),
        ("Type:Decision type:fact tea", "tea", {"types": ["decision", "fact"]}),
        ("kind:semantic store:long-term tea", "tea", {"kinds": ["semantic"], "store": ["long_term"]}),
        ("tag:api tag:#db tea  time", "tea  time", {"tags": ["api", "db"]}),
        ("session:s-1 user:alex", "", {"session": "s-1", "user": "alex"}),
        ('who is entity:"Alex Chen"?', "who is?", {"entity": "Alex Chen"}),
        ("importance:0.7 level:weekly tea", "tea", {"min_importance": 0.7, "level": "weekly"}),
        ("importance:high tea", "tea", {"min_importance": 0.9}),
        ("importance:8 tea", "tea", {"min_importance": 0.8}),
        (
            "since:2026-11-01 until:2026-11-02 tea",
            "tea",
            {
                "since": datetime(2026, 11, 1, tzinfo=BERLIN),
                "until": datetime(2026, 11, 3, tzinfo=BERLIN) - TICK,
            },
        ),
        (
            "after:last_week before:2026-11-10 tea",
            "tea",
            {
                "since": datetime(2026, 11, 2, tzinfo=BERLIN),
                "until": datetime(2026, 11, 10, tzinfo=BERLIN) - TICK,
            },
        ),
        ('tea since:"3 days ago"', "tea", {"since": NOW - timedelta(days=3)}),
    ],
)
def test_filters_are_taken_out_of_the_question(text: str, rest: str, filters: dict[str, object]) -> None:
    assert split(text, NOW, BERLIN) == (rest, filters)


@pytest.mark.parametrize(
    "text",
    [
        "error:foo",
        "see http://example.org/type:decision",
        "type: decision",
        "tag: api",
        "tag:#",
        "tag:,",
        "since:nonsense",
        "type:nonsense",
        "type:decision,nonsense",
        "importance:11",
        "importance:much",
        "level:hourly",
        "subtype:decision",
        "\u017fince:today k\u0130nd:semantic",
        '"type:decision"',
        'entity:"',
        "before:0001-01-01",
        "#api  two blanks ",
    ],
)
def test_what_only_looks_like_a_filter_stays_text(text: str) -> None:
    assert split(text, NOW, BERLIN) == (text, {})


def test_filters_are_arguments_of_a_query() -> None:
    rest, filters = split(
        "type:fact kind:semantic tag:a store:vault entity:x user:u importance:1 since:2026 tea", NOW, UTC
    )
    query = Query.from_args(rest, now=NOW, zone=UTC, **filters)  # type: ignore[arg-type]
    assert query.text == "tea"
    assert query.filter.is_narrow


@given(TEXTS, st.datetimes(timezones=st.sampled_from([UTC, BERLIN])), st.sampled_from([UTC, BERLIN]))
def test_any_text_can_be_split(text: str, now: datetime, zone: tzinfo) -> None:
    rest, filters = split(text, now, zone)
    assert len(rest) < len(text) if filters else rest == text


@pytest.mark.parametrize("piece", ["since:x ", "type:", "type:decision ", " ", 'entity:"a ', "?", "until:1 day ago "])
def test_endless_text_is_split_quickly(piece: str) -> None:
    text = (piece * 100_000)[:100_000]
    split(text, NOW, BERLIN)
    start = time.process_time()
    split(text, NOW, BERLIN)
    assert time.process_time() - start < 0.05
