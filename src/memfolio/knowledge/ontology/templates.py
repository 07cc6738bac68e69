"""The vocabularies that come with the package: one for business in general, and beginnings for kinds of business."""

from __future__ import annotations

from pathlib import Path

from memfolio.errors import OntologyError
from memfolio.knowledge.ontology.document import Document, read_page
from memfolio.knowledge.ontology.term import BASE

BUSINESS = "business"
TEMPLATES = ("saas", "ecommerce", "consulting", "agency")
_DATA = Path(__file__).parent / "data"


def template(name: str, domain: str = "") -> Document:
    """One of them, under its own name or with `domain` in place of it."""
    if name not in (BUSINESS, *TEMPLATES):
        raise OntologyError(f"there is no template {name[:40]!r}", hint=f"use {', '.join(TEMPLATES)}")
    text, called = (_DATA / f"{name}.jsonld").read_text("utf-8"), domain or name
    context = f'"{called}": "{BASE}{called}/'
    text = text.replace(f'"{name}:', f'"{called}:').replace(f'"{name}": "{BASE}{name}/', context)
    return read_page(text.encode(), called)
