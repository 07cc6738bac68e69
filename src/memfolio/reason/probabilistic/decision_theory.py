"""Decision theory: which option to take, by every usual criterion, and what knowing more would be worth.

payoffs: an object, each option with an object: each state of the world with the payoff (costs are negative)
probabilities: an object, each state with its probability; without it, only the criteria that need none are used
criterion: the one that decides, such as maximin; expected-value with probabilities, else minimax-regret
optimism: the weight of the best payoff in Hurwicz's criterion, from 0 to 1; 0.5
test: an object, each outcome of a test with an object: each state with the probability of that outcome in it
test_cost: what the test costs; 0
tree: instead of these, a tree: a payoff, {"choose": {name: tree}} or {"chance": {name: {"probability", "then": tree}}}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from memfolio.errors import InputError
from memfolio.reason.given import Given, adding_up, number_in
from memfolio.reason.probabilistic.flips import brief, leaders, linear_flip, listed, passing, searched_flip
from memfolio.reason.result import Result
from memfolio.reason.world import World

CRITERIA = ("expected-value", "maximin", "maximax", "minimax-regret", "hurwicz", "laplace")
DEEPEST = 50
LARGE = 1000
MOST_CHANCES = 20
"""How many chances are varied to find where the choice turns over."""

Payoffs = dict[str, dict[str, float]]


def reason(given: Given, world: World) -> Result:
    """The option that the criterion picks, what the others pick, and where the choice turns over."""
    return _tree(given, world) if "tree" in given else _table(given, world)


def _table(given: Given, world: World) -> Result:
    given.only("payoffs", "probabilities", "criterion", "optimism", "test", "test_cost")
    payoffs = {name: each.weights(name) for each in [given.part("payoffs")] for name in each.names()}
    states = list(next(iter(payoffs.values()), {}))
    if not states or any(set(row) != set(states) for row in payoffs.values()):
        raise InputError("payoffs is empty or its options differ in their states", hint="give each option every state")
    chances = given.distribution("probabilities") if "probabilities" in given else {}
    if chances and set(chances) != set(states):
        raise InputError("probabilities and payoffs name different states", hint=f"name {', '.join(states)[:80]}")
    scores = _scores(payoffs, chances, given.number("optimism", 0.5, low=0, high=1))
    criterion = given.choice("criterion", list(scores), "expected-value" if chances else "minimax-regret")
    choices = {name: leaders(each) for name, each in scores.items()}
    best = choices[criterion]
    others = {name: each for name, each in choices.items() if each != best}
    worth, worth_steps = _worth(given, payoffs, chances) if chances else ({}, [])
    dominated = _dominated(payoffs) if len(payoffs) ** 2 * len(states) <= world.settings.work else []
    agreeing = len(choices) - len(others)
    return Result(
        method="decision-theory",
        conclusion=f"Take {' or '.join(best)} by {criterion}; {agreeing} of {len(choices)} criteria agree.",
        confidence=agreeing / len(choices),
        steps=(*(f"{name}: {listed(each)}." for name, each in scores.items()), *worth_steps, *dominated),
        would_change=(
            *(f"{name} would take {' or '.join(each)}." for name, each in others.items()),
            *(_probability_flips(payoffs, chances, choices["expected-value"][0]) if chances else ()),
            *_optimism_flip(payoffs, choices["hurwicz"][0], given.number("optimism", 0.5)),
        ),
        inputs=given.used,
        answer={"best": best, "criterion": criterion, "scores": scores, "choices": choices, **worth},
        notes=(
            "The confidence is the share of the criteria that agree, not a probability.",
            "Regrets are shown as negative numbers: the largest is best.",
            *([f"{' and '.join(best)} tie."] if len(best) > 1 else []),
        ),
    )


def _expected(row: Mapping[str, float], chances: Mapping[str, float]) -> float:
    return math.fsum(chances[state] * row[state] for state in chances)


def _scores(payoffs: Payoffs, chances: dict[str, float], optimism: float) -> dict[str, dict[str, float]]:
    top = {state: max(row[state] for row in payoffs.values()) for state in next(iter(payoffs.values()))}
    judged: dict[str, Callable[[dict[str, float]], float]] = {
        "expected-value": lambda row: _expected(row, chances),
        "maximin": lambda row: min(row.values()),
        "maximax": lambda row: max(row.values()),
        "minimax-regret": lambda row: -max(top[state] - row[state] for state in row),
        "hurwicz": lambda row: optimism * max(row.values()) + (1 - optimism) * min(row.values()),
        "laplace": lambda row: math.fsum(row.values()) / len(row),
    }
    used = CRITERIA if chances else CRITERIA[1:]
    return {name: {option: judged[name](row) for option, row in payoffs.items()} for name in used}


def _dominated(payoffs: Payoffs) -> list[str]:
    return [
        f"{worse} is dominated: {better} is never worse and sometimes better."
        for worse, low in payoffs.items()
        for better, high in payoffs.items()
        if low != high and all(high[state] >= low[state] for state in low)
    ][:20]


def _worth(given: Given, payoffs: Payoffs, chances: dict[str, float]) -> tuple[dict[str, float], list[str]]:
    """What perfect information is worth at most, and what the given test is worth."""
    plain = max(_expected(row, chances) for row in payoffs.values())
    perfect = _expected({state: max(row[state] for row in payoffs.values()) for state in chances}, chances) - plain
    steps = [f"Knowing the state beforehand is worth {brief(perfect)} (perfect information)."]
    if "test" not in given:
        return {"perfect_information": perfect}, steps
    test = {name: {state: row.share(state) for state in chances} for name, row in given.by_name("test").items()}
    for state in chances:
        adding_up(f"test for {state}", {name: row[state] for name, row in test.items()})
    gross = 0.0
    for outcome, row in test.items():
        joint = {state: chances[state] * row[state] for state in chances}
        values = {option: _expected(payoff, joint) for option, payoff in payoffs.items()}
        gross += max(values.values())
        if total := math.fsum(joint.values()):
            steps.append(f"After {outcome} (probability {brief(total)}) take {' or '.join(leaders(values))}.")
    cost = given.number("test_cost", 0, low=0)
    verdict = "worth its cost" if gross - plain > cost else "not worth its cost"
    steps.append(f"The test is worth {brief(gross - plain)} and costs {brief(cost)}: {verdict}.")
    return {"perfect_information": perfect, "test_information": gross - plain, "with_test": gross - cost}, steps


def _probability_flips(payoffs: Payoffs, chances: dict[str, float], best: str) -> list[str]:
    """For each state, the probability at which another option has the best expected value."""
    found = []
    for state, share in list(chances.items())[:MOST_CHANCES]:
        rest = {each: 0.0 if each == state else chances[each] / (1 - share) for each in chances if share < 1}
        zero = {option: _expected(row, rest) for option, row in payoffs.items()}
        one = {option: row[state] for option, row in payoffs.items()}
        if rest and (flip := linear_flip(zero, one, best, share)):
            found.append(f"By expected value {flip[1]} is best once {state} {passing(flip[0], share)}.")
    return found


def _optimism_flip(payoffs: Payoffs, best: str, optimism: float) -> list[str]:
    worst, top = ({name: pick(row.values()) for name, row in payoffs.items()} for pick in (min, max))
    flip = linear_flip(worst, top, best, optimism)
    return [f"hurwicz takes {flip[1]} once optimism {passing(flip[0], optimism)}."] if flip else []


def _tree(given: Given, world: World) -> Result:
    given.only("tree")
    tree = given.value("tree")
    chances = list(_chances(tree, "tree", world.settings.work))
    value, first, steps = _rolled(tree)
    flips = []
    for place, node in chances[:MOST_CHANCES] if len(chances) <= LARGE else []:
        name, branch = next(iter(node["chance"].items()))
        if flip := searched_flip(partial(_first, tree, node), branch["probability"], 0, 1):
            flips.append(f"{flip[1]} is better once {place}.{name} {passing(flip[0], branch['probability'])}.")
    return Result(
        method="decision-theory",
        conclusion=f"{f'Choose {first} first: the' if first else 'The'} expected payoff is {brief(value)}.",
        steps=tuple(steps[:50]),
        would_change=tuple(flips),
        inputs=given.used,
        answer={"value": value, "first": first},
        notes=("Each chance was varied by its first branch, the others in proportion; large trees are not varied.",),
    )


def _first(tree: Any, varied: Any, share: float) -> str:
    return _rolled(tree, varied, share)[1]


def _chances(tree: Any, place: str, work: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every chance of a tree that was found to be one."""
    waiting, seen = [(tree, place, 0)], 0
    while waiting:
        node, place, depth = waiting.pop()
        seen += 1
        if depth > DEEPEST or seen > work:
            raise InputError(f"the tree is too large at {place[:80]}", hint=f"give at most {DEEPEST} levels")
        if not isinstance(node, dict):
            number_in(place, node)
            continue
        inside = Given(node, place)
        inside.only("choose", "chance")
        if "choose" in node:
            branches = inside.part("choose")
            below = [(name, branches.value(name)) for name in branches.names()]
        else:
            parts = inside.by_name("chance")
            adding_up(f"{place}.chance", {name: part.share("probability") for name, part in parts.items()})
            below = [(name, part.value("then", wanted="a tree")) for name, part in parts.items()]
            yield place, node
        if not below or len(node) != 1:
            raise InputError(f"{place} has no branches, or both kinds", hint="give one of choose and chance")
        waiting += [(each, f"{place}.{name}", depth + 1) for name, each in below]


def _rolled(node: Any, varied: Any = None, share: float = 0.0, path: str = "") -> tuple[float, str, list[str]]:
    """The value of a tree from its ends back, its first choice, and a step for each choice."""
    if not isinstance(node, dict):
        return float(node), "", []
    branches = node.get("choose") or {name: each["then"] for name, each in node["chance"].items()}
    rolled = {name: _rolled(below, varied, share, f"{path}{name} → ") for name, below in branches.items()}
    values, steps = (
        {name: each[0] for name, each in rolled.items()},
        [step for each in rolled.values() for step in each[2]],
    )
    if "choose" in node:
        best = leaders(values)[0]
        return values[best], best, [*steps, f"{path}choose {best} of {listed(values)}."]
    chances = {name: float(each["probability"]) for name, each in node["chance"].items()}
    if node is varied and len(chances) > 1:
        name, *others = chances
        left = 1 - chances[name]
        moved = {each: (1 - share) * (chances[each] / left if left else 1 / len(others)) for each in others}
        chances = {name: share, **moved}
    return _expected(values, chances), "", steps
