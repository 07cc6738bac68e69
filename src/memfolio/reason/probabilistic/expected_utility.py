"""Expected utility: which lottery somebody with given tastes prefers, what it is worth, and whether tastes agree.

lotteries: an object, each lottery with a list of [amount, probability]
utility: linear, log, exponential (constant absolute risk aversion), power (constant relative) or points; linear
risk: how averse to risk the exponential or power utility is; 1
points: for the utility `points`, a list of [amount, utility], both rising; between them it is linear
wealth: what is owned beside the lottery; 0
preferences: a list of "A over B"; with them, whether any tastes at all fit all of them (needs scipy)
acts: for preferences under unknown odds, an object: each act with an object: each state with the amount
known: an object, some of these states with their known probability
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from itertools import pairwise, permutations
from typing import Any

from memfolio.errors import InputError
from memfolio.reason.given import Given, adding_up
from memfolio.reason.probabilistic.flips import CLOSE, brief, leaders, listed, passing, searched_flip
from memfolio.reason.probabilistic.scientific import scientific
from memfolio.reason.result import Result
from memfolio.reason.world import World

UTILITIES = ("linear", "log", "exponential", "power", "points")
MOST_PREFERENCES = 100
MOST_AMOUNTS = 300

Lottery = list[tuple[float, float]]


def reason(given: Given, world: World) -> Result:
    """The lottery that is worth most, or whether stated preferences can all be held together."""
    given.only("lotteries", "utility", "risk", "points", "wealth", "preferences", "acts", "known")
    return _consistency(given) if "preferences" in given else _ranking(given, world)


def _ranking(given: Given, world: World) -> Result:
    lotteries = _lotteries(given)
    kind = given.choice("utility", UTILITIES, "linear")
    risk, wealth = given.number("risk", 1), given.number("wealth", 0)
    points = _points(given) if kind == "points" else []

    def worth(lottery: Lottery, risk: float = risk, wealth: float = wealth) -> float:
        return _equivalent([(amount + wealth, chance) for amount, chance in lottery], kind, risk, points) - wealth

    sure = {name: worth(lottery) for name, lottery in lotteries.items()}
    means = {name: _equivalent(lottery, "linear", 0, []) for name, lottery in lotteries.items()}
    best, premiums = leaders(sure), {name: means[name] - sure[name] for name in sure}
    flips = _taste_flips(lotteries, kind, risk, wealth, worth)
    if kind in ("linear", "exponential") and len(best) < len(sure):
        second = leaders({name: each for name, each in sure.items() if name not in best})[0]
        gap = brief(sure[best[0]] - sure[second])
        flips.append(f"{second} is preferred once every outcome of {best[0]} is {gap} less.")
    is_small = sum(map(len, lotteries.values())) ** 2 <= world.settings.work
    return Result(
        method="expected-utility",
        conclusion=f"{' or '.join(best)} is preferred: it is worth {brief(sure[best[0]])} for certain.",
        steps=(
            f"Expected amounts: {listed(means)}.",
            f"Worth for certain with {kind} utility: {listed(sure)}.",
            f"Given up for certainty: {listed(premiums)}.",
            *(_dominances(lotteries) if is_small else ["Dominance was not looked for among so many."]),
        ),
        would_change=tuple(flips),
        inputs=given.used,
        answer={"best": best, "equivalents": sure, "means": means, "premiums": premiums},
        notes=("The choice holds for these tastes; no chance is attached to it.",)
        + ((f"{' and '.join(best)} are worth the same.",) if len(best) > 1 else ()),
    )


def _lotteries(given: Given) -> dict[str, Lottery]:
    inside = given.part("lotteries")
    found = {}
    for name in inside.names():
        rows = inside.matrix(name)
        if len(rows[0]) != 2 or any(chance < 0 for _, chance in rows):
            raise InputError(f"lotteries.{name} has a row that is no pair", hint="give [amount, probability] pairs")
        adding_up(f"lotteries.{name}", {str(number): row[1] for number, row in enumerate(rows)})
        found[name] = [(amount, chance) for amount, chance in rows if chance]
    if not found:
        raise InputError("lotteries is empty", hint="give at least one lottery")
    return found


def _points(given: Given) -> list[list[float]]:
    points = given.matrix("points")
    is_rising = all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(points))
    if len(points[0]) != 2 or len(points) < 2 or not is_rising:
        raise InputError("points is no rising line", hint="give two or more [amount, utility] pairs, both rising")
    return points


def _equivalent(lottery: Lottery, kind: str, risk: float, points: list[list[float]]) -> float:
    """The certain amount with the same utility, scaled so that nothing overflows."""
    low, high = min(amount for amount, _ in lottery), max(amount for amount, _ in lottery)
    if kind in ("log", "power") and low <= 0:
        raise InputError(f"{kind} utility meets {brief(low)}", hint="give a wealth that keeps every amount above 0")
    if kind == "log" or (kind == "power" and abs(risk - 1) < CLOSE):
        return math.exp(math.fsum(chance * math.log(amount) for amount, chance in lottery))
    if kind == "power":
        base = low if risk > 1 else high
        share = math.fsum(chance * (amount / base) ** (1 - risk) for amount, chance in lottery)
        return float(base * share ** (1 / (1 - risk)))
    if kind == "exponential" and risk:
        base = low if risk > 0 else high
        return base - math.log1p(math.fsum(chance * math.expm1(-risk * (x - base)) for x, chance in lottery)) / risk
    if kind == "points":
        return _between(points, math.fsum(chance * _between(points, x, 0) for x, chance in lottery), 1)
    return math.fsum(amount * chance for amount, chance in lottery)


def _between(points: list[list[float]], value: float, axis: int) -> float:
    """Where a value on one axis of a line lies on the other."""
    if not points[0][axis] - CLOSE <= value <= points[-1][axis] + CLOSE:
        raise InputError(f"points do not reach {brief(value)}", hint="give points around every amount")
    place = min(max(1, bisect.bisect_left([point[axis] for point in points], value)), len(points) - 1)
    low, high = points[place - 1], points[place]
    return low[1 - axis] + (high[1 - axis] - low[1 - axis]) * (value - low[axis]) / (high[axis] - low[axis])


def _dominances(lotteries: dict[str, Lottery]) -> list[str]:
    found = []
    for (one, first), (other, second) in permutations(lotteries.items(), 2):
        if order := dominance(first, second):
            who = "everybody who wants more" if order == 1 else "everybody who also avoids risk"
            found.append(f"{one} dominates {other} in order {order}: {who} prefers it.")
    return found[:20]


def dominance(first: Lottery, second: Lottery) -> int:
    """1 or 2 if the first lottery dominates the second stochastically in that order, else 0."""
    amounts = sorted({amount for amount, _ in first + second})
    gaps = [_below(second, amount) - _below(first, amount) for amount in amounts]
    if all(abs(gap) < CLOSE for gap in gaps):
        return 0
    if all(gap > -CLOSE for gap in gaps):
        return 1
    area, areas = 0.0, []
    for gap, amount, following in zip(gaps, amounts, amounts[1:], strict=False):
        area += gap * (following - amount)
        areas.append(area)
    return 2 if all(each > -CLOSE * max(1, abs(amounts[-1] - amounts[0])) for each in areas) else 0


def _below(lottery: Lottery, amount: float) -> float:
    return math.fsum(chance for each, chance in lottery if each <= amount)


def _taste_flips(
    lotteries: dict[str, Lottery],
    kind: str,
    risk: float,
    wealth: float,
    worth: Callable[[Lottery, float, float], float],
) -> list[str]:
    def led(risk: float, wealth: float) -> str:
        return leaders({name: worth(lottery, risk, wealth) for name, lottery in lotteries.items()})[0]

    amounts = [amount for lottery in lotteries.values() for amount, _ in lottery]
    low, span = -min(amounts), max(max(amounts) - min(amounts), 1.0)
    tried = []
    if kind in ("exponential", "power"):
        tried.append(("risk", risk, searched_flip(lambda each: led(each, wealth), risk, 0, max(10 * risk, CLOSE))))
    if kind in ("log", "power"):
        ends = low + span * CLOSE, max(wealth, low) + 10 * span
        tried.append(("wealth", wealth, searched_flip(lambda each: led(risk, each), wealth, *ends)))
    return [f"{f[1]} is preferred once {what} {passing(f[0], at)}." for what, at, f in tried if f]


def _consistency(given: Given) -> Result:
    rows, limits = _act_rows(given) if "acts" in given else _lottery_rows(given)
    holds = _possible(list(rows.values()), limits)
    rest = {each: [row for other, row in rows.items() if other != each] for each in rows}
    breakers = [each for each in rows if not holds and _possible(rest[each], limits)]
    what = "probabilities of the states" if "acts" in given else "utilities of the amounts"
    return Result(
        method="expected-utility",
        conclusion=f"{'Some' if holds else 'No'} {what} fit all stated preferences: {'; '.join(rows)}.",
        confidence=1.0,
        steps=(
            f"Each preference says that a sum over the {what} is above 0.",
            f"A linear program {'found some' if holds else 'found none'} that make all {len(rows)} sums positive.",
        ),
        would_change=tuple(f"Without {each!r} the others can be held together." for each in breakers),
        inputs=given.used,
        answer={"consistent": holds, "breakers": breakers},
        notes=("It is checked that preferences can be held together under expected utility, not that they are wise.",),
    )


def _pairs(given: Given, names: list[str]) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for text in given.texts("preferences", least=1):
        better, _, worse = (part.strip() for part in text.partition(" over "))
        if better not in names or worse not in names or len(found) >= MOST_PREFERENCES:
            raise InputError(f"preferences has {text!r:.80}", hint='say "A over B" with names from the problem')
        found.append((text, better, worse))
    return found


def _lottery_rows(given: Given) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Unknown are the utilities of the amounts, which rise from 0 to 1."""
    lotteries = _lotteries(given)
    amounts = sorted({amount for lottery in lotteries.values() for amount, _ in lottery})
    if len(amounts) > MOST_AMOUNTS:
        raise InputError(f"lotteries have {len(amounts):,} different amounts", hint=f"give at most {MOST_AMOUNTS}")
    shares = {n: [math.fsum(c for x, c in each if x == amount) for amount in amounts] for n, each in lotteries.items()}
    rows = {text: [x - y for x, y in zip(shares[a], shares[b], strict=True)] for text, a, b in _pairs(given, [*shares])}
    rising = [[(j == i) - (j == i + 1) for j in range(len(amounts))] for i in range(len(amounts) - 1)]
    return rows, {"rising": rising}


def _act_rows(given: Given) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Unknown are the probabilities of the states; amounts count as they are."""
    acts = {name: each.weights(name) for each in [given.part("acts")] for name in each.names()}
    states = list(next(iter(acts.values()), {}))
    if not states or any(set(row) != set(states) for row in acts.values()):
        raise InputError("acts is empty or its acts differ in their states", hint="give each act every state")
    rows = {text: [acts[a][s] - acts[b][s] for s in states] for text, a, b in _pairs(given, [*acts])}
    known = given.weights("known", low=0, high=1) if "known" in given else {}
    if set(known) - set(states) or math.fsum(known.values()) > 1 + CLOSE:
        raise InputError("known names other states or adds up to more than 1", hint=f"name {', '.join(states)[:80]}")
    equal = [([1.0] * len(states), 1.0)] + [([float(s == each) for s in states], known[each]) for each in known]
    return rows, {"equal": equal}


def _possible(rows: list[list[float]], limits: dict[str, Any]) -> bool:
    """Whether unknowns from 0 to 1 within the limits make every row's sum positive."""
    if not rows:
        return True
    optimize = scientific("scipy.optimize")
    above = [[-each for each in row] + [1.0] for row in rows] + [[*row, 0.0] for row in limits.get("rising", [])]
    equal = limits.get("equal", [])
    found = optimize.linprog(
        [0.0] * len(rows[0]) + [-1.0],
        A_ub=above,
        b_ub=[0.0] * len(above),
        A_eq=[[*row, 0.0] for row, _ in equal] or None,
        b_eq=[value for _, value in equal] or None,
        bounds=[(0, 1)] * len(rows[0]) + [(None, 1)],
    )
    return bool(found.status == 0 and -found.fun > CLOSE)
