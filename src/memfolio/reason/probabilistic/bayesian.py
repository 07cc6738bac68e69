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
from typing import Any

from memfolio.errors import InputError
from memfolio.intake import nearest
from memfolio.reason.given import Given
from memfolio.reason.probabilistic.flips import brief, either, leaders, linear_flip, listed
from memfolio.reason.probabilistic.network import Network, read_network
from memfolio.reason.result import Result
from memfolio.reason.world import World

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
