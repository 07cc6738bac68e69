"""Recall in hops: what the hits say leads to what shares no word with the question. Pure.

Each hop looks for the most telling words of the hits before, and follows their ties; it has a share of the limit, so
that direct hits do not starve it, and what it does not fill goes back to them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from memfolio.recall.hit import Hit
from memfolio.text import terms

SOURCES = 5
"""From how many of the best hits a hop takes its words."""
FADE = 0.5
"""What a hit is worth after one more hop."""

Step = Callable[[Sequence[Hit], int], Sequence[Hit]]
"""From hits, and how many more are wanted, to those one hop further."""


def with_hops(direct: Sequence[Hit], step: Step, *, depth: int, limit: int, share: float) -> list[Hit]:
    """The best of all hops, each with its depth; `direct` are at least `limit` hits if there are so many."""
    quota = max(1, int(limit * share)) if limit > 1 and share else 0
    first = max(1, limit - depth * quota)
    hops: list[list[Hit]] = [list(direct[:first])]
    known = {hit.memory.id for hit in direct}
    for _ in range(depth if quota else 0):
        if not hops[-1]:
            break
        further = [hit for hit in step(hops[-1], quota + len(known)) if hit.memory.id not in known]
        hops.append(further[:quota])
        known.update(hit.memory.id for hit in hops[-1])
    found = [hit for hop in hops for hit in hop][:limit]
    found += direct[first : first + limit - len(found)]
    return sorted(found, key=lambda hit: (-hit.score, hit.memory.id))


def telling(
    hits: Sequence[Hit], known: Sequence[str], frequencies: Callable[[Sequence[str]], Mapping[str, int]], count: int
) -> list[str]:
    """The most telling words of the best hits and their tags that are not known yet: often there, rare elsewhere."""
    seen = {word.casefold() for word in known}
    often: Counter[str] = Counter()
    for hit in hits[:SOURCES]:
        words = {*hit.memory.tags, *filter(_can_tell, terms(hit.memory.content))}
        often.update(sorted({word.casefold() for word in words} - seen))
    rare = frequencies(list(often))
    worth = {word: times / math.log(2 + rare.get(word, 0)) for word, times in often.items() if rare.get(word, 0) > 1}
    return sorted(worth, key=lambda word: (-worth[word], word))[:count]


def _can_tell(word: str) -> bool:
    """Long words, acronyms, and what mixes in digits or has letters of other scripts; not a bare small number."""
    has_more = not word.isascii() or not (word.isalpha() or word.isdigit())
    return len(word) > 3 or word.isupper() or has_more
