"""Methods: the table is whole, problems are classified, and the router ranks by what fits."""

from __future__ import annotations

from itertools import product

import pytest

from memfolio.errors import InputError, NotFoundError
from memfolio.reason.reason import (
    DIMENSIONS,
    WEIGHTS,
    Method,
    ProblemClassification,
    classify,
    code_of,
    method_named,
    methods,
    rank,
)

SEED = """deductive inductive abductive analogical modal deontic temporal bayesian decision-theory expected-utility
info-theory monte-carlo causal counterfactual interventional root-cause systems-thinking heuristic case-based
pattern-recognition satisficing naturalistic game-theory negotiation social-choice argumentation stakeholder
meta-cognitive strategy-selection learning-to-reason reflection calibration""".split()
EVERY = methods().values()


def test_every_method_of_the_table_is_there() -> None:
    assert set(methods()) == {*SEED, "constraint-satisfaction", "fuzzy", "statistical"}
    assert sum(each.computes for each in EVERY) >= 15
    for each in EVERY:
        assert each.computes == bool(each.inputs)
        assert all(set(way) <= set(each.inputs) for way in each.needs), each.name
        assert not each.computes or callable(code_of(each))
        assert 4 <= len(each.steps) <= 8
        assert all(set(values) <= set(DIMENSIONS[name]) and values for name, values in each.ideals.items())
        assert each.settles in ("choice", "claim")
        assert each.summary.endswith(".")


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


@pytest.mark.parametrize("method", EVERY, ids=lambda each: each.name)
def test_every_method_leads_for_some_kind_of_problem(method: Method) -> None:
    kinds = (dict(zip(method.ideals, values, strict=True)) for values in product(*method.ideals.values()))
    assert any(rank(EVERY, ProblemClassification(**kind))[0].method == method.name for kind in kinds)


def test_past_results_decide_among_equals_and_given_inputs_before_all() -> None:
    problem = ProblemClassification(domain="social", stakes="medium")
    plain = rank(EVERY, problem)
    equal = [each.method for each in plain if each.score == plain[0].score]
    assert len(equal) > 2
    tipped = [each.method for each in rank(EVERY, problem, standing={equal[-1]: 0.9, "deductive": 1.0})]
    assert tipped[0] == equal[-1]
    assert tipped.index("deductive") >= len(equal)
    given = {"modal": ["formula", "worlds"], "monte-carlo": ["formula", "variables", "seed"], "bayesian": ["prior"]}
    assert [each.method for each in rank(EVERY, problem, given=given)[:3]] == ["monte-carlo", "modal", equal[0]]


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
        ("Which question should I ask next to find the faulty server?", "info-theory"),
        ("Is the conversion rate of B really better than that of A?", "statistical"),
        ("The meeting overlaps the call and ends before lunch. Is the call before lunch?", "temporal"),
        ("How do we negotiate the price of this contract?", "negotiation"),
        ("Costs keep rising again and again, whatever we do", "systems-thinking"),
        ("We had a similar outage last time", "case-based"),
        ("What happens to churn if we lower the price?", "interventional"),
        ("Pick a restaurant for lunch quickly", "heuristic"),
        ("Hm.", "strategy-selection"),
    ],
)
def test_words_of_a_problem_lead_to_the_method_that_a_person_would_choose(problem: str, method: str) -> None:
    kind, _ = classify(problem)
    assert rank(EVERY, kind, text=problem, is_guess=True)[0].method == method


def test_words_decide_only_among_equals_where_somebody_classified_the_problem() -> None:
    kind = ProblemClassification(domain="social")
    found = rank(EVERY, kind, text="The team votes: why did the build fail?")
    assert found[0].method == "social-choice"
    assert sorted(each.score for each in found) == sorted(each.score for each in rank(EVERY, kind))
