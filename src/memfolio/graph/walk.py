"""Walking the graph: who is near an entity, and how two of them are connected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memfolio.index.graph import Tie

MOST_HOPS = 6
Ties = Callable[[Iterable[str]], Sequence[Tie]]
"""The relations that lead from or to entities."""


class Step(NamedTuple):
    """One relation on the way from `here` to `there`; where `is_forward` is False it points the other way."""

    here: str
    predicate: str
    there: str
    is_forward: bool

    def __str__(self) -> str:
        arrow = f"─ {self.predicate} →" if self.is_forward else f"← {self.predicate} ─"
        return f"{self.here} {arrow} {self.there}"

    @property
    def back(self) -> Step:
        return Step(self.there, self.predicate, self.here, not self.is_forward)


class Neighbour(NamedTuple):
    """An entity that can be reached, the last step of the way to it, and how many steps that is."""

    id: str
    hops: int
    step: Step


def neighbours(ties: Ties, start: str, hops: int) -> list[Neighbour]:
    """Who can be reached in so many steps, the nearest first; of several relations to the nearest, all are told."""
    found: list[Neighbour] = []
    seen, edge = {start}, {start}
    for hop in range(1, hops + 1):
        steps = [step for step in _steps(ties, edge) if step.there not in seen]
        edge = {step.there for step in steps}
        seen |= edge
        found += [Neighbour(step.there, hop, step) for step in sorted(steps, key=lambda each: (each.there, each))]
    return found


def path(ties: Ties, start: str, end: str) -> list[Step] | None:
    """The shortest way between two entities, over relations in either direction; None where there is none.

    It is looked for from both ends, so that only what lies near them is read.
    """
    if start == end:
        return []
    sides: list[dict[str, Step | None]] = [{start: None}, {end: None}]
    edges = [{start}, {end}]
    for _ in range(MOST_HOPS):
        near = 0 if len(edges[0]) <= len(edges[1]) else 1
        reached, there = sides[near], sides[1 - near]
        edge: set[str] = set()
        for step in _steps(ties, edges[near]):
            if step.there not in reached:
                reached[step.there] = step
                edge.add(step.there)
        if met := sorted(edge & there.keys()):
            middle = min(met, key=lambda each: (len(_way(there, each)), each))
            return [*_way(sides[0], middle), *(step.back for step in reversed(_way(sides[1], middle)))]
        if not edge:
            return None
        edges[near] = edge
    return None


def _steps(ties: Ties, ids: set[str]) -> list[Step]:
    """The relations of these entities, each as seen from them, in an order of their own."""
    steps = []
    for source, predicate, target in ties(sorted(ids)):
        if source in ids:
            steps.append(Step(source, predicate, target, True))
        if target in ids:
            steps.append(Step(target, predicate, source, False))
    return steps


def _way(side: dict[str, Step | None], at: str) -> list[Step]:
    """The steps from the beginning of one side to an entity that it has reached."""
    steps = []
    while step := side[at]:
        steps.append(step)
        at = step.here
    return steps[::-1]
