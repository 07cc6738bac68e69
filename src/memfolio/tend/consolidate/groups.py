"""Which memories belong together, by what their tags or words have in common. Pure.

The memories are gone through in their order; each that is still free takes along all free ones that are like it:
Jaccard similarity above a threshold. Pairs that cannot reach it are never compared. With the rarest member first, two
sets that share enough must share one of their first members already, so each set is only looked up by those; and what
has been taken is removed from where it is looked up. That keeps the work near the number of memories.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import floor, inf

Members = Sequence[str]
Postings = dict[tuple[int, str], dict[int, list[int]]]
"""By size and member, and by the place that the member has in them: the sets."""


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
    postings = _postings(ordered, sizes, threshold)
    for key in [key for key in postings if counts[key[1]] > common]:
        del postings[key]
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


def _postings(ordered: Sequence[Members], sizes: Sequence[int], threshold: float) -> Postings:
    found: Postings = defaultdict(dict)
    for number, members in enumerate(ordered):
        size = len(members)
        needs = [need for other in sizes if (need := needed(size, other, threshold)) <= min(size, other)]
        for place, member in enumerate(members[: size - min(needs) + 1] if needs else ()):
            found[size, member].setdefault(place, []).append(number)
    return found


def _candidates(
    members: Members, sizes: Iterable[int], postings: Postings, taken: Sequence[bool], threshold: float
) -> Iterator[int]:
    """The free sets that may be like this one, each perhaps more than once."""
    own = len(members)
    for size in sizes:
        need = needed(own, size, threshold)
        if need > min(own, size):
            continue
        for member in members[: own - need + 1]:
            listed = postings.get((size, member), {})
            for place in [place for place in listed if place <= size - need]:
                listed[place] = free = [number for number in listed[place] if not taken[number]]
                yield from free


def needed(one: int, other: int, threshold: float) -> int:
    """How many members two sets of these sizes must share to be more alike than the threshold."""
    # A hair less, so that a rounding error costs a comparison and never a pair.
    return max(1, floor(threshold * (one + other) / (1 + threshold) - 1e-9) + 1)


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
