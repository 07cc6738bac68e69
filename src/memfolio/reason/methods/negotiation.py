"""Negotiation: what is a fair and efficient deal, by the rules of bargaining theory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from math import prod
from typing import NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import Effort, Finding, Named, World, betters, exact, method, only, read
from memfolio.types import EMPTY

Worth = tuple[Fraction, ...]
Deals = dict[str, Worth]
Worths = Mapping[str, float]
"""What something is worth to each party, as it is given."""
RULES: dict[str, Callable[[Worth, Worth], Fraction]] = {
    "nash": lambda ideal, gain: prod(gain, start=Fraction(1)),
    "kalai-smorodinsky": lambda ideal, gain: min(
        (a / b for a, b in zip(gain, ideal, strict=True) if b), default=Fraction(0)
    ),
    "egalitarian": lambda ideal, gain: min(gain),
    "utilitarian": lambda ideal, gain: sum(gain, Fraction(0)),
}


class Bargain(NamedTuple):
    outcomes: Named[Worths] | None = None
    issues: Named[Mapping[str, Worths]] | None = None
    disagreement: Worths = EMPTY
    lotteries: bool = False


@method
def negotiation(given: Bargain, world: World) -> Finding:
    """The deal that each rule picks, where they part, and how much better a way out would turn it."""
    effort = world.effort()
    deals, parties = _packages(given.issues, effort) if given.issues else _outcomes(given.outcomes)
    only("disagreement", given.disagreement, parties)
    floor = tuple(exact(f"disagreement.{each}", given.disagreement.get(each, 0)) for each in parties)
    gains = {name: tuple(map(Fraction.__sub__, worth, floor)) for name, worth in deals.items()}
    efficient = _efficient(gains, effort)
    points, ideal = _points(efficient, given.lotteries, effort)
    picked = {name: _picked(points, partial(rule, ideal)) for name, rule in RULES.items()}
    nash, others = picked["nash"], {name: each for name, each in picked.items() if each != picked["nash"]}
    worth = {
        name: {each: float(a + b) for each, a, b in zip(parties, points[deal[0]], floor, strict=True)}
        for name, deal in picked.items()
    }
    rest = "".join(f"; {name}: {' or '.join(each)}" for name, each in others.items())
    return Finding(
        f"By {'the Nash rule' if others else 'every rule'}: {' or '.join(nash)}{rest}.",
        confidence=1.0 if not others and len(nash) == 1 else None,
        steps=[
            f"Without a deal: {_listed(parties, floor)}. The most each can gain: {_listed(parties, ideal)}.",
            f"Of {len(deals)} deals, {len(efficient)} are such that no other is better for all.",
            *(f"{n}: {each[0]}, worth {_listed(worth[n], worth[n].values())}." for n, each in picked.items()),
        ],
        would_change=_would_change(points, nash[0], parties, fixed=not given.lotteries),
        answer={"best": nash, "options": list(deals), "deals": picked, "worth": worth}
        | {"efficient": [name for name in efficient if name in points]},
        notes=[f"By {n}, {len(each)} deals are equally good." for n, each in picked.items() if each[1:]],
    )


def _outcomes(outcomes: Mapping[str, Worths] | None) -> tuple[Deals, list[str]]:
    worths = read(Mapping[str, Worths], outcomes, "outcomes")
    parties = list(next(iter(worths.values())))
    for name, worth in worths.items():
        if len(parties) < 2 or worth.keys() != set(parties):
            raise InputError(f"outcomes.{name} is for {', '.join(worth)}", hint="let each be for the same 2 or more")
    deals = {
        name: tuple(exact(f"outcomes.{name}.{each}", worth[each]) for each in parties) for name, worth in worths.items()
    }
    return deals, parties


def _packages(issues: Mapping[str, Mapping[str, Worths]], effort: Effort) -> tuple[Deals, list[str]]:
    """Every combination of one option an issue, worth the sum of its options."""
    parties = list(dict.fromkeys(each for options in issues.values() for worth in options.values() for each in worth))
    if len(parties) < 2 or not all(issues.values()):
        raise InputError(f"issues is for {', '.join(parties)}", hint="give each issue options, worth something to 2")
    effort.spend(prod(map(len, issues.values())) * len(issues) * len(parties))
    worths = {
        (issue, option, party): exact(f"issues.{issue}.{option}.{party}", worth.get(party, 0))
        for issue, options in issues.items()
        for option, worth in options.items()
        for party in parties
    }
    deals = {}
    for package in product(*issues.values()):
        chosen = [*zip(issues, package, strict=True)]
        deals[", ".join(f"{issue}: {option}" for issue, option in chosen)] = tuple(
            sum((worths[issue, option, party] for issue, option in chosen), Fraction(0)) for party in parties
        )
    return deals, parties


def _efficient(gains: Deals, effort: Effort) -> Deals:
    """The deals that no other betters; whatever betters a deal comes before it when they are sorted."""
    kept: Deals = {}
    for name, gain in sorted(gains.items(), key=lambda each: each[1], reverse=True):
        effort.spend(2 * (1 + len(kept)))
        if not any(betters(each, gain) for each in kept.values()):
            kept[name] = gain
    return {name: gain for name, gain in gains.items() if name in kept}


def _points(efficient: Deals, lots: bool, effort: Effort) -> tuple[Deals, Worth]:
    """What can be agreed on, and the most that each party can gain by it."""
    parties = len(next(iter(efficient.values())))
    if lots and parties != 2:
        raise InputError(f"lotteries are for two parties, not {parties}", hint="leave lotteries out")
    effort.spend(60 * len(efficient) ** 2 if lots else 0)
    points = _agreeable(efficient, (Fraction(1),) * 2, lots)
    if not points:
        raise InputError("no deal is as good for all as no deal", hint="give other outcomes, or see disagreement")
    ideal = tuple(map(max, zip(*points.values(), strict=True)))
    return points | _agreeable(efficient, ideal, lots), ideal


def _agreeable(deals: Deals, ratio: Worth, lots: bool) -> Deals:
    """The deals that nobody loses by; with lots, also those points between two of them where a rule may be at its best.

    These are where the gains stand in a ratio, where their product is largest, and where one of them is nothing.
    """
    found = dict(deals)
    for (one, a), (other, b) in combinations(deals.items(), 2) if lots else ():
        d = (b[0] - a[0], b[1] - a[1])
        lines = [(a[0], d[0]), (a[1], d[1]), (a[0] * d[1] + a[1] * d[0], 2 * d[0] * d[1])]
        lines.append((a[0] * ratio[1] - a[1] * ratio[0], d[0] * ratio[1] - d[1] * ratio[0]))
        for share in {-constant / slope for constant, slope in lines if slope}:
            if 0 < share < 1:
                name = f"{_short(1 - share)} {one} + {_short(share)} {other}"
                found[name] = (a[0] + share * d[0], a[1] + share * d[1])
    return {name: gain for name, gain in found.items() if min(gain) >= 0}


def _picked(points: Deals, score: Callable[[Worth], Fraction]) -> list[str]:
    """The best deals by a score; those that are worth the same to all count as one."""
    top = max(map(score, points.values()))
    return sorted({gain: name for name, gain in reversed(points.items()) if score(gain) == top}.values())


def _would_change(points: Deals, nash: str, parties: list[str], *, fixed: bool) -> Iterator[str]:
    """How much better a party's way out must be for another deal to be picked, or, where lots move, for no deal."""
    for place, party in enumerate(parties):
        rest = {name: prod((*gain[:place], *gain[place + 1 :]), start=Fraction(1)) for name, gain in points.items()}
        mine, own = points[nash][place], rest[nash]
        more = {name: gain[place] for name, gain in points.items() if gain[place] > mine and rest[name] < own}
        if more and fixed:
            rises = (((mine * own - gain * rest[name]) / (own - rest[name]), name) for name, gain in more.items())
            rise, name = min(rises)
            yield f"If {party} had {float(rise):.4g} more without a deal, the Nash rule would go over to {name}."
        yield f"If {party} had over {float(mine):.4g} more without a deal, it would refuse this one."


def _short(share: Fraction) -> str:
    return str(share) if len(str(share)) < 10 else f"{float(share):.4g}"


def _listed(names: Iterable[str], values: Iterable[Fraction | float]) -> str:
    return ", ".join(f"{name} {float(each):.4g}" for name, each in zip(names, values, strict=True))
