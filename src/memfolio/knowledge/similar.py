"""Which cases are like a situation, and which are worth keeping. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from heapq import nsmallest
from math import log2

from memfolio.knowledge.case import Case
from memfolio.types import Origin

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
        return self.case.is_warning

    @property
    def why(self) -> tuple[str, ...]:
        """What speaks for it, and what to make of it, each as a phrase."""
        at, found = self.case.situation, list[str]()
        for name, shared, every in (("beliefs", self.beliefs, at.beliefs), ("desires", self.desires, at.desires)):
            found += [f"shares {len(shared)} of {len(every)} {name}: {', '.join(shared[:5])}"] if shared else []
        found += [f"is told in like words ({self.text:.2f})"] if self.text else []
        warning = ": a warning" if self.is_warning else ""
        return (*found, f"worked {self.case.successes} of {self.case.uses} times{warning}")


class Inverted:
    """Cases by what was believed and wanted in them, sorted out when it is first asked for."""

    def __init__(self, cases: Mapping[str, Case]) -> None:
        self._cases = cases

    @cached_property
    def _by(self) -> Mapping[tuple[str, str], list[str]]:
        found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for case in self._cases.values():
            for part in ("beliefs", "desires"):
                for name in getattr(case.situation, part):
                    found[part, name].append(case.id)
        return found

    def overlaps(self, beliefs: Iterable[str], desires: Iterable[str], weight: float) -> dict[str, float]:
        """For each case that shares something, the share of its beliefs times `weight`, and of its desires the rest.

        A case without beliefs, or without desires, has no share there.
        """
        scores: defaultdict[str, float] = defaultdict(float)
        for part, names, counts in (("beliefs", beliefs, weight), ("desires", desires, 1 - weight)):
            met = Counter(case for name in set(names) for case in self._by.get((part, name), ()))
            for case, count in met.items():
                scores[case] += counts * count / len(getattr(self._cases[case].situation, part))
        return scores


def rank(
    cases: Mapping[str, Case],
    overlaps: Mapping[str, float],
    texts: Mapping[str, float],
    *,
    beliefs: Collection[str],
    desires: Collection[str],
    limit: int,
    untrusted: bool = False,
) -> list[Found]:
    """The cases most like a situation by ids and text, what worked before what did not; then by importance and age."""
    found = []
    for name in overlaps.keys() | texts.keys():
        if (case := cases.get(name)) is None or (case.origin is Origin.UNTRUSTED and not untrusted):
            continue
        share, text = overlaps.get(name, 0.0), texts.get(name, 0.0)
        like = share + (1 - share) * TEXT * text
        if score := round(like * (1 - OUTCOME + OUTCOME * case.standing), 9):
            found.append((-score, -case.importance, -case.updated_at.timestamp(), name, like, text))
    return [
        Found(
            case=cases[name],
            similarity=round(like, 6),
            score=-score,
            beliefs=tuple(each for each in cases[name].situation.beliefs if each in beliefs),
            desires=tuple(each for each in cases[name].situation.desires if each in desires),
            text=text,
        )
        for score, _, _, name, like, text in nsmallest(limit, found)
    ]


def worth(case: Case, now: datetime) -> float:
    """How much would be lost with a case: above all its importance, then how well it worked, how often, how lately."""
    months = max(0.0, (now - case.updated_at).total_seconds() / MONTH)
    return case.importance + 0.25 * case.standing + 0.1 * log2(case.uses) - 0.1 * log2(1 + months)


def surplus(cases: Collection[Case], most: int, now: datetime) -> list[Case]:
    """The cases of least worth that must go so that `most` are left; equal ones by id."""
    return nsmallest(max(0, len(cases) - most), cases, key=lambda case: (worth(case, now), case.id))
