"""Bayes: how likely each hypothesis is after the evidence, or a node of a network after what was observed.

prior: an object, each hypothesis with its probability; they add up to 1
likelihoods: an object, each hypothesis with an object: each evidence with its probability if the hypothesis holds
evidence: a list of what was seen; "not X" is the absence of X; without it, everything that has a likelihood
nodes: instead of these, a network: each node with `states` (true and false), `parents` and `table`: an object of the
  probabilities of its states (or the one of its first state); with parents, one such row for "state, state" of them
query: the node of the network that is asked for
observed: an object, each observed node with its state
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

# A small Bayesian network: exact answers by eliminating one variable after the other.
from graphlib import CycleError, TopologicalSorter
from itertools import product
from typing import Any

from memfolio.errors import InputError
from memfolio.intake import nearest
from memfolio.reason.inputs import Given, Result, World
from memfolio.reason.methods.flips import brief, either, leaders, linear_flip, listed

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


MOST_VARIED = 20
MOST_STEPS = 50
INDEPENDENT = "The pieces of evidence are taken as independent of each other, given each hypothesis."
ONLY_ROOTS = "Only the priors of nodes without parents were varied, each alone."


def reason(given: Given, world: World) -> Result:
    """The probabilities after the evidence, and where their order turns over."""
    return _network(given, world) if "nodes" in given else _hypotheses(given)


def _hypotheses(given: Given) -> Result:
    given.only("prior", "likelihoods", "evidence")
    prior, tables = given.distribution("prior"), given.part("likelihoods")
    tables.only(*prior)
    parts = {name: tables.part(name) for name in prior}
    every = dict.fromkeys(evidence for part in parts.values() for evidence in part.names())
    evidence = given.texts("evidence", list(every), least=1)
    likely, after, steps = dict.fromkeys(prior, 0.0), prior, [f"Before the evidence: {listed(prior)}."]
    for seen in evidence:
        chances = {name: _likelihood(part, seen) for name, part in parts.items()}
        likely = {name: likely[name] + _log(chances[name]) for name in prior}
        after = _shares({name: _log(prior[name]) + likely[name] for name in prior}, seen)
        steps.append(f"{seen} has the probability {listed(chances)}; after it: {listed(after)}.")
    notes = [INDEPENDENT] if len(evidence) > 1 else []
    return _told(given, "", "after the evidence", after, steps[:MOST_STEPS], _prior_flips(prior, likely, after), notes)


def _likelihood(table: Given, seen: str) -> float:
    is_absence = seen not in table and seen.startswith("not ")
    found = table.share(seen.removeprefix("not ") if is_absence else seen)
    return 1 - found if is_absence else found


def _log(chance: float) -> float:
    return math.log(chance) if chance else -math.inf


def _shares(logs: dict[str, float], seen: str) -> dict[str, float]:
    """Probabilities from the logarithms of what they are proportional to: products of many are too small."""
    top = max(logs.values())
    if top == -math.inf:
        raise InputError(f"no hypothesis allows the evidence up to {seen!r:.60}", hint="give one that does")
    weights = {name: math.exp(each - top) for name, each in logs.items()}
    total = math.fsum(weights.values())
    return {name: each / total for name, each in weights.items()}


def _prior_flips(prior: dict[str, float], likely: dict[str, float], after: dict[str, float]) -> list[str]:
    """For each hypothesis, the prior at which another one leads, with the others in proportion."""
    best, top, found = leaders(after)[0], max(likely.values()), []
    weights = {name: math.exp(each - top) for name, each in likely.items()}
    varied = sorted(after, key=lambda each: -after[each])[len(prior) == 2 :][:MOST_VARIED]
    for name in (each for each in varied if prior[each] < 1):
        rest = {each: 0.0 if each == name else prior[each] / (1 - prior[name]) * weights[each] for each in prior}
        alone = {each: weights[each] if each == name else 0.0 for each in prior}
        if flip := linear_flip(rest, alone, best, prior[name]):
            found.append(f"{flip.leader} leads once the prior of {name} {flip.past(prior[name])}.")
    return found


def _told(
    given: Given, what: str, when: str, after: dict[str, float], steps: list[str], flips: list[str], notes: list[str]
) -> Result:
    best = leaders(after)
    return Result(
        method="bayesian",
        conclusion=f"{what}{either(best)} is most likely: {brief(after[best[0]])} {when}.",
        confidence=after[best[0]],
        steps=tuple(steps),
        would_change=tuple(flips),
        inputs=given.used,
        answer={"posterior": after, "best": best, "options": list(after)},
        notes=(*notes, *([f"{len(best)} are equally likely."] if len(best) > 1 else [])),
    )


def _network(given: Given, world: World) -> Result:
    given.only("nodes", "query", "observed")
    network = read_network(given, world.settings.work)
    query = given.choice("query", list(network.states))
    observed = _observed(given.part("observed", {}), network, query)
    before, joint = network.chances(query, {}), network.chances(query, observed)
    total = math.fsum(joint.values())
    if not total:
        raise InputError("what is observed cannot happen in this network, or hardly ever", hint="check the tables")
    after = {state: chance / total for state, chance in joint.items()}
    shown = ", ".join(f"{name} is {state}" for name, state in observed.items()) or "nothing"
    steps = [
        f"Before anything is observed, {query}: {listed(before)}.",
        f"What is observed ({shown}) has the probability {brief(total)}.",
        f"All other nodes summed out one by one, {query}: {listed(after)}.",
    ]
    flips = _root_flips(network, query, observed, leaders(after)[0])
    return _told(given, f"{query} ", f"given {shown}", after, steps, flips, [ONLY_ROOTS])


def _observed(given: Given, network: Network, query: str) -> dict[str, str]:
    given.only(*(name for name in network.states if name != query))
    return {name: _state(name, given.value(name), network.states[name]) for name in given.names()}


def _state(name: str, found: Any, states: list[str]) -> str:
    state = str(found).lower() if isinstance(found, bool) else found
    if state not in states:
        raise InputError(f"observed.{name} is {found!r:.60}", hint=nearest(str(found), states))
    return str(state)


def _root_flips(network: Network, query: str, observed: dict[str, str], best: str) -> list[str]:
    """For each node without parents, the prior of its first state at which another state of the query leads."""
    found = []
    roots = [name for name, factor in network.factors.items() if len(factor.names) == 1 and name not in observed]
    for root in roots[:MOST_VARIED]:
        present, *others = map(float, network.factors[root].table)
        if present < 1:
            zero = network.with_prior(root, [0.0, *(each / (1 - present) for each in others)]).chances(query, observed)
            one = network.with_prior(root, [1.0, *(0.0 for _ in others)]).chances(query, observed)
            if flip := linear_flip(zero, one, best, present):
                found.append(
                    f"{flip.leader} leads once the prior of {root} {network.states[root][0]} {flip.past(present)}."
                )
    return found
