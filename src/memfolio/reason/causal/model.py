"""A structural causal model: variables with a finite number of values, and what decides each of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memfolio.errors import InputError
from memfolio.intake import nearest
from memfolio.reason.causal.graph import Graph
from memfolio.reason.effort import Effort
from memfolio.reason.expression import evaluate
from memfolio.reason.given import Given, number_in

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

    def row(self, known: Case) -> Row:
        key = tuple(known[each] for each in self.parents)
        if key not in self.table:
            if not self.equation:
                raise InputError(f"model.{self.name}.table says nothing of {_joined(key)!r}", hint="add this row")
            self.table[key] = {self._computed(known): 1.0}
        return self.table[key]

    def _computed(self, known: Case) -> float:
        place = f"model.{self.name}.equation"
        found = float(evaluate(place, self.equation, {each: known[each] for each in self.parents}))
        if not math.isfinite(found):
            raise InputError(f"{place} has no value where {said(known):.80}", hint="see that nothing is divided by 0")
        return found


class Model:
    """Variables in the order of their causes."""

    def __init__(self, variables: Iterable[Variable], effort: Effort):
        named = {each.name: each for each in variables}
        self.graph = Graph({name: each.parents for name, each in named.items()})
        self.variables = {name: named[name] for name in self.graph.order}
        self.effort = effort

    def cases(self, do: Case | None = None) -> Iterator[tuple[Case, float]]:
        """Every possible course of events with its probability; what is done is set, whatever would decide it."""
        order, fixed = list(self.variables.values()), do or {}

        def onward(known: Case, chance: float) -> Iterator[tuple[Case, float]]:
            self.effort.spend()
            if len(known) == len(order):
                yield known, chance
                return
            each = order[len(known)]
            row = {fixed[each.name]: 1.0} if each.name in fixed else each.row(known)
            for value, share in row.items():
                if share:
                    yield from onward({**known, each.name: value}, chance * share)

        return onward({}, 1.0)

    def chance(self, *events: Case, do: Case | None = None) -> float:
        """The probability that all of some events happen."""
        wanted = [item for event in events for item in event.items()]
        return math.fsum(share for case, share in self.cases(do) if all(case[name] == each for name, each in wanted))

    def read(self, given: Given, place: str, *, least: int = 0) -> Case:
        """An object of values by variable, each of them one that the variable can have."""
        given.only(*self.variables)
        case = {each: as_value(f"{place}.{each}", given.value(each)) for each in given.names()}
        if len(case) < least:
            raise InputError(f"{place} is empty", hint="give a value for a variable of the model")
        for each, value in case.items():
            known = {value for row in self.variables[each].table.values() for value in row}
            if not self.variables[each].equation and value not in known:
                raise InputError(f"{place}.{each} is {_joined([value])}", hint=f"give one of {_joined(known)}")
        return case

    def flips(self, margin: Callable[[Model], float]) -> list[str]:
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

    def _shifted(
        self, variable: Variable, key: Key, value: Value, to: float, margin: Callable[[Model], float]
    ) -> float:
        """The margin with one chance changed and the others of its row scaled to make room; 0 if it has none there."""
        row, rest = variable.table[key], 1 - variable.table[key][value]
        others = {each: (1 - to) * (row[each] / rest if rest else 1 / (len(row) - 1)) for each in row if each != value}
        table = {**variable.table, key: {**others, value: to}}
        changed = Variable(name=variable.name, parents=variable.parents, table=table)
        try:
            return margin(Model([*self.variables.values(), changed], self.effort))
        except InputError:
            return 0.0


def read_model(given: Given, effort: Effort) -> Model:
    """The model of a method's inputs, checked: every parent is there, no circle, every row adds up to 1."""
    parts = given.by_name("model", least=1)
    if len(parts) > MOST_VARIABLES:
        raise InputError(f"model has {len(parts):,} variables", hint=f"give at most {MOST_VARIABLES}")
    return Model([_variable(name, part, set(parts)) for name, part in parts.items()], effort)


def _variable(name: str, part: Given, known: set[str]) -> Variable:
    part.only("equation", "parents", "table")
    if "equation" in part:
        equation = part.text("equation")
        return Variable(name=name, parents=tuple(sorted(set(NAME.findall(equation)) & known)), equation=equation)
    parents, table = tuple(part.texts("parents", [])), dict[Key, Row]()
    if unknown := [each for each in parents if each not in known]:
        raise InputError(f"model.{name}.parents names {unknown[0]!r:.60}", hint=nearest(unknown[0], sorted(known)))
    rows = part.part("table") if parents else part
    for key in rows.names() if parents else ["table"]:
        values = tuple(as_value(name, each.strip()) for each in key.split(",")) if parents else ()
        if len(values) != len(parents) or values in table:
            hint = f"join {len(parents)} values by commas, and give each row once"
            raise InputError(f"model.{name}.table.{key} is no row", hint=hint)
        table[values] = _row(rows, key, f"model.{name}.table")
    return Variable(name=name, parents=parents, table=table)


def _row(rows: Given, key: str, place: str) -> Row:
    if not isinstance(rows.value(key, wanted="probabilities, or the one of being true"), Mapping):
        return {1.0: rows.share(key), 0.0: 1 - rows.share(key)}
    given = rows.distribution(key)
    row = {as_value(key, value): share for value, share in given.items()}
    if len(row) < len(given):
        raise InputError(f"{place} names a value twice: {', '.join(given):.60}", hint="true is 1, and false is 0")
    return row


def as_value(place: str, found: Any) -> Value:
    """A value as models hold them: numbers as numbers, true and false as 1 and 0, anything else as text."""
    if isinstance(found, bool):
        return float(found)
    if not isinstance(found, str):
        return number_in(place, found)
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
