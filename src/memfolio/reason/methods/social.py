"""Social methods: disputes, games, bargains and votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
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
    exact,
    leaving_out,
    method,
    one_of,
    only,
    read,
    sized,
    wrong,
)
from memfolio.types import EMPTY

SHOWN = 12
"""How many equilibria, pairs or changes a result lists."""

# Argumentation: which arguments can be accepted together, given which attack which (Dung 1995).

Arguments = frozenset[str]


class Framework:
    """Arguments and the attacks between them."""

    def __init__(self, names: Sequence[str], attacks: Iterable[tuple[str, str]], effort: Effort) -> None:
        self.names, self.effort = names, effort
        self.attackers: dict[str, set[str]] = {name: set() for name in names}
        for attacker, attacked in attacks:
            self.attackers[attacked].add(attacker)

    def attacked(self, some: Arguments) -> Arguments:
        return frozenset(name for name, attackers in self.attackers.items() if attackers & some)

    def defended(self, some: Arguments) -> Arguments:
        """The arguments all of whose attackers are attacked by some."""
        self.effort.spend(len(self.names))
        beaten = self.attacked(some)
        return frozenset(name for name, attackers in self.attackers.items() if attackers <= beaten)

    def grounded(self) -> Arguments:
        """What is defended, step by step, from nothing."""
        accepted: Arguments = frozenset()
        while (defended := self.defended(accepted)) != accepted:
            accepted = defended
        return accepted

    def complete(self, accepted: Arguments, rejected: Arguments) -> Iterator[Arguments]:
        """The sets without an attack inside that contain exactly what they defend, between two bounds."""
        self.effort.spend()
        undecided = [name for name in self.names if name not in accepted and name not in rejected]
        if not undecided:
            if self.defended(accepted) == accepted:
                yield accepted
            return
        # Whatever clashes with an accepted argument is out; what is undecided is tried both ways.
        pick = frozenset(undecided[:1])
        clashing = self.attacked(pick) | self.attackers[undecided[0]]
        if not clashing & (accepted | pick):
            yield from self.complete(accepted | pick, rejected | clashing)
        yield from self.complete(accepted, rejected | pick)

    def listed(self, some: Arguments) -> list[str]:
        return [name for name in self.names if name in some]


class Dispute(NamedTuple):
    arguments: Annotated[Texts, sized(1, 300)] | Annotated[Mapping[str, str], sized(1, 300)]
    attacks: Sequence[Texts] = ()
    question: str | None = None


@method
def argumentation(given: Dispute, world: World) -> Computed:
    """The grounded, complete, preferred and stable extensions, and the status of each argument."""
    says = given.arguments if isinstance(given.arguments, Mapping) else {name: name for name in given.arguments}
    names, attacks, asked = list(says), _attacks(given.attacks, set(says)), given.question
    if asked:
        one_of("question", asked, names)
    framework = Framework(names, attacks, world.effort())
    grounded = framework.grounded()
    beaten = framework.attacked(grounded)
    complete = list(framework.complete(grounded, beaten))
    framework.effort.spend(len(complete) ** 2)
    # Preferred: complete, and part of no larger one. Stable: it attacks all that it leaves out.
    preferred = [one for one in complete if not any(one < other for other in complete)]
    stable = [one for one in complete if len(one | framework.attacked(one)) == len(names)]
    status = {name: _status(name, grounded, preferred) for name in names}
    lines = {name: f"{name}{f' ({text})' if text != name else ''} is {status[name]}" for name, text in says.items()}
    undisputed = ", ".join(framework.listed(grounded)) or "nothing"
    extensions = {"complete": complete, "preferred": preferred, "stable": stable}
    answer: dict[str, Any] = {kind: list(map(framework.listed, sets)) for kind, sets in extensions.items()}
    answer |= {"grounded": framework.listed(grounded), "status": status}
    if asked:
        answer |= {"holds": True if asked in grounded else False if asked in beaten else None, "claim": says[asked]}
    positions = [", ".join(framework.listed(each)) or "to accept nothing" for each in preferred]
    return Computed(
        lines[asked] if asked else f"beyond dispute: {undisputed}",
        steps=[
            f"unattacked, or defended by what is, step by step: {undisputed}",
            *(f"a tenable position: {each}" for each in positions),
            *lines.values(),
        ],
        would_change=_attack_changes(attacks, asked, framework),
        answer=answer,
        notes=["" if stable else "there is no stable extension: no position answers all that it leaves out"],
    )


def _status(name: str, grounded: Arguments, preferred: Sequence[Arguments]) -> str:
    count = sum(name in each for each in preferred)
    if name in grounded:
        return "accepted beyond dispute"
    return "rejected" if not count else "accepted in every position" if count == len(preferred) else "tenable"


def _attack_changes(attacks: Sequence[tuple[str, str]], asked: str | None, framework: Framework) -> Iterator[str]:
    """Which attack, left out, would change what is beyond dispute."""
    looked_at = frozenset([asked] if asked else framework.names)
    before = framework.grounded() & looked_at
    for gone, others in leaving_out(attacks):
        after = Framework(framework.names, others, framework.effort).grounded() & looked_at
        if after != before:
            ends = {"would stand": after - before, "would fall": before - after}
            what = "; ".join(f"{', '.join(framework.listed(some))} {verb}" for verb, some in ends.items() if some)
            yield f"if {gone[0]} did not attack {gone[1]}: {what}"


def _attacks(attacks: Sequence[Texts], names: set[str]) -> list[tuple[str, str]]:
    for at, each in enumerate(attacks):
        if len(each) != 2 or not names.issuperset(each):
            raise wrong(f"attacks[{at}]", each, "give two names that are among the arguments")
    return list(dict.fromkeys((attacker, attacked) for attacker, attacked in attacks))


# Game theory: the equilibria of two players, pure and mixed, in exact fractions.

Play = tuple[int, int]
Mix = tuple[Fraction, ...]
Payoff = tuple[Fraction, ...]


class Game(NamedTuple):
    """The choices of both players, and what each gets from every play."""

    choices: tuple[list[str], list[str]]
    payoffs: dict[Play, Payoff]

    def margin(self, play: Play, player: int) -> Fraction:
        """How much a player loses by the best other choice; below 0, what is gained."""
        own, fixed = self.payoffs[play][player], 1 - player
        others = [
            payoff[player]
            for other, payoff in self.payoffs.items()
            if other[fixed] == play[fixed] and other[player] != play[player]
        ]
        return own - max(others, default=own)

    def play_name(self, play: Play) -> str:
        return f"({self.choices[0][play[0]]}, {self.choices[1][play[1]]})"

    def mix_names(self, mixes: tuple[Mix, Mix]) -> str:
        sides = zip(self.choices, mixes, strict=True)
        return " against ".join(
            " + ".join(f"{share} {name}" if share < 1 else name for name, share in zip(*side, strict=True) if share)
            for side in sides
        )

    def expected(self, mixes: tuple[Mix, Mix]) -> list[Fraction]:
        shares = {(r, c): mixes[0][r] * mixes[1][c] for r, c in self.payoffs}
        return [
            sum((shares[play] * each[player] for play, each in self.payoffs.items()), Fraction(0)) for player in (0, 1)
        ]


class Payoffs(NamedTuple):
    row_payoffs: Matrix
    column_payoffs: Matrix | None = None
    rows: Texts = ()
    columns: Texts = ()


@method
def game_theory(given: Payoffs, world: World) -> Computed:
    """All extreme equilibria, pure and mixed."""
    effort, game = world.effort(), _game(given)
    effort.spend(4 * len(game.payoffs) ** 2)
    pure = [play for play in game.payoffs if all(game.margin(play, player) >= 0 for player in (0, 1))]
    gains = game.payoffs.values()
    efficient = [game.play_name(play) for play, own in game.payoffs.items() if not any(_betters(e, own) for e in gains)]
    mixes, is_degenerate = _equilibria(game, effort)
    names = [game.mix_names(each) for each in mixes]
    is_zero_sum = len({sum(each) for each in gains}) == 1
    value = str(game.expected(mixes[0])[0]) if is_zero_sum else None
    count = f"{len(names)} equilibria" if len(names) > 1 else "One equilibrium"
    bad = [name for play in pure if (name := game.play_name(play)) not in efficient]
    return Computed(
        f"{count}: {'; '.join(names[:SHOWN])}{f', worth {value} to row' if is_zero_sum else ''}.",
        confidence=1.0 if len(names) == 1 and not is_degenerate else None,
        steps=[
            f"Plays that nobody gains by leaving: {', '.join(map(game.play_name, pure[:SHOWN])) or 'none'}.",
            *(f"{game.mix_names(each)} gives {' and '.join(map(str, game.expected(each)))}." for each in mixes[:SHOWN]),
            f"Plays that no other betters for one without loss to the other: {', '.join(efficient[:SHOWN])}.",
        ],
        would_change=[
            f"{game.play_name(play)} breaks once {side} gets more than {game.margin(play, player)} less there."
            for play in pure[:SHOWN]
            for player, side in enumerate(("row", "column"))
            if len(game.choices[player]) > 1
        ],
        answer={
            "best": sorted({game.choices[0][play[0]] for play in pure}),
            "options": list(game.choices[0]),
            "pure": [game.play_name(play) for play in pure],
            "equilibria": [[list(map(str, mix)) for mix in each] for each in mixes],
            "payoffs": [list(map(str, game.expected(each))) for each in mixes],
            "value": value,
            "efficient": efficient,
        },
        notes=[
            "The game is degenerate: mixes between these equilibria may be equilibria too." if is_degenerate else "",
            "The payoffs alone do not say which of the equilibria is played." if len(names) > 1 else "",
            f"Another play is better for somebody and worse for nobody than {', '.join(bad[:SHOWN])}." if bad else "",
        ],
    )


def _betters(one: Payoff, other: Payoff) -> bool:
    """Whether something is worth more to somebody and less to nobody."""
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def _game(given: Payoffs) -> Game:
    row = given.row_payoffs
    # Without payoffs for the column player, one wins what the other loses.
    column = given.column_payoffs or [[-each for each in line] for line in row]
    shape = len(row), len(row[0])
    if (len(column), len(column[0])) != shape:
        raise InputError("column_payoffs has another shape than row_payoffs", hint="give a number for each play")
    payoffs: dict[Play, Payoff] = {
        (r, c): (exact(f"row_payoffs[{r}][{c}]", row[r][c]), exact(f"column_payoffs[{r}][{c}]", column[r][c]))
        for r, c in product(*map(range, shape))
    }
    return Game((_choices("rows", given.rows, shape[0]), _choices("columns", given.columns, shape[1])), payoffs)


def _choices(side: str, given: Texts, size: int) -> list[str]:
    names = list(given or [f"{side[:-1]} {number + 1}" for number in range(size)])
    if len(names) != size or len(set(names)) != size:
        raise InputError(f"{side} has {len(set(names))} different names", hint=f"give {size}")
    return names


def _equilibria(game: Game, effort: Effort) -> tuple[list[tuple[Mix, Mix]], bool]:
    """All extreme equilibria, and whether the game is degenerate, so that there may be more between them."""
    rows, columns = (range(len(names)) for names in game.choices)
    mine = _vertices([[game.payoffs[r, c][1] for c in columns] for r in rows], effort)
    theirs = _vertices([[game.payoffs[r, c][0] for r in rows] for c in columns], effort)
    # Equilibria are pairs of vertices, each of which uses best answers to the other only.
    effort.spend(len(mine) * len(theirs))
    found = [(x, y) for x, best in mine.items() for y, back in theirs.items() if _used(x) <= back and _used(y) <= best]
    return found, any(len(best) > len(_used(mix)) for mix, best in (*mine.items(), *theirs.items()))


def _used(mix: Mix) -> set[int]:
    return {place for place, share in enumerate(mix) if share}


def _vertices(payoffs: list[list[Fraction]], effort: Effort) -> dict[Mix, set[int]]:
    """A player's extreme mixes, each with the other's best answers; `payoffs` are the other's, a row an own choice."""
    found: dict[Mix, set[int]] = {}
    rows, columns = range(len(payoffs)), range(len(payoffs[0]))
    sizes = range(1, min(len(rows), len(columns)) + 1)
    effort.spend(sum(comb(len(rows), size) * comb(len(columns), size) * (size + 1) ** 2 for size in sizes))
    # Whole numbers are several times as fast as fractions.
    scale = lcm(*(each.denominator for line in payoffs for each in line))
    whole = [[int(each * scale) for each in line] for line in payoffs]
    for size in sizes:
        for own, other in product(combinations(rows, size), combinations(columns, size)):
            # With these shares of its own choices, the others' choices are worth the same, and the shares add up to 1.
            equal = [[*(whole[i][j] for i in own), -1, 0] for j in other]
            solved = _solved([*equal, [*[1] * size, 0, 1]])
            if solved and min(solved[:size]) >= 0:
                worth = [sum(solved[k] * whole[i][j] for k, i in enumerate(own)) for j in columns]
                # The other side must not have a better answer outside of the support.
                if max(worth) == solved[size]:
                    mix = tuple(solved[own.index(i)] if i in own else Fraction(0) for i in rows)
                    found[mix] = {j for j in columns if worth[j] == solved[size]}
    return found


def _solved(lines: list[list[int]]) -> list[Fraction] | None:
    """The one solution of linear equations in whole numbers, each with its right side last; None if there is not one.

    Lines are cleared by Bareiss' rule, by which all divisions come out even.
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


# Negotiation: a fair and efficient deal, by the rules of bargaining theory.

Deals = dict[str, Payoff]
Worths = Mapping[str, float]
"""What something is worth to each party."""
BARGAINING_RULES: dict[str, Callable[[Payoff, Payoff], Fraction]] = {
    "nash": lambda gain, most: prod(gain, start=Fraction(1)),
    "kalai-smorodinsky": lambda gain, most: min(map(_share, gain, most)),
    "egalitarian": lambda gain, most: min(gain),
    "utilitarian": lambda gain, most: sum(gain, Fraction(0)),
}
"""The score of a deal by what each party gains, and by the most each could gain."""


class Bargain(NamedTuple):
    outcomes: Named[Worths] | None = None
    issues: Named[Mapping[str, Worths]] | None = None
    disagreement: Worths = EMPTY


@method
def negotiation(given: Bargain, world: World) -> Computed:
    """The deal that each rule picks, and how good a party's alternative must be to refuse it."""
    effort = world.effort()
    deals, parties = _packages(given.issues, effort) if given.issues else _outcomes(given.outcomes)
    only("disagreement", given.disagreement, parties)
    floor = tuple(exact(f"disagreement.{each}", given.disagreement.get(each, 0)) for each in parties)
    gains = {name: tuple(map(Fraction.__sub__, worth, floor)) for name, worth in deals.items()}
    # Nobody signs what is worse than no deal.
    gains = {name: gain for name, gain in _efficient(gains, effort).items() if min(gain) >= 0}
    if not gains:
        raise InputError("no deal is as good for all as no deal", hint="give other outcomes, or see disagreement")
    most = tuple(map(max, zip(*gains.values(), strict=True)))
    picked = {name: _picked(gains, most, rule) for name, rule in BARGAINING_RULES.items()}
    nash, others = picked["nash"], {name: each for name, each in picked.items() if each != picked["nash"]}
    worth = {name: dict(zip(parties, map(float, deals[deal[0]]), strict=True)) for name, deal in picked.items()}
    rest = "".join(f"; {name}: {' or '.join(each)}" for name, each in others.items())
    return Computed(
        f"By {'the Nash rule' if others else 'every rule'}: {' or '.join(nash)}{rest}.",
        confidence=1.0 if not others and len(nash) == 1 else None,
        steps=[
            f"Without a deal: {_worth(zip(parties, floor, strict=True))}.",
            f"The most each can gain: {_worth(zip(parties, most, strict=True))}.",
            f"Of {len(deals)} deals, {len(gains)} are worth no less than none to anybody and bettered by no other.",
            *(f"{name}: {deal[0]}, worth {_worth(worth[name].items())}." for name, deal in picked.items()),
        ],
        would_change=[
            f"If {party} had over {float(gain):.4g} more without a deal, it would refuse this one."
            for party, gain in zip(parties, gains[nash[0]], strict=True)
        ],
        answer={"best": nash, "options": list(deals), "deals": picked, "worth": worth, "efficient": list(gains)},
        notes=[f"By {name}, {len(each)} deals are equally good." for name, each in picked.items() if each[1:]],
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
    deals: Deals = {"": (Fraction(0),) * len(parties)}
    for issue, options in issues.items():
        worths = {
            f"{issue}: {option}": [exact(f"issues.{issue}.{option}.{each}", worth.get(each, 0)) for each in parties]
            for option, worth in options.items()
        }
        deals = {
            f"{deal}, {choice}".removeprefix(", "): tuple(map(Fraction.__add__, total, worth))
            for deal, total in deals.items()
            for choice, worth in worths.items()
        }
    return deals, parties


def _efficient(gains: Deals, effort: Effort) -> Deals:
    """The deals that no other betters; whatever betters a deal comes before it when they are sorted."""
    kept: Deals = {}
    for name, gain in sorted(gains.items(), key=lambda each: each[1], reverse=True):
        effort.spend(2 * (1 + len(kept)))
        if not any(_betters(each, gain) for each in kept.values()):
            kept[name] = gain
    return {name: gain for name, gain in gains.items() if name in kept}


def _picked(gains: Deals, most: Payoff, rule: Callable[[Payoff, Payoff], Fraction]) -> list[str]:
    """The best deals by a rule; those that are worth the same to all count as one."""
    # Exact fractions: a tie is a tie, and no rounding decides it.
    top = max(rule(gain, most) for gain in gains.values())
    return sorted({gain: name for name, gain in reversed(gains.items()) if rule(gain, most) == top}.values())


def _share(gain: Fraction, most: Fraction) -> Fraction:
    return gain / most if most else Fraction(1)


def _worth(amounts: Iterable[tuple[str, Fraction | float]]) -> str:
    return ", ".join(f"{name} {float(each):.4g}" for name, each in amounts)


# Social choice: who is elected by ranked ballots under several rules, and where the rules disagree.

Ranking = tuple[str, ...]
Score = Mapping[str, Fraction | int]
MOST_CANDIDATES = 100
SHORT = "Some ballots leave candidates out: these count as equal and last; in run-offs such a ballot may run out."


class Ballot(NamedTuple):
    ranking: Several[str]
    count_: Whole = 1


class Election(NamedTuple):
    ballots: Several[Ballot]
    candidates: Texts = ()
    rule: Literal["", "plurality", "instant-runoff", "borda", "copeland"] = ""


class Profile:
    """The ballots of one election, counted."""

    def __init__(self, ballots: Counter[Ranking], candidates: list[str], effort: Effort):
        self.ballots, self.candidates = +ballots, candidates
        effort.spend(len(self.ballots) * len(candidates) ** 2)
        self.over = dict.fromkeys(permutations(candidates, 2), 0)
        """How many voters put one candidate above another."""
        for ranking, count in self.ballots.items():
            below = set(candidates)
            for better in ranking:
                below.discard(better)
                for worse in below:
                    self.over[better, worse] += count

    def beats(self, one: str, other: str) -> bool:
        return self.over[one, other] > self.over[other, one]

    def victories(self) -> dict[str, int]:
        """How many others each candidate beats in pairs, less those that beat it (Copeland's score)."""
        score = dict.fromkeys(self.candidates, 0)
        for one, other in self.over:
            score[one] += self.beats(one, other) - self.beats(other, one)
        return score

    def firsts(self, among: Iterable[str]) -> dict[str, int]:
        """How many ballots put each of some candidates before the others of them."""
        score = dict.fromkeys(among, 0)
        for ranking, count in self.ballots.items():
            if first := next((each for each in ranking if each in score), None):
                score[first] += count
        return score

    def borda(self) -> dict[str, Fraction]:
        """A point for each candidate ranked below; those left out share what is left equally."""
        size, score = len(self.candidates), dict.fromkeys(self.candidates, Fraction(0))
        for ranking, count in self.ballots.items():
            points = {each: Fraction(size - 1 - place) for place, each in enumerate(ranking)}
            for each in self.candidates:
                score[each] += count * points.get(each, Fraction(size - len(ranking) - 1, 2))
        return score

    def instant_runoff(self) -> set[str]:
        """Who is left when the weakest go again and again; those that tie for the last place go together."""
        left = set(self.candidates)
        while len(left) > 1:
            votes = self.firsts(left)
            stronger = {each for each, count in votes.items() if count > min(votes.values())}
            # All tie: nobody can be eliminated fairly.
            if not stronger:
                break
            left = stronger
        return left


@method
def social_choice(given: Election, world: World) -> Computed:
    """Who wins by each rule, and how few voters would change a pair."""
    profile, rule = _profile(given, world.effort()), given.rule
    candidates, over, borda, firsts = (
        profile.candidates,
        profile.over,
        profile.borda(),
        profile.firsts(profile.candidates),
    )
    victories = profile.victories()
    elected = {
        "plurality": _best(firsts),
        "instant-runoff": profile.instant_runoff(),
        "borda": _best(borda),
        "copeland": _best(victories),
    }
    winners = {name: tuple(sorted(each)) for name, each in elected.items()}
    # Where no rule is named, that on which most of them agree.
    chosen = winners[rule] if rule else Counter(winners.values()).most_common(1)[0][0]
    rest = "".join(f"; {name} elects {' and '.join(each)}" for name, each in winners.items() if each != chosen)
    agreeing = sum(each == chosen for each in winners.values())
    by = rule or (f"{agreeing} of {len(winners)} rules" if rest else "every rule")
    champion = next((each for each in candidates if victories[each] == len(candidates) - 1), None)
    # Without ties, a majority that runs in a circle does so among some three candidates.
    cycle = next((t for t in permutations(candidates, 3) if all(map(profile.beats, t, (*t[1:], t[0])))), ())
    duels = [f"{a} against {b}: {over[a, b]} to {over[b, a]}." for a, b in combinations(candidates, 2)]
    return Computed(
        f"{' and '.join(chosen)} {'wins' if len(chosen) == 1 else 'tie'} by {by}{'' if rule else rest}.",
        confidence=1.0 if rule or not rest else None,
        steps=[
            f"First places: {_listed(firsts)}. Borda points: {_listed(borda)}.",
            *duels[: 4 * SHOWN],
            *(f"By {name}: {' and '.join(each)}." for name, each in winners.items()),
        ],
        would_change=_vote_changes(profile, chosen)[:SHOWN],
        answer={
            "best": list(chosen),
            "options": list(candidates),
            "condorcet_winner": champion,
            "winners": {name: list(each) for name, each in winners.items()},
            "cycle": list(cycle),
            "pairwise": {a: {b: over[a, b] for b in candidates if b != a} for a in candidates},
            "borda": {name: float(each) for name, each in borda.items()},
        },
        notes=[
            f"The majority runs in a circle: {' beats '.join((*cycle, cycle[0]))}." if cycle else "",
            "" if champion else "Nobody beats each other candidate in pairs: there is no Condorcet winner.",
            *(
                f"{name} passes over {champion}, who beats each other candidate in pairs."
                for name, each in winners.items()
                if champion and champion not in each
            ),
            SHORT if any(len(each) < len(candidates) - 1 for each in profile.ballots) else "",
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


def _vote_changes(profile: Profile, chosen: Ranking) -> list[str]:
    """How few voters would turn each pair that a winner wins."""
    return [
        f"{(profile.over[winner, other] - profile.over[other, winner]) // 2 + 1} voters who put {other} above {winner}"
        " instead would turn that pair."
        for winner in chosen
        for other in profile.candidates
        if other != winner and profile.beats(winner, other)
    ]


def _listed(score: Score) -> str:
    return ", ".join(f"{name} {float(points):g}" for name, points in score.items())
