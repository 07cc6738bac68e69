"""Negotiation: what is a fair and efficient deal, by the rules of bargaining theory.

outcomes: an object, each possible deal with an object: each party with what the deal is worth to it
issues: instead of outcomes, an object, each issue with an object of options, each with its worth to each party
weights: with issues, an object, each party with an object: how much each issue counts for it, 1 if not given
disagreement: an object, each party with what it gets without a deal, 0 if not given
lotteries: whether two parties may draw lots between two deals
price: instead of outcomes, an object: `seller` (the least it takes) and `buyer` (the most it pays)
patience: instead of outcomes, an object, each of two parties with its discount factor; the first offers first
coalitions: instead of outcomes, an object, each group ("A, B") with what it can get alone, 0 if not given
votes: instead of outcomes, an object, each member with its votes, for its power
quota: with votes, how many votes carry a decision
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from math import comb, prod
from typing import Any

from memfolio.errors import InputError
from memfolio.reason.effort import Effort
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from memfolio.reason.world import World

Worth = tuple[Fraction, ...]
Deals = dict[str, Worth]
COMPARED = "The sum and the smallest gain mean something only where the parties' numbers can be compared."
RULES: dict[str, Callable[[Worth, Worth], Fraction]] = {
    "nash": lambda ideal, gain: prod(gain, start=Fraction(1)),
    "kalai-smorodinsky": lambda ideal, gain: min(
        (a / b for a, b in zip(gain, ideal, strict=True) if b), default=gain[0]
    ),
    "egalitarian": lambda ideal, gain: min(gain),
    "utilitarian": lambda ideal, gain: sum(gain, Fraction(0)),
}


def reason(given: Given, world: World) -> Result:
    """The deal that each rule picks, or the price, the shares or the power, by what is given."""
    ways = {"price": _price, "patience": _patience, "coalitions": _coalitions, "votes": _votes}
    way = next((way for name, way in ways.items() if name in given), _deals)
    told = way(given, Effort(world.settings.work))
    return Result(method="negotiation", inputs=given.used, **{"confidence": 1.0, **told})


def _deals(given: Given, effort: Effort) -> dict[str, Any]:
    given.only("outcomes", "issues", "weights", "disagreement", "lotteries")
    deals, parties = _packages(given, effort) if "issues" in given else _outcomes(given)
    fallback = given.part("disagreement", {})
    fallback.only(*parties)
    floor = [_exact(fallback.number(each, 0)) for each in parties]
    gains = {name: tuple(map(Fraction.__sub__, worth, floor)) for name, worth in deals.items()}
    effort.spend(len(gains) ** 2)
    efficient = {name: gain for name, gain in gains.items() if not any(_better(each, gain) for each in gains.values())}
    lots = given.flag("lotteries")
    if lots and len(parties) != 2:
        raise InputError(f"lotteries are for two parties, not {len(parties)}", hint="leave lotteries out")
    effort.spend(30 * len(efficient) ** 2 if lots else 0)
    points = _agreeable(efficient, (Fraction(1), Fraction(1)), lots)
    if not points:
        raise InputError("no deal is as good for all as no deal", hint="give other outcomes, or see disagreement")
    ideal = tuple(map(max, zip(*points.values(), strict=True)))
    points |= _agreeable(efficient, ideal, lots)
    picked = {name: _picked(points, partial(rule, ideal)) for name, rule in RULES.items()}
    worth = {
        name: {each: float(a + b) for each, a, b in zip(parties, points[deal[0]], floor, strict=True)}
        for name, deal in picked.items()
    }
    alike = all(each == picked["nash"] for each in picked.values())
    others = "".join(f"; {name}: {' or '.join(each)}" for name, each in picked.items() if each != picked["nash"])
    by = "every rule" if alike else "the Nash rule"
    return {
        "conclusion": f"By {by}: {' or '.join(picked['nash'])}{others}.",
        "confidence": 1.0 if alike and len(picked["nash"]) == 1 else None,
        "steps": (
            f"Without a deal: {_listed(parties, floor)}. The most each can gain: {_listed(parties, ideal)}.",
            f"Of {len(deals)} deals, {len(efficient)} are such that no other is better for all.",
            *(f"{n}: {each[0]}, worth {_listed(worth[n], worth[n].values())}." for n, each in picked.items()),
        ),
        "would_change": tuple(_would_change(points, picked["nash"][0], parties, lots)),
        "answer": {"deals": picked, "worth": worth, "efficient": [name for name in efficient if name in points]},
        "notes": (
            COMPARED,
            *(f"By {n}, {len(each)} deals are equally good." for n, each in picked.items() if each[1:]),
        ),
    }


def _outcomes(given: Given) -> tuple[Deals, list[str]]:
    table = given.part("outcomes")
    worths = {name: table.weights(name) for name in table.names()}
    parties = list(next(iter(worths.values()), {}))
    for name, worth in worths.items():
        if len(parties) < 2 or worth.keys() != set(parties):
            raise InputError(f"outcomes.{name} is for {', '.join(worth)}", hint="let each be for the same 2 or more")
    return {name: tuple(_exact(worth[each]) for each in parties) for name, worth in worths.items()}, parties


def _packages(given: Given, effort: Effort) -> tuple[Deals, list[str]]:
    """Every combination of one option an issue, worth the weighted sum of its options."""
    parts = given.by_name("issues", least=1)
    issues = {name: {option: part.weights(option) for option in part.names()} for name, part in parts.items()}
    effort.spend(prod(map(len, issues.values())) * len(issues))
    parties = list(dict.fromkeys(each for options in issues.values() for worth in options.values() for each in worth))
    weights = given.part("weights", {})
    weights.only(*parties)
    tables, deals = [weights.part(each, {}) for each in parties], {}
    for package in product(*issues.values()):
        chosen = dict(zip(issues, package, strict=True))
        deals[", ".join(f"{name}: {option}" for name, option in chosen.items())] = tuple(
            sum(
                (_exact(table.number(n, 1, low=0)) * _exact(issues[n][o].get(each, 0.0)) for n, o in chosen.items()),
                Fraction(0),
            )
            for each, table in zip(parties, tables, strict=True)
        )
    return deals, parties


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
                found[f"{_short(1 - share)} {one} + {_short(share)} {other}"] = (
                    a[0] + share * d[0],
                    a[1] + share * d[1],
                )
    return {name: gain for name, gain in found.items() if min(gain) >= 0}


def _picked(points: Deals, score: Callable[[Worth], Fraction]) -> list[str]:
    """The best deals by a score; those that are worth the same to all count as one."""
    top = max(map(score, points.values()))
    return sorted({gain: name for name, gain in reversed(points.items()) if score(gain) == top}.values())


def _would_change(points: Deals, nash: str, parties: list[str], lots: bool) -> Iterator[str]:
    """How much better a party's way out must be for another deal to have the largest product of gains."""
    if lots:
        yield "Anything more that a party has without a deal can move the lots in its favour."
    for place, party in enumerate(parties):
        rest = {name: prod((*gain[:place], *gain[place + 1 :]), start=Fraction(1)) for name, gain in points.items()}
        mine, own = points[nash][place], rest[nash]
        more = {name: gain[place] for name, gain in points.items() if gain[place] > mine and rest[name] < own}
        if more and not lots:
            rise, name = min(
                ((mine * own - gain * rest[name]) / (own - rest[name]), name) for name, gain in more.items()
            )
            yield f"If {party} had {float(rise):.4g} more without a deal, the Nash rule would go over to {name}."
        yield f"If {party} had over {float(mine):.4g} more without a deal, it would refuse this one."


def _price(given: Given, effort: Effort) -> dict[str, Any]:
    given.only("price")
    limits = given.part("price")
    limits.only("seller", "buyer")
    seller, buyer = limits.number("seller"), limits.number("buyer")
    room, middle = buyer - seller, (seller + buyer) / 2
    there = f"There is room from {seller:g} to {buyer:g}; halving the gain gives {middle:g}."
    return {
        "conclusion": there if room >= 0 else f"There is no room for a deal: {-room:g} lie between the two limits.",
        "steps": (f"The buyer's most, {buyer:g}, less the seller's least, {seller:g}, is {room:g}.",),
        "would_change": (f"It turns once the limits move {abs(room):g} {'apart' if room >= 0 else 'together'}.",),
        "answer": {"room": room, "price": middle if room >= 0 else None},
        "notes": ("Both limits are taken as true.",),
    }


def _patience(given: Given, effort: Effort) -> dict[str, Any]:
    """Rubinstein's alternating offers: the one division that neither gains by putting off."""
    given.only("patience")
    factors = given.weights("patience", low=0, high=1)
    if len(factors) != 2 or prod(factors.values()) == 1:
        raise InputError("patience does not settle a division", hint="give two factors, at least one of them below 1")
    (first, mine), (second, other) = ((name, _exact(each)) for name, each in factors.items())
    share = (1 - other) / (1 - mine * other)
    even = 2 - 1 / other if 2 * other >= 1 else None
    return {
        "conclusion": f"{first} offers at once to keep {float(share):.4g}; {second} takes {float(1 - share):.4g}.",
        "steps": (
            "Each takes what is worth as much as its own offer one turn later.",
            f"That holds where {first} keeps (1 - {other}) / (1 - {mine} * {other}) = {share}.",
        ),
        "would_change": (f"It would be half each if {first} had the factor {float(even):.4g}.",)
        if even is not None
        else (),
        "answer": {"shares": {first: float(share), second: float(1 - share)}},
        "notes": ("Offers alternate without end, and both know both factors.",),
    }


def _coalitions(given: Given, effort: Effort) -> dict[str, Any]:
    given.only("coalitions")
    worths = {frozenset(map(str.strip, name.split(","))): each for name, each in given.weights("coalitions").items()}
    return _shapley(sorted(frozenset().union(*worths)), lambda group: _exact(worths.get(group, 0.0)), effort)


def _votes(given: Given, effort: Effort) -> dict[str, Any]:
    given.only("votes", "quota")
    votes = {name: _exact(each) for name, each in given.weights("votes", low=0).items()}
    quota = _exact(given.number("quota", low=0, high=float(sum(votes.values()))))
    return _shapley(list(votes), lambda group: Fraction(sum(votes[each] for each in group) >= quota), effort)


def _shapley(members: list[str], worth: Callable[[frozenset[str]], Fraction], effort: Effort) -> dict[str, Any]:
    """What each adds to those before it, on average over all orders."""
    count, values = len(members), dict.fromkeys(members, Fraction(0))
    effort.spend(2**count * count)
    for size in range(1, count + 1):
        for group in map(frozenset, combinations(members, size)):
            share = worth(group) / comb(count, size)
            for each in members if share else ():
                values[each] += share / size if each in group else -share / (count - size)
    alone = {each: worth(frozenset({each})) for each in members}
    return {
        "conclusion": f"By what each adds: {_listed(members, values.values())}.",
        "steps": tuple(
            f"{n} adds {v} of {worth(frozenset(members))} on average over all orders." for n, v in values.items()
        ),
        "would_change": tuple(f"{n} would stay out if it got over {v} alone ({alone[n]})." for n, v in values.items()),
        "answer": {"values": {name: str(each) for name, each in values.items()}},
        "notes": tuple(f"{name} would get more alone." for name in members if alone[name] > values[name]),
    }


def _better(one: Worth, other: Worth) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def _exact(number: float) -> Fraction:
    return Fraction(str(number))


def _short(share: Fraction) -> str:
    return str(share) if len(str(share)) < 10 else f"{float(share):.4g}"


def _listed(names: Iterable[str], values: Iterable[Fraction | float]) -> str:
    return ", ".join(f"{name} {float(each):.4g}" for name, each in zip(names, values, strict=True))
