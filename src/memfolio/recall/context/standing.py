"""Pages that stand at the head of a context when they are asked for: core memory, and where work was left."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from memfolio.index.passages import body_text
from memfolio.recall.context.fence import bullet
from memfolio.recall.context.packing import Line, Section
from memfolio.recall.snippet import snippet
from memfolio.vault.disk import disk_errors
from memfolio.vault.paths import agent_root
from memfolio.vault.recent import to_text
from memfolio.vault.vault import Vault

CORE, CHECKPOINT = "core", "checkpoint"
STANDING = {CORE: "Core memory", CHECKPOINT: "Latest checkpoint"}
"""What can be included, and the title it gets."""
CHECKPOINTS = "memory/checkpoints"


def standing_page(vault: Vault, agent: str, name: str, room: int) -> tuple[str, Section] | None:
    """The path of such a page and what of it fits into so many tokens; None where there is nothing of it."""
    root = agent_root(agent)
    inside = "MEMORY.md" if name == CORE else latest_checkpoint(vault, root)
    page = vault.page(f"{root}/{inside}") if inside else None
    lines = [line for line in body_text(to_text(page.content)).splitlines() if line.strip()] if page else []
    section = Section(title=STANDING[name], share=1.0)
    if page is None or not (line := _cut(inside or "", lines, room - section.cost)):
        return None
    return page.path, Section(title=section.title, share=1.0, lines=(line,))


def latest_checkpoint(vault: Vault, root: str) -> str | None:
    """The newest checkpoint of an agent by its name, which is its time, with a suffix where two have the same."""
    with disk_errors(vault.home.root):
        names = vault.home.disk.names(vault.home.path(f"{root}/{CHECKPOINTS}"))
    pages = [name for name in names if name.endswith(".md") and name[:4].isdecimal()]
    newest = max(pages, key=lambda name: [int(number) for number in re.findall(r"\d+", name)], default=None)
    return newest and f"{CHECKPOINTS}/{newest}"


def _cut(name: str, lines: Sequence[str], room: int) -> Line | None:
    """As many lines of a page as there is room for; of a page with one long line, the beginning of that."""
    if not lines:
        return None
    whole = _line(name, lines)
    if whole.cost <= room:
        return whole
    note = f"(cut here: {name} goes on)"
    count = bisect_right(range(1, len(lines)), room, key=lambda count: _line(name, [*lines[:count], note]).cost)
    kept = lines[:count] or [snippet(lines[0], (), max(0, room - _line(name, ["", note]).cost - 1))]
    cut = _line(name, [*kept, note])
    return cut if kept[0] and cut.cost <= room else None


def _line(name: str, lines: Sequence[str]) -> Line:
    text = "\n".join(lines)
    return Line(id=name, text=bullet(f"[{name}]", text), says=text)
