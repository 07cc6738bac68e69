"""Pages that stand at the head of a context when they are asked for: core memory, and where work was left."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

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
TRIED = 5
"""How many of the newest are tried, in case one is empty or no file."""
_CHECKPOINT = re.compile(r"\d{4}-\d\d-\d\d(?:-\d+)*\.md", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingPage:
    """Such a page: what it was asked for as, where it lies in the agent's folder, and its lines, at least one."""

    name: str
    inside: str
    lines: tuple[str, ...]

    @property
    def whole(self) -> int:
        """What it costs uncut."""
        return self._section().cost + _line(self.inside, self.lines).cost

    def cut(self, room: int) -> Section | None:
        """What of it fits into so many tokens; None where nothing does."""
        line = _cut(self.inside, self.lines, room - self._section().cost)
        return self._section(line) if line else None

    def _section(self, *lines: Line) -> Section:
        return Section(title=STANDING[self.name], share=1.0, lines=lines)


def standing_page(vault: Vault, agent: str, name: str) -> StandingPage | None:
    """The page that a name asks for; None where there is none, or nothing on it."""
    root = agent_root(agent)
    for inside in ["MEMORY.md"] if name == CORE else checkpoints(vault, root)[:TRIED]:
        page = vault.page(f"{root}/{inside}")
        lines = [line for line in body_text(to_text(page.content)).splitlines() if line.strip()] if page else []
        if lines:
            return StandingPage(name=name, inside=inside, lines=tuple(lines))
    return None


def share_room(pages: Sequence[StandingPage], room: int) -> list[Section | None]:
    """What of each page fits: each has an equal part, and what one does not need goes to the others.

    Where that is too little for one of them, the first takes what it can use.
    """
    fair = [page.cut(part) for page, part in zip(pages, _parts([page.whole for page in pages], room), strict=True)]
    if None not in fair:
        return fair
    found: list[Section | None] = []
    for page in pages:
        found.append(page.cut(room - sum(section.whole for section in found if section)))
    return found


def _parts(wanted: Sequence[int], room: int) -> list[int]:
    """Equal parts of a room, but to nobody more than is wanted."""
    parts = [0] * len(wanted)
    for done, nth in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        parts[nth] = min(wanted[nth], (room - sum(parts)) // (len(wanted) - done))
    return parts


def checkpoints(vault: Vault, root: str) -> list[str]:
    """The checkpoints of an agent, newest first by their names: times, with a suffix where two are the same."""
    with disk_errors(vault.home.root):
        names = vault.home.disk.names(vault.home.path(f"{root}/{CHECKPOINTS}"))
    dated = {name: [int(part) for part in re.findall(r"\d+", name)] for name in names if _CHECKPOINT.fullmatch(name)}
    return [f"{CHECKPOINTS}/{name}" for name in sorted(dated, key=dated.__getitem__, reverse=True)]


def _cut(name: str, lines: Sequence[str], room: int) -> Line | None:
    """As many lines of a page as there is room for; of a page with one long line, the beginning of that."""
    if not lines:
        return None
    whole = _line(name, lines)
    if whole.cost <= room:
        return whole
    note = f"(cut here: {name} goes on)"
    count = bisect_right(range(1, len(lines)), room, key=lambda count: _line(name, [*lines[:count], note]).cost)
    kept = lines[:count] or [_beginning(lines[0], max(0, room - _line(name, ["", note]).cost - 1))]
    cut = _line(name, [*kept, note])
    return cut if kept[0] and cut.cost <= room else None


def _beginning(line: str, tokens: int) -> str:
    """As much of a line as there is room for; where it is one endless word, its first letters."""
    return snippet(line, (), tokens) or (f"{line[: tokens // 2]}…" if tokens > 4 else "")


def _line(name: str, lines: Sequence[str]) -> Line:
    text = "\n".join(lines)
    return Line(id=name, text=bullet(f"[{name}]", text), says=text)
