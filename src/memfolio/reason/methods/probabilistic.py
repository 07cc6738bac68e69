"""Probabilistic methods: evidence, choices under uncertainty, what to ask next, samples, and degrees of truth."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from statistics import NormalDist, fmean
from typing import Annotated, Any, Literal, NamedTuple

from memfolio.arguments import check_known
from memfolio.errors import InputError
from memfolio.machine import install_command
from memfolio.reason.expression import Expression, evaluate, expression
from memfolio.reason.inputs import (
    CLOSE,
    LARGEST,
    Amount,
    Chances,
    Computed,
    Confidence,
    Effort,
    Inputs,
    Matrix,
    Named,
    Several,
    Share,
    Texts,
    Whole,
    World,
    adding_up,
    between,
    brief,
    either,
    leaders,
    linear_flip,
    listed,
    method,
    number_in,
    one_of,
    only,
    read,
    sized,
    wilson,
)
from memfolio.reason.methods.causal import Case, CausalModel, Model, Value, read_model
from memfolio.types import EMPTY, frozen

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
    # Whoever gives likelihoods and no evidence means that all of it was seen.
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
    # Of two, one is what the other leaves: to vary both would say the same twice.
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
    # States are told by the names that they were given, though true counts as 1.
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
    # Ties are judged by the size of the payoffs: differences of large numbers round.
    scale = max(abs(each) for row in payoffs.values() for each in row.values())
    choices = {name: leaders(each, scale) for name, each in scores.items()}
    best = choices[criterion]
    others = {name: each for name, each in choices.items() if each != best}
    best_known = _expected(_best_by_state(payoffs), chances)
    worth = best_known - max(scores["expected-value"].values()) if chances else None
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


def _probability_flips(payoffs: Payoffs, chances: Mapping[str, float], best: str) -> list[str]:
    """For each state, the probability at which another option has the best expected value."""
    found = []
    for state, share in [each for each in chances.items() if each[1] < 1][:MOST_STATES_VARIED]:
        # The others keep their proportions, so each expected value is linear in the share.
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
    # They add up to 1 up to rounding; the rest of that is taken out here.
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
    # Power utility with a risk of 1 is logarithmic.
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
    # A gain is at most some bits, so a rate is at most about 1 / the least cost.
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
        notes=[f"{len(best)} tell the same." if len(best) > 1 else ""],
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


# Monte Carlo: what a formula over uncertain quantities comes to, by drawing them many times.

KINDS = {
    "normal": ("mean", "sd"),
    "uniform": ("low", "high"),
    "triangular": ("low", "mode", "high"),
    "lognormal": ("log_mean", "log_sd"),
    "beta": ("a", "b"),
    "discrete": ("values", "chances"),
}
MOST_NUMBERS = 50_000_000
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_SHOWN = 20


class Simulation(NamedTuple):
    formula: str
    variables: Named[Inputs]
    condition: str | None = None
    confidence: Confidence = 0.95
    samples: int | None = None
    seed: Whole = 0


@method
def monte_carlo(given: Simulation, world: World) -> Computed:
    """The mean of the formula, its spread, how probable the condition is, and which variable matters most."""
    import numpy

    most = world.settings.samples
    samples = int(number_in("samples", given.samples or most, 100, most))
    # The same seed draws the same numbers: a result can be repeated.
    drawn = _draws(given, samples)
    found = _computed("formula", given.formula, drawn, samples)
    z = NormalDist().inv_cdf((1 + given.confidence) / 2)
    mean, error = float(found.mean()), float(found.std(ddof=1)) / math.sqrt(samples)
    interval = [mean - z * error, mean + z * error]
    quantiles = {f"{q:g}": float(numpy.quantile(found, q)) for q in QUANTILES}
    answer = {"mean": mean, "interval": interval, "quantiles": quantiles, "error": error}
    what, summary = "mean", f"The mean is {brief(mean)}, from {brief(interval[0])} to {brief(interval[1])}."
    conclusion = summary
    if given.condition:
        what, found = "probability", _computed("condition", given.condition, {**drawn, "result": found}, samples) != 0
        low, high = wilson(int(found.sum()), samples, z)
        share = float(found.mean())
        answer |= {"probability": share, "probability_interval": [low, high]}
        conclusion = f"{given.condition} has a probability of {brief(share)} ({brief(low)} to {brief(high)})."
    # One variable at a time, the others as they were drawn.
    swings = {name: _swing(each, found) for name, each in drawn.items()}
    order = sorted(swings, key=lambda name: -abs(swings[name][1] - swings[name][0]))
    return Computed(
        conclusion,
        confidence=given.confidence,
        steps=[
            f"{samples:,} draws. {summary}",
            "Quantiles: " + ", ".join(f"{float(q):.0%} {brief(each)}" for q, each in quantiles.items()) + ".",
        ],
        would_change=[
            f"The {what} goes from {brief(swings[name][0])} to {brief(swings[name][1])} as {name} goes from its lowest "
            "to its highest tenth."
            for name in order[:MOST_SHOWN]
        ],
        answer=answer | {"influence": {name: swings[name][1] - swings[name][0] for name in order}},
        notes=[
            f"Four times the draws halve the error of {brief(error)}; what is so rare that no draw met it is missed."
        ],
    )


def _draws(given: Simulation, samples: int) -> dict[str, Any]:
    """Every variable drawn; one that is not called by a formula is drawn all the same."""
    import numpy

    parts = given.variables
    if "result" in parts:
        raise InputError("a variable is called result", hint="call it something else: that is what the formula gives")
    if len(parts) * samples > MOST_NUMBERS:
        raise InputError(f"{len(parts)} variables × {samples:,} samples are too many", hint="give fewer of either")
    draws = numpy.random.default_rng(given.seed)
    return {name: _drawn(part, f"variables.{name}", draws, samples) for name, part in parts.items()}


def _computed(name: str, text: str, drawn: Mapping[str, Any], samples: int) -> Any:
    """A formula for each draw; one that gives no number somewhere is refused."""
    import numpy

    found = evaluate(name, text, drawn) * numpy.ones(samples)
    if bad := int((~(abs(found) <= LARGEST)).sum()):
        hint = f"keep it defined and below {LARGEST:g}"
        raise InputError(f"{name} gives no number in {bad:,} of {samples:,} draws", hint=hint)
    return found


def _drawn(given: Inputs, place: str, draws: Any, samples: int) -> Any:
    kind = one_of(f"{place}.is", read(str, given.get("is"), f"{place}.is"), KINDS)
    only(place, given, ("is", *KINDS[kind]))
    if kind == "discrete":
        values = read(Sequence[Amount], given.get("values"), f"{place}.values")
        chances = read(Sequence[Share], given.get("chances"), f"{place}.chances")
        adding_up(f"{place}.chances", {str(i): each for i, each in enumerate(chances)})
        if len(values) != len(chances):
            raise InputError(f"{place} has {len(values)} values and {len(chances)} chances", hint="give as many")
        return draws.choice(values, samples, p=[each / math.fsum(chances) for each in chances])
    most = 100 if kind == "lognormal" else LARGEST
    numbers = [
        number_in(f"{place}.{name}", read(float, given.get(name), f"{place}.{name}"), -most, most)
        for name in KINDS[kind]
    ]
    makes_sense = {
        "beta": min(numbers) > 0,
        "normal": numbers[-1] >= 0,
        "lognormal": 0 <= numbers[-1] <= 10,
    }.get(kind, numbers == sorted(numbers) and numbers[0] < numbers[-1])
    if not makes_sense:
        wanted = "a, b over 0; sd not negative, log_sd to 10; low ≤ mode ≤ high"
        raise InputError(f"{place} is {kind} with {', '.join(map(brief, numbers))}", hint=wanted)
    return getattr(draws, kind)(*numbers, samples)


def _swing(values: Any, found: Any) -> tuple[float, float]:
    """What the mean is where a variable is in its lowest and in its highest tenth."""
    import numpy

    low, high = numpy.quantile(values, [0.1, 0.9])
    return float(found[values <= low].mean()), float(found[values >= high].mean())


# Statistics: whether data speak against chance, and how large the effect is.

MOST_COUNTED = 1_000_000
Groups = Sequence[Sequence[float]]


class Samples(NamedTuple):
    samples: Annotated[Mapping[str, Annotated[Sequence[Amount], sized(2)]], sized(1, 20)]
    paired: bool = False
    relation: bool = False
    against: Amount | None = None
    confidence: Confidence = 0.95


class CountTable(NamedTuple):
    table: Matrix
    chance: Share = 0.5
    confidence: Confidence = 0.95


class Tested(NamedTuple):
    """What a test found; for some effects there is no interval."""

    test: str
    statistic: float
    p: float
    effect: str
    size: float
    interval: Any = None
    note: str = ""


@method
def statistical(given: Samples | CountTable, world: World) -> Computed:
    """What the fitting test says, with the size of the effect and what was assumed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _of_counts(given) if isinstance(given, CountTable) else _of_samples(given)
    # Constant data: scipy answers nan instead of refusing.
    if not math.isfinite(found.p):
        raise InputError(f"{found.test} gives no p-value for these data", hint="give more data, and data that vary")
    level = 1 - given.confidence
    is_significant, size = bool(found.p <= level), f"{found.effect}: {brief(found.size)}"
    if found.interval is not None:
        size += f" ({given.confidence:.4g} interval {' to '.join(map(brief, found.interval))})"
    verdict = "The data speak against chance alone" if is_significant else "The data do not rule out chance alone"
    interval = None if found.interval is None else [_finite(each) for each in found.interval]
    return Computed(
        f"{verdict} ({found.test}, p = {brief(found.p)}); {size}.",
        steps=[f"{found.test}: statistic {brief(found.statistic)}, p = {brief(found.p)} (two-sided).", f"{size}."],
        would_change=[f"It turns over at a level of significance of {brief(found.p)} ({brief(level)} was asked for)."],
        answer={
            "test": found.test,
            "statistic": _finite(found.statistic),
            "p": float(found.p),
            "significant": is_significant,
            "effect": {"name": found.effect, "size": _finite(found.size), "interval": interval},
        },
        notes=[found.note],
    )


def _scipy_stats() -> Any:
    """The module of scipy, which is an extra; InputError with the line that installs it."""
    try:
        return import_module("scipy.stats")
    except ImportError as error:
        raise InputError("this method needs scipy, which is not installed", hint=install_command("reason")) from error


def _of_samples(given: Samples) -> Tested:
    stats, data, paired, relation = _scipy_stats(), list(given.samples.values()), given.paired, given.relation
    if (paired or relation) and (paired == relation or len(data) != 2 or len(data[0]) != len(data[1])):
        raise InputError("the groups do not fit", hint="say paired or relation, with two groups of one length")
    if given.against is not None and len(data) > 1:
        raise InputError("against is given for several groups", hint="give it for one group only")
    if relation:
        found = stats.pearsonr(*data)
        # Fisher's transformation needs four pairs.
        interval = found.confidence_interval(given.confidence) if len(data[0]) > 3 else None
        note = "Pearson's correlation sees straight lines only."
        return Tested("Pearson", found.statistic, found.pvalue, "correlation", found.statistic, interval, note)
    if len(data) > 2:
        found, free = stats.f_oneway(*data), len(data) - 1
        size = found.statistic * free / (found.statistic * free + sum(map(len, data)) - len(data))
        return Tested("one-way ANOVA", found.statistic, found.pvalue, "eta squared", size, note=NORMAL)
    if len(data) == 2 and not paired:
        test, against, found = "Welch t", 0.0, stats.ttest_ind(*data, equal_var=False)
        gap = fmean(data[0]) - fmean(data[1])
    else:
        test, against = ("paired t", 0.0) if paired else ("one-sample t", given.against or 0.0)
        numbers = [a - b for a, b in zip(*data, strict=True)] if paired else data[0]
        found, gap = stats.ttest_1samp(numbers, against), fmean(numbers) - against
    interval = [each - against for each in found.confidence_interval(given.confidence)]
    return Tested(test, found.statistic, found.pvalue, "difference of means", gap, interval, NORMAL)


NORMAL = "The numbers, or their means where there are many, are taken as normal."


def _of_counts(given: CountTable) -> Tested:
    stats, table = _scipy_stats(), given.table
    if any(not 0 <= each <= MOST_COUNTED or each != int(each) for row in table for each in row):
        raise InputError("a count is negative or no whole number", hint=f"give counts from 0 to {MOST_COUNTED:,}")
    rows = [[int(each) for each in row] for row in table]
    columns = [sum(column) for column in zip(*rows, strict=True)]
    if len(rows) == 1 and len(columns) == 2 and sum(columns):
        hits, trials = rows[0][0], sum(columns)
        found = stats.binomtest(hits, trials, given.chance)
        return Tested("binomial", hits, found.pvalue, "share", hits / trials, found.proportion_ci(given.confidence))
    if min(len(rows), len(columns)) < 2 or not all(columns) or not all(map(sum, rows)):
        hint = "give two or more of each, not empty"
        raise InputError("a row or a column of the counts is empty or alone", hint=hint)
    if len(rows) == len(columns) == 2:
        ratio, p = stats.contingency.odds_ratio(rows), stats.fisher_exact(rows).pvalue
        interval = ratio.confidence_interval(given.confidence)
        return Tested("Fisher exact", ratio.statistic, p, "odds ratio", ratio.statistic, interval)
    found = stats.chi2_contingency(rows, correction=False)
    size = math.sqrt(found.statistic / (sum(columns) * (min(len(rows), len(columns)) - 1)))
    note = "Some expected counts are below 5: chi-square is rough." if found.expected_freq.min() < 5 else ""
    return Tested("chi-square", found.statistic, found.pvalue, "Cramér's V", size, note=note)


def _finite(value: float) -> float | None:
    """A number as JSON can hold it: an odds ratio may be infinite."""
    return float(value) if math.isfinite(value) else None


# Fuzzy logic: what rules in words conclude from numbers (Mamdani).

POINTS = 1001
"""At how many points of its range a conclusion is looked at."""
FORM = "write: if A is x and (B is y or C is not z) then D is w; variables and words are single words"


@frozen
class FuzzyVariable:
    """A quantity and the words for it, each with the four corners of a trapezoid."""

    low: float
    high: float
    sets: Mapping[str, list[float]]
    points: Any
    """Where its range is looked at: evenly, and at the corners of every set, which may be narrow."""

    def degree(self, word: str, at: Any) -> Any:
        """How far a number, or each of several, is what the word says."""
        import numpy

        (a, b, c, d), at = self.sets[word], numpy.asarray(at, dtype=float)
        with numpy.errstate(over="ignore"):
            # A vertical side is a step.
            rising = (at - a) / (b - a) if b > a else numpy.where(at >= a, 1.0, 0.0)
            falling = (d - at) / (d - c) if d > c else numpy.where(at <= d, 1.0, 0.0)
        return numpy.clip(numpy.minimum(rising, falling), 0, 1)

    def fits(self, at: float) -> dict[str, float]:
        """How far a number is what each word says."""
        return {word: float(self.degree(word, at)) for word in self.sets}

    def word(self, at: float | None) -> str:
        """The word that fits a number best."""
        return "nothing" if at is None else leaders(self.fits(at))[0]


@frozen
class FuzzyRules:
    """Rules, each a condition and the word it concludes for a variable."""

    variables: Mapping[str, FuzzyVariable]
    rules: list[tuple[Expression, str, str]]

    def degrees(self, values: Mapping[str, float]) -> list[float]:
        """How far each rule holds."""
        return [self._degree(condition, values) for condition, _, _ in self.rules]

    def conclude(self, values: Mapping[str, float]) -> dict[str, float | None]:
        """The centre of what the rules say about each variable, cut to how far they hold; None where none holds."""
        import numpy

        found: dict[str, float | None] = {}
        degrees = self.degrees(values)
        for name in dict.fromkeys(variable for _, variable, _ in self.rules):
            concluded = [
                (word, degree) for (_, each, word), degree in zip(self.rules, degrees, strict=True) if each == name
            ]
            at = self.variables[name].points
            cut = [numpy.minimum(self.variables[name].degree(word, at), degree) for word, degree in concluded]
            height = numpy.max(cut, axis=0)
            area = float(numpy.trapezoid(height, at))
            found[name] = float(numpy.trapezoid(height * at, at)) / area if area > 0 else None
        return found

    def _degree(self, term: Expression, values: Mapping[str, float]) -> float:
        """How far a condition holds; what is none is refused."""
        if term.op in ("and", "or"):
            return (min if term.op == "and" else max)(self._degree(part, values) for part in term.parts)
        if term.op == "not":
            return 1 - self._degree(term.parts[0], values)
        if term.op == "is" and term.parts[1].op == "not":
            return 1 - self._degree(Expression("is", (term.parts[0], term.parts[1].parts[0])), values)
        name, word = _statement(term)
        self.check(name, word)
        if name not in values:
            raise InputError(f"values.{name} is missing", hint="give a number for it")
        return float(self.variables[name].degree(word, values[name]))

    def check(self, name: str, word: str) -> None:
        """Refuse a variable that there is not, or a word that it does not have."""
        check_known("a rule names", [name], self.variables)
        check_known(f"a rule says {name} is", [word], self.variables[name].sets)


class Shape(NamedTuple):
    triangle: Sequence[Amount] = ()
    trapezoid: Sequence[Amount] = ()

    def corners(self, place: str) -> list[float]:
        """The four corners; a triangle has two of them in one place."""
        a, *middle, d = corners = [*self.triangle, *self.trapezoid]
        if (len(self.triangle), len(self.trapezoid)) not in ((3, 0), (0, 4)) or corners != sorted(corners) or a == d:
            raise InputError(f"{place} is no set", hint="give a rising triangle or trapezoid")
        return [a, middle[0], middle[-1], d]


class Quantity(NamedTuple):
    low: Amount
    high: Amount
    sets: Named[Shape]


class Fuzzy(NamedTuple):
    variables: Annotated[Mapping[str, Quantity], sized(2)]
    rules: Annotated[Texts, sized(1, 200)]
    values: Mapping[str, float]


@method
def fuzzy(given: Fuzzy, world: World) -> Computed:
    """The number each conclusion comes to, and how far each rule held."""
    variables = {name: _variable(part, f"variables.{name}") for name, part in given.variables.items()}
    texts, values = given.rules, given.values
    rules = FuzzyRules(variables=variables, rules=[_rule(f"rules[{n}]", text) for n, text in enumerate(texts)])
    for _, name, word in rules.rules:
        rules.check(name, word)
    only("values", values, variables)
    for name, value in values.items():
        number_in(f"values.{name}", value, variables[name].low, variables[name].high)
    degrees, found = rules.degrees(values), rules.conclude(values)
    words = {name: variables[name].word(at) for name, at in found.items()}
    concluded = [f"{name} is {brief(at)} ({words[name]})" for name, at in found.items() if at is not None]
    silent = [f"no rule says anything about {name}" for name, at in found.items() if at is None]
    return Computed(
        "; ".join([*concluded, *silent]) + ".",
        steps=[
            *(f"{name} {brief(at)}: {listed(variables[name].fits(at))}." for name, at in values.items()),
            *(f"{brief(degree)}: {text}." for degree, text in zip(degrees, texts, strict=True)),
        ],
        would_change=[f"With other values than {listed(values)} other rules would hold."],
        answer={"values": found, "words": words, "rules": degrees},
    )


def _variable(given: Quantity, place: str) -> FuzzyVariable:
    import numpy

    low, high = given.low, given.high
    number_in(f"{place}.high", high, math.nextafter(low, math.inf))
    sets, points = {}, list(numpy.linspace(low, high, POINTS))
    for word, shape in given.sets.items():
        sets[word] = corners = shape.corners(f"{place}.sets.{word}")
        points += corners
        if corners[0] >= high or corners[-1] <= low:
            raise InputError(f"{place}.sets.{word} lies outside its range", hint=f"let it reach {low:g} to {high:g}")
    return FuzzyVariable(low=low, high=high, sets=sets, points=numpy.unique(numpy.clip(points, low, high)))


def _rule(place: str, text: str) -> tuple[Expression, str, str]:
    condition, _, conclusion = text.removeprefix("if ").partition(" then ")
    return expression(condition, place, FORM), *_statement(expression(conclusion, place, FORM))


def _statement(term: Expression) -> tuple[str, str]:
    """The variable and the word of `service is poor`."""
    if term.op != "is" or any(part.op != "name" for part in term.parts):
        raise InputError(f"a rule has {str(term)[:60]!r} where a statement belongs", hint=FORM)
    name, word = term.parts
    return str(name.value), str(word.value)
