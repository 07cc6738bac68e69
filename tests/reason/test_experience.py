"""Kept cases, and patterns against published answers."""

from __future__ import annotations

from typing import Any

import pytest

from memfolio import Memory
from memfolio.errors import InputError
from memfolio.reason.methods.experience import case_based, pattern_recognition
from tests.reason.asking import ask, knowing


def test_kept_cases_are_reused_with_what_differs(memory: Memory) -> None:
    at = {"beliefs": ["B-1", "B-2"], "desires": ["D-1"]}
    kept = memory.cases.store(at, {"actions": ["revert"]}, {"success": True})
    memory.cases.store(at, {"actions": ["wait"]}, {"success": False})
    found = ask(case_based, knowing(memory), beliefs=["B-1", "B-3"], desires=["D-1"])
    assert found.conclusion == f"Do as in {kept.id}: revert (different: there also B-2; here also B-3)"
    assert found.confidence == pytest.approx(0.7 * 2 / 3)
    assert [*found.answer["warnings"].values()] == ["wait"]


def examples(rows: list[tuple[Any, str]]) -> list[dict[str, Any]]:
    return [{"values": list(values), "label": label} for values, label in rows]


ISLR = examples(
    [
        ((0, 3, 0), "red"),
        ((2, 0, 0), "red"),
        ((0, 1, 3), "red"),
        ((0, 1, 2), "green"),
        ((-1, 0, 1), "green"),
        ((1, 1, 1), "red"),
    ]
)


def test_james_et_al_2013_six_observations() -> None:
    """G. James et al., An Introduction to Statistical Learning (2013), exercise 2.7: green for K = 1, red for K = 3."""
    found = ask(pattern_recognition, item=[0, 0, 0], examples=ISLR, k=3)
    assert found.answer["distances"] == pytest.approx([3, 2, 10**0.5, 5**0.5, 2**0.5, 3**0.5])
    assert found.answer["best"] == "red"
    assert found.confidence == pytest.approx(2 / 3)
    assert "with k = 1 it would be green" in found.would_change


def test_teknomo_2006_paper_tissue() -> None:
    """K. Teknomo, K-Nearest Neighbors Tutorial (2006): squared distances 16, 25, 9, 13; two of three are good."""
    tissue = examples([((7, 7), "bad"), ((7, 4), "bad"), ((3, 4), "good"), ((1, 4), "good")])
    found = ask(pattern_recognition, item=[3, 7], examples=tissue)
    assert [each**2 for each in found.answer["distances"]] == pytest.approx([16, 25, 9, 13])
    assert (found.answer["best"], found.answer["votes"]) == ("good", {"good": 2, "bad": 1})


@pytest.mark.parametrize(
    "bad",
    [
        {"item": [1, 2], "examples": examples([((1,), "a")])},
        {"item": [1], "examples": []},
        {"item": [1], "exmples": []},
    ],
)
def test_patterns_that_make_no_sense_are_refused(bad: Any) -> None:
    with pytest.raises(InputError):
        ask(pattern_recognition, **bad)
