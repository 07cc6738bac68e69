"""Questions to the graph of facts are answered over all agents, without end or accident."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfolio import Memory
from memfolio.errors import InputError, RuleError
from memfolio.knowledge import traverse as graph
from memfolio.knowledge.facts import Facts
from memfolio.knowledge.inference import Inference
from memfolio.knowledge.join import Atom, MemoryRelations, Relations
from memfolio.knowledge.model import ATTRIBUTES, EFFECTS, NODES, PATHS, PREDICATES, RELATIONS, kind_named
from memfolio.knowledge.rules import Rules
from memfolio.knowledge.traverse import Questions
from memfolio.vault.vault import OWNER

T = TypeVar("T")
NOW = 1_000

MIND = """
    belief-1 isA Belief
    belief-1 supports goal-7
    belief-1 supports goal-8 0.5
    goal-7 isA Goal
    goal-7 requires plan-1 0.8
    goal-8 requires plan-2
    plan-1 contains step-1
    plan-1 contains step-2
    step-2 dependsOn step-1
    decision-1 resolves goal-7
"""
GOALS = """
    goal-1 isA Goal
    goal-1 level strategic
    goal-1 status behind
    goal-1 progress 20%
    goal-2 isA Goal
    goal-2 level strategic
    goal-2 status on-track
    goal-2 progress 80%
"""


class Agents(Questions):
    """Facts of several agents, in memory."""

    def __init__(self, *, now: int = NOW, **facts: Iterable[Atom]) -> None:
        self.held, self.now = {agent: MemoryRelations(atoms) for agent, atoms in facts.items()}, now

    def _moment(self, valid_at: object) -> int:
        return self.now

    def _is_mentioned(self, node: str) -> bool:
        return True

    def each(self, question: Callable[[Relations], T]) -> list[tuple[str, T]]:
        return [(agent, question(held)) for agent, held in self.held.items()]


def atoms(text: str) -> list[Atom]:
    """Facts, one a line: the triple, and how sure it is."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return [
        Atom(number, line[0], line[1], line[2], float(line[3]) if line[3:] else 1.0)
        for number, line in enumerate(lines, 1)
    ]


def told(found: graph.Paths) -> list[str]:
    return [" ".join(path.nodes) for path in found.paths]


def walk(text: str, start: str | None, *path: str, hops: int = graph.HOPS, limit: int = graph.SHOWN) -> graph.Paths:
    return Agents(main=atoms(text)).traverse(start, path, hops=hops, limit=limit)


def test_model_tables_fit_together() -> None:
    assert len(NODES) == 19
    assert len(RELATIONS) == len(PREDICATES) == 10
    assert len(ATTRIBUTES) >= 60
    assert {name for names in NODES.values() for name in names} == set(ATTRIBUTES)
    assert {kind for roles in RELATIONS.values() for _, kind in roles} == set(NODES)
    assert set(PREDICATES.values()) == set(RELATIONS)
    steps = {step.way.lstrip("^") for path in PATHS.values() for step in graph.read_path(path)}
    assert steps | {way.lstrip("^") for way in EFFECTS} <= set(PREDICATES)
    assert [kind_named(each) for each in ("PlanStep", "plan-step", "Customer")] == [
        "plan_step",
        "plan_step",
        "Customer",
    ]


def test_a_belief_leads_to_the_plans_of_its_goals_with_the_least_confidence_on_the_way() -> None:
    found = walk(MIND, "belief-1", "belief-goal-plan")
    assert told(found) == ["belief-1 goal-7 plan-1", "belief-1 goal-8 plan-2"]
    assert [path.confidence for path in found.paths] == [0.8, 0.5]
    assert [hop.cited.atom.key for hop in found.paths[0].hops] == [2, 5]


@pytest.mark.parametrize(
    ("start", "path", "expected"),
    [
        ("plan-1", ["^requires", "^supports"], ["plan-1 goal-7 belief-1"]),
        (None, ["^contains", "^requires"], ["step-1 plan-1 goal-7", "step-2 plan-1 goal-7"]),
        ("goal-7", ["requires+", "contains+"], ["goal-7 plan-1 step-1", "goal-7 plan-1 step-2"]),
        ("step-1", ["^dependsOn+"], ["step-1 step-2"]),
        (None, ["dependsOn+", "^contains"], ["step-2 step-1 plan-1"]),
        ("nobody", ["supports"], []),
    ],
)
def test_steps_go_back_and_repeat(start: str | None, path: list[str], expected: list[str]) -> None:
    assert sorted(told(walk(MIND, start, *path))) == expected


@pytest.mark.parametrize("path", [[], ["a b"], ["^"], ["a|b"], ["(a)+"], ["^^a"], ["+"], ["a*"], ["a^b"]])
def test_a_path_that_cannot_be_read_is_refused(path: list[str]) -> None:
    with pytest.raises(InputError):
        graph.read_path(path)


def test_paths_hold_while_all_their_facts_do_and_expired_facts_lead_nowhere() -> None:
    first, second = Atom(1, "a", "p", "b", 1, 0, 5_000), Atom(2, "b", "p", "c", 1, 500, 9_000)
    facts = [first, second, Atom(3, "b", "p", "d", 1, 0, NOW)]
    (path,) = Agents(main=facts).traverse("a", ["p", "p"]).paths
    assert path.nodes == ("a", "b", "c")
    assert path.span == (500, 5_000)
    assert not Agents(main=facts, now=6_000).traverse("a", ["p", "p"]).paths


def test_paths_cross_agents_and_cite_the_surest() -> None:
    sources = Agents(main=atoms("a p b 0.4"), other=atoms("a p b 0.9\nb p c"))
    (path,) = sources.traverse("a", ["p", "p"]).paths
    assert path.confidence == 0.9
    assert graph.as_text(path, lambda cited: f"{cited.agent}:{cited.atom.key}") == (
        "a -p-> b -p-> c (0.90, other:1, other:2)"
    )


def test_answers_are_bounded_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "WIDEST", 500)
    monkeypatch.setattr(graph, "MEMBERS", 3)
    ring = "\n".join(f"n{at} next n{(at + 1) % 50}" for at in range(50))
    assert max(len(path.hops) for path in walk(ring, "n0", "next+", hops=32).paths) == 32
    dense = "\n".join(f"n{a} to n{b}" for a in range(8) for b in range(8))
    found = walk(dense, "n0", "to+", "never")
    assert not found.paths
    assert found.is_cut
    assert walk(dense, "n0", "to+", limit=5).is_cut
    assert len(walk(dense, "n0", "to+", limit=5).paths) == 5
    counted = [Agents(main=atoms(dense)).aggregate(f"n{at} to ?x and ?x to n0") for at in (1, 9)]
    assert [(len(each.groups.get("main", ())), each.is_cut) for each in counted] == [(3, True), (0, False)]


@settings(max_examples=40, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=14), st.booleans(), st.randoms())
def test_ends_are_those_of_all_simple_paths_in_whatever_order_facts_come(
    edges: set[tuple[int, int]], is_back: bool, random: object
) -> None:
    facts = [Atom(at, f"n{a}", "dependsOn", f"n{b}") for at, (a, b) in enumerate(sorted(edges), 1)]
    shuffled = list(facts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    step = "^dependsOn+" if is_back else "dependsOn+"
    ways = [Agents(main=each).traverse("n0", [step], limit=10_000) for each in (facts, shuffled)]
    assert ways[0] == ways[1]
    steps = [(f"n{b}", f"n{a}") if is_back else (f"n{a}", f"n{b}") for a, b in edges]
    assert sorted(path.nodes for path in ways[0].paths) == sorted(simple_paths(steps, ("n0",)))
    assert [len(path.hops) for path in ways[0].paths] == sorted(len(path.hops) for path in ways[0].paths)
    if is_back:
        doubted = [path for paths in Agents(main=facts).impact("n0").kinds.values() for path in paths]
        nearest = {path.nodes[-1]: len(path.hops) for path in reversed(ways[0].paths)}
        assert {path.nodes[-1]: len(path.hops) for path in doubted} == nearest
        assert len(doubted) == len(nearest)


def simple_paths(steps: list[tuple[str, str]], nodes: tuple[str, ...]) -> list[tuple[str, ...]]:
    onward = [(*nodes, b) for a, b in steps if a == nodes[-1] and b not in nodes]
    return [path for each in onward for path in (each, *simple_paths(steps, each))]


def test_doubt_spreads_to_goals_plans_and_steps() -> None:
    found = Agents(main=atoms(MIND)).impact("belief-1")
    reached = {kind: [(path.nodes[-1], len(path.hops)) for path in paths] for kind, paths in found.kinds.items()}
    assert reached == {
        "decision": [("decision-1", 2)],
        "goal": [("goal-7", 1), ("goal-8", 1)],
        "plan": [("plan-1", 2), ("plan-2", 2)],
        "plan_step": [("step-1", 3), ("step-2", 3)],
    }


def count(sources: Questions, text: str, by: str = "agent") -> Mapping[str, list[str]]:
    found = sources.aggregate(text, by=by)
    return {value: [f"{each.agent}/{each.node}" for each in members] for value, members in found.groups.items()}


def test_goals_that_are_behind_are_told_by_agent() -> None:
    more = GOALS + "\ngoal-3 isA Goal\ngoal-3 level strategic\ngoal-3 status behind"
    sources = Agents(ceo=atoms(GOALS), cfo=atoms(more))
    behind = "?goal isA Goal and ?goal level strategic and ?goal status behind"
    assert count(sources, behind) == {"cfo": ["cfo/goal-1", "cfo/goal-3"], "ceo": ["ceo/goal-1"]}
    assert count(sources, "?goal isA Goal and ?goal status ?status", "?status") == {
        "behind": ["ceo/goal-1", "cfo/goal-1", "cfo/goal-3"],
        "on-track": ["ceo/goal-2", "cfo/goal-2"],
    }
    assert count(sources, "?goal progress ?p and ?p < 50%") == {"ceo": ["ceo/goal-1"], "cfo": ["cfo/goal-1"]}
    assert count(sources, "?goal isA Goal and not ?goal progress ?p") == {"cfo": ["cfo/goal-3"]}


def test_what_cannot_be_compared_or_grouped_by_is_said() -> None:
    sources = Agents(main=atoms(GOALS))
    found = sources.aggregate("?goal progress ?p and ?p < $5")
    assert not found.groups
    assert "cannot be compared" in found.problems[0]
    with pytest.raises(InputError):
        count(sources, "?goal isA Goal", "?status")
    with pytest.raises(RuleError):
        sources.aggregate("?goal < 5")


@pytest.mark.parametrize("many", [1, 1000])
def test_ends_of_the_wrong_kind_are_found(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    monkeypatch.setattr(graph, "MANY", many)
    odd = MIND + "\nplan-1 isA Plan\nplan-1 supports goal-7\nacme isA Company\nacme requires paper\nstep-1 owns step-2"
    misfits = Agents(main=atoms(odd)).validate()
    assert [str(each) for each in misfits] == ["plan-1 supports goal-7: plan-1 is plan, not belief"]
    nodes = {each.node for each in Agents(main=atoms(odd)).validate(strict=True)}
    assert nodes == {"plan-1", "step-1", "step-2", "goal-8", "decision-1"}


def test_narrower_kinds_count_as_their_wider_ones() -> None:
    facts = "b isA Hunch\nHunch subClassOf Belief\nb supports g\ng isA Goal"
    assert not Agents(main=atoms(facts)).validate()
    assert Agents(main=atoms(facts.replace("subClassOf Belief", "subClassOf Plan"))).validate()


def write_facts(home: Path, agent: str, *lines: dict[str, object]) -> None:
    file = home / "agents" / agent / "knowledge" / "facts.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in lines)


def line(text: str, **more: object) -> dict[str, object]:
    return dict(zip(("subject", "predicate", "object"), text.split(), strict=True)) | more


def test_facts_of_all_agents_in_scope_are_asked_and_no_others(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.agents.create("cfo", by=OWNER)
    for agent in ("main", "cfo"):
        write_facts(home, agent, line("goal-1 isA Goal"), line("goal-1 status behind"))
    write_facts(home, "main", line("belief-1 supports goal-1", valid_until="2026-12-31"))
    write_facts(home, "cfo", line("goal-1 requires plan-1", confidence=0.7))
    with Memory.open(home, background=False) as memory:
        asked = Questions(memory.vault, memory.searcher)
        behind = "?goal isA Goal and ?goal status behind"
        assert not asked.traverse("belief-1", "belief-goal-plan").paths
        assert list(asked.aggregate(behind).groups) == ["main"]
        memory.agents.update("main", reads=("*",), by=OWNER)
        asked = Questions(memory.vault, memory.searcher)
        assert list(asked.aggregate(behind).groups) == ["cfo", "main"]
        (path,) = asked.traverse("belief-1", "belief-goal-plan", valid_at="2026-12-31").paths
        ids = asked.ids(hop.cited for hop in path.hops)
        document = graph.as_document(path, ids.__getitem__)
        assert document["valid_until"] == "2027-01-01T00:00:00.000Z"
        assert [each["agent"] for each in document["facts"]] == ["main", "cfo"]
        assert not asked.traverse("belief-1", "belief-goal-plan", valid_at="2027-01-01").paths


def test_a_retracted_fact_still_shows_what_hung_on_it(home: Path) -> None:
    write = partial(write_facts, home, "main")
    with Memory.open(home, background=False):
        write(line("belief-1 supports goal-1"), line("goal-1 requires plan-1"), line("goal-1 status ok"))
    with Memory.open(home, background=False) as memory:
        asked = Questions(memory.vault, memory.searcher)
        (path,) = asked.traverse("belief-1", ["supports"]).paths
        (fact,) = asked.ids([path.hops[0].cited]).values()
        before = asked.impact(fact).kinds
    write(line("belief-1 supports goal-1", op="retract"))
    with Memory.open(home, background=False) as memory:
        asked = Questions(memory.vault, memory.searcher)
        after = asked.impact(fact).kinds
        assert not asked.impact("belief-1").kinds
    for kinds in (before, after):
        assert {kind: [path.nodes[-1] for path in paths] for kind, paths in kinds.items()} == {
            "goal": ["goal-1"],
            "plan": ["plan-1"],
        }


def test_conclusions_are_followed_cited_and_fall_with_their_fact(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        facts = Facts(memory.vault, memory.searcher, memory.agent)
        rules = Rules(memory.vault, memory.searcher, memory.agent)
        inference = Inference(memory.vault, memory.searcher, memory.agent, facts=facts, rules=rules)
        asked = Questions(memory.vault, memory.searcher, refresh=inference.refresh)
        rules.import_("?b backs ?g => ?b supports ?g [factor 0.5]")
        inference.forward(persist=True)
        _, backed = facts.assert_many([line("goal-1 requires plan-1"), line("belief-1 backs goal-1")])
        (path,) = asked.traverse("belief-1", "belief-goal-plan").paths
        assert path.confidence == 0.5
        assert [each[:2] for each in asked.ids(hop.cited for hop in path.hops).values()] == ["D-", "F-"]
        found = asked.impact(backed.id)
        assert [each.atom.triple for each in found.conclusions] == [("belief-1", "supports", "goal-1")]
        assert list(found.kinds) == ["goal", "plan"]
        facts.retract(subject="belief-1", predicate="backs")
        assert not asked.traverse("belief-1", "belief-goal-plan").paths
