"""How a home is doing, in numbers and in words."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from memfolio.index.lookup import Counts, count_memories, newest
from memfolio.index.search import Filter
from memfolio.recall.library import Library
from memfolio.types import MemoryItem, frozen
from memfolio.vault.paths import AUDIT, INTERNAL
from memfolio.vault.vault import Vault

RECENT = 5
OWN = Filter(forms=("memory",))
"""Memories that stand for themselves, and are no passages of pages."""


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


def status_of(
    vault: Vault,
    library: Library,
    *,
    proposals: int,
    reflection: bool,
    due: tuple[str, ...],
    misread: Iterable[str],
    inference: str | None,
    typedb: str | None,
) -> Status:
    """How a home is doing, for the agent of a library; the rest is what its other rooms say.

    `misread` is what makes no sense on pages, each behind its path; `inference` and `typedb` say why nothing is
    concluded, and why the copy on that server is not up to date.
    """
    index, embedder = library.index, library.vectorizer.embedder
    short_term = library.short_term(vault.home.now())
    counts = index.read(lambda connection: count_memories(connection, short_term))
    waiting = vault.commit()
    return Status(
        home=vault.config.home,
        agent=library.agent,
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
        recent=tuple(each.item for each in index.read(lambda connection: newest(connection, OWN, RECENT))),
        degraded=(
            *library.degraded(),
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
