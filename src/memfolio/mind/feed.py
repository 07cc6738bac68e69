"""Beliefs that facts feed: what a person or another source confirmed is believed, for as long as it holds. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import chain
from typing import Any

from memfolio.index.facts import Fact
from memfolio.mind.item import Item
from memfolio.mind.kind import Status
from memfolio.mind.prune import Edits
from memfolio.types import Origin

SOURCE = "fact"
"""What the `source` of a belief is that was fed."""
_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fed:
    """The facts to believe, and what becomes of beliefs that were fed before."""

    added: tuple[Fact, ...]
    edits: Edits


def feed(
    items: Sequence[Item], facts: Iterable[Fact], standing: Mapping[str, Fact], fed: Collection[str], now: datetime
) -> Fed:
    """Add a belief for each of these facts that never was one; bring those that were fed up to date.

    `standing` has the facts that hold of those which beliefs name, `fed` the ids of facts that were fed at any time:
    what a person dropped or took off the page does not come back.
    """
    known = {*fed, *chain.from_iterable(item.links() for item in items)}
    added = tuple(fact for fact in facts if fact.id not in known)
    edits = {item.id: edit for item in items if _is_fed(item) and (edit := _renewal(item, standing, now))}
    return Fed(added=added, edits=edits)


def is_confirmed(fact: Fact, least: float) -> bool:
    """Whether a fact is sure enough to be believed: somebody confirmed it, and no stranger told it."""
    return fact.confidence >= least and fact.verified_us is not None and fact.origin != Origin.UNTRUSTED


def section(fact: Fact, now: datetime) -> tuple[str, str, str, Mapping[str, Any]]:
    """The belief that a fact gives: its id, title, text and fields."""
    fields = {"certainty": round(fact.confidence, 4), "updated": now, "source": SOURCE, "from": (fact.id,)}
    return f"B-{blake2b(fact.id.encode()).hexdigest()[:16]}", spoken(fact), "", fields


def spoken(fact: Fact) -> str:
    """A fact as a sentence: `Redis hasPort 6379` is Redis has port 6379."""
    predicate = " ".join(_JOINT.sub(" ", fact.predicate).split()).lower()
    return " ".join(f"{fact.subject} {predicate} {fact.object}".split())


def _is_fed(item: Item) -> bool:
    return item.is_live and not item.problems and item.fields.get("source") == SOURCE and len(item.links()) == 1


def _renewal(item: Item, standing: Mapping[str, Fact], now: datetime) -> Mapping[str, Any]:
    fact = standing.get(item.links()[0])
    if fact is None or fact.origin == Origin.UNTRUSTED:
        return {"status": Status.RETIRED, "updated": now}
    certainty = round(fact.confidence, 4)
    # A page tells minutes: what a person said of the belief since the fact last changed is theirs to say.
    is_newer = item.updated is None or fact.updated_at >= item.updated + timedelta(minutes=1)
    return {"certainty": certainty, "updated": now} if is_newer and abs(item.certainty - certainty) > 1e-3 else {}
