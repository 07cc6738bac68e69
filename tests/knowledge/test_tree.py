"""A derivation tree shows all that something rests on, ends where it must, and can be drawn."""

from __future__ import annotations

import json
import re

import pytest

from memfolio.errors import NotFoundError
from memfolio.index.facts import Fact
from memfolio.knowledge.inference import Prover
from memfolio.knowledge.join import Atom, BranchEnd, MemoryRelations, as_document, as_mermaid, as_text, explain_fact
from tests.knowledge.world import atoms_of, rules_of

RULES = rules_of("""
big: ?x hasRevenue ?y and ?y > $50,000 => ?x isBig true
known: ?x isListed true => ?x isBig true [factor 0.5]
taxable: ?x isBig true and not ?x isExempt true => ?x isTaxable true
""")
DAY = 86_400_000_000


def fact(atom: Atom) -> Fact:
    """A fact that somebody concluded from another one."""
    more = json.dumps({"derived_from": ["F-1", "F-2"], "memories": ["M-1"], "rule": "R-9", "odd": 1})
    span = atom.start, atom.end
    return Fact(
        atom.key, f"F-{atom.key}", *atom.triple, atom.confidence, "cfo", None, "agent", *span, 0, 0, None, 0, more
    )


def test_all_derivations_are_shown_the_best_first_with_sources_and_what_was_recorded() -> None:
    known = [Atom(7, "acme", "hasRevenue", "$60,000", 0.9, 0, DAY), *atoms_of("acme isListed true")]
    relations = Prover(MemoryRelations(known), RULES)
    node = explain_fact(
        ("acme", "isTaxable", "true"),
        relations,
        RULES,
        5,
        facts=lambda triple: fact(known[0]) if triple == known[0].triple else None,
    )
    assert as_text(node).splitlines() == [
        "acme isTaxable true (0.73, from 1970-01-01 until 1970-01-02)",
        "  by the rule taxable (0.73)",
        "    acme isBig true (0.81, from 1970-01-01 until 1970-01-02)",
        "      by the rule big (0.81)",
        "        acme hasRevenue $60,000 (0.90, F-7, source: cfo, from 1970-01-01 until 1970-01-02)",
        "          rule: R-9",
        "          derived from: F-1, F-2",
        "          memories: M-1",
        "        $60,000 > $50,000",
        "      by the rule known (0.50)",
        "        acme isListed true (1.00)",
        "    not acme isExempt true",
    ]
    document = json.loads(json.dumps(as_document(node)))
    inner = document["ways"][0]["premises"][0]
    assert [way["rule"]["name"] for way in inner["ways"]] == ["big", "known"]
    assert inner["ways"][0]["premises"][0]["fact"]["derived_from"] == ["F-1", "F-2"]
    assert (inner["valid_until"], inner["ways"][1].get("valid_until")) == ("1970-01-02", None)


def test_depth_is_chosen_and_a_cut_is_marked() -> None:
    relations = Prover(MemoryRelations(atoms_of("acme hasRevenue $60,000")), RULES)
    node = explain_fact(("acme", "isTaxable", "true"), relations, RULES, 1)
    assert node.ways[0].premises[0].cut is BranchEnd.DEPTH
    assert "acme isBig true (0.90, goes deeper)" in as_text(node)


def test_cycles_and_repetitions_are_marked_and_trees_stay_small() -> None:
    rules = rules_of("?x near ?y => ?y near ?x [factor 1]\n?x near ?y and ?y near ?z => ?x near ?z [factor 1]")
    known = atoms_of(*(f"n{one} near n{two}" for one in range(5) for two in range(one)))
    text = as_text(explain_fact(("n0", "near", "n4"), Prover(MemoryRelations(known), rules), rules, 10))
    assert "rests on itself" in text
    assert "is shown above" in text
    assert "more ways" in text
    assert len(text.splitlines()) < 500


def test_what_does_not_hold_is_not_explained() -> None:
    with pytest.raises(NotFoundError, match="does not hold"):
        explain_fact(("acme", "isBig", "true"), Prover(MemoryRelations(), RULES), RULES, 3)


def test_a_drawing_has_only_its_own_signs() -> None:
    nasty = f'a"] --> x; <b>|{{`#35;\n(end)☃\x00{"long" * 999}'
    rules = rules_of('"r [1]": ?x p ?y => ?x q ?y')
    node = explain_fact((nasty, "q", "é 1"), Prover(MemoryRelations([Atom(1, nasty, "p", "é 1")]), rules), rules, 3)
    first, *lines = as_mermaid(node).splitlines()
    assert first == "graph TD"
    label = r'"(?:[^"<>\[\]{}|`;&#]|#\d+;|<br/>)*"'
    shapes = rf"  n\d+\[{label}\]|  r\d+\(\[{label}\]\)|  n\d+ --> r\d+|  r\d+ --> n\d+"
    assert all(re.fullmatch(shapes, line) for line in lines), lines
    assert len(lines) == 5
    assert all(len(line) < 1000 for line in lines)
