"""Filters typed into a question count, and whatever only looks like one stays text."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio import InputError, Memory
from memfolio.recall.query import MANY, MAX_FILTERS, Query, split

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


def test_only_what_is_known_is_a_filter() -> None:
    known = {("tag", "db"), ("user", "kim")}
    text = "tag:db tag:latest tag:db,other user:kim user:postgres session:x entity:foo type:fact tea"
    rest, filters = split(text, NOW, UTC, lambda name, value: (name, value) in known)
    assert rest == "tag:latest tag:db,other user:postgres session:x entity:foo tea"
    assert filters == {"tags": ["db"], "user": "kim", "types": ["fact"]}


def test_too_many_filters_and_values_stay_text() -> None:
    many = ",".join(f"t{number}" for number in range(MANY + 1))
    assert split(f"tag:a tag:{many} tea", NOW, UTC)[1] == {"tags": ["a"]}
    rest, filters = split("type:fact " * (MAX_FILTERS + 2), NOW, UTC)
    assert rest.split() == ["type:fact"] * 2
    assert filters == {"types": ["fact"]}


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


@given(TEXTS, st.datetimes(timezones=st.sampled_from([UTC, BERLIN])), st.sampled_from([UTC, BERLIN]))
def test_any_text_is_a_valid_question(text: str, now: datetime, zone: tzinfo) -> None:
    since = datetime(2026, 1, 1, tzinfo=UTC)
    assert Query.from_args(text, now=now, zone=zone, inline=True, since=since).filter.since == since
    query = Query.from_args(text, now=now, zone=zone, inline=True)
    assert query.inside or query.text == text


@pytest.mark.parametrize(
    "text", ["tea since:2026-11-10 until:2026-01-01", "tea after:2026-11-10 before:2026-11-10", "tea until:2025"]
)
def test_times_that_end_before_they_begin_stay_text(text: str) -> None:
    since = None if "since" in text or "after" in text else "2026-01-01"
    query = Query.from_args(text, now=NOW, zone=UTC, inline=True, since=since)
    assert (query.text, dict(query.inside)) == (text, {})
    with pytest.raises(InputError):
        Query.from_args("tea", now=NOW, zone=UTC, inline=True, since="2026-11-10", until="2026-01-01")


def test_arguments_win_over_filters_in_the_text() -> None:
    query = Query.from_args(
        "type:fact tag:a user:kim importance:0.5 tea", now=NOW, zone=UTC, inline=True, types=["decision"], tags=[]
    )
    assert (query.text, query.inside) == ("tea", {"user": "kim", "min_importance": 0.5})
    assert ([*query.filter.types], query.filter.tags, query.filter.user) == (["decision"], (), "kim")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder: Path = tmp_path_factory.mktemp("inline")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMFOLIO_CACHE", str(folder / "cache"))
        with Memory.open(folder / "home", background=False) as memory:
            memory.remember("We pin the nginx image since the latest tag broke the release", type="decision")
            memory.remember("Uses [[tool--nginx]] as a proxy", tags=["Proxy"], user="kim", session="s-1")
            with Memory.open(folder / "home", "shared", background=False) as shared:
                shared.remember("The proxy is restarted on Mondays", tags=["ops"])
            yield memory


@pytest.mark.parametrize("name", ["tag:latest", "user:postgres", "session:x", "entity:foo"])
def test_what_nothing_has_is_looked_for_as_text(memory: Memory, name: str) -> None:
    hits = memory.recall(f"Why do we pin the nginx image {name}")
    assert hits[0].memory.content.startswith("We pin the nginx image")
    assert hits.filters == {}


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("tag:proxy proxy", {"tags": ["proxy"]}),
        ("user:kim proxy", {"user": "kim"}),
        ("session:s-1 proxy", {"session": "s-1"}),
        ("entity:Tool--Nginx proxy", {"entity": "Tool--Nginx"}),
        ("tag:ops proxy", {"tags": ["ops"]}),
    ],
)
def test_hits_say_which_filters_were_taken_from_the_text(memory: Memory, text: str, filters: dict[str, object]) -> None:
    hits = memory.recall(text)
    assert len(hits) == 1
    assert "proxy" in hits[0].memory.content
    assert hits.filters == filters
