"""What Claude Code remembers of projects: an index and pages by topic, which link to one another."""

from __future__ import annotations

from pathlib import Path

from memfolio.exchange.layout import Layout
from memfolio.exchange.readers import dated, page


def _inside(path: Path) -> Path:
    """The folder above those of the projects, whichever of the folders in between is named."""
    if (path / "projects").is_dir():
        return path / "projects"
    return path.parent if (path / "memory" / "MEMORY.md").is_file() and path.parent.name == "projects" else path


def _holds_projects(path: Path) -> bool:
    return path.name == "projects" and any(path.glob("*/memory/MEMORY.md"))


SOURCE = Layout(
    name="claude-code",
    marks=lambda path: _holds_projects(path),
    inside=_inside,
    rules=((r"(?P<project>[^/]+)/memory/(?P<rest>.+\.md)", page(r"memory/claude-code/\g<project>/\g<rest>", dated)),),
)
