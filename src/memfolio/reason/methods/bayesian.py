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
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import product
from typing import Annotated, Any, NamedTuple

from memfolio.errors import InputError
from memfolio.intake import nearest
from memfolio.reason.inputs import (
    Chances,
    Finding,
    Named,
    Several,
    Share,
    Texts,
    World,
    at_least,
    method,
    one_of,
    only,
    read,
)
from memfolio.reason.methods.flips import brief, either, leaders, linear_flip, listed
from memfolio.types import EMPTY

MOST_NODES = 200
MOST_VARIED = 20
MOST_STEPS = 50
INDEPENDENT = "The pieces of evidence are taken as independent of each other, given each hypothesis."
ONLY_ROOTS = "Only the priors of nodes without parents were varied, each alone."


class Hypotheses(NamedTuple):
    prior: Chances
    likelihoods: Mapping[str, Mapping[str, Share]]
    evidence: Several[str] | None = None


class Node(NamedTuple):
    table: Any
    states: Annotated[Texts, at_least(2)] = ("true", "false")
    parents: Texts = ()


class Nodes(NamedTuple):
    nodes: Named[Node]
    query: str
    observed: Mapping[str, Any] = EMPTY


@method
def reason(given: Hypotheses | Nodes, world: World) -> Finding:
    """The probabilities after the evidence, and where their order turns over."""
    return _by_network(given, world.settings.work) if isinstance(given, Nodes) else _by_evidence(given)


def _by_evidence(given: Hypotheses) -> Finding:
    prior = given.prior
    tables = {name: read(Mapping[str, Share], given.likelihoods.get(name), f"likelihoods.{name}") for name in prior}
    only("likelihoods", given.likelihoods, prior)
    evidence = given.evidence or list(dict.fromkeys(seen for table in tables.values() for seen in table))
    likely, after, steps = dict.fromkeys(prior, 0.0), prior, [f"Before the evidence: {listed(prior)}."]
    for seen in evidence:
        chances = {name: _likelihood(name, table, seen) for name, table in tables.items()}
        likely = {name: likely[name] + _log(chances[name]) for name in prior}
        after = _shares({name: _log(prior[name]) + likely[name] for name in prior}, seen)
        steps.append(f"{seen} has the probability {listed(chances)}; after it: {listed(after)}.")
    notes = [INDEPENDENT if len(evidence) > 1 else ""]
    flips = _prior_flips(prior, likely, after)
    return _finding("", "after the evidence", after, steps[:MOST_STEPS], flips, notes)


def _likelihood(name: str, table: Mapping[str, float], seen: str) -> float:
    is_absence = seen not in table and seen.startswith("not ")
    named = seen.removeprefix("not ") if is_absence else seen
    if named not in table:
        raise InputError(f"likelihoods.{name}.{named} is missing", hint="give a number")
    return 1 - table[named] if is_absence else table[named]


def _log(chance: float) -> float:
    return math.log(chance) if chance else -math.inf


def _shares(logs: Mapping[str, float], seen: str) -> dict[str, float]:
    """Probabilities from the logarithms of what they are proportional to: products of many are too small."""
    top = max(logs.values())
    if top == -math.inf:
        raise InputError(f"no hypothesis allows the evidence up to {seen!r:.60}", hint="give one that does")
    weights = {name: math.exp(each - top) for name, each in logs.items()}
    total = math.fsum(weights.values())
    return {name: each / total for name, each in weights.items()}


def _prior_flips(prior: Mapping[str, float], likely: Mapping[str, float], after: Mapping[str, float]) -> Iterator[str]:
    """For each hypothesis, the prior at which another one leads, with the others in proportion."""
    best, top = leaders(after)[0], max(likely.values())
    weights = {name: math.exp(each - top) for name, each in likely.items()}
    varied = sorted(after, key=lambda each: -after[each])[len(prior) == 2 :][:MOST_VARIED]
    for name in (each for each in varied if prior[each] < 1):
        rest = {each: 0.0 if each == name else prior[each] / (1 - prior[name]) * weights[each] for each in prior}
        alone = {each: weights[each] if each == name else 0.0 for each in prior}
        if flip := linear_flip(rest, alone, best, prior[name]):
            yield f"{flip.leader} leads once the prior of {name} {flip.past(prior[name])}."


def _finding(
    what: str, when: str, after: Mapping[str, float], steps: list[str], flips: Iterator[str], notes: list[str]
) -> Finding:
    best = leaders(after)
    return Finding(
        f"{what}{either(best)} is most likely: {brief(after[best[0]])} {when}.",
        confidence=after[best[0]],
        steps=steps,
        would_change=flips,
        answer={"posterior": after, "best": best, "options": list(after)},
        notes=[*notes, f"{len(best)} are equally likely." if len(best) > 1 else ""],
    )


# A small Bayesian network: exact answers by eliminating one variable after the other.


class Factor(NamedTuple):
    """A table with one axis a variable."""

    names: tuple[str, ...]
    table: Any


class Network(NamedTuple):
    """The states of each node, and its table of chances given its parents; the node is the table's last axis."""

    states: Mapping[str, Texts]
    factors: Mapping[str, Factor]
    work: int
    """How large all tables together may become."""

    def with_prior(self, node: str, chances: list[float]) -> Network:
        """The same network, with other chances for a node without parents."""
        import numpy

        return self._replace(factors={**self.factors, node: Factor((node,), numpy.array(chances))})

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
            beside = [each for each in factors if name not in each.names]
            factors = [*beside, _joined([each for each in factors if name in each.names], without=name)]
        return dict(zip(self.states[query], map(float, _joined(factors).table), strict=True))

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


def _joined(factors: list[Factor], without: str = "") -> Factor:
    """The product of some tables, summed over one variable."""
    import numpy

    names = list(dict.fromkeys(name for factor in factors for name in factor.names))
    table = numpy.ones(1)
    for factor in factors:
        order = sorted(range(len(factor.names)), key=lambda axis: names.index(factor.names[axis]))
        sizes = dict(zip(factor.names, factor.table.shape, strict=True))
        table = table * numpy.transpose(factor.table, order).reshape([sizes.get(name, 1) for name in names])
    if without in names:
        table = table.sum(names.index(without))
    return Factor(tuple(name for name in names if name != without), table)


def read_network(given: Mapping[str, Node], work: int) -> Network:
    """The network of some nodes, checked: every parent is a node, no circle, every row adds up to 1."""
    if len(given) > MOST_NODES:
        raise InputError(f"nodes has {len(given):,} members", hint=f"give at most {MOST_NODES}")
    states = {name: node.states for name, node in given.items()}
    for name, (_, own, parents) in given.items():
        if len({*parents}) < len(parents) or len({*own}) < len(own):
            raise InputError(f"nodes.{name} names a parent or a state twice", hint="name each once")
        for parent in parents:
            one_of(f"nodes.{name}.parents", parent, states)
    try:
        TopologicalSorter({name: node.parents for name, node in given.items()}).prepare()
    except CycleError as error:
        circle = " → ".join(error.args[1])
        raise InputError(f"the nodes go in a circle: {circle}", hint="let no node depend on itself") from error
    factors = {
        name: Factor((*node.parents, name), _table(node, f"nodes.{name}.table", states, work))
        for name, node in given.items()
    }
    return Network(states, factors, work)


def _table(node: Node, place: str, states: Mapping[str, Texts], work: int) -> Any:
    """The table of a node: one row for each combination of its parents' states."""
    import numpy

    above = [states[parent] for parent in node.parents]
    shape = [*map(len, above), len(node.states)]
    if (size := math.prod(shape)) > work:
        raise InputError(f"{place} has {size:,} entries", hint="give it fewer parents, or raise reason.work")
    if not above:
        return numpy.array(_row(node.table, place, node.states))
    keys = [", ".join(each) for each in product(*above)]
    if len(set(keys)) < len(keys):
        raise InputError(f"the rows of {place} cannot be told apart", hint="name states without commas")
    rows = read(Mapping[str, Any], node.table, place)
    only(place, rows, keys)
    return numpy.array([_row(rows.get(key), f"{place}.{key}", node.states) for key in keys]).reshape(shape)


def _row(found: Any, place: str, states: Texts) -> Sequence[float]:
    """The chances of each state: an object of them, or for two states the chance of the first."""
    if len(states) == 2 and not isinstance(found, Mapping):
        share = read(Share, found, place)
        return [share, 1 - share]
    row = read(Chances, found, place)
    only(place, row, states)
    return [row.get(state, 0.0) for state in states]


def _by_network(given: Nodes, work: int) -> Finding:
    network, query = read_network(given.nodes, work), given.query
    one_of("query", query, network.states)
    only("observed", given.observed, {*network.states} - {query})
    observed = {name: _state(name, each, network.states[name]) for name, each in given.observed.items()}
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
    return _finding(f"{query} ", f"given {shown}", after, steps, flips, [ONLY_ROOTS])


def _state(name: str, found: Any, states: Texts) -> str:
    state = str(found).lower() if isinstance(found, bool) else found
    if state not in states:
        raise InputError(f"observed.{name} is {found!r:.60}", hint=nearest(str(found), states))
    return str(state)


def _root_flips(network: Network, query: str, observed: Mapping[str, str], best: str) -> Iterator[str]:
    """For each node without parents, the prior of its first state at which another state of the query leads."""
    roots = [name for name, factor in network.factors.items() if len(factor.names) == 1 and name not in observed]
    for root in roots[:MOST_VARIED]:
        present, *others = map(float, network.factors[root].table)
        if present < 1:
            zero = network.with_prior(root, [0.0, *(each / (1 - present) for each in others)]).chances(query, observed)
            one = network.with_prior(root, [1.0, *(0.0 for _ in others)]).chances(query, observed)
            if flip := linear_flip(zero, one, best, present):
                state = network.states[root][0]
                yield f"{flip.leader} leads once the prior of {root} {state} {flip.past(present)}."
