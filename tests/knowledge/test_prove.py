"""Backward chaining finds what forward chaining finds, ends, and says what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.knowledge.engine import derive
from memfolio.knowledge.inference import ProofVerdict, Prover, incomplete_rules, prove
from memfolio.knowledge.join import Atom, MemoryRelations, Triple, as_document, as_text
from memfolio.knowledge.literal import Operator
from memfolio.knowledge.rule import Comparison, Condition, Part, Rule, RuleType
from tests.knowledge.brute import bind
from tests.knowledge.world import atoms_of, rules_of

Ways = set[tuple[Triple, float, int, int]]
PREDICATES = ("p0", "p1", "p2", "p3")
NAMES = st.sampled_from(("a", "b", "1", "2"))
TERMS = st.sampled_from(("?x", "?y", "?z", "a", "1"))

TAXES = """
big: ?x hasRevenue ?y and ?y > $50,000 => ?x isBig true
taxable: ?x isBig true and ?x locatedIn US and not ?x isExempt true => ?x isTaxable true [factor 0.8]
inside: ?x locatedIn ?y and ?y partOf ?z => ?x locatedIn ?z [factor 1]
"""


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """A rule that negates only predicates below its own."""
    level = draw(st.integers(1, 3))
    met = st.builds(Condition, TERMS, st.sampled_from(PREDICATES[: level + 1]), TERMS)
    body: list[Part] = list(draw(st.lists(met, min_size=1, max_size=3)))
    known = sorted({term for each in body for term in each.terms})
    if draw(st.booleans()):
        terms = st.sampled_from([*known, "?any"])
        body.append(Condition(draw(terms), draw(st.sampled_from(PREDICATES[:level])), draw(terms), negated=True))
    if draw(st.booleans()):
        operator = draw(st.sampled_from((Operator.EQ, Operator.NE, Operator.LT)))
        body.append(Comparison(draw(st.sampled_from(known)), operator, draw(st.sampled_from([*known, "2"]))))
    ends = st.sampled_from(known)
    return Rule(
        id="",
        name="",
        type=RuleType.INFERENCE,
        conditions=tuple(body),
        conclusion=Condition(draw(ends), PREDICATES[level], draw(ends)),
        factor=draw(st.sampled_from((1.0, 0.9, 0.5))),
    )


@st.composite
def atoms(draw: st.DrawFn) -> Atom:
    start = draw(st.integers(0, 5))
    values = draw(NAMES), draw(st.sampled_from(PREDICATES)), draw(NAMES)
    return Atom(0, *values, draw(st.sampled_from((1.0, 0.8, 0.4))), start, start + draw(st.integers(1, 5)))


def best(all_ways: Ways) -> Ways:
    """Those that no other one makes needless."""
    return {
        each
        for each in all_ways
        if not any(
            other != each
            and other[0] == each[0]
            and other[1] >= each[1]
            and other[2] <= each[2]
            and other[3] >= each[3]
            for other in all_ways
        )
    }


def ways(found: Iterable[Atom]) -> Ways:
    return best({(each.triple, each.confidence, each.start, each.end) for each in found})


@given(st.lists(atoms(), max_size=10), st.lists(rules(), max_size=5), st.data())
def test_backward_chaining_finds_what_forward_chaining_finds(
    facts: list[Atom], program: list[Rule], data: st.DataObject
) -> None:
    facts = [each._replace(key=number + 1) for number, each in enumerate(facts)]
    program = [replace(each, id=f"R-{at}", kept=data.draw(st.booleans())) for at, each in enumerate(program)]
    everything = derive(facts, program, most=100_000).atoms.values()
    kept = derive(facts, [each for each in program if each.kept], most=100_000).atoms.values()
    prover = data.draw(
        st.sampled_from([Prover(MemoryRelations(facts), program), Prover(MemoryRelations(kept), program, kept=True)])
    )
    for _ in range(3):
        subject, target = data.draw(st.none() | NAMES), data.draw(st.none() | NAMES)
        goal = Condition(subject or "?s", data.draw(st.sampled_from(PREDICATES)), target or "?o")
        found = prover.match(goal.predicate, subject, target)
        assert not prover.truncated
        assert all(prover.steps_to(each) for each in found if each.key < 0)
        assert ways(found) == ways(each for each in everything if bind(goal, each, {}) is not None)


@given(st.lists(atoms(), max_size=10), st.lists(rules(), max_size=5), st.integers(0, 10))
def test_every_ground_goal_is_proven_if_and_only_if_it_follows(
    facts: list[Atom], program: list[Rule], now: int
) -> None:
    facts = [each._replace(key=number + 1) for number, each in enumerate(facts)]
    program = [replace(each, id=f"R-{at}") for at, each in enumerate(program)]
    following = {each.triple for each in derive(facts, program, most=100_000).atoms.values() if each.holds_at(now)}
    for one, name, other in product("ab12", PREDICATES, "ab12"):
        proof = prove(Condition(one, name, other), Prover(MemoryRelations(facts), program), now=now)
        assert (proof.verdict is ProofVerdict.PROVEN) == ((one, name, other) in following)
        assert proof.undecided is None


CHAIN = [Atom(number + 1, f"p{number}", "parent", f"p{number + 1}") for number in range(60)]
ANCESTORS = {
    "right": "?x parent ?y => ?x ancestor ?y\n?x parent ?y and ?y ancestor ?z => ?x ancestor ?z",
    "left": "?x parent ?y => ?x ancestor ?y\n?x ancestor ?y and ?y parent ?z => ?x ancestor ?z",
    "both": "?x parent ?y => ?x ancestor ?y\n?x ancestor ?y and ?y ancestor ?z => ?x ancestor ?z",
}


@pytest.mark.parametrize("recursion", ANCESTORS)
def test_long_chains_and_cycles_are_decided(recursion: str) -> None:
    program = rules_of(ANCESTORS[recursion])
    cycle = [*CHAIN[:20], Atom(200, "p20", "parent", "p0")]
    for facts, last in ((CHAIN, 60), (cycle, 20)):
        prover = Prover(MemoryRelations(facts), program)
        for start in (0, last // 2, last - 1):
            assert prove(Condition(f"p{start}", "ancestor", f"p{last}"), prover).verdict is ProofVerdict.PROVEN
        assert prove(Condition("p0", "ancestor", "?x"), prover, limit=None).total == len(
            {each.object for each in facts}
        )
        back = prove(Condition(f"p{last}", "ancestor", "p0"), prover)
        assert (back.verdict is ProofVerdict.PROVEN, back.undecided) == (facts is cycle, None)


def test_a_goal_is_decided_however_little_of_its_proof_is_shown() -> None:
    goal = Condition("p0", "ancestor", "p30")
    for depth in (0, 10, 40):
        proof = prove(goal, Prover(MemoryRelations(CHAIN), rules_of(ANCESTORS["right"])), depth=depth)
        assert (proof.verdict, proof.truncated) == (ProofVerdict.PROVEN, False)
        assert ("goes deeper" in as_text(proof.answers[0].proof)) == (depth < 30)


def test_a_goal_with_variables_is_answered_with_values_confidence_and_proof() -> None:
    known = atoms_of("acme hasRevenue $60,000 0.9", "acme locatedIn Boston", "Boston partOf US", "bits hasRevenue $9")
    proof = prove(Condition("?who", "isTaxable", "?really"), Prover(MemoryRelations(known), rules_of(TAXES)))
    assert proof.verdict is ProofVerdict.PROVEN
    [answer] = proof.answers
    assert answer.binding == {"?who": "acme", "?really": "true"}
    assert answer.atom.confidence == pytest.approx(0.9 * 0.9 * 0.8)
    assert as_text(answer.proof).splitlines() == [
        "acme isTaxable true (0.65)",
        "  by the rule taxable (0.65)",
        "    acme isBig true (0.81)",
        "      by the rule big (0.81)",
        "        acme hasRevenue $60,000 (0.90)",
        "        $60,000 > $50,000",
        "    acme locatedIn US (1.00)",
        "      by the rule inside (1.00)",
        "        acme locatedIn Boston (1.00)",
        "        Boston partOf US (1.00)",
        "    not acme isExempt true",
    ]


@pytest.mark.parametrize(
    ("facts", "missing"),
    [
        (("acme locatedIn US",), ["acme isBig true", "acme hasRevenue ?y and ?y > $50,000"]),
        (("acme hasRevenue $60,000",), ["acme locatedIn US", "acme locatedIn ?y and ?y partOf US"]),
        (("acme hasRevenue $60,000", "acme locatedIn Rome"), ["Rome partOf US", "acme locatedIn US"]),
        (("acme hasRevenue $60,000", "acme locatedIn US", "acme isExempt true"), ["not acme isExempt true"]),
        (("acme hasRevenue $9", "acme locatedIn US"), ["acme isBig true", "acme hasRevenue ?y and ?y > $50,000"]),
    ],
)
def test_what_is_missing_is_told_smallest_first(facts: Sequence[str], missing: list[str]) -> None:
    proof = prove(Condition("acme", "isTaxable", "true"), Prover(MemoryRelations(atoms_of(*facts)), rules_of(TAXES)))
    assert proof.verdict is ProofVerdict.GAPS
    assert [str(gap) for gap in proof.gaps] == missing


def test_what_no_rule_concludes_cannot_be_proved() -> None:
    proof = prove(
        Condition("acme", "isNice", "?x"), Prover(MemoryRelations(atoms_of("acme locatedIn US")), rules_of(TAXES))
    )
    assert (proof.verdict, proof.answers, proof.gaps, proof.truncated) == (ProofVerdict.UNPROVABLE, (), (), False)


def test_a_rule_that_rests_on_itself_proves_nothing() -> None:
    circle = rules_of(
        "one: ?x likes ?y => ?y likes ?x\ntwo: ?x likes ?y => ?x knows ?y\nthree: ?x knows ?y => ?x likes ?y"
    )
    assert prove(Condition("a", "likes", "b"), Prover(MemoryRelations(), circle)).verdict is not ProofVerdict.PROVEN
    proof = prove(Condition("a", "likes", "?x"), Prover(MemoryRelations(atoms_of("b likes a")), circle))
    assert [each.binding for each in proof.answers] == [{"?x": "b"}]


CLOSURE = "near: ?x to ?y => ?x reaches ?y\nfar: ?x to ?y and ?y reaches ?z => ?x reaches ?z"


def test_what_cannot_be_drawn_within_the_limit_is_not_decided() -> None:
    chain = atoms_of(*(f"n{number} to n{number + 1}" for number in range(60)))
    goal = Condition("n0", "reaches", "?x")
    whole = prove(goal, Prover(MemoryRelations(chain), rules_of(CLOSURE)))
    assert (whole.truncated, whole.total, len(whole.answers), whole.undecided) == (False, 60, 50, None)
    spent = prove(goal, Prover(MemoryRelations(chain), rules_of(CLOSURE), most=100))
    assert (spent.verdict, spent.truncated, spent.total) == (ProofVerdict.UNDECIDED, True, 0)
    assert spent.undecided == "not decided within 100 conclusions"
    slow = " and ".join(f"?x{number} to ?y{number}" for number in range(6))
    steps = prove(goal, Prover(MemoryRelations(chain), rules_of(f"{slow} => ?x0 reaches nowhere"), most=100))
    assert steps.undecided == "not decided within 8,000 steps"


def test_what_was_decided_before_a_search_was_cut_stays_decided() -> None:
    chain = atoms_of(*(f"n{number} to n{number + 1}" for number in range(60)))
    prover = Prover(MemoryRelations(chain), rules_of(CLOSURE), most=100)
    narrow, wide = Condition("?x", "reaches", "n3"), Condition("n0", "reaches", "?x")
    assert prove(narrow, prover).total == 3
    assert prove(wide, prover).verdict is ProofVerdict.UNDECIDED
    assert prove(narrow, prover).total == 3
    assert prove(Condition("n9", "reaches", "n3"), prover).undecided is None


def test_rules_that_negate_what_they_lead_to_decide_nothing() -> None:
    proof = prove(
        Condition("a", "q", "1"),
        Prover(MemoryRelations(atoms_of("a p 1")), rules_of("?x p 1 and not ?x q 1 => ?x q 1")),
    )
    assert proof.verdict is ProofVerdict.UNDECIDED
    assert str(proof.undecided).startswith("not decided: whether q holds depends on its own absence")


def test_absence_is_never_concluded_from_a_search_that_was_cut() -> None:
    chain = atoms_of("a0 to a1", "a1 to a2", "a2 to a3", "a0 is start")
    program = rules_of(f"{CLOSURE}\n?x is start and not ?x reaches a3 => ?x is stuck")
    goal = Condition("a0", "is", "stuck")
    shallow = prove(goal, Prover(MemoryRelations(chain), program), depth=1)
    assert (shallow.verdict, [str(gap) for gap in shallow.gaps]) == (ProofVerdict.GAPS, ["not a0 reaches a3"])
    spent = prove(goal, Prover(MemoryRelations(chain), program, most=1))
    assert (spent.verdict, spent.truncated) == (ProofVerdict.UNDECIDED, True)


def test_what_is_known_of_a_goal_narrows_what_is_drawn() -> None:
    chain = [Atom(number + 1, f"n{number}", "to", f"n{number + 1}") for number in range(3000)]
    left = rules_of("near: ?x to ?y => ?x reaches ?y\nfar: ?x reaches ?y and ?y to ?z => ?x reaches ?z [factor 1]")
    proof = prove(Condition("n0", "reaches", "?x"), Prover(MemoryRelations(chain), left, most=3000), depth=5000)
    assert (proof.total, proof.truncated) == (3000, False)
    deepest = max(proof.answers, key=lambda each: len(as_text(each.proof)))
    assert "goes deeper" in as_text(deepest.proof)  # far deeper than anybody reads
    json.dumps(as_document(deepest))


def test_what_is_kept_is_read_and_not_proved_again() -> None:
    near, far = (replace(each, kept=True) for each in rules_of(CLOSURE))
    start = rules_of("?x is start and ?y reaches ?z and ?x reaches ?z => ?x leads ?z")[0]
    edges = atoms_of("a to b", "b to c", "a is start")
    drawn = derive(edges, [near, far], most=100)
    kept = MemoryRelations(drawn.atoms.values())
    prover = Prover(kept, [near, far, replace(start, id="R-9")], kept=True)
    proof = prove(Condition("a", "leads", "c"), prover, depth=1)
    assert not proof.truncated
    assert "a reaches c (0.81, goes deeper)" in as_text(proof.answers[0].proof)
    assert "by the rule far" in as_text(prove(Condition("a", "reaches", "c"), prover).answers[0].proof)


def test_the_proof_of_what_is_kept_does_not_rest_on_itself() -> None:
    program = rules_of("?x near ?y => ?y near ?x [factor 1]\n?x near ?y and ?y near ?z => ?x near ?z [factor 1]")
    drawn = derive(atoms_of("a near b", "b near c", "c near d"), program, most=100)
    prover = Prover(MemoryRelations(drawn.atoms.values()), [replace(each, kept=True) for each in program], kept=True)
    answers = prove(Condition("?x", "near", "?y"), prover).answers
    assert len(answers) == 16
    assert not any("rests on itself" in as_text(each.proof) for each in answers)


def test_only_what_holds_at_the_moment_counts() -> None:
    known = [Atom(1, "acme", "hasRevenue", "$60,000", 1.0, 10, 20)]
    goal = Condition("acme", "isBig", "true")
    assert prove(goal, Prover(MemoryRelations(known), rules_of(TAXES)), now=15).verdict is ProofVerdict.PROVEN
    assert prove(goal, Prover(MemoryRelations(known), rules_of(TAXES)), now=20).verdict is ProofVerdict.GAPS
    [answer] = prove(goal, Prover(MemoryRelations(known), rules_of(TAXES))).answers
    assert (answer.atom.start, answer.atom.end) == (10, 20)


def test_a_value_that_looks_like_a_variable_is_a_value() -> None:
    known = [Atom(1, "?x", "hasRevenue", "$60,000"), Atom(2, "acme", "hasRevenue", "$70,000")]
    assert [atom.subject for atom in Prover(MemoryRelations(known), rules_of(TAXES)).match("isBig", "?x", "true")] == [
        "?x"
    ]


def test_what_cannot_be_compared_is_said() -> None:
    proof = prove(
        Condition("acme", "isBig", "?x"), Prover(MemoryRelations(atoms_of("acme hasRevenue plenty")), rules_of(TAXES))
    )
    assert "plenty" in proof.problems[0]


def test_what_is_missing_is_found_where_a_rule_has_too_many_ways_to_be_tried_all() -> None:
    wide = rules_of(" and ".join(f"?x p{number} ?y{number}" for number in range(16)) + " => ?x q 1")
    known = atoms_of(*(f"a p{number} {value}" for number in range(15) for value in "xyz"))
    proof = prove(Condition("a", "q", "1"), Prover(MemoryRelations(known), wide, most=20_000))
    assert proof.verdict is ProofVerdict.UNDECIDED
    assert [str(gap) for gap in proof.gaps] == ["a p15 ?y15"]


def test_rules_are_settled_when_all_that_leads_to_them_is_kept() -> None:
    first, second, third = rules_of("a: ?x p 1 => ?x q 1\nb: ?x q 1 => ?x r 1\nc: ?x s 1 => ?x t 1")
    kept = [replace(each, kept=True) for each in (first, second, third)]
    assert incomplete_rules(kept) == []
    assert [each.name for each in incomplete_rules([first, *kept[1:]])] == ["a", "b"]
