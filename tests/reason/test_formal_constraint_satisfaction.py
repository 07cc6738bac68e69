"""Constraint satisfaction on the field's puzzles, and random problems against plain enumeration."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.methods.formal import constraint_satisfaction as reason
from tests.reason.asking import SHORT, ask

DIGIT, LEADING = {"from": 0, "to": 9}, {"from": 1, "to": 9}
STATES = "WA NT SA Q NSW V T".split()
MAP = [each.replace("-", " != ") for each in "SA-WA SA-NT SA-Q SA-NSW SA-V WA-NT NT-Q Q-NSW NSW-V".split()]


def test_send_more_money() -> None:
    # Dudeney, Strand Magazine 68 (July 1924), p. 97: 9567 + 1085 = 10652.
    letters = dict.fromkeys("ENDORY", DIGIT) | {"S": LEADING, "M": LEADING}
    total = "1000*S + 100*E + 10*N + D + 1000*M + 100*O + 10*R + E = 10000*M + 1000*O + 100*N + 10*E + Y"
    result = ask(reason, variables=letters, constraints=["alldifferent(S, E, N, D, M, O, R, Y)", total])
    assert result.answer["complete"]
    (found,) = result.answer["solutions"]
    assert [found[each] for each in "SENDMORY"] == [9, 5, 6, 7, 1, 0, 8, 2]


def test_map_of_australia() -> None:
    # Russell & Norvig, Artificial Intelligence (3rd ed. 2010), section 6.1.1: three colours do, two do not.
    three: dict[str, Any] = {state: ["red", "green", "blue"] for state in STATES}
    assert len(ask(reason, variables=three, constraints=MAP, solutions=100).answer["solutions"]) == 18
    result = ask(reason, variables={state: ["red", "green"] for state in STATES}, constraints=MAP)
    assert result.answer["solutions"] == []
    assert len(result.answer["conflict"]) == 3  # three that border each other
    tight = ask(
        reason, variables={each: ["red", "green"] for each in ("SA", "NT", "WA", "Q")}, constraints=[*MAP[:2], MAP[5]]
    )
    assert set(tight.would_change) == {f"without {each!r} there is a solution" for each in (*MAP[:2], MAP[5])}


def test_zebra() -> None:
    # Life International, 17 December 1962, p. 95: the Norwegian drinks water, the Japanese owns the zebra.
    groups = [
        "red green ivory yellow blue", "english spaniard ukrainian norwegian japanese", "dog snails fox horse zebra",
        "coffee tea milk juice water", "oldgold kools chesterfields luckystrike parliaments"]  # fmt: skip
    clues = """english = red; spaniard = dog; coffee = green; ukrainian = tea; green = ivory + 1; oldgold = snails
        kools = yellow; milk = 3; norwegian = 1; abs(chesterfields - fox) = 1; abs(kools - horse) = 1
        luckystrike = juice; japanese = parliaments; abs(norwegian - blue) = 1""".replace("\n", ";").split(";")
    different = [f"alldifferent({', '.join(each.split())})" for each in groups]
    houses = {name: {"from": 1, "to": 5} for each in groups for name in each.split()}
    result = ask(reason, variables=houses, constraints=[*different, *(each.strip() for each in clues)])
    (found,) = result.answer["solutions"]
    assert found["water"] == found["norwegian"] == 1
    assert found["zebra"] == found["japanese"] == 5
    assert any(each.startswith("without 'milk = 3'") for each in result.would_change)


def test_six_queens_have_four_solutions() -> None:
    # Ahrens, Mathematische Unterhaltungen und Spiele (1901), chapter IX: 4 for six queens, 92 for eight.
    rows = {f"q{each}": {"from": 1, "to": 6} for each in range(6)}
    apart = [f"abs(q{one} - q{two}) != {two - one}" for one, two in combinations(range(6), 2)]
    result = ask(reason, variables=rows, constraints=[f"alldifferent({', '.join(rows)})", *apart], solutions=10)
    assert len(result.answer["solutions"]) == 4


parts = st.sampled_from(
    ["x", "y", "z", "1", "2", "x + y", "z - y", "2 * x", "abs(x - z)", "max(x, y)", "x * y", "x % y", "x // y"]
)
plain = st.builds("{} {} {}".format, parts, st.sampled_from("= != < <= > >=".split()), parts)
joined = st.builds("{} {} {}".format, plain, st.sampled_from(["and", "or"]), plain)
related = st.builds("({}) {} ({})".format, plain, st.sampled_from(["implies", "iff"]), plain | joined)
PYTHON = {"=": "==", "implies": "<=", "iff": "=="}


def _holds(text: str, values: dict[str, int]) -> bool:
    """The same by Python, whose <= and == between truths are implies and iff."""
    return bool(eval(" ".join(PYTHON.get(each, each) for each in text.split()), {"abs": abs, "max": max, **values}))


@given(st.lists(plain | joined | related, max_size=3, unique=True))
def test_random_problems_have_the_solutions_of_enumeration(texts: list[str]) -> None:
    every = [dict(zip("xyz", each, strict=True)) for each in product(range(1, 5), repeat=3)]
    wanted = [values for values in every if all(_holds(text, values) for text in texts)]
    domains = {name: {"from": 1, "to": 4} for name in "xyz"}
    result = ask(reason, variables=domains, constraints=texts, solutions=100)
    assert sorted(map(str, result.answer["solutions"])) == sorted(map(str, wanted))
    for each in result.answer.get("conflict", []):
        rest = [one for one in result.answer["conflict"] if one != each]
        assert ask(reason, variables=domains, constraints=rest).answer["solutions"]


def test_what_is_divided_by_nothing_meets_no_comparison() -> None:
    def solved(text: str) -> list[int]:
        return [each["x"] for each in ask(reason, variables={"x": DIGIT}, constraints=[text]).answer["solutions"]]

    assert solved("6 / x = 6 or 6 / x != 6")[0] == 1
    assert solved("x != 0 implies 6 / x = 6") == [0, 1]
    assert solved('x < 1 and x != "red"') == [0]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"variables": {}}, "variables has 0 members"),
        ({"variables": {"x": []}}, r"variables.x is \[\]"),
        ({"variables": {"x": [1]}, "constraints": ["x < why"]}, "names 'why'"),
        ({"variables": {"x": [1]}, "constraints": ["open(x) = 1"]}, r"has 'open\(x\)'"),
        ({"variables": {"x": [1, 2]}, "constraints": ['x < "red"']}, "cannot be worked out"),
        ({"variables": {"x": [9**9]}, "constraints": ['"a" * x = "%9999999999d" % x']}, "cannot be worked out"),
        ({"variables": {"x": [9]}, "constraints": ["x ** x ** x = 1"]}, "cannot be worked out"),
        ({"variables": {f"x{each}": DIGIT for each in range(12)}, "constraints": [
            f"x{a} * x{b} % 7 != 3" for a, b in combinations(range(12), 2)]}, "more than 1,000 cases"),
    ],
)  # fmt: skip
def test_senseless_input_is_named(values: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        ask(reason, SHORT, **values)
