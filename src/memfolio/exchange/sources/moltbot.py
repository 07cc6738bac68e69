"""A Moltbot workspace: core memory, episodes, a graph of entities, procedures, what is pinned, and its own account."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from memfolio.exchange.files import Leaf
from memfolio.exchange.incoming import Incoming, Note, fact
from memfolio.exchange.layout import Layout
from memfolio.exchange.readers import DAY, fenced, log, page, sections
from memfolio.exchange.sources.json_source import moment_in
from memfolio.types import Origin
from memfolio.vault.format.fields import read_confidence

FOLDERS = ("memory/episodes", "memory/graph/entities", "memory/procedures")
_EDGE = re.compile(r"(?m)^\| *(\w+--[\w-]+) *\|([^|\n]+)\| *(\w+--[\w-]+) *\|(?:([^|\n]*)\|)?(?:([^|\n]*)\|)?")
_PROPOSAL = re.compile(r"(?i)proposal\b")
_FIELD = re.compile(r"(?m)^- \*\*([^*\n]+)\*\*: *(.+)$")


def _is_workspace(path: Path) -> bool:
    return (path / FOLDERS[0]).is_dir() or sum((path / each).is_dir() for each in FOLDERS) > 1


def edges(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Reads the edges of the graph as facts, beside the page itself."""
    for subject, predicate, other, sure, seen in _EDGE.findall(leaf.text):
        about = {"confidence": read_confidence(sure.strip()), "valid_from": seen.strip() or None}
        yield fact(subject, predicate.strip(), other, **about)
    yield from page(r"\g<0>")(leaf, match)


def waiting(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Reads what nobody has approved as memories in quarantine, proposals one by one."""
    found, _ = sections(leaf.text, _PROPOSAL)
    for _, text in found or [("", leaf.text)]:
        told = {name.lower().replace(" ", "_"): value for name, value in _FIELD.findall(text)} if found else {}
        content, author, at = (told.pop(name, None) for name in ("content", "from", "timestamp"))
        fields = {"origin": Origin.UNTRUSTED, "attributes": told}
        ref = f"{leaf.ref}#{content or text}"
        yield Note(ref=ref, content=content or text, at=moment_in(at), author=author, fields=fields)


SOURCE = Layout(
    name="moltbot",
    marks=_is_workspace,
    rules=(
        (rf"memory/(?:episodes/)?{DAY}(?:-[^/]+)?\.md", log),
        (r"memory/graph/index\.md", edges),
        (r"memory/meta/pending-[^/]+\.md", waiting),
        (r"[^/]+\.md|memory/.+\.md", page(r"\g<0>")),
        (r"memory/meta/.+\.(?:json|log)", page(r"memory/imported/moltbot/\g<0>.md", fenced)),
    ),
)
