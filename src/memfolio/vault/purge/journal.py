"""A purge that is under way, on disk before the first byte is touched, so that it is finished after a crash.

It holds the very texts that are to go, which nothing else tells once the files are clean; it is deleted last.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memfolio.types import Approval, Attribution
from memfolio.vault.purge.needles import Needles
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

    def scrub(self) -> Scrub:
        return Scrub(frozenset(self.ids), Needles.of(self.texts, but=self.spared))


def save(home: Home, job: Job) -> None:
    by = job.by
    document = {
        "ids": job.ids,
        "texts": sorted(job.texts),
        "spared": sorted(job.spared),
        "by": [by.actor, by.approval, by.trigger, by.session, by.source],
        "rewrites": job.rewrites,
    }
    home.disk.put(home.internal / NAME, json.dumps(document).encode())


def load(home: Home) -> Job | None:
    """The purge that was begun; None when there is none, or nothing was touched yet."""
    try:
        data = json.loads(home.disk.read(home.internal / NAME) or b"")
        actor, approval, trigger, session, source = data["by"]
        by = Attribution(actor=actor, approval=Approval(approval), trigger=trigger, session=session, source=source)
        texts, spared = frozenset(data["texts"]), frozenset(data["spared"])
        return Job(ids=data["ids"], texts=texts, spared=spared, by=by, rewrites=data["rewrites"])
    except (ValueError, KeyError, TypeError):
        return None


def drop(home: Home) -> None:
    home.disk.remove(home.internal / NAME)
