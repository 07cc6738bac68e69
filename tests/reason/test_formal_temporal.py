"""Allen's interval algebra against his paper, and against intervals with times."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.inputs import Effort
from memfolio.reason.methods.formal import ALL, composition, relation, solve
from memfolio.reason.methods.formal import temporal as reason
from tests.reason.asking import SHORT, ask

SIGNS = dict(zip("< > d di o oi m mi s si f fi".split(), (
    "before", "after", "during", "contains", "overlaps", "overlapped by", "meets", "met by", "starts", "started by",
    "finishes", "finished by"), strict=True))  # fmt: skip
# Allen, Maintaining knowledge about temporal intervals, CACM 26 (1983), figure 4, p. 836: rows are A to B, columns B to
# C, both in the order of SIGNS; * is no information, and % that they have time in common: o oi d di s si f fi =.
TABLE = """
< | * | < o m d s | < | < | < o m d s | < | < o m d s | < | < | < o m d s | <
* | > | > oi mi d f | > | > oi mi d f | > | > oi mi d f | > | > oi mi d f | > | > | >
< | > | d | * | < o m d s | > oi mi d f | < | > | d | > oi mi d f | d | < o m d s
< o m di fi | > oi di mi si | % | di | o di fi | oi di si | o di fi | oi di si | di fi o | di | di si oi | di
< | > oi di mi si | o d s | < o m di fi | < o m | % | < | oi di si | o | di fi o | d s o | < o m
< o m di fi | > | oi d f | > oi mi di si | % | > oi mi | o di fi | > | oi d f | oi > mi | oi | oi di si
< | > oi mi di si | o d s | < | < | o d s | < | f fi = | m | m | d s o | <
< o m di fi | > | oi d f | > | oi d f | > | s si = | > | d f oi | > | mi | mi
< | > | d | < o m di fi | < o m | oi d f | < | mi | s | s si = | d | < m o
< o m di fi | > | oi d f | di | o di fi | oi | o di fi | mi | s si = | si | oi | di
< | > | d | > oi mi di si | o d s | > oi mi | m | > | d | > oi mi | f | f fi =
< | > oi mi di si | o d s | di | o | oi di si | m | oi di si | o | di | f fi = | fi
"""


def test_composition_is_allens_published_table() -> None:
    names = SIGNS | {"=": "equals"}
    many = {"*": " ".join(names), "%": "o oi d di s si f fi ="}
    for row, first in zip(TABLE.strip().splitlines(), SIGNS, strict=True):
        for cell, second in zip(row.split("|"), SIGNS, strict=True):
            published = {names[each] for each in many.get(cell.strip(), cell).split()}
            assert composition()[SIGNS[first], SIGNS[second]] == published, (first, second)
    for each in ALL:
        assert composition()["equals", each] == composition()[each, "equals"] == {each}


def test_allens_light_switch() -> None:
    # Allen 1983, section 4: the switch S was touched, the light L was on, John was in the room R.
    first = ["S overlaps or meets L", "S before or meets or met by or after R"]
    result = ask(reason, constraints=[*first, "L overlaps or starts or during R"], between=["S", "R"])
    assert result.answer["relations"] == {"S | R": ["before", "meets"]}
    assert len(result.would_change) == 3


spans = st.tuples(st.integers(0, 6), st.integers(1, 4)).map(lambda each: (each[0], each[0] + each[1]))


@given(st.lists(spans, min_size=3, max_size=4), st.randoms(use_true_random=False))
def test_what_is_true_of_real_intervals_is_never_excluded(times: list[tuple[int, int]], chance: Any) -> None:
    named = {f"i{number}": span for number, span in enumerate(times)}
    real = {(one, other): relation(named[one], named[other]) for one, other in combinations(named, 2)}
    said = [(one, frozenset({held, *chance.sample(sorted(ALL), 3)}), other) for (one, other), held in real.items()]
    network = solve(list(named), said, Effort(10**6))
    assert network is not None
    assert all(held in network[pair] for pair, held in real.items())


def test_times_give_relations_and_a_cycle_is_found() -> None:
    times = {"lunch": {"start": "2026-11-15T12:00", "end": "2026-11-15T13:00"}}
    times |= {"meeting": {"start": "2026-11-15T11:00", "end": "2026-11-15T15:00"}}
    result = ask(reason, intervals=times, constraints=["call before lunch", "call met-by meeting"])
    assert result.answer["conflict"] == ["call before lunch", "call met-by meeting", "lunch during meeting"]
    assert ask(reason, intervals=times).conclusion == "lunch during meeting"
    round_trip = ask(reason, constraints=["A before B", "B before C", "C before A", "A meets D"])
    assert round_trip.answer["conflict"] == ["A before B", "B before C", "C before A"]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"constraints": ["A near B"]}, r"constraints\[0\] is 'A near B'"),
        ({"intervals": {"a": {"start": 2, "end": 1}, "b": {"start": 1, "end": 2}}}, "intervals.a does not end after"),
        ({"intervals": {"a": {"start": "2026-02-30", "end": 1}}}, "intervals.a.start is '2026-02-30'"),
        (
            {"intervals": {"a": {"start": 1, "end": 2}, "b": {"start": "2026-02-03", "end": "2026-02-04"}}},
            "intervals have numbers and dates",
        ),
        ({"constraints": ["A before B"], "between": ["A", "X"]}, "no two intervals"),
        ({"constraints": [f"a{each} before a{each + 1}" for each in range(30)]}, "more than 1,000 cases"),
    ],
)
def test_senseless_input_is_named(values: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        ask(reason, SHORT, **values)
