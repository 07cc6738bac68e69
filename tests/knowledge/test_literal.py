"""Typed values: what a text stands for, and how two of them compare."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import ComparisonError
from memfolio.knowledge.literal import LONGEST, LiteralKind, Operator, compare, read_literal

AMOUNTS = st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**12), max_value=10**12).map(str)
DATES = st.one_of(
    st.dates().map(str), st.datetimes().map(str), st.datetimes(timezones=st.timezones()).map(lambda at: at.isoformat())
)
SPANS = st.tuples(AMOUNTS, st.sampled_from(["seconds", "hours", "days", "weeks"])).map(" ".join)
OF_ONE_TYPE = st.sampled_from(
    [
        AMOUNTS,
        AMOUNTS.map("{} EUR".format),
        AMOUNTS.map("€{}".format),
        AMOUNTS.map("{} %".format),
        DATES,
        SPANS,
        st.text().filter(lambda text: read_literal(text).kind is LiteralKind.TEXT),
    ]
)
ODD = st.text(alphabet="0123456789.,-+$€%kKeEPTDH:/ USDtruefalsedays\u2212\u00a0\u0663\ud800", max_size=24)


@pytest.mark.parametrize(
    ("kind", "same"),
    [
        ("number", ["50000", "50,000", "5e4", "+50000.0"]),
        ("money in USD", ["$50,000", "USD 50k", "50 k USD", "$0.05 million", "50000$"]),
        ("money in EUR", ["-€5", "€-5", "-5 EUR", "-5.00€"]),
        ("percent", ["12%", "12.0 %", "12 percent"]),
        ("date", ["2026-11-15", "2026-11-15T00:00", "2026-11-15 00:00Z", "2026-11-15T01:00+01:00"]),
        ("duration", ["P1D", "PT24H", "1 day", "24 Hours", "86400 seconds"]),
        ("boolean", ["true", "True", " TRUE "]),
        ("text", ["Straße", "STRASSE", "strasse "]),
    ],
)
def test_values_written_in_several_ways_are_equal(kind: str, same: list[str]) -> None:
    assert {str(read_literal(each)) for each in same} == {kind}
    pairs = list(permutations(same, 2))
    assert all(compare(one, Operator.EQ, two) and not compare(one, Operator.NE, two) for one, two in pairs)


@pytest.mark.parametrize(
    "text",
    [
        *("", "-$-5", "--5", "1,00", "5 usd", "50k", "2026-02-30", "P1Y", "Paris", "1" * (LONGEST + 1), "٣", "$"),
        *(
            "50.000 €",
            "$1.234",
            "-€50.000",
            "1,5",
            "1.234,50 €",
            "1.234.567",
            "$5 thou\u017fand",
            "5 \u017feconds",
            "$5€",
        ),
    ],
)
def test_what_only_looks_like_a_value_is_text(text: str) -> None:
    assert read_literal(text).kind is LiteralKind.TEXT


@pytest.mark.parametrize(
    ("left", "operator", "right"),
    [
        ("9", "lt", "10"),
        ("$9", "lt", "$10"),
        ("$1.5m", "gt", "$900k"),
        ("$1.234m", "gte", "$1,234k"),
        ("€0.125", "lt", "€1"),
        ("50.000", "lt", "51"),
        ("2 weeks", "gte", "P14D"),
        ("2026-11-15T23:30-05:00", "gt", "2026-11-16"),
        ("1" * 60, "lt", "1" * 59 + "2"),
        ("1" * 60 + " weeks", "lt", "1" * 59 + "2 weeks"),
        ("apple", "lt", "Banana"),
        ("New York", "contains", "YORK"),
        ("$50,000", "contains", "50"),
        ("5", "ne", "$5"),
    ],
)
def test_values_are_compared_by_what_they_mean(left: str, operator: str, right: str) -> None:
    assert compare(left, Operator(operator), right)


@pytest.mark.parametrize(
    ("left", "right"), [("$5", "five"), ("$5", "€5"), ("5", "5 %"), ("5", "5 days"), ("true", "false")]
)
def test_values_of_two_types_have_no_order(left: str, right: str) -> None:
    with pytest.raises(ComparisonError) as caught:
        compare(left, Operator.GT, right)
    assert all(word in caught.value.message for word in (repr(left), repr(right), str(read_literal(left))))
    assert not compare(left, Operator.EQ, right)


@given(OF_ONE_TYPE.flatmap(lambda each: st.tuples(each, each, each)))
def test_values_of_one_type_are_in_one_order(values: tuple[str, str, str]) -> None:
    one, two, three = values
    if len({str(read_literal(each)) for each in values}) > 1:  # a date too early for UTC is text
        return
    assert sum(compare(one, each, two) for each in (Operator.LT, Operator.EQ, Operator.GT)) == 1
    assert compare(one, Operator.LT, two) == compare(two, Operator.GT, one)
    assert compare(one, Operator.LTE, two) == (not compare(one, Operator.GT, two))
    assert compare(one, Operator.EQ, two) == (compare(one, Operator.LTE, two) and compare(one, Operator.GTE, two))
    if compare(one, Operator.LTE, two) and compare(two, Operator.LTE, three):
        assert compare(one, Operator.LTE, three)


@given(ODD | st.text(), ODD | st.text(), st.sampled_from(Operator))
def test_any_two_texts_compare_or_are_refused(left: str, right: str, operator: Operator) -> None:
    try:
        assert compare(left, operator, right) in (True, False)
    except ComparisonError as error:
        assert error.hint
