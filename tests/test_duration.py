"""Durations: what is read, what is refused, and that writing is the inverse of reading."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.clock import format_duration, parse_duration
from memfolio.errors import InputError


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("PT10M", timedelta(minutes=10)),
        ("P90D", timedelta(days=90)),
        ("P2W", timedelta(weeks=2)),
        ("P1DT2H3M4.5S", timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
        ("pt0,5h", timedelta(minutes=30)),
        ("PT0S", timedelta(0)),
    ],
)
def test_duration_is_read(text: str, span: timedelta) -> None:
    assert parse_duration(text) == span


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "10", "P1Y", "P1M", "-P1D", "P-1D", "PT1H ", "PT1S1H", "P١D"])
def test_what_is_no_duration_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(InputError, match="not a duration") as caught:
        parse_duration(text)
    assert "PT10M" in caught.value.hint


def test_duration_beyond_all_time_is_refused() -> None:
    with pytest.raises(InputError, match="too long"):
        parse_duration(f"P{'9' * 400}D")


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=100_000)))
def test_written_duration_reads_back_the_same(span: timedelta) -> None:
    assert parse_duration(format_duration(span)) == span


@given(st.text(alphabet="PTWDHMS0123456789.,-"))
def test_any_text_is_a_duration_or_an_input_error(text: str) -> None:
    try:
        assert parse_duration(text) >= timedelta(0)
    except InputError as error:
        assert error.hint
