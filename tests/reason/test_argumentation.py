"""Dung's frameworks: examples of the literature, and random ones against an answer set solver."""

from __future__ import annotations

from typing import Any

import clingo
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.methods.social import argumentation as reason
from tests.reason.asking import SHORT, ask


def _asked(names: str, attacks: str, **more: Any) -> dict[str, Any]:
    return dict(ask(reason, arguments=list(names), attacks=[list(each) for each in attacks.split()], **more).answer)


@pytest.mark.parametrize(
    ("names", "attacks", "grounded", "preferred", "stable"),
    [
        # Dung, On the acceptability of arguments, AIJ 77 (1995), example 1: who has the last word laughs best.
        ("abc", "ab ba cb", "ac", ["ac"], ["ac"]),
        # Dung 1995, example 9: the Nixon diamond.
        ("ab", "ab ba", "", ["a", "b"], ["a", "b"]),
        # Baroni & Giacomin, Semantics of abstract argument systems (2009): a cycle of three has no stable extension.
        ("abc", "ab bc ca", "", [""], []),
        # Baroni & Giacomin 2009: floating acceptance.
        ("abcd", "ab ba ac bc cd", "", ["ad", "bd"], ["ad", "bd"]),
        # Baroni & Giacomin 2009: an argument that attacks itself leaves no stable extension.
        ("a", "aa", "", [""], []),
        # Egly, Gaggl & Woltran, Answer-set programming encodings, Argument and Computation 1 (2010), example 1.
        ("abcde", "ab cb cd dc de ee", "a", ["ac", "ad"], ["ad"]),
    ],
)
def test_extensions_are_those_of_the_literature(
    names: str, attacks: str, grounded: str, preferred: list[str], stable: list[str]
) -> None:
    found = _asked(names, attacks)
    assert "".join(found["grounded"]) == grounded
    assert sorted("".join(each) for each in found["preferred"]) == preferred
    assert sorted("".join(each) for each in found["stable"]) == stable


ENCODING = """
in(X) :- arg(X), not out(X).  out(X) :- arg(X), not in(X).
:- in(X), in(Y), att(X,Y).
beaten(X) :- in(Y), att(Y,X).  loose(X) :- att(Y,X), not beaten(Y).
:- in(X), loose(X).  :- out(X), not loose(X).  #show in/1.
"""
"""Complete extensions, after Egly, Gaggl & Woltran, Answer-set programming encodings (2010)."""


def _complete(size: int, attacks: set[tuple[int, int]]) -> set[frozenset[int]]:
    facts = "".join(f"arg({each})." for each in range(size)) + "".join(f"att({a},{b})." for a, b in attacks)
    control = clingo.Control(["0", "--warn=none"])
    control.add("base", [], ENCODING + facts)
    control.ground([("base", [])])
    found: set[frozenset[int]] = set()
    control.solve(
        on_model=lambda model: found.add(frozenset(each.arguments[0].number for each in model.symbols(shown=True)))
    )
    return found


@given(
    st.integers(1, 7).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=14))
    )
)
def test_random_frameworks_agree_with_an_answer_set_solver(framework: tuple[int, set[tuple[int, int]]]) -> None:
    size, attacks = framework
    answer = ask(
        reason, arguments=[str(each) for each in range(size)], attacks=[[str(a), str(b)] for a, b in attacks]
    ).answer
    sets = {kind: {frozenset(map(int, each)) for each in answer[kind]} for kind in ("complete", "preferred", "stable")}
    complete = _complete(size, attacks)
    assert sets["complete"] == complete
    assert sets["preferred"] == {one for one in complete if not any(one < other for other in complete)}
    beaten = {one: {b for a, b in attacks if a in one} for one in complete}
    assert sets["stable"] == {one for one in complete if one | beaten[one] == set(range(size))}
    assert frozenset(map(int, answer["grounded"])) == frozenset.intersection(*complete)


def test_status_labels_and_the_attack_that_decides() -> None:
    result = ask(
        reason,
        arguments={"a": "he saw it", "b": "he is blind", "c": "he is not"},
        attacks=[["b", "a"], ["c", "b"]],
        question="a",
    )
    assert result.conclusion == "a (he saw it) is accepted beyond dispute"
    assert result.answer["holds"] is True
    assert "if c did not attack b: a would fall" in result.would_change
    assert _asked("abcd", "ab ba ac bc cd")["status"] == {
        "a": "tenable", "b": "tenable", "c": "rejected", "d": "accepted in every position"}  # fmt: skip


def test_senseless_and_too_large_input_is_named() -> None:
    with pytest.raises(InputError, match=r"attacks\[0\] is \['a', 'x'\]"):
        ask(reason, arguments=["a"], attacks=[["a", "x"]])
    with pytest.raises(InputError, match="arguments has 0 members"):
        ask(reason, arguments={}, attacks=[])
    with pytest.raises(InputError, match=r"attacks\[0\]\[0\] is \['a'\]"):
        ask(reason, arguments=["a"], attacks=[[["a"], "a"]])
    many = [str(each) for each in range(40)]
    pairs = [[many[at], many[at ^ 1]] for at in range(40)]
    with pytest.raises(InputError, match="more than 1,000 cases"):
        ask(reason, SHORT, arguments=many, attacks=pairs)
