"""The first phase: what the time since the last reflection was about. Pure."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from memfolio.learn.drafting import moment
from memfolio.learn.tags import tags_of
from memfolio.sources import OVERHEARD
from memfolio.types import MemoryItem

TOPICS = 6
LONG = 2000
"""Characters of a memory that are looked at."""
NAMED = 3.0
"""What a name or a tag counts beside a word."""
EVERYWHERE = 3
"""A word that more than one of so many memories has tells nothing."""
_PROPER = re.compile(r"(?<=[a-z,] )[A-Z]\w{2,}")
"""A name, by its first letter amid a sentence."""
_EMPTY = frozenset(
    """
    actually again anyway because better bring check done everything feel find fine first getting give going good great
    guess help keep kind know last later less little live look looking maybe mean might need next nice nothing okay once
    people perhaps please pretty probably quite remember right said second seems show something still stuff sure take
    talk tell thank thanks think though today together tomorrow tonight using want wants work working yesterday
    """.split()
)


def topics(items: Sequence[MemoryItem], names: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """What memories are about, most of all first; `names` come with the ids of the memories that have them."""
    known = {item.id: item for item in items}
    named = [(name, known[each]) for name, ids in names.items() for each in ids if each in known]
    said = [item for item in items if item.source not in OVERHEARD]
    named += [(name, item) for item in said for name in (*item.tags, *_PROPER.findall(item.content[:LONG]))]
    spelled = {name.casefold(): name for name, _ in named}
    found: dict[str, list[MemoryItem]] = defaultdict(list)
    for name, item in (*named, *_words(said, spelled)):
        found[name.casefold()].append(item)
    weights = {name: _weight(found[name], len(items), is_named=name in spelled) for name in found}
    best = sorted((name for name in found if weights[name]), key=lambda name: (-weights[name], name))
    return tuple(_apart(spelled.get(name, name) for name in best))[:TOPICS]


def _words(items: Iterable[MemoryItem], spelled: Mapping[str, str]) -> Iterator[tuple[str, MemoryItem]]:
    for item in items:
        for word in tags_of("", item.content[:LONG])[1:]:
            if word not in _EMPTY:
                yield spelled.get(word, word), item


def _weight(items: Sequence[MemoryItem], total: int, *, is_named: bool) -> float:
    """How much a topic tells; 0 where it came up too seldom, or everywhere."""
    count, places = len({item.id for item in items}), {item.session or f"{moment(item):%Y-%m-%d}" for item in items}
    if count < 2 or (not is_named and not EVERYWHERE <= count <= max(EVERYWHERE, total / EVERYWHERE)):
        return 0.0
    return (NAMED if is_named else 1.0) * len(places) * math.sqrt(count) * math.log(1 + total / count)


def _apart(names: Iterable[str]) -> Iterator[str]:
    """Those of these that share no word with one before."""
    seen: set[str] = set()
    for name in names:
        words = set(name.casefold().split())
        if seen.isdisjoint(words):
            yield name
        seen |= words
