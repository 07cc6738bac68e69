"""Graphs of causes, structural causal models, and observed rows."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import Any, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.expression import evaluate
from memfolio.reason.inputs import (
    LARGEST,
    Amount,
    Chances,
    Effort,
    Inputs,
    Named,
    Several,
    Share,
    Texts,
    number_in,
    one_of,
    only,
    read,
)

# A graph of causes: what is above and below what, and what is separated once other things are known.

Names = frozenset[str]
MOST_EDGES = 100


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
    return CausalGraph(parents), frozenset(name for name in parents if "<->" in name)


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


# A structural causal model: variables with a finite number of values, and what decides each of them.

Value = float | str
Row = dict[Value, float]
Key = tuple[Value, ...]
Case = dict[str, Value]
NAME = re.compile(r"[^\W\d]\w*")
WORDS = {"true": 1.0, "false": 0.0}
MOST_VARIABLES = 200
UNTURNED = "No single probability that was tried would turn it: it takes another model."


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One variable: its chances by the values of its parents; the table of an equation is filled as it is needed."""

    name: str
    parents: tuple[str, ...] = ()
    table: dict[Key, Row] = field(default_factory=dict)
    equation: str = ""

    def row(self, key: Key) -> Row:
        """The chances of its values, given those of its parents."""
        if key not in self.table:
            if not self.equation:
                raise InputError(f"model.{self.name}.table says nothing of {_joined(key)!r}", hint="add this row")
            self.table[key] = {self._computed(dict(zip(self.parents, key, strict=True))): 1.0}
        return self.table[key]

    def _computed(self, known: Case) -> float:
        place = f"model.{self.name}.equation"
        found = float(evaluate(place, self.equation, known))
        if not math.isfinite(found):
            raise InputError(f"{place} has no value where {said(known):.80}", hint="see that nothing is divided by 0")
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
        """The variables that matter, each with those that are still needed after it; what frees most comes first."""
        # What leads to nothing that is asked for or seen adds up to 1.
        causes = {name: frozenset[str]() if name in done else self.graph.parents[name] for name in self.variables}
        waiting = dict.fromkeys(name for name in self.variables if name in _reached({*wanted, *seen}, causes))
        uses, live = Counter(cause for name in waiting for cause in causes[name]), list[str]()
        while waiting:
            ready = [name for name in waiting if not causes[name] & waiting.keys()]
            name = min(ready, key=lambda each: (uses[each] > 0) - sum(uses[cause] == 1 for cause in causes[each]))
            del waiting[name]
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

    def flips(self, margin: Callable[[CausalModel], float]) -> list[str]:
        """At which probability a margin changes its sign, as far as the effort goes; it is linear in each row."""
        found, before = list[str](), self.effort.left
        margin(self)
        cost, free = 4 * (before - self.effort.left), [each for each in self.variables.values() if not each.equation]
        for variable, key, row in ((each, *item) for each in free for item in each.table.items()):
            for value, share in list(row.items())[: 1 if len(row) < 3 else None]:
                if self.effort.left < cost:
                    return found
                low, high = (self._shifted(variable, key, value, to, margin) for to in (0.0, 1.0))
                if min(low, high) < 0 < max(low, high):
                    edge, given = low / (low - high), f" given {_joined(key)}" if key else ""
                    way = "fell below" if edge < share else "rose above"
                    found.append(f"if P({said({variable.name: value})}{given}) {way} {edge:.4g} (it is {share:.4g})")
        return found

    def with_row(self, variable: Variable, key: Key, row: Row) -> CausalModel:
        """The same model with one row of a table changed."""
        changed = replace(variable, table={**variable.table, key: row})
        return CausalModel([*self.variables.values(), changed], self.effort)

    def _shifted(
        self, variable: Variable, key: Key, value: Value, to: float, margin: Callable[[CausalModel], float]
    ) -> float:
        """The margin with one chance changed and the others of its row scaled to make room; 0 if it has none there."""
        row, rest = variable.table[key], 1 - variable.table[key][value]
        others = {each: (1 - to) * (row[each] / rest if rest else 1 / (len(row) - 1)) for each in row if each != value}
        try:
            return margin(self.with_row(variable, key, {**others, value: to}))
        except InputError:
            return 0.0


class VariableInputs(NamedTuple):
    """A variable as it is given."""

    equation: str = ""
    parents: Texts = ()
    table: Any = None


Model = Named[VariableInputs]


def read_model(given: Mapping[str, VariableInputs], effort: Effort) -> CausalModel:
    """The model of a method's inputs, checked: every parent is there, no circle, every row adds up to 1."""
    if len(given) > MOST_VARIABLES:
        raise InputError(f"model has {len(given):,} variables", hint=f"give at most {MOST_VARIABLES}")
    return CausalModel([_variable(name, part, set(given)) for name, part in given.items()], effort)


def _variable(name: str, given: VariableInputs, names: set[str]) -> Variable:
    if given.equation:
        parents = tuple(sorted(set(NAME.findall(given.equation)) & names))
        return Variable(name=name, parents=parents, equation=given.equation)
    place, parents = f"model.{name}.table", tuple(given.parents)
    for parent in parents:
        one_of(f"model.{name}.parents", parent, names)
    if not parents:
        return Variable(name=name, table={(): _row(given.table, place)})
    table = dict[Key, Row]()
    for key, row in read(Mapping[str, Any], given.table, place).items():
        values = tuple(as_value(name, each.strip()) for each in key.split(","))
        if len(values) != len(parents) or values in table:
            hint = f"join {len(parents)} values by commas, and give each row once"
            raise InputError(f"{place}.{key} is no row", hint=hint)
        table[values] = _row(row, f"{place}.{key}")
    return Variable(name=name, parents=parents, table=table)


def _row(found: Any, place: str) -> Row:
    """The chances of each value: an object of them, or the chance of being true."""
    if not isinstance(found, Mapping):
        share = read(Share, found, place)
        return {1.0: share, 0.0: 1 - share}
    given = read(Chances, found, place)
    row = {as_value(place, value): share for value, share in given.items()}
    if len(row) < len(given):
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


def said(event: Mapping[str, Value]) -> str:
    """An event in words."""
    return " and ".join(f"{name} = {_joined([value])}" for name, value in event.items())


def _joined(values: Iterable[Value]) -> str:
    return ", ".join(each if isinstance(each, str) else f"{each:g}" for each in values)


# Observed rows, counted: the mean of an outcome at two levels of a treatment, plain and adjusted.

SHOWN = 50
Rows = Several[Mapping[str, Any]]
Cells = dict[Value, tuple[float, float]]
"""For each level of the treatment the number of rows, and the sum of their outcomes."""


def estimate(data: Any, named: Sequence[Any] | None, x: str, y: str, by: Names) -> tuple[dict[str, float], list[str]]:
    """The means at two levels, and their difference: in each stratum of some variables, weighted by its size.

    The second is how it was reached, stratum by stratum.
    """
    names, strata = sorted(by), _strata(read(Rows, data, "data"), x, y, sorted(by))
    levels = _levels(named, x, list(dict.fromkeys(level for cells in strata.values() for level in cells)))
    shared = {key: cells for key, cells in strata.items() if all(level in cells for level in levels)}
    sizes = {key: math.fsum(count for count, _ in cells.values()) for key, cells in shared.items()}
    if not shared:
        raise InputError(f"data has both levels of {x} in no stratum of {', '.join(names)}", hint="give rows for both")
    high = low = 0.0
    left = len(strata) - len(shared)
    steps = [f"Left out: {left} strata of {', '.join(names)} with one level only."] if left else []
    for key, cells in shared.items():
        share = sizes[key] / math.fsum(sizes.values())
        one, other = (cells[level][1] / cells[level][0] for level in levels)
        high, low = high + share * one, low + share * other
        where = f"Where {said(dict(zip(names, key, strict=True)))} ({share:.1%})" if names else "Without adjusting"
        steps.append(f"{where}: {y} is {one:.4g} with {said({x: levels[0]})}, {other:.4g} with {said({x: levels[1]})}.")
    return {"high": high, "low": low, "effect": high - low}, steps[:SHOWN]


def _strata(rows: Sequence[Inputs], x: str, y: str, names: list[str]) -> dict[Key, Cells]:
    strata: dict[Key, Cells] = defaultdict(dict)
    for at, row in enumerate(rows):
        *key, level, found = (as_value(f"data[{at}].{name}", row.get(name)) for name in (*names, x, y))
        outcome = read(Amount, found, f"data[{at}].{y}")
        count = number_in(f"data[{at}].count", row.get("count", 1), 0, LARGEST)
        if count:
            before, total = strata[tuple(key)].get(level, (0.0, 0.0))
            strata[tuple(key)][level] = before + count, total + outcome * count
    return strata


def _levels(named: Sequence[Any] | None, x: str, seen: list[Value]) -> list[Value]:
    ordered = sorted(seen, key=lambda each: (isinstance(each, str), each), reverse=True)
    levels = ordered if named is None else [as_value("levels", each) for each in named]
    if len(levels) != 2 or levels[0] == levels[1] or not set(levels) <= set(seen):
        raise InputError(
            f"levels is {named or ordered!r:.60}", hint=f"name two of the {len(seen)} values of {x} in data"
        )
    return levels
