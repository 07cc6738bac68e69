"""Reasoning as a whole: a method by name, by fit or several; worksheets, models, and what is kept of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memfolio import Memory
from memfolio.config import load_config
from memfolio.errors import InputError, NotFoundError
from memfolio.llm.model import open_model
from memfolio.reason.reason import Judgements, Reasoner, methods
from memfolio.testing import ScriptedModel
from memfolio.types import Kind, Type
from tests.reason.asking import knowing

DISEASE = {"prior": {"ill": 0.01, "well": 0.99}, "likelihoods": {"ill": {"test": 0.8}, "well": {"test": 0.096}}}
NETWORK = {"rain": {"table": 0.2}, "wet": {"parents": ["rain"], "table": {"true": 0.9, "false": 0.1}}}
MODEL = {"dose": {"table": {"0": 0.5, "1": 0.5}}, "well": {"equation": "dose == 1"}}
FAN = {
    "heat": {"low": 0, "high": 40, "sets": {"cold": {"triangle": [0, 0, 20]}, "hot": {"triangle": [10, 40, 40]}}},
    "fan": {"low": 0, "high": 9, "sets": {"slow": {"triangle": [0, 0, 5]}, "fast": {"triangle": [4, 9, 9]}}},
}
BETS = {"payoffs": {"risk": {"good": 10, "bad": -5}, "safe": {"good": 2, "bad": 2}}}

WAYS: list[tuple[str, dict[str, Any]]] = [
    ("deductive", {"goal": "acme isTaxable true", "facts": ["acme isTaxable true"], "only_given": True}),
    ("inductive", {"instances": [{"sky": "red", "rain": "yes"}, {"sky": "red", "rain": "yes"}]}),
    ("inductive", {"subjects": "*"}),
    ("abductive", {"observation": "lawn isWet true", "only_given": True}),
    ("modal", {"formula": "necessarily p implies p", "worlds": ["w"]}),
    ("deontic", {"formula": "O p", "worlds": ["a", "b"], "ideal": {"a": ["b"], "b": ["b"]}, "true": {"b": ["p"]}}),
    ("temporal", {"intervals": {"a": {"start": 1, "end": 2}, "b": {"start": 3, "end": 4}}}),
    ("temporal", {"constraints": ["a before b"]}),
    ("constraint-satisfaction", {"variables": {"x": [1, 2]}, "constraints": ["x > 1"]}),
    ("bayesian", {"prior": {"ill": 0.5, "well": 0.5}, "likelihoods": {"ill": {"test": 0.8}, "well": {"test": 0.1}}}),
    ("bayesian", {"nodes": NETWORK, "query": "rain"}),
    ("decision-theory", {"payoffs": {"go": {"dry": 2, "wet": 0}, "stay": {"dry": 1, "wet": 1}}}),
    ("expected-utility", {"lotteries": {"bet": [[3, 0.5], [0, 0.5]], "keep": [[1, 1]]}}),
    ("info-theory", {"prior": {"a": 0.5, "b": 0.5}, "questions": {"is it a?": {"a": "yes", "b": "no"}}}),
    ("monte-carlo", {"formula": "x + 1", "variables": {"x": {"is": "uniform", "low": 0, "high": 1}}, "samples": 1000}),
    ("statistical", {"samples": {"a": [1, 2, 3, 4], "b": [3, 4, 5, 7]}}),
    ("statistical", {"table": [[9, 4], [3, 8]]}),
    ("fuzzy", {"variables": FAN, "rules": ["if heat is hot then fan is fast"], "values": {"heat": 30}}),
    ("causal", {"edges": ["x -> y"], "treatment": "x", "outcome": "y"}),
    ("counterfactual", {"model": MODEL, "evidence": {"dose": 0}, "had": {"dose": 1}, "outcome": {"well": 1}}),
    ("interventional", {"model": MODEL, "do": {"dose": 1}, "outcome": {"well": 1}}),
    ("root-cause", {"gates": {"fire": {"gate": "and", "of": ["fuel", "spark"]}}}),
    ("case-based", {"context": "the build fails"}),
    ("case-based", {"beliefs": ["B-1"]}),
    ("case-based", {"desires": ["D-1"]}),
    ("pattern-recognition", {"item": [1], "examples": [{"values": [1], "label": "a"}]}),
    ("game-theory", {"row_payoffs": [[1, 2], [0, 3]]}),
    ("negotiation", {"outcomes": {"half": {"a": 1, "b": 1}}}),
    ("negotiation", {"issues": {"pay": {"high": {"a": 1, "b": 0}, "low": {"a": 0, "b": 1}}}}),
    ("social-choice", {"ballots": [{"ranking": ["a", "b"], "count": 2}]}),
    ("argumentation", {"arguments": ["a", "b"], "attacks": [["a", "b"]]}),
    ("calibration", {"forecasts": [{"probability": 0.9, "outcome": True}]}),
]


def reason_of(memory: Memory, model: Any = None) -> Reasoner:
    judgements = Judgements(memory.vault, memory.searcher, memory.agent)
    return Reasoner(judgements, world=lambda: knowing(memory), model=lambda: model)


@pytest.fixture
def reason(memory: Memory) -> Reasoner:
    return reason_of(memory)


def test_named_method_computes_and_shows_everything_it_rests_on(reason: Reasoner) -> None:
    found = reason("Is she ill?", method="bayesian", given=DISEASE)
    [result] = found.results
    assert (result.computed, result.problem, result.method) == (True, "Is she ill?", "bayesian")
    assert result.answer["posterior"]["ill"] == pytest.approx(0.078, abs=5e-4)  # Eddy 1982: 7.8 %
    assert found.conclusion == result.conclusion
    assert result.steps
    assert result.would_change
    assert result.inputs["prior"] == DISEASE["prior"]
    assert reason("Is she ill?", method="Bayesian", given={"bayesian": DISEASE}).results == found.results


def test_every_way_to_ask_a_method_computes_and_leads_to_it(memory: Memory, reason: Reasoner) -> None:
    memory.facts.assert_("robin", "isA", "bird")
    tried = {(name, way) for name, given in WAYS for way in methods()[name].needs if set(way) <= set(given)}
    assert tried == {(name, way) for name, method in methods().items() for way in method.needs}
    for name, given in WAYS:
        [result] = reason("Who wins the vote?", given=given).results
        assert (result.method, result.computed) == (name, True), given
        needed = [way for way in methods()[name].needs if set(way) <= set(given)]
        assert not any(methods()[name].is_ready({*given} - {way[0]}) for way in needed if len(needed) == 1)


def test_method_without_its_inputs_answers_with_its_worksheet_and_no_conclusion(reason: Reasoner) -> None:
    for name, method in methods().items():
        [result] = reason("What now?", method=name).results
        assert (result.conclusion, result.confidence) == ("", None), name
        if name != "case-based":  # which looks at the kept cases
            assert (result.steps, result.computed) == (method.steps, False), name
            assert dict(result.answer.get("inputs", {})) == dict(method.inputs)
    [result] = reason("What now?", method="bayesian").results
    assert result.notes == ("nothing was computed: bayesian needs prior and likelihoods, or nodes and query",)


def test_worksheet_for_the_choice_of_a_method_has_what_the_router_says(reason: Reasoner) -> None:
    [sheet] = reason("Why did it fail?", method="strategy-selection").results
    assert sheet.notes[1] == "root-cause fits (0.27): domain empirical: +0.27"
    [other] = reason("Hm.", method="strategy-selection", problem_classification={"time_pressure": "urgent"}).results
    assert other.notes[1].endswith("fits (0.1): time_pressure urgent: +0.1")


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"method": "bayesian", "given": {"prior": {"a": 1}}}, InputError, "likelihoods is missing"),
        ({"method": "bayesian", "given": {**DISEASE, "priors": 1}}, InputError, "there is no input 'priors'"),
        ({"method": "bayesian", "given": {"bayesian": 3}}, InputError, "there is no input 'bayesian'"),
        ({"method": "bayesian", "given": {"causal": {}}}, InputError, "there is no input 'causal'"),
        ({"method": "stakeholder", "given": {"stakeholder": {"x": 1}}}, InputError, "stakeholder reads no inputs"),
        ({"method": "deductive", "given": {"goal": "\ud800"}}, InputError, "goal is "),
        ({"method": "magic"}, NotFoundError, "there is no method 'magic'"),
        ({"problem_classification": {}}, InputError, "the classification is empty"),
        ({"method": "bayesian", "given": [1]}, InputError, "what is given is a list"),
        ({"limit": 0}, InputError, "limit 0"),
        ({"method": "bayesian", "given": {**DISEASE, "prior": {"ill": 0.5, "well": 0.6}}}, InputError, "add up to 1.1"),
    ],
)
def test_bad_input_is_refused_with_what_is_wrong(reason: Reasoner, arguments: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words.replace("[", r"\[")):
        reason("What now?", **arguments)


def test_router_chooses_by_classification_and_says_why(reason: Reasoner) -> None:
    kind = {"uncertainty": "high", "complexity": "complex", "time_pressure": "urgent", "stakes": "high"}
    found = reason("The house burns.", problem_classification=kind)
    assert found.results[0].method == found.route[0].method == "naturalistic"
    assert found.route[0].why[0] == "uncertainty high: +0.18"
    guessed = reason("Which option wins the vote of the team?")
    assert guessed.notes[0].startswith("suggested: domain social")


def test_method_whose_inputs_are_given_is_preferred(reason: Reasoner) -> None:
    plain = reason("What now?", problem_classification={"domain": "social"}).results[0]
    given = reason("What now?", problem_classification={"domain": "social"}, given=BETS).results[0]
    assert (plain.computed, given.method, given.computed) == (False, "decision-theory", True)


def test_several_methods_are_fused_and_a_failing_one_stops_nobody(reason: Reasoner) -> None:
    given = {"bayesian": DISEASE, "decision-theory": BETS, "expected-utility": {"lotteries": 3}}
    found = reason(
        "What now?", multi_method=True, methods=["bayesian", "decision-theory", "expected-utility"], given=given
    )
    assert [each.method for each in found.results] == ["bayesian", "decision-theory"]
    assert [*found.failed] == ["expected-utility"]
    assert found.fusion is not None
    assert set(found.fusion.weights) == {"bayesian", "decision-theory"}
    assert all(each.conclusion in found.conclusion for each in found.results)  # they answer different questions
    automatic = reason("What now?", multi_method=True, problem_classification={"domain": "social"}, limit=4)
    assert len(automatic.results) == len(automatic.route) == 4
    assert automatic.fusion
    assert automatic.fusion.silent == tuple(each.method for each in automatic.results)


def test_stored_result_is_a_memory_and_its_line_has_no_content(memory: Memory, reason: Reasoner) -> None:
    found = reason("Which bet?", method="decision-theory", given=BETS, store=True)
    assert found.judgement is not None
    kept = memory.get(found.judgement.memory)
    assert kept is not None
    assert (kept.type, kept.kind, kept.tags) == (Type.DECISION, Kind.SEMANTIC, ("reasoning/decision-theory",))
    assert kept.content.startswith("Which bet? – by decision-theory, 80% sure given its inputs: Take ")
    assert kept.attributes["method"] == "decision-theory"
    ledger = (memory.vault.home.root / "agents/main/knowledge/judgements/0001.jsonl").read_text("utf-8")
    assert "bet" not in ledger
    assert json.loads(ledger)["memory"] == kept.id
    assert memory.recall("which bet to take")[0].memory.id == kept.id


def test_worksheet_is_not_stored_but_what_somebody_makes_of_it_is(memory: Memory, reason: Reasoner) -> None:
    found = reason("Whom does it touch?", method="stakeholder", store=True)
    assert (found.judgement, found.notes) == (None, ("not stored: nothing was concluded",))
    done = replace(found.results[0], conclusion="The neighbours lose most.", confidence=0.7)
    kept = memory.get(reason.keep(done).memory)
    assert kept is not None
    assert (kept.kind, kept.confidence) == (Kind.OPINION, 0.7)


def test_outcomes_make_a_calibration_that_tips_ties_and_feeds_the_method(memory: Memory, reason: Reasoner) -> None:
    sheet = reason("X?", method="reflection").results[0]
    for number in range(10):
        kept = reason.keep(replace(sheet, conclusion=f"It is {number}.", confidence=0.9))
        reason.outcome(kept.memory if number % 2 else kept.id, number < 9)
    found = reason.calibration()
    assert [*found] == ["all", "reflection"]
    assert (found["reflection"]["count"], found["reflection"]["bias"]) == (10, pytest.approx(0))
    assert found["reflection"]["brier"] == pytest.approx(0.09)
    assert reason.judgements.standing() == {"reflection": pytest.approx(1 - (0.9 + 5 * 0.25) / 15)}
    [result] = reason("How good am I?", method="calibration", given={"confidence": 0.9}).results
    assert result.answer["calibrated"] == pytest.approx(0.9)
    reason.outcome(kept.id, True)  # the latest word counts
    assert reason.calibration()["all"]["bias"] == pytest.approx(-0.1)
    assert reason_of(memory).calibration() == reason.calibration()
    with pytest.raises(InputError):
        reason.outcome(kept.id, 1.5)
    with pytest.raises(NotFoundError):
        reason.outcome("J-1-00000000", True)


def test_lines_that_make_no_sense_are_passed_over(memory: Memory, reason: Reasoner) -> None:
    path = memory.vault.home.root / "agents/main/knowledge/judgements/0001.jsonl"
    path.parent.mkdir(parents=True)
    lines = [
        {"op": "judge", "id": "J-1", "method": "x", "confidence": 7, "memory": "M-1"},
        {"op": "outcome", "judgement": "J-1", "came_true": "yes"},
        {"op": "outcome", "judgement": "J-9", "came_true": 1},
        {"op": "hum"},
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    memory.sync()
    [only] = reason.judgements.list()
    assert (only.confidence, only.came_true) == (None, None)
    assert reason.calibration() == {}


@pytest.fixture
def asked(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Callable[[ScriptedModel], Reasoner]:
    def open_with(model: ScriptedModel) -> Reasoner:
        for name, value in model.settings.items():
            monkeypatch.setenv(f"MEMFOLIO_{name.upper()}", str(value))
        return reason_of(memory, open_model(load_config(memory.vault.config.home)))

    return open_with


def test_model_gives_inputs_and_the_method_computes(memory: Memory, asked: Callable[[ScriptedModel], Reasoner]) -> None:
    filled = {
        "inputs": json.dumps({**DISEASE, "file": "/etc/passwd"}),
        "assumptions": ["The test is one in ten wrong."],
    }
    with ScriptedModel([filled]) as model:
        found = asked(model)("Is she ill?", method="bayesian", store=True)
    [result] = found.results
    assert (result.computed, "file" in result.inputs) == (True, False)
    assert found.judgement is not None
    kept = memory.get(found.judgement.memory)
    assert kept is not None
    assert kept.kind is Kind.OPINION  # it rests on what a model estimates
    assert result.notes[0].endswith("gave the inputs")
    assert result.notes[1] == "it assumed: The test is one in ten wrong."


def test_model_works_through_a_worksheet_and_it_counts_as_its_opinion(
    asked: Callable[[ScriptedModel], Reasoner],
) -> None:
    worked = {"steps": ["All."], "conclusion": "Ask them.", "confidence": 0.6, "would_change": ["No time."]}
    with ScriptedModel([worked]) as model:
        [result] = asked(model)("Whom to ask?", method="stakeholder").results
    assert (result.conclusion, result.confidence, result.computed) == ("Ask them.", 0.6, False)
    assert "is its opinion" in result.notes[1]


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("bayesian", {"inputs": "no json"}),
        ("bayesian", {"inputs": "{}"}),
        ("bayesian", {"inputs": '{"prior": {"a": 3}}'}),
        ("stakeholder", {"steps": [], "conclusion": " ", "confidence": 0.9}),
        ("stakeholder", {"steps": "none", "confidence": "high"}),
    ],
)
def test_model_that_gives_nonsense_leaves_the_worksheet(
    asked: Callable[[ScriptedModel], Reasoner], method: str, answer: Any
) -> None:
    with ScriptedModel([answer] * 3) as model:
        [result] = asked(model)("Is she ill?", method=method).results
    assert (result.conclusion, result.confidence, result.computed) == ("", None, False)
    assert result.steps == methods()[method].steps
    assert "was asked in vain" in result.notes[-1]
