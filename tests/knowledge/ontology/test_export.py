"""Ontology and facts become RDF that others can read, and are asked by SPARQL without reaching out or running on."""

from __future__ import annotations

import sys
import time

import pyoxigraph
import pytest

from memfolio.errors import InputError, OntologyError
from memfolio.index.facts import Fact
from memfolio.knowledge.ontology import document as export
from memfolio.knowledge.ontology.document import new_term
from memfolio.knowledge.ontology.ontology import Ontology
from tests.knowledge.ontology.conftest import Web
from tests.knowledge.ontology.test_conform import fact

TRIPLES = [
    "Acme%20Corp> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://memfolio.dev/ontology/shop/Customer>",
    "Acme%20Corp> <https://memfolio.dev/ontology/shop/owes> <https://memfolio.dev/data/thing/I-1>",
    'I-1> <https://memfolio.dev/ontology/shop/total> "50000 USD"^^<https://memfolio.dev/ontology/money>',
    'I-1> <https://memfolio.dev/data/predicate/due> "2026-11-15"^^<http://www.w3.org/2001/XMLSchema#date>',
    'I-1> <https://memfolio.dev/data/predicate/term> "PT86400S"^^<http://www.w3.org/2001/XMLSchema#duration>',
    'I-1> <https://memfolio.dev/data/predicate/rate> "12"^^<https://memfolio.dev/ontology/percent>',
    'I-1> <https://memfolio.dev/data/predicate/paid> "false"^^<http://www.w3.org/2001/XMLSchema#boolean>',
    "I-1> <https://memfolio.dev/data/predicate/of> <https://memfolio.dev/data/thing/Acme%20Corp>",
    'I-1> <https://memfolio.dev/data/predicate/said> "\\"so\\", she\\n<b>"',
]


@pytest.fixture
def facts(ontology: Ontology) -> list[Fact]:
    for term in (
        new_term("class", "shop:Customer", definition="Buys."),
        new_term("class", "shop:Invoice", definition="Asks for money."),
        new_term("object_property", "shop:owes", domain_class="Customer", range="Invoice", definition="Has to pay."),
        new_term("datatype_property", "shop:total", domain_class="Invoice", range="money", definition="Sum."),
    ):
        ontology.add(term)
    said = ["I-1 total $50k", "I-1 due 2026-11-15", "I-1 term 1 day", "I-1 rate 12 %", "I-1 paid FALSE"]
    found = [*map(fact, said), fact("I-1 of Acme Corp"), fact('I-1 said "so", she\n<b>')]
    acme = fact("Acme isA Customer", 1_000_000, 2_000_000)._replace(subject="Acme Corp", id="F-1")
    return [acme, fact("Acme owes I-1")._replace(subject="Acme Corp"), *found]


@pytest.mark.parametrize("format", ["turtle", "jsonld"])
def test_export_is_read_back_by_the_library(ontology: Ontology, facts: list[Fact], format: str) -> None:
    text = ontology.export(facts, format)
    kind = pyoxigraph.RdfFormat.TURTLE if format == "turtle" else pyoxigraph.RdfFormat.JSON_LD
    found = {str(pyoxigraph.Triple(*quad[:3])) for quad in map(tuple, pyoxigraph.parse(text, kind))}
    for each in TRIPLES:
        assert f"<https://memfolio.dev/data/thing/{each}" in found
    about = "<https://memfolio.dev/data/fact/F-1> <https://memfolio.dev/ontology/"
    assert f'{about}confidence> "0.9"^^<http://www.w3.org/2001/XMLSchema#decimal>' in found
    assert f'{about}validUntil> "1970-01-01T00:00:02.000Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>' in found
    label = '<http://www.w3.org/2000/01/rdf-schema#label> "Customer"'
    assert f"<https://memfolio.dev/ontology/shop/Customer> {label}" in found


def test_formats_are_known_by_their_other_names(ontology: Ontology, facts: list[Fact]) -> None:
    for name, other in (("jsonld", "json-ld"), ("jsonld", "JSON-LD"), ("turtle", "ttl"), ("turtle", "Turtle")):
        assert ontology.export(facts, other) == ontology.export(facts, name)


def test_unknown_format_is_refused(ontology: Ontology) -> None:
    with pytest.raises(InputError, match="'csv' is no format for this"):
        ontology.export((), "csv")
    with pytest.raises(InputError, match="'xml' is no format for this"):
        ontology.export((), "xml")


def test_query_joins_facts_and_ontology(ontology: Ontology, facts: list[Fact]) -> None:
    who = ontology.sparql("SELECT ?who ?sum { ?who a shop:Customer ; shop:owes/shop:total ?sum }", facts)
    assert (who.variables, who.rows) == (("who", "sum"), (("thing:Acme%20Corp", "50000 USD"),))
    sure = "ASK { ?f rdf:subject ?who ; rdf:predicate rdf:type ; mf:confidence ?sure FILTER(?sure > 0.8) }"
    assert ontology.sparql(sure, facts).holds is True
    built = ontology.sparql("CONSTRUCT { ?a predicate:x ?b } WHERE { ?a shop:owes ?b }", facts)
    assert built.rows == (("thing:Acme%20Corp", "predicate:x", "thing:I-1"),)
    assert ontology.sparql("SELECT ?x ?y { ?x a shop:Customer OPTIONAL { ?x mf:no ?y } }", facts).rows[0][1] is None


def test_answers_stop_at_the_limit(ontology: Ontology, facts: list[Fact]) -> None:
    assert ontology.sparql("SELECT * { ?s ?p ?o }", facts, limit=3).cut
    assert len(ontology.sparql("SELECT * { ?s ?p ?o }", facts, limit=3).rows) == 3
    assert not ontology.sparql("SELECT * { ?s a shop:Customer }", facts, limit=1).cut
    with pytest.raises(InputError, match="0 is no limit"):
        ontology.sparql("ASK {}", limit=0)


def test_endless_query_is_stopped(ontology: Ontology) -> None:
    ontology.load_business()
    started = time.monotonic()
    with pytest.raises(OntologyError, match="took more than 1 seconds"):
        ontology.sparql("SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", seconds=1)
    assert time.monotonic() - started < 5


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_query_that_takes_too_much_memory_is_stopped(ontology: Ontology, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "MEMORY", 600 * 1024**2)
    ontology.load_business()
    with pytest.raises(OntologyError, match="it took more than 600 MB"):
        ontology.sparql("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?a ?d", seconds=60)


@pytest.mark.parametrize(
    "query",
    [
        "INSERT DATA { <a:a> <a:b> <a:c> }",
        "LOAD <http://localhost/>",
        "DROP ALL",
        "SELECT",
        "",
        "SELECT * { ?s nix:x ?o }",
    ],
)
def test_what_is_no_query_is_refused(ontology: Ontology, query: str) -> None:
    with pytest.raises(OntologyError, match="cannot be answered"):
        ontology.sparql(query)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { SERVICE <URL> { ?s ?p ?o } }",
        "SELECT * { service silent<URL>{ ?s ?p ?o } }",
        "SELECT * { SERVICE#x {\n<URL>#}\n{ ?s ?p ?o } }",
        "PREFIX : <URL> SELECT * { SERVICE:x{ ?s ?p ?o } }",
        "SELECT * { VALUES ?x { <URL> } SERVICE ?x { ?s ?p ?o } }",
        "SELECT * { \\u0053ERVICE <URL> { ?s ?p ?o } }",
        "SELECT * { ?s ?p 1SERVICE<URL>{ ?s ?p ?o } }",
        "SELECT * { <x:(')> ?p ?o . SERVICE <URL> { ?s ?p ?o } <x:'> ?p ?o }",
        "SELECT * FROM <URL> { ?s ?p ?o }",
    ],
)
def test_no_query_reaches_another_server(ontology: Ontology, web: Web, text: str) -> None:
    try:
        found = ontology.sparql(text.replace("URL", web.url))
        assert "FROM" in text
        assert found.rows == ()
    except OntologyError as error:
        assert "never done" in error.message
    assert web.asked == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_process_that_answers_can_open_no_connection(web: Web) -> None:
    query = f"SELECT * {{ SERVICE <{web.url}> {{ ?s ?p ?o }} }}"
    question = {"query": query, "prefixes": {}, "limit": 9, "memory": export.MEMORY, "documents": []}
    with pytest.raises(OntologyError, match="cannot be answered"):
        export._run(question, 5)
    assert web.asked == []


def test_service_is_a_word_like_others(ontology: Ontology) -> None:
    ontology.load_business()
    asked = "SELECT ?l { business:Service rdfs:label ?l . OPTIONAL { ?service a business:Service } }"
    assert ontology.sparql(asked).rows == (("Service",),)
