"""Folders in which others keep memories: Obsidian, OpenClaw, Claude Code, Moltbot, MABOS, plain Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memfolio.errors import InputError
from memfolio.exchange.reading import (
    DAY,
    ImportedMemory,
    ImportProblem,
    Incoming,
    Layout,
    Leaf,
    Lore,
    Sheet,
    fact,
    fenced,
    files_below,
    ignored,
    log,
    note,
    objects,
    page,
    pages_by_section,
    says_something,
    sections,
)
from memfolio.exchange.sources.json_source import moment_in
from memfolio.procedures.page import read
from memfolio.types import ID_PATTERN, Origin
from memfolio.vault.fields import read_confidence

# A folder of Markdown files, or one of them: each is a page, in its folder and as it is.

_OUR_ENTRY = re.compile(rf"(?m)^## .*\^{ID_PATTERN.pattern}$")
_PLACE = note(r"memory/notes/\g<rest>.md")


def day(leaf: Leaf, match: re.Match[str]) -> Iterable[Incoming]:
    """Reads a daily note as a page; a log of memfolio as its memories, of which some may be strangers' words."""
    return (log if _OUR_ENTRY.search(leaf.text) else _PLACE)(leaf, match)


RULES = (
    (rf"(?P<rest>(?:.*/)?{DAY})\.(?:md|markdown)", day),
    (r"(?P<rest>.+)\.(?:md|markdown|txt)", _PLACE),
)


MARKDOWN = Layout(
    name="markdown",
    rules=RULES,
    marks=lambda path: any(isinstance(ref, str) and ref.endswith((".md", ".markdown")) for ref in files_below(path)),
    tells_rest=True,
    may_be_file=True,
)


# An Obsidian vault: its notes with their links, tags and properties.
#
# Pictures, canvases and other attachments stay where they are.

OBSIDIAN = Layout(
    name="obsidian",
    rules=RULES,
    marks=lambda path: (path / ".obsidian").is_dir(),
    tells_rest=True,
)


# An OpenClaw workspace: the files at its top have their places here, too, and its days are memories.

ROLES = ("SOUL.md", "IDENTITY.md", "USER.md", "AGENTS.md", "TOOLS.md", "HEARTBEAT.md")


def _is_openclaw(path: Path) -> bool:
    there, memory = sum((path / name).is_file() for name in ROLES), path / "memory"
    if there or not memory.is_dir():
        return there > 1 or (there > 0 and memory.is_dir())
    days = memory.glob("[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]*.md")
    return (path / "MEMORY.md").is_file() and any(days)


OPENCLAW = Layout(
    name="openclaw",
    marks=_is_openclaw,
    rules=(
        (rf"memory/{DAY}(?:-[^/]+)?\.md", log),
        (r"[^/]+\.md|memory/.+\.md", page(r"\g<0>")),
    ),
)


# What Claude Code remembers of projects: an index and pages by topic, which link to one another.


def _inside_claude_code(path: Path) -> Path:
    """The folder above those of the projects, whichever of the folders around and in it is named."""
    if (path / "projects").is_dir():
        return path / "projects"
    project = path.parent if path.name == "memory" else path
    is_project = (project / "memory" / "MEMORY.md").is_file() and project.parent.name == "projects"
    return project.parent if is_project else path


CLAUDE_CODE = Layout(
    name="claude-code",
    marks=lambda path: path.name == "projects" and any(path.glob("*/memory/MEMORY.md")),
    inside=_inside_claude_code,
    rules=((r"(?P<project>[^/]+)/memory/(?P<rest>.+\.md)", note(r"memory/claude-code/\g<project>/\g<rest>")),),
)


# A Moltbot workspace: core memory, episodes, a graph of entities, procedures, what is pinned, and its own account.

FOLDERS = ("memory/episodes", "memory/graph/entities", "memory/procedures")
_EDGE = re.compile(r"(?m)^\| *(\w+--[\w-]+) *\|([^|\n]+)\| *(\w+--[\w-]+) *\|(?:([^|\n]*)\|)?(?:([^|\n]*)\|)?")
_PROPOSAL = re.compile(r"(?i)proposal\b")
_MOLTBOT_FIELD = re.compile(r"(?m)^- \*\*([^*\n]+)\*\*: *(.+)$")


def edges(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Read the edges of the graph as facts, beside the page itself."""
    for subject, predicate, other, sure, seen in _EDGE.findall(leaf.text):
        about = {"confidence": read_confidence(sure.strip()), "valid_from": seen.strip() or None}
        yield fact(subject, predicate.strip(), other, **about)
    yield from page(r"\g<0>")(leaf, match)


def waiting(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Read unapproved proposals as quarantined memories, one by one."""
    found, _ = sections(leaf.text, _PROPOSAL)
    for _, text in found or [("", leaf.text)]:
        told = {name.lower().replace(" ", "_"): value for name, value in _MOLTBOT_FIELD.findall(text)} if found else {}
        content, author, at = (told.pop(name, None) for name in ("content", "from", "timestamp"))
        fields = {"origin": Origin.UNTRUSTED, "attributes": told}
        ref = f"{leaf.ref}#{content or text}"
        yield ImportedMemory(ref=ref, content=content or text, at=moment_in(at), author=author, fields=fields)


MOLTBOT = Layout(
    name="moltbot",
    marks=lambda path: (path / FOLDERS[0]).is_dir() or sum((path / each).is_dir() for each in FOLDERS) > 1,
    rules=(
        (rf"memory/(?:episodes/)?{DAY}(?:-[^/]+)?\.md", log),
        (r"memory/graph/index\.md", edges),
        (r"memory/meta/pending-[^/]+\.md", waiting),
        (r"[^/]+\.md|memory/.+\.md", page(r"\g<0>")),
        (r"memory/meta/.+\.(?:json|log)", page(r"memory/imported/moltbot/\g<0>.md", fenced)),
    ),
)


# A memory with a file for each kind: MEMORY.md, SEMANTIC.md, PROCEDURAL.md, EPISODIC.md, days and sessions.

KINDS = ("SEMANTIC.md", "PROCEDURAL.md", "EPISODIC.md")
IMPORTANCE = {"critical": 0.95, "high": 0.8, "medium": 0.5, "low": 0.3}
_EPISODE = re.compile(r"(?i)episode\s*:")
_FIELD = re.compile(r"(?m)^\*\*(Timestamp|Type|Importance|Embedding)\*\*:[ \t]*(.*)\n?")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?)(?: ([A-Z]+))?")
_ZONE = {"UTC": "+00:00", "EST": "-05:00", "EDT": "-04:00", "CST": "-06:00", "PST": "-08:00", "PDT": "-07:00"}


def episodes(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Read each episode as a memory with its time and importance; the rest stays a page."""
    found, rest = sections(leaf.text, _EPISODE)
    for title, text in found:
        fields = {name.lower(): value.strip() for name, value in _FIELD.findall(text)}
        told: dict[str, Any] = {"type": "event", "attributes": {"id": title.rpartition(":")[2].strip()}}
        if importance := IMPORTANCE.get(fields.get("importance", "").lower()):
            told["importance"] = importance
        if kind := fields.get("type"):
            told["tags"] = [kind]
        at, content = _moment(fields.get("timestamp", "") or title), _FIELD.sub("", text).removeprefix("# ")
        yield ImportedMemory(ref=f"{leaf.ref}#{title}", content=content, at=at, fields=told)
    if says_something(rest) or not found:
        yield Sheet(ref=leaf.ref, path="memory/EPISODIC.md", text=rest)


def _moment(text: str) -> datetime | None:
    found = _TIME.search(text)
    try:
        return datetime.fromisoformat(f"{found[1]}{_ZONE.get(found[2], '')}") if found else None
    except ValueError:
        return None


def _has_kinds(path: Path) -> bool:
    return any((path / each).is_file() for each in KINDS)


SPEC = Layout(
    name="spec",
    inside=lambda path: path.parent if path.name == "memory" and _has_kinds(path) else path,
    marks=lambda path: _has_kinds(path) or _has_kinds(path / "memory"),
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


# Agents of MABOS: their three stores, facts, rules and cases as JSON, their minds, playbooks and days as Markdown.

STORES = {"long_term": "long_term", "short_term": "short_term", "working": "short_term"}
"""Our store for each of theirs; working memory of another time is not working memory here."""
MIND = "Persona|Capabilities|Beliefs|Desires|Goals|Intentions|Plans|Commitments|Learnings"
FIELDS = ("type", "importance", "tags", "confidence", "source")
ATTRIBUTES = ("id", "accessed_at", "access_count", "derived_from")
OF_FACTS = ("subject", "predicate", "object", "confidence", "source", "valid_from", "valid_until", "category")
"""Fields that facts have here, too; all others are kept as `was`."""
_NUMBERED, _LISTED = re.compile(r"(?m)^\d+[.)] "), re.compile(r"(?m)^[-*+] ")
FILES = ("memory-store.json", "facts.json", "rules.json", "cases.json", "agent.json", "Beliefs.md", "Desires.md")


def memories(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Reads the three stores."""
    return objects(leaf, _memory, *STORES)


def _memory(ref: str, store: str, item: Mapping[str, Any]) -> Incoming:
    content = item.get("content")
    if not isinstance(content, str) or not isinstance(item.get("id"), str):
        return ImportProblem(ref=ref, why="is a memory without an id or a content")
    fields = {name: item[name] for name in FIELDS if item.get(name) is not None}
    attributes = {name: item[name] for name in ATTRIBUTES if item.get(name)}
    fields |= {"store": STORES[store], "attributes": attributes}
    return ImportedMemory(ref=ref, content=content, at=moment_in(item.get("created_at")), fields=fields)


def lore(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Reads facts, rules and cases."""
    return objects(leaf, _lore, match["room"])


def _lore(ref: str, room: Any, fields: Mapping[str, Any]) -> Incoming:
    if room == "facts":
        was = {name: value for name, value in fields.items() if name not in OF_FACTS and value}
        fields = {**{name: fields.get(name) for name in OF_FACTS}, "was": was or None}
    return Lore(ref=ref, room=room, fields=fields)


def playbook(text: str) -> str:
    """Convert a section to a procedure; without steps, its first list becomes the steps, a numbered one preferred."""
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


class AgentLayout(Layout):
    """A layout whose daily logs may repeat what is in the stores."""

    def read(self, path: Path) -> Iterator[Incoming]:
        """Yield the contents of the files; a memory in the stores is not read again from the log of its day."""
        if len(agents := agents_of(path)) > 1:
            raise InputError(f"{path} has several agents: {', '.join(agents)}", hint="take them over one by one")
        stored: set[str] = set()
        for each in Layout.read(self, path):
            said = " ".join(each.content.split()) if isinstance(each, ImportedMemory) else ""
            if each.ref.startswith("memory-store.json"):
                stored.add(said)
            elif said and said in stored:
                continue
            yield each


MABOS = AgentLayout(
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
