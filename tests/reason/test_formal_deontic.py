"""Standard deontic logic on the puzzles of its literature: what it yields, and that it says so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.methods.logic import deontic as reason
from tests.reason.asking import ask


def test_chisholms_set_is_inconsistent() -> None:
    # Chisholm, Contrary-to-duty imperatives and deontic logic, Analysis 24 (1963), pp. 33-36.
    norms = ["O go", "O (go implies tell)", "not go implies O not tell"]
    result = ask(reason, norms=norms, facts=["not go"])
    assert result.answer["consistent"] is False
    assert result.answer["conflict"] == [*norms, "not go"]
    assert set(result.would_change) == {f"without {each!r}" for each in [*norms, "not go"]}


def test_chisholms_second_norm_follows_where_it_is_worded_otherwise() -> None:
    # The other wording, go implies O tell, is consistent, but follows from the fact alone.
    result = ask(reason, norms=["O go", "not go implies O not tell"], facts=["not go"], question="go implies O tell")
    assert result.answer["follows"] is True
    assert result.would_change == ("without 'not go'",)
    assert result.answer["violated"] == ["go"]


def test_forresters_gentle_murder_makes_murder_obligatory() -> None:
    # Forrester, Gentle murder, or the adverbial Samaritan, Journal of Philosophy 81 (1984), pp. 193-197.
    values: dict[str, Any] = {"facts": ["murder"], "background": ["gently implies murder"]}
    result = ask(reason, norms=["F murder", "murder implies O gently"], **values)
    assert result.answer["consistent"] is False
    assert ask(reason, norms=["murder implies O gently"], **values, question="O murder").answer["follows"] is True


@pytest.mark.parametrize(
    ("norms", "question", "follows"),
    [
        (["O mail"], "O (mail or burn)", True),  # Ross, Imperatives and logic, Theoria 7 (1941)
        (["F cake"], "P (cake or pie)", True),
        (["O pay"], "P pay", True),  # the axiom D
        (["O pay"], "not F pay", True),
        ([], "O pay iff not P not pay", True),  # von Wright, Deontic logic, Mind 60 (1951)
        ([], "P (a or b) iff (P a or P b)", True),  # von Wright's distribution of permission
        (["O pay"], "O pay implies pay", False),
        (["O (a implies b)", "O a"], "O b", True),
    ],
)
def test_known_consequences(norms: list[str], question: str, follows: bool) -> None:
    result = ask(reason, norms=norms, question=question)
    assert result.answer["follows"] is follows


def test_good_samaritan_is_bound_to_the_robbery() -> None:
    # Prior, Escapism (1958), p. 144: to help one who was robbed implies that he was robbed.
    result = ask(reason, norms=["O help", "F rob"], background=["help implies rob"])
    assert result.answer["conflict"] == ["O help", "F rob"]
    with pytest.raises(InputError, match="background can be true in no world"):
        ask(reason, norms=["O help"], background=["help", "not help"])


def test_status_of_each_act_is_told() -> None:
    result = ask(reason, norms=["O pay", "F steal", "P leave"], facts=["not pay"])
    assert result.answer["status"] == {"leave": "permitted", "pay": "obligatory", "steal": "forbidden"}
    assert result.answer["violated"] == ["pay"]


TRUTHS = [{"a": a, "b": b} for a in (True, False) for b in (True, False)]
plain = st.sampled_from(["a", "b", "not a", "a or b", "a and not b"])
norms = st.tuples(plain | st.just("True"), st.sampled_from("OPF"), plain)


@given(st.lists(norms, max_size=3, unique=True), plain)
def test_status_of_acts_is_that_in_all_worlds_that_keep_the_norms_in_force(
    given: list[tuple[str, str, str]], fact: str
) -> None:
    real = [each for each in TRUTHS if eval(fact, {}, each)]
    in_force = [(kind, act) for case, kind, act in given if all(eval(case, {}, each) for each in real)]
    ideal = [
        each
        for each in TRUTHS
        if all(bool(eval(act, {}, each)) is (kind == "O") for kind, act in in_force if kind != "P")
    ]
    is_consistent = ideal and all(any(eval(act, {}, each) for each in ideal) for kind, act in in_force if kind == "P")
    texts = [f"({case}) implies {kind} ({act})" for case, kind, act in given]
    answer = ask(reason, norms=texts, facts=[fact]).answer
    assert answer["consistent"] is bool(is_consistent)
    for name, status in answer.get("status", {}).items():
        done = [each[name] for each in ideal]
        assert status == ("obligatory" if all(done) else "permitted" if any(done) else "forbidden")


def test_model_is_checked_at_a_world() -> None:
    model: dict[str, Any] = {"worlds": ["real", "good"], "ideal": {"real": ["good"], "good": ["good"]}}
    model |= {"true": {"good": ["pay"]}, "formula": "O pay and not pay", "at": "real"}
    assert ask(reason, **model).answer["holds"] is True
    with pytest.raises(InputError, match="from 'good' no world is ideal"):
        ask(reason, **{**model, "ideal": {"real": ["good"]}})
