"""Beliefs that facts feed: what a person or another source confirmed is believed, for as long as it holds. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any

from memfolio.index.facts import Fact
from memfolio.index.mind_item import Item
from memfolio.index.mind_kind import Status

SOURCE = "fact"
"""What the `source` of a belief is that was fed."""
_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+")


def section(fact: Fact, now: datetime) -> tuple[str, str, str, Mapping[str, Any]]:
    """The belief that a fact gives: its id, title, text and fields."""
    fields = {"certainty": round(fact.confidence, 4), "updated": now, "source": SOURCE, "from": (fact.id,)}
    return f"B-{blake2b(fact.id.encode()).hexdigest()[:16]}", spoken(fact), "", fields


def spoken(fact: Fact) -> str:
    """A fact as a sentence: `Redis hasPort 6379` is Redis has port 6379."""
    predicate = _JOINT.sub(" ", fact.predicate).lower()
    return " ".join(f"{fact.subject} {predicate} {fact.object}".split())


def renewal(item: Item, standing: Mapping[str, Fact], now: datetime) -> Mapping[str, Any]:
    """What becomes of a belief that was fed: `standing` has the facts that hold. Nothing for any other belief."""
    if not item.is_live or item.problems or item.fields.get("source") != SOURCE or len(item.links()) != 1:
        return {}
    if (fact := standing.get(item.links()[0])) is None:
        return {"status": Status.RETIRED, "updated": now, "reason": "the fact does not hold any more"}
    certainty = round(fact.confidence, 4)
    # A page tells minutes: what a person said of the belief since the fact last changed is theirs to say.
    is_newer = item.updated is None or fact.updated_at >= item.updated + timedelta(minutes=1)
    return {"certainty": certainty, "updated": now} if is_newer and abs(item.certainty - certainty) > 1e-3 else {}
