"""What can be read under an address: core memory, days, people and things, checkpoints, pages of the mind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcp_types import Resource, ResourceTemplate

from memfolio.errors import MemfolioError, NotFoundError

if TYPE_CHECKING:
    from memfolio.memory import Memory

SCHEME = "memfolio://"
RECENT = 14
"""How many days, entities and checkpoints are listed; all others can be read by their names."""


MARKDOWN = "text/markdown"


def _page(inside: str, name: str, description: str) -> Resource:
    return Resource(uri=SCHEME + inside, name=name, description=description, mime_type=MARKDOWN)


def _pages(inside: str, name: str, description: str) -> ResourceTemplate:
    return ResourceTemplate(uri_template=SCHEME + inside, name=name, description=description, mime_type=MARKDOWN)


CORE = _page("core", "core memory", "What the agent always has before its eyes.")
LATEST = _page("checkpoint", "latest checkpoint", "Where work was left.")
TEMPLATES = [
    _pages("day/{date}", "day", "The log of a day, such as 2026-11-15."),
    _pages("entity/{id}", "person or thing", "The page of an entity, such as person--alex."),
    _pages("checkpoint/{name}", "checkpoint", "A checkpoint, such as 2026-11-15-143000."),
    _pages("mind/{page}", "page of the mind", "One of the nine pages, such as Beliefs."),
]
_PATHS = {
    re.compile(r"day/(\d{4}-\d\d-\d\d(?:-\d{1,4})?)", re.ASCII): "memory/{}.md",
    re.compile(r"entity/(\w[\w.-]*--\w[\w.-]*)"): "memory/graph/entities/{}.md",
    re.compile(r"checkpoint/(\d{4}-\d\d-\d\d(?:-\d{1,9}){0,3})", re.ASCII): "memory/checkpoints/{}.md",
    re.compile(r"mind/([A-Z][a-z]{1,20})"): "mind/{}.md",
}


def listed(memory: Memory) -> list[Resource]:
    """What there is to read: core memory, the newest checkpoints and days, and who is mentioned most."""
    return [CORE, *_checkpoints(memory), *_days(memory), *_entities(memory)]


def _days(memory: Memory) -> Iterator[Resource]:
    from memfolio.vault.paths import agent_root, day_of

    root = agent_root(memory.agent)
    logs = (path for path in memory.vault.states() if path.rpartition("/")[0] == f"{root}/memory")
    days = {path: day for path in logs if (day := day_of(path))}
    for path in sorted(days, reverse=True)[:RECENT]:
        name = path.rpartition("/")[2].removesuffix(".md")
        yield _page(f"day/{name}", name, f"What happened on {days[path]:%A, %d %B %Y}.")


def _checkpoints(memory: Memory) -> Iterator[Resource]:
    from memfolio.recall.context.standing import checkpoints
    from memfolio.vault.paths import agent_root

    found = checkpoints(memory.vault, agent_root(memory.agent))[:RECENT]
    if found:
        yield LATEST
    for inside in found:
        name = inside.rpartition("/")[2].removesuffix(".md")
        yield _page(f"checkpoint/{name}", f"checkpoint {name}", "Where work stood then.")


def _entities(memory: Memory) -> Iterator[Resource]:
    from memfolio.vault.paths import agent_of

    mine = [each for each in memory.graph.entities() if agent_of(each.path) == memory.agent]
    for node in sorted(mine, key=lambda each: -each.mentions)[:RECENT]:
        name = node.path.rpartition("/")[2].removesuffix(".md")
        yield _page(f"entity/{name}", node.name, f"What is known about {node.name}, a {node.type}.")


def read(memory: Memory, address: str) -> str:
    """The Markdown at an address; NotFoundError where there is nothing that this agent may read."""
    from memfolio.vault.recent import to_text

    if address == CORE.uri:
        return memory.core.read().text
    path = _path(memory, address.removeprefix(SCHEME)) if address.startswith(SCHEME) else None
    try:
        page = memory.vault.page(path) if path and memory.vault.shows(path) else None
    except MemfolioError:  # a link, a folder, a name that no file can have: what is there is not for agents to know
        page = None
    if page is None:
        raise NotFoundError(f"there is nothing at {address[:120]!r}", hint="list the resources to see what there is")
    return to_text(page.content)


def _path(memory: Memory, name: str) -> str | None:
    from memfolio.stores.checkpoint import latest
    from memfolio.vault.paths import agent_root

    if name == "checkpoint":
        found = latest(memory.vault, memory.agent)
        return found[0] if found else None
    matches = ((pattern.fullmatch(name), form) for pattern, form in _PATHS.items())
    return next((f"{agent_root(memory.agent)}/{form.format(match[1])}" for match, form in matches if match), None)
