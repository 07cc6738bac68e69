"""A purge that is under way, on disk before the first byte is touched, so that it is finished after a crash.

It holds the very texts that are to go, which nothing else tells once the files are clean; it is deleted last.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from memfolio.errors import DiskError
from memfolio.types import Attribution
from memfolio.vault.format.signature import attribution
from memfolio.vault.purge.needles import parts_of
from memfolio.vault.purge.scrub import Target
from memfolio.vault.vault import PURGE as NAME

__all__ = ["NAME", "Job", "drop", "load", "save"]

if TYPE_CHECKING:
    from memfolio.vault.home import Home


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be destroyed, and who wants it."""

    target: Target
    by: Attribution
    rewrites: bool
    """Whether git's history is rewritten too."""

    def unsought(self) -> tuple[str, ...]:
        """What of the texts nobody looks for, in words that do not repeat it."""
        short = sum(not parts_of(text) for text in self.target.texts)
        spared = len(self.target.spared)
        found = {"too short to be looked for": short, "kept by others or by lines of memfolio's own": spared}
        return tuple(f"{count} of its texts: {why}" for why, count in found.items() if count)


def save(home: Home, job: Job) -> None:
    target = job.target
    document = {
        "ids": target.ids,
        "texts": sorted(target.texts),
        "sentences": sorted(target.sentences),
        "spared": sorted(target.spared),
        "by": astuple(job.by),
        "rewrites": job.rewrites,
        "agents": None if target.agents is None else sorted(target.agents),
    }
    home.disk.put(home.internal / NAME, json.dumps(document).encode())


def load(home: Home) -> Job | None:
    """The purge that was begun; None when there is none. Raises DiskError for one that cannot be read."""
    raw = home.disk.read(home.internal / NAME)
    if raw is None:
        return None
    try:
        data = json.loads(raw)
        agents = data.get("agents")
        target = Target(
            ids=data["ids"],
            texts=frozenset(data["texts"]),
            sentences=frozenset(data.get("sentences", ())),
            spared=frozenset(data["spared"]),
            agents=None if agents is None else frozenset(agents),
        )
        return Job(target=target, by=attribution(*data["by"]), rewrites=data["rewrites"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DiskError(
            f"{home.internal.name}/{NAME} cannot be read, and what it was to destroy may be left",
            hint="purge that again once you have deleted the file",
        ) from error


def drop(home: Home) -> None:
    """Say that the purge is done; if power fails before that is on disk, it is done once more."""
    try:
        home.disk.remove(home.internal / NAME)
    except OSError:
        if home.disk.stamp(home.internal / NAME) is not None:
            raise
