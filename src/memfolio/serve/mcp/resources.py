"""What can be read under an address: core memory, days, people and things, checkpoints."""

from __future__ import annotations

import re
from typing import NamedTuple

from memfolio.errors import NotFoundError
from memfolio.memory import Memory
from memfolio.stores.checkpoint import latest
from memfolio.vault.paths import agent_root
from memfolio.vault.recent import to_text

SCHEME = "memfolio://"


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
    Place(f"{SCHEME}mind/{{page}}", "page of the mind", "One of the nine pages, such as Beliefs."),
)
_PATHS = {
    re.compile(r"day/(\d{4}-\d\d-\d\d)"): "memory/{}.md",
    re.compile(r"entity/(\w[\w.-]*--\w[\w.-]*)"): "memory/graph/entities/{}.md",
    re.compile(r"mind/([A-Z][a-z]{1,20})"): "mind/{}.md",
}


def read(memory: Memory, address: str) -> str:
    """The Markdown at an address; NotFoundError where there is nothing that this agent may read."""
    name = address.removeprefix(SCHEME)
    if name == "core":
        return memory.core.read().text
    path = _path(memory, name)
    page = memory.vault.page(path) if path else None
    if page is None:
        raise NotFoundError(f"there is nothing at {address[:120]!r}", hint="list the resources to see what there is")
    return to_text(page.content)


def _path(memory: Memory, name: str) -> str | None:
    if name == "checkpoint":
        found = latest(memory.vault, memory.agent)
        return found[0] if found else None
    matches = ((pattern.fullmatch(name), form) for pattern, form in _PATHS.items())
    return next((f"{agent_root(memory.agent)}/{form.format(match[1])}" for match, form in matches if match), None)
