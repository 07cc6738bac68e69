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
from memfolio.reason.probabilistic.flips import brief, leaders, linear_flip, listed, passing
from memfolio.reason.probabilistic.network import Network, read_network
from memfolio.reason.result import Result
from memfolio.reason.world import World

MOST_VARIED = 20
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
    evidence = given.texts("evidence", parts[next(iter(prior))].names(), least=1)
    likely, after, steps = dict.fromkeys(prior, 1.0), prior, [f"Before the evidence: {listed(prior)}."]
    for seen in evidence:
        chances = {name: _likelihood(part, seen) for name, part in parts.items()}
        likely = {name: likely[name] * chances[name] for name in prior}
        likely = {name: each / (max(likely.values()) or 1) for name, each in likely.items()}
        total = math.fsum(prior[name] * likely[name] for name in prior)
        if not total:
            raise InputError(f"no hypothesis allows the evidence up to {seen!r:.60}", hint="give one that does")
        after = {name: prior[name] * likely[name] / total for name in prior}
        steps.append(f"{seen} has the probability {listed(chances)}; after it: {listed(after)}.")
    best = leaders(after)[0]
    if 0 < prior[best] < 1 and after[best] < 1:
        odds, then = prior[best] / (1 - prior[best]), after[best] / (1 - after[best])
        steps.append(f"Odds for {best}: {brief(odds)} × {brief(then / odds)} by the evidence = {brief(then)}.")
    flips = []
    for name in sorted(after, key=lambda each: -after[each])[len(prior) == 2 :][:MOST_VARIED]:
        share = prior[name]
        rest = {each: 0.0 if each == name else prior[each] / (1 - share) * likely[each] for each in prior if share < 1}
        alone = {each: likely[each] if each == name else 0.0 for each in prior}
        if rest and (flip := linear_flip(rest, alone, best, share)):
            flips.append(f"{flip[1]} leads once the prior of {name} {passing(flip[0], share)}.")
    notes = [INDEPENDENT] if len(evidence) > 1 else []
    return _told(given, "", "after the evidence", after, {}, steps, flips, notes)


def _likelihood(table: Given, seen: str) -> float:
    is_absence = seen not in table and seen.startswith("not ")
    found = table.share(seen.removeprefix("not ") if is_absence else seen)
    return 1 - found if is_absence else found


def _told(
    given: Given,
    what: str,
    when: str,
    after: dict[str, float],
    more: dict[str, Any],
    steps: list[str],
    flips: list[str],
    notes: list[str],
) -> Result:
    best = leaders(after)
    return Result(
        method="bayesian",
        conclusion=f"{what}{' or '.join(best)} is most likely: {brief(after[best[0]])} {when}.",
        confidence=after[best[0]],
        steps=tuple(steps),
        would_change=tuple(flips),
        inputs=given.used,
        answer={"posterior": after, "best": best, **more},
        notes=(*notes, *([f"{' and '.join(best)} are equally likely."] if len(best) > 1 else [])),
    )


def _network(given: Given, world: World) -> Result:
    given.only("nodes", "query", "observed")
    network = read_network(given, world.settings.work)
    query = given.choice("query", list(network.states))
    observed = _observed(given.part("observed", {}), network, query)
    before, joint = network.chances(query, {}), network.chances(query, observed)
    total = math.fsum(joint.values())
    if not total:
        raise InputError("what is observed cannot happen in this network", hint="check observed and the tables")
    after = {state: chance / total for state, chance in joint.items()}
    explanation = network.explanation(observed)
    shown = ", ".join(f"{name} is {state}" for name, state in observed.items()) or "nothing"
    steps = [
        f"Before anything is observed, {query}: {listed(before)}.",
        f"What is observed ({shown}) has the probability {brief(total)}.",
        f"All other nodes summed out one by one, {query}: {listed(after)}.",
        "The most probable states of all: " + ", ".join(f"{name} {state}" for name, state in explanation.items()),
    ]
    more = {"evidence": total, "explanation": explanation}
    flips = _root_flips(network, query, observed, leaders(after)[0])
    return _told(given, f"{query} ", f"given {shown}", after, more, steps, flips, [ONLY_ROOTS])


def _observed(given: Given, network: Network, query: str) -> dict[str, str]:
    given.only(*(name for name in network.states if name != query))
    return {name: _state(name, given.value(name), network.states[name]) for name in given.names()}


def _state(name: str, found: Any, states: list[str]) -> str:
    state = str(found).lower() if isinstance(found, bool) else found
    if state not in states:
        raise InputError(f"observed.{name} is {found!r:.60}", hint=nearest(str(found), states))
    return str(state)


def _root_flips(network: Network, query: str, observed: dict[str, str], best: str) -> list[str]:
    """For each node without parents, the prior of a state at which another state of the query leads."""
    found = []
    roots = [name for name, factor in network.factors.items() if len(factor.names) == 1 and name not in observed]
    for root in roots[:MOST_VARIED]:
        present, *others = map(float, network.factors[root].table)
        if present < 1:
            zero = network.with_prior(root, [0.0, *(each / (1 - present) for each in others)]).chances(query, observed)
            one = network.with_prior(root, [1.0, *(0.0 for _ in others)]).chances(query, observed)
            if flip := linear_flip(zero, one, best, present):
                what = f"the prior of {root} {network.states[root][0]} {passing(flip[0], present)}"
                found.append(f"{flip[1]} leads once {what}.")
    return found
