"""A memory with a file for each kind: MEMORY.md, SEMANTIC.md, PROCEDURAL.md, EPISODIC.md, days and sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from memfolio.exchange.files import Leaf
from memfolio.exchange.incoming import Incoming, Note, Sheet
from memfolio.exchange.layout import Layout
from memfolio.exchange.readers import DAY, fenced, ignored, log, page, pages_by_section, says_something, sections

KINDS = ("SEMANTIC.md", "PROCEDURAL.md", "EPISODIC.md")
IMPORTANCE = {"critical": 0.95, "high": 0.8, "medium": 0.5, "low": 0.3}
_EPISODE = re.compile(r"(?i)episode\s*:")
_FIELD = re.compile(r"(?m)^\*\*(Timestamp|Type|Importance|Embedding)\*\*:[ \t]*(.*)\n?")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?)(?: ([A-Z]+))?")
_ZONE = {"UTC": "+00:00", "EST": "-05:00", "EDT": "-04:00", "CST": "-06:00", "PST": "-08:00", "PDT": "-07:00"}


def episodes(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Reads each episode as a memory with its time and importance; what is around them stays a page."""
    found, rest = sections(leaf.text, _EPISODE)
    for title, text in found:
        fields = {name.lower(): value.strip() for name, value in _FIELD.findall(text)}
        told: dict[str, Any] = {"type": "event", "attributes": {"id": title.rpartition(":")[2].strip()}}
        if importance := IMPORTANCE.get(fields.get("importance", "").lower()):
            told["importance"] = importance
        if kind := fields.get("type"):
            told["tags"] = [kind]
        yield Note(
            ref=f"{leaf.ref}#{title}",
            content=_FIELD.sub("", text).removeprefix("# "),
            at=_moment(fields.get("timestamp", "") or title),
            fields=told,
        )
    if says_something(rest) or not found:
        yield Sheet(ref=leaf.ref, path="memory/EPISODIC.md", text=rest)


def _moment(text: str) -> datetime | None:
    found = _TIME.search(text)
    try:
        return datetime.fromisoformat(f"{found[1]}{_ZONE.get(found[2], '')}") if found else None
    except ValueError:
        return None


def _inside(path: Path) -> Path:
    return path.parent if path.name == "memory" and any((path / each).is_file() for each in KINDS) else path


SOURCE = Layout(
    name="spec",
    inside=_inside,
    marks=lambda path: any((path / folder / each).is_file() for folder in ("", "memory") for each in KINDS),
    rules=(
        (rf"(?:memory/)?{DAY}(?:-[^/]+)?\.md", log),
        (rf"memory/archive/(?:.+/)?{DAY}\.md", log),
        (
            r"(?:memory/)?PROCEDURAL\.md",
            pages_by_section(
                "memory/procedures", r"(?:skill|workflow|procedure|decision tree)\b", "memory/PROCEDURAL.md"
            ),
        ),
        (r"(?:memory/)?EPISODIC\.md", episodes),
        (r"(?:memory/)?SEMANTIC\.md", page("memory/SEMANTIC.md")),
        (r"(?:memory/)?(?P<rest>(?:MEMORY|USER|IDENTITY|SOUL|AGENTS|TOOLS)\.md)", page(r"\g<rest>")),
        (r"(?P<rest>(?:sessions|memory)/.+\.md)", page(r"\g<rest>")),
        (r"index/.*", ignored),
        (r"(?P<rest>config/.+\.ya?ml|sessions/index\.json)", page(r"memory/imported/spec/\g<rest>.md", fenced)),
        (r"(?P<rest>[^/]+\.md)", page(r"memory/\g<rest>")),
    ),
)
