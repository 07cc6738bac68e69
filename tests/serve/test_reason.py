"""The command `reason`: what it says to people and to programs, and how it fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memfolio.reason.reason import methods
from tests.serve.calls import Run, RunJson

TEST = {"prior": {"ill": 0.01, "well": 0.99}, "likelihoods": {"ill": {"test": 0.8}, "well": {"test": 0.096}}}
BETS = {"payoffs": {"risk": {"good": 10, "bad": -5}, "safe": {"good": 2, "bad": 2}}, "criterion": "maximin"}
ILL = ("reason", "ask", "Is she ill?", "--method", "bayesian", "--given", json.dumps(TEST))


@pytest.fixture(autouse=True)
def _settled(cli: Run) -> None:
    cli("init")


def test_problem_is_thought_through_in_plain_words(cli: Run) -> None:
    for args, said in (
        (ILL, "bayesian: well is most likely: 0.9224"),
        (ILL, "  would change it: "),
        (("reason", "ask", "Why did it fail?"), "root-cause: steps to work through\n  1. Write the failure"),
        (("reason", "ask", "Why did it fail?"), "note: suggested: domain empirical: 'why'"),
        (("reason", "ask", "Now?", "--given", json.dumps(BETS)), "decision-theory: Take safe by maximin"),
        (("reason", "ask", "Now?", "--time-pressure", "urgent", "--stakes", "high"), "naturalistic: steps"),
        (("reason", "ask", "How?", "-m", "strategy_selection", "--domain", "formal"), "fits (0.27): domain formal"),
        (
            ("reason", "show", "Bayesian"),
            "  prior: an object",
        ),
        (("reason", "show", "stakeholder"), "Good for decisions that many people have to live with.\n  - List"),
        (("reason", "methods"), "constraint-satisfaction"),
        (("reason", "calibration"), "No judgement with a known outcome."),
    ):
        assert said in cli(*args)


def test_several_methods_are_told_with_what_they_say_together(cli: Run, tmp_path: Path) -> None:
    bets = {"lotteries": {"risk": [[10, 0.7], [-5, 0.3]], "safe": [[2, 1.0]]}}
    given = {"decision-theory": BETS, "expected-utility": bets, "bayesian": {"prior": 3}}
    (tmp_path / "inputs.json").write_text(json.dumps(given), encoding="utf-8")
    asked = ("--methods", "decision-theory, expected-utility,bayesian,reflection", "--given")
    told = cli("reason", "ask", "Which bet?", *asked, f"@{tmp_path / 'inputs.json'}")
    assert told.startswith(
        "risk is preferred: it is worth 5.5 for certain. Against that, decision-theory: Take safe by"
    )
    assert "contradict each other: decision-theory: Take safe" in told
    assert "reflection: steps to work through" in told
    assert "bayesian could not be used: " in told


def test_judgement_is_kept_and_its_outcome_counts(
    cli: Run, cli_json: RunJson, type_in: Callable[[bytes], None]
) -> None:
    type_in(json.dumps(TEST).encode())
    kept = cli_json("reason", "ask", "Is she ill?", "--method", "bayesian", "--given", "-", "--store")
    assert (kept["results"][0]["computed"], kept["judgement"]["came_true"]) == (True, None)
    assert f"({kept['judgement']['method']}) came true" in cli("reason", "outcome", kept["judgement"]["id"], "--true")
    judged = cli_json("reason", "outcome", kept["judgement"]["memory"], "--false")
    assert (judged["id"], judged["came_true"]) == (kept["judgement"]["id"], 0.0)
    found = cli_json("reason", "calibration")["calibration"]
    assert (found["bayesian"]["count"], found["all"]["brier"]) == (1, pytest.approx(0.9224**2, abs=1e-3))
    assert "bayesian" in cli("reason", "calibration")
    assert "stored as M-" in cli(*ILL, "--store")
    assert "not stored: nothing was concluded" in cli("reason", "ask", "Whom?", "-m", "stakeholder", "--store")


def test_programs_get_documents(cli_json: RunJson) -> None:
    found = cli_json("reason", "ask", "Which vote?", "--domain", "social", "--multi", "-n", "2")
    assert [each["parts"] for each in found["route"]] == [{"domain": 0.27}] * 2
    assert found["fusion"]["silent"] == [each["method"] for each in found["results"]]
    assert [each["name"] for each in cli_json("reason", "methods")["methods"]] == [*methods()]
    shown = cli_json("reason", "show", "bayesian")
    assert (shown["needs"][0], "prior" in shown["inputs"]) == (["prior", "likelihoods"], True)


def test_mistakes_are_told_with_an_exit_code(cli: Run, cli_json: RunJson) -> None:
    for args, status, said in (
        (("ask", " "), 2, "the problem is empty"),
        (("ask", "x", "--given", "{"), 2, "the inputs cannot be read"),
        (("ask", "x", "--given", "[1]"), 2, "what is given is a list"),
        (("ask", "x", "--given", "@/no/such/file"), 2, "the inputs cannot be read"),
        (("ask", "x", "--given", '{"priors": 1}'), 2, "did you mean prior?"),
        (("ask", "x", "-m", "bayesian", "--given", '{"prior": {"a": 1}}'), 2, "likelihoods is missing"),
        (("ask", "x", "-m", "baysian"), 3, "did you mean bayesian?"),
        (("ask", "x", "--stakes", "hgih"), 2, "did you mean high?"),
        (("ask", "x", "--multi", "-n", "0"), 2, "limit 0"),
        (("show", "magic"), 3, "there is no method 'magic'"),
        (("outcome", "J-1", "--true"), 3, "there is no judgement 'J-1'"),
        (("outcome", "J-1"), 2, "--true"),
    ):
        assert said in cli("reason", *args, status=status)
    assert cli_json("reason", "show", "baysian", status=3)["error"]["hint"] == "did you mean bayesian?"
