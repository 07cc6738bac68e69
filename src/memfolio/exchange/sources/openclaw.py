"""An OpenClaw workspace: the files at its top have their places here, too, and its days are memories."""

from __future__ import annotations

from pathlib import Path

from memfolio.exchange.layout import Layout
from memfolio.exchange.readers import DAY, log, page

ROLES = ("SOUL.md", "IDENTITY.md", "USER.md", "AGENTS.md", "TOOLS.md", "HEARTBEAT.md")


def _is_workspace(path: Path) -> bool:
    there = [name for name in ROLES if (path / name).is_file()]
    return len(there) >= 2 or (bool(there) and (path / "memory").is_dir()) or _has_days(path)


def _has_days(path: Path) -> bool:
    is_there = (path / "MEMORY.md").is_file() and (path / "memory").is_dir()
    return is_there and any((path / "memory").glob("[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]*.md"))


SOURCE = Layout(
    name="openclaw",
    marks=_is_workspace,
    rules=(
        (rf"memory/{DAY}(?:-[^/]+)?\.md", log),
        (r"[^/]+\.md|memory/.+\.md", page(r"\g<0>")),
    ),
)
