"""Causal: whether an effect can be told from data, given a graph of causes; with data, how large it is.

edges: a list of "cause -> effect"; "a <-> b" is a cause of both that nobody sees
treatment: the variable that may have an effect
outcome: the variable that it may have an effect on
hidden: a list of variables that cannot be observed
given: a list of variables that are known: do treatment and outcome then still tell of each other?
data: a list of rows, objects of values by variable, and `count`, how many such there are; the outcome in numbers
levels: two values of the treatment to compare; without it, the larger with the smaller"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import Finding, Several, Texts, World, method, one_of
from memfolio.reason.methods.causal_model import CausalGraph, Names, estimate, minimal_sets, read_graph

NO_ERROR = "The numbers are those of the rows that were given: how far chance moves them is not reckoned."
OTHER_WAYS = "No observed set closes the back doors; a front door, an instrument or an experiment may still tell it."
SIMPSON = "Simpson's paradox: the association turns round once it is adjusted."
GRAPH = "All of it holds only as far as the graph does: an edge that is left out is a claim, too."


class Graph(NamedTuple):
    edges: Several[str]
    treatment: str
    outcome: str
    hidden: Texts = ()
    given: Texts = ()
    data: Any = None
    levels: Sequence[Any] | None = None


@method
def reason(given: Graph, world: World) -> Finding:
    """The roles of the variables, the sets that serve, and the effect beside the plain association."""
    graph, unseen = read_graph(given.edges)
    x, y, known = given.treatment, given.outcome, frozenset(given.given)
    for place, names in {"hidden": given.hidden, "given": known, "treatment": [x], "outcome": [y]}.items():
        for name in names:
            one_of(place, name, graph.order)
    hidden = unseen | {*given.hidden}
    if x == y or {x, y} & hidden:
        raise InputError(f"treatment is {x} and outcome is {y}", hint="name two different ones that are not hidden")
    free, cost = graph.above({x, y}) - hidden - graph.below({x}) - {y}, 10 * len(graph.parents)
    sets = minimal_sets(free, lambda each: graph.is_back_door(x, y, each), world.effort(), cost)
    roles, separated = _roles(graph, x, y, sets, hidden), graph.separated({x}, {y}, known)
    by = [frozenset[str](), *sets[:1]] if given.data is not None else []
    found = [estimate(given.data, given.levels, x, y, each) for each in by]
    estimates, effects = [each for each, _ in found], [each["effect"] for each, _ in found]
    return Finding(
        _conclusion(graph, x, y, sets, effects),
        confidence=None if estimates else 1.0,
        steps=[
            *(f"{role.capitalize()}: {_listed(names)}." for role, names in roles.items()),
            f"Sets that close every back door: {_sets(sets)}.",
            f"Given {_listed(known)}, {x} and {y} are {'' if separated else 'not '}separated.",
            *(step for _, steps in found for step in steps),
        ],
        would_change=_would_change(graph, x, y, sets[0]) if sets else (),
        answer={
            "separated": separated,
            "back_door": [sorted(each) for each in sets],
            **{role: sorted(names) for role, names in roles.items()},
            "estimates": estimates,
        },
        notes=[
            GRAPH,
            "" if sets else OTHER_WAYS,
            NO_ERROR if estimates else "",
            SIMPSON if min(effects, default=0) < 0 < max(effects, default=0) else "",
        ],
    )


def _roles(graph: CausalGraph, x: str, y: str, sets: list[Names], hidden: Names) -> dict[str, Names]:
    """What each other variable is to the two; a collider, once it is adjusted for, opens a way that was closed."""
    cut, base = graph.without_effects({x}), sets[0] if sets else frozenset()
    before = frozenset(graph.parents) - graph.below({x}) - {y}
    opening = {each for each in before - base if sets and not cut.separated({x}, {y}, base | {each})}
    telling = {each for each in before - hidden if cut.separated({each}, {y}) and not cut.separated({each}, {x})}
    return {
        "confounders": (graph.above({x}) & cut.above({y})) - {x, y},
        "mediators": (graph.below({x}) & graph.above({y})) - {x, y},
        "colliders": ((graph.below({x}) & graph.below({y})) - {x, y}) | opening,
        "instruments": frozenset(telling),
    }


def _conclusion(graph: CausalGraph, x: str, y: str, sets: list[Names], effects: list[float]) -> str:
    if y not in graph.below({x}):
        return f"{x} has no effect on {y} in this graph."
    if not sets:
        return f"The effect of {x} on {y} cannot be told by adjusting."
    told = f"The effect of {x} on {y} can be told by adjusting for {_listed(sets[0])}"
    if not effects:
        return f"{told}."
    return f"{told}: it is {effects[1]:+.4g}; the plain association is {effects[0]:+.4g}."


def _would_change(graph: CausalGraph, x: str, y: str, used: Names) -> Iterator[str]:
    """Which single hidden cause of two variables, were there one, would spoil the set that is used."""
    names = sorted(set(graph.order) - graph.below({x}) | {x, y})
    for a in (x, y):
        others = [b for b in names if b not in (x, y) or (a, b) == (x, y)]
        if spoilt := [b for b in others if not _confounded(graph, a, b).is_back_door(x, y, used)]:
            joined = f"{a} and {' or '.join(spoilt)}"
            yield f"Adjusting for {_listed(used)} would not do if {joined} had a hidden cause in common."


def _confounded(graph: CausalGraph, a: str, b: str) -> CausalGraph:
    joined = {end: graph.parents[end] | {"<->"} for end in (a, b)}
    return CausalGraph({**graph.parents, "<->": frozenset(), **joined})


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _sets(sets: list[Names]) -> str:
    return "; ".join(f"{{{', '.join(sorted(each))}}}" for each in sets[:12]) or "none"
