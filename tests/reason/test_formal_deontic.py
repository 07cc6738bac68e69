"""Standard deontic logic in models of ideal worlds: what it yields, and that it says so."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from memfolio.errors import InputError
from memfolio.reason.expression import DEONTIC, formula
from memfolio.reason.methods.formal import KripkeModel
from memfolio.reason.methods.formal import deontic as reason
from tests.reason.asking import ask

SOME = [("a",), ("b",), ("a", "b")]
MODELS = [
    KripkeModel(
        sees={"a": frozenset(from_a), "b": frozenset(from_b)},
        atoms={"p": frozenset(p), "q": frozenset(q)},
    )
    for from_a, from_b in itertools.product(SOME, repeat=2)
    for p, q in itertools.product([(), *SOME], repeat=2)
]
"""Every model of two worlds in which something is ideal from each, and two acts."""


@pytest.mark.parametrize(
    ("theorem", "holds"),
    [
        ("O p implies O (p or q)", True),  # Ross's paradox, Imperatives and logic, Theoria 7 (1941)
        ("F p implies F (p and q)", True),  # Prior's good Samaritan, Escapism (1958), p. 144
        ("O p implies P p", True),  # the axiom D
        ("O p iff not P not p", True),  # von Wright, Deontic logic, Mind 60 (1951)
        ("P (p or q) iff (P p or P q)", True),  # von Wright's distribution of permission
        ("(O (p implies q) and O p) implies O q", True),
        ("O p implies p", False),
        ("P p implies O p", False),
        # Chisholm, Contrary-to-duty imperatives and deontic logic, Analysis 24 (1963), pp. 33-36.
        ("not (O p and O (p implies q) and (not p implies O not q) and not p)", True),
        ("not (O p and (p implies O q) and (not p implies O not q) and not p)", False),
    ],
)
def test_known_consequences_hold_wherever_something_is_ideal(theorem: str, holds: bool) -> None:
    term = formula(theorem, "theorem", DEONTIC)
    assert all(model.where(term) == model.everywhere for model in MODELS) is holds


def test_forresters_gentle_murder_makes_murder_obligatory_where_gentle_ones_are_murders() -> None:
    # Forrester, Gentle murder, or the adverbial Samaritan, Journal of Philosophy 81 (1984), pp. 193-197.
    model: dict[str, Any] = {"worlds": ["real", "then"], "ideal": {"real": ["then"], "then": ["then"]}}
    model |= {"true": {"real": ["murder"], "then": ["murder", "gently"]}, "at": "real"}
    assert ask(reason, **model, formula="O gently").answer["holds"] is True
    assert ask(reason, **model, formula="O murder").answer["holds"] is True


def test_model_is_checked_at_a_world() -> None:
    model: dict[str, Any] = {"worlds": ["real", "good"], "ideal": {"real": ["good"], "good": ["good"]}}
    model |= {"true": {"good": ["pay"]}, "formula": "O pay and not pay", "at": "real"}
    assert ask(reason, **model).answer["holds"] is True
    assert ask(reason, **model).would_change == ("if pay were true at real", "if pay were false at good")
    with pytest.raises(InputError, match="from 'good' no world is ideal"):
        ask(reason, **{**model, "ideal": {"real": ["good"]}})
