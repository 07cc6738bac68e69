"""The TypeQL schema: the base model with an ontology beside it, in labels that the language allows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.knowledge.model import NODES
from memfolio.knowledge.ontology.document import Term, TermKind
from memfolio.knowledge.typedb.mirror import RESERVED, Schema, kebab
from tests.knowledge.typedb.typeql import Database

SHOP = (
    Term(kind=TermKind.CLASS, id="shop:Party"),
    Term(kind=TermKind.CLASS, id="shop:KeyCustomer", parents=("shop:Party",)),
    Term(kind=TermKind.CLASS, id="shop:Order"),
    Term(kind=TermKind.CLASS, id="shop:key customer", parents=("shop:Order",)),
    Term(kind=TermKind.CLASS, id="shop:Relation"),
    Term(kind=TermKind.CLASS, id="shop:Goal", parents=("shop:Order",)),
    Term(kind=TermKind.OBJECT, id="shop:placesOrder", domain_class="shop:Party", range="shop:Order"),
    Term(kind=TermKind.OBJECT, id="shop:isNear"),
    Term(kind=TermKind.OBJECT, id="shop:supports", domain_class="shop:Party", range="shop:Order"),
    Term(kind=TermKind.DATATYPE, id="shop:hasTotal", domain_class="shop:Order", range="xsd:decimal"),
    Term(kind=TermKind.DATATYPE, id="shop:name", domain_class="shop:Party", range="xsd:string"),
    Term(kind=TermKind.DATATYPE, id="shop:count", domain_class="shop:Order", range="xsd:integer"),
    Term(kind=TermKind.RULE, id="shop:everyOrder", rule="?x isA Order"),
)
GOLDEN = """\
attribute count-term, value integer;
attribute has-total, value double;
entity key-customer, sub party;
entity key-customer-2, sub order;
entity node @abstract, owns uid @key, owns agent-id, owns digest, plays is-near:object, plays is-near:subject;
entity order, sub node, owns count-term @card(0..), owns has-total @card(0..), plays places-order:object;
entity party, sub node, owns name @card(0..), plays places-order:subject;
entity relation-term, sub node;
relation is-near, relates subject, relates object, owns uid @key, owns agent-id, owns digest;
relation places-order, relates subject, relates object, owns uid @key, owns agent-id, owns digest;"""


def test_an_ontology_stands_beside_the_base_model() -> None:
    base, both = (set(map(str.strip, Schema(terms).define().splitlines())) for terms in ((), SHOP))
    assert "\n".join(sorted(both - base)) == GOLDEN
    assert both - set(GOLDEN.splitlines()) == base - {
        "entity node @abstract, owns uid @key, owns agent-id, owns digest;"
    }


def test_the_statement_is_the_same_in_any_order_and_can_be_sent_twice() -> None:
    text = Schema(SHOP).define()
    assert Schema(reversed(SHOP)).define() == text
    database = Database()
    for _ in range(2):
        database.run(text, "schema")
    kinds = dict(database.kinds)
    assert {kebab(kind) for kind in NODES} < set(kinds)
    assert (kinds["goal"], kinds["places-order"], kinds["has-total"]) == ("entity", "relation", "attribute")


def test_types_below_each_other_in_a_circle_are_not_sent() -> None:
    circle = [Term(kind=TermKind.CLASS, id=f"x:{a}", parents=(f"x:{b}",)) for a, b in ("AB", "BC", "CA")]
    lines = Schema(circle).define().splitlines()
    assert [line.strip() for line in lines if " sub " in line and "sub node" not in line] == [
        "entity b, sub c;",
        "entity a, sub b;",
    ]


@pytest.mark.parametrize(
    ("word", "kind"),
    [("Goal", "goal"), ("plan-step", "plan-step"), ("shop:Order", "order"), ("Order", "order"), ("Unheard", None)],
)
def test_a_word_in_a_fact_means_a_type(word: str, kind: str | None) -> None:
    assert Schema(SHOP).kind(word) == kind


def test_relations_and_attributes_fit_the_types_that_have_them() -> None:
    schema = Schema(SHOP)
    assert schema.relation("supports", "belief", "goal") is not None
    assert schema.relation("supports", "party", "order") is None
    assert schema.relation("shop:placesOrder", "key-customer", "order") == schema.relation(
        "placesOrder", "key-customer", "order"
    )
    assert schema.relation("placesOrder", "order", "party") is None
    assert schema.attribute("hierarchyLevel", "goal") == "hierarchy-level"
    assert schema.attribute("name", "key-customer") == "name"
    assert schema.attribute("uid", "goal") is None


@given(st.text(max_size=40))
def test_every_name_becomes_an_identifier(text: str) -> None:
    name = kebab(text)
    assert name.isascii()
    assert name[0].isalpha()
    assert name.replace("-", "").isalnum()
    assert name not in RESERVED
