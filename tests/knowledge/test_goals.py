"""Goals from a file: all of them as facts, or a list of what is wrong and nothing written."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memfolio.errors import InputError
from memfolio.knowledge.facts import Facts
from memfolio.knowledge.join import Triple
from memfolio.knowledge.model import EXAMPLE, PREDICATES, ends, kind_named, read_goals, seed_goals
from memfolio.memory import Memory

GOALS = read_goals(EXAMPLE.read_text("utf-8"))


@pytest.fixture
def facts(home: Path) -> Iterator[Facts]:
    with Memory.open(home, background=False) as memory:
        yield Facts(memory.vault, memory.searcher, "main")


def known(facts: Facts) -> set[tuple[str, str, str]]:
    return {fact.triple for fact in facts.query(limit=1000)}


def test_the_example_is_seeded_once_as_one_change(facts: Facts) -> None:
    planned = seed_goals(facts, GOALS, agent="main", dry_run=True)
    assert known(facts) == set()
    seeded = seed_goals(facts, GOALS, agent="main")
    assert seeded == planned
    assert known(facts) == set(seeded.facts)
    assert {
        ("goal-revenue", "isA", "Goal"),
        ("goal-revenue", "hierarchyLevel", "strategic"),
        ("goal-revenue", "progress", "25%"),
        ("goal-cafes", "contributesTo", "goal-revenue"),
        ("desire-loyalty", "motivates", "goal-subscribers"),
        ("belief-churn", "supports", "goal-shipping"),
        ("goal-cafes", "requires", "plan-tastings"),
        ("plan-tastings", "contains", "step-visit"),
        ("step-visit", "stepOrder", "2"),
        ("step-visit", "dependsOn", "step-list"),
        ("agent-sales", "owns", "goal-cafes"),
    } <= known(facts)
    head = facts._vault.head
    again = seed_goals(facts, GOALS, agent="main")
    assert (again.facts, again.retracted, facts._vault.head) == ((), (), head)


def test_the_relations_of_the_example_fit_the_base_model(facts: Facts) -> None:
    triples = seed_goals(facts, GOALS, agent="main", dry_run=True).facts
    kinds = {subject: kind_named(kind) for subject, predicate, kind in triples if predicate == "isA"}
    stated = [each for each in triples if each[1] in PREDICATES]
    assert len({predicate for _, predicate, _ in stated}) == 6
    for subject, predicate, other in stated:
        first, others = ends(PREDICATES[predicate])
        assert (kinds[subject], kinds[other] in others) == (first, True)


def test_a_changed_file_takes_back_what_it_says_no_longer(facts: Facts) -> None:
    seed_goals(facts, GOALS, agent="main")
    facts.assert_many([{"subject": "goal-cafes", "predicate": "progress", "object": "90%", "source": "manual"}])
    changed = copy.deepcopy(GOALS)
    changed["goals"][0]["progress"] = 0.3
    changed["desires"][0]["content"] = "  Live well.  "
    head, before = facts._vault.head, known(facts)
    seeded = seed_goals(facts, changed, agent="main")
    assert len(seeded.retracted) == 2
    assert ("goal-revenue", "progress", "25%") in seeded.retracted
    assert set(seeded.facts) == {
        ("goal-revenue", "progress", "30%"),
        ("desire-independence", "content", "Live well."),
    }
    assert known(facts) == before - {*seeded.retracted} | {*seeded.facts}
    assert facts._vault.head == head + 1
    assert seed_goals(facts, changed, agent="main").retracted == ()


MISTAKES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "unknown parent": (lambda g: g["goals"][2].update(parent="goal-x"), "parent 'goal-x' is none of the goals"),
    "level": (lambda g: g["goals"][0].update(level="vast"), "level 'vast' is not one of strategic, tactical"),
    "order": (lambda g: g["goals"][2].update(level="strategic"), "goal-subscribers is strategic and contributes to"),
    "own parent": (
        lambda g: g["goals"][0].update(parent="goal-revenue"),
        "strategic and contributes to goal-revenue, which is strategic",
    ),
    "circle": (lambda g: g["plans"][0]["steps"][0].update(depends_on=["step-letter"]), "depends_on leads in a circle"),
    "no id": (lambda g: g["goals"][3].pop("id"), "goals 4 has no id"),
    "same id": (lambda g: g["plans"][0].update(id="goal-cafes"), r"plans 1 \(goal-cafes\) has the id of another"),
    "share": (lambda g: g["goals"][0].update(priority=25), "priority 25 is not a number from 0 to 1"),
    "day": (lambda g: g["goals"][0].update(deadline="soon"), "deadline 'soon' is not a day"),
    "typing error": (lambda g: g["goals"][0].update(nmae="x"), "there is no 'nmae'"),
    "no list": (lambda g: g.update(desires={"id": "d"}), "desires is no list of objects"),
    "no objects": (lambda g: g["goals"].append("goal-x"), "goals is no list of objects"),
    "no steps": (lambda g: g["plans"][0].update(steps="all"), "steps of plan-referrals is no list of objects"),
    "odd link": (lambda g: g["goals"][2].update(parent={"id": "goal-revenue"}), "is none of the goals"),
    "second parent": (lambda g: g["goals"][2].update(parent=["goal-revenue", "goal-cafes"]), "to goal-cafes, which is"),
    "no such day": (lambda g: g["goals"][0].update(deadline="2027-02-31"), "deadline '2027-02-31' is not a day"),
    "endless": (lambda g: g["goals"][0].update(target_value=float("inf")), "target_value inf is not a number"),
    "long": (lambda g: g["goals"][0].update(name="x" * 5000), "is longer than"),
    "unknown list": (lambda g: g.update(dreams=[]), "dreams is no list of members"),
    "nobody": (lambda g: g.update(business=""), "business names nobody"),
    "no goals": (lambda g: g.update(goals=[]), "there are no goals"),
    "no name": (lambda g: g["goals"][0].pop("name"), "it has no name or no level"),
}


def test_a_mistake_is_told_and_nothing_is_written(facts: Facts) -> None:
    for spoil, said in MISTAKES.values():
        goals = copy.deepcopy(GOALS)
        spoil(goals)
        for dry_run in (True, False):
            with pytest.raises(InputError, match=said):
                seed_goals(facts, goals, agent="main", dry_run=dry_run)
    assert known(facts) == set()


def test_progress_is_a_share_or_a_percentage_and_stored_as_a_percentage(facts: Facts) -> None:
    def seeded(progress: object) -> tuple[Triple, ...]:
        goal = {"id": "g", "name": "G", "level": "tactical", "progress": progress}
        return seed_goals(facts, {"business": "B", "goals": [goal]}, agent="main", dry_run=True).facts

    stored = {0: "0%", 1: "100%", 0.35: "35%", 0.005: "0.5%", "20%": "20%", "12.5 percent": "12.5%", "100%": "100%"}
    for given, percentage in stored.items():
        assert ("g", "progress", percentage) in seeded(given)
    for wrong in (25, -0.1, "0.2", "120%", "-5%", "half", True, None, [0.2], float("nan")):
        with pytest.raises(InputError, match=r"1 mistake: g: progress .* is not a number from 0 to 1 or a percentage"):
            seeded(wrong)


def test_goals_that_are_behind_are_found_by_their_percentage(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        seed_goals(memory.facts, GOALS, agent="main")
        behind = memory.questions.aggregate("?goal isA Goal and ?goal progress ?p and ?p < 30%", by="?goal")
        assert set(behind.groups) == {"goal-revenue", "goal-late-parcels"}
        assert behind.problems == ()


def test_all_mistakes_are_told_at_once(facts: Facts) -> None:
    goals = copy.deepcopy(GOALS)
    for name in ("unknown parent", "share", "day", "no objects"):
        MISTAKES[name][0](goals)
    with pytest.raises(InputError, match="have 4 mistakes"):
        seed_goals(facts, goals, agent="main")


def test_toml_says_the_same_as_json() -> None:
    text = 'business = "B"\n[[goals]]\nid = "g"\nname = "G"\nlevel = "tactical"\ndeadline = 2027-01-31\n'
    goal = {"id": "g", "name": "G", "level": "tactical", "deadline": "2027-01-31"}
    assert json.loads(json.dumps(read_goals(text), default=str)) == {"business": "B", "goals": [goal]}


@pytest.mark.parametrize("text", ["{", "= 1", "[" * 100_000, '{"a": ' * 100_000])
def test_what_is_no_file_of_goals_is_told(text: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_goals(text)
