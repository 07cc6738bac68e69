"""Modal logic against the theorems of the textbooks."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.expression import MODAL, Expression, formula
from memfolio.reason.methods.formal import KripkeModel
from memfolio.reason.methods.formal import modal as reason
from tests.reason.asking import SHORT, ask

REFLEXIVE = ["T", "B", "S4", "S5"]


def _model(worlds: int, arrows: int, atoms: dict[str, int]) -> KripkeModel:
    """The model whose arrows and truths are the bits of these numbers."""
    seen = {place: _worlds(arrows >> place * worlds, worlds) for place in range(worlds)}
    return KripkeModel(
        sees={f"w{place}": each for place, each in seen.items()},
        atoms={name: _worlds(mask, worlds) for name, mask in atoms.items()},
    )


def _worlds(mask: int, worlds: int) -> frozenset[str]:
    return frozenset(f"w{place}" for place in range(worlds) if mask >> place & 1)


def _systems(model: KripkeModel) -> set[str]:
    """The logics whose frames a model has."""
    arrows = {(one, other) for one, seen in model.sees.items() for other in seen}
    pairs = list(itertools.product(arrows, repeat=2))
    traits = {
        "": True,
        "serial": all(model.sees.values()),
        "reflexive": all((each, each) in arrows for each in model.sees),
        "symmetric": all((other, one) in arrows for one, other in arrows),
        "transitive": all((a, d) in arrows for (a, b), (c, d) in pairs if b == c),
        "euclidean": all((b, d) in arrows for (a, b), (c, d) in pairs if a == c),
    }
    return {logic for logic, wanted in LOGICS.items() if all(traits[each] for each in wanted.split())}


LOGICS = {"K": "", "D": "serial", "T": "reflexive", "B": "reflexive symmetric", "S4": "reflexive transitive"}
LOGICS |= {"S5": "reflexive symmetric transitive", "KD45": "serial transitive euclidean"}
EVERY = list(LOGICS)
MODELS = [
    _model(worlds, arrows, {"p": p, "q": q})
    for worlds in (1, 2, 3)
    for arrows in range(1 << worlds * worlds)
    for p, q in itertools.product(range(1 << worlds), repeat=2)
    if worlds < 3 or q in (0, p ^ 1)  # a sample of the larger ones is enough to tell the logics apart
]
FRAMES = [(each, _systems(each)) for each in MODELS]


# Hughes & Cresswell, A New Introduction to Modal Logic (1996), chapters 2-3: which system has which theorem.
@pytest.mark.parametrize(
    ("theorem", "systems"),
    [
        ("[](p implies q) implies ([]p implies []q)", EVERY),  # K
        ("[](p and q) iff ([]p and []q)", EVERY),  # K3
        ("([]p or []q) implies [](p or q)", EVERY),  # K4
        ("<>(p or q) iff (<>p or <>q)", EVERY),  # K6
        ("<>(p and q) implies (<>p and <>q)", EVERY),  # K8
        ("[](p or q) implies ([]p or <>q)", EVERY),  # K9
        ("[](p or q) implies ([]p or []q)", []),
        ("[]p implies <>p", ["D", *REFLEXIVE, "KD45"]),  # D
        ("[]p implies p", REFLEXIVE),  # T
        ("p implies <>p", REFLEXIVE),  # T1
        ("[]p implies [][]p", ["S4", "S5", "KD45"]),  # 4
        ("[]<>p iff []<>[]<>p", ["B", "S4", "S5", "KD45"]),  # S4; in B as <>[]q implies q
        ("<>p implies []<>p", ["S5", "KD45"]),  # E
        ("[](p or []q) iff ([]p or []q)", ["S5", "KD45"]),
        ("p implies []<>p", ["B", "S5"]),  # B
        ("[]<>p implies <>[]p", []),  # McKinsey's M
        ("[]([]p implies p) implies []p", []),  # W, of provability
    ],
)
def test_theorems_of_hughes_and_cresswell_hold_in_the_models_that_they_say(theorem: str, systems: list[str]) -> None:
    term = formula(theorem, "theorem", MODAL)
    refuted = (logics for model, logics in FRAMES if model.where(term) != model.everywhere)
    assert set(EVERY) - set().union(*refuted) == set(systems)


def terms() -> st.SearchStrategy[Expression]:
    names = st.sampled_from([Expression("name", (), "p"), Expression("name", (), "q")])
    return st.recursive(
        names,
        lambda inner: st.one_of(
            st.builds(lambda one: Expression("box", (one,)), inner),
            st.builds(lambda one: Expression("not", (one,)), inner),
            st.builds(lambda op, *two: Expression(op, two), st.sampled_from(["and", "implies", "iff"]), inner, inner),
        ),
        max_leaves=5,
    )


@given(terms())
def test_a_formula_is_read_back_as_it_is_written(term: Expression) -> None:
    assert formula(str(term), "it", MODAL) == term


# Blackburn, de Rijke & Venema, Modal Logic (2001), example 1.22.
LINE: dict[str, Any] = {
    "worlds": ["w1", "w2", "w3", "w4", "w5"],
    "sees": {f"w{each}": [f"w{each + 1}"] for each in range(1, 5)},
    "true": {"w1": ["q"], "w2": ["p", "q"], "w3": ["p", "q"], "w4": ["q"], "w5": ["q"]},
}


@pytest.mark.parametrize(
    ("said", "world", "holds"),
    [
        ("<>[]p", "w1", True),
        ("<>[]p implies p", "w1", False),
        ("<>(p and not r)", "w2", True),
        ("q and <>(q and <>(q and <>(q and <>q)))", "w1", True),
        ("[]q", None, True),
        ("<>q", None, False),
    ],
)
def test_model_of_blackburn_de_rijke_and_venema_is_as_they_say(said: str, world: str | None, holds: bool) -> None:
    result = ask(reason, **LINE | {"formula": said} | ({"at": world} if world else {}))
    assert result.answer["holds"] is holds


def test_what_would_change_the_answer_does() -> None:
    values: dict[str, Any] = {"formula": "box p", "worlds": ["a", "b"], "sees": {"a": ["b"]}, "true": {"b": ["p"]}}
    assert ask(reason, **values, at="a").would_change == ("if p were false at b",)
    assert not ask(reason, **{**values, "true": {}}, at="a").answer["holds"]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"formula": "p and", "worlds": ["a"]}, "missing at the end"),
        ({"formula": "(p or q", "worlds": ["a"]}, "`\\)` is missing"),
        ({"formula": "p + q", "worlds": ["a"]}, r"formula has p \+ q"),
        ({"formula": "(" * 200 + "p", "worlds": ["a"]}, "deeper than"),
        ({"formula": "p", "worlds": ["a"], "sees": {"b": []}}, "'b', which is no world"),
        ({"formula": "p"}, "worlds is missing"),
        ({"formula": "p", "worlds": [f"w{each}" for each in range(20)]}, "more than 1,000 cases"),
    ],
)
def test_senseless_input_is_named(values: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        ask(reason, SHORT, **values)
