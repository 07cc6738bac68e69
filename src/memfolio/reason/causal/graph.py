"""A graph of causes: what is above and below what, and what is separated once other things are known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import combinations

from memfolio.errors import InputError
from memfolio.reason.effort import Effort

Names = frozenset[str]
MOST_EDGES = 100


class Graph:
    """Variables with their direct causes, in the order of causes before effects."""

    def __init__(self, parents: Mapping[str, Collection[str]]):
        self.parents = {name: frozenset(each) for name, each in parents.items()}
        try:
            self.order = list(TopologicalSorter(self.parents).static_order())
        except CycleError as error:
            circle = " -> ".join(error.args[1])
            raise InputError(f"the causes run in a circle: {circle}", hint="let nothing cause itself") from error

    def above(self, names: Iterable[str]) -> Names:
        """These variables and everything that has an influence on them."""
        return _reached(names, self.parents)

    def below(self, names: Iterable[str]) -> Names:
        """These variables and everything that they have an influence on."""
        found = set(names)
        for name in self.order:
            if self.parents[name] & found:
                found.add(name)
        return frozenset(found)

    def without_effects(self, of: Collection[str]) -> Graph:
        return Graph({name: parents - set(of) for name, parents in self.parents.items()})

    def separated(self, one: Iterable[str], other: Iterable[str], known: Collection[str] = ()) -> bool:
        """d-separation: no way from one to the other in the moral graph of what is above them."""
        beside: dict[str, set[str]] = {name: set() for name in self.above({*one, *other, *known}) - set(known)}
        for name in self.above({*one, *other, *known}):
            for a, b in combinations(({name} | self.parents[name]) - set(known), 2):
                beside[a].add(b)
                beside[b].add(a)
        return not _reached(set(one) - set(known), beside) & (set(other) - set(known))

    def is_back_door(self, x: str, y: str, known: Names) -> bool:
        return not known & self.below({x}) and self.without_effects({x}).separated({x}, {y}, known)


def _reached(names: Iterable[str], ways: Mapping[str, Collection[str]]) -> Names:
    found, left = set[str](), list(names)
    while left:
        if (name := left.pop()) not in found:
            found.add(name)
            left.extend(ways[name])
    return frozenset(found)


def read_graph(edges: list[str]) -> tuple[Graph, Names]:
    """The graph of "cause -> effect" lines, and what is hidden in it: "a <-> b" is a cause of both that nobody sees."""
    if len(edges) > MOST_EDGES:
        raise InputError(f"edges has {len(edges):,} members", hint=f"give at most {MOST_EDGES}")
    parents: dict[str, set[str]] = {}
    for number, edge in enumerate(edges):
        one, arrow, other = (each.strip() for each in edge.partition("<->" if "<->" in edge else "->"))
        if not one or not other or "->" in one + other or (one == other and arrow == "<->"):
            raise InputError(f"edges[{number}] is {edge!r:.60}", hint="write cause -> effect, or one <-> other")
        for end in (one, other):
            parents.setdefault(end, set()).update([edge] if arrow == "<->" else [])
        parents.setdefault(edge if arrow == "<->" else one, set())
        parents[other].update([one] if arrow == "->" else [])
    return Graph(parents), frozenset(name for name in parents if "<->" in name)


def minimal_sets(names: Iterable[str], fits: Callable[[Names], bool], effort: Effort, cost: int = 1) -> list[Names]:
    """The sets that fit and of which no part does, the smallest first; `cost` is what looking at one takes."""
    pool, found = sorted(names), list[Names]()
    if fits(frozenset()):
        return [frozenset()]
    effort.spend(2 ** len(pool) * cost)
    for size in range(1, len(pool) + 1):
        for each in map(frozenset, combinations(pool, size)):
            if not any(known <= each for known in found) and fits(each):
                found.append(each)
    return found
