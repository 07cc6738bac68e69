"""How a home is doing, in numbers and in words."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from memfolio.index.lookup import Counts, count_memories, newest, state_lines
from memfolio.index.search import Filter
from memfolio.recall.searcher import Searcher
from memfolio.state import Op, moment
from memfolio.types import MemoryItem, frozen
from memfolio.vault.fields import local
from memfolio.vault.paths import AUDIT, INTERNAL
from memfolio.vault.usage import Spent
from memfolio.vault.vault import Vault

RECENT = 5
TOLD = ("times", "silent", "tokens", "told", "cited", "corrected")
"""What a line about telling counts."""
OWN = Filter(forms=("memory",))
"""Memories that stand for themselves, and are no passages of pages."""


@frozen
class DayTold:
    """What agents were told on one day without asking, through the hooks of their hosts."""

    day: date
    conversations: int = 0
    times: int = 0
    silent: int = 0
    """Prompts to which nothing was told."""
    tokens: int = 0
    told: int = 0
    cited: int = 0
    """How many of the memories that were told an answer named by their ids."""
    corrected: int = 0
    """How many of them were corrected or forgotten by the end of the conversation."""

    @property
    def tokens_each(self) -> int:
        """Tokens for each conversation."""
        return round(self.tokens / self.conversations) if self.conversations else 0


@frozen
class Cost:
    """What a memory cost on its last days, newest first: what models were asked, and what agents were told."""

    models: tuple[Spent, ...] = ()
    told: tuple[DayTold, ...] = ()


def cost_of(vault: Vault, searcher: Searcher, days: int) -> Cost:
    """What the last days cost: of models in all of the home, of telling for one agent."""
    since = vault.usage.today - timedelta(days=days)
    found: dict[date, dict[str, Any]] = {}
    for line in searcher.index.read(lambda db: state_lines(db, "s.op = ?", Op.TOLD)):
        at = moment(line.get("at"))
        if at is None or (day := local(at, vault.home.zone).date()) <= since:
            continue
        sums = found.setdefault(day, {"sessions": set(), "counts": Counter()})
        sums["sessions"].add(line.get("session"))
        sums["counts"].update({name: line[name] for name in TOLD if isinstance(line.get(name), int)})
    told = [DayTold(day=day, conversations=len(each["sessions"]), **each["counts"]) for day, each in found.items()]
    # The bill is the owner's; an agent is not told what others cost.
    models = () if vault.scope is not None else vault.usage.history(days)
    return Cost(models=tuple(models), told=tuple(sorted(told, key=lambda each: each.day, reverse=True)))


@frozen
class Status:
    """How a home is doing. `obstacle` says why changes wait for git, `trouble` why it cannot be written here."""

    home: Path
    agent: str
    memories: int
    changes: int
    waiting: int
    obstacle: str | None
    alerts: int
    proposals: int
    reflection: bool
    """Whether one waits for approval."""
    due: tuple[str, ...]
    """What is to be done and whose time has come, the most urgent first."""
    problems: Mapping[str, str]
    trouble: str | None
    counts: Counts | None
    bytes: Mapping[str, int]
    """What takes how much room on the disk: files, trail, git, internal, index; for an agent the files it may read."""
    embedder: str
    recent: tuple[MemoryItem, ...]
    degraded: tuple[str, ...]
    """What does not work as it should, each with what to do."""
    told: DayTold | None = None
    """What agents were told today; None where that is nothing."""


def status_of(
    vault: Vault,
    searcher: Searcher,
    *,
    proposals: int,
    reflection: bool,
    due: tuple[str, ...],
    misread: Iterable[str],
    inference: str | None,
    typedb: str | None,
) -> Status:
    """How a home is doing, for one agent; the rest is what its other rooms say.

    `misread` is what makes no sense on pages, each behind its path; `inference` and `typedb` say why nothing is
    concluded, and why the copy on that server is not up to date.
    """
    index, embedder = searcher.index, searcher.vectorizer.embedder
    short_term = searcher.short_term(vault.home.now())
    counts = index.read(lambda connection: count_memories(connection, short_term))
    # Committing first makes the number of waiting changes one that means something.
    waiting = vault.commit()
    return Status(
        home=vault.config.home,
        agent=searcher.agent,
        memories=counts.memories,
        changes=vault.count_changes(),
        waiting=len(vault.waiting()) if waiting else 0,
        obstacle=vault.obstacle if waiting else None,
        alerts=len(vault.alerts()),
        proposals=proposals,
        reflection=reflection,
        due=due,
        problems={**_by_path(misread), **{path: each for path, each in vault.problems.items() if vault.shows(path)}},
        trouble=vault.trouble.message if vault.trouble else None,
        counts=counts,
        bytes=_sizes(vault),
        embedder=embedder.name if embedder else "none",
        told=next((each for each in cost_of(vault, searcher, 1).told), None),
        recent=tuple(each.item for each in index.read(lambda connection: newest(connection, OWN, RECENT))),
        degraded=(
            *searcher.degraded(),
            *(f"{name}: {why}" for name, why in (("typedb", typedb), ("inference", inference)) if why),
            *(f"configuration: {what}; {hint}" for what, hint in vault.config.problems),
        ),
    )


def _by_path(problems: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for problem in problems:
        path, _, what = problem.partition(": ")
        found[path] = f"{found[path]}; {what}" if path in found else what
    return found


def _sizes(vault: Vault) -> dict[str, int]:
    """How many bytes the parts of a home and its cache take; of what others have, an agent learns nothing."""
    if vault.scope is not None:
        return {"files": sum(state.size for path, state in vault.states().items() if vault.shows(path))}
    root = vault.config.home
    trail, git, internal = (_below(root / name) for name in (AUDIT, ".git", INTERNAL))
    return {
        "files": _below(root, besides=(AUDIT, ".git", INTERNAL)),
        "trail": trail,
        "git": git,
        "internal": internal,
        "index": _below(vault.config.cache),
    }


def _below(folder: Path, besides: Collection[str] = ()) -> int:
    """The bytes of all files below a folder, but for some of its entries."""
    # A stack in place of recursion: `.git` can be deep.
    total, waiting = 0, [entry for entry in _entries(str(folder)) if entry.name not in besides]
    while waiting:
        entry = waiting.pop()
        if entry.is_dir(follow_symlinks=False):
            waiting += _entries(entry.path)
        else:
            with suppress(OSError):  # gone since it was listed
                total += entry.stat(follow_symlinks=False).st_size
    return total


def _entries(folder: str) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        return list(entries)
    return []
