"""Reasoning over a home: previews, what is kept and withdrawn, proofs with sources, checks and policies."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.errors import InferenceLimitError, InputError
from memfolio.index.facts import Fact
from memfolio.knowledge.engine import StoredRelations, WithContext
from memfolio.knowledge.facts import Facts
from memfolio.knowledge.inference import Inference, ProofVerdict, Prover
from memfolio.knowledge.join import Relations, as_text
from memfolio.knowledge.rules import Rules
from memfolio.vault.vault import OWNER

RULES = (
    "big: ?x hasRevenue ?y and ?y > $50,000 => ?x isBig true [domain size]",
    "taxable: ?x isBig true and not ?x isExempt true => ?x isTaxable true",
    "unfiled: ?x isTaxable true and not ?x filed ?any => ERROR: ?x has not filed",
    "notify: ?x isTaxable true and ?x isLate true => DO write to ?x [escalate]",
)


class World:
    """A home with some rules and facts."""

    revenue: Fact

    def __init__(self, memory: Memory) -> None:
        place = memory.vault, memory.searcher, "main"
        self.index = memory.searcher.index
        self.rules = Rules(*place)
        for each in RULES:
            self.rules.create(each)
        self.facts = Facts(*place)
        self.inference = Inference(*place, facts=self.facts, rules=self.rules)

    def tell(self, text: str, **more: Any) -> Fact:
        subject, predicate, target = text.split()
        told = {"subject": subject, "predicate": predicate, "object": target, **more}
        return self.facts.assert_many([told], by=OWNER)[0]

    def kept(self, predicate: str) -> list[str]:
        self.inference.refresh()
        return [each.subject for each in self.index.read(lambda db: StoredRelations(db).match(predicate))]


@pytest.fixture
def world(home: Path, clock: SettableClock) -> Iterator[World]:
    with Memory.open(home, clock=clock, background=False) as memory:
        made = World(memory)
        made.revenue = made.tell("acme hasRevenue $60,000", source="cfo", confidence=0.9)
        yield made


def test_a_preview_keeps_nothing_and_what_is_kept_goes_with_its_premise(world: World) -> None:
    drawn = world.inference.forward()
    assert [(each.atom.triple, each.rule.name) for each in drawn.conclusions] == [
        (("acme", "isBig", "true"), "big"),
        (("acme", "isTaxable", "true"), "taxable"),
    ]
    assert world.kept("isTaxable") == []
    assert world.inference.forward(persist=True, limit=1).total == 2
    assert world.kept("isTaxable") == ["acme"]
    assert world.inference.forward().total == 0
    world.tell("acme isExempt true")
    assert (world.kept("isTaxable"), world.kept("isBig")) == ([], ["acme"])
    world.facts.retract(world.revenue.id)
    assert world.kept("isBig") == []


def test_only_some_rules_may_be_applied(world: World) -> None:
    assert world.inference.forward(rules=["big"]).total == 1
    assert world.inference.forward(domain="size").total == 1
    assert world.inference.forward(rules=["taxable"]).total == 0
    with pytest.raises(InputError, match="the rule unfiled is of type constraint"):
        world.inference.forward(rules=["unfiled"])


@pytest.mark.parametrize("persist", [False, True])
def test_proofs_lead_to_sources_whether_conclusions_are_kept_or_not(world: World, persist: bool) -> None:
    world.inference.forward(persist=persist)
    proof = world.inference.backward("?who", "isTaxable", "true")
    assert (proof.verdict, proof.answers[0].binding) == (ProofVerdict.PROVEN, {"?who": "acme"})
    found = as_text(world.inference.explain_fact(("acme", "isTaxable", "true")))
    assert found == as_text(proof.answers[0].proof)
    assert f"{world.revenue.id}, source: cfo" in found
    assert "source: cfo" in as_text(world.inference.explain_fact(world.revenue.id))


def test_facts_of_strangers_prove_nothing_but_are_shown(world: World) -> None:
    told = world.tell("evil hasRevenue $90,000", origin="untrusted")
    assert world.inference.backward("evil", "isBig", "true").verdict is ProofVerdict.GAPS
    assert "evil hasRevenue $90,000" in as_text(world.inference.explain_fact(told.id))


@pytest.mark.parametrize("persist", [False, True])
def test_constraints_and_policies_see_what_follows(world: World, persist: bool) -> None:
    world.inference.forward(persist=persist)
    assert [each.text for each in world.inference.check().findings] == ["acme has not filed"]
    assert world.inference.check(severity="critical").findings == ()
    assert world.inference.evaluate().findings == ()
    late = world.inference.evaluate([("acme", "isLate", "true")])
    assert [(each.text, each.escalate) for each in late.findings] == [("write to acme", True)]
    other = [("zed", "hasRevenue", "$70,000"), ("zed", "isLate", "true")]
    assert [each.text for each in world.inference.evaluate(other).findings] == ["write to zed"]
    world.tell("acme filed 2026")
    assert world.inference.check().findings == ()


def test_a_question_is_answered_with_sources(world: World) -> None:
    found = world.inference.explain("Is Acme taxable?")
    assert (found.paths, found.sources) == (("derived",), [f"{world.revenue.id} (cfo)"])
    assert world.inference.explain(["acme", "isLate", "?x"]).paths == ()
    assert world.inference.abduce("zed", "isBig", "true")[0].rule.name == "big"


def test_backward_proves_what_forward_draws_and_says_where_it_could_not_look(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.rules.create("?x parent ?y => ?x ancestor ?y")
        memory.rules.create("?x parent ?y and ?y ancestor ?z => ?x ancestor ?z")
        memory.facts.assert_many(
            {"subject": f"p{at}", "predicate": "parent", "object": f"p{at + 1}"} for at in range(30)
        )
        drawn = [each.atom.triple for each in memory.inference.forward().conclusions]
        assert len(drawn) == 465
        for triple in drawn[::20]:
            assert memory.inference.backward(*triple).verdict is ProofVerdict.PROVEN
            assert memory.inference.explain(triple).derived
        assert memory.inference.backward("p0", "ancestor", "?x", limit=None).total == 30
    (home / "memfolio.toml").write_text("[knowledge]\nmost = 100\n")
    with Memory.open(home, background=False) as memory:
        cut = memory.inference.backward("p0", "ancestor", "?x")
        assert (cut.verdict, cut.undecided) == (ProofVerdict.UNDECIDED, "not decided within 100 conclusions")
        assert "Not decided within 100 conclusions" in str(memory.inference.explain(["p0", "ancestor", "?x"]))
        assert memory.inference.backward("p0", "ancestor", "p30").verdict is ProofVerdict.PROVEN
        memory.rules.create("?x ancestor ?z and ?y ancestor ?z => ?x kin ?y")
        with pytest.raises(InferenceLimitError, match="p0 kin p1' is not decided within 100 conclusions"):
            memory.inference.explain_fact(("p0", "kin", "p1"))


@pytest.mark.parametrize("goal", [("acme", "?p", "true"), ("", "isBig", "true")])
def test_what_is_no_goal_is_refused(world: World, goal: tuple[str, str, str]) -> None:
    with pytest.raises(InputError, match="is no goal"):
        world.inference.backward(*goal)


def test_a_check_is_of_the_moment(world: World, clock: SettableClock) -> None:
    world.tell("acme isExempt true", valid_until=(clock.now() + timedelta(days=2)).isoformat())
    assert world.inference.check().findings == ()
    clock.advance(days=3)
    assert [each.text for each in world.inference.check().findings] == ["acme has not filed"]
    assert world.inference.backward("acme", "isTaxable", "true").answers[0].atom.start > 0


def test_rules_that_lead_too_far_or_nowhere_leave_facts_readable_and_say_so(home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "memfolio.toml").write_text("[knowledge]\nmost = 5\n")
    with Memory.open(home, background=False) as memory:
        memory.rules.create("near: ?x to ?y => ?y to ?x")
        memory.facts.assert_("a", "to", "b")
        memory.inference.forward(persist=True)
        assert memory.inference.trouble is None
        made = [memory.facts.assert_("a", "to", f"c{number}") for number in range(6)]
        assert {each.object for each in memory.facts.query("a", "to")} == {"b", *(each.object for each in made)}
        assert memory.facts.query(predicate="to", object="a") == []
        assert "more than 5 conclusions follow" in str(memory.inference.trouble)
        assert "more than 5 conclusions follow" in memory.inference.check().problems[0]
        assert memory.inference.backward("b", "to", "a").verdict is ProofVerdict.PROVEN
        for fact in made:
            memory.facts.retract(fact.id)
        assert memory.inference.trouble is None
        assert [fact.subject for fact in memory.facts.query(predicate="to", object="a")] == ["b"]


def test_a_fact_tells_from_which_memories_it_came_even_forgotten_ones(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        told = memory.remember("Acme made $60,000")
        fact = memory.facts.assert_("acme", "hasRevenue", "$60,000", memories=[told.id])
        memory.forget(told.id)
        assert f"memories: {told.id}" in as_text(memory.facts.explain(fact.id))


def test_suppositions_are_asked_about_in_one_state_and_leave_no_trace(world: World) -> None:
    world.inference.forward(persist=True)
    world.tell("globex hasRevenue $70,000", origin="untrusted")

    def big(stored: Relations) -> list[str]:
        prover = Prover(WithContext(stored, [("initech", "hasRevenue", "$90,000")]), world.rules.list())
        return sorted(each.subject for each in prover.match("isBig"))

    assert world.inference.supposing(big) == ["acme", "initech"]
    assert world.kept("isBig") == ["acme"]
