"""Causal methods: graphs of causes, structural causal models and fault trees."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, groupby, product
from typing import Annotated, Any, Literal, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.expression import evaluate
from memfolio.reason.inputs import (
    Chances,
    Computed,
    Effort,
    Inputs,
    Named,
    Several,
    Share,
    Texts,
    World,
    method,
    number_in,
    one_of,
    only,
    read,
    sized,
    wrong,
)
from memfolio.types import EMPTY, frozen

# A graph of causes: what is above and below what, and what is separated once other things are known.

Names = frozenset[str]


class CausalGraph:
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
        # In causal order one pass finds all descendants.
        for name in self.order:
            if self.parents[name] & found:
                found.add(name)
        return frozenset(found)

    def without_effects(self, of: Collection[str]) -> CausalGraph:
        return CausalGraph({name: parents - set(of) for name, parents in self.parents.items()})

    def separated(self, one: Iterable[str], other: Iterable[str], known: Collection[str] = ()) -> bool:
        """d-separation: no way from one to the other in the moral graph of what is above them."""
        beside: dict[str, set[str]] = {name: set() for name in self.above({*one, *other, *known}) - set(known)}
        for name in self.above({*one, *other, *known}):
            for a, b in combinations(({name} | self.parents[name]) - set(known), 2):
                beside[a].add(b)
                beside[b].add(a)
        # Parents of a common child were married above: that opens the way through a collider.
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


def read_graph(edges: Sequence[str]) -> tuple[CausalGraph, Names]:
    """The graph of "cause -> effect" lines, and what is hidden in it: "a <-> b" is a cause of both that nobody sees."""
    parents: dict[str, set[str]] = {}
    for number, edge in enumerate(edges):
        one, arrow, other = (each.strip() for each in edge.partition("<->" if "<->" in edge else "->"))
        if not one or not other or "->" in one + other or (one == other and arrow == "<->"):
            raise wrong(f"edges[{number}]", edge, "write cause -> effect, or one <-> other")
        for end in (one, other):
            parents.setdefault(end, set()).update([edge] if arrow == "<->" else [])
        # A hidden common cause is a variable of its own, named by its edge.
        parents.setdefault(edge if arrow == "<->" else one, set())
        parents[other].update([one] if arrow == "->" else [])
    return CausalGraph(parents), frozenset(name for name in parents if "<->" in name)


def minimal_sets(names: Iterable[str], fits: Callable[[Names], bool], effort: Effort, cost: int = 1) -> list[Names]:
    """The sets that fit and of which no part does, the smallest first; `cost` is what looking at one takes."""
    pool, found = sorted(names), list[Names]()
    # Nothing is part of every set, so no other would be minimal.
    if fits(frozenset()):
        return [frozenset()]
    # Paid beforehand, so that a large graph is refused at once.
    effort.spend(2 ** len(pool) * cost)
    for size in range(1, len(pool) + 1):
        for each in map(frozenset, combinations(pool, size)):
            if not any(known <= each for known in found) and fits(each):
                found.append(each)
    return found


# A structural causal model: variables with a finite number of values, and what decides each of them.

Value = float | str
Row = dict[Value, float]
Key = tuple[Value, ...]
Case = dict[str, Value]
NAME = re.compile(r"[^\W\d]\w*")
WORDS = {"true": 1.0, "false": 0.0}


@frozen
class Variable:
    """One variable: its chances by the values of its parents; the table of an equation is filled as it is needed."""

    name: str
    place: str
    """Where it was given, for messages."""
    parents: tuple[str, ...] = ()
    table: dict[Key, Row] = field(default_factory=dict)
    equation: str = ""

    def row(self, key: Key) -> Row:
        """The chances of its values, given those of its parents."""
        # The rows of an equation are computed when they are met: most combinations never occur.
        if key not in self.table:
            if not self.equation:
                raise InputError(f"{self.place}.table says nothing of {_joined(key)!r}", hint="add this row")
            self.table[key] = {self._computed(dict(zip(self.parents, key, strict=True))): 1.0}
        return self.table[key]

    def _computed(self, known: Case) -> float:
        place = f"{self.place}.equation"
        found = float(evaluate(place, self.equation, known))
        if not math.isfinite(found):
            raise InputError(
                f"{place} has no value where {event_text(known):.80}", hint="see that nothing is divided by 0"
            )
        return found


class CausalModel:
    """Variables in the order of their causes."""

    def __init__(self, variables: Iterable[Variable], effort: Effort):
        named = {each.name: each for each in variables}
        self.graph = CausalGraph({name: each.parents for name, each in named.items()})
        self.variables = {name: named[name] for name in self.graph.order}
        self.effort = effort

    def spread(self, wanted: Collection[str], *, seen: Case | None = None, do: Case | None = None) -> dict[Key, float]:
        """The probability of each combination of values of some variables together with what is seen.

        What is done is set, whatever would decide it. One variable after the other is taken in, its causes before it,
        and those that nothing else depends on are summed out at once.
        """
        done, known = do or {}, seen or {}
        live, table = list[str](), dict[Key, float]({(): 1.0})
        for name, kept in self._steps({*wanted}, {*known}, {*done}):
            variable, found, around = self.variables[name], defaultdict[Key, float](float), [*live, name]
            # An intervention cuts a variable off from its causes.
            causes = [] if name in done else [live.index(each) for each in variable.parents]
            places = [around.index(each) for each in kept]
            for key, chance in table.items():
                row = {done[name]: 1.0} if name in done else variable.row(tuple(key[place] for place in causes))
                self.effort.spend(len(row))
                for value, share in row.items():
                    if share and known.get(name, value) == value:
                        whole = (*key, value)
                        found[tuple(whole[place] for place in places)] += chance * share
            live, table = kept, found
        return table

    def _steps(self, wanted: set[str], seen: set[str], done: set[str]) -> Iterator[tuple[str, list[str]]]:
        """The variables that matter, causes first, each with those that are still needed after it."""
        # What leads to nothing that is asked for or seen adds up to 1.
        causes = {name: frozenset[str]() if name in done else self.graph.parents[name] for name in self.variables}
        relevant = _reached({*wanted, *seen}, causes)
        order = [name for name in self.variables if name in relevant]
        uses, live = Counter(cause for name in order for cause in causes[name]), list[str]()
        for name in order:
            uses.subtract(causes[name])
            live = [each for each in (*live, name) if each in wanted or uses[each] > 0]
            yield name, live

    def cases(self, do: Case | None = None) -> Iterator[tuple[Case, float]]:
        """Every possible course of events with its probability."""
        order = [name for name, _ in self._steps({*self.variables}, set(), {*(do or ())})]
        for key, chance in self.spread(order, do=do).items():
            yield dict(zip(order, key, strict=True)), chance

    def chance(self, *events: Case, do: Case | None = None) -> float:
        """The probability that all of some events happen."""
        seen: Case = {}
        for name, value in (item for event in events for item in event.items()):
            # Two values of one variable at once: impossible.
            if seen.setdefault(name, value) != value:
                return 0.0
        return math.fsum(self.spread((), seen=seen, do=do).values())

    def event(self, values: Inputs, place: str, *, least: int = 0) -> Case:
        """An object of values by variable, each of them one that the variable can have."""
        case = {each: as_value(f"{place}.{each}", value) for each, value in values.items()}
        only(place, case, self.variables)
        if len(case) < least:
            raise InputError(f"{place} is empty", hint="give a value for a variable of the model")
        for each, value in case.items():
            known = {value for row in self.variables[each].table.values() for value in row}
            if not self.variables[each].equation and value not in known:
                raise InputError(f"{place}.{each} is {_joined([value])}", hint=f"give one of {_joined(known)}")
        return case


class VariableInputs(NamedTuple):
    """A variable as it is given: what decides it, or its chances, which may be limited to some states."""

    equation: str = ""
    parents: Texts = ()
    table: Any = None
    states: Texts = ()


Model = Annotated[Mapping[str, VariableInputs], sized(1, 200)]


def read_model(given: Mapping[str, VariableInputs], effort: Effort, place: str = "model") -> CausalModel:
    """The model of a method's inputs, checked: every parent is there, no circle, every row adds up to 1."""
    return CausalModel([_variable(name, f"{place}.{name}", part, set(given)) for name, part in given.items()], effort)


def _variable(name: str, place: str, given: VariableInputs, names: set[str]) -> Variable:
    # Names of other variables in an equation are its parents.
    if given.equation:
        parents = tuple(sorted(set(NAME.findall(given.equation)) & names))
        return Variable(name=name, place=place, parents=parents, equation=given.equation)
    if any(len({*each}) < len(each) for each in (given.parents, given.states)):
        raise InputError(f"{place} names a parent or a state twice", hint="name each once")
    for parent in given.parents:
        one_of(f"{place}.parents", parent, names)
    parents, table = tuple(given.parents), dict[Key, Row]()
    for key, row in read(Mapping[str, Any], given.table, f"{place}.table").items() if parents else [("", given.table)]:
        values = tuple(as_value(name, each.strip()) for each in key.split(",")) if parents else ()
        if len(values) != len(parents) or values in table:
            hint = f"join {len(parents)} values by commas, and give each row once"
            raise InputError(f"{place}.table.{key} is no row", hint=hint)
        table[values] = _row(row, f"{place}.table{f'.{key}' if parents else ''}", given.states)
    return Variable(name=name, place=place, parents=parents, table=table)


def _row(found: Any, place: str, states: Texts) -> Row:
    """The chances of each value: an object of them, or the chance of the first of two, which are true and false."""
    if not isinstance(found, Mapping) and len(states) in (0, 2):
        share = read(Share, found, place)
        found = dict(zip(states or ("true", "false"), (share, 1 - share), strict=True))
    given = read(Chances, found, place)
    only(place, given, states or given)
    row = {as_value(place, value): given.get(value, 0.0) for value in states or given}
    if len(row) < len(states or given):
        raise InputError(f"{place} names a value twice: {', '.join(given):.60}", hint="true is 1, and false is 0")
    return row


def as_value(place: str, found: Any) -> Value:
    """A value as models hold them: numbers as numbers, true and false as 1 and 0, anything else as text."""
    if isinstance(found, bool):
        return float(found)
    if not isinstance(found, str):
        return float(read(float, found, place))
    try:
        number = WORDS[found.lower()] if found.lower() in WORDS else float(found)
    except ValueError:
        return found
    return number if math.isfinite(number) else found


def event_text(event: Mapping[str, Value]) -> str:
    """An event in words."""
    return " and ".join(f"{name} = {_joined([value])}" for name, value in event.items())


def _joined(values: Iterable[Value]) -> str:
    return ", ".join(each if isinstance(each, str) else f"{each:g}" for each in values)


# Whether an effect can be told from data, given a graph of causes, and what has to be adjusted for.

OTHER_WAYS = "No observed set closes the back doors; a front door, an instrument or an experiment may still tell it."


class CausalInputs(NamedTuple):
    edges: Annotated[Texts, sized(1, 100)]
    treatment: str
    outcome: str
    hidden: Texts = ()
    given: Texts = ()


@method
def causal(given: CausalInputs, world: World) -> Computed:
    """The roles of the variables, and the smallest sets to adjust for that leave the effect alone."""
    graph, unseen = read_graph(given.edges)
    x, y, known = given.treatment, given.outcome, frozenset(given.given)
    for place, names in {"hidden": given.hidden, "given": known, "treatment": [x], "outcome": [y]}.items():
        for name in names:
            one_of(place, name, graph.order)
    hidden = unseen | {*given.hidden}
    if x == y or {x, y} & hidden:
        raise InputError(f"treatment is {x} and outcome is {y}", hint="name two different ones that are not hidden")
    # Only ancestors can be needed, and no descendant of the treatment may be adjusted for.
    free, cost = graph.above({x, y}) - hidden - graph.below({x}) - {y}, 10 * len(graph.parents)
    sets = minimal_sets(free, lambda each: graph.is_back_door(x, y, each), world.effort(), cost)
    roles, separated = _roles(graph, x, y, sets), graph.separated({x}, {y}, known)
    conclusion = f"The effect of {x} on {y} cannot be told by adjusting."
    if y not in graph.below({x}):
        conclusion = f"{x} has no effect on {y} in this graph."
    elif sets:
        conclusion = f"The effect of {x} on {y} can be told by adjusting for {_listed(sets[0])}."
    return Computed(
        conclusion,
        confidence=1.0,
        steps=[
            *(f"{role.capitalize()}: {_listed(names)}." for role, names in roles.items()),
            f"Sets that close every back door: {_sets(sets)}.",
            f"Given {_listed(known)}, {x} and {y} are {'' if separated else 'not '}separated.",
        ],
        would_change=[f"A hidden cause of both {x} and {y} would spoil every one of these sets."] if sets else [],
        answer={
            "separated": separated,
            "back_door": [sorted(each) for each in sets],
            **{role: sorted(names) for role, names in roles.items()},
        },
        notes=["" if sets else OTHER_WAYS],
    )


def _roles(graph: CausalGraph, x: str, y: str, sets: list[Names]) -> dict[str, Names]:
    """What each other variable is to the two; a collider, once it is adjusted for, opens a way that was closed."""
    cut, base = graph.without_effects({x}), sets[0] if sets else frozenset()
    before = frozenset(graph.parents) - graph.below({x}) - {y}
    # A pre-treatment collider (M-bias): harmless until somebody adjusts for it.
    opening = {each for each in before - base if sets and not cut.separated({x}, {y}, base | {each})}
    return {
        "confounders": (graph.above({x}) & cut.above({y})) - {x, y},
        "mediators": (graph.below({x}) & graph.above({y})) - {x, y},
        "colliders": ((graph.below({x}) & graph.below({y})) - {x, y}) | opening,
    }


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _sets(sets: list[Names]) -> str:
    return "; ".join(f"{{{', '.join(sorted(each))}}}" for each in sets[:12]) or "none"


# What doing something would bring about in a causal model, beside what merely goes with it.


class Intervention(NamedTuple):
    model: Model
    do: Inputs | Several[Inputs]
    outcome: Inputs


@method
def interventional(given: Intervention, world: World) -> Computed:
    """The probability of the outcome under each act, beside that without one and that of seeing it only."""
    model = read_model(given.model, world.effort())
    outcome = model.event(given.outcome, "outcome", least=1)
    done = [given.do] if isinstance(given.do, Mapping) else given.do
    acts = [model.event(each, f"do[{at}]" if done is given.do else "do", least=1) for at, each in enumerate(done)]
    plain, *chances = [model.chance(outcome, do=act) for act in ({}, *acts)]
    order = sorted(range(len(acts)), key=lambda at: -chances[at])
    act, rival = acts[order[0]], acts[order[1]] if order[1:] else {}
    top, effect = chances[order[0]], chances[order[0]] - (chances[order[1]] if rival else plain)
    against = f"doing {event_text(rival)}" if rival else "doing nothing"
    rows: list[dict[str, Any]] = [
        {"do": act, "chance": chance, "observed": _when_seen(model, outcome, act)}
        for act, chance in zip(acts, chances, strict=True)
    ]
    return Computed(
        f"Doing {event_text(act)} makes P({event_text(outcome)}) {top:.4g}, {effect:+.4g} against {against}.",
        confidence=1.0,
        steps=[f"Nothing done: P({event_text(outcome)}) = {plain:.4g}.", *map(_act_line, rows)],
        would_change=[f"The order would turn once {against} gained more than {effect:.4g}."],
        answer={"best": event_text(act), "options": [event_text(each) for each in acts], "act": act}
        | {"without": plain, "effect": effect, "acts": rows},
        notes=[f"{event_text(act)} and {against} come to the same." if abs(effect) < 1e-12 else ""],
    )


def _when_seen(model: CausalModel, outcome: Case, act: Case) -> float | None:
    """The probability of the outcome where the act is only seen; None where it is never seen."""
    ground = model.chance(act)
    return model.chance(outcome, act) / ground if ground else None


def _act_line(row: dict[str, Any]) -> str:
    seen = "never seen" if row["observed"] is None else f"{row['observed']:.4g} when only seen"
    return f"{event_text(row['do'])}: {row['chance']:.4g} when done, {seen}."


# What would have been, had something been otherwise, against the same background.

OPEN = "give an equation with a variable for chance: a table leaves open what would have been"


class Supposition(NamedTuple):
    model: Model
    had: Inputs
    outcome: Inputs
    evidence: Inputs = EMPTY


@method
def counterfactual(given: Supposition, world: World) -> Computed:
    """The probability of the outcome in the other course of events: abduction, action and prediction."""
    model = read_model(given.model, world.effort())
    if loose := [name for name, each in model.variables.items() if each.parents and not each.equation]:
        raise InputError(f"model.{loose[0]} has a table with parents", hint=OPEN)
    evidence = model.event(given.evidence, "evidence")
    had, outcome = model.event(given.had, "had", least=1), model.event(given.outcome, "outcome", least=1)
    # Every table without parents is background, so each case has one outcome in the other course of events.
    possible = [(case, share) for case, share in model.cases() if evidence.items() <= case.items()]
    total = math.fsum(share for _, share in possible)
    if not possible:
        raise InputError(f"evidence never happens: {event_text(evidence)}", hint="give what can be in the model")
    would = min(1.0, math.fsum(share for case, share in possible if _holds(model, case, had, outcome)) / total)
    happened = any(outcome.items() <= case.items() for case, _ in possible)
    but_for = "is" if would == 1 else "is not" if would == 0 else "may be"
    return Computed(
        f"Had {event_text(had)} been, {event_text(outcome)} would {'' if would >= 0.5 else 'not '}have been"
        f" (probability {would:.4g} that it would).",
        confidence=max(would, 1 - would),
        steps=[
            f"Abduction: what happened ({event_text(evidence) or 'nothing known'}) leaves {len(possible)} backgrounds.",
            f"Action: what decides {', '.join(had)} is cut, and {event_text(had)} is set.",
            f"Prediction: {event_text(outcome)} in backgrounds that weigh {would:.4g} together.",
        ],
        would_change=[
            f"The answer would turn once these backgrounds weighed {'less' if would >= 0.5 else 'more'} than half."
        ],
        answer={"probability": would},
        notes=["" if happened else f"What {', '.join(had)} was {but_for} a but-for cause."],
    )


def _holds(model: CausalModel, case: Case, had: Case, outcome: Case) -> bool:
    """Whether the outcome comes about on the background of a course of events, with something set otherwise."""
    # Chance stays as it was; everything else is computed anew.
    background = {name: case[name] for name, each in model.variables.items() if not each.equation}
    return outcome.items() <= next(model.cases(background | had))[0].items()


# Which events, alone or together, are at the root of a failure, by a fault tree.

Sets = frozenset[Names]
MOST_EVENTS, SHOWN_WAYS = 300, 20


class FaultGate(NamedTuple):
    gate: Literal["and", "or", "at least"]
    of: Several[str]
    least: int | None = None


class FaultTree(NamedTuple):
    gates: Named[FaultGate]
    top: str | None = None
    chances: Mapping[str, Share] | None = None


@method
def root_cause(given: FaultTree, world: World) -> Computed:
    """The smallest groups of events that suffice, the most probable first, and how much hangs on each event."""
    effort, gates = world.effort(), given.gates
    used = {each for gate in gates.values() for each in gate.of}
    tree = CausalGraph({**dict.fromkeys(used, ()), **{name: gate.of for name, gate in gates.items()}})
    tops = [each for each in gates if each not in used]
    top = one_of("top", read(str, given.top or (tops[0] if len(tops) == 1 else None), "top"), gates)
    cuts = _cut_sets(top, tree, gates, effort)
    chances = _event_chances(given.chances, used - set(gates), frozenset().union(*cuts))
    ranked = sorted(cuts, key=lambda cut: (-math.prod(chances.get(e, 1) for e in cut), len(cut), sorted(cut)))
    options = [" with ".join(sorted(cut)) for cut in ranked]
    ways = [f"{name}{_product(cut, chances)}" for name, cut in zip(options, ranked, strict=True)]
    risk = failure_chance(cuts, chances, effort) if chances else None
    total = f" P({top}) = {risk:.4g}." if risk is not None else ""
    return Computed(
        f"{top} comes about in {len(cuts)} ways, first of all by {ways[0]}.{total}",
        confidence=1.0,
        steps=[f"Minimal cut set: {way}." for way in ways[:SHOWN_WAYS]],
        would_change=_preventions(top, cuts, chances, effort)
        if chances
        else [f"Preventing {' or '.join(sorted(cut))} closes a way." for cut in ranked[:SHOWN_WAYS]],
        answer={
            "best": options[0],
            "options": options,
            "cut_sets": [sorted(cut) for cut in ranked],
            "probability": risk,
        },
        notes=[f"{min(cut)} alone is enough." for cut in ranked[:SHOWN_WAYS] if len(cut) == 1],
    )


def _preventions(top: str, cuts: Sets, chances: Mapping[str, float], effort: Effort) -> Iterator[str]:
    """The failure's probability without each event."""
    for event in sorted(chances)[:SHOWN_WAYS]:
        left = frozenset(cut for cut in cuts if event not in cut)
        yield f"Without {event}, P({top}) would be {failure_chance(left, chances, effort):.4g}."


def _event_chances(given: Mapping[str, float] | None, known: set[str], events: Names) -> dict[str, float]:
    if given is None:
        return {}
    only("chances", given, known)
    if len(events) > MOST_EVENTS:
        raise InputError(f"chances is for {len(events):,} events", hint=f"give at most {MOST_EVENTS}, or no chances")
    return {each: read(Share, given.get(each), f"chances.{each}") for each in events}


def _product(cut: Names, chances: Mapping[str, float]) -> str:
    return f" ({math.prod(chances[each] for each in cut):.4g})" if chances else ""


def _cut_sets(top: str, tree: CausalGraph, gates: Mapping[str, FaultGate], effort: Effort) -> Sets:
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
    # Sets of one size cannot contain each other.
    for _, alike in groupby(sorted(sets, key=len), key=len):
        smaller = list(kept)
        for each in alike:
            effort.spend(1 + len(smaller))
            if not any(other <= each for other in smaller):
                kept.append(each)
    return frozenset(kept)


def failure_chance(cuts: Sets, chances: Mapping[str, float], effort: Effort) -> float:
    """The exact probability that some cut set happens: by one event after the other, happening or not."""
    known: dict[Sets, float] = {frozenset(): 0.0}

    def chance(left: Sets) -> float:
        if frozenset() in left:
            return 1.0
        if left not in known:
            effort.spend(len(left))
            # Shannon expansion on the first event; equal remainders are computed once.
            event = min(map(min, left))
            happens = chance(frozenset(cut - {event} for cut in left))
            otherwise = chance(frozenset(cut for cut in left if event not in cut))
            known[left] = chances[event] * happens + (1 - chances[event]) * otherwise
        return known[left]

    return chance(cuts)
