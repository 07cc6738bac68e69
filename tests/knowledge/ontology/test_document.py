"""Pages are read and written without loss, and what cannot be read says why."""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfolio.errors import OntologyError
from memfolio.knowledge.ontology.document import (
    BASE,
    PREFIXES,
    Document,
    Term,
    TermKind,
    adopted,
    as_fields,
    new_term,
    node_of,
    read_page,
    template,
    term_from,
    write_page,
)
from memfolio.knowledge.ontology.ontology import Ontology
from tests.knowledge.ontology.conftest import Web

NAMES = st.from_regex(r"[a-z][A-Za-z0-9]{0,8}", fullmatch=True)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\ufeff"), min_size=1, max_size=20).map(str.strip)
VALUES = st.one_of(
    TEXTS.filter(bool),
    st.integers(),
    st.booleans(),
    st.builds(lambda name: {"@id": f"shop:{name}"}, NAMES),
    st.builds(lambda text: {"@value": text, "@language": "de"}, TEXTS),
)
TERMS = st.builds(
    Term,
    kind=st.sampled_from(TermKind),
    id=NAMES.map("shop:{}".format),
    label=TEXTS,
    definition=TEXTS,
    parents=st.lists(NAMES.map("shop:{}".format), max_size=2, unique=True).map(tuple),
    domain_class=NAMES.map("shop:{}".format),
    range=st.sampled_from(["", "mf:money", "business:Order"]),
    synonyms=st.lists(TEXTS.filter(bool), max_size=3).map(tuple),
    functional=st.booleans(),
    rule=TEXTS,
    more=st.dictionaries(NAMES.map("skos:x{}".format), VALUES, max_size=3),
)


def page(*nodes: dict[str, Any], **context: Any) -> bytes:
    prefixes = {**PREFIXES, "shop": f"{BASE}shop/", **context}
    return json.dumps({"@context": prefixes, "@graph": nodes}).encode()


@settings(max_examples=40)
@given(st.lists(TERMS, max_size=4, unique_by=lambda term: term.id))
def test_any_term_survives_being_written(terms: list[Term]) -> None:
    text = write_page(Document(domain="shop", nodes=tuple(map(node_of, terms))))
    found = read_page(text, "shop")
    assert sorted(found.terms, key=lambda term: term.id) == sorted(terms, key=lambda term: term.id)
    assert write_page(found) == text


@settings(max_examples=40)
@given(TERMS)
def test_any_term_comes_back_from_a_proposal(term: Term) -> None:
    found = term_from(json.loads(json.dumps(as_fields(term))))
    assert (found.id, found.kind, found.parents, found.range) == (term.id, term.kind, term.parents, term.range)
    assert (found.functional, found.definition, found.rule) == (term.functional, term.definition, term.rule)


def test_what_a_page_says_in_its_own_way_stays() -> None:
    gift = {
        "@id": "shop:Gift",
        "@type": ["owl:Class", "skos:Concept"],
        "rdfs:label": {"@value": "Geschenk", "@language": "de"},
        "skos:example": ["a book", {"@id": "http://example.org/book"}],
    }
    note = {"@id": "http://example.org/note", "rdfs:comment": "not a term"}
    found = read_page(page(gift, note, dc="http://purl.org/dc/terms/"), "shop")
    assert found.terms[0].label == "Geschenk"
    written = json.loads(write_page(found))
    assert gift in written["@graph"]
    assert note in written["@graph"]
    assert written["@context"]["dc"] == "http://purl.org/dc/terms/"


def test_page_in_another_form_of_json_ld_is_read_by_the_library() -> None:
    context = {"name": "rdfs:label", "kindOf": {"@id": "rdfs:subClassOf", "@type": "@id"}, "ex": "http://example.org/"}
    gift = {"@id": "shop:Gift", "@type": "owl:Class", "name": "Gift", "kindOf": "shop:Product", "ex:price": 5}
    found = read_page(page(gift, **context), "shop")
    assert [(each.label, each.parents) for each in found.terms] == [("Gift", ("shop:Product",))]
    assert json.loads(write_page(found))["@graph"][1]["ex:price"] == {"@value": "5", "@type": "xsd:integer"}


def test_without_the_library_only_the_normal_form_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    assert template("saas").terms
    with pytest.raises(OntologyError) as caught:
        read_page(page(kind="rdfs:label"), "shop")
    assert caught.value.hint == "pip install 'memfolio[rdf]'"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"@context": "https://schema.org/"}', "shop/@context would have to be fetched: https://schema.org/"),
        (b'{"@context": [{}, "//x"]}', "would have to be fetched: //x"),
        (b'{"@graph": [{"@context": {"@import": "http://x"}}]}', "shop/@graph/0/@context would have to be fetched"),
        (b'{"@context": {"a": {"@id": "x:a", "@context": "http://x"}}}', "shop/@context/a/@context would have to be"),
        (b'{"@context": {},\n "@graph": [}', "no JSON: .* line 2 column 13"),
        (b"\xff", "no JSON"),
        (b"", "no JSON"),
        (b"5", "shop is no JSON-LD: '5'"),
        (b'{"@graph": []} x', "no JSON: Extra data"),
        (b'{"a": ' + b"9" * 5000 + b"}", "no JSON: Exceeds"),
        (b'{"@context": 5, "@graph": []}', "@context value must be"),
        (b'{"@context": {"@version": 2.0}}', "only supported @version"),
        (b'{"@context": {"a": "b", "b": "a"}, "a": 1}', "Cyclic IRI mapping"),
        (b'{"@graph": [{"@id": 5, "@type": "owl:Class"}]}', "@id value must be a string"),
        (b'{"@value": 1, "@id": "x:y"}', "@value and @id are incompatible"),
        (b'{"@id": "shop:A", "@id": "shop:B"}', "@id is defined twice"),
        (b'{"@graph": [{"@id": "\\ud800"}]}', "is no jsonld"),
        (b"[" * 100_000, "no JSON|nested too deep"),
        (b'{"a":' * 60 + b"1" + b"}" * 60, "nested too deep"),
        (b'{"@context": {"@vocab": 5}, "@graph": []}', "is no jsonld"),
        (b" " * (8 * 1024 * 1024 + 1), "more than 8,388,608 bytes"),
    ],
)
def test_bad_page_is_refused_with_the_place(content: bytes, says: str) -> None:
    with pytest.raises(OntologyError, match=says) as caught:
        read_page(content, "shop")
    assert caught.value.hint


REMOTE = [
    '{"@context": "URL"}',
    '{"@context": [{}, "URL"]}',
    '{"@context": [["URL"]]}',
    '{"@context": {"@import": "URL", "@version": 1.1}}',
    '{"@context": {"ctx": "@context"}, "ctx": "URL"}',
    '{"@context": {"a": {"@id": "x:a", "@context": "URL"}}, "a": {}}',
    '{"@context": {"A": {"@id": "x:A", "@context": {"b": {"@id": "x:b", "@context": ["URL"]}}}}, "@type": "A"}',
    '{"@graph": [{"@id": "x:a", "x:b": {"@context": "URL"}}]}',
    '{"@included": [{"@context": "URL"}]}',
    '[{"@context": "URL"}]',
    '{"@context": {"@vocab": "URL", "@base": "URL"}, "@id": "a", "@type": "b"}',
    '{"@context": {"o": "http://www.w3.org/2002/07/owl#"}, "@type": "o:Ontology", "o:imports": {"@id": "URL"}}',
    "<URL> <http://www.w3.org/2002/07/owl#imports> <URL> .",
    '<!DOCTYPE x SYSTEM "URL"><x xmlns="URL"/>',
    '<!DOCTYPE x [<!ENTITY a SYSTEM "URL">]><x xmlns="URL">&a;</x>',
]


@pytest.mark.parametrize("text", REMOTE)
def test_no_document_has_anything_fetched(ontology: Ontology, web: Web, text: str) -> None:
    kind = {"<U": "turtle", "<!": "xml"}.get(text[:2], "jsonld")
    content = text.replace("URL", web.url).encode()
    with suppress(OntologyError):  # a page that names nothing to be fetched may be read
        read_page(content, "shop")
    with pytest.raises(OntologyError) as caught:
        ontology.import_(content, kind, "shop")
    assert caught.value.hint
    assert (web.asked, ontology.domains()) == ([], [])


def test_entities_that_swell_are_refused() -> None:
    swelling = "".join(f'<!ENTITY a{at} "{f"&a{at - 1};" * 10}">' for at in range(1, 10))
    text = f'<!DOCTYPE x [<!ENTITY a0 "a">{swelling}]><x xmlns="x:">&a9;</x>'
    with pytest.raises(OntologyError, match="declares entities"):
        adopted(text.encode(), "xml", "shop")


def test_half_a_character_is_not_written() -> None:
    term = new_term("class", "shop:A", definition="\ud800")
    with pytest.raises(OntologyError, match="shop has characters that cannot be written"):
        write_page(Document(domain="shop", nodes=(node_of(term),)))


@settings(max_examples=40)
@given(
    st.binary(max_size=60)
    | st.recursive(
        VALUES,
        lambda part: (
            st.lists(part)
            | st.dictionaries(
                st.sampled_from(["@id", "@type", "@graph", "@context", "@value", "a", "rdfs:label"]), part
            )
        ),
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_content_is_read_or_refused(content: bytes) -> None:
    try:
        found = read_page(content, "shop")
    except OntologyError:
        return
    assert read_page(write_page(found), "shop").terms == found.terms


def test_words_are_made_of_names() -> None:
    assert new_term("class", "shop:SalesOrder").label == "Sales Order"
    assert new_term("object_property", "shop:hasMRRTarget").label == "has MRR target"
    assert new_term("datatype_property", "shop:price", range="money").range == "mf:money"
    with pytest.raises(OntologyError, match=re.escape("'thing' is no kind of term")):
        new_term("thing", "shop:A")
