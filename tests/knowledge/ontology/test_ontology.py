"""Terms are found, checked, added and shown; whatever does not fit changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from memfolio.errors import NotFoundError, OntologyError, PageChangedError
from memfolio.knowledge.ontology.document import TEMPLATES, Term, new_term
from memfolio.knowledge.ontology.ontology import Ontology
from memfolio.recall.searcher import Searcher
from memfolio.vault.vault import OWNER, Vault

PAGE = "agents/main/knowledge/ontology/shop.jsonld"


def a_class(name: str, parents: str = "", **fields: object) -> Term:
    return new_term("class", name, parents=parents, **{"definition": f"What {name} is.", **fields})


def a_property(name: str, domain_class: str, leads_to: str, **fields: object) -> Term:
    kind = "datatype_property" if leads_to in ("money", "text", "date") else "object_property"
    return new_term(kind, name, domain_class=domain_class, range=leads_to, **{"definition": "It is so.", **fields})


@pytest.fixture
def shop(ontology: Ontology) -> Ontology:
    for term in (
        a_class("shop:Party"),
        a_class("shop:Customer", "shop:Party", synonyms="buyer, patron"),
        a_class("shop:SalesOrder"),
        a_property("shop:placesOrder", "shop:Customer", "shop:SalesOrder"),
        a_property("shop:orderTotal", "shop:SalesOrder", "money", functional=True),
    ):
        ontology.add(term)
    return ontology


def test_term_is_found_by_any_of_its_names(shop: Ontology) -> None:
    for name in ("shop:Customer", "Customer", "customer", "BUYER", "patron"):
        assert shop.get(name).id == "shop:Customer"
    assert shop.get("sales order").id == shop.get("sales_order").id == "shop:SalesOrder"
    with pytest.raises(NotFoundError) as caught:
        shop.get("Custommer")
    assert caught.value.hint == "did you mean shop:Customer?"


def test_added_term_stands_in_its_page_and_can_be_undone(shop: Ontology, home: Path, vault: Vault) -> None:
    before = (home / PAGE).read_text("utf-8")
    added = shop.add(a_class("shop:Gift", "Sales Order"))
    assert added.receipt is not None
    assert shop.get("gift").parents == ("shop:SalesOrder",)
    assert '+      "@id": "shop:Gift",' in added.diff
    assert not [line for line in added.diff.splitlines()[2:] if line.startswith("-")]
    vault.past.undo(added.receipt.seq, by=OWNER)
    assert (home / PAGE).read_text("utf-8") == before


def test_dry_run_shows_and_changes_nothing(shop: Ontology, home: Path) -> None:
    before = (home / PAGE).read_bytes()
    shown = shop.add(a_class("shop:Gift"), dry_run=True)
    assert "shop:Gift" in shown.diff
    assert shown.receipt is None
    assert (home / PAGE).read_bytes() == before


@pytest.mark.parametrize(
    ("term", "says"),
    [
        (a_class("shop:Customer"), "shop:Customer exists already"),
        (a_class("shop:gift"), "not in PascalCase"),
        (a_class("shop:Sales Order"), "not in PascalCase"),
        (a_property("shop:Has_gift", "shop:Party", "shop:Party"), "not in camelCase"),
        (a_class("Gift"), "does not begin with a domain"),
        (a_class("owl:Gift"), "does not begin with a domain"),
        (a_class("../x:Gift"), "does not begin with a domain"),
        (a_class("shop:Gift", definition=" "), "it has no definition"),
        (a_class("shop:Gift", "shop:Present"), "its parent shop:Present does not exist"),
        (a_class("shop:Gift", "Present"), "its parent Present does not exist"),
        (a_class("shop:Gift", "shop:Gift"), "it would stand above itself"),
        (a_class("shop:Gift", "shop:orderTotal"), "its parent shop:orderTotal is no class"),
        (a_class("shop:Gift", range="shop:Party"), "a class has neither domain nor range"),
        (a_property("shop:gives", "shop:Giver", "shop:Party"), "its domain shop:Giver does not exist"),
        (a_property("shop:gives", "shop:Party", "shop:Gift"), "its range shop:Gift does not exist"),
        (a_property("shop:gives", "shop:Party", "shop:orderTotal"), "its range shop:orderTotal is no class"),
        (
            new_term("datatype_property", "shop:x", range="shop:Party", definition="D."),
            "is no type of value: number, money",
        ),
        (new_term("object_property", "shop:x", range="mf:money", definition="D."), "is a type of value, and no class"),
        (new_term("rule", "shop:x", definition="D."), "a rule has the text of one"),
        (new_term("rule", "shop:x", definition="D.", rule="?a => ?b isA C"), "its rule cannot be used: "),
    ],
)
def test_term_that_does_not_fit_is_refused(shop: Ontology, home: Path, term: Term, says: str) -> None:
    before = {path: path.read_bytes() for path in home.glob("agents/**/*.jsonld")}
    assert any(says in error for error in shop.validate(term).errors)
    with pytest.raises(OntologyError, match=says):
        shop.add(term)
    assert {path: path.read_bytes() for path in home.glob("agents/**/*.jsonld")} == before


@pytest.mark.parametrize(
    ("name", "label", "warned"),
    [
        ("Custommer", "", "shop:Customer: it is written alike"),
        ("Client", "patron", "shop:Customer: it is written alike"),
        ("SaleOrder", "", "shop:SalesOrder: it is written alike"),
        ("Costume", "", ""),
        ("Part", "", ""),
    ],
)
def test_likely_duplicate_is_a_warning(shop: Ontology, name: str, label: str, warned: str) -> None:
    found = shop.validate(a_class(f"shop:{name}", label=label, definition="Something else entirely, by its words."))
    assert not found.errors
    assert list(found.warnings) == ([f"may be {warned}"] if warned else [])


def test_short_names_are_not_taken_for_each_other(ontology: Ontology) -> None:
    ontology.add(a_class("saas:MRR"))
    assert ontology.validate(a_class("saas:ARR", definition="Other words.")).warnings == ()


def test_cycle_in_a_hand_written_page_is_told_and_harmless(shop: Ontology, home: Path, vault: Vault) -> None:
    text = (home / PAGE).read_text("utf-8")
    looped = text.replace(
        '"rdfs:label": "Party",', '"rdfs:label": "Party", "rdfs:subClassOf": {"@id": "shop:Customer"},'
    )
    (home / PAGE).write_text(looped, "utf-8")
    vault.survey()
    found = shop.problems()
    assert {name for name, each in found.items() if "it would stand above itself" in str(each.errors)} == {
        "shop:Party",
        "shop:Customer",
    }
    assert "Party" in shop.tree()
    assert shop.vocabulary().is_a("shop:Customer", "shop:Party")


def test_page_that_changed_meanwhile_is_not_overwritten(shop: Ontology, home: Path, vault: Vault) -> None:
    page = vault.page(PAGE)
    assert page is not None
    shop.add(a_class("shop:Gift"))
    with pytest.raises(PageChangedError):
        vault.put_page(PAGE, page.content, expects=page.hash, by=OWNER)
    assert shop.get("Gift").id == "shop:Gift"


def test_broken_page_is_named_and_does_not_stop_the_others(shop: Ontology, home: Path, vault: Vault) -> None:
    shop.add(a_class("other:Gift"))
    (home / PAGE).write_text('{"@context": "https://schema.org"}', "utf-8")
    vault.survey()
    says = f"{PAGE}: shop/@context would have to be fetched: https://schema.org"
    assert [each.id for each in shop.terms()] == ["other:Gift"]
    assert shop.problems()[PAGE].errors == (says,)
    with pytest.raises(OntologyError, match=says):
        shop.add(a_class("shop:Present"))


def test_terms_of_agents_in_scope_can_be_used(vault: Vault, searcher: Searcher, ontology: Ontology) -> None:
    Ontology(vault, searcher, "shared").add(a_class("common:Thing"))
    Ontology(vault, searcher, "other").add(a_class("secret:Thing"))
    assert [each.name for each in ontology.domains()] == ["common"]
    assert ontology.add(a_class("shop:Gift", "common:Thing")).terms


@pytest.mark.parametrize("name", TEMPLATES)
def test_template_stands_on_its_own_under_any_name(ontology: Ontology, name: str) -> None:
    added = ontology.scaffold("acme", name)
    assert {each.domain for each in added.terms} == {"acme"}
    assert {each for term in added.terms for each in term.references if each.startswith(f"{name}:")} == set()
    assert not any(each.errors for each in ontology.problems().values())
    assert ontology.scaffold("acme", name).terms == ()
    assert f'"{name}":' not in added.diff


def test_template_builds_on_the_business_vocabulary_whenever_that_is_loaded(ontology: Ontology) -> None:
    ontology.scaffold("acme", "ecommerce")
    assert ontology.problems() == {}
    ontology.load_business()
    known = ontology.vocabulary()
    assert known.is_a("acme:Order", "business:Commitment")
    assert not any(each.errors for each in ontology.problems().values())
    assert "acme:Order" not in ontology.problems()
    assert "Order  (web order)  < business:SalesOrder" in ontology.tree("acme")
    drawn = ontology.mermaid("acme").splitlines()
    assert '    class business_SalesOrder["Sales Order"]' in drawn
    assert "    business_SalesOrder <|-- acme_Order" in drawn


def test_business_vocabulary_is_whole_and_coherent(ontology: Ontology) -> None:
    added = ontology.load_business()
    domain = ontology.domains()[0]
    assert (domain.name, domain.properties, domain.rules) == ("business", 131, 8)
    assert 165 <= domain.classes <= 175
    assert len(added.rules) == 8
    assert {name: each.errors for name, each in ontology.problems().items() if each.errors} == {}
    assert ontology.load_business().receipt is None


def test_bad_domain_or_template_is_refused(ontology: Ontology) -> None:
    for domain, name, says in (
        ("A b", "saas", "no name of a domain"),
        ("xsd", "saas", "no name"),
        ("thing", "saas", "no name"),
        ("a", "x", "no template"),
    ):
        with pytest.raises(OntologyError, match=says):
            ontology.scaffold(domain, name)
    for show in (ontology.terms, ontology.tree, ontology.mermaid):
        with pytest.raises(NotFoundError, match="there is no domain 'nope'"):
            show("nope")


def test_tree_and_diagram_show_classes_with_their_properties(shop: Ontology) -> None:
    assert shop.tree("shop").splitlines() == [
        "Party",
        "└─ Customer  (buyer, patron)",
        "      · placesOrder → SalesOrder",
        "SalesOrder",
        "   · orderTotal → money (one)",
    ]
    drawn = shop.mermaid("shop").splitlines()
    assert drawn[0] == "classDiagram"
    assert "    shop_Party <|-- shop_Customer" in drawn
    assert "    shop_Customer --> shop_SalesOrder : placesOrder" in drawn
    assert "    shop_SalesOrder : orderTotal money" in drawn


TURTLE = b"""@prefix ex: <http://example.org/terms#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:sales_channel a owl:Class ; rdfs:label "sales channel"@en ; rdfs:comment "Way to sell." .
ex:web-shop a owl:Class ; rdfs:subClassOf ex:sales_channel, [ a owl:Restriction ] ; rdfs:comment "Shop in the web." .
ex:opened_on a owl:DatatypeProperty ; rdfs:domain ex:web-shop ; rdfs:range xsd:date ; rdfs:comment "First day." .
ex:Nameless a owl:Class .
"""


def test_foreign_ontology_is_taken_over_under_names_of_ours(ontology: Ontology) -> None:
    added = ontology.import_(TURTLE, "turtle", "sales")
    names = ["sales:SalesChannel", "sales:WebShop", "sales:openedOn", "sales:Nameless"]
    assert [each.id for each in added.terms] == names
    assert added.report.warnings == ()
    assert added.lacking == {"label": tuple(names[1:]), "definition": ("sales:Nameless",)}
    shop = ontology.get("WebShop")
    assert (shop.parents, shop.definition) == (("sales:SalesChannel",), "Shop in the web.")
    assert shop.more == {"skos:exactMatch": {"@id": "http://example.org/terms#web-shop"}}
    assert ontology.import_(TURTLE, "turtle", "sales").terms == ()


LABELS = b"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">
<owl:Ontology rdf:about="http://pizza.example/"/>
<owl:Class rdf:about="http://pizza.example/#Pizza"><rdfs:label>Pizza</rdfs:label></owl:Class>
<owl:Class rdf:about="http://pizza.example/#P_02"><skos:prefLabel>Topping</skos:prefLabel>
  <rdfs:subClassOf rdf:resource="http://pizza.example/#Food"/></owl:Class>
<owl:Class rdf:about="http://pizza.example/#Food"><rdfs:subClassOf rdf:resource="http://pizza.example/#P_02"/></owl:Class>
<owl:Class rdf:about="http://pizza.example/#4711"><rdfs:label>thin base</rdfs:label></owl:Class>
<owl:Class rdf:about="http://pizza.example/#4712"/>
<owl:ObjectProperty rdf:about="http://pizza.example/#hasTopping"/>
<owl:DatatypeProperty rdf:about="http://pizza.example/#price"><rdfs:label>price</rdfs:label></owl:DatatypeProperty>
<owl:DatatypeProperty rdf:about="http://pizza.example/#link"><rdfs:label>link</rdfs:label>
  <rdfs:range rdf:resource="http://www.w3.org/2001/XMLSchema#gYear"/></owl:DatatypeProperty>
<rdf:Property rdf:about="http://pizza.example/#calories"><rdfs:label>calories</rdfs:label>
  <rdfs:range rdf:resource="http://www.w3.org/2001/XMLSchema#nonNegativeInteger"/></rdf:Property>
<rdf:Property rdf:about="http://pizza.example/#madeBy"><rdfs:label>made by</rdfs:label>
  <rdfs:range rdf:resource="http://pizza.example/#Pizza"/></rdf:Property>
<owl:Class rdf:about="http://other.example/pizza"><rdfs:label>Pie</rdfs:label></owl:Class>
</rdf:RDF>
"""


def test_terms_with_a_label_or_only_a_name_come_in_and_what_they_lack_is_listed(ontology: Ontology) -> None:
    added = ontology.import_(LABELS, "owl", "pizza")
    assert {each.id.partition(":")[2]: (each.kind.value, each.label) for each in added.terms} == {
        "Pizza": ("class", "Pizza"),
        "P02": ("class", "Topping"),
        "Food": ("class", "Food"),
        "ThinBase": ("class", "thin base"),
        "hasTopping": ("object_property", "has topping"),
        "price": ("datatype_property", "price"),
        "link": ("datatype_property", "link"),
        "calories": ("datatype_property", "calories"),
        "madeBy": ("object_property", "made by"),
    }
    assert added.lacking["label"] == ("pizza:Food", "pizza:hasTopping")
    assert len(added.lacking["definition"]) == len(added.terms)
    assert added.lacking["range"] == ("pizza:hasTopping", "pizza:price", "pizza:link")
    assert (ontology.get("calories").range, ontology.get("madeBy").range) == ("xsd:integer", "pizza:Pizza")
    told = "\n".join(added.report.warnings)
    assert "pizza:P02 came in without a part: it would stand above itself, by its parent pizza:Food" in told
    assert "pizza:link came in without a part: its range 'xsd:gYear' is no type of value" in told
    assert "pizza:4712 was left out: '4712', the name of a class, is not in PascalCase" in told
    assert "http://other.example/pizza was left out: another term of the document is called pizza:Pizza, too" in told
    assert not any(report.errors for report in ontology.problems().values())
    assert "it has no definition" in ontology.problems()["pizza:Pizza"].warnings


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (
            ("json-ld", "jsonld", "JSON-LD", ".jsonld", "json"),
            b'{"@id": "http://x.y/A", "@type": "http://www.w3.org/2002/07/owl#Class"}',
        ),
        (("jsonld",), b'{"@context": {"x": "http://x.y/"}, "@graph": [{"@id": "x:A", "@type": "owl:Class"}]}'),
        (("turtle", "ttl", "Turtle"), b"<http://x.y/A> a <http://www.w3.org/2002/07/owl#Class> ."),
        (("xml", "rdf/xml", "RDF/XML", "rdfxml", "rdf", "owl"), LABELS),
        (
            ("ntriples", "n-triples", "nt"),
            b"<http://x.y/A> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2002/07/owl#Class> .",
        ),
    ],
)
def test_a_format_has_one_meaning_however_it_is_written(ontology: Ontology, names: list[str], text: bytes) -> None:
    found = [ontology.import_(text, name, "shop", dry_run=True).terms for name in names]
    assert found[0]
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize(("format", "says"), [("turtle", "is no turtle: .*line 1"), ("tortoise", "is no format")])
def test_bad_import_says_where(ontology: Ontology, format: str, says: str) -> None:
    with pytest.raises(OntologyError, match=says):
        ontology.import_(b"<a> <b> <c", format, "sales")
    assert ontology.domains() == []
