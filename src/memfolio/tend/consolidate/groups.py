"""Which memories belong together, by what their tags or words have in common. Pure.

The memories are gone through in their order; each that is still free takes along all free ones that are like it:
Jaccard similarity above a threshold. Pairs that cannot reach it are never compared. With the rarest member first, two
sets that share enough must share one of their first members already, so each set is only looked up by those; and what
has been taken is removed from where it is looked up. That keeps the work near the number of memories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import floor, inf


def group(sets: Sequence[frozenset[str]], threshold: float, *, common: float = inf) -> list[list[int]]:
    """The places of the sets that belong together, in their order. Equal ones always do; what is empty is like nothing.

    What more than `common` of them have says too little to look them up by it.
    """
    twins: dict[frozenset[str], list[int]] = {}
    alone = []
    for place, each in enumerate(sets):
        if each:
            twins.setdefault(each, []).append(place)
        else:
            alone.append([place])
    kinds = list(twins)
    found = [sorted(place for kind in kin for place in twins[kinds[kind]]) for kin in _alike(kinds, threshold, common)]
    return sorted(found + alone)


def _alike(kinds: Sequence[frozenset[str]], threshold: float, common: float) -> Iterator[list[int]]:
    """The same for sets that are all different and not empty."""
    counts = Counter(member for each in kinds for member in each)
    ordered = [sorted(each, key=lambda member: (counts[member], member)) for each in kinds]
    sizes = sorted({len(each) for each in kinds})
    postings: dict[tuple[int, str], list[int]] = {}
    for number, members in enumerate(ordered):
        longest = max((_first(members, size, threshold) for size in sizes), key=len)
        for member in longest:
            if counts[member] <= common:
                postings.setdefault((len(members), member), []).append(number)
    taken = [False] * len(kinds)
    for seed, members in enumerate(ordered):
        if taken[seed]:
            continue
        taken[seed], kin = True, [seed]
        for key in ((size, member) for size in sizes for member in _first(members, size, threshold)):
            for other in postings.get(key, ()):
                if not taken[other] and _jaccard(kinds[seed], kinds[other]) > threshold:
                    taken[other] = True
                    kin.append(other)
            if key in postings:
                postings[key] = [number for number in postings[key] if not taken[number]]
        yield kin


def _first(members: Sequence[str], size: int, threshold: float) -> Sequence[str]:
    """The members of a set, the rarest first, of which it shares one with each set of this size that is like it."""
    # A hair less, so that a rounding error costs a comparison and never a pair.
    needed = max(1, floor(threshold * (len(members) + size) / (1 + threshold) - 1e-9) + 1)
    return members[: max(0, len(members) - needed + 1)] if needed <= size else ()


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
