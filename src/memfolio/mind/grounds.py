"""What beliefs rest on, as the index knows it: which memories and facts still hold, and what became of the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from memfolio.graph.making import Shelf
from memfolio.index.fact_query import Wanted, fact_of, find_facts, triple_named
from memfolio.index.facts import Fact
from memfolio.index.rows import to_us
from memfolio.index.sourced import by_ids
from memfolio.mind.feed import is_confirmed, spoken
from memfolio.mind.item import Item
from memfolio.mind.validate import Ground


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What does not hold any more, the facts that do, and the facts that could be believed."""

    gone: Mapping[str, Ground]
    standing: Mapping[str, Fact]
    confirmed: tuple[Fact, ...]


def grounds_of(items: Iterable[Item], shelf: Shelf, least: float, now: datetime) -> Grounds:
    """What these beliefs rest on, among all that the agent may read; `least` is how sure a fact must be to be fed."""
    ids = {each for item in items if item.is_live for each in item.links() if each[:2] in ("F-", "M-")}
    known: dict[str, Fact | Ground | None] = {each: Ground(id=each) for each in ids}
    for index in reversed(shelf.indexes()):  # the agent's own counts before another's
        known |= index.read(lambda db: dict((*_facts(db, ids, now), *_memories(db, ids))))
    wanted = Wanted(min_confidence=least, valid_at=to_us(now), derived=False, limit=-1)
    facts = shelf.index.read(partial(find_facts, wanted=wanted, agent=shelf.index.agent))
    return Grounds(
        gone={name: each for name, each in known.items() if isinstance(each, Ground)},
        standing={name: each for name, each in known.items() if isinstance(each, Fact)},
        confirmed=tuple(each for each in facts if is_confirmed(each, least)),
    )


def _facts(db: Any, ids: Collection[str], now: datetime) -> Iterator[tuple[str, Fact | Ground]]:
    """The facts among these that are known, or what became of them."""
    for name in (each for each in ids if each[0] == "F"):
        if (triple := triple_named(db, name)) is None:
            continue
        if (fact := fact_of(db, triple)) is None:
            wanted = Wanted(*triple[:2], valid_at=to_us(now), derived=False, limit=1)
            says = next((f"{spoken(each)} ({each.id})" for each in find_facts(db, wanted, "")), " ".join(triple))
            yield name, Ground(id=name, state="retracted", says=says)
        else:
            is_over = fact.valid_until is not None and fact.valid_until <= now
            yield name, Ground(id=name, state="over", says=spoken(fact), at=fact.valid_until) if is_over else fact


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
