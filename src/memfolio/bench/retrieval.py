"""How much of the gold is found: each case goes into a fresh home, and every question is asked."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from statistics import fmean

from memfolio.bench.cases import Case, Question, Turn, count_cases, read_cases
from memfolio.bench.scratch import scratch
from memfolio.memory import Memory

CUTS = (5, 10, 20)
"""After how many hits the gold among them is counted."""
DEPTH = max(CUTS)
NO_TOKEN = re.compile(r"[\s·\x00-\x1f\x7f-\x9f\ud800-\udfff]+")

Find = Callable[[str], Sequence[int]]
"""Gives for a question the numbers of a case's turns, best first."""
Way = Callable[[Memory, Case], Find]
"""A way to search a case that is in a memory."""
Progress = Callable[[str, int, int], None]
"""Called with the file's name, the cases of it that are done, and how many it has."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: its kind, its share of gold at each cut, and how long the answer took."""

    kind: str
    shares: tuple[float, ...]
    seconds: float


class Tally(list[Asked]):
    """All questions that were asked in one way."""

    def share(self) -> dict[int, float]:
        """The mean share of gold at each cut."""
        return {cut: fmean(each.shares[nth] for each in self) if self else 0.0 for nth, cut in enumerate(CUTS)}

    def kinds(self) -> dict[str, Tally]:
        """The same by kind of question, in the order of their names."""
        names = sorted({each.kind for each in self})
        return {name: Tally(each for each in self if each.kind == name) for name in names}

    def milliseconds(self, share: float) -> float:
        """The time within which this share of the questions was answered."""
        return within([each.seconds for each in self] or [0.0], share)


@dataclass(slots=True, kw_only=True)
class Measured:
    """What one file gave: a tally for each way of searching, and how long it took to take the turns in."""

    file: str
    cases: int = 0
    turns: int = 0
    questions: int = 0
    gold_missing: int = 0
    seconds: float = 0.0
    tallies: dict[str, Tally] = field(default_factory=dict)
    degraded: set[str] = field(default_factory=set)

    @property
    def turns_per_second(self) -> float:
        """How many turns were written, indexed and given their vectors in a second."""
        return self.turns / self.seconds if self.seconds else 0.0

    def heads(self, ways: Iterable[str]) -> list[str]:
        """What the shares in `rows` are called."""
        return [f"{way if nth == 0 else ''}@{cut}" for way in ways for nth, cut in enumerate(CUTS)]

    def rows(self, ways: Iterable[str]) -> list[tuple[str, int, list[float]]]:
        """For all questions, and for each kind: their name, their number, and the shares of these ways side by side."""
        tallies = [self.tallies[way] for way in ways]
        kinds = [tally.kinds() for tally in tallies]
        groups = [("all", tallies), *((name, [kind[name] for kind in kinds]) for name in kinds[0])]
        return [
            (name, len(each[0]), [share for tally in each for share in tally.share().values()]) for name, each in groups
        ]


def within(seconds: Sequence[float], share: float) -> float:
    """The milliseconds within which this share of them lies."""
    return 1000 * sorted(seconds)[max(0, ceil(share * len(seconds)) - 1)]


def measure(
    paths: Iterable[Path], ways: Mapping[str, Way], *, limit: int | None = None, progress: Progress | None = None
) -> list[Measured]:
    """Ask all questions of these files in every one of the ways; nothing begins before all files are read and right."""
    totals = {path: count_cases(path, limit=limit) for path in paths}
    return [_measure(path, total, ways, limit, progress or (lambda *_: None)) for path, total in totals.items()]


def _measure(path: Path, total: int, ways: Mapping[str, Way], limit: int | None, progress: Progress) -> Measured:
    found = Measured(file=path.name, tallies={name: Tally() for name in ways})
    for number, case in enumerate(read_cases(path, limit=limit)):
        progress(path.name, number, total)
        with scratch() as memory:
            _take_in(memory, case, found)
            for name, way in ways.items():
                find = way(memory, case)
                found.tallies[name] += [ask(find, question, case.turns) for question in case.questions]
            found.degraded.update(memory.library.degraded())
    return found


def _take_in(memory: Memory, case: Case, found: Measured) -> None:
    started = time.perf_counter()
    memory.observe_many(observed(number, turn) for number, turn in enumerate(case.turns))
    memory.library.meaning.fill(memory.library.index)
    found.seconds += time.perf_counter() - started
    found.cases += 1
    found.turns += len(case.turns)
    found.questions += len(case.questions)
    found.gold_missing += case.gold_missing


def observed(number: int, turn: Turn) -> dict[str, object]:
    """A turn as it is observed; its number leads back to it."""
    return {
        "role": _token(turn.role) or "user",
        "content": turn.text,
        "session": _token(turn.session) or None,
        "at": turn.at,
        "attributes": {"ref": number},
    }


def _token(name: str) -> str:
    return NO_TOKEN.sub("_", name)[:128]


def recalled(memory: Memory, _: Case) -> Find:
    """Recall as everybody calls it."""
    return lambda question: [int(hit.memory.attributes["ref"]) for hit in memory.recall(question, limit=DEPTH)]


def ask(find: Find, question: Question, turns: Sequence[Turn]) -> Asked:
    started = time.perf_counter()
    found = find(question.text)
    seconds = time.perf_counter() - started
    names = [turns[number].session if question.by_session else turns[number].id for number in found]
    shares = tuple(len(question.gold & set(names[:cut])) / len(question.gold) for cut in CUTS)
    return Asked(question.kind, shares, seconds)
