"""Rows: whatever is in a text, it stays one string on the server."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.knowledge.typedb.mirror import MOST_TEXT, literal, quoted
from tests.knowledge.typedb.typeql import Tokens

INJECTION = '"; }\ndelete $x; match $y isa node; \\" \' # \\u0022 🙂 $u == "a\\'


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.just(INJECTION))
def test_a_text_is_read_back_as_it_was(text: str) -> None:
    tokens = Tokens(quoted(text))
    assert len(tokens.list) == 1
    assert tokens.value() == text


def test_a_very_long_text_is_cut_with_a_mark() -> None:
    for letter in "xé🙂":
        found = Tokens(quoted(letter * MOST_TEXT * 2)).value()
        assert set(found) == {letter, "…"}
        assert MOST_TEXT - 4 < len(found.encode()) <= MOST_TEXT


@pytest.mark.parametrize(
    ("value", "type", "expected"),
    [
        ("0.25", "double", "0.250000000"),
        (1e-5, "double", "0.000010000"),
        ("nan", "double", None),
        ("lots", "double", None),
        ("12", "integer", "12"),
        ("12.5", "integer", None),
        (str(2**63), "integer", None),
        (True, "boolean", "true"),
        ("perhaps", "boolean", None),
        ("2026-12-31", "datetime", "2026-12-31T00:00:00.000000"),
        ("2026-12-31T12:00:00+02:00", "datetime", "2026-12-31T10:00:00.000000"),
        ("soon", "datetime", None),
        ("", "string", None),
        (None, "string", None),
    ],
)
def test_a_value_is_a_literal_of_its_type_or_left_out(value: Any, type: str, expected: str | None) -> None:
    assert literal(value, type) == expected
