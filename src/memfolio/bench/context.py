"""What contexts show: each case is asked its own questions and those of other cases, and what is shown is counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from memfolio.bench.retrieval import DEPTH, BenchCase, BenchQuestion, Progress, count_cases, read_cases, take_in
from memfolio.bench.scratch import scratch
from memfolio.memory import Memory
from memfolio.types import frozen


@frozen
class ShownContext:
    """What one question was shown: how many memories, in how many tokens, and how many of them are gold."""

    kind: str
    memories: int
    tokens: int
    gold: int
    share: float
    """The share of the question's gold that is shown; 0 for a question of another case."""


@dataclass(slots=True)
class ContextTally:
    """What the contexts of one file's questions showed; None stands where no question was asked."""

    file: str
    cases: int = 0
    own: list[ShownContext] = field(default_factory=list)
    foreign: list[ShownContext] = field(default_factory=list)
    degraded: set[str] = field(default_factory=set)
    fits: list[tuple[float, bool]] = field(default_factory=list)
    """The fit of each hit of all these questions, and whether it is gold."""

    def reliability(self) -> list[tuple[int, float, float]]:
        """For the hits in each tenth of the scale of fits: how many, their mean fit, and the share of gold."""
        tenths: dict[int, list[tuple[float, bool]]] = {}
        for fit, is_gold in self.fits:
            tenths.setdefault(min(9, int(10 * fit)), []).append((fit, is_gold))
        return [
            (len(each), round(fmean(fit for fit, _ in each), 3), round(fmean(is_gold for _, is_gold in each), 3))
            for _, each in sorted(tenths.items())
        ]

    def figures(self, kind: str | None = None) -> dict[str, float | None]:
        """The figures for all questions, or for one kind of them; means over all of them but for `density`."""
        own = [each for each in self.own if kind in (None, each.kind)]
        foreign = [each for each in self.foreign if kind in (None, each.kind)]
        filled = [each for each in own if each.memories]
        return {
            "questions": len(own),
            "gold_shown": _mean(each.share for each in own),
            "density": _mean(each.gold / each.memories for each in filled),
            "memories": _mean(each.memories for each in own),
            "tokens": _mean(each.tokens for each in own),
            "silent_own": _mean(each.tokens == 0 for each in own),
            "silent_foreign": _mean(each.tokens == 0 for each in foreign),
        }

    def kinds(self) -> list[str]:
        return sorted({each.kind for each in self.own})


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return round(fmean(found), 4) if found else None


def measure_contexts(
    paths: Iterable[Path], *, limit: int | None = None, progress: Progress | None = None
) -> list[ContextTally]:
    """Ask for the context of every question of these files, and of as many questions of each file's other cases."""
    totals = {path: count_cases(path, limit=limit) for path in paths}
    return [_measure(path, total, limit, progress or (lambda *_: None)) for path, total in totals.items()]


def _measure(path: Path, total: int, limit: int | None, progress: Progress) -> ContextTally:
    tally = ContextTally(path.name)
    asked = [case.questions for case in read_cases(path, limit=limit)]
    for number, case in enumerate(read_cases(path, limit=limit)):
        progress(path.name, number, total)
        with scratch() as memory:
            numbers = {item.id: nth for nth, item in enumerate(take_in(memory, case))}
            others = foreign_questions(asked, number)
            tally.own += [show(memory, case, numbers, question) for question in case.questions]
            tally.foreign += [show(memory, case, numbers, question) for question in others]
            tally.fits += [each for question in case.questions for each in fits(memory, case, numbers, question)]
            tally.fits += [(fit, False) for question in others for fit, _ in fits(memory, case, numbers, question)]
            tally.degraded.update(memory.searcher.degraded())
        tally.cases += 1
    return tally


def foreign_questions(asked: Sequence[Sequence[BenchQuestion]], own: int) -> list[BenchQuestion]:
    """As many questions of the other cases as the case has itself, if there are so many, spread evenly over them."""
    texts = {question.text for question in asked[own]}
    others = [
        question
        for number, questions in enumerate(asked)
        if number != own
        for question in questions
        if question.text not in texts
    ]
    count = min(len(asked[own]), len(others))
    return [others[nth * len(others) // count] for nth in range(count)]


def fits(
    memory: Memory, case: BenchCase, numbers: Mapping[str, int], question: BenchQuestion
) -> Iterator[tuple[float, bool]]:
    """The fit of each hit of a question, and whether it is gold."""
    for hit in memory.recall(question.text, limit=DEPTH):
        turn = case.turns[numbers[hit.memory.id]]
        yield hit.fit, (turn.session if question.by_session else turn.id) in question.gold


def show(memory: Memory, case: BenchCase, numbers: Mapping[str, int], question: BenchQuestion) -> ShownContext:
    """What the context of a question shows of a case whose turns are remembered under these ids."""
    context = memory.compose(question.text)
    # What was made of turns counts as all of them.
    items = memory.searcher.known(set(context.ids))
    ids = {each for item in items.values() for each in (item.id, *item.derived_from)}
    turns = [case.turns[numbers[each]] for each in ids if each in numbers]
    names = [turn.session if question.by_session else turn.id for turn in turns]
    gold = [name for name in names if name in question.gold]
    return ShownContext(
        kind=question.kind,
        memories=max(len(turns), len(context.ids)),
        tokens=context.tokens,
        gold=len(gold),
        share=len(set(gold)) / len(question.gold),
    )
