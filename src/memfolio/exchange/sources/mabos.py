"""Agents of MABOS: their three stores, facts, rules and cases as JSON, their minds, playbooks and days as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memfolio.errors import InputError
from memfolio.exchange.files import Leaf
from memfolio.exchange.incoming import Flaw, Incoming, Lore, Note, Triple
from memfolio.exchange.layout import Layout
from memfolio.exchange.readers import DAY, fenced, ignored, log, objects, page, pages_by_section
from memfolio.exchange.sources.json_source import moment_in

STORES = {"long_term": "long_term", "short_term": "short_term", "working": "short_term"}
"""What was at hand when the store was written is not at hand here."""
MIND = "Persona|Capabilities|Beliefs|Desires|Goals|Intentions|Plans|Commitments|Learnings"
FILES = ("memory-store.json", "facts.json", "rules.json", "cases.json", "agent.json", "Beliefs.md", "Desires.md")


def memories(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Reads the three stores."""
    for found in objects(leaf, *STORES):
        yield found if isinstance(found, Flaw) else _memory(leaf.ref, *found)


def _memory(ref: str, store: str, item: Mapping[str, Any]) -> Incoming:
    name, content = item.get("id"), item.get("content")
    if not isinstance(content, str) or not isinstance(name, str):
        return Flaw(ref=f"{ref}#{name}", why="is a memory without an id or a content")
    named = ("type", "importance", "tags", "confidence", "source")
    kept = ("id", "accessed_at", "access_count", "derived_from")
    fields = {name: item[name] for name in named if item.get(name) is not None}
    attributes = {name: item[name] for name in kept if item.get(name)}
    return Note(
        ref=f"{ref}#{name}",
        content=content,
        at=moment_in(item.get("created_at")),
        fields={**fields, "store": STORES[store], "attributes": attributes},
    )


def facts(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Reads subject, predicate and object with what is said about them."""
    for found in objects(leaf, "facts"):
        yield found if isinstance(found, Flaw) else _fact(leaf.ref, found[1])


def _fact(ref: str, fact: Mapping[str, Any]) -> Incoming:
    match [fact.get(name) for name in ("subject", "predicate", "object")]:
        case [str(subject), str(predicate), str(object)]:
            named = ("confidence", "source", "valid_from", "valid_until", "category")
            fields = {name: fact[name] for name in named if fact.get(name) is not None}
            if was := {name: fact[name] for name in ("id", "created_at", "updated_at", "rule_id") if fact.get(name)}:
                fields["was"] = was
            ref = f"{ref}#{fact.get('id') or (subject, predicate, object)}"
            return Triple(ref=ref, subject=subject, predicate=predicate, object=object, fields=fields)
    return Flaw(ref=f"{ref}#{fact.get('id')}", why="is a fact that lacks one of its three terms")


def lore(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Reads rules and cases."""
    room: Any = match["room"]
    for number, found in enumerate(objects(leaf, room), 1):
        if isinstance(found, Flaw):
            yield found
        else:
            name = found[1].get("id") or found[1].get("case_id") or number
            yield Lore(ref=f"{leaf.ref}#{name}", room=room, fields=found[1])


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
        (r"facts\.json", facts),
        (r"(?P<room>rules|cases)\.json", lore),
        (r"memory/mabos-.*\.md", ignored),
        (rf"memory/{DAY}(?:-[^/]+)?\.md", log),
        (rf"(?P<rest>(?:{MIND})\.md)", page(r"mind/\g<rest>")),
        (r"Memory\.md", page("memory/legacy-log.md")),
        (r"Playbooks\.md", pages_by_section("memory/procedures")),
        (r"Knowledge\.md", pages_by_section("memory/knowledge")),
        (r"memory/bdi-conflicts/(?P<rest>.+\.md)", page(r"memory/conflicts/\g<rest>")),
        (r"(?P<rest>memory/.+\.md|[^/]+\.md)", page(r"\g<rest>")),
        (r"(?P<rest>[^/]+\.json)", page(r"memory/imported/mabos/\g<rest>.md", fenced)),
    ),
)
