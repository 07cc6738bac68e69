"""Bayes: how likely each hypothesis is after the evidence, or a node of a network after what was observed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import product
from typing import Annotated, Any, NamedTuple

from memfolio.errors import InputError
from memfolio.intake import nearest
from memfolio.reason.inputs import (
    Chances,
    Effort,
    Finding,
    Several,
    Share,
    Texts,
    World,
    method,
    one_of,
    only,
    read,
    sized,
)
from memfolio.reason.methods.causal import CausalModel, Key, Row, Variable
from memfolio.reason.methods.flips import brief, either, leaders, linear_flip, listed
from memfolio.types import EMPTY

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
    states: Annotated[Texts, sized(2)] = ("true", "false")
    parents: Texts = ()


class Nodes(NamedTuple):
    nodes: Annotated[Mapping[str, Node], sized(1, 200)]
    query: str
    observed: Mapping[str, Any] = EMPTY


@method
def bayesian(given: Hypotheses | Nodes, world: World) -> Finding:
    """The probabilities after the evidence, and where their order turns over."""
    return _by_network(given, world.effort()) if isinstance(given, Nodes) else _by_evidence(given)


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


# A Bayesian network: a causal model in which every variable has a table.


def read_network(nodes: Mapping[str, Node], effort: Effort) -> CausalModel:
    """The network of some nodes, checked: every parent is a node, no circle, every row adds up to 1."""
    for name, node in nodes.items():
        if any(len({*each}) < len(each) for each in (node.parents, node.states)):
            raise InputError(f"nodes.{name} names a parent or a state twice", hint="name each once")
        for parent in node.parents:
            one_of(f"nodes.{name}.parents", parent, nodes)
    return CausalModel([_variable(name, node, nodes, effort) for name, node in nodes.items()], effort)


def _variable(name: str, node: Node, nodes: Mapping[str, Node], effort: Effort) -> Variable:
    """A node with one row of its table for each combination of its parents' states."""
    place, above = f"nodes.{name}.table", [nodes[parent].states for parent in node.parents]
    effort.spend(math.prod(map(len, above)))
    if not above:
        return Variable(name=name, table={(): _row(node.table, place, node.states)})
    keys = {", ".join(each): each for each in product(*above)}
    if len(keys) < math.prod(map(len, above)):
        raise InputError(f"the rows of {place} cannot be told apart", hint="name states without commas")
    rows = read(Mapping[str, Any], node.table, place)
    only(place, rows, keys)
    table: dict[Key, Row] = {each: _row(rows.get(key), f"{place}.{key}", node.states) for key, each in keys.items()}
    return Variable(name=name, parents=tuple(node.parents), table=table)


def _row(found: Any, place: str, states: Texts) -> Row:
    """The chances of each state: an object of them, or for two states the chance of the first."""
    if len(states) == 2 and not isinstance(found, Mapping):
        share = read(Share, found, place)
        return {states[0]: share, states[1]: 1 - share}
    row = read(Chances, found, place)
    only(place, row, states)
    return {state: row.get(state, 0.0) for state in states}


def _by_network(given: Nodes, effort: Effort) -> Finding:
    network, query = read_network(given.nodes, effort), one_of("query", given.query, given.nodes)
    states = given.nodes[query].states
    only("observed", given.observed, {*given.nodes} - {query})
    observed = {name: _state(name, each, given.nodes[name].states) for name, each in given.observed.items()}
    before, joint = _chances(network, query, states, {}), _chances(network, query, states, observed)
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
    flips = _root_flips(network, lambda other: _chances(other, query, states, observed), observed, leaders(after)[0])
    return _finding(f"{query} ", f"given {shown}", after, steps, flips, [ONLY_ROOTS])


def _chances(network: CausalModel, query: str, states: Texts, observed: Mapping[str, str]) -> dict[str, float]:
    """How likely each state of a node is together with what was observed; they add up to the latter's chance."""
    found = network.spread([query], seen={**observed})
    return {state: found.get((state,), 0.0) for state in states}


def _state(name: str, found: Any, states: Texts) -> str:
    state = str(found).lower() if isinstance(found, bool) else found
    if state not in states:
        raise InputError(f"observed.{name} is {found!r:.60}", hint=nearest(str(found), states))
    return str(state)


def _root_flips(
    network: CausalModel, chances: Callable[[CausalModel], dict[str, float]], observed: Collection[str], best: str
) -> Iterator[str]:
    """For each node without parents, the prior of its first state at which another state of the query leads."""
    roots = [each for each in network.variables.values() if not each.parents and each.name not in observed]
    for root in roots[:MOST_VARIED]:
        (state, present), *others = root.table[()].items()
        if present < 1:
            rows = {state: 0.0, **{each: share / (1 - present) for each, share in others}}, {state: 1.0}
            zero, one = (chances(network.with_row(root, (), row)) for row in rows)
            if flip := linear_flip(zero, one, best, present):
                yield f"{flip.leader} leads once the prior of {root.name} {state} {flip.past(present)}."
