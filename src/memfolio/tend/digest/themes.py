"""What a period was about, and how that differs from the one before. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memfolio.tend.digest.gist import WORD, Gist

NOTABLE = 3
"""By how many memories a theme must have grown or shrunk, at least, to be a trend; and it must be twice as many."""
TRENDS = 6
EVERYWHERE = 3
"""A word that more than one of so many memories has tells nothing about them."""


class Theme(NamedTuple):
    """Something that memories are about: how many of them, on how many days."""

    key: str
    name: str
    rank: int
    memories: int
    days: int

    def weight(self, total: int) -> float:
        """How much it tells about a period of `total` memories: what everything is about tells little."""
        named = 1.0 if self.rank == WORD else 2.0
        return named * self.days * math.sqrt(self.memories) * math.log(1 + total / self.memories)

    def is_everywhere(self, total: int) -> bool:
        return self.rank == WORD and self.memories > max(NOTABLE, total / EVERYWHERE)


def themes(gists: Iterable[Gist]) -> dict[str, Theme]:
    """The themes of these days by their keys."""
    named: dict[str, tuple[int, str]] = {}
    memories: Counter[str] = Counter()
    days: Counter[str] = Counter()
    for gist in gists:
        for key, (name, count, rank) in gist.themes.items():
            memories[key] += count
            days[key] += 1
            if key not in named or rank < named[key][0]:
                named[key] = rank, name
    return {key: Theme(key, name, rank, memories[key], days[key]) for key, (rank, name) in named.items()}


def recurring(found: Mapping[str, Theme], total: int, limit: int) -> list[Theme]:
    """The themes that tell most, of those on several days or else in several memories; the most frequent first."""
    apart = [each for each in found.values() if not each.is_everywhere(total)]
    several = [each for each in apart if each.days > 1] or [each for each in apart if each.memories > 1]
    best = sorted(several, key=lambda each: (-each.weight(total), each.key))[:limit]
    return sorted(best, key=lambda each: (-each.days, -each.memories, each.key))


def trends(now: Mapping[str, Theme], before: Mapping[str, Theme]) -> Iterator[tuple[str, Sequence[str]]]:
    """What came, went, rose and fell, each with a few themes and their numbers of memories, the greatest first."""
    changes = sorted(
        (
            (_count(now, key), _count(before, key), (now.get(key) or before[key]).name)
            for key in now.keys() | before.keys()
        ),
        key=lambda change: (-abs(change[0] - change[1]), change[2]),
    )
    notable = [each for each in changes if abs(each[0] - each[1]) >= NOTABLE and max(each[:2]) >= 2 * min(each[:2])]
    yield "New", [f"{name} ({here})" for here, there, name in notable if there == 0][:TRENDS]
    yield "Gone", [f"{name} ({there})" for here, there, name in notable if here == 0][:TRENDS]
    yield "More", [f"{name} ({there} → {here})" for here, there, name in notable if here > there > 0][:TRENDS]
    yield "Less", [f"{name} ({there} → {here})" for here, there, name in notable if there > here > 0][:TRENDS]


def _count(found: Mapping[str, Theme], key: str) -> int:
    return found[key].memories if key in found else 0
