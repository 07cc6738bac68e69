"""Methods: the table is whole, problems are classified, and the router ranks by what fits."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from memfolio.errors import InputError, NotFoundError
from memfolio.reason.classify import DIMENSIONS, ProblemClassification, classify
from memfolio.reason.methods import code_of, method_named, methods
from memfolio.reason.router import WEIGHTS, rank

SEED = """deductive inductive abductive analogical modal deontic temporal bayesian decision-theory expected-utility
info-theory monte-carlo causal counterfactual interventional root-cause systems-thinking heuristic case-based
pattern-recognition satisficing naturalistic game-theory negotiation social-choice argumentation stakeholder
meta-cognitive strategy-selection learning-to-reason reflection calibration""".split()
EVERY = methods().values()


def test_every_method_of_the_table_is_there() -> None:
    assert set(methods()) == {*SEED, "constraint-satisfaction", "fuzzy", "statistical"}
    assert sum(each.computes for each in EVERY) >= 15
    for each in EVERY:
        assert 4 <= len(each.steps) <= 8
        assert all(set(values) <= set(DIMENSIONS[name]) and values for name, values in each.ideals.items())
        assert each.settles in ("choice", "claim")
        assert each.summary.endswith(".")


@pytest.mark.parametrize("method", [each for each in EVERY if each.computes], ids=lambda each: each.name)
def test_computing_method_has_code_and_says_what_it_reads(method: object) -> None:
    method = method_named(getattr(method, "name", ""))
    assert callable(code_of(method))
    told = (import_module(method.module).__doc__ or "").partition("\n\n")[2]
    named = [name for line in re.findall(r"^([a-z_][a-z_, ]*): ", told, re.MULTILINE) for name in line.split(", ")]
    assert not named or set(named) == set(method.inputs)
    assert method.inputs


def test_method_is_found_however_its_name_is_written() -> None:
    assert method_named("Root Cause") is method_named("root_cause") is methods()["root-cause"]
    with pytest.raises(NotFoundError) as error:
        method_named("baysian")
    assert error.value.hint == "did you mean bayesian?"


def test_weights_keep_the_proportions_and_add_up_to_one() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    rest = {name: weight / 0.9 for name, weight in WEIGHTS.items() if name != "time_pressure"}
    assert rest == pytest.approx(
        {"uncertainty": 0.2, "complexity": 0.2, "domain": 0.3, "data_availability": 0.15, "stakes": 0.15}
    )


def test_score_is_what_the_matching_dimensions_add() -> None:
    problem = ProblemClassification(domain="formal", time_pressure="urgent", uncertainty="low")
    found = {each.method: each for each in rank(EVERY, problem)}
    assert found["deductive"].score == pytest.approx(0.45)
    assert found["deductive"].parts == {"uncertainty": 0.18, "domain": 0.27, "time_pressure": 0.0}
    assert "time_pressure urgent: made for none or moderate" in found["deductive"].why
    scores = [each.score for each in rank(EVERY, problem)]
    assert scores == sorted(scores, reverse=True)


def test_inputs_and_then_past_results_decide_among_equals_only() -> None:
    problem = ProblemClassification(domain="social", stakes="medium")
    plain = [each.method for each in rank(EVERY, problem)]
    best = rank(EVERY, problem)[0].score
    equal = [each.method for each in rank(EVERY, problem) if each.score == best]
    assert len(equal) > 2
    tipped = [each.method for each in rank(EVERY, problem, standing={equal[-1]: 0.9, "deductive": 1.0})]
    assert tipped[0] == equal[-1]
    assert tipped.index("deductive") == plain.index("deductive") or tipped.index("deductive") >= len(equal)
    ready = next(each for each in EVERY if each.name in equal and each.computes and each.name != equal[-1])
    given = {ready.name: [*ready.inputs] or ["x"]}
    assert rank(EVERY, problem, given=given, standing={equal[-1]: 0.9})[0].method == ready.name
    assert [each.method for each in rank(EVERY, problem)] == plain


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({}, "say one of: uncertainty low|medium|high; complexity"),
        ({"domain": None}, "say one of: uncertainty low|medium|high; complexity"),
        ({"domian": "formal"}, "did you mean domain?"),
        ({"stakes": "hgih"}, "did you mean high?"),
        ("high", "pass an object"),
    ],
)
def test_classification_that_makes_no_sense_is_refused_with_what_would_do(given: object, hint: str) -> None:
    with pytest.raises(InputError) as error:
        ProblemClassification.of(given)  # type: ignore[arg-type]
    assert error.value.hint.startswith(hint)


def test_words_of_a_problem_suggest_its_kind_and_say_why() -> None:
    found, why = classify("The production outage: why did the deploy fail? The logs are unclear.")
    assert found == ProblemClassification(
        uncertainty="high", domain="empirical", time_pressure="urgent", data_availability="rich", stakes="high"
    )
    assert "time_pressure urgent: 'outage'" in why
    assert classify("Hm.")[1] == ("no word of the problem tells what kind it is",)


@pytest.mark.parametrize(
    ("problem", "method"),
    [
        ("Why did the build fail last night?", "root-cause"),
        ("Am I allowed to share this contract?", "deontic"),
        ("Should I buy a bike?", "decision-theory"),
        ("The team votes on a logo", "social-choice"),
        ("What would have happened if we had shipped?", "counterfactual"),
        ("Will the budget suffice next year?", "monte-carlo"),
    ],
)
def test_words_of_a_problem_decide_among_methods_that_fit_alike(problem: str, method: str) -> None:
    kind, _ = classify(problem)
    assert rank(EVERY, kind, text=problem)[0].method == method
    assert [each.score for each in rank(EVERY, kind, text=problem)] == [each.score for each in rank(EVERY, kind)]
