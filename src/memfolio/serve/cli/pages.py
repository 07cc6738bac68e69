"""Pages as people name them: below the home, or below the agent's folder."""

from __future__ import annotations

from datetime import date
from itertools import count
from typing import TYPE_CHECKING

from memfolio.vault.paths import AUDIT, CONFIG, GITIGNORE, SHARED, agent_root, day_log

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.vault.change import Page

TOP = ("agents", SHARED, AUDIT)


def page_path(memory: Memory, name: str) -> str:
    """The path below the home of the page that `name` means."""
    if name.split("/")[0] in TOP or name in (CONFIG, GITIGNORE):
        return name
    return f"{agent_root(memory.agent)}/{name}"


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
