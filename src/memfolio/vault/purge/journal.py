"""A purge that is under way, on disk before the first byte is touched, so that it is finished after a crash.

It holds the very texts that are to go, which nothing else tells once the files are clean; it is deleted last.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memfolio.errors import DiskError
from memfolio.types import Approval, Attribution
from memfolio.vault.purge.needles import parts_of
from memfolio.vault.purge.scrub import Scrub
from memfolio.vault.vault import PURGE as NAME

__all__ = ["NAME", "Job", "drop", "load", "save"]

if TYPE_CHECKING:
    from memfolio.vault.home import Home


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be destroyed, and who wants it."""

    ids: dict[str, str]
    """The memories, each with its agent."""
    texts: frozenset[str]
    spared: frozenset[str]
    by: Attribution
    rewrites: bool
    """Whether git's history is rewritten too."""
    agents: frozenset[str] | None = None
    """Whose files are changed; None for all."""
    sentences: frozenset[str] = frozenset()

    def scrub(self) -> Scrub:
        return Scrub.of(self.ids, self.texts, sentences=self.sentences, spared=self.spared, agents=self.agents)

    def unsought(self) -> tuple[str, ...]:
        """What of the texts nobody looks for, in words that do not repeat it."""
        short = sum(not parts_of(text) for text in self.texts)
        found = {"too short to be looked for": short, "kept by others or by lines of memfolio's own": len(self.spared)}
        return tuple(f"{count} of its texts: {why}" for why, count in found.items() if count)


def save(home: Home, job: Job) -> None:
    by = job.by
    document = {
        "ids": job.ids,
        "texts": sorted(job.texts),
        "sentences": sorted(job.sentences),
        "spared": sorted(job.spared),
        "by": [by.actor, by.approval, by.trigger, by.session, by.source],
        "rewrites": job.rewrites,
        "agents": None if job.agents is None else sorted(job.agents),
    }
    home.disk.put(home.internal / NAME, json.dumps(document).encode())


def load(home: Home) -> Job | None:
    """The purge that was begun; None when there is none. Raises DiskError for one that cannot be read."""
    raw = home.disk.read(home.internal / NAME)
    if raw is None:
        return None
    try:
        data = json.loads(raw)
        actor, approval, trigger, session, source = data["by"]
        by = Attribution(actor=actor, approval=Approval(approval), trigger=trigger, session=session, source=source)
        texts, spared = frozenset(data["texts"]), frozenset(data["spared"])
        agents = frozenset(data["agents"]) if data.get("agents") is not None else None
        return Job(
            ids=data["ids"],
            texts=texts,
            sentences=frozenset(data.get("sentences", ())),
            spared=spared,
            by=by,
            rewrites=data["rewrites"],
            agents=agents,
        )
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
