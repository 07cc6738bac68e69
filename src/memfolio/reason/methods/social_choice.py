"""Social choice: who is elected by ranked ballots under several rules, and where the rules disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice, permutations
from typing import Literal, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import Effort, Finding, Several, Texts, Whole, World, method

Ranking = tuple[str, ...]
Score = dict[str, Fraction]
MOST_CANDIDATES, SHOWN = 100, 50
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
def social_choice(given: Election, world: World) -> Finding:
    """Who wins by each rule, what the rules fail in on these ballots, and how few voters would change it."""
    profile, named = _profile(given, world.effort()), given.rule
    winners = {name: tuple(sorted(rule(profile))) for name, rule in RULES.items()}
    chosen = winners[named] if named else Counter(winners.values()).most_common(1)[0][0]
    agree = [name for name, each in winners.items() if each == chosen]
    rest = "".join(f"; {name} elects {_and(each)}" for name, each in winners.items() if each != chosen)
    by = named or (f"{len(agree)} of {len(winners)} rules" if rest else "every rule")
    champion = next((each for each in profile.candidates if profile.beats_all(each)), None)
    cycle = next((t for t in permutations(profile.candidates, 3) if all(map(profile.beats, t, (*t[1:], t[0])))), ())
    pairs = {a: {b: profile.over[a, b] for b in profile.candidates if b != a} for a in profile.candidates}
    duels = [f"{a} against {b}: {pairs[a][b]} to {pairs[b][a]}." for a, b in combinations(profile.candidates, 2)]
    borda = profile.borda()
    return Finding(
        f"{_and(chosen)} {'wins' if len(chosen) == 1 else 'tie'} by {by}{'' if named else rest}.",
        confidence=1.0 if named or not rest else None,
        steps=[
            f"First places: {_listed(profile.firsts(profile.candidates))}. Borda points: {_listed(borda)}.",
            *duels[:SHOWN],
            *(f"By {name}: {_and(each)}." for name, each in winners.items()),
        ],
        would_change=islice(_would_change(profile, chosen), SHOWN),
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


RULES: dict[str, Callable[[Profile], set[str]]] = {
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


def _would_change(profile: Profile, chosen: Ranking) -> Iterator[str]:
    """How few voters would turn each pair that a winner wins."""
    for winner, other in ((a, b) for a in chosen for b in profile.candidates if profile.over.get((a, b), 0)):
        margin = profile.over[winner, other] - profile.over[other, winner]
        if margin > 0:
            yield f"{margin // 2 + 1} voters who put {other} above {winner} instead would turn that pair."


def _and(names: Iterable[str]) -> str:
    return " and ".join(sorted(names))


def _listed(score: Score) -> str:
    return ", ".join(f"{name} {float(points):g}" for name, points in score.items())
