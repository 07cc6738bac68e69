"""Questions to the graph of facts as commands: traverse, impact, count and misfits, for people and programs."""

from __future__ import annotations

import pytest

from tests.serve.calls import Run, RunJson

FACTS = """belief-1 supports goal-7
goal-7 isA Goal
goal-7 status behind
goal-7 requires plan-1
plan-1 contains step-1
belief-2 supports goal-8
belief-3 supports goal-8"""


@pytest.fixture
def told(cli: Run) -> Run:
    cli("init")
    for line in FACTS.splitlines():
        cli("fact", "assert", *line.split())
    return cli


ANSWERS = [
    ("traverse belief-1 supports requires", "belief-1 -supports-> goal-7 -requires-> plan-1 (1.00"),
    ("traverse belief-1 belief-goal-plan", "belief-1 -supports-> goal-7 -requires-> plan-1 (1.00"),
    ("traverse * ^requires", "plan-1 <-requires- goal-7 (1.00"),
    ("traverse * ^contains+ ^requires+ -n 1", "step-1 <-contains- plan-1 <-requires- goal-7 (1.00"),
    ("traverse goal-8 ^supports+ -n 1", "There is more than is shown."),
    ("traverse nobody supports", "No results."),
    ("traverse belief-1 supports --valid-at 2001-01-01", "belief-1 -supports-> goal-7 (1.00"),
    ("impact belief-1", "plan_step: belief-1 -supports-> goal-7 -requires-> plan-1 -contains-> step-1 (1.00"),
    ("impact step-1", "No results."),
    ("count ?g,isA,Goal", "main   1      goal-7"),
    ("count ?o,isA,Ordr", "No matches."),
    ("count ?g,status,?s --by ?s", "behind  1      goal-7"),
    ("count ?g,status,?s,and,?s,>,5", "cannot be compared"),
    ("misfits", "All facts of the base model fit it."),
]


def test_each_question_is_answered(told: Run, cli_json: RunJson) -> None:
    for command, says in ANSWERS:
        words = [word.replace(",", " ") for word in command.split()]
        assert says in told("fact", *words)
        assert cli_json("fact", *words)


MISTAKES = [
    ("traverse belief-1 a|", "'a|' is no step of a path"),
    ("traverse belief-1 supports+ --hops 99", "99 hops are not 1 to 32"),
    ("traverse belief-1 supports --valid-at yesteryear", "yesteryear"),
    ("count ?g,isA,Goal --by ?s", "there is no '?s' to group by"),
    ("count ?g,<,5", "no condition that a fact could meet"),
    ("count orders", "a predicate or an operator is missing at the end"),
    ("count ?g,isA,Goal,goals", "`and` is missing before 'goals'"),
    ("count ,", "the conditions: a subject"),
]


def test_each_mistake_is_told(told: Run) -> None:
    for command, says in MISTAKES:
        assert says in told("fact", *(word.replace(",", " ") for word in command.split()), status=2)


def test_what_no_fact_tells_of_is_not_found(told: Run) -> None:
    for what in ("nosuch", "F-1763217005123-5f2c91ab", "D-5f2c91ab5f2c91ab"):
        assert f"no fact tells of '{what}'" in told("fact", "impact", what, status=3)


def test_programs_get_paths_kinds_and_misfits(told: Run, cli_json: RunJson) -> None:
    [path] = cli_json("fact", "traverse", "belief-1", "supports")["paths"]
    assert (path["nodes"], path["facts"][0]["agent"]) == (["belief-1", "goal-7"], "main")
    fallen = cli_json("fact", "impact", path["facts"][0]["id"])
    assert fallen["kinds"] == {"goal": ["goal-7"], "plan": ["plan-1"], "plan_step": ["step-1"]}
    assert cli_json("fact", "count", "?g isA Goal")["is_cut"] is False
    told("fact", "assert", "belief-1", "isA", "Plan")
    [finding] = cli_json("fact", "misfits", status=1)["findings"]
    assert finding["problem"] == "belief-1 supports goal-7: belief-1 is plan, not belief"
