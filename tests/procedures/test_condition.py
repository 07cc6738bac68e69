"""Conditions: what they say, what they say of values that are unknown, and what makes no sense."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.procedures.page import read_condition


@pytest.mark.parametrize(
    ("text", "values", "holds"),
    [
        ("urgent", {"urgent": True}, True),
        ("urgent", {"Urgent": "no"}, False),
        ("not urgent", {"urgent": 0}, True),
        ("urgent is yes", {"urgent": True}, True),
        ("urgent is yes", {"urgent": "TRUE"}, True),
        ("urgent is not yes", {"urgent": "yes"}, False),
        ("tests passed is yes", {"tests_passed": "Yes"}, True),
        ("disk < 10", {"disk": 9.5}, True),
        ("disk >= 10 and disk <= 20", {"disk": "20"}, True),
        ("budget > $50,000", {"budget": "$60k"}, True),
        ("budget > $50,000", {"budget": "60"}, None),
        ("day >= 2026-11-15", {"day": date(2026, 11, 16)}, True),
        ("age > 30 days", {"age": timedelta(days=31)}, True),
        ('branch = "main and all"', {"branch": "Main and all"}, True),
        ("branch != main", {"branch": "dev"}, True),
        ("a or b and c", {"a": True, "b": False, "c": False}, True),
        ("(a or b) and c", {"a": True, "b": False, "c": False}, False),
        ("a or b", {"a": True}, True),
        ("a and b", {"a": True}, None),
        ("a and b", {"b": False}, False),
        ("not a", {}, None),
        ("__import__", {}, None),
    ],
)
def test_condition_holds_of_values(text: str, values: dict[str, Any], holds: bool | None) -> None:
    assert read_condition(text).holds(values) is holds


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "a name is missing at the end"),
        ("a is", "a value is missing at the end"),
        ("and b", "a name is missing before 'and b'"),
        ("(a or b", "`)` is missing at the end"),
        ("a )", "an operator is missing before ')'"),
        ("a not b", "an operator is missing before 'not b'"),
        ('a is "b', "a value is missing before"),
        ("(" * 100 + "a" + ")" * 100, "goes deeper than"),
        ("not " * 100 + "a", "goes deeper than"),
        ("a" * 6000, "6,000 characters"),
    ],
)
def test_what_makes_no_sense_is_said(text: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong.replace(")", r"\)")):
        read_condition(text)


@given(st.text(alphabet="ab ()<>=!\"'notis and or", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        condition = read_condition(text)
    except InputError:
        return
    assert condition.names
    assert condition.holds({}) is None
