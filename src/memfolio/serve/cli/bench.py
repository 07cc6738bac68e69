"""The commands of `bench`: how much is found, what contexts show, and how fast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError
from memfolio.serve.cli.call import Answer, Options, leave_logging_to_us
from memfolio.serve.cli.output import Screen, fields_of
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.bench.context import ContextTally
    from memfolio.bench.retrieval import Measured, QuestionTally


def bench_retrieval(
    options: Options,
    files: list[Path],
    baseline: str | None = None,
    limit_cases: int | None = None,
) -> Answer:
    from memfolio.bench.retrieval import find_baseline, measure, recalled

    ways = {"recall": recalled} | ({} if baseline is None else {baseline: find_baseline(baseline)})
    with waiting(options, "Reading cases"):
        measured = measure(files, ways, limit=limit_cases, progress=partial(options.wait.step, "cases"))

    def draw(screen: Screen) -> None:
        options.tell(sorted({each for found in measured for each in found.degraded}))
        for found in measured:
            draw_measured(screen, found, list(ways))

    return Answer({"files": list(map(document, measured))}, draw)


def bench_context(options: Options, files: list[Path], limit_cases: int | None = None) -> Answer:
    from memfolio.bench.context import measure_contexts

    with waiting(options, "Reading cases"):
        measured = measure_contexts(files, limit=limit_cases, progress=partial(options.wait.step, "cases"))

    def draw(screen: Screen) -> None:
        options.tell(sorted({each for tally in measured for each in tally.degraded}))
        for tally in measured:
            draw_contexts(screen, tally)

    return Answer({"files": list(map(contexts_document, measured))}, draw)


def bench_speed(options: Options, sizes: str = "1000,10000,100000") -> Answer:
    from memfolio.bench.speed import speed as measure_speed

    numbers = read_sizes(sizes)
    with waiting(options, "Building homes"):
        measured = measure_speed(numbers, progress=partial(options.wait.step, "memories"))
    return Answer({"sizes": list(map(fields_of, measured))})


@contextmanager
def waiting(options: Options, words: str) -> Iterator[None]:
    """Show a progress line meanwhile."""
    leave_logging_to_us()
    if not options.as_json:
        options.wait.start(words)
    try:
        yield
    finally:
        options.wait.stop()


def read_sizes(text: str) -> list[int]:
    try:
        sizes = [int(each) for each in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise InputError(f"{text[:40]!r} is not a list of sizes", hint="write it like 1000,10000")
    return sizes


def document(found: Measured) -> dict[str, Any]:
    """The figures of one file for programs."""
    return {
        "file": found.file,
        "cases": found.cases,
        "turns": found.turns,
        "questions": found.questions,
        "gold_missing": found.gold_missing,
        "turns_per_second": round(found.turns_per_second, 1),
        "degraded": sorted(found.degraded),
        "results": {name: figures(tally) for name, tally in found.tallies.items()},
    }


def figures(tally: QuestionTally) -> dict[str, Any]:
    return {
        "share": rounded(tally),
        "ms": {"p50": round(tally.milliseconds(0.5), 2), "p95": round(tally.milliseconds(0.95), 2)},
        "kinds": {name: {"questions": len(each), "share": rounded(each)} for name, each in tally.kinds().items()},
    }


def rounded(tally: QuestionTally) -> dict[str, float]:
    return {str(cut): round(share, 4) for cut, share in tally.share().items()}


def draw_measured(screen: Screen, found: Measured, ways: Sequence[str]) -> None:
    counts = (counted(found.cases, "case"), counted(found.turns, "turn"), counted(found.questions, "question"))
    screen.say(f"{found.file}: {', '.join(counts)}; {found.turns_per_second:,.0f} turns a second\n", "bold")
    rows = [(name, number, *(f"{share:.3f}" for share in shares)) for name, number, shares in found.rows(ways)]
    screen.table(("kind", "asked", *found.heads(ways)), rows)
    screen.say()
    if found.gold_missing:
        screen.say(f"gold that no turn has, and that nothing can find: {found.gold_missing:,}", "dim")
    for way in ways:
        p50, p95 = (found.tallies[way].milliseconds(share) for share in (0.5, 0.95))
        screen.say(f"{way}: {p50:.1f} ms a question (p50), {p95:.1f} ms (p95)")
    screen.say()


def contexts_document(tally: ContextTally) -> dict[str, Any]:
    """The figures of one file's contexts for programs."""
    return {
        "file": tally.file,
        "cases": tally.cases,
        "foreign": len(tally.foreign),
        "degraded": sorted(tally.degraded),
        **tally.figures(),
        "kinds": {kind: tally.figures(kind) for kind in tally.kinds()},
        "reliability": [dict(zip(RELIABILITY, each, strict=True)) for each in tally.reliability()],
    }


RELIABILITY = ("hits", "fit", "gold")


def draw_contexts(screen: Screen, tally: ContextTally) -> None:
    counts = (counted(tally.cases, "case"), counted(len(tally.own), "question"))
    screen.say(f"{tally.file}: {', '.join(counts)}, {counted(len(tally.foreign), 'question')} of other cases\n", "bold")
    rows = {"all": tally.figures()} | {kind: tally.figures(kind) for kind in tally.kinds()}
    heads = [name.replace("_", " ") for name in rows["all"]]
    screen.table(("kind", *heads), [(name, *map(_figure, figures.values())) for name, figures in rows.items()])
    screen.say()
    bins = [(f"{count:,}", f"{fit:.3f}", f"{gold:.3f}") for count, fit, gold in tally.reliability()]
    screen.table(RELIABILITY, bins)
    screen.say()


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.{1 if value > 1 else 3}f}"
