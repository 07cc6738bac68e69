"""Which memories belong together, by what their tags or words have in common. Pure.

The memories are gone through in their order; each that is still free takes along all free ones that are like it:
Jaccard similarity above a threshold. Pairs that cannot reach it are never compared. With the rarest member first, two
sets that share enough must share one of their first members already, or two of them where more must be shared, so each
set is only looked up by those; and what has been taken is removed from where it is looked up. That keeps the work near
the number of memories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import floor, inf

Members = Sequence[int]
"""The members of a set as numbers, the rarest first."""
Postings = dict[int, dict[int, list[int]]]
"""The sets by their size and by what they are looked up."""
SMALL = 6
"""Up to this size sets are looked up by two members at once; the pairs of larger ones are too many."""
PAIR = 1 << 32
"""What the first of two members counts in their key, one more than there are members."""


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
    rank = {member: number for number, member in enumerate(sorted(counts, key=lambda each: (counts[each], each)), 1)}
    ordered = [sorted(rank[member] for member in each) for each in kinds]
    sizes = sorted({len(each) for each in kinds})
    telling = sum(1 for count in counts.values() if count <= common)
    postings = _postings(ordered, sizes, threshold, telling)
    taken = [False] * len(kinds)
    for seed in range(len(kinds)):
        if not taken[seed]:
            taken[seed] = True
            kin = [seed]
            for other in _candidates(ordered[seed], sizes, postings, taken, threshold):
                if not taken[other] and _jaccard(kinds[seed], kinds[other]) > threshold:
                    taken[other] = True
                    kin.append(other)
            yield kin


def _postings(ordered: Sequence[Members], sizes: Sequence[int], threshold: float, telling: int) -> Postings:
    """Where the sets are looked up; what is not among the `telling` members, the rarest, leads to none."""
    found: Postings = {size: {} for size in sizes}
    least = {size: _least(size, sizes, threshold) for size in sizes}
    for number, members in enumerate(ordered):
        size = len(members)
        for is_paired, need in least[size].items():
            for key in _keys(members, need, is_paired):
                if (key // PAIR or key) <= telling:  # the rarer of two, or the only one
                    found[size].setdefault(key, []).append(number)
    return found


def _least(size: int, sizes: Iterable[int], threshold: float) -> dict[bool, int]:
    """How many members a set must share at least with one that it is compared with, one by one and in pairs."""
    found: dict[bool, int] = {}
    for other in sizes:
        need = needed(size, other, threshold)
        if need <= min(size, other):
            is_paired = _are_paired(size, other, need)
            found[is_paired] = min(need, found.get(is_paired, need))
    return found


def _are_paired(one: int, other: int, need: int) -> bool:
    return need > 1 and max(one, other) <= SMALL


def _keys(members: Members, need: int, is_paired: bool) -> Sequence[int]:
    """By what a set is looked up that must share so many members."""
    if not is_paired:
        return members[: len(members) - need + 1]
    first = members[: len(members) - need + 2]
    return [one * PAIR + other for one, other in combinations(first, 2)]


def _candidates(
    members: Members, sizes: Iterable[int], postings: Postings, taken: Sequence[bool], threshold: float
) -> Iterator[int]:
    """The free sets that may be like this one, each perhaps more than once."""
    own = len(members)
    for size in sizes:
        need = needed(own, size, threshold)
        if need > min(own, size):
            continue
        there = postings[size]
        for key in _keys(members, need, _are_paired(own, size, need)):
            if listed := there.get(key):
                there[key] = free = [number for number in listed if not taken[number]]
                yield from free


def needed(one: int, other: int, threshold: float) -> int:
    """How many members two sets of these sizes must share to be more alike than the threshold."""
    # A hair less, so that a rounding error costs a comparison and never a pair.
    return max(1, floor(threshold * (one + other) / (1 + threshold) - 1e-9) + 1)


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
