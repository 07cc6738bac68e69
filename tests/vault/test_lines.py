"""Ledgers in JSON lines are written exactly and read past whatever is broken."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.vault.lines import read_lines, render_line, split_lines
from tests.conftest import many

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(texts, part, max_size=3),
    max_leaves=8,
)
records = st.dictionaries(texts, values, max_size=4)


def records_of(data: bytes) -> list[dict[str, Any]]:
    return read_lines(data).records


@many(200)
@given(st.lists(records, max_size=5))
def test_records_survive_the_round_trip(written: list[dict[str, Any]]) -> None:
    data = b"".join(map(render_line, written))
    reading = read_lines(data)
    assert reading.records == written
    assert (reading.problems, reading.torn, reading.tail) == ([], 0, None)


@many(200)
@given(records, records)
def test_torn_end_is_counted(first: dict[str, Any], second: dict[str, Any]) -> None:
    whole, torn = render_line(first), render_line(second)
    for cut in range(len(torn)):
        reading = read_lines(whole + torn[:cut])
        assert reading.records == [first]
        assert reading.torn == cut
        assert (reading.tail is not None) == (cut == len(torn) - 1)


@many(300)
@given(st.binary() | st.lists(st.sampled_from([b"{}", b"\n", b"\r\n", b"\xff", b"{", b"[1]", b"\0"])).map(b"".join))
def test_nothing_raises_and_lines_are_exactly_the_bytes(data: bytes) -> None:
    assert b"".join(split_lines(data)) == data
    read_lines(data)


def test_line_is_compact_and_readable() -> None:
    assert render_line({"id": "S-1", "größe": [1, 2.5, None]}) == '{"id":"S-1","größe":[1,2.5,null]}\n'.encode()


def test_line_separators_of_unicode_do_not_break_a_line() -> None:
    data = render_line({"a": "x\u2028y\x85z\r\n"})
    assert data.count(b"\n") == 1
    assert records_of(data) == [{"a": "x\u2028y\x85z\r\n"}]


@pytest.mark.parametrize(
    "record", [{"a": float("nan")}, {"a": float("-inf")}, {"a": "\ud800"}, {"a": {1: 2}}, {"a": b"x"}, {"a": 10**5000}]
)
def test_what_json_cannot_hold_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        render_line(record)


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        b"[1]",
        b"7",
        b'{"a":NaN}',
        b'{"a":1e999}',
        b'{"a":"\\ud800"}',
        b'{"a":"\xff"}',
        b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"a":' + b"9" * 5000 + b"}",
    ],
    ids=str,
)
def test_bad_line_is_reported_and_skipped(bad: bytes) -> None:
    reading = read_lines(b'{"a":1}\n' + bad + b'\n{"b":2}\n')
    assert reading.records == [{"a": 1}, {"b": 2}]
    assert len(reading.problems) == 1
    assert reading.problems[0].startswith("line 2: ")


def test_byte_order_mark_carriage_returns_and_blank_lines_are_tolerated() -> None:
    data = b'\xef\xbb\xbf{"a":1}\r\n\r\n \n{"b":2}\r\n'
    reading = read_lines(data)
    assert reading.records == [{"a": 1}, {"b": 2}]
    assert reading.problems == []


def test_record_that_lacks_only_its_line_end_is_told_apart() -> None:
    reading = read_lines(b'{"a":1}\n{"b":2}')
    assert reading.records == [{"a": 1}]
    assert reading.torn == 7
    assert reading.tail == {"b": 2}


def test_large_integers_are_kept() -> None:
    assert records_of(render_line({"n": 10**2000})) == [{"n": 10**2000}]
