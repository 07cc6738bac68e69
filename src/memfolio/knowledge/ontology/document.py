"""Pages of an ontology: JSON-LD in a normal form that is read without any library, and terms made of it. Pure.

A context is always written in the page itself: what would have to be fetched is refused before it is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from memfolio.errors import OntologyError
from memfolio.knowledge.ontology.term import BASE, Term, TermKind

MOST_BYTES = 8 * 1024 * 1024
DEEPEST = 24
PREFIXES = {
    "mf": BASE,
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
RESERVED = frozenset({*PREFIXES, "urn", "mailto", "tag", "doi", "http", "https"})
"""What may stand before a colon and is no domain."""
HEADER = "owl:Ontology"
FUNCTIONAL = "owl:FunctionalProperty"
TYPES = {
    "owl:Class": TermKind.CLASS,
    "owl:ObjectProperty": TermKind.OBJECT,
    "owl:DatatypeProperty": TermKind.DATATYPE,
    "mf:Rule": TermKind.RULE,
    "rdfs:Class": TermKind.CLASS,
}
ORDER = (
    *("@id", "@type", "rdfs:label", "rdfs:subClassOf", "rdfs:subPropertyOf", "rdfs:domain", "rdfs:range"),
    *("skos:definition", "skos:altLabel"),
)
Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A page: its terms, what else stands in its graph, and the prefixes that it uses."""

    domain: str
    terms: tuple[Term, ...] = ()
    others: tuple[Node, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)

    @property
    def header(self) -> Node:
        """What the page says about itself."""
        own = {"@id": f"{self.domain}:", "@type": HEADER, "rdfs:label": self.domain}
        return next((node for node in self.others if HEADER in listed(node.get("@type"))), own)


@lru_cache(maxsize=64)
def read_page(content: bytes, domain: str) -> Document:
    """The document that a page has; one that is not in normal form is read by the RDF library.

    OntologyError where it is no JSON-LD, needs something remote, or is too large or too deep.
    """
    given = parse_json(content, domain)
    if is_normal(given, domain):
        return document_of(domain, given["@graph"], given["@context"])
    from memfolio.knowledge.ontology.rdf import nodes_in

    context = prefixes_of(given, domain)
    return document_of(domain, nodes_in(content, "jsonld", context), context)


def document_of(domain: str, nodes: Iterable[Node], context: Mapping[str, str]) -> Document:
    """The nodes of a page, sorted into its terms and the rest."""
    pairs = [(node, term_of(node) if str(node.get("@id")).startswith(f"{domain}:") else None) for node in nodes]
    others = tuple(node for node, term in pairs if term is None)
    return Document(domain=domain, terms=tuple(t for _, t in pairs if t), others=others, context=dict(context))


def write_page(document: Document) -> bytes:
    """The page in normal form: one term a node, sorted, so that differences read well."""
    rank, header = list(TermKind).index, document.header
    terms = sorted(document.terms, key=lambda each: (rank(each.kind), each.id))
    rest = sorted((each for each in document.others if each is not header), key=lambda each: str(each.get("@id")))
    graph = [_tidy(each) for each in (header, *map(node_of, terms), *rest)]
    own = {document.domain: f"{BASE}{document.domain}/"}
    context = {**PREFIXES, **own, **_other_domains(terms), **document.context}
    text = json.dumps({"@context": context, "@graph": graph}, ensure_ascii=False, indent=2)
    return f"{text}\n".encode()


def parse_json(content: bytes, where: str) -> Any:
    """What a JSON-LD text says, if it is within bounds and needs nothing from elsewhere."""
    if len(content) > MOST_BYTES:
        raise OntologyError(f"{where} has more than {MOST_BYTES:,} bytes", hint="split it into several domains")
    try:
        given = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise OntologyError(f"{where} is no JSON: {error}", hint="correct it there, and save it in UTF-8") from error
    _check_contexts(given, where)
    return given


def is_normal(given: Any, domain: str) -> bool:
    """Whether a document is in our normal form: prefixes only in its context, and a flat graph of compact names."""
    if not isinstance(given, dict) or set(given) != {"@context", "@graph"}:
        return False
    context, graph = given["@context"], given["@graph"]
    if not isinstance(context, dict) or not isinstance(graph, list):
        return False
    ours = {**PREFIXES, domain: f"{BASE}{domain}/"}
    return (
        all(isinstance(value, str) and value[-1:] in ("/", "#") for value in context.values())
        and all(context.get(name, value) == value for name, value in ours.items())
        and all(isinstance(node, dict) and _is_flat(node, {*context}) for node in graph)
    )


def prefixes_of(given: Any, domain: str) -> dict[str, str]:
    """The prefixes that a document names, with ours before them."""
    parts = listed(given.get("@context")) if isinstance(given, dict) else []
    named = [pair for part in parts if isinstance(part, dict) for pair in part.items()]
    kept = {name: value for name, value in named if isinstance(value, str) and value[-1:] in ("/", "#")}
    return {**kept, **PREFIXES, domain: f"{BASE}{domain}/"}


def term_of(node: Node) -> Term | None:
    """The term that a node describes; None where it describes something else."""
    types = [each for each in listed(node.get("@type")) if isinstance(each, str)]
    kind = next((TYPES[name] for name in types if name in TYPES), None)
    if kind is None:
        return None
    term = Term(
        kind=kind,
        id=str(node["@id"]),
        label=_first(_texts(node, "rdfs:label")),
        definition=_first(_texts(node, "skos:definition")),
        parents=_references(node, _above(kind)),
        domain_class=_first(_references(node, "rdfs:domain")),
        range=_first(_references(node, "rdfs:range")),
        synonyms=_texts(node, "skos:altLabel"),
        functional=FUNCTIONAL in types,
        rule=_first(_texts(node, "mf:rule")),
    )
    plain = _tidy(node_of(term))
    return replace(term, more={name: value for name, value in _tidy(node).items() if plain.get(name) != value})


def node_of(term: Term) -> dict[str, Any]:
    """The node for a term; what is not understood here stays, and so does what is said in another form."""
    kind = next(name for name, kind in TYPES.items() if kind is term.kind)
    node: dict[str, Any] = {
        "@id": term.id,
        "@type": [kind, FUNCTIONAL] if term.functional else kind,
        "rdfs:label": term.label,
        _above(term.kind): [{"@id": each} for each in term.parents],
        "rdfs:domain": [{"@id": each} for each in (term.domain_class,) if each],
        "rdfs:range": [{"@id": each} for each in (term.range,) if each],
        "skos:definition": term.definition,
        "skos:altLabel": list(term.synonyms),
        "mf:rule": term.rule,
    }
    return {name: value for name, value in node.items() if value} | dict(term.more)


def listed(value: Any) -> list[Any]:
    """A value as JSON-LD means it: nothing, one, or several."""
    return [] if value is None else value if isinstance(value, list) else [value]


def _above(kind: TermKind) -> str:
    return "rdfs:subPropertyOf" if kind.is_property else "rdfs:subClassOf"


def _tidy(node: Node) -> dict[str, Any]:
    """A node with its keys in order, and one value without a list around it."""
    keys = sorted(node, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    return {
        name: node[name][0] if isinstance(node[name], list) and len(node[name]) == 1 else node[name] for name in keys
    }


def _other_domains(terms: Iterable[Term]) -> dict[str, str]:
    named = {name.partition(":")[0] for term in terms for name in term.references if "//" not in name}
    return {name: f"{BASE}{name}/" for name in sorted(named - RESERVED)}


def _is_flat(node: Node, prefixes: set[str]) -> bool:
    values = [each for name, value in node.items() if name != "@type" for each in listed(value)]
    return (
        isinstance(node.get("@id"), str)
        and all(isinstance(each, str) for each in listed(node.get("@type")))
        and {name.partition(":")[0] for name in node} <= {*prefixes, "@id", "@type"}
        and not any(isinstance(each, list) for each in values)
        and all(set(each) == {"@id"} or "@value" in each for each in values if isinstance(each, dict))
    )


def _texts(node: Node, name: str) -> tuple[str, ...]:
    said = (each.get("@value") if isinstance(each, dict) else each for each in listed(node.get(name)))
    return tuple(each.strip() for each in said if isinstance(each, str) and each.strip())


def _references(node: Node, name: str) -> tuple[str, ...]:
    named = (str(each["@id"]) for each in listed(node.get(name)) if isinstance(each, dict) and "@id" in each)
    return tuple(each for each in named if not each.startswith("_:"))


def _first(values: tuple[str, ...]) -> str:
    return values[0] if values else ""


def _check_contexts(given: Any, where: str, depth: int = 0) -> None:
    """OntologyError where a part is nested too deep, or a context is not written out."""
    if depth > DEEPEST:
        raise OntologyError(f"{where[:200]} is nested too deep", hint="write each term as a node of @graph")
    inside: Iterator[tuple[Any, Any]] = iter(given.items() if isinstance(given, dict) else ())
    for name, value in enumerate(given) if isinstance(given, list) else inside:
        for part in listed(value) if name == "@context" else ():
            if isinstance(part, str) or (isinstance(part, dict) and "@import" in part):
                raise OntologyError(
                    f"{where[:200]}/@context would have to be fetched: {str(part)[:120]}",
                    hint="write the context into the document; nothing is ever fetched",
                )
        _check_contexts(value, f"{where}/{name}", depth + 1)
