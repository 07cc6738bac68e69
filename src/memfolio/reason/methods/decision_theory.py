"""Decision theory: which option to take, by every usual criterion, and what knowing the state would be worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import fmean
from typing import NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import Amount, Chances, Finding, Named, Share, World, method, one_of
from memfolio.reason.methods.flips import brief, either, leaders, linear_flip, listed

MOST_VARIED = 20
"""How many probabilities are varied to find where the choice turns over."""

Row = Named[Amount]
Payoffs = Mapping[str, Row]


class Decision(NamedTuple):
    payoffs: Payoffs
    probabilities: Chances | None = None
    criterion: str | None = None
    optimism: Share = 0.5


@method
def decision_theory(given: Decision, world: World) -> Finding:
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
    return Finding(
        f"Take {either(best)} by {criterion}; {agreeing} of {len(choices)} criteria agree.",
        confidence=agreeing / len(choices),
        steps=[
            *(f"{name}: {listed(each)}." for name, each in scores.items()),
            "" if worth is None else f"Knowing the state beforehand is worth {brief(worth)} at most.",
        ],
        would_change=[
            *(f"{name} would take {either(each)}." for name, each in others.items()),
            *(_probability_flips(payoffs, chances, choices["expected-value"][0]) if chances else ()),
            *_optimism_flip(payoffs, choices["hurwicz"][0], optimism),
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
    for state, share in [each for each in chances.items() if each[1] < 1][:MOST_VARIED]:
        rest = {each: 0.0 if each == state else chances[each] / (1 - share) for each in chances}
        zero = {option: _expected(row, rest) for option, row in payoffs.items()}
        one = {option: row[state] for option, row in payoffs.items()}
        if flip := linear_flip(zero, one, best, share):
            found.append(f"By expected value {flip.leader} is best once {state} {flip.past(share)}.")
    return found


def _optimism_flip(payoffs: Payoffs, best: str, optimism: float) -> list[str]:
    worst, top = ({name: pick(row.values()) for name, row in payoffs.items()} for pick in (min, max))
    flip = linear_flip(worst, top, best, optimism)
    return [f"hurwicz takes {flip.leader} once optimism {flip.past(optimism)}."] if flip else []
