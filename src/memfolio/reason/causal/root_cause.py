"""Root cause: what lies at the root of a failure, by a fault tree, a graph of causes or a chain of whys.

gates: an object of gates, each with `gate` (and, or, at least), `of` (gates or events) and, for at least, `least`
top: the gate that stands for the failure; without it, the one that no other gate uses
chances: an object, each event that is no gate with its probability
edges: instead of gates, a list of "cause -> effect"
observed: with edges, a list of symptoms that are there
absent: with edges, a list of symptoms that are not there
whys: instead of gates, a list: the failure, why that was, why that was, and so on
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations, pairwise, product
from typing import Any

from memfolio.errors import InputError
from memfolio.intake import nearest
from memfolio.reason.causal.graph import Graph, Names, minimal_sets, read_graph
from memfolio.reason.effort import Effort
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from memfolio.reason.world import World

Sets = frozenset[Names]
MOST_EVENTS = 300
INDEPENDENT = "The events are taken as independent: a common cause of several makes the failure more probable."
UNWEIGHED = "Without probabilities a cause counts by what it leads to, not by how common it is."
ONE_EACH = "A chain has one cause a step: where several act together, give a fault tree or a graph."


def reason(given: Given, world: World) -> Result:
    """The roots, ranked: by probability in a tree, by what they explain in a graph."""
    given.only("gates", "top", "chances", "edges", "observed", "absent", "whys")
    for name, way in {"gates": _tree, "edges": _graph, "whys": _chain}.items():
        if name in given:
            told = way(given, Effort(world.settings.work))
            return Result(method="root-cause", inputs=given.used, **told)
    raise InputError("gates, edges and whys are missing", hint="give one of them")


def _tree(given: Given, effort: Effort) -> dict[str, Any]:
    gates = given.by_name("gates", least=1)
    below = {name: gate.texts("of", least=1) for name, gate in gates.items()}
    used = {each for of in below.values() for each in of}
    tree = Graph({**dict.fromkeys(used, ()), **below})
    top = given.choice("top", list(gates), next((each for each in gates if each not in used), None))
    cuts = _cut_sets(top, tree, gates, effort)
    chances = given.weights("chances", low=0, high=1) if "chances" in given else {}
    events = sorted(frozenset().union(*cuts))
    if chances and (missing := [each for each in events if each not in chances]):
        raise InputError(f"chances.{missing[0]} is missing", hint="give the probability of each event")
    if len(events) > MOST_EVENTS and chances:
        raise InputError(f"{top} hangs on {len(events):,} events", hint=f"give at most {MOST_EVENTS}, or no chances")
    failing = _failing(cuts, chances, effort) if chances else None
    weights = _importance(cuts, chances, effort) if chances else {}
    ranked = sorted(cuts, key=lambda cut: (-math.prod(chances.get(e, 1) for e in cut), len(cut), sorted(cut)))
    risk = f" P({top}) = {failing:.4g}." if failing is not None else ""
    ways = [f"{' with '.join(sorted(cut))}{_product(cut, chances)}" for cut in ranked]
    return {
        "conclusion": f"{top} comes about in {len(cuts)} ways, first of all by {ways[0]}.{risk}",
        "confidence": 1.0,
        "steps": (
            *(f"Minimal cut set: {way}." for way in ways),
            *(
                f"{n}: Birnbaum {w['birnbaum']:.4g}, Fussell-Vesely {w['fussell_vesely']:.4g}."
                for n, w in weights.items()
            ),
        ),
        "would_change": tuple(f"Without {n}, P({top}) would be {w['without']:.4g}." for n, w in weights.items())
        or tuple(f"Preventing {' or '.join(sorted(cut))} closes a way." for cut in ranked),
        "answer": {"cut_sets": [sorted(cut) for cut in ranked], "probability": failing, "importance": weights},
        "notes": (INDEPENDENT, *(f"{min(cut)} alone is enough." for cut in ranked if len(cut) == 1)),
    }


def _product(cut: Names, chances: dict[str, float]) -> str:
    return f" ({math.prod(chances[each] for each in cut):.4g})" if chances else ""


def _cut_sets(top: str, tree: Graph, gates: dict[str, Given], effort: Effort) -> Sets:
    """The smallest groups of events that bring about the top, from the events upward."""
    sets: dict[str, Sets] = {}
    for name in tree.order:
        if name not in gates:
            sets[name] = frozenset({frozenset({name})})
            continue
        of, kind = tree.parents[name], gates[name].choice("gate", ("and", "or", "at least"))
        least = {"and": len(of), "or": 1}.get(kind) or gates[name].whole("least", low=1, high=len(of))
        effort.spend(math.comb(len(of), least))
        found: set[Names] = set()
        for group in combinations(sorted(of), least):
            effort.spend(math.prod(len(sets[each]) for each in group))
            found.update(frozenset().union(*each) for each in product(*(sets[each] for each in group)))
        sets[name] = _minimal(found, effort)
    return sets[top]


def _minimal(sets: Iterable[Names], effort: Effort) -> Sets:
    kept: list[Names] = []
    for each in sorted(sets, key=len):
        effort.spend(len(kept))
        if not any(other <= each for other in kept):
            kept.append(each)
    return frozenset(kept)


def _failing(cuts: Sets, chances: dict[str, float], effort: Effort) -> float:
    """The exact probability that some cut set happens: by one event after the other, happening or not."""
    known: dict[Sets, float] = {frozenset(): 0.0}

    def chance(left: Sets) -> float:
        if frozenset() in left:
            return 1.0
        if left not in known:
            effort.spend(len(left))
            event = min(sorted(left, key=lambda cut: (len(cut), sorted(cut)))[0])
            happens = chance(frozenset(cut - {event} for cut in left))
            otherwise = chance(frozenset(cut for cut in left if event not in cut))
            known[left] = chances[event] * happens + (1 - chances[event]) * otherwise
        return known[left]

    return chance(cuts)


def _importance(cuts: Sets, chances: dict[str, float], effort: Effort) -> dict[str, dict[str, float]]:
    """Birnbaum: how much the failure hangs on an event. Fussell-Vesely: the share of failures that it takes part in."""
    whole, found = _failing(cuts, chances, effort), {}
    for event in sorted(frozenset().union(*cuts)):
        always, never = (_failing(cuts, {**chances, event: sure}, effort) for sure in (1.0, 0.0))
        part = _failing(frozenset(cut for cut in cuts if event in cut), chances, effort) / (whole or 1.0)
        found[event] = {"birnbaum": always - never, "fussell_vesely": part, "without": never}
    return dict(sorted(found.items(), key=lambda each: -each[1]["fussell_vesely"]))


def _graph(given: Given, effort: Effort) -> dict[str, Any]:
    graph, _ = read_graph(given.texts("edges", least=1))
    seen, absent = given.texts("observed", least=1), set(given.texts("absent", []))
    if unknown := sorted({*seen, *absent} - set(graph.parents)):
        raise InputError(f"no edge has the symptom {unknown[0]!r:.60}", hint=nearest(unknown[0], list(graph.parents)))
    leads = {each: graph.below({each}) for each in graph.above(seen) if not graph.parents[each]}

    def ranked(symptoms: Iterable[str]) -> list[str]:
        return sorted(leads, key=lambda root: (-len(leads[root] & set(symptoms)), len(leads[root] & absent), root))

    covers = minimal_sets(leads, lambda roots: set(seen) <= frozenset().union(*(leads[r] for r in roots)), effort)
    best, *_ = order = ranked(seen)
    firsts = {each: ranked(set(seen) - {each})[0] for each in seen}
    wrong = {root: f", but also to {', '.join(sorted(leads[root] & absent))}" for root in leads if leads[root] & absent}
    return {
        "conclusion": f"{best} explains most: {len(leads[best] & set(seen))} of {len(seen)} symptoms.",
        "confidence": 1.0 if len(covers) == 1 else None,
        "steps": tuple(f"{r} leads to {', '.join(sorted(leads[r] & set(seen)))}{wrong.get(r, '')}." for r in order),
        "would_change": tuple(
            f"Without the symptom {s}, {r} would come first." for s, r in firsts.items() if r != best
        ),
        "answer": {"ranked": order, "explanations": [sorted(each) for each in covers]},
        "notes": (UNWEIGHED, *(f"It explains everything: {', '.join(sorted(each))}." for each in covers)),
    }


def _chain(given: Given, effort: Effort) -> dict[str, Any]:
    whys = given.texts("whys", least=2)
    return {
        "conclusion": f"At the root: {whys[-1]}.",
        "steps": tuple(f"Why {effect}? Because {cause}." for effect, cause in pairwise(whys)),
        "would_change": tuple(f"If it was not because {b}, the chain ends at: {a}." for a, b in pairwise(whys)),
        "answer": {"root": whys[-1], "chain": whys},
        "notes": (ONE_EACH,),
    }
