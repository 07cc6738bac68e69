"""Weighing candidates: what speaks for each, measured against the best of its kind, weighed and added. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from math import fsum, inf

from memfolio.decay import DAY
from memfolio.index.pages import page_period
from memfolio.index.rows import day_us, from_us
from memfolio.index.sieve import Turn
from memfolio.recall.asking.intent import Intent
from memfolio.recall.asking.question import Question
from memfolio.recall.hit import Reason
from memfolio.recall.ranking.candidates import Candidates
from memfolio.recall.ranking.cues import is_machine
from memfolio.tuning import Ranking
from memfolio.types import Kind

LEAST = 1e-5
"""By how much of a score one comes behind another."""
SURE = 0.35
"""From which similarity on the nearest counts in full: something is always nearest, however far away it is."""


@dataclass(slots=True)
class Weighing:
    """What each strategy gives to each candidate, and what that comes to."""

    turns: Mapping[int, Turn]
    whole: float = 1.0
    """The score that counts as full."""
    aside: Set[int] = frozenset()
    """The rows that only ask: what the others are worth is not measured against them."""
    shares: dict[str, Mapping[int, float]] = field(default_factory=dict)
    scores: dict[int, float] = field(init=False)
    _sorted: dict[str, list[float]] = field(default_factory=dict)
    _own: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scores = dict.fromkeys(self.turns, 0.0)

    def add(self, strategy: str, shares: Mapping[int, float]) -> None:
        """Give to each row what a strategy has for it."""
        if shares:
            self.shares[strategy] = shares
        scores = self.scores
        for row, share in shares.items():
            scores[row] += share

    def settle(self) -> None:
        """Take what speaks for the rows so far as their own worth, beside which hints only lean."""
        self._own = dict(self.scores)

    def lean(self, strategy: str, shares: Mapping[int, float]) -> None:
        """Give to each row what a hint has for it: in full where its words fit, else as far as it fits like the best.

        A hint tells two memories apart that both fit; it does not make one fit that does not.
        """
        own, worded = self._own, self.shares.get("text", {})
        most = _best(own, self.aside)
        parts = {row: 1.0 if row in worded or most <= 0 else min(1.0, max(0.0, own[row] / most)) for row in shares}
        self.add(strategy, {row: share * parts[row] for row, share in shares.items()})

    def scale(self, strategy: str, factors: Mapping[int, float]) -> None:
        """Multiply what speaks for each row; what speaks against it stays."""
        scores = self.scores
        shares = {row: scores[row] * (factor - 1) for row, factor in factors.items() if scores[row] > 0}
        self.add(strategy, {row: share for row, share in shares.items() if share})

    def hold_back(self, strategy: str, rows: Iterable[int], factor: float, behind: Iterable[int]) -> None:
        """Multiply what speaks for some rows, and let them come behind the others."""
        scores = self.scores
        most = min((scores[row] for row in behind), default=inf) - LEAST
        held = {row: min(scores[row] * (factor if scores[row] > 0 else 1.0), most) for row in rows}
        self.add(strategy, {row: score - scores[row] for row, score in held.items() if score != scores[row]})

    def best(self, count: int, among: Iterable[int] | None = None) -> list[int]:
        """The rows with most to speak for them, equal ones by id."""
        scores, turns = self.scores, self.turns
        rows = list(turns if among is None else among)
        if len(rows) > count:  # most need not be put in order
            least = sorted([scores[row] for row in rows], reverse=True)[count - 1]
            rows = [row for row in rows if scores[row] >= least]
        return sorted(rows, key=lambda row: (-scores[row], turns[row].id))[:count]

    def why(self, row: int) -> tuple[Reason, ...]:
        """Which strategies found a row, as which of theirs, and what each gave it."""
        return tuple(
            Reason(name, self._rank(name, share), round(share, 4))
            for name, shares in self.shares.items()
            if (share := shares.get(row))
        )

    def _rank(self, strategy: str, share: float) -> int:
        if strategy not in self._sorted:
            self._sorted[strategy] = sorted(self.shares[strategy].values())
        ordered = self._sorted[strategy]
        return 1 + len(ordered) - bisect_right(ordered, share)


def weigh(candidates: Candidates, question: Question, ranking: Ranking, aside: Set[int] = frozenset()) -> Weighing:
    """What words, meaning, company, ties, speaker and time give to each candidate; not yet what its own words do.

    The best of those that are not `aside` is the measure of them all.
    """
    turns = candidates.turns
    weighing = Weighing(turns, whole=(ranking.text + ranking.vector + 2 * ranking.session) or 1.0, aside=aside)
    text, vector = _relative(candidates.text, turns, aside), _relative(candidates.vector, turns, aside, least=SURE)
    weighing.add("text", _times(ranking.text, _relative(_flow(candidates, ranking.spread), turns, aside)))
    weighing.add("vector", _times(ranking.vector, vector))
    weighing.add("session", _times(ranking.session, _by_session((text, vector), turns)))
    for name in ("entity", "causal", "temporal", "link"):
        found: Mapping[int, float] = getattr(candidates, name)
        weighing.add(name, _times(getattr(ranking, name), {row: found[row] for row in found if row in turns}))
    if candidates.digests:
        weighing.add("digest", _times(ranking.digest, _by_digest(candidates, text, vector)))
    weighing.settle()
    _weigh_cues(weighing, question, ranking)
    return weighing


def _weigh_cues(weighing: Weighing, question: Question, ranking: Ranking) -> None:
    """What the question says about whom, when and what kind of memory it wants."""
    turns = weighing.turns
    if question.speakers:
        spoken = [row for row, turn in turns.items() if turn.role in question.speakers]
        weighing.add("speaker", dict.fromkeys(spoken, ranking.speaker))
    if question.times:
        within = {row: question.nearness(from_us(turn.happened_at)) for row, turn in turns.items()}
        weighing.add("date", _times(ranking.date, within))
    role = 0.0 if question.asks_summary else ranking.told if question.asks_what_was_told else -ranking.owner
    if role:
        machines = set(filter(is_machine, {turn.role for turn in turns.values()}))
        weighing.add("role", {row: role for row, turn in turns.items() if turn.role in machines})
    if question.intent is Intent.HOW and ranking.procedure:
        ways = [row for row, turn in turns.items() if turn.kind == Kind.PROCEDURAL]
        weighing.lean("procedure", dict.fromkeys(ways, ranking.procedure))
    recency = ranking.latest if question.intent is Intent.LATEST else ranking.recency
    if recency and turns:
        weighing.lean("recent", _times(recency, _recent(turns, weighing.aside, ranking.recency_days)))


def _times(weight: float, scores: Mapping[int, float]) -> dict[int, float]:
    return {row: weight * score for row, score in scores.items() if score > 0} if weight else {}


def _flow(candidates: Candidates, spread: float) -> dict[int, float]:
    """Each row's words with what it has from its neighbours' words."""
    text = candidates.text
    flow = {row: [score] for row, score in text.items()}
    parts = {distance: spread * 0.5 ** (distance - 1) for distance in range(1, 9)}
    for row, near in candidates.near.items():
        score = text[row]
        for other, distance in near:
            flow.setdefault(other, []).append(parts[distance] * score)
    # Exact, so that the order in which neighbours come does not show.
    return {row: fsum(scores) for row, scores in flow.items()}


def _relative(
    scores: Mapping[int, float], turns: Mapping[int, Turn], aside: Set[int], least: float = 0.0
) -> dict[int, float]:
    """The scores of candidates as parts of the best of them."""
    own = {row: score for row, score in scores.items() if row in turns}
    best = max(_best(own, aside), least)
    return {row: min(1.0, score / best) for row, score in own.items()} if best > 0 else {}


def _best(scores: Mapping[int, float], aside: Set[int]) -> float:
    """The best score of those that are not aside, or else of all."""
    others = [score for row, score in scores.items() if row not in aside] if aside else None
    return max(others or scores.values(), default=0.0)


def _by_session(lists: Iterable[Mapping[int, float]], turns: Mapping[int, Turn]) -> dict[int, float]:
    """For each row the best of its session in each list, added up."""
    total: dict[str | None, float] = {}
    for scores in lists:
        best: dict[str | None, float] = {}
        for row, score in scores.items():
            session = turns[row].session
            if score > best.get(session, 0.0):
                best[session] = score
        for session, score in best.items():
            total[session] = total.get(session, 0.0) + score
    total.pop(None, None)
    return {row: total[session] for row, turn in turns.items() if (session := turn.session) in total}


def _by_digest(candidates: Candidates, *lists: Mapping[int, float]) -> dict[int, float]:
    """For what happened in the time of a digest, how well that digest fits."""
    spans = {row: page_period(path) for row, path in candidates.digests.items()}
    fits = {row: max(scores.get(row, 0.0) for scores in lists) for row in spans}
    bounds = [(day_us(span[0]), day_us(span[1]), fits[row]) for row, span in spans.items() if span]
    return {
        row: max((fit for start, end, fit in bounds if start <= turn.happened_at < end + DAY), default=0.0)
        for row, turn in candidates.turns.items()
        if row not in spans
    }


def _recent(turns: Mapping[int, Turn], aside: Set[int], half_life: float) -> dict[int, float]:
    """From 1 for the newest of the candidates down to 0."""
    newest = _best({row: turn.happened_at for row, turn in turns.items()}, aside)
    return {row: 0.5 ** max(0.0, (newest - turn.happened_at) / DAY / half_life) for row, turn in turns.items()}
