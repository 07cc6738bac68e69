"""Abduction ranks what would explain an observation, and says what it takes for granted."""

from __future__ import annotations

from memfolio.knowledge.inference import Hypothesis, abduce
from memfolio.knowledge.join import MemoryRelations
from memfolio.knowledge.rule import Condition, render_part
from tests.knowledge.world import atoms_of, rules_of

WET = """
rain: ?x liesIn ?y and ?y weather rain => ?x is wet
hose: ?x has sprinkler and ?x sprinkler on => ?x is wet [factor 0.6]
flood: ?x near river and ?x floodedBy river and river is high => ?x is wet
storm: ?y pressure low => ?y weather rain
"""
OBSERVED = Condition("lawn", "is", "wet")


def told(found: list[Hypothesis]) -> list[tuple[str, float, list[str]]]:
    return [(each.rule.name, round(each.score, 2), [*map(render_part, each.assumptions)]) for each in found]


def test_hypotheses_are_ranked_by_the_share_of_conditions_met_times_the_factor() -> None:
    known = MemoryRelations(atoms_of("lawn liesIn town", "lawn has sprinkler", "lawn sprinkler on", "lawn near river"))
    assert told(abduce(OBSERVED, known, rules_of(WET))) == [
        ("hose", 0.6, []),
        ("rain", 0.45, ["town weather rain"]),
        ("flood", 0.3, ["lawn floodedBy river", "river is high"]),
    ]


def test_equal_scores_are_ranked_by_the_least_sure_support() -> None:
    known = MemoryRelations(atoms_of("lawn liesIn town 0.5", "lawn liesIn valley 0.8"))
    found = abduce(OBSERVED, known, rules_of(WET))
    assert [(each.confidence, render_part(each.assumptions[0])) for each in found[:2]] == [
        (0.8, "valley weather rain"),
        (0.5, "town weather rain"),
    ]


def test_an_assumption_is_explained_in_turn() -> None:
    [best, *_] = abduce(OBSERVED, MemoryRelations(atoms_of("lawn liesIn town", "town pressure low")), rules_of(WET))
    [(assumption, inner)] = best.explained
    assert render_part(assumption) == "town weather rain"
    assert told(list(inner)) == [("storm", 0.9, [])]
    [flat, *_] = abduce(OBSERVED, MemoryRelations(atoms_of("lawn liesIn town")), rules_of(WET), depth=1)
    assert flat.explained == ()


def test_variables_of_rules_are_kept_apart_and_shown() -> None:
    rules = rules_of(
        "one: ?x knows ?y and ?y knows ?z => ?x trusts ?z\ntwo: ?x meets ?y and ?y isA friend => ?x knows ?y"
    )
    [best, *_] = abduce(Condition("?y", "trusts", "bo"), MemoryRelations(), rules)
    assert [render_part(each) for each in best.assumptions] == ["?y knows ?y2", "?y2 knows bo"]
    inner = {render_part(part): told(list(found))[0][2] for part, found in best.explained}
    assert inner["?y2 knows bo"] == ["?y2 meets bo", "bo isA friend"]


def test_the_same_hypothesis_comes_once_and_an_observation_never_explains_itself() -> None:
    known = MemoryRelations(atoms_of("a p b 0.3", "a p c 0.7"))
    [one] = abduce(Condition("a", "q", "x"), known, rules_of("?s p ?o and ?s r x => ?s q x\n?s q x => ?s q x"))
    assert one.confidence == 0.7
