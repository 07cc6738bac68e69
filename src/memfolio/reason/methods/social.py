"""Social methods: games, bargains, votes and disputes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations, islice, permutations, product
from math import comb, lcm, prod
from typing import Annotated, Any, Literal, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import (
    Computed,
    Effort,
    Matrix,
    Named,
    Several,
    Texts,
    Whole,
    World,
    betters,
    exact,
    method,
    one_of,
    only,
    read,
    sized,
)
from memfolio.types import EMPTY, frozen

# Which arguments can be accepted together, given which attack which (Dung 1995).

Attack = tuple[str, str]


class Framework:
    """Arguments and the attacks between them; sets of arguments are bits of a number."""

    def __init__(self, names: Sequence[str], attacks: Sequence[Attack], effort: Effort) -> None:
        self.names, self.effort, self._numbers = names, effort, range(len(names))
        place = {name: number for number, name in enumerate(names)}
        self._hit_by = [0] * len(names)
        for one, other in attacks:
            self._hit_by[place[other]] |= 1 << place[one]

    def attacked(self, some: int) -> int:
        return sum(1 << number for number in self._numbers if self._hit_by[number] & some)

    def defended(self, some: int) -> int:
        """The arguments all of whose attackers are attacked by some."""
        self.effort.spend(len(self.names))
        beaten = self.attacked(some)
        return sum(1 << number for number in self._numbers if not self._hit_by[number] & ~beaten)

    def grounded(self) -> int:
        """What is defended, step by step, from nothing."""
        found = 0
        while (more := self.defended(found)) != found:
            found = more
        return found

    def complete(self, chosen: int, left_out: int) -> Iterator[int]:
        """All sets that attack none of their own and have just what they defend, between two bounds."""
        rest = (1 << len(self.names)) - 1 & ~(chosen | left_out)
        beatable = self.attacked(chosen | rest)
        is_defensible = all(not self._hit_by[each] & ~beatable for each in self._numbers if chosen >> each & 1)
        if self.attacked(chosen) & chosen or not is_defensible or self.defended(chosen) & left_out:
            return
        if rest:
            pick = rest & -rest
            clash = self.attacked(pick) | self._hit_by[pick.bit_length() - 1]
            if not clash & (chosen | pick):
                yield from self.complete(chosen | pick, left_out | clash)
            yield from self.complete(chosen, left_out | pick)
        elif self.defended(chosen) == chosen:
            yield chosen

    def largest(self, sets: Sequence[int]) -> list[int]:
        """Those of some sets that are part of no other."""
        found: list[int] = []
        for each in sorted(sets, key=lambda one: -one.bit_count()):
            self.effort.spend(len(found))
            found += [each] if all(each & ~larger for larger in found) else []
        return found

    def named(self, some: int) -> list[str]:
        return [name for number, name in enumerate(self.names) if some >> number & 1]


class Dispute(NamedTuple):
    arguments: Annotated[Texts, sized(1, 300)] | Annotated[Mapping[str, str], sized(1, 300)]
    attacks: Sequence[Texts] = ()
    question: str | None = None


@method
def argumentation(given: Dispute, world: World) -> Computed:
    """The grounded, complete, preferred and stable extensions, and how each argument stands."""
    says = {name: name for name in given.arguments} if not isinstance(given.arguments, Mapping) else given.arguments
    names, attacks, asked = list(says), _pairs(given.attacks, set(says)), given.question
    if asked:
        one_of("question", asked, names)
    framework = Framework(names, attacks, world.effort())
    grounded = framework.grounded()
    beaten = framework.attacked(grounded)
    complete = list(framework.complete(grounded, beaten))
    preferred = framework.largest(complete)
    stable = [one for one in complete if (one | framework.attacked(one)).bit_count() == len(names)]
    status = {name: _status(1 << number, grounded, preferred) for number, name in enumerate(names)}
    lines = {name: f"{name}{f' ({said})' if said != name else ''} is {status[name]}" for name, said in says.items()}
    standing = ", ".join(framework.named(grounded)) or "nothing"
    sets = {"complete": complete, "preferred": preferred, "stable": stable}
    answer: dict[str, Any] = {kind: [framework.named(each) for each in found] for kind, found in sets.items()}
    answer |= {"grounded": framework.named(grounded), "status": status}
    if asked:
        holds = True if asked in framework.named(grounded) else False if asked in framework.named(beaten) else None
        answer |= {"holds": holds, "claim": says[asked]}
    positions = [", ".join(framework.named(each)) or "to accept nothing" for each in preferred]
    return Computed(
        lines[asked] if asked else f"beyond dispute: {standing}",
        steps=[
            f"unattacked, or defended by what is, step by step: {standing}",
            *(f"a tenable position: {each}" for each in positions),
            *lines.values(),
        ],
        would_change=_attack_changes(attacks, asked, framework),
        answer=answer,
        notes=["" if stable else "there is no stable extension: no position answers all that it leaves out"],
    )


def _status(argument: int, grounded: int, preferred: Sequence[int]) -> str:
    held = sum(bool(argument & each) for each in preferred)
    if argument & grounded:
        return "accepted beyond dispute"
    return "rejected" if not held else "accepted in every position" if held == len(preferred) else "tenable"


def _attack_changes(attacks: Sequence[Attack], asked: str | None, framework: Framework) -> Iterator[str]:
    """Which attack, left out, would change what is beyond dispute."""
    names = framework.names
    looked_at = 1 << names.index(asked) if asked else -1
    before = framework.grounded() & looked_at
    for gone in attacks:
        rest = Framework(names, [each for each in attacks if each != gone], framework.effort)
        after = rest.grounded() & looked_at
        ends = {"would stand": framework.named(after & ~before), "would fall": framework.named(before & ~after)}
        if after != before:
            what = "; ".join(f"{', '.join(some)} {verb}" for verb, some in ends.items() if some)
            yield f"if {gone[0]} did not attack {gone[1]}: {what}"
    if before and asked:
        yield f"if something that stands attacked {asked}"


def _pairs(attacks: Sequence[Texts], names: set[str]) -> list[Attack]:
    for at, each in enumerate(attacks):
        if len(each) != 2 or not names.issuperset(each):
            raise InputError(f"attacks[{at}] is {each!r:.60}", hint="give two names that are among the arguments")
    return list(dict.fromkeys((one, other) for one, other in attacks))


# Game theory: which choices of two players hold each other in place, in exact fractions.

Play = tuple[int, int]
Mix = tuple[Fraction, ...]
Pair = tuple[Mix, Mix]
PLAYERS = ("row", "column")
PLAYS_SHOWN = 12


@frozen
class Game:
    """The choices of both players, and what each gets from every play."""

    choices: tuple[list[str], list[str]]
    payoffs: dict[Play, tuple[Fraction, Fraction]]

    def margin(self, play: Play, player: int) -> Fraction:
        """How much a player loses by the best other choice; below 0, what is gained."""
        others = [each for each in range(len(self.choices[player])) if each != play[player]]
        own = self.payoffs[play][player]
        return own - max((self.payoffs[_put(play, player, each)][player] for each in others), default=own)

    def named(self, play: Play) -> str:
        return f"({self.choices[0][play[0]]}, {self.choices[1][play[1]]})"

    def told(self, pair: Pair) -> str:
        sides = zip(self.choices, pair, strict=True)
        return " against ".join(
            " + ".join(f"{p} {a}" if p < 1 else a for a, p in zip(*each, strict=True) if p) for each in sides
        )

    def worth(self, pair: Pair) -> list[Fraction]:
        each = [(pair[0][r] * pair[1][c], gains) for (r, c), gains in self.payoffs.items() if pair[0][r] * pair[1][c]]
        return [sum((share * gains[player] for share, gains in each), Fraction(0)) for player in (0, 1)]


class Payoffs(NamedTuple):
    row_payoffs: Matrix
    column_payoffs: Matrix | None = None
    rows: Texts = ()
    columns: Texts = ()


@method
def game_theory(given: Payoffs, world: World) -> Computed:
    """All extreme equilibria, pure and mixed, and by how much they hold."""
    effort, game = world.effort(), _game(given)
    effort.spend(4 * len(game.payoffs) ** 2)
    pure = [play for play in game.payoffs if all(game.margin(play, player) >= 0 for player in (0, 1))]
    gains = game.payoffs.values()
    efficient = [game.named(play) for play, own in game.payoffs.items() if not any(betters(e, own) for e in gains)]
    pairs, degenerate = _equilibria(game, effort)
    found = [game.told(pair) for pair in pairs]
    value = str(game.worth(pairs[0])[0]) if len({sum(each) for each in gains}) == 1 else None
    worth = f", worth {value} to row" if value is not None else ""
    several = f"{len(found)} equilibria" if len(found) > 1 else "One equilibrium"
    return Computed(
        f"{several}: {'; '.join(found[:PLAYS_SHOWN])}{worth}.",
        confidence=1.0 if len(found) == 1 and not degenerate else None,
        steps=[
            f"Plays that nobody gains by leaving: {', '.join(map(game.named, pure[:PLAYS_SHOWN])) or 'none'}.",
            *(f"{game.told(each)} gives {' and '.join(map(str, game.worth(each)))}." for each in pairs[:PLAYS_SHOWN]),
            f"Plays that no other betters for one without loss to the other: {', '.join(efficient[:PLAYS_SHOWN])}.",
        ],
        would_change=_equilibrium_changes(game, pairs[:PLAYS_SHOWN]),
        answer={
            "best": sorted({game.choices[0][play[0]] for play in pure}),
            "options": list(game.choices[0]),
            "pure": [game.named(play) for play in pure],
            "equilibria": [[list(map(str, mix)) for mix in pair] for pair in pairs],
            "payoffs": [list(map(str, game.worth(pair))) for pair in pairs],
            "value": value,
            "efficient": efficient,
        },
        notes=_notes(found, [game.named(each) for each in pure], efficient, degenerate),
    )


def _game(given: Payoffs) -> Game:
    row = given.row_payoffs
    column = given.column_payoffs or [[-each for each in line] for line in row]
    shape = len(row), len(row[0])
    if (len(column), len(column[0])) != shape:
        raise InputError("column_payoffs has another shape than row_payoffs", hint="give a number for each play")
    payoffs = {
        (r, c): (exact(f"row_payoffs[{r}][{c}]", row[r][c]), exact(f"column_payoffs[{r}][{c}]", column[r][c]))
        for r, c in product(*map(range, shape))
    }
    return Game(
        choices=(_names("rows", given.rows, shape[0]), _names("columns", given.columns, shape[1])), payoffs=payoffs
    )


def _names(side: str, given: Texts, size: int) -> list[str]:
    names = list(given or [f"{side[:-1]} {number + 1}" for number in range(size)])
    if len(names) != size or len(set(names)) != size:
        raise InputError(f"{side} has {len(set(names))} different names", hint=f"give {size}")
    return names


def _equilibria(game: Game, effort: Effort) -> tuple[list[Pair], bool]:
    """All extreme equilibria, and whether the game is degenerate, so that there may be more between them."""
    rows, columns = (range(len(names)) for names in game.choices)
    mine = _vertices([[game.payoffs[r, c][1] for c in columns] for r in rows], effort)
    theirs = _vertices([[game.payoffs[r, c][0] for r in rows] for c in columns], effort)
    effort.spend(len(mine) * len(theirs))
    found = [(x, y) for x, best in mine.items() for y, back in theirs.items() if _used(x) <= back and _used(y) <= best]
    return found, any(len(best) > len(_used(mix)) for mix, best in (*mine.items(), *theirs.items()))


def _vertices(payoffs: list[list[Fraction]], effort: Effort) -> dict[Mix, set[int]]:
    """A player's extreme mixes, each with the other's best answers; `payoffs` are the other's, a row an own choice."""
    found: dict[Mix, set[int]] = {}
    rows, columns = range(len(payoffs)), range(len(payoffs[0]))
    sizes = range(1, min(len(rows), len(columns)) + 1)
    effort.spend(sum(comb(len(rows), size) * comb(len(columns), size) * (size + 1) ** 2 for size in sizes))
    scale = lcm(*(each.denominator for line in payoffs for each in line))
    whole = [[int(each * scale) for each in line] for line in payoffs]
    for size in sizes:
        for own, other in product(combinations(rows, size), combinations(columns, size)):
            alike = [[*(whole[i][j] for i in own), -1, 0] for j in other]
            solved = _solved([*alike, [*[1] * size, 0, 1]])
            if solved and min(solved[:size]) >= 0:
                worth = [sum(solved[k] * whole[i][j] for k, i in enumerate(own)) for j in columns]
                if max(worth) == solved[size]:
                    mix = tuple(solved[own.index(i)] if i in own else Fraction(0) for i in rows)
                    found[mix] = {j for j in columns if worth[j] == solved[size]}
    return found


def _solved(lines: list[list[int]]) -> list[Fraction] | None:
    """The one solution of linear equations in whole numbers, each with its right side last; None if there is not one.

    Every line is cleared by Bareiss' rule, by which all divisions come out even.
    """
    before = 1
    for at in range(len(lines)):
        pivot = next((each for each in range(at, len(lines)) if lines[each][at]), None)
        if pivot is None:
            return None
        lines[at], lines[pivot] = lines[pivot], lines[at]
        lead, top = lines[at], lines[at][at]
        for other, line in enumerate(lines):
            if other != at:
                own = line[at]
                lines[other] = [(a * top - own * b) // before for a, b in zip(line, lead, strict=True)]
        before = top
    return [Fraction(line[-1], line[at]) for at, line in enumerate(lines)]


def _equilibrium_changes(game: Game, pairs: list[Pair]) -> Iterator[str]:
    """By how much less for somebody a pure equilibrium breaks; a mixed one moves with the payoffs."""
    free = [player for player in (0, 1) if len(game.choices[player]) > 1]
    for pair in pairs:
        if any(len(_used(mix)) > 1 for mix in pair):
            yield f"In {game.told(pair)}, the mix of each side hangs on the payoffs of the other."
        elif free:
            play = pair[0].index(Fraction(1)), pair[1].index(Fraction(1))
            margin, player = min((game.margin(play, each), each) for each in free)
            yield f"{game.named(play)} breaks once {PLAYERS[player]} gets more than {margin} less there."


def _notes(found: list[str], pure: list[str], efficient: list[str], degenerate: bool) -> Iterator[str]:
    if degenerate:
        yield "The game is degenerate: mixes between the equilibria that are named may be equilibria too."
    if len(found) > 1:
        yield "There are several equilibria: the payoffs alone do not say which one is played."
    if bad := [each for each in pure if each not in efficient]:
        yield f"Another play is better for somebody and worse for nobody than {', '.join(bad[:PLAYS_SHOWN])}."


def _put(play: Play, player: int, choice: int) -> Play:
    return (choice, play[1]) if player == 0 else (play[0], choice)


def _used(mix: Mix) -> set[int]:
    return {place for place, share in enumerate(mix) if share}


# Negotiation: what is a fair and efficient deal, by the rules of bargaining theory.

Worth = tuple[Fraction, ...]
Deals = dict[str, Worth]
Worths = Mapping[str, float]
"""What something is worth to each party, as it is given."""
BARGAINING_RULES: dict[str, Callable[[Worth, Worth], Fraction]] = {
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
def negotiation(given: Bargain, world: World) -> Computed:
    """The deal that each rule picks, where they part, and how much better a way out would turn it."""
    effort = world.effort()
    deals, parties = _packages(given.issues, effort) if given.issues else _outcomes(given.outcomes)
    only("disagreement", given.disagreement, parties)
    floor = tuple(exact(f"disagreement.{each}", given.disagreement.get(each, 0)) for each in parties)
    gains = {name: tuple(map(Fraction.__sub__, worth, floor)) for name, worth in deals.items()}
    efficient = _efficient(gains, effort)
    points, ideal = _points(efficient, given.lotteries, effort)
    picked = {name: _picked(points, partial(rule, ideal)) for name, rule in BARGAINING_RULES.items()}
    nash, others = picked["nash"], {name: each for name, each in picked.items() if each != picked["nash"]}
    worth = {
        name: {each: float(a + b) for each, a, b in zip(parties, points[deal[0]], floor, strict=True)}
        for name, deal in picked.items()
    }
    rest = "".join(f"; {name}: {' or '.join(each)}" for name, each in others.items())
    return Computed(
        f"By {'the Nash rule' if others else 'every rule'}: {' or '.join(nash)}{rest}.",
        confidence=1.0 if not others and len(nash) == 1 else None,
        steps=[
            f"Without a deal: {_gains(parties, floor)}. The most each can gain: {_gains(parties, ideal)}.",
            f"Of {len(deals)} deals, {len(efficient)} are such that no other is better for all.",
            *(f"{n}: {each[0]}, worth {_gains(worth[n], worth[n].values())}." for n, each in picked.items()),
        ],
        would_change=_deal_changes(points, nash[0], parties, fixed=not given.lotteries),
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


def _deal_changes(points: Deals, nash: str, parties: list[str], *, fixed: bool) -> Iterator[str]:
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


def _gains(names: Iterable[str], values: Iterable[Fraction | float]) -> str:
    return ", ".join(f"{name} {float(each):.4g}" for name, each in zip(names, values, strict=True))


# Social choice: who is elected by ranked ballots under several rules, and where the rules disagree.

Ranking = tuple[str, ...]
Score = dict[str, Fraction]
MOST_CANDIDATES, SHOWN_PAIRS = 100, 50
SHORT = "Some ballots leave candidates out: these count as equal and last; in run-offs such a ballot may run out."


class Profile:
    """The ballots of one election, counted."""

    def __init__(self, ballots: Counter[Ranking], candidates: list[str], effort: Effort):
        self.ballots, self.candidates, self.effort = +ballots, candidates, effort

    @cached_property
    def over(self) -> dict[tuple[str, str], int]:
        """How many voters put one candidate above another."""
        self.effort.spend(len(self.ballots) * len(self.candidates) ** 2)
        over = dict.fromkeys(permutations(self.candidates, 2), 0)
        for ranking, count in self.ballots.items():
            below = [each for each in self.candidates if each not in ranking]
            for better in reversed(ranking):
                for worse in below:
                    over[better, worse] += count
                below.append(better)
        return over

    def beats(self, one: str, other: str) -> bool:
        return self.over[one, other] > self.over[other, one]

    def firsts(self, among: Iterable[str]) -> Score:
        """How many ballots put each of some candidates before the others of them."""
        self.effort.spend(10 * (len(self.ballots) + len(self.candidates)))
        score = dict.fromkeys(among, Fraction(0))
        for ranking, count in self.ballots.items():
            if first := next((each for each in ranking if each in score), None):
                score[first] += count
        return score

    def borda(self) -> Score:
        """A point for each candidate ranked below; those left out share what is left equally."""
        self.effort.spend(len(self.ballots) * len(self.candidates))
        size, score = len(self.candidates), dict.fromkeys(self.candidates, Fraction(0))
        for ranking, count in self.ballots.items():
            points = {each: Fraction(size - 1 - place) for place, each in enumerate(ranking)}
            for each in self.candidates:
                score[each] += count * points.get(each, Fraction(size - len(ranking) - 1, 2))
        return score

    def beats_all(self, who: str) -> bool:
        return all(self.beats(who, other) for other in self.candidates if other != who)


class Ballot(NamedTuple):
    ranking: Several[str]
    count_: Whole = 1


class Election(NamedTuple):
    ballots: Several[Ballot]
    candidates: Texts = ()
    rule: Literal["", "plurality", "instant-runoff", "borda", "copeland", "schulze"] = ""


@method
def social_choice(given: Election, world: World) -> Computed:
    """Who wins by each rule, what the rules fail in on these ballots, and how few voters would change it."""
    profile, named = _profile(given, world.effort()), given.rule
    winners = {name: tuple(sorted(rule(profile))) for name, rule in VOTING_RULES.items()}
    chosen = winners[named] if named else Counter(winners.values()).most_common(1)[0][0]
    agree = [name for name, each in winners.items() if each == chosen]
    rest = "".join(f"; {name} elects {_and(each)}" for name, each in winners.items() if each != chosen)
    by = named or (f"{len(agree)} of {len(winners)} rules" if rest else "every rule")
    champion = next((each for each in profile.candidates if profile.beats_all(each)), None)
    cycle = next((t for t in permutations(profile.candidates, 3) if all(map(profile.beats, t, (*t[1:], t[0])))), ())
    pairs = {a: {b: profile.over[a, b] for b in profile.candidates if b != a} for a in profile.candidates}
    duels = [f"{a} against {b}: {pairs[a][b]} to {pairs[b][a]}." for a, b in combinations(profile.candidates, 2)]
    borda = profile.borda()
    return Computed(
        f"{_and(chosen)} {'wins' if len(chosen) == 1 else 'tie'} by {by}{'' if named else rest}.",
        confidence=1.0 if named or not rest else None,
        steps=[
            f"First places: {_listed_score(profile.firsts(profile.candidates))}. Borda points: {_listed_score(borda)}.",
            *duels[:SHOWN_PAIRS],
            *(f"By {name}: {_and(each)}." for name, each in winners.items()),
        ],
        would_change=islice(_vote_changes(profile, chosen), SHOWN_PAIRS),
        answer={
            "best": list(chosen),
            "options": list(profile.candidates),
            "condorcet_winner": champion,
            "winners": {name: list(each) for name, each in winners.items()},
            "cycle": list(cycle),
            "pairwise": pairs,
            "borda": {name: float(each) for name, each in borda.items()},
        },
        notes=[
            f"The majority runs in a circle: {' beats '.join((*cycle, cycle[0]))}." if cycle else "",
            "" if champion else "Nobody beats each other candidate in pairs: there is no Condorcet winner.",
            *(note for name, elected in winners.items() for note in _failures(profile, name, elected, champion)),
            SHORT if any(len(each) < len(profile.candidates) - 1 for each in profile.ballots) else "",
        ],
    )


def _profile(given: Election, effort: Effort) -> Profile:
    ballots, stand = Counter[Ranking](), given.candidates
    for number, ballot in enumerate(given.ballots):
        ranking = tuple(ballot.ranking)
        if len(set(ranking)) < len(ranking) or (stand and not set(ranking) <= set(stand)):
            raise InputError(f"ballots[{number}].ranking is {ranking!r:.80}", hint="name each who stands at most once")
        ballots[ranking] += ballot.count_
    everyone = list(dict.fromkeys([*stand, *(each for ranking in ballots for each in ranking)]))
    if not +ballots or not 2 <= len(everyone) <= MOST_CANDIDATES:
        raise InputError(f"ballots has {ballots.total()} votes for {len(everyone)}", hint="give votes for 2 to 100")
    return Profile(ballots, everyone, effort)


def _best(score: Score) -> set[str]:
    top = max(score.values())
    return {each for each, points in score.items() if points == top}


def _instant_runoff(profile: Profile) -> set[str]:
    """Who can be the last one left when the weakest goes again and again; ties are followed every way."""
    winners, rounds = set[str](), {frozenset(profile.candidates)}
    while rounds:
        winners.update(*(left for left in rounds if len(left) == 1))
        rounds = {after for left in rounds if len(left) > 1 for after in _without_weakest(profile, left)}
    return winners


def _without_weakest(profile: Profile, left: frozenset[str]) -> list[frozenset[str]]:
    votes = profile.firsts(left)
    fewest = min(votes.values())
    last = {each for each, count in votes.items() if count == fewest}
    # Whoever is first on no ballot passes no vote on, so that all such can go at once.
    return [left - last] if not fewest and last != left else [left - {each} for each in last]


def _copeland(profile: Profile) -> set[str]:
    score = dict.fromkeys(profile.candidates, Fraction(0))
    for one, other in profile.over:
        score[one] += profile.beats(one, other) - profile.beats(other, one)
    return _best(score)


def _schulze(profile: Profile) -> set[str]:
    """Those whose strongest chain of victories over each other candidate is as strong as the one back."""
    profile.effort.spend(len(profile.candidates) ** 3 // 2)
    path = {pair: votes * profile.beats(*pair) for pair, votes in profile.over.items()}
    for via, one, other in permutations(profile.candidates, 3):
        path[one, other] = max(path[one, other], min(path[one, via], path[via, other]))
    return {a for a in profile.candidates if all(path[a, b] >= path[b, a] for b in profile.candidates if b != a)}


VOTING_RULES: dict[str, Callable[[Profile], set[str]]] = {
    "plurality": lambda profile: _best(profile.firsts(profile.candidates)),
    "instant-runoff": _instant_runoff,
    "borda": lambda profile: _best(profile.borda()),
    "copeland": _copeland,
    "schulze": _schulze,
}


def _failures(profile: Profile, name: str, elected: Ranking, champion: str | None) -> Iterator[str]:
    """What a rule fails in on these ballots; what some other ballots would show is not said."""
    firsts, voters = profile.firsts(profile.candidates), profile.ballots.total()
    for each in (each for each, votes in firsts.items() if 2 * votes > voters and each not in elected):
        yield f"{name} fails the majority criterion: more than half rank {each} first."
    if champion and champion not in elected:
        yield f"{name} fails the Condorcet criterion: {champion} beats each other candidate in pairs."


def _vote_changes(profile: Profile, chosen: Ranking) -> Iterator[str]:
    """How few voters would turn each pair that a winner wins."""
    for winner, other in ((a, b) for a in chosen for b in profile.candidates if profile.over.get((a, b), 0)):
        margin = profile.over[winner, other] - profile.over[other, winner]
        if margin > 0:
            yield f"{margin // 2 + 1} voters who put {other} above {winner} instead would turn that pair."


def _and(names: Iterable[str]) -> str:
    return " and ".join(sorted(names))


def _listed_score(score: Score) -> str:
    return ", ".join(f"{name} {float(points):g}" for name, points in score.items())
