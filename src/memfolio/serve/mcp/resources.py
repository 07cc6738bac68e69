"""What can be read under an address: core memory, days, people and things, checkpoints, pages of the mind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from memfolio.errors import HomeError, NotFoundError

if TYPE_CHECKING:
    from memfolio.memory import Memory

SCHEME = "memfolio://"
RECENT = 14
"""How many days, entities and checkpoints are listed; all others can be read by their names."""


class Place(NamedTuple):
    """Something that can be read: its address, in which a name may stand in braces, and what it is."""

    address: str
    name: str
    description: str


FIXED = (
    Place(f"{SCHEME}core", "core memory", "What the agent always has before its eyes."),
    Place(f"{SCHEME}checkpoint", "latest checkpoint", "Where work was left."),
)
NAMED = (
    Place(f"{SCHEME}day/{{date}}", "day", "The log of a day, such as 2026-11-15."),
    Place(f"{SCHEME}entity/{{id}}", "person or thing", "The page of an entity, such as person--alex."),
    Place(f"{SCHEME}checkpoint/{{name}}", "checkpoint", "A checkpoint, such as 2026-11-15-143000."),
    Place(f"{SCHEME}mind/{{page}}", "page of the mind", "One of the nine pages, such as Beliefs."),
)
_PATHS = {
    re.compile(r"day/(\d{4}-\d\d-\d\d(?:-\d{1,4})?)", re.ASCII): "memory/{}.md",
    re.compile(r"entity/(\w[\w.-]*--\w[\w.-]*)"): "memory/graph/entities/{}.md",
    re.compile(r"checkpoint/(\d{4}-\d\d-\d\d(?:-\d{1,9}){0,3})", re.ASCII): "memory/checkpoints/{}.md",
    re.compile(r"mind/([A-Z][a-z]{1,20})"): "mind/{}.md",
}


def listed(memory: Memory) -> list[Place]:
    """What there is to read: what always is, then the newest days and checkpoints and who is mentioned most."""
    return [*FIXED, *_days(memory), *_checkpoints(memory), *_entities(memory)]


def _days(memory: Memory) -> Iterator[Place]:
    from memfolio.vault.paths import agent_root, day_of

    root = agent_root(memory.agent)
    logs = (path for path in memory.vault.states() if path.rpartition("/")[0] == f"{root}/memory")
    days = {path: day for path in logs if (day := day_of(path))}
    for path in sorted(days, reverse=True)[:RECENT]:
        name = path.rpartition("/")[2].removesuffix(".md")
        yield Place(f"{SCHEME}day/{name}", name, f"What happened on {days[path]:%A, %d %B %Y}.")


def _checkpoints(memory: Memory) -> Iterator[Place]:
    from memfolio.recall.context.standing import checkpoints
    from memfolio.vault.paths import agent_root

    for inside in checkpoints(memory.vault, agent_root(memory.agent))[:RECENT]:
        name = inside.rpartition("/")[2].removesuffix(".md")
        yield Place(f"{SCHEME}checkpoint/{name}", f"checkpoint {name}", "Where work stood then.")


def _entities(memory: Memory) -> Iterator[Place]:
    from memfolio.vault.paths import agent_of

    mine = [each for each in memory.graph.entities() if agent_of(each.path) == memory.agent]
    for node in sorted(mine, key=lambda each: -each.mentions)[:RECENT]:
        name = node.path.rpartition("/")[2].removesuffix(".md")
        yield Place(f"{SCHEME}entity/{name}", node.name, f"What is known about {node.name}, a {node.type}.")


def read(memory: Memory, address: str) -> str:
    """The Markdown at an address; NotFoundError where there is nothing that this agent may read."""
    from memfolio.vault.recent import to_text

    name = address.removeprefix(SCHEME)
    if name == "core":
        return memory.core.read().text
    path = _path(memory, name)
    try:
        page = memory.vault.page(path) if path and memory.vault.shows(path) else None
    except HomeError:  # a link, or a folder: where it leads is not for agents to know
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
