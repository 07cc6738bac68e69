"""A Moltbot workspace: core memory, episodes, a graph of entities, procedures, what is pinned, and its own account."""

from __future__ import annotations

from pathlib import Path

from memfolio.exchange.layout import Layout
from memfolio.exchange.readers import DAY, fenced, log, page

FOLDERS = ("memory/episodes", "memory/graph/entities", "memory/procedures")


def _is_workspace(path: Path) -> bool:
    return (path / FOLDERS[0]).is_dir() or sum((path / each).is_dir() for each in FOLDERS) > 1


SOURCE = Layout(
    name="moltbot",
    marks=_is_workspace,
    rules=(
        (rf"memory/(?:episodes/)?{DAY}(?:-[^/]+)?\.md", log),
        (r"(?P<rest>[^/]+\.md)", page(r"\g<rest>")),
        (r"memory/(?P<rest>.+\.md)", page(r"memory/\g<rest>")),
        (r"memory/meta/(?P<rest>.+\.(?:json|log))", page(r"memory/imported/moltbot/meta/\g<rest>.md", fenced)),
    ),
)
