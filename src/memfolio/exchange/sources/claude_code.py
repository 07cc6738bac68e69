"""What Claude Code remembers of projects: an index and pages by topic, which link to one another."""

from __future__ import annotations

from pathlib import Path

from memfolio.exchange.layout import Layout
from memfolio.exchange.readers import dated, page


def _inside(path: Path) -> Path:
    """The folder above those of the projects, whichever of the folders around and in it is named."""
    if (path / "projects").is_dir():
        return path / "projects"
    project = path.parent if path.name == "memory" else path
    is_project = (project / "memory" / "MEMORY.md").is_file() and project.parent.name == "projects"
    return project.parent if is_project else path


def _holds_projects(path: Path) -> bool:
    return path.name == "projects" and any(path.glob("*/memory/MEMORY.md"))


SOURCE = Layout(
    name="claude-code",
    marks=_holds_projects,
    inside=_inside,
    rules=((r"(?P<project>[^/]+)/memory/(?P<rest>.+\.md)", page(r"memory/claude-code/\g<project>/\g<rest>", dated)),),
)
