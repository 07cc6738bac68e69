"""Pages as people name them: as a file, below the home, or below the agent's folder."""

from __future__ import annotations

from datetime import date
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.errors import PathError
from memfolio.vault.paths import AUDIT, CONFIG, GITIGNORE, SHARED, agent_root, day_log

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.vault.change import Page

TOP = ("agents", SHARED, AUDIT)


def page_path(memory: Memory, name: str) -> str:
    """The path below the home of the page that `name` means."""
    path = below_home(memory, name)
    if path.split("/")[0] in TOP or path in (CONFIG, GITIGNORE):
        return path
    return f"{agent_root(memory.agent)}/{path}"


def below_home(memory: Memory, name: str) -> str:
    """`name` with the home's own folder taken off its front."""
    path, home = Path(name), memory.vault.config.home
    if not path.is_absolute():
        return name
    if not path.is_relative_to(home):
        raise PathError(f"{name[:120]} is not in {home}", hint="name a file of this home, or another --home")
    return path.relative_to(home).as_posix()


def day_pages(memory: Memory, day: date) -> list[Page]:
    """The parts of a day's log."""
    ledger = day_log(memory.agent, day)
    pages: list[Page] = []
    for number in count(1):
        page = memory.vault.page(ledger.part(number))
        if page is None:
            break
        pages.append(page)
    return pages
