"""Agents of MABOS: their three stores, facts, rules and cases as JSON, their minds, playbooks and days as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memfolio.errors import InputError
from memfolio.exchange.files import Leaf
from memfolio.exchange.incoming import Flaw, Incoming, Lore, Note
from memfolio.exchange.layout import Layout
from memfolio.exchange.readers import DAY, fenced, ignored, log, objects, page, pages_by_section
from memfolio.exchange.sources.json_source import moment_in
from memfolio.procedures.page import read

STORES = {"long_term": "long_term", "short_term": "short_term", "working": "short_term"}
"""What was at hand when the store was written is not at hand here."""
MIND = "Persona|Capabilities|Beliefs|Desires|Goals|Intentions|Plans|Commitments|Learnings"
FIELDS = ("type", "importance", "tags", "confidence", "source")
ATTRIBUTES = ("id", "accessed_at", "access_count", "derived_from")
OF_FACTS = ("subject", "predicate", "object", "confidence", "source", "valid_from", "valid_until", "category")
"""What a fact has here, too; all else that it had there is kept as `was`."""
_NUMBERED, _LISTED = re.compile(r"(?m)^\d+[.)] "), re.compile(r"(?m)^[-*+] ")
FILES = ("memory-store.json", "facts.json", "rules.json", "cases.json", "agent.json", "Beliefs.md", "Desires.md")


def memories(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Reads the three stores."""
    return objects(leaf, _memory, *STORES)


def _memory(ref: str, store: str, item: Mapping[str, Any]) -> Incoming:
    content = item.get("content")
    if not isinstance(content, str) or not isinstance(item.get("id"), str):
        return Flaw(ref=ref, why="is a memory without an id or a content")
    fields = {name: item[name] for name in FIELDS if item.get(name) is not None}
    attributes = {name: item[name] for name in ATTRIBUTES if item.get(name)}
    fields |= {"store": STORES[store], "attributes": attributes}
    return Note(ref=ref, content=content, at=moment_in(item.get("created_at")), fields=fields)


def lore(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Reads facts, rules and cases."""
    return objects(leaf, _lore, match["room"])


def _lore(ref: str, room: Any, fields: Mapping[str, Any]) -> Incoming:
    if room == "facts":
        was = {name: value for name, value in fields.items() if name not in OF_FACTS and value}
        fields = {**{name: fields.get(name) for name in OF_FACTS}, "was": was or None}
    return Lore(ref=ref, room=room, fields=fields)


def playbook(text: str) -> str:
    """A section as a procedure: where it names no steps, its first list has them, a numbered one before others."""
    found = _NUMBERED.search(text) or _LISTED.search(text)
    if found is None or (told := read("", text)).steps or told.tree:
        return text
    return f"{text[: found.start()]}## Steps\n\n{text[found.start() :]}"


def agents_of(path: Path) -> dict[str, Path]:
    """The folders of the agents in a workspace, by their names."""
    found = sorted((path / "agents").glob("*/")) if (path / "agents").is_dir() else []
    return {each.name: each for each in found if _is_agent(each)}


def _is_agent(path: Path) -> bool:
    return sum((path / each).is_file() for each in FILES) > 1


class Agent(Layout):
    """A layout in which the days may tell once more what is in the stores."""

    def read(self, path: Path) -> Iterator[Incoming]:
        """What the files hold; a memory that is in the stores does not come from the log of its day as well."""
        if len(agents := agents_of(path)) > 1:
            raise InputError(f"{path} has several agents: {', '.join(agents)}", hint="take them over one by one")
        stored: set[str] = set()
        for each in Layout.read(self, path):
            said = " ".join(each.content.split()) if isinstance(each, Note) else ""
            if each.ref.startswith("memory-store.json"):
                stored.add(said)
            elif said and said in stored:
                continue
            yield each


SOURCE = Agent(
    name="mabos",
    inside=lambda path: next(iter(agents_of(path).values()), path),
    marks=_is_agent,
    rules=(
        (r"memory-store\.json", memories),
        (r"(?P<room>facts|rules|cases)\.json", lore),
        (r"memory/mabos-.*\.md", ignored),
        (rf"memory/{DAY}(?:-[^/]+)?\.md", log),
        (rf"(?P<rest>(?:{MIND})\.md)", page(r"mind/\g<rest>")),
        (r"Memory\.md", page("memory/legacy-log.md")),
        (r"Playbooks\.md", pages_by_section("memory/procedures", form=playbook)),
        (r"Knowledge\.md", pages_by_section("memory/knowledge")),
        (r"memory/bdi-conflicts/(?P<rest>.+\.md)", page(r"memory/conflicts/\g<rest>")),
        (r"(?P<rest>memory/.+\.md|[^/]+\.md)", page(r"\g<rest>")),
        (r"(?P<rest>[^/]+\.json)", page(r"memory/imported/mabos/\g<rest>.md", fenced)),
    ),
)
