"""The vocabularies that are shipped are whole: what they name exists, and every word is said once and explained."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from graphlib import TopologicalSorter
from importlib.resources import files
from typing import Any

import pytest

from memfolio.knowledge.literal import read_literal
from memfolio.knowledge.ontology.document import LITERALS, read_page, write_page
from memfolio.knowledge.rule import Condition, RuleType, check_rule, is_variable, parse, render

Node = dict[str, Any]
TEMPLATES = {
    "saas": {"Subscription", "Plan", "Tier", "MRR", "ARR", "Churn", "Trial"},
    "ecommerce": {"Product", "Cart", "Order", "Fulfillment", "Return", "Inventory"},
    "consulting": {"Engagement", "Deliverable", "Milestone", "SOW", "Retainer"},
    "agency": {"Campaign", "Creative", "Client", "Brief", "Approval"},
}
DEEPEST = 6
every_page = pytest.mark.parametrize("domain", ["business", *TEMPLATES])


def content(domain: str) -> bytes:
    return (files("memfolio.knowledge.ontology") / "data" / f"{domain}.jsonld").read_bytes()


def graph(domain: str, *types: str) -> list[Node]:
    nodes: list[Node] = json.loads(content(domain))["@graph"]
    return [node for node in nodes if not types or set(types) & set(listed(node["@type"]))]


def classes(domain: str) -> dict[str, Node]:
    return {node["@id"]: node for node in graph(domain, "owl:Class")}


def properties(domain: str) -> list[Node]:
    return graph(domain, "owl:ObjectProperty", "owl:DatatypeProperty")


def listed(value: str | list[str] | None) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def twice(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(name.casefold() for name in names).items() if count > 1}


def ancestors(known: dict[str, Node], name: str) -> list[str]:
    found = [name]
    while (parent := known[found[-1]].get("rdfs:subClassOf")) and len(found) <= len(known):
        found.append(parent["@id"])
    return found


def test_business_vocabulary_has_its_size() -> None:
    assert len(classes("business")) == 170
    assert len(properties("business")) == 131
    assert Counter(parse(node["mf:rule"]).type for node in graph("business", "mf:Rule")) == {
        RuleType.INFERENCE: 4,
        RuleType.CONSTRAINT: 2,
        RuleType.POLICY: 2,
    }


@pytest.mark.parametrize("domain", TEMPLATES)
def test_templates_have_what_such_a_business_talks_about(domain: str) -> None:
    named = {name.partition(":")[2] for name in classes(domain)}
    assert named >= TEMPLATES[domain]
    assert 12 <= len(named) <= 18
    assert len(properties(domain)) >= 12


@every_page
def test_every_class_descends_from_a_root(domain: str) -> None:
    known = classes("business") | classes(domain)
    lines = [ancestors(known, name) for name in classes(domain)]
    assert all(line[-1] == "business:BusinessEntity" and len(line) - 1 <= DEEPEST for line in lines)


@every_page
def test_every_word_is_said_once_and_explained_in_one_sentence(domain: str) -> None:
    nodes = graph(domain)
    terms = classes(domain).values()
    words = [word for node in terms for word in (node["rdfs:label"], *listed(node.get("skos:altLabel")))]
    assert not twice(node["@id"] for node in nodes)
    assert not twice(words)
    assert not twice(node["rdfs:label"] for node in properties(domain))
    assert not twice(node["skos:definition"] for node in nodes)
    assert all(re.fullmatch(r"[A-Z][^.]+\.", node["skos:definition"]) for node in nodes)


@every_page
def test_no_class_is_explained_by_its_own_name_or_in_a_circle(domain: str) -> None:
    known = {node["rdfs:label"].lower(): node["skos:definition"].lower() for node in classes(domain).values()}
    uses = {
        word: {other for other in known if re.search(rf"\b{re.escape(other)}s?\b", told)}
        for word, told in known.items()
    }
    assert set(TopologicalSorter(uses).static_order()) == set(known)  # raises CycleError


@every_page
def test_a_class_is_a_kind_of_what_its_parent_names(domain: str) -> None:
    known = classes(domain)
    for node in known.values():
        parent = known.get(node.get("rdfs:subClassOf", {}).get("@id"))
        genus = "" if parent is None else parent["rdfs:label"].removeprefix("Business Entity") or "Entity"
        shared = node["skos:definition"].lower().startswith(genus.lower())
        assert shared or genus == "Entity", node["@id"]


@every_page
def test_fact_types_join_what_exists_and_read_as_sentences(domain: str) -> None:
    known = classes(domain)
    for node in properties(domain):
        source, target = node["rdfs:domain"]["@id"], node["rdfs:range"]["@id"]
        is_object = "owl:ObjectProperty" in listed(node["@type"])
        assert target in (known if is_object else LITERALS)
        start, end = known[source]["rdfs:label"], known[target]["rdfs:label"] if is_object else ""
        assert re.fullmatch(rf"{start} \S.* ?{end}", node["mf:reading"])


@every_page
def test_names_have_their_spelling(domain: str) -> None:
    assert all(re.fullmatch(rf"{domain}:[A-Z][A-Za-z0-9]*", name) for name in classes(domain))
    others = [*properties(domain), *graph(domain, "mf:Rule")]
    assert all(re.fullmatch(rf"{domain}:[a-z][A-Za-z0-9]*", node["@id"]) for node in others)


@every_page
def test_rules_are_safe_and_speak_of_fact_types_that_exist(domain: str) -> None:
    known = {node["@id"].partition(":")[2] for node in properties(domain)} | {"isA"}
    for node in graph(domain, "mf:Rule"):
        rule = check_rule(parse(node["mf:rule"]))
        facts = [each for each in (*rule.conditions, rule.conclusion) if isinstance(each, Condition)]
        assert render(rule) == node["mf:rule"]
        assert {each.predicate for each in facts} <= known
        assert re.match(r"It is (necessary|obligatory|prohibited) that ", node["skos:definition"])


def test_rules_compare_values_of_the_type_that_the_fact_type_has() -> None:
    ranges = {node["@id"].partition(":")[2]: node["rdfs:range"]["@id"] for node in properties("business")}
    for node in graph("business", "mf:Rule"):
        rule = parse(node["mf:rule"])
        facts = [each for each in rule.conditions if isinstance(each, Condition)]
        kinds = {each.object: LITERALS.get(ranges[each.predicate]) for each in facts}
        for each in rule.conditions:
            if not isinstance(each, Condition):
                given = kinds[each.right] if is_variable(each.right) else read_literal(each.right).kind
                assert kinds[each.left] is given


@every_page
def test_pages_are_in_their_normal_form(domain: str) -> None:
    assert write_page(read_page(content(domain), domain)) == content(domain)
