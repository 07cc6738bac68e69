"""Social choice: who is elected by ranked ballots under several rules, and where the rules disagree.

ballots: a list of objects: `ranking` (candidates, the best first; who is left out comes last) and `count` (of voters)
candidates: a list of all who stand; without it, all who are on a ballot
approvals: a list of objects: `approved` (candidates) and `count` (of voters), for approval voting
rule: the rule that decides, such as schulze; without it, all rules are compared
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations

from memfolio.errors import InputError
from memfolio.reason.effort import Effort
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from memfolio.reason.world import World

Ranking = tuple[str, ...]
Score = dict[str, Fraction]
MOST_CANDIDATES = 100
STEPS = 100
"""How many group sizes are tried when looking for voters whose ballots change the outcome."""
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
        self.effort.spend(len(self.ballots))
        score = dict.fromkeys(among, Fraction(0))
        for ranking, count in self.ballots.items():
            if first := next((each for each in ranking if each in score), None):
                score[first] += count
        return score

    def borda(self) -> Score:
        """A point for each candidate ranked below; those left out share what is left equally."""
        size, score = len(self.candidates), dict.fromkeys(self.candidates, Fraction(0))
        for ranking, count in self.ballots.items():
            for each in self.candidates:
                last = Fraction(size - len(ranking) - 1, 2)
                score[each] += count * (size - 1 - ranking.index(each) if each in ranking else last)
        return score

    def lines_up(self, who: str, wins: bool) -> bool:
        """Whether somebody beats each other candidate in pairs, or loses to each."""
        return all(self.beats(*((who, b) if wins else (b, who))) for b in self.candidates if b != who)

    def groups(self, key: Callable[[Ranking], tuple[int, str]]) -> Iterator[tuple[Counter[Ranking], int]]:
        """Voters of one first choice, those with the least key first, in growing numbers, as far as the effort goes."""
        trials = self.effort.limit // (20 * len(self.ballots) * len(self.candidates))
        for first in self.candidates:
            voters = sorted((ranking for ranking in self.ballots if ranking[0] == first), key=key)
            whole = sum(self.ballots[ranking] for ranking in voters)
            for size in sorted({1 + step * (whole - 1) // STEPS for step in range(STEPS + 1)} if whole else ()):
                if (trials := trials - 1) < 0:
                    return
                group, left = Counter[Ranking](), size
                for ranking in voters:
                    group[ranking] = min(left, self.ballots[ranking])
                    left -= group[ranking]
                yield +group, size

    def after(self, leave: Counter[Ranking], come: Counter[Ranking]) -> Profile:
        return Profile(self.ballots - leave + come, self.candidates, Effort(self.effort.limit))


def reason(given: Given, world: World) -> Result:
    """Who wins by each rule, what the rules fail in on these ballots, and how few voters would change it."""
    given.only("ballots", "candidates", "approvals", "rule")
    profile = _profile(given, Effort(world.settings.work))
    winners = {name: tuple(sorted(rule(profile))) for name, rule in RULES.items()}
    if "approvals" in given:
        winners["approval"] = tuple(sorted(_best(_approvals(given, profile.candidates))))
    named = given.choice("rule", list(winners)) if "rule" in given else ""
    chosen = winners[named] if named else Counter(winners.values()).most_common(1)[0][0]
    agree = [name for name, each in winners.items() if each == chosen]
    rest = "".join(f"; {name} elects {_and(each)}" for name, each in winners.items() if each != chosen)
    by = named or (f"{len(agree)} of {len(winners)} rules" if rest else "every rule")
    champion = next((each for each in profile.candidates if profile.lines_up(each, True)), None)
    cycle = next((t for t in permutations(profile.candidates, 3) if all(map(profile.beats, t, (*t[1:], t[0])))), ())
    pairs = {a: {b: profile.over[a, b] for b in profile.candidates if b != a} for a in profile.candidates}
    borda = {name: float(score) for name, score in profile.borda().items()}
    return Result(
        method="social-choice",
        conclusion=f"{_and(chosen)} {'wins' if len(chosen) == 1 else 'tie'} by {by}{'' if named else rest}.",
        confidence=1.0 if named or not rest else None,
        steps=(
            f"First places: {_listed(profile.firsts(profile.candidates))}. Borda points: {_listed(profile.borda())}.",
            *(f"{a} against {b}: {pairs[a][b]} to {pairs[b][a]}." for a, b in combinations(profile.candidates, 2)),
            *(f"By {name}: {_and(each)}." for name, each in winners.items()),
        ),
        would_change=tuple(_would_change(profile, chosen, named or agree[0])),
        inputs=given.used,
        answer={"winners": {name: list(each) for name, each in winners.items()}, "condorcet_winner": champion}
        | {"cycle": list(cycle), "pairwise": pairs, "borda": borda},
        notes=(
            *([f"The majority runs in a circle: {' beats '.join((*cycle, cycle[0]))}."] if cycle else []),
            *([] if champion else ["Nobody beats each other candidate in pairs: there is no Condorcet winner."]),
            *(note for name, elected in winners.items() for note in _failures(profile, name, elected, champion)),
            *([SHORT] if any(len(each) < len(profile.candidates) - 1 for each in profile.ballots) else []),
        ),
    )


def _profile(given: Given, effort: Effort) -> Profile:
    ballots, stand = Counter[Ranking](), given.texts("candidates", [])
    for number, part in enumerate(given.parts("ballots", least=1)):
        part.only("ranking", "count")
        ranking = tuple(part.texts("ranking", least=1))
        if len(set(ranking)) < len(ranking) or (stand and not set(ranking) <= set(stand)):
            raise InputError(f"ballots[{number}].ranking is {ranking!r:.80}", hint="name each who stands at most once")
        ballots[ranking] += part.whole("count", 1)
    everyone = list(dict.fromkeys([*stand, *(each for ranking in ballots for each in ranking)]))
    if not +ballots or not 2 <= len(everyone) <= MOST_CANDIDATES:
        raise InputError(f"ballots has {ballots.total()} votes for {len(everyone)}", hint="give votes for 2 to 100")
    return Profile(ballots, everyone, effort)


def _approvals(given: Given, candidates: list[str]) -> Score:
    score = dict.fromkeys(candidates, Fraction(0))
    for number, part in enumerate(given.parts("approvals", least=1)):
        approved, count = set(part.texts("approved")), part.whole("count", 1)
        if not approved <= set(candidates):
            raise InputError(f"approvals[{number}].approved names a stranger", hint="name those who stand")
        score.update({each: score[each] + count for each in approved})
    return score


def _best(score: Score) -> set[str]:
    return {each for each, points in score.items() if points == max(score.values())}


def _two_round(profile: Profile) -> set[str]:
    """The winners of the run-off; where a place in it is tied, of every run-off that may come of it."""
    firsts = profile.firsts(profile.candidates)
    bar = sorted(firsts.values())[-2]
    sure = {each for each, votes in firsts.items() if votes > bar}
    pairs = combinations([each for each, votes in firsts.items() if votes >= bar], 2)
    return {each for pair in pairs if sure <= set(pair) for each in _best(profile.firsts(pair))}


def _instant_runoff(profile: Profile) -> set[str]:
    """Who can be the last one left when the weakest goes again and again; ties are followed every way."""
    rounds = {frozenset(profile.candidates)}
    for _ in profile.candidates[1:]:
        votes = {left: profile.firsts(left) for left in rounds}
        rounds = {left - {each} for left in rounds for each in left if votes[left][each] == min(votes[left].values())}
    return set().union(*rounds)


def _copeland(profile: Profile) -> set[str]:
    score = dict.fromkeys(profile.candidates, Fraction(0))
    for one, other in profile.over:
        score[one] += profile.beats(one, other) - profile.beats(other, one)
    return _best(score)


def _minimax(profile: Profile) -> set[str]:
    """Those whose worst defeat has the fewest votes behind it."""
    worst = dict.fromkeys(profile.candidates, Fraction(0))
    for (one, other), votes in profile.over.items():
        worst[other] = min(worst[other], Fraction(-votes * profile.beats(one, other)))
    return _best(worst)


def _schulze(profile: Profile) -> set[str]:
    """Those whose strongest chain of victories over each other candidate is as strong as the one back."""
    path = {pair: votes * profile.beats(*pair) for pair, votes in profile.over.items()}
    for via, one, other in permutations(profile.candidates, 3):
        path[one, other] = max(path[one, other], min(path[one, via], path[via, other]))
    return {a for a in profile.candidates if all(path[a, b] >= path[b, a] for b in profile.candidates if b != a)}


RULES: dict[str, Callable[[Profile], set[str]]] = {
    "plurality": lambda profile: _best(profile.firsts(profile.candidates)),
    "two-round": _two_round,
    "instant-runoff": _instant_runoff,
    "borda": lambda profile: _best(profile.borda()),
    "copeland": _copeland,
    "minimax": _minimax,
    "schulze": _schulze,
}


def _failures(profile: Profile, name: str, elected: Ranking, champion: str | None) -> Iterator[str]:
    """What a rule fails in on these ballots; what some other ballots would show is not said."""
    firsts, voters = profile.firsts(profile.candidates), profile.ballots.total()
    for each in (each for each, votes in firsts.items() if 2 * votes > voters and each not in elected):
        yield f"{name} fails the majority criterion: more than half rank {each} first."
    if champion and champion not in elected:
        yield f"{name} fails the Condorcet criterion: {champion} beats each other candidate in pairs."
    for each in (each for each in elected if profile.lines_up(each, False)):
        yield f"{name} elects a Condorcet loser: {each} loses to each other candidate in pairs."
    if len(elected) > 1:
        yield f"{name} ends in a tie."
    elif name in ("two-round", "instant-runoff"):
        yield from _paradoxes(profile, RULES[name], name, elected[0])


def _paradoxes(profile: Profile, rule: Callable[[Profile], set[str]], name: str, winner: str) -> Iterator[str]:
    """Monotonicity and participation, where some voters of one first choice show that the rule fails them."""

    def place(ranking: Ranking) -> tuple[int, str]:
        return ranking.index(winner) if winner in ranking else len(profile.candidates), str(ranking)

    for group, size in profile.groups(place):
        after = rule(profile.after(group, _raised(group, winner)))
        if winner not in after:
            raising = f"{size} voters of {_orders(group)} put {winner} first"
            yield f"{name} fails monotonicity: if {raising}, {_and(after)} would win."
            break
    for group, size in profile.groups(lambda ranking: (-place(ranking)[0], str(ranking))):
        after = rule(profile.after(group, Counter())) if size < profile.ballots.total() else {winner}
        if all(after <= set(ranking[: place(ranking)[0]]) for ranking in group):
            yield f"{name} fails participation: {size} voters of {_orders(group)} get {_and(after)} by staying at home."
            break


def _would_change(profile: Profile, chosen: Ranking, name: str) -> Iterator[str]:
    for other in profile.candidates if len(chosen) == 1 else []:
        if other != chosen[0] and profile.beats(chosen[0], other):
            margin = profile.over[chosen[0], other] - profile.over[other, chosen[0]]
            yield f"{margin // 2 + 1} voters who put {other} above {chosen[0]} instead would turn that pair."
    changes = (
        (size, f"By {name}, {_and(after)} would be elected if {size} voters of {_orders(group)} put {to} first.")
        for to in profile.candidates
        if name in RULES
        for group, size in profile.groups(lambda ranking: (len(ranking), str(ranking)))
        if (after := RULES[name](profile.after(group, _raised(group, to)))) != set(chosen)
    )
    yield from (line for _, line in sorted(changes)[:1])


def _raised(group: Counter[Ranking], to: str) -> Counter[Ranking]:
    raised = Counter[Ranking]()
    for ranking, count in group.items():
        raised[to, *(each for each in ranking if each != to)] += count
    return raised


def _orders(group: Counter[Ranking]) -> str:
    told = [" > ".join(ranking) for ranking in group]
    return " and ".join(told[:3]) + (f" and {len(told) - 3} more orders" if told[3:] else "")


def _and(names: Iterable[str]) -> str:
    return " and ".join(sorted(names))


def _listed(score: Score) -> str:
    return ", ".join(f"{name} {float(points):g}" for name, points in score.items())
