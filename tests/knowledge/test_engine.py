"""What follows from facts by rules: all of it, as sure as it can be, and no more."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from memfolio.errors import InferenceLimitError, RuleError
from memfolio.knowledge.engine import derive
from memfolio.knowledge.join import Atom, Triple
from memfolio.knowledge.literal import Operator
from memfolio.knowledge.rule import Comparison, Condition, Rule, bound, is_variable, strata
from tests.knowledge import brute
from tests.knowledge.brute import bind, rule

MOST = 10_000


REACH = [
    rule("direct", Condition("?x", "reaches", "?y"), Condition("?x", "leadsTo", "?y"), factor=1.0),
    rule(
        "further",
        Condition("?x", "reaches", "?z"),
        Condition("?x", "leadsTo", "?y"),
        Condition("?y", "reaches", "?z"),
    ),
]


def chain(length: int) -> list[Atom]:
    return [Atom(each + 1, f"n{each}", "leadsTo", f"n{each + 1}") for each in range(length)]


@given(brute.facts(), brute.rules())
def test_all_follows_that_trying_everything_finds(atoms: list[Atom], program: list[Rule]) -> None:
    found = derive(atoms, program, most=MOST)
    assert frozenset(atom[1:] for atom in found.derived) == brute.follows(atoms, program)
    assert sum(found.counts.values()) == len(found.derived)


@given(brute.facts(), brute.rules())
def test_every_proof_meets_its_rule_and_begins_with_facts(atoms: list[Atom], program: list[Rule]) -> None:
    found = derive(atoms, program, most=MOST)
    by_id = {each.id: each for each in program}
    shown = {atom.key for atom in atoms}
    for atom in found.derived:  # in the order in which they were found
        applied, premises = by_id[found.proofs[atom.key].rule], found.premises(atom)
        assert {each.key for each in premises} <= shown
        assert atom.confidence == min(each.confidence for each in premises) * applied.factor
        assert all(each.start <= atom.start < atom.end <= each.end for each in premises)
        positive = [each for each in applied.conditions if isinstance(each, Condition) and not each.negated]
        assert len(premises) == len(positive)
        assert all(any(bind(each, premise, {}) is not None for premise in premises) for each in positive)
        shown.add(atom.key)


def test_a_circle_of_conclusions_ends_and_the_surest_way_counts() -> None:
    ring = [*chain(3), Atom(9, "n3", "leadsTo", "n0"), Atom(10, "n0", "leadsTo", "n3", 0.7)]
    found = {atom.triple: atom.confidence for atom in derive(ring, REACH, most=MOST).derived}
    assert len(found) == 16
    assert found["n0", "reaches", "n3"] == 1.0 * 0.9 * 0.9


@given(brute.facts(), brute.rules())
def test_the_same_follows_as_clingo_finds(atoms: list[Atom], program: list[Rule]) -> None:
    facts = [Atom(*atom[:4]) for atom in atoms]
    plain = [
        replace(each, factor=1.0, conditions=tuple(part for part in each.conditions if isinstance(part, Condition)))
        for each in program
    ]
    control = pytest.importorskip("clingo").Control(["--warn=none"])
    control.add("base", [], "".join([*map(as_clause, facts), *map(as_clause, plain), LOOPS]))
    control.ground([("base", [])])
    found: set[Triple] = set()
    control.solve(on_model=lambda model: found.update(map(as_triple, model.symbols(shown=True))))
    derived = derive(facts, plain, most=MOST).derived
    assert {atom.triple for atom in (*facts, *derived)} == found


LOOPS = "#show. " + "".join(f"loop_{name} :- {name}(X,X). #show {name}/2. " for name in "pqrst")
"""Whether there is any with the same on both ends, as clingo has no word for a variable that means anything."""


def as_clause(said: Atom | Rule) -> str:
    if isinstance(said, Atom):
        return f'{said.predicate}("{said.subject}","{said.object}"). '
    assert said.conclusion is not None
    known = bound(said.conditions)
    parts = [as_literal(part, known) for part in said.conditions if isinstance(part, Condition)]
    return f"{as_literal(said.conclusion, known)} :- {', '.join(parts)}. "


def as_literal(part: Condition, known: set[str]) -> str:
    sign = "not " * part.negated
    if part.subject == part.object and is_variable(part.subject) and part.subject not in known:
        return f"{sign}loop_{part.predicate}"
    ends = [(term[1:].upper() if term in known else "_") if is_variable(term) else f'"{term}"' for term in part.terms]
    return f"{sign}{part.predicate}({','.join(ends)})"


def as_triple(symbol: Any) -> Triple:
    subject, target = symbol.arguments
    return subject.string, symbol.name, target.string


def test_rules_that_contradict_each_other_both_conclude() -> None:
    taxed, exempt = (Condition("?x", "isTaxable", value) for value in ("true", "false"))
    earns = Condition("?x", "hasRevenue", "?y")
    found = derive([Atom(1, "acme", "hasRevenue", "5")], [rule("a", taxed, earns), rule("b", exempt, earns)], most=9)
    assert [atom.object for atom in found.derived] == ["true", "false"]


def test_more_than_may_be_concluded_is_refused_and_the_rule_named() -> None:
    assert len(derive(chain(20), REACH, most=210).derived) == 210
    with pytest.raises(InferenceLimitError, match=r"more than 209 .* 'further'"):
        derive(chain(20), REACH, most=209)


def test_a_rule_that_pairs_everything_with_everything_is_stopped_before_memory_is_full() -> None:
    pairs = rule(
        "pairs", Condition("?a", "meets", "?c"), Condition("?a", "leadsTo", "?b"), Condition("?c", "leadsTo", "?d")
    )
    with pytest.raises(InferenceLimitError, match="'pairs'"):
        derive(chain(100_000), [pairs], most=MOST)


def test_a_rule_that_tries_more_than_it_concludes_is_stopped_and_named() -> None:
    all_alike = Condition("all", "is", "known")
    ends = [Condition(f"?{name}", "leadsTo", f"?{name}2") for name in "abcdef"]
    rules = [rule("plain", all_alike, ends[0]), rule("wide", all_alike, *ends)]
    with pytest.raises(InferenceLimitError, match=r"more than 10,000 steps, most of them by the rule 'wide'"):
        derive(chain(100), rules, most=100)


def test_one_conclusion_at_ever_other_times_is_stopped_too() -> None:
    spread = [Atom(each, f"n{each}", "leadsTo", "n", 1 - each / 1000, each, 1000 + each) for each in range(1, 500)]
    ends = [Condition(f"?{name}", "leadsTo", "n") for name in "ab"]
    with pytest.raises(InferenceLimitError, match="'often'"):
        derive(spread, [rule("often", Condition("all", "is", "known"), *ends)], most=1000)


def test_comparisons_that_cannot_be_made_are_told_with_their_rule() -> None:
    rich = rule(
        "rich",
        Condition("?x", "is", "rich"),
        Condition("?x", "hasRevenue", "?y"),
        Comparison("?y", Operator.GT, "$5"),
    )
    atoms = [Atom(1, "acme", "hasRevenue", "$9"), Atom(2, "beta", "hasRevenue", "plenty")]
    found = derive(atoms, [rich], most=MOST)
    assert [atom.subject for atom in found.derived] == ["acme"]
    assert [each.split(":")[0] for each in found.problems] == ["rich"]


def test_recursion_through_negation_is_refused_and_its_predicates_named() -> None:
    loop = [
        rule("one", Condition("?x", "wins", "?y"), Condition("?x", "moves", "?y"), Condition("?y", "good", "?z", True)),
        rule("two", Condition("?x", "good", "yes"), Condition("?x", "wins", "?y")),
    ]
    with pytest.raises(RuleError, match="good, wins"):
        strata(loop)
    assert [[each.name for each in layer] for layer in strata([loop[0], *REACH])] == [["direct", "further"], ["one"]]


def test_layers_of_very_many_rules_are_found_at_once() -> None:
    given = Condition("?x", "given", "?y")
    names = [f"p{number}" for number in range(3000)]
    steps = [
        rule(name, Condition("?x", name, "?y"), given, Condition("?x", before, "?y", negated=True))
        for before, name in pairwise(names)
    ]
    assert [[each.name for each in layer] for layer in strata(steps[::-1])] == [[name] for name in names[1:]]
    with pytest.raises(RuleError, match="depends on its own absence, through p0, p1, p10, "):
        strata([*steps, rule("back", Condition("?x", names[0], "?y"), Condition("?x", names[-1], "?y"))])
