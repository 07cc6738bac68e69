"""What beliefs rest on, as the index knows it: which memories and facts still hold, and what became of the others."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any

from memfolio.graph.making import Shelf
from memfolio.index.fact_lines import VERIFY
from memfolio.index.fact_query import Wanted, fact_of, find_facts, history_of, triple_named
from memfolio.index.facts import Fact
from memfolio.index.mind_item import Item
from memfolio.index.rows import to_us
from memfolio.index.sourced import by_ids
from memfolio.knowledge.verify import TELLING
from memfolio.mind.feed import spoken
from memfolio.mind.validate import Ground
from memfolio.types import Origin


def grounds_of(items: Iterable[Item], shelf: Shelf, now: datetime) -> tuple[dict[str, Ground], dict[str, Fact]]:
    """What these beliefs rest on, among all that the agent may read: what does not hold any more, and facts that do."""
    ids = {each for item in items if item.is_live for each in item.links() if each[:2] in ("F-", "M-")}
    known: dict[str, Fact | Ground | None] = {each: Ground(id=each) for each in ids}
    for index in reversed(shelf.indexes()):  # the agent's own counts before another's
        known |= index.read(lambda db: dict((*_facts(db, ids, now), *_memories(db, ids))))
    gone = {name: each for name, each in known.items() if isinstance(each, Ground)}
    return gone, {name: each for name, each in known.items() if isinstance(each, Fact)}


def confirmed_facts(shelf: Shelf, least: float, now: datetime, known: Collection[str]) -> list[Fact]:
    """The agent's own facts beside the known ones that are at least so sure and that somebody confirmed."""
    wanted = Wanted(min_confidence=least, valid_at=to_us(now), derived=False, limit=-1)

    def read(db: Any) -> list[Fact]:
        facts = (each for each in find_facts(db, wanted, "") if each.verified_us and each.id not in known)
        return [each for each in facts if _word_on(db, each)]

    return shelf.index.read(read)


def _word_on(db: Any, fact: Fact) -> bool | None:
    """What a person or another source last said of a fact; None where nobody did.

    That no other fact speaks against it does not speak for it.
    """
    lines = (json.loads(each.said.more or "{}") for each in reversed(history_of(db, fact.triple)) if each.op == VERIFY)
    return next((line.get("verified") is True for line in lines if line.get("method") in TELLING), None)


def _facts(db: Any, ids: Collection[str], now: datetime) -> Iterator[tuple[str, Fact | Ground | None]]:
    """The facts among these that are known, or what became of them; None for those that strangers told."""
    for name in (each for each in ids if each[0] == "F"):
        if (triple := triple_named(db, name)) is None:
            continue
        if (fact := fact_of(db, triple)) is None:
            wanted = Wanted(*triple[:2], valid_at=to_us(now), derived=False, limit=1)
            says = next((f"{spoken(each)} ({each.id})" for each in find_facts(db, wanted, "")), " ".join(triple))
            yield name, Ground(id=name, state="retracted", says=says)
        elif fact.valid_until is not None and fact.valid_until <= now:
            yield name, Ground(id=name, state="over", says=spoken(fact), at=fact.valid_until)
        elif _word_on(db, fact) is False:
            yield name, Ground(id=name, state="denied", says=spoken(fact))
        else:
            yield name, None if fact.origin == Origin.UNTRUSTED else fact


def _memories(db: Any, ids: Collection[str]) -> Iterator[tuple[str, Ground | None]]:
    """What became of the memories among these, None where they hold; the words of forgotten ones are told nowhere."""
    found = [each.item for each in by_ids(db, {each for each in ids if each[0] == "M"})]
    successors = by_ids(db, {item.superseded_by for item in found if item.superseded_by})
    told = {each.item.id: each.item.content for each in successors if not each.item.forgotten_at}
    for item in found:
        if item.forgotten_at:
            yield item.id, Ground(id=item.id, state="forgotten", at=item.forgotten_at)
        elif by := item.superseded_by:
            yield item.id, Ground(id=item.id, state="superseded", says=f"{told.get(by, 'something else')} ({by})")
        else:
            yield item.id, None
