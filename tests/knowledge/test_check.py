"""Constraints tell what is wrong, policies what to do; values are filled in, the worst comes first."""

from __future__ import annotations

from typing import Any

import pytest

from memfolio.errors import InputError
from memfolio.knowledge.engine import RuleFinding, WithContext, findings, with_values
from memfolio.knowledge.inference import Prover
from memfolio.knowledge.join import Atom, MemoryRelations
from memfolio.knowledge.rule import RuleType, Severity
from tests.knowledge.world import atoms_of, rules_of

RULES = rules_of("""
debt: ?x hasDebt ?d and ?d > $1m => CRITICAL: ?x owes ?d (?dd) [domain finance]
boss: ?x isA Employee and not ?x hasManager ?m => ERROR: ?x has no manager
?x isA Robot => INFO
call: ?x hasDebt ?d and ?d > $2m => DO call ?x about ?d [escalate, domain finance]
stop: ?x isLate true => DO stop deliveries to ?x
go: ?x isLate true => DO send ?x a reminder [factor 0.5]
late: ?x pays ?d and ?d > "30 days" => ?x isLate true
""")
CONSTRAINTS = [each for each in RULES if each.type is RuleType.CONSTRAINT]
POLICIES = [each for each in RULES if each.type is RuleType.POLICY]
KNOWN = atoms_of("bits isA Employee", "bits isA Robot", "acme hasDebt $3m 0.8", "cab hasDebt $1", "odd hasDebt much")


def told(found: list[RuleFinding]) -> list[tuple[str, str]]:
    return [(each.rule.name, each.text) for each in found]


def test_violations_come_worst_first_with_their_values() -> None:
    problems: set[str] = set()
    found = findings(MemoryRelations(KNOWN), CONSTRAINTS, 0, problems=problems)
    assert told(found) == [
        ("debt", "acme owes $3m (?dd)"),
        ("boss", "bits has no manager"),
        ("", "bits isA Robot => INFO"),
    ]
    assert found[0].binding == {"?x": "acme", "?d": "$3m"}
    assert found[0].confidence == pytest.approx(0.72)
    assert [atom.subject for atom in found[0].supports] == ["acme"]
    assert any("much" in each for each in problems)


def test_violations_are_chosen_by_severity() -> None:
    chosen = findings(MemoryRelations(KNOWN), CONSTRAINTS, 0, severity=Severity.ERROR)
    assert [each.rule.name for each in chosen] == ["debt", "boss"]


def test_a_violation_ends_with_its_facts() -> None:
    known = MemoryRelations([Atom(1, "bits", "isA", "Employee"), Atom(2, "bits", "hasManager", "bo", 1.0, 0, 100)])
    assert findings(known, CONSTRAINTS, 99) == []
    assert told(findings(known, CONSTRAINTS, 100)) == [("boss", "bits has no manager")]


def test_policies_see_the_context_of_the_call_and_what_follows_from_it() -> None:
    base, context = MemoryRelations(KNOWN), [("zed", "pays", "45 days")]
    asked = findings(Prover(WithContext(base, context), RULES), POLICIES, 0)
    assert told(asked) == [
        ("call", "call acme about $3m"),
        ("stop", "stop deliveries to zed"),
        ("go", "send zed a reminder"),
    ]
    assert not base.match("pays")
    assert [each.rule.name for each in findings(Prover(base, RULES), POLICIES, 0)] == ["call"]


@pytest.mark.parametrize("context", [[("a", "b")], ["abc"], [("a", "b", 3)], [("a", "", "c")]])
def test_a_context_that_is_no_triples_is_refused(context: Any) -> None:
    with pytest.raises(InputError, match="is no fact"):
        WithContext(MemoryRelations(), context)


def test_values_are_filled_in_once_and_never_in_other_names() -> None:
    assert with_values("?x ?xy ?z", {"?x": "?xy", "?xy": "b"}) == "?xy b ?z"
