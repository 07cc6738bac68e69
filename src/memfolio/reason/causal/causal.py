"""Causal: whether an effect can be told from data, given a graph of causes; with data, how large it is.

edges: a list of "cause -> effect"; "a <-> b" is a cause of both that nobody sees
treatment: the variable that may have an effect
outcome: the variable that it may have an effect on
hidden: a list of variables that cannot be observed
given: a list of variables that are known: do treatment and outcome then still tell of each other?
data: a list of rows, objects of values by variable, and `count`, how many such there are; the outcome in numbers
levels: two values of the treatment to compare; without it, the larger with the smaller
adjust: a list of variables to adjust for, instead of the smallest set that suffices
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from statistics import NormalDist

from memfolio.errors import InputError
from memfolio.intake import nearest
from memfolio.reason.causal.graph import Graph, Names, minimal_sets, read_graph
from memfolio.reason.causal.model import Case, Value, as_value, said
from memfolio.reason.effort import Effort
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from memfolio.reason.world import World

LARGEST = 1e100
GRAPH = "All of it holds only as far as the graph does: an edge that is left out is a claim, too."


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Does x have an effect on y, and how can it be told?"""

    graph: Graph
    x: str
    y: str
    back: list[Names]
    front: list[Names]
    chosen: Names | None

    @property
    def is_sound(self) -> bool:
        """Whether what is found is the effect: a set that was asked for closes the back doors."""
        return self.chosen is None or self.graph.is_back_door(self.x, self.y, self.chosen)

    @property
    def way(self) -> tuple[str, Names] | None:
        """How the effect is told: adjusted for some variables, or through some."""
        if self.chosen is not None:
            return "adjusting for", self.chosen
        if self.back:
            return "adjusting for", self.back[0]
        return ("going through", self.front[0]) if self.front else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The mean of the outcome at two levels of the treatment."""

    way: str
    high: float
    low: float
    steps: tuple[str, ...]
    error: float = 0.0
    """The standard error of their difference; 0 where it is not known."""

    @property
    def effect(self) -> float:
        return self.high - self.low


def reason(given: Given, world: World) -> Result:
    """The roles of the variables, the sets that serve, and the effect beside the plain association."""
    given.only("edges", "treatment", "outcome", "hidden", "given", "data", "levels", "adjust")
    graph, unseen = read_graph(given.texts("edges", least=1))
    hidden = unseen | _names(given, "hidden", graph)
    asked = _question(given, graph, hidden, Effort(world.settings.work))
    x, y, way, known = asked.x, asked.y, asked.way, _names(given, "given", graph)
    roles, separated = _roles(asked, hidden), graph.separated({x}, {y}, known)
    estimates = _estimates(given, asked) if "data" in given else []
    error = estimates[-1].error if estimates and way and asked.is_sound else 0.0
    return Result(
        method="causal",
        conclusion=_conclusion(asked, estimates),
        confidence=(NormalDist().cdf(abs(estimates[-1].effect) / error) if error else None) if estimates else 1.0,
        steps=(
            *(f"{role.capitalize()}: {_listed(names)}." for role, names in roles.items()),
            f"Sets that close every back door: {_sets(asked.back)}; that make a front door: {_sets(asked.front)}.",
            f"Given {_listed(known)}, {x} and {y} are {'' if separated else 'not '}separated.",
            *(step for each in estimates for step in each.steps),
        ),
        would_change=tuple(_would_change(asked, estimates)),
        inputs=given.used,
        answer={
            "separated": separated,
            "back_door": [sorted(each) for each in asked.back],
            "front_door": [sorted(each) for each in asked.front],
            **{role: sorted(names) for role, names in roles.items()},
            "estimates": [{"way": e.way, "high": e.high, "low": e.low, "effect": e.effect} for e in estimates],
        },
        notes=(GRAPH, *_notes(asked, estimates)),
    )


def _names(given: Given, place: str, graph: Graph) -> Names:
    names = given.texts(place, [])
    if unknown := [each for each in names if each not in graph.parents]:
        raise InputError(f"{place} is {unknown[0]!r:.60}, which no edge has", hint=nearest(unknown[0], graph.order))
    return frozenset(names)


def _question(given: Given, graph: Graph, hidden: Names, effort: Effort) -> Question:
    given.text("treatment"), given.text("outcome")
    (x,), (y,) = _names(given, "treatment", graph), _names(given, "outcome", graph)
    if x == y or {x, y} & hidden:
        raise InputError(f"treatment is {x} and outcome is {y}", hint="name two different ones that are not hidden")
    free = graph.above({x, y}) - hidden - {x, y}
    back = minimal_sets(free - graph.below({x}), lambda each: graph.is_back_door(x, y, each), effort)
    between = graph.below({x}) & free
    front = minimal_sets(between, lambda each: bool(each) and graph.is_front_door(x, y, each), effort)
    chosen = _names(given, "adjust", graph) if "adjust" in given else None
    return Question(graph=graph, x=x, y=y, back=back, front=front, chosen=chosen)


def _roles(asked: Question, hidden: Names) -> dict[str, Names]:
    """What each other variable is to the two; a collider, once it is adjusted for, opens a way that was closed."""
    graph, x, y = asked.graph, asked.x, asked.y
    cut, base = graph.without_effects({x}), asked.back[0] if asked.back else frozenset()
    before = frozenset(graph.parents) - graph.below({x}) - {y}
    opening = {each for each in before - base if asked.back and not cut.separated({x}, {y}, base | {each})}
    telling = {each for each in before - hidden if cut.separated({each}, {y}) and not cut.separated({each}, {x})}
    return {
        "confounders": (graph.above({x}) & cut.above({y})) - {x, y},
        "mediators": (graph.below({x}) & graph.above({y})) - {x, y},
        "colliders": ((graph.below({x}) & graph.below({y})) - {x, y}) | opening,
        "instruments": frozenset(telling),
    }


class Data:
    """Observed rows with their counts."""

    def __init__(self, given: Given, needed: set[str]):
        self.rows: list[tuple[Case, float]] = [
            (
                {name: as_value(f"data[{at}].{name}", part.value(name)) for name in needed},
                part.number("count", 1, low=0),
            )
            for at, part in enumerate(given.parts("data", least=1))
        ]

    def weight(self, event: Case) -> float:
        return math.fsum(count for row, count in self.rows if event.items() <= row.items())

    def mean(self, name: str, event: Case, power: int = 1) -> float:
        rows = [(row, count) for row, count in self.rows if event.items() <= row.items()]
        return math.fsum(float(row[name]) ** power * count for row, count in rows) / self.weight(event)

    def strata(self, names: Collection[str]) -> list[Case]:
        """Every combination of values that these variables have somewhere."""
        seen = dict.fromkeys(tuple((name, row[name]) for name in sorted(names)) for row, count in self.rows if count)
        return [dict(each) for each in seen]


def _estimates(given: Given, asked: Question) -> list[Estimate]:
    """The plain association, and beside it the effect by the way that the graph allows."""
    x, y, way = asked.x, asked.y, asked.way
    data = Data(given, {x, y, *(way[1] if way else ())})
    if any(isinstance(row[y], str) or abs(float(row[y])) > LARGEST for row, _ in data.rows):
        raise InputError(f"data has texts or huge numbers for {y}", hint="give numbers, or true and false")
    values = sorted(
        (each[x] for each in data.strata({x})), key=lambda each: (isinstance(each, str), each), reverse=True
    )
    named = given.value("levels", values)
    levels = [as_value("levels", each) for each in named] if isinstance(named, list) else []
    if len(levels) != 2 or not set(levels) <= set(values):
        raise InputError(f"levels is {named!r:.60}", hint=f"name two of the {len(values)} values of {x} in data")
    plain = _adjusted(data, x, y, levels, frozenset())
    if not way:
        return [plain]
    return [plain, (_adjusted if way[0] == "adjusting for" else _through)(data, x, y, levels, way[1])]


def _adjusted(data: Data, x: str, y: str, levels: list[Value], by: Names) -> Estimate:
    """The means in each stratum of what is adjusted for, weighted by how common the stratum is."""
    cells = [(each, [{**each, x: level} for level in levels]) for each in data.strata(by)]
    shared = [(each, pair) for each, pair in cells if all(data.weight(cell) for cell in pair)]
    total = math.fsum(data.weight(each) for each, _ in shared)
    if not total:
        raise InputError(f"data has no stratum of {_listed(by)} with both levels", hint="give rows for both")
    high = low = variance = 0.0
    steps = [f"Left out: {len(cells) - len(shared)} strata with one level only."] if len(shared) < len(cells) else []
    for stratum, pair in shared:
        share, (one, other) = data.weight(stratum) / total, [data.mean(y, cell) for cell in pair]
        high, low = high + share * one, low + share * other
        spread = sum((data.mean(y, cell, 2) - data.mean(y, cell) ** 2) / data.weight(cell) for cell in pair)
        variance += share**2 * max(spread, 0.0)
        where = f"Where {said(stratum)} ({share:.1%} of all)" if stratum else "Without adjusting"
        steps.append(f"{where}: {y} is {one:.4g} with {said({x: levels[0]})}, {other:.4g} with {said({x: levels[1]})}.")
    whole = all(count == int(count) for _, count in data.rows)
    way = f"adjusting for {_listed(by)}: {high:.4g} and {low:.4g}" if by else "plain association"
    return Estimate(way=way, high=high, low=low, steps=tuple(steps), error=math.sqrt(variance) if whole else 0.0)


def _through(data: Data, x: str, y: str, levels: list[Value], by: Names) -> Estimate:
    """The front door: how the treatment moves the mediators, times how these move the outcome at any treatment."""
    strata, total, at_any = data.strata(by), data.weight({}), []
    for between in strata:
        cells = [(data.weight(each) / total, each | between) for each in data.strata({x})]
        if empty := [cell for _, cell in cells if not data.weight(cell)]:
            raise InputError(f"data has no row with {said(empty[0])}", hint="a front door needs every combination")
        at_any.append(math.fsum(share * data.mean(y, cell) for share, cell in cells))
    high, low = (
        math.fsum(
            data.weight({**each, x: at}) / data.weight({x: at}) * value
            for each, value in zip(strata, at_any, strict=True)
        )
        for at in levels
    )
    steps = [
        f"With {said(each)}, whatever {x} is: {y} is {value:.4g}." for each, value in zip(strata, at_any, strict=True)
    ]
    return Estimate(way=f"going through {_listed(by)}", high=high, low=low, steps=tuple(steps))


def _conclusion(asked: Question, estimates: list[Estimate]) -> str:
    if asked.y not in asked.graph.below({asked.x}):
        return f"{asked.x} has no effect on {asked.y} in this graph."
    if not asked.way:
        return f"The effect of {asked.x} on {asked.y} cannot be told: no observed set closes the back doors."
    can = "can be told" if asked.is_sound else "cannot be told as a whole"
    told = f"The effect of {asked.x} on {asked.y} {can} by {asked.way[0]} {_listed(asked.way[1])}"
    if not estimates:
        return f"{told}."
    found = f"{'it is' if asked.is_sound else 'what is found is'} {estimates[1].effect:+.4g}"
    return f"{told}: {found}; the plain association is {estimates[0].effect:+.4g}."


def _would_change(asked: Question, estimates: list[Estimate]) -> Iterator[str]:
    """Which single hidden cause of two variables, were there one, would spoil the set; and how strong it had to be."""
    graph, x, y = asked.graph, asked.x, asked.y
    if asked.back and asked.chosen is None:
        used, names = asked.back[0], sorted(set(graph.order) - graph.below({x}) | {x, y})
        for a in (x, y):
            others = [b for b in names if b not in (x, y) or (a, b) == (x, y)]
            spoilt = [b for b in others if not _confounded(graph, a, b).is_back_door(x, y, used)]
            if spoilt:
                joined = f"{a} and {' or '.join(spoilt)}"
                yield f"Adjusting for {_listed(used)} would not do if {joined} had a hidden cause in common."
    if len(estimates) > 1 and 0 < estimates[1].low <= 1 and 0 < estimates[1].high <= 1:
        ratio = max(estimates[1].high / estimates[1].low, estimates[1].low / estimates[1].high)
        bound = ratio + math.sqrt(ratio * (ratio - 1))
        yield f"A hidden cause could explain it away only if it went with both by a risk ratio of {bound:.3g} or more."


def _confounded(graph: Graph, a: str, b: str) -> Graph:
    joined = {end: graph.parents[end] | {"<->"} for end in (a, b)}
    return Graph({**graph.parents, "<->": frozenset(), **joined})


def _notes(asked: Question, estimates: list[Estimate]) -> Iterator[str]:
    late = (asked.chosen or frozenset()) & asked.graph.below({asked.x})
    if late:
        yield f"{_listed(late)} is an effect of {asked.x}: adjusting for it leaves out what goes through it."
    elif not asked.is_sound:
        yield f"{_listed(asked.chosen or ())} does not close every back door: what is found is not the effect."
    if len(estimates) > 1 and estimates[0].effect * estimates[1].effect < 0:
        yield "Simpson's paradox: the association turns round once it is adjusted."
    if len(estimates) > 1 and estimates[1].error and asked.is_sound:
        yield f"The standard error of the effect is {estimates[1].error:.3g}; the confidence is that of its sign."


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _sets(sets: list[Names]) -> str:
    return "; ".join(f"{{{', '.join(sorted(each))}}}" for each in sets[:12]) or "none"
