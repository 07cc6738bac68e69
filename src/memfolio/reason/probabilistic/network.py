"""A small Bayesian network: exact answers by eliminating one variable after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import product
from typing import Any

from memfolio.errors import InputError
from memfolio.reason.given import Given

MOST_NODES = 200


@dataclass(frozen=True, slots=True)
class Factor:
    """A table with one axis a variable."""

    names: tuple[str, ...]
    table: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The states of each node, and its table of chances given its parents; the node is the table's last axis."""

    states: Mapping[str, list[str]]
    factors: Mapping[str, Factor]
    work: int
    """How large all tables together may become."""

    def with_prior(self, node: str, chances: list[float]) -> Network:
        """The same network, with other chances for a node without parents."""
        import numpy

        return replace(self, factors={**self.factors, node: Factor((node,), numpy.array(chances))})

    def chances(self, query: str, observed: Mapping[str, str]) -> dict[str, float]:
        """How likely each state of a node is together with what was observed; they add up to the latter's chance."""
        # What leads to nothing that is asked for or observed adds up to 1.
        needed = self._before([query, *observed])
        factors = [self._seen(self.factors[name], observed) for name in needed]
        hidden, spent = [name for name in needed if name not in observed and name != query], 0
        while hidden:
            size, name = min((self._size(factors, name), name) for name in hidden)
            spent += size
            if spent > self.work:
                hint = "give a network with fewer nodes, states or parents, or raise reason.work"
                raise InputError(f"the tables of this network pass {self.work:,} entries", hint=hint)
            hidden.remove(name)
            joined = _joined([each for each in factors if name in each.names], self.states)
            axis = joined.names.index(name)
            left = Factor(joined.names[:axis] + joined.names[axis + 1 :], joined.table.sum(axis))
            factors = [*(each for each in factors if name not in each.names), left]
        return dict(zip(self.states[query], map(float, _joined(factors, self.states).table), strict=True))

    def _before(self, names: list[str]) -> list[str]:
        """Some nodes and everything that they depend on."""
        found: dict[str, None] = {}
        waiting = list(names)
        while waiting:
            if (name := waiting.pop()) not in found:
                found[name] = None
                waiting += self.factors[name].names[:-1]
        return list(found)

    def _seen(self, factor: Factor, observed: Mapping[str, str]) -> Factor:
        places = [self.states[name].index(observed[name]) if name in observed else slice(None) for name in factor.names]
        return Factor(tuple(name for name in factor.names if name not in observed), factor.table[tuple(places)])

    def _size(self, factors: list[Factor], name: str) -> int:
        around = {each for factor in factors if name in factor.names for each in factor.names}
        return math.prod(len(self.states[each]) for each in around)


def _joined(factors: list[Factor], states: Mapping[str, list[str]]) -> Factor:
    import numpy

    names = tuple(dict.fromkeys(name for factor in factors for name in factor.names))
    table = numpy.ones([len(states[name]) for name in names])
    for factor in factors:
        order = sorted(range(len(factor.names)), key=lambda axis: names.index(factor.names[axis]))
        shape = [len(states[name]) if name in factor.names else 1 for name in names]
        table = table * numpy.transpose(factor.table, order).reshape(shape)
    return Factor(names, table)


def read_network(given: Given, work: int) -> Network:
    """The network below `nodes`, checked: every parent is a node, no circle, every row adds up to 1."""
    nodes = given.by_name("nodes", least=1)
    if len(nodes) > MOST_NODES:
        raise InputError(f"nodes has {len(nodes):,} members", hint=f"give at most {MOST_NODES}")
    for node in nodes.values():
        node.only("states", "parents", "table")
    states = {name: node.texts("states", ["true", "false"], least=2) for name, node in nodes.items()}
    parents = {name: node.texts("parents", []) for name, node in nodes.items()}
    _check(states, parents)
    factors = {}
    for name, node in nodes.items():
        table = _table(node, name, states[name], [states[parent] for parent in parents[name]], work)
        factors[name] = Factor((*parents[name], name), table)
    return Network(states=states, factors=factors, work=work)


def _check(states: dict[str, list[str]], parents: dict[str, list[str]]) -> None:
    for name, each in parents.items():
        if len(set(each)) < len(each) or len(set(states[name])) < len(states[name]):
            raise InputError(f"nodes.{name} names a parent or a state twice", hint="name each once")
        if unknown := [parent for parent in each if parent not in states]:
            raise InputError(f"nodes.{name}.parents names {unknown[0]!r:.60}", hint="name nodes of this network")
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        circle = " → ".join(error.args[1])
        raise InputError(f"the nodes go in a circle: {circle}", hint="let no node depend on itself") from error


def _table(node: Given, name: str, states: list[str], above: list[list[str]], work: int) -> Any:
    """The table of a node: one row for each combination of its parents' states."""
    import numpy

    if (size := math.prod(map(len, above)) * len(states)) > work:
        raise InputError(f"nodes.{name}.table has {size:,} entries", hint="give it fewer parents, or raise reason.work")
    keys = [", ".join(each) if above else "table" for each in product(*above)]
    if len(set(keys)) < len(keys):
        raise InputError(f"the rows of nodes.{name}.table cannot be told apart", hint="name states without commas")
    rows = node.part("table") if above else node
    if above:
        rows.only(*keys)
    return numpy.array([_row(rows, key, states) for key in keys]).reshape([*map(len, above), len(states)])


def _row(rows: Given, key: str, states: list[str]) -> list[float]:
    """The chances of each state: an object of them, or for two states the chance of the first."""
    if len(states) == 2 and not isinstance(rows.value(key), dict):
        return [rows.share(key), 1 - rows.share(key)]
    rows.part(key).only(*states)
    row = rows.distribution(key)
    return [row.get(state, 0.0) for state in states]
