"""Which cases are like a situation, and which are worth keeping. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from heapq import nsmallest
from math import log2

from memfolio.knowledge.case import Case

TEXT = 0.5
"""How much like texts count where nothing else meets; the more ids meet, the less is left for them."""
OUTCOME = 0.2
"""How much of a score depends on how well a case worked."""
MONTH = 30 * 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A case that is like a situation: `similarity` says how much, `score` also counts how well it worked."""

    case: Case
    similarity: float
    score: float
    beliefs: tuple[str, ...]
    desires: tuple[str, ...]
    text: float

    @property
    def is_warning(self) -> bool:
        """Whether it failed more often than it worked: it tells what not to do."""
        return 2 * self.case.successes < self.case.uses

    @property
    def why(self) -> tuple[str, ...]:
        """What speaks for it, and what to make of it, each as a phrase."""
        at, found = self.case.situation, list[str]()
        for name, shared, every in (("beliefs", self.beliefs, at.beliefs), ("desires", self.desires, at.desires)):
            found += [f"shares {len(shared)} of {len(every)} {name}: {', '.join(shared[:5])}"] if shared else []
        found += [f"is told in like words ({self.text:.2f})"] if self.text else []
        warning = ": a warning" if self.is_warning else ""
        return (*found, f"worked {self.case.successes} of {self.case.uses} times{warning}")


class Similar(list[Found]):
    """The cases that are like a situation, best first; `degraded` says what could not take part in the search."""

    def __init__(self, found: Iterable[Found], degraded: tuple[str, ...] = ()) -> None:
        super().__init__(found)
        self.degraded = degraded


def compare(case: Case, beliefs: Collection[str], desires: Collection[str], text: float, weight: float) -> Found:
    """How much a case is like a situation: the share of its beliefs times `weight`, of its desires times the rest.

    A case without beliefs, or without desires, has no share there.
    """
    at = case.situation
    held = tuple(each for each in at.beliefs if each in beliefs)
    wanted = tuple(each for each in at.desires if each in desires)
    share = weight * len(held) / (len(at.beliefs) or 1) + (1 - weight) * len(wanted) / (len(at.desires) or 1)
    like = share + (1 - share) * TEXT * text
    score = round(like * (1 - OUTCOME + OUTCOME * case.standing), 9)
    return Found(case=case, similarity=round(like, 6), score=score, beliefs=held, desires=wanted, text=text)


def rank(
    cases: Iterable[Case],
    *,
    beliefs: Collection[str],
    desires: Collection[str],
    texts: Mapping[str, float],
    weight: float,
    limit: int,
) -> list[Found]:
    """The cases most like a situation, what worked before what did not; equal ones by importance, then latest first."""
    held, wanted = frozenset(beliefs), frozenset(desires)
    met = (
        compare(case, held, wanted, texts.get(case.id, 0.0), weight)
        for case in cases
        if case.id in texts
        or not (held.isdisjoint(case.situation.beliefs) and wanted.isdisjoint(case.situation.desires))
    )
    return nsmallest(limit, (each for each in met if each.score), key=_place)


def _place(found: Found) -> tuple[float, float, float, str]:
    case = found.case
    return -found.score, -case.importance, -case.updated_at.timestamp(), case.id


def worth(case: Case, now: datetime) -> float:
    """How much would be lost with a case: above all its importance, then how well it worked, how often, how lately."""
    months = max(0.0, (now - case.updated_at).total_seconds() / MONTH)
    return case.importance + 0.25 * case.standing + 0.1 * log2(case.uses) - 0.1 * log2(1 + months)


def surplus(cases: Collection[Case], most: int, now: datetime) -> list[Case]:
    """The cases of least worth that must go so that `most` are left; equal ones by id."""
    return nsmallest(max(0, len(cases) - most), cases, key=lambda case: (worth(case, now), case.id))
