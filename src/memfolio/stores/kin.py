"""What goes along when memories are forgotten or corrected: what was made of them would tell of them."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from memfolio.index.index import Index
from memfolio.index.lookup import by_id, lines_about
from memfolio.index.ties import made_of
from memfolio.sources import CORRECTION, OVERHEARD, REFLECTION, SUMMED_UP, sums_up
from memfolio.types import MemoryItem, Store

MADE = frozenset({*OVERHEARD, *SUMMED_UP, REFLECTION, CORRECTION})
"""The sources of what may be made of other memories; whatever else names them was said for its own sake."""


class Kin(NamedTuple):
    """What goes along, and what was summed up together with it, which can be summed up again without it."""

    going: list[str]
    freed: list[str]


def kin_of(index: Index, ids: Collection[str]) -> Kin:
    """What was made of these memories and of no others that are left, and every summary that tells of one of them."""
    going, summaries = dict.fromkeys(ids), dict[str, None]()
    for made in index.read(lambda db: made_of(db, ids)):
        found = index.read(partial(by_id, id=made))
        if found is None or not _is_made(found.item):
            continue
        others = [each for each in found.item.derived_from if each not in going]
        if sums_up(found.item):
            summaries[made] = None
        if made in summaries or not any(_is_left(index, each) for each in others):
            going[made] = None
    freed = [each for each in _freed(index, summaries) if each not in going]
    return Kin([each for each in going if each not in ids], freed)


def _is_made(item: MemoryItem) -> bool:
    kept = item.pinned or item.store is Store.VAULT or item.forgotten_at
    return bool(item.derived_from) and item.source in MADE and not kept


def _is_left(index: Index, id: str) -> bool:
    found = index.read(partial(by_id, id=id))
    return found is not None and found.item.forgotten_at is None


def _freed(index: Index, summaries: Collection[str]) -> list[str]:
    """The memories that went into one of these summaries."""
    sources = dict.fromkeys(
        each
        for summary in summaries
        if (found := index.read(partial(by_id, id=summary)))
        for each in found.item.derived_from
    )
    return [each for each in sources if _went_into(index, each, summaries)]


def _went_into(index: Index, id: str, summaries: Collection[str]) -> bool:
    lines = index.read(partial(lines_about, id=id))
    return any(line.get("into") in summaries for line in lines)
