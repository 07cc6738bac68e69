"""Weighing candidates: what speaks for each, measured against the best of its kind, weighed and added. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from memfolio.index.rows import from_us
from memfolio.index.sessions import Turn
from memfolio.recall.candidates import Candidates
from memfolio.recall.cues import is_machine
from memfolio.recall.hit import Reason
from memfolio.recall.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each strategy counts beside words, which count 1."""

    text: float = 1.0
    spread: float = 0.5
    """How much of a memory's words the next one has; the one behind that has half as much, and so on."""
    vector: float = 0.5
    session: float = 0.2
    """For the best words, and once more for the best meaning, of the session."""
    speaker: float = 0.6
    date: float = 0.6
    owner: float = 0.5
    """Against what a machine said, unless that is what is asked for."""
    told: float = 0.1
    when: float = 0.2
    standing: float = 0.3

    @property
    def whole(self) -> float:
        """The score that counts as full: the best by words and by meaning in the best session."""
        return self.text + self.vector + 2 * self.session


SURE = 0.35
"""From which similarity on the nearest counts in full: something is always nearest, however far away it is."""


@dataclass(slots=True)
class Weighing:
    """What each strategy gives to each candidate, and what that comes to."""

    turns: Mapping[int, Turn]
    shares: dict[str, Mapping[int, float]] = field(default_factory=dict)
    scores: dict[int, float] = field(default_factory=dict)

    def add(self, strategy: str, shares: Mapping[int, float]) -> None:
        self.shares[strategy] = shares
        for row, share in shares.items():
            self.scores[row] = self.scores.get(row, 0.0) + share

    def best(self, count: int) -> list[int]:
        """The rows with most to speak for them, equal ones by id."""
        return sorted(self.turns, key=lambda row: (-self.scores.get(row, 0.0), self.turns[row].id))[:count]

    def why(self, row: int) -> tuple[Reason, ...]:
        """Which strategies found a row, as which of theirs, and what each gave it."""
        found = ((name, shares, shares[row]) for name, shares in self.shares.items() if shares.get(row))
        return tuple(Reason(name, _rank(shares, share), round(share, 4)) for name, shares, share in found)


def _rank(shares: Mapping[int, float], share: float) -> int:
    return 1 + sum(other > share for other in shares.values())


def weigh(candidates: Candidates, question: Question, weights: Weights) -> Weighing:
    """What words, meaning, company, speaker and time give to each candidate; not yet what its own words do."""
    turns = candidates.turns
    weighing = Weighing(turns)
    text, vector = _relative(candidates.text), _relative(candidates.vector, least=SURE)
    weighing.add("text", _times(weights.text, _relative(_flow(candidates, weights.spread)), turns))
    weighing.add("vector", _times(weights.vector, vector, turns))
    weighing.add("session", _times(weights.session, _by_session((text, vector), turns), turns))
    weighing.add("speaker", {row: weights.speaker for row, turn in turns.items() if turn.role in question.speakers})
    if question.months or question.years:
        within = [row for row, turn in turns.items() if _is_within(turn.happened_at, question)]
        weighing.add("date", dict.fromkeys(within, weights.date))
    role = weights.told if question.asks_what_was_told else -weights.owner
    weighing.add("role", {row: role for row, turn in turns.items() if is_machine(turn.role)})
    return weighing


def _times(weight: float, scores: Mapping[int, float], turns: Mapping[int, Turn]) -> dict[int, float]:
    return {row: weight * score for row, score in scores.items() if row in turns and score > 0}


def _flow(candidates: Candidates, spread: float) -> dict[int, float]:
    """Each row's words with what it has from its neighbours' words."""
    flow = dict(candidates.text)
    for row, near in candidates.near.items():
        for other, distance in near:
            flow[other] = flow.get(other, 0.0) + spread * 0.5 ** (distance - 1) * candidates.text[row]
    return flow


def _relative(scores: Mapping[int, float], least: float = 0.0) -> dict[int, float]:
    best = max(max(scores.values(), default=0.0), least)
    return {row: score / best for row, score in scores.items()} if best > 0 else {}


def _by_session(lists: Iterable[Mapping[int, float]], turns: Mapping[int, Turn]) -> dict[int, float]:
    """For each row the best of its session in each list, added up."""
    found = dict.fromkeys(turns, 0.0)
    for scores in lists:
        best: dict[str, float] = {}
        for row, score in scores.items():
            session = turns[row].session if row in turns else None
            if session is not None and score > best.get(session, 0.0):
                best[session] = score
        for row, turn in turns.items():
            if turn.session in best:
                found[row] += best[turn.session]
    return found


def _is_within(us: int, question: Question) -> bool:
    """Whether it happened in one of the months and years that the question names."""
    moment = from_us(us)
    is_month = not question.months or moment.month in question.months
    return is_month and (not question.years or moment.year in question.years)
