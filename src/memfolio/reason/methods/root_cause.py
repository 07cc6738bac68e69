"""Root cause: which events, alone or together, are at the root of a failure, by a fault tree.

gates: an object of gates, each with `gate` (and, or, at least), `of` (gates or events) and, for at least, `least`
top: the gate that stands for the failure; without it, the one that no other gate uses
chances: an object, each event that is no gate with its probability"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations, groupby, product
from typing import Literal, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import (
    Effort,
    Finding,
    Named,
    Several,
    Share,
    World,
    method,
    number_in,
    one_of,
    only,
    read,
)
from memfolio.reason.methods.causal_model import CausalGraph, Names

Sets = frozenset[Names]
MOST_EVENTS, SHOWN = 300, 20
INDEPENDENT = "The events are taken as independent: a common cause of several makes the failure more probable."


class Gate(NamedTuple):
    gate: Literal["and", "or", "at least"]
    of: Several[str]
    least: int | None = None


class FaultTree(NamedTuple):
    gates: Named[Gate]
    top: str | None = None
    chances: Mapping[str, Share] | None = None


@method
def reason(given: FaultTree, world: World) -> Finding:
    """The smallest groups of events that suffice, the most probable first, and how much hangs on each event."""
    effort, gates = world.effort(), given.gates
    used = {each for gate in gates.values() for each in gate.of}
    tree = CausalGraph({**dict.fromkeys(used, ()), **{name: gate.of for name, gate in gates.items()}})
    tops = [each for each in gates if each not in used]
    top = one_of("top", read(str, given.top or (tops[0] if len(tops) == 1 else None), "top"), gates)
    cuts = _cut_sets(top, tree, gates, effort)
    chances = _chances(given.chances, used - set(gates), frozenset().union(*cuts))
    ranked = sorted(cuts, key=lambda cut: (-math.prod(chances.get(e, 1) for e in cut), len(cut), sorted(cut)))
    options = [" with ".join(sorted(cut)) for cut in ranked]
    ways = [f"{name}{_product(cut, chances)}" for name, cut in zip(options, ranked, strict=True)]
    failing = CutSetProbability(chances, effort)
    risk = failing.chance(cuts) if chances else None
    weights = failing.importance(cuts)
    leading = sorted(weights, key=lambda each: -weights[each])
    total = f" P({top}) = {risk:.4g}." if risk is not None else ""
    return Finding(
        f"{top} comes about in {len(cuts)} ways, first of all by {ways[0]}.{total}",
        confidence=1.0,
        steps=[
            *(f"Minimal cut set: {way}." for way in ways[:SHOWN]),
            *(f"{name}: Birnbaum importance {weights[name]:.4g}." for name in leading[:SHOWN]),
        ],
        would_change=[
            f"Without {each}, P({top}) would be {(risk or 0) - chances[each] * weights[each]:.4g}."
            for each in sorted(leading, key=lambda each: -chances[each] * weights[each])[:SHOWN]
        ]
        or [f"Preventing {' or '.join(sorted(cut))} closes a way." for cut in ranked[:SHOWN]],
        answer={
            "best": options[0],
            "options": options,
            "cut_sets": [sorted(cut) for cut in ranked],
            "probability": risk,
            "importance": {each: weights[each] for each in leading},
        },
        notes=[INDEPENDENT, *(f"{min(cut)} alone is enough." for cut in ranked[:SHOWN] if len(cut) == 1)],
    )


def _chances(given: Mapping[str, float] | None, known: set[str], events: Names) -> dict[str, float]:
    if given is None:
        return {}
    only("chances", given, known)
    if len(events) > MOST_EVENTS:
        raise InputError(f"chances is for {len(events):,} events", hint=f"give at most {MOST_EVENTS}, or no chances")
    return {each: read(Share, given.get(each), f"chances.{each}") for each in events}


def _product(cut: Names, chances: Mapping[str, float]) -> str:
    return f" ({math.prod(chances[each] for each in cut):.4g})" if chances else ""


def _cut_sets(top: str, tree: CausalGraph, gates: Mapping[str, Gate], effort: Effort) -> Sets:
    """The smallest groups of events that bring about the top, from the events upward."""
    sets: dict[str, Sets] = {}
    for name in tree.order:
        if name not in gates:
            sets[name] = frozenset({frozenset({name})})
            continue
        of, gate = tree.parents[name], gates[name]
        least = {"and": len(of), "or": 1}.get(gate.gate)
        if least is None:
            least = int(number_in(f"gates.{name}.least", gate.least, 1, len(of)))
        effort.spend(math.comb(len(of), least))
        found: set[Names] = set()
        for group in combinations(sorted(of), least):
            effort.spend(4 * math.prod(len(sets[each]) for each in group))
            found.update(frozenset().union(*each) for each in product(*(sets[each] for each in group)))
        sets[name] = _minimal(found, effort)
    return sets[top]


def _minimal(sets: Iterable[Names], effort: Effort) -> Sets:
    kept: list[Names] = []
    for _, alike in groupby(sorted(sets, key=len), key=len):
        smaller = list(kept)
        for each in alike:
            effort.spend(1 + len(smaller))
            if not any(other <= each for other in smaller):
                kept.append(each)
    return frozenset(kept)


class CutSetProbability:
    """The exact probability that some cut set happens: by one event after the other, happening or not."""

    def __init__(self, chances: Mapping[str, float], effort: Effort):
        self.chances, self.effort = chances, effort
        self.known: dict[Sets, float] = {frozenset(): 0.0, frozenset({frozenset()}): 1.0}
        self.splits: dict[Sets, tuple[str, Sets, Sets]] = {}

    def chance(self, cuts: Sets) -> float:
        if cuts not in self.known:
            self.effort.spend(len(cuts))
            event = min(map(min, cuts))
            happens = frozenset(cut - {event} for cut in cuts)
            happens = frozenset({frozenset()}) if frozenset() in happens else happens
            otherwise = frozenset(cut for cut in cuts if event not in cut)
            share = self.chances[event]
            self.known[cuts] = share * self.chance(happens) + (1 - share) * self.chance(otherwise)
            self.splits[cuts] = event, happens, otherwise
        return self.known[cuts]

    def importance(self, cuts: Sets) -> dict[str, float]:
        """Birnbaum's: how much more probable the failure is when an event happens than when it does not."""
        reached, found = {cuts: 1.0}, dict.fromkeys(sorted(self.chances), 0.0)
        # What a split leads to was split before it, so that backwards each is reached before what it leads to.
        for each, (event, happens, otherwise) in reversed(self.splits.items()):
            found[event] += reached[each] * (self.known[happens] - self.known[otherwise])
            reached[happens] = reached.get(happens, 0.0) + reached[each] * self.chances[event]
            reached[otherwise] = reached.get(otherwise, 0.0) + reached[each] * (1 - self.chances[event])
        return found
