"""Facts that do not fit the ontology are found, and what is not known is not held against them."""

from __future__ import annotations

import pytest

from memfolio.index.facts import Fact
from memfolio.knowledge.ontology.document import Vocabulary, new_term
from memfolio.knowledge.ontology.ontology import Flaw, conform

KNOWN = Vocabulary(
    [
        new_term("class", "shop:Party"),
        new_term("class", "shop:Customer", parents="shop:Party", synonyms="buyer"),
        new_term("class", "shop:Order"),
        new_term("object_property", "shop:places", domain_class="shop:Customer", range="shop:Order"),
        new_term("object_property", "shop:knows", domain_class="shop:Party", range="shop:Party"),
        new_term("datatype_property", "shop:total", domain_class="shop:Order", range="money", functional=True),
        new_term("datatype_property", "shop:note", range="text"),
    ]
)


def fact(text: str, start: int | None = None, end: int | None = None) -> Fact:
    subject, predicate, said = text.split(" ", 2)
    times = (start, end, 0, 0, None, 0, None)
    return Fact(1, f"F-{abs(hash(text))}", subject, predicate, said, 0.9, "test", None, "owner", *times)


@pytest.mark.parametrize(
    ("facts", "flaws"),
    [
        (["a isA Customer", "b isA Order", "a places b"], []),
        (["a type buyer", "a places b"], []),
        (["a isA Customer", "a knows b", "a note 5", "a note x y"], []),
        (["a places b", "b total $5"], []),
        (["a isA Party", "a places b"], [(Flaw.SUBJECT, "a is shop:Party, not shop:Customer")]),
        (["a isA Party", "a isA Customer", "a places b"], []),
        (["b isA Customer", "a places b"], [(Flaw.OBJECT, "b is shop:Customer, not shop:Order")]),
        (["a places $5"], [(Flaw.VALUE, "'$5' is money, not a Order")]),
        (["b total 5"], [(Flaw.VALUE, "'5' is number, not money")]),
        (["b total much"], [(Flaw.VALUE, "'much' is text, not money")]),
        (["a placse b"], [(Flaw.PREDICATE, "'placse' is in no ontology; near is shop:places")]),
        (["g isA Goal", "g requires p", "p isA plan-step", "g hierarchyLevel low", "g progress 20%"], []),
        (["a likes tea"], [(Flaw.PREDICATE, "'likes' is in no ontology")]),
        (["a isA Costumer"], [(Flaw.CLASS, "'Costumer' is in no ontology; near is shop:Customer")]),
        (["b total $5", "b total $5.00"], []),
        (["b total $5", "b total $6"], [(Flaw.MORE, "b has shop:total '$5' too, and can have one at a time")]),
    ],
)
def test_each_flaw_is_told(facts: list[str], flaws: list[tuple[Flaw, str]]) -> None:
    found = conform(map(fact, facts), KNOWN)
    assert [(each.flaw, each.message) for each in found.findings] == flaws
    assert found.facts == len(facts)
    assert sum(found.counts.values()) == len(flaws)


def test_values_that_follow_each_other_in_time_are_not_two() -> None:
    early, late, long = fact("b total $5", None, 10), fact("b total $6", 10, 20), fact("b total $7", 5, None)
    assert conform([late, early], KNOWN).findings == ()
    assert [each.fact for each in conform([early, late, long], KNOWN).findings] == [long, late]


def test_property_of_two_domains_fits_by_either() -> None:
    job = [
        new_term("class", "job:Customer"),
        new_term("class", "job:Step"),
        new_term("object_property", "job:places", domain_class="job:Step", range="job:Step"),
    ]
    facts = [
        fact(each) for each in ("a isA Customer", "a places b", "s isA Step", "s places t", "o isA Order", "o places t")
    ]
    found = conform(facts, Vocabulary([*job, *KNOWN]))
    assert [(each.flaw, each.fact.subject) for each in found.findings] == [(Flaw.SUBJECT, "o")]


def test_type_of_an_entity_counts() -> None:
    found = conform([fact("Ann places x")], KNOWN, [("ann", "order")])
    assert [each.flaw for each in found.findings] == [Flaw.SUBJECT]
    assert (found.untyped, conform([fact("Ann places x")], KNOWN).untyped) == (0, 1)
