"""Expected utility: which lottery somebody with given tastes prefers, and which certain amount each is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import (
    LARGEST,
    Amount,
    Finding,
    Matrix,
    Named,
    World,
    adding_up,
    between,
    method,
    number_in,
    read,
)
from memfolio.reason.methods.flips import CLOSE, brief, either, leaders, listed, searched_flip

MOST_VARIED = 2000
"""Up to how many outcomes tastes are varied to find where the choice turns over."""

Lottery = Sequence[tuple[float, float]]


class Lotteries(NamedTuple):
    lotteries: Named[Matrix]
    utility: Literal["linear", "log", "exponential", "power"] = "linear"
    risk: Annotated[float, between(-1e6, 1e6)] | None = None
    wealth: Amount = 0.0


@method
def expected_utility(given: Lotteries, world: World) -> Finding:
    """The lottery that is worth most for certain, and the tastes with which another would be."""
    lotteries = {name: _lottery(rows, f"lotteries.{name}") for name, rows in given.lotteries.items()}
    kind, wealth, risk = given.utility, given.wealth, 1.0
    if kind in ("exponential", "power"):
        risk = read(float, given.risk, "risk")
    sure = {name: equivalent(lottery, kind, risk, wealth) for name, lottery in lotteries.items()}
    means = {name: equivalent(lottery) for name, lottery in lotteries.items()}
    best, premiums = leaders(sure), {name: means[name] - sure[name] for name in sure}
    flips = _taste_flips(lotteries, kind, risk, wealth)
    if kind in ("linear", "exponential") and len(best) < len(sure):
        second = leaders({name: each for name, each in sure.items() if name not in best})[0]
        gap = brief(sure[best[0]] - sure[second])
        flips.append(f"{second} is preferred to {best[0]} once every outcome of {best[0]} is over {gap} less.")
    return Finding(
        f"{either(best)} is preferred: it is worth {brief(sure[best[0]])} for certain.",
        steps=[
            f"Expected amounts: {listed(means)}.",
            f"Worth for certain with {kind} utility: {listed(sure)}.",
            f"Given up for certainty: {listed(premiums)}.",
        ],
        would_change=flips,
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
    """The certain amount with the same utility, counted from an end of the lottery so that nothing overflows."""
    low, high = min(amount for amount, _ in lottery), max(amount for amount, _ in lottery)
    if kind == "exponential" and risk:
        end = low if risk > 0 else high
        return end - _log_mean([(-risk * (amount - end), chance) for amount, chance in lottery]) / risk
    if kind in ("log", "power"):
        if low + wealth <= 1 / LARGEST:
            hint = "give a wealth that keeps every amount above 0"
            raise InputError(f"{kind} utility meets {brief(low + wealth)}", hint=hint)
        end, left = low if risk >= 1 else high, 1 - risk
        growths = [(_log_ratio(amount, end, wealth), chance) for amount, chance in lottery]
        if abs(left) < CLOSE:
            growth = math.fsum(each * chance for each, chance in growths)
        else:
            growth = _log_mean([(left * each, chance) for each, chance in growths]) / left
        return end + (end + wealth) * math.expm1(growth)
    return math.fsum(amount * chance for amount, chance in lottery)


def _log_ratio(amount: float, end: float, wealth: float) -> float:
    """The logarithm of one fortune over another, exact also where they are nearly the same."""
    ratio = (amount + wealth) / (end + wealth)
    return math.log1p((amount - end) / (end + wealth)) if 0.5 < ratio < 2 else math.log(ratio)


def _log_mean(exponents: Lottery) -> float:
    """The logarithm of a mean of powers of e whose exponents are at most 0."""
    change = math.fsum(chance * math.expm1(each) for each, chance in exponents)
    return math.log1p(change) if change > -0.5 else math.log(math.fsum(c * math.exp(each) for each, c in exponents))


def _taste_flips(lotteries: dict[str, Lottery], kind: str, risk: float, wealth: float) -> list[str]:
    """At which risk aversion, and at which wealth, another lottery is preferred."""

    def led(risk: float, wealth: float) -> str:
        return leaders({name: equivalent(each, kind, risk, wealth) for name, each in lotteries.items()})[0]

    amounts = [amount for lottery in lotteries.values() for amount, _ in lottery]
    if len(lotteries) == 1 or len(amounts) > MOST_VARIED:
        return []
    least, size = -min(amounts), max(map(abs, amounts))
    tried = []
    if kind in ("exponential", "power"):
        ends = min(0, 10 * risk), max(10 * risk, 1 / (size or 1) if kind == "exponential" else 1)
        tried.append(("risk", risk, searched_flip(lambda each: led(each, wealth), risk, *ends)))
    if kind in ("log", "power"):
        ends = least + size * 1e-6, max(wealth, least) + 10 * size
        tried.append(("wealth", wealth, searched_flip(lambda each: led(risk, each), wealth, *ends)))
    return [f"{flip.leader} is preferred once {what} {flip.past(at)}." for what, at, flip in tried if flip]
