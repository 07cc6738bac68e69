"""Probabilistic methods: evidence, choices under uncertainty, and what to ask next."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Annotated, Any, Literal, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import (
    LARGEST,
    Amount,
    Chances,
    Computed,
    Effort,
    Inputs,
    Matrix,
    Named,
    Several,
    Share,
    World,
    adding_up,
    between,
    method,
    number_in,
    one_of,
    only,
    read,
)
from memfolio.reason.methods.causal import Case, CausalModel, Model, Value, read_model
from memfolio.reason.methods.flips import CLOSE, brief, either, leaders, linear_flip, listed
from memfolio.types import EMPTY

# Bayes: how likely each hypothesis is after the evidence, or a node of a network after what was observed.

MOST_VARIED = 20
MOST_STEPS = 50
INDEPENDENT = "The pieces of evidence are taken as independent of each other, given each hypothesis."


class Hypotheses(NamedTuple):
    prior: Chances
    likelihoods: Mapping[str, Mapping[str, Share]]
    evidence: Several[str] | None = None


class Nodes(NamedTuple):
    nodes: Model
    query: str
    observed: Mapping[str, Any] = EMPTY


@method
def bayesian(given: Hypotheses | Nodes, world: World) -> Computed:
    """The probabilities after the evidence, and where their order turns over."""
    return _by_network(given, world.effort()) if isinstance(given, Nodes) else _by_evidence(given)


def _by_evidence(given: Hypotheses) -> Computed:
    prior = given.prior
    tables = {name: read(Mapping[str, Share], given.likelihoods.get(name), f"likelihoods.{name}") for name in prior}
    only("likelihoods", given.likelihoods, prior)
    evidence = given.evidence or list(dict.fromkeys(seen for table in tables.values() for seen in table))
    likely, after, steps = dict.fromkeys(prior, 0.0), prior, [f"Before the evidence: {listed(prior)}."]
    for seen in evidence:
        chances = {name: _likelihood(name, table, seen) for name, table in tables.items()}
        likely = {name: likely[name] + _log(chances[name]) for name in prior}
        after = _posterior({name: _log(prior[name]) + likely[name] for name in prior}, seen)
        steps.append(f"{seen} has the probability {listed(chances)}; after it: {listed(after)}.")
    notes = [INDEPENDENT if len(evidence) > 1 else ""]
    flips = _prior_flips(prior, likely, after)
    return _bayesian_finding("", "after the evidence", after, steps[:MOST_STEPS], flips, notes)


def _likelihood(name: str, table: Mapping[str, float], seen: str) -> float:
    is_absence = seen not in table and seen.startswith("not ")
    named = seen.removeprefix("not ") if is_absence else seen
    if named not in table:
        raise InputError(f"likelihoods.{name}.{named} is missing", hint="give a number")
    return 1 - table[named] if is_absence else table[named]


def _log(chance: float) -> float:
    return math.log(chance) if chance else -math.inf


def _posterior(logs: Mapping[str, float], seen: str) -> dict[str, float]:
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


def _bayesian_finding(
    what: str, when: str, after: Mapping[str, float], steps: list[str], flips: Iterable[str], notes: list[str]
) -> Computed:
    best = leaders(after)
    return Computed(
        f"{what}{either(best)} is most likely: {brief(after[best[0]])} {when}.",
        confidence=after[best[0]],
        steps=steps,
        would_change=flips,
        answer={"posterior": after, "best": best, "options": list(after)},
        notes=[*notes, f"{len(best)} are equally likely." if len(best) > 1 else ""],
    )


# A Bayesian network is a causal model, of which the causes do not matter.


def _by_network(given: Nodes, effort: Effort) -> Computed:
    network, query = read_model(given.nodes, effort, "nodes"), one_of("query", given.query, given.nodes)
    only("observed", given.observed, {*given.nodes} - {query})
    observed = network.event(given.observed, "observed")
    values = dict.fromkeys(value for row in network.variables[query].table.values() for value in row)
    labels = dict(zip(values, given.nodes[query].states or map(_label, values), strict=True))

    def chances(network: CausalModel, observed: Case) -> dict[str, float]:
        """How likely each state is together with what was observed; they add up to the latter's chance."""
        found = network.spread([query], seen=observed)
        return {label: found.get((value,), 0.0) for value, label in labels.items()}

    before, joint = chances(network, {}), chances(network, observed)
    total = math.fsum(joint.values())
    if not total:
        raise InputError("what is observed cannot happen in this network, or hardly ever", hint="check the tables")
    after = {state: chance / total for state, chance in joint.items()}
    shown = ", ".join(f"{name} is {_label(value)}" for name, value in observed.items()) or "nothing"
    steps = [
        f"Before anything is observed, {query}: {listed(before)}.",
        f"What is observed ({shown}) has the probability {brief(total)}.",
        f"All other nodes summed out one by one, {query}: {listed(after)}.",
    ]
    change = [f"Without the observation that {shown}: {listed(before)}."] if observed else []
    return _bayesian_finding(f"{query} ", f"given {shown}", after, steps, change, [])


def _label(value: Value) -> str:
    return value if isinstance(value, str) else {1.0: "true", 0.0: "false"}.get(value, f"{value:g}")


# PayoffTable theory: which option to take, by every usual criterion, and what knowing the state would be worth.

MOST_STATES_VARIED = 20
"""How many probabilities are varied to find where the choice turns over."""

Payoffs = Mapping[str, Named[Amount]]


class PayoffTable(NamedTuple):
    payoffs: Payoffs
    probabilities: Chances | None = None
    criterion: str | None = None
    optimism: Share = 0.5


@method
def decision_theory(given: PayoffTable, world: World) -> Computed:
    """The option that the criterion picks, what the others pick, and where the choice turns over."""
    payoffs, chances, optimism = given.payoffs, given.probabilities or {}, given.optimism
    if not payoffs or len({frozenset(row) for row in payoffs.values()}) > 1:
        raise InputError("payoffs is empty or its options differ in their states", hint="give each option every state")
    states = list(next(iter(payoffs.values())))
    if chances and set(chances) != set(states):
        raise InputError("probabilities and payoffs name different states", hint=f"name {', '.join(states)[:80]}")
    scores = _scores(payoffs, chances, optimism)
    criterion = one_of("criterion", given.criterion or ("expected-value" if chances else "minimax-regret"), scores)
    scale = max(abs(each) for row in payoffs.values() for each in row.values())
    choices = {name: leaders(each, scale) for name, each in scores.items()}
    best = choices[criterion]
    others = {name: each for name, each in choices.items() if each != best}
    worth = _perfect_information(payoffs, chances) if chances else None
    agreeing = len(choices) - len(others)
    return Computed(
        f"Take {either(best)} by {criterion}; {agreeing} of {len(choices)} criteria agree.",
        confidence=agreeing / len(choices),
        steps=[
            *(f"{name}: {listed(each)}." for name, each in scores.items()),
            "" if worth is None else f"Knowing the state beforehand is worth {brief(worth)} at most.",
        ],
        would_change=[
            *(f"{name} would take {either(each)}." for name, each in others.items()),
            *(_probability_flips(payoffs, chances, choices["expected-value"][0]) if chances else ()),
        ],
        answer={
            "best": best,
            "options": list(payoffs),
            "criterion": criterion,
            "scores": scores,
            "choices": choices,
            "perfect_information": worth,
        },
        notes=[f"{len(best)} options tie." if len(best) > 1 else ""],
    )


def _expected(row: Mapping[str, float], chances: Mapping[str, float]) -> float:
    return math.fsum(chances[state] * row[state] for state in chances)


def _scores(payoffs: Payoffs, chances: Mapping[str, float], optimism: float) -> dict[str, dict[str, float]]:
    top = _best_by_state(payoffs)
    judged: dict[str, Callable[[Mapping[str, float]], float]] = {
        "expected-value": lambda row: _expected(row, chances),
        "maximin": lambda row: min(row.values()),
        "maximax": lambda row: max(row.values()),
        "minimax-regret": lambda row: -max(top[state] - row[state] for state in row),
        "hurwicz": lambda row: optimism * max(row.values()) + (1 - optimism) * min(row.values()),
        "laplace": lambda row: fmean(row.values()),
    }
    if not chances:
        del judged["expected-value"]
    return {name: {option: judge(row) for option, row in payoffs.items()} for name, judge in judged.items()}


def _best_by_state(payoffs: Payoffs) -> dict[str, float]:
    return {state: max(row[state] for row in payoffs.values()) for state in next(iter(payoffs.values()))}


def _perfect_information(payoffs: Payoffs, chances: Mapping[str, float]) -> float:
    return _expected(_best_by_state(payoffs), chances) - max(_expected(row, chances) for row in payoffs.values())


def _probability_flips(payoffs: Payoffs, chances: Mapping[str, float], best: str) -> list[str]:
    """For each state, the probability at which another option has the best expected value."""
    found = []
    for state, share in [each for each in chances.items() if each[1] < 1][:MOST_STATES_VARIED]:
        rest = {each: 0.0 if each == state else chances[each] / (1 - share) for each in chances}
        zero = {option: _expected(row, rest) for option, row in payoffs.items()}
        one = {option: row[state] for option, row in payoffs.items()}
        if flip := linear_flip(zero, one, best, share):
            found.append(f"By expected value {flip.leader} is best once {state} {flip.past(share)}.")
    return found


# Expected utility: which lottery somebody with given tastes prefers, and which certain amount each is worth.

Lottery = Sequence[tuple[float, float]]


class Lotteries(NamedTuple):
    lotteries: Named[Matrix]
    utility: Literal["linear", "log", "exponential", "power"] = "linear"
    risk: Annotated[float, between(-1e6, 1e6)] | None = None
    wealth: Amount = 0.0


@method
def expected_utility(given: Lotteries, world: World) -> Computed:
    """The lottery that is worth most for certain, and the tastes with which another would be."""
    lotteries = {name: _lottery(rows, f"lotteries.{name}") for name, rows in given.lotteries.items()}
    kind, wealth, risk = given.utility, given.wealth, 1.0
    if kind in ("exponential", "power"):
        risk = read(float, given.risk, "risk")
    sure = {name: equivalent(lottery, kind, risk, wealth) for name, lottery in lotteries.items()}
    means = {name: equivalent(lottery) for name, lottery in lotteries.items()}
    best, premiums = leaders(sure), {name: means[name] - sure[name] for name in sure}
    others = {name: each for name, each in sure.items() if name not in best}
    return Computed(
        f"{either(best)} is preferred: it is worth {brief(sure[best[0]])} for certain.",
        steps=[
            f"Expected amounts: {listed(means)}.",
            f"Worth for certain with {kind} utility: {listed(sure)}.",
            f"Given up for certainty: {listed(premiums)}.",
        ],
        would_change=[
            f"{name} is preferred once it is worth over {brief(sure[best[0]] - sure[name])} more for certain."
            for name in (leaders(others)[:1] if others else ())
        ],
        answer={"best": best, "options": list(sure), "equivalents": sure, "means": means, "premiums": premiums},
        notes=[f"{len(best)} lotteries are worth the same." if len(best) > 1 else ""],
    )


def _lottery(rows: Sequence[Sequence[float]], place: str) -> Lottery:
    if len(rows[0]) != 2:
        raise InputError(f"{place} has a row that is no pair", hint="give [amount, probability] pairs")
    for number, (amount, chance) in enumerate(rows):
        number_in(f"{place}[{number}][0]", amount, -LARGEST, LARGEST)
        number_in(f"{place}[{number}][1]", chance, 0, 1)
    adding_up(place, {str(number): chance for number, (_, chance) in enumerate(rows)})
    total = math.fsum(chance for _, chance in rows)
    return [(amount, chance / total) for amount, chance in rows if chance]


def equivalent(lottery: Lottery, kind: str = "linear", risk: float = 1.0, wealth: float = 0.0) -> float:
    """The certain amount with the same utility."""
    if kind == "exponential" and risk:
        return -_log_mean([(-risk * amount, chance) for amount, chance in lottery]) / risk
    if kind not in ("log", "power"):
        return math.fsum(amount * chance for amount, chance in lottery)
    if (low := min(amount for amount, _ in lottery) + wealth) <= 1 / LARGEST:
        raise InputError(f"{kind} utility meets {brief(low)}", hint="give a wealth that keeps every amount above 0")
    logs, left = [(math.log(amount + wealth), chance) for amount, chance in lottery], 1 - risk
    if abs(left) < CLOSE:
        return math.exp(math.fsum(each * chance for each, chance in logs)) - wealth
    return math.exp(_log_mean([(left * each, chance) for each, chance in logs]) / left) - wealth


def _log_mean(exponents: Lottery) -> float:
    """The logarithm of a mean of powers of e, counted from the largest so that nothing overflows."""
    top = max(each for each, _ in exponents)
    return top + math.log(math.fsum(chance * math.exp(each - top) for each, chance in exponents))


# Information theory: which attribute or which question tells most about what is not known, in bits.

Rows = list[dict[str, str]]
Answers = Mapping[str, Mapping[str, float]]


class QuestionInputs(NamedTuple):
    prior: Chances
    questions: Named[Inputs]
    costs: Mapping[str, Annotated[float, between(1e-12, LARGEST)]] = EMPTY


@method
def info_theory(given: QuestionInputs, world: World) -> Computed:
    """The question that tells most for its cost."""
    prior, asked = given.prior, given.questions
    only("costs", given.costs, asked)
    costs = {name: given.costs.get(name, 1.0) for name in asked}
    answers = {name: _answers(part, f"questions.{name}", prior) for name, part in asked.items()}
    gains = {name: _expected_gain(prior, table) for name, table in answers.items()}
    rates = {name: gains[name] / costs[name] for name in gains}
    best = leaders(rates, 1 / min(costs.values()))
    others = {name: rate for name, rate in rates.items() if name not in best}
    return Computed(
        f"{either(best)} tells most for its cost: {brief(gains[best[0]])} bits.",
        steps=[
            f"The hypotheses have {brief(entropy(prior.values()))} bits.",
            f"Expected gain in bits: {listed(gains)}.",
            f"Bits for the cost: {listed(rates)}.",
        ],
        would_change=[f"{either(leaders(others))} is better once {either(best)} costs more."] if others else [],
        answer={"best": best, "options": list(gains), "gains": gains},
        notes=["Only the next question is weighed.", f"{len(best)} tell the same." if len(best) > 1 else ""],
    )


def entropy(chances: Iterable[float]) -> float:
    """In bits."""
    return -math.fsum(each * math.log2(each) for each in chances if each) + 0.0


def _answers(table: Inputs, place: str, prior: Mapping[str, float]) -> Answers:
    """The probabilities of the answers to a question under each hypothesis."""
    only(place, table, prior)
    found = {each: read(Any, table.get(each), f"{place}.{each}") for each in prior}
    return {
        each: read(Chances, answer, f"{place}.{each}") if isinstance(answer, Mapping) else {str(answer): 1.0}
        for each, answer in found.items()
    }


def _expected_gain(prior: Mapping[str, float], table: Answers) -> float:
    totals: dict[str, float] = {}
    for each, row in table.items():
        for answer, share in row.items():
            totals[answer] = totals.get(answer, 0.0) + prior[each] * share
    left = math.fsum(prior[each] * entropy(row.values()) for each, row in table.items())
    return max(0.0, entropy(totals.values()) - left)
