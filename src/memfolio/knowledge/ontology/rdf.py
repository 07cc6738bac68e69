"""The RDF library, which is an extra: documents of other forms are read as nodes of ours, and written in its forms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from memfolio.errors import OntologyError
from memfolio.knowledge.ontology.document import (
    FUNCTIONAL,
    LABELS,
    MOST_BYTES,
    PREFIXES,
    is_normal,
    listed,
    parse_json,
    prefixes_of,
    term_of,
    terms_in,
)
from memfolio.knowledge.ontology.term import Term, TermKind

FORMATS = {"turtle": "TURTLE", "jsonld": "JSON_LD", "ntriples": "N_TRIPLES", "xml": "RDF_XML"}
_OTHER_NAMES = {"ttl": "turtle", "json": "jsonld", "nt": "ntriples", "rdf": "xml", "owl": "xml", "rdfxml": "xml"}
DEFINITIONS = ("definition", "sbvr_definition", "comment", "description")
SYNONYMS = ("altLabel", "sbvr_synonyms", "hasExactSynonym")
_PROPERTIES = ("rdf:Property", FUNCTIONAL)
"""What only says that something is a property; its range decides of which kind."""
_VALUES = {
    f"xsd:{name}": f"xsd:{ours}"
    for ours, names in {
        "integer": "int long short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger "
        "unsignedInt unsignedLong unsignedShort unsignedByte",
        "double": "float",
        "string": "anyURI normalizedString token language Name",
        "dateTime": "dateTimeStamp",
        "duration": "dayTimeDuration yearMonthDuration",
    }.items()
    for name in names.split()
} | dict.fromkeys(("rdfs:Literal", "rdf:langString", "rdf:PlainLiteral"), "xsd:string")
"""Types of values that are read as one of ours."""
_REACH = ("rdfs:subClassOf", "rdfs:subPropertyOf", "rdfs:domain", "rdfs:range")
_WHERE = "the document"


def library() -> Any:
    """The module pyoxigraph; OntologyError with the line that installs it."""
    try:
        return import_module("pyoxigraph")
    except ImportError as error:
        hint = "pip install 'memfolio[rdf]'"
        raise OntologyError("this needs the RDF library, which is not installed", hint=hint) from error


def format_named(name: str) -> str:
    """One of FORMATS by any of its names: `JSON-LD` and `.jsonld` are jsonld; a name that is none stays as it is."""
    plain = re.sub(r"[\W_]+", "", name.casefold())
    found = _OTHER_NAMES.get(plain, plain)
    return found if found in FORMATS else name


def serialize(documents: Iterable[bytes], format: str, context: Mapping[str, str]) -> bytes:
    """JSON-LD documents as one text."""
    rdf = library()
    quads = (quad for text in documents for quad in rdf.parse(text, rdf.RdfFormat.JSON_LD))
    triples = (rdf.Triple(quad.subject, quad.predicate, quad.object) for quad in quads)
    text: bytes = rdf.serialize(triples, format=_format(format), prefixes=dict(context))
    return text


def nodes_in(content: bytes, format: str, context: Mapping[str, str]) -> list[dict[str, Any]]:
    """A document of any form as the nodes of a graph in normal form."""
    nodes: dict[str, dict[str, Any]] = {}
    for quad in _statements(content, format):
        named = _called(quad.subject, context)
        node = nodes.setdefault(named, {"@id": named})
        if (key := _called(quad.predicate, context)) == "rdf:type":
            node.setdefault("@type", []).append(_called(quad.object, context))
        else:
            node.setdefault(key, []).append(_value(quad.object, context))
    return list(nodes.values())


def adopted(content: bytes, format: str, domain: str) -> list[Term]:
    """The classes and properties of a document as terms of `domain`; `skos:exactMatch` names what they were."""
    chosen = format_named(format)
    given = parse_json(content, _WHERE) if chosen == "jsonld" else {}
    if is_normal(given, domain):
        return list(terms_in(given["@graph"], domain))
    context = prefixes_of(given, domain)
    defined = {node["@id"]: node for node in nodes_in(content, chosen, context) if node["@id"][:2] != "_:"}
    for node in defined.values():
        _decide_kind(node)
    terms = {name: term for name, node in defined.items() if (term := term_of(node))}
    names = {name: f"{domain}:{_name_here(name, term)}" for name, term in terms.items()}
    nodes = (_adopt(defined[name], names, context) for name in names)
    return [term for node in nodes if (term := term_of(node))]


def compact(name: str, context: Mapping[str, str]) -> str:
    """An identifier by its prefix, the longest that fits."""
    fitting = [prefix for prefix, start in context.items() if name.startswith(start)]
    best = max(fitting, key=lambda prefix: len(context[prefix]), default=None)
    return f"{best}:{name[len(context[best]) :]}" if best else name


def _statements(content: bytes, format: str) -> Iterator[Any]:
    """What a document states, one by one; OntologyError with the place where it cannot be read."""
    if len(content) > MOST_BYTES:
        raise OntologyError(f"{_WHERE} has more than {MOST_BYTES:,} bytes", hint="split it into several")
    if format == "xml" and b"<!ENTITY" in content:  # a few lines of these can stand for more than any memory holds
        raise OntologyError(f"{_WHERE} declares entities, which are not read", hint="save it as Turtle")
    try:
        yield from library().parse(content, _format(format), base_iri="urn:document:")
    except SyntaxError as error:
        raise OntologyError(f"{_WHERE} is no {format}: {error.msg}", hint="correct it there") from error


def _format(name: str) -> Any:
    if name not in FORMATS:
        raise OntologyError(f"{name[:40]!r} is no format", hint=f"use {', '.join(FORMATS)}")
    return getattr(library().RdfFormat, FORMATS[name])


def _called(term: Any, context: Mapping[str, str]) -> str:
    return compact(term.value, context) if isinstance(term, library().NamedNode) else str(term)


def _value(term: Any, context: Mapping[str, str]) -> Any:
    if not isinstance(term, library().Literal):
        return {"@id": _called(term, context)}
    if term.language:
        return {"@value": term.value, "@language": term.language}
    kind = _called(term.datatype, context)
    return term.value if kind == "xsd:string" else {"@value": term.value, "@type": kind}


def _decide_kind(node: dict[str, Any]) -> None:
    """Say of what is only called a property whether it leads to things or to values: to those where nothing says it."""
    if term_of(node) is None and not {*_PROPERTIES}.isdisjoint(listed(node.get("@type"))):
        ranges = [str(each.get("@id")) for each in listed(node.get("rdfs:range")) if isinstance(each, dict)]
        leads_to_things = any(each not in _VALUES and not each.startswith("xsd:") for each in ranges)
        node["@type"] += ["owl:ObjectProperty" if leads_to_things else "owl:DatatypeProperty"]


def _name_here(name: str, term: Term) -> str:
    """A name of our form: `http://x.org/#sales_order` is SalesOrder as a class and salesOrder as a property.

    Where it would not begin with a letter, as that of `http://x.org/#4711`, it is made of the label.
    """
    local, label = (_joined(each) for each in (re.split(r"[#/:]", name.rstrip("#/"))[-1], term.label))
    joined = label if label[:1].isalpha() and not local[:1].isalpha() else local
    return joined if term.kind is TermKind.CLASS else joined[:1].lower() + joined[1:]


def _joined(text: str) -> str:
    return "".join(word[0].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", text) if word)


def _adopt(node: Mapping[str, Any], names: Mapping[str, str], context: Mapping[str, str]) -> dict[str, Any]:
    """A node under its own and its neighbours' names here, with what tells its meaning; the rest is left."""

    def whole(name: str) -> str:
        prefix, _, rest = name.partition(":")
        return name if prefix in PREFIXES or prefix not in context else f"{context[prefix]}{rest}"

    told = {re.split(r"[#/:]", key)[-1]: value for key, value in node.items()}
    found = {"@id": names[node["@id"]], "@type": node["@type"]}
    found["rdfs:label"] = next((node[key] for key in LABELS if key in node), [])
    for key in _REACH:
        named = [each["@id"] for each in listed(node.get(key)) if isinstance(each, dict) and "@id" in each]
        found[key] = [{"@id": names.get(each) or _VALUES.get(each) or whole(each)} for each in named]
    found["skos:definition"] = next((told[key] for key in DEFINITIONS if key in told), [])
    found["skos:altLabel"] = next((told[key] for key in SYNONYMS if key in told), [])
    if found["@id"] != node["@id"]:
        found["skos:exactMatch"] = {"@id": whole(node["@id"])}
    return found
