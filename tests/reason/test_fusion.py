"""Fusion: agreement is shown, contradiction stays visible, and what weighs more leads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.reason.inputs import Result
from memfolio.reason.reason import fuse

NAMES = st.sampled_from(["A", "B", "C"])
VALUES = st.none() | st.booleans() | st.integers() | NAMES | st.lists(NAMES) | st.dictionaries(NAMES, st.integers())
KEYS = st.sampled_from(["best", "options", "holds", "claim", "other"])
ANSWERS = st.dictionaries(KEYS, VALUES | st.lists(st.lists(NAMES)), max_size=3)


AB = ["A", "B"]
OPEN = {"claim": "the door is open"}


def said(method: str, conclusion: str, confidence: float | None = 0.8, **answer: Any) -> Result:
    return Result(method=method, conclusion=conclusion, confidence=confidence, answer=answer)


def test_methods_that_choose_the_same_agree_and_keep_their_mean_confidence() -> None:
    one = said("expected-utility", "Take A.", 0.9, best=["A"], options=AB)
    other = said("decision-theory", "Take a by maximin.", 0.5, best="a", options=AB)
    found = fuse([one, other], {}, {})
    assert (found.decided, found.agreements) == (True, ("decision-theory = expected-utility",))
    assert found.conclusion == "Take A."
    assert found.confidence == pytest.approx((0.9 * 0.9 + 0.5 * 0.5) / 1.4)
    assert found.disagreements == ()


def test_contradiction_lowers_confidence_and_is_told_with_the_conclusion() -> None:
    one = said("expected-utility", "Take A.", 0.9, best="A", options=AB)
    other = said("decision-theory", "Take B.", 0.3, best="B", options=AB)
    found = fuse([one, other], {}, {})
    assert found.decided
    assert found.conclusion == "Take A. Against that, decision-theory: Take B."
    assert found.confidence == pytest.approx(0.9 * 0.75)
    assert found.disagreements == ("decision-theory: Take B. / expected-utility: Take A.",)
    assert found.views == (("expected-utility",), ("decision-theory",))


def test_equal_weight_against_each_other_is_no_consensus() -> None:
    one = said("deductive", "It holds.", 0.7, holds=True, **OPEN)
    other = said("modal", "It does not hold.", 0.7, holds=False, **OPEN)
    found = fuse([one, other], {}, {})
    assert (found.decided, found.confidence) == (False, None)
    assert found.conclusion == "Undecided: deductive: It holds.; against that, modal: It does not hold."


def test_fit_and_past_results_weigh() -> None:
    one = said("deductive", "It holds.", 0.7, holds=True, **OPEN)
    other = said("modal", "It does not hold.", 0.7, holds=False, **OPEN)
    fitting = fuse([one, other], {"deductive": 0.2, "modal": 1.0}, {})
    assert fitting.conclusion.startswith("It does not hold.")
    assert fitting.weights["deductive"] == pytest.approx(
        {"score": 0.2, "confidence": 0.7, "calibration": 0.75, "weight": 0.2 * 0.7 * 0.75}
    )
    proven = fuse([one, other], {}, {"deductive": 0.95, "modal": 0.4})
    assert proven.conclusion.startswith("It holds.")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"best": "flu", "options": ["flu", "cold"]}, {"best": "rest", "options": ["rest", "go"]}, None),
        ({"best": "A"}, {"best": "B"}, None),
        ({"best": "A", "options": AB}, {"holds": True, "claim": "A"}, None),
        ({"best": AB}, {"best": "b"}, True),
        ({"best": AB, "options": AB}, {"best": "B", "options": AB}, None),
        ({"best": "A", "options": AB}, {"best": "B", "options": ["B", "A", "C"]}, False),
        ({"holds": True, **OPEN}, {"holds": False, **OPEN}, False),
        ({"holds": True, **OPEN}, {"holds": None, **OPEN}, None),
        ({"holds": True, **OPEN}, {"holds": False, "claim": "payment arrived"}, None),
    ],
)
def test_only_answers_to_one_question_are_compared(one: Any, other: Any, same: bool | None) -> None:
    found = fuse([said("bayesian", "X.", **one), said("causal", "Y.", **other)], {}, {})
    assert (bool(found.agreements), bool(found.disagreements)) == (same is True, same is False)


def test_conclusions_in_words_are_compared_by_words_and_negation() -> None:
    one, other = (
        said("analogical", "The bridge will hold the load."),
        said("heuristic", "The bridge won't hold the load."),
    )
    assert len(fuse([one, other], {}, {}).disagreements) == 1
    same = said("reflection", "The load: the bridge will hold.")
    assert fuse([one, same], {}, {}).agreements == ("analogical = reflection",)


def test_certainty_given_the_inputs_is_not_taken_for_trust() -> None:
    proof, guess = (
        said("deductive", "It holds.", 1.0, holds=True, **OPEN),
        said("modal", "No.", 0.7, holds=False, **OPEN),
    )
    even = fuse([proof, guess], {}, {})
    assert (even.decided, even.weights["deductive"]["confidence"]) == (False, 0.75)
    assert fuse([proof], {}, {}).confidence == 0.75
    wrong_before = fuse([proof, guess], {}, {"deductive": 0.3})
    assert wrong_before.conclusion.startswith("No.")
    right_before = fuse([proof, guess], {}, {"deductive": 0.95})
    assert (right_before.decided, right_before.conclusion[:9]) == (True, "It holds.")


@given(st.lists(st.tuples(st.floats(0, 1) | st.none(), ANSWERS), max_size=5))
def test_whatever_methods_answer_nobody_gets_surer_by_being_fused(told: list[tuple[float | None, Any]]) -> None:
    results = [said(f"m{place}", f"It is {place}.", sure, **answer) for place, (sure, answer) in enumerate(told)]
    found = fuse(results, {}, {})
    assert (found.confidence or 0) <= max((sure or 0 for sure, _ in told), default=0) + 1e-9
    assert sum(map(len, found.views)) == len(results)
    heard = [
        [each for each in results if each.method in view and each.conclusion in found.conclusion]
        for view in found.views
    ]
    assert all(heard)
    assert found.decided or found.confidence is None
    assert found.decided or found.disagreements or not results


def test_worksheets_take_no_part_and_nothing_is_made_up_of_nothing() -> None:
    sheet = Result(method="stakeholder", conclusion="", steps=("List everyone.",), computed=False)
    found = fuse([sheet, said("deductive", "It holds.", None, holds=True, **OPEN)], {}, {})
    assert (found.silent, found.conclusion, found.confidence) == (("stakeholder",), "It holds.", None)
    empty = fuse([sheet], {}, {})
    assert (empty.conclusion, empty.confidence, empty.decided, empty.views) == ("", None, False, ())
