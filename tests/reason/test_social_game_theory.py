"""Games whose equilibria are published."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.inputs import Result
from memfolio.reason.methods.social import game_theory as reason
from tests.reason.roomless import roomless


def played(row: Any, column: Any = None, **more: Any) -> Result:
    return reason({"row_payoffs": row, "column_payoffs": column, **more}, roomless())


def mixes(result: Result) -> set[tuple[tuple[str, ...], ...]]:
    return {tuple(map(tuple, pair)) for pair in result.answer["equilibria"]}


def test_prisoners_confess_though_silence_is_better_for_both() -> None:
    """Osborne 2004, "An introduction to game theory", section 2.2 and example 28.1."""
    names = {"rows": ["quiet", "fink"], "columns": ["quiet", "fink"]}
    result = played([[2, 0], [3, 1]], [[2, 3], [0, 1]], **names)
    assert result.answer["pure"] == ["(fink, fink)"]
    assert "(fink, fink)" not in result.answer["efficient"]
    assert result.would_change[0] == "(fink, fink) breaks once row gets more than 1 less there."
    assert "Another play is better for somebody and worse for nobody than (fink, fink)." in result.notes
    assert result.confidence == 1.0


def test_bach_or_stravinsky_has_two_pure_equilibria_and_a_mixed_one() -> None:
    """Osborne 2004, section 4.3: (2/3, 1/3) against (1/3, 2/3)."""
    result = played([[2, 0], [0, 1]], [[1, 0], [0, 2]])
    assert mixes(result) == {
        (("1", "0"), ("1", "0")),
        (("0", "1"), ("0", "1")),
        (("2/3", "1/3"), ("1/3", "2/3")),
    }
    assert result.confidence is None
    json.dumps(dict(result.answer))


@pytest.mark.parametrize(
    ("payoffs", "value", "mix"),
    [
        ([[1, -1], [-1, 1]], "0", ("1/2", "1/2")),  # matching pennies, Osborne 2004, example 19.1
        ([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], "0", ("1/3", "1/3", "1/3")),  # rock, paper, scissors
        ([[-2, 3], [3, -4]], "1/12", ("7/12", "5/12")),  # odd or even, Ferguson, "Game theory", part II, section 1.3
    ],
)
def test_zero_sum_games_have_their_value(payoffs: list[list[int]], value: str, mix: tuple[str, ...]) -> None:
    result = played(payoffs)
    assert result.answer["value"] == value
    assert {pair[0] for pair in mixes(result)} == {mix}


def test_every_equilibrium_of_three_against_two_is_found_and_a_degenerate_game_is_told() -> None:
    """Von Stengel 2007, in "Algorithmic game theory", chapter 3, games (3.3) and (3.7)."""
    row = [[3, 3], [2, 5], [0, 6]]
    last = (("0", "1/3", "2/3"), ("1/3", "2/3"))
    plain, degenerate = played(row, [[3, 2], [2, 6], [3, 1]]), played(row, [[3, 3], [2, 6], [3, 1]])
    assert mixes(plain) == {(("1", "0", "0"), ("1", "0")), (("4/5", "1/5", "0"), ("2/3", "1/3")), last}
    assert mixes(degenerate) == {(("1", "0", "0"), ("1", "0")), (("1", "0", "0"), ("2/3", "1/3")), last}
    assert any("degenerate" in note for note in degenerate.notes)
    assert not any("degenerate" in note for note in plain.notes)


def test_singular_and_tiny_games_have_their_equilibria() -> None:
    nothing = played([[0, 0], [0, 0]])
    assert (len(nothing.answer["equilibria"]), nothing.answer["value"], nothing.confidence) == (4, "0", None)
    assert any("degenerate" in note for note in nothing.notes)
    assert played([[7]]).would_change == ()
    assert played([[7]]).conclusion == "One equilibrium: row 1 against column 1, worth 7 to row."
    assert played([[1 / 3, 0], [0, 2 / 3]]).answer["value"] == "2/9"


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"row_payoffs": []}, "row_payoffs"),
        ({"row_payoffs": [[1, 2], [1]]}, "row_payoffs"),
        ({"row_payoffs": [[1, 2]], "column_payoffs": [[1]]}, "column_payoffs"),
        ({"row_payoffs": [[1, 2]], "columns": ["a", "a"]}, "columns"),
        ({"row_payoffs": [[1, 1e300]]}, r"row_payoffs\[0\]\[1\]"),
        ({"row_payoffs": [list(range(9))] * 9}, "more than 1,000,000 cases"),
    ],
)
def test_games_that_make_no_sense_or_are_too_large_are_refused(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        reason(wrong, roomless())


SMALL = st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=3, max_size=3)


@given(SMALL, SMALL)
def test_every_game_has_an_equilibrium_that_nobody_gains_by_leaving(a: list[list[int]], b: list[list[int]]) -> None:
    """Nash 1951."""
    pairs = played(a, b).answer["equilibria"]
    assert pairs
    for x, y in [[list(map(Fraction, mix)) for mix in pair] for pair in pairs]:
        rows = [sum(y[c] * a[r][c] for c in range(3)) for r in range(3)]
        columns = [sum(x[r] * b[r][c] for r in range(3)) for c in range(3)]
        assert sum(x[r] * rows[r] for r in range(3)) == max(rows)
        assert sum(y[c] * columns[c] for c in range(3)) == max(columns)
