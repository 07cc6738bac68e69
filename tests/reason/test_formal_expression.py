"""Expressions against Python, which gives the same signs the same strength, and texts that are none."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.expression import MODAL, evaluate, expression, formula

VALUES = {"x": 2.0, "y": -1.0, "z": 3.0}
leaves = st.sampled_from(["x", "y", "z", "2", "1.5", "7e-1"])
sums = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds("{}{}{}".format, inner, st.sampled_from([" + ", "-", " * ", "/", "//", " % "]), inner),
        st.builds("({})".format, inner),
        st.builds("-{}".format, inner),
        st.builds("{}**2".format, leaves),
    ),
    max_leaves=6,
)
compared = st.lists(sums, min_size=2, max_size=3).map(" < ".join) | st.builds("{} == {}".format, sums, sums)
claims = st.recursive(
    compared,
    lambda inner: st.one_of(
        st.builds("{} and {}".format, inner, inner),
        st.builds("{} or {}".format, inner, inner),
        st.builds("not {}".format, compared),
        st.builds("({})".format, inner),
    ),
    max_leaves=5,
)


@given(sums | claims)
def test_expressions_come_to_what_they_do_in_python(text: str) -> None:
    try:
        wanted = float(eval(text, {}, VALUES))
    except ZeroDivisionError:
        return
    assert float(evaluate("it", text, VALUES)) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('a = "red" implies b != "red"', "(a = red) implies (b != red)"),
        ("p and q or r implies s iff t", "(((p and q) or r) implies s) iff t"),
        ("a implies b implies c", "a implies (b implies c)"),
        ("not a = b and ~c | d", "(not (a = b) and not c) or d"),
        ("-2 ** -x", "neg (2 ** neg x)"),
        ("food is not rancid", "food is not rancid"),
    ],
)
def test_signs_bind_as_they_should(text: str, read: str) -> None:
    assert str(expression(text, "it")) == read


@pytest.mark.parametrize("text", ["", "²", "9" * 4900, "1e999", "p q", "p and", "(p", "()", '""', "p.q", "p + 1"])
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="it"):
        formula(text, "it", MODAL)


@given(st.text(alphabet="pq01.()<>=!&|~-+*/%, andortiflmsx[]'\"²", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (partial(formula, modal=MODAL), expression):
        try:
            read(text, "it")
        except InputError as error:
            assert error.hint
