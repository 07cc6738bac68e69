"""The figures of recall in docs/recall.md: what it finds in files of cases, and what each strategy is worth.

`python -m tools.ablation FILE…` asks the questions with each strategy switched off in turn, and writes the tables.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path

from memfolio.bench.retrieval import BASELINES, DEPTH, BenchCase, Find, Measured, Way, measure, recalled
from memfolio.bench.scratch import scratch
from memfolio.errors import MemfolioError
from memfolio.memory import Memory
from memfolio.recall.query import Query
from memfolio.settings import Ranking

PAGE = Path(__file__).parent.parent / "docs" / "recall.md"
BEGIN, END = "<!-- ablation: begin -->\n", "<!-- ablation: end -->\n"
RECALL = "recall"
WAYS = {RECALL: recalled, **BASELINES}
TOGETHER = {"owner": "owner, told", "told": "owner, told"}
"""Weights that are two sides of one strategy."""
NO_STRATEGY = frozenset("recency_days dormant cut hop_share".split())
"""Fractions that say how a strategy works, and not how much it counts."""
CUT = 10


def variants(ranking: Ranking) -> Iterator[tuple[str, Ranking]]:
    """Every ranking that lacks one strategy of this one, and those that have words or meaning alone."""
    names = {name: TOGETHER.get(name, name) for name in _strategies(ranking)}
    for title in dict.fromkeys(names.values()):
        off = [name for name, its_title in names.items() if its_title == title]
        yield f"without {title}", _without(ranking, off)
    for title, only in (("words only", "text"), ("meaning only", "vector")):
        yield title, _without(ranking, [name for name in names if name != only and name != "inline"])


def _strategies(ranking: Ranking) -> list[str]:
    """The weights and switches that are on."""
    return [
        each.name
        for each in fields(ranking)
        if each.name not in NO_STRATEGY and each.type in ("float", "bool") and getattr(ranking, each.name)
    ]


def _without(ranking: Ranking, names: Sequence[str]) -> Ranking:
    off: dict[str, float | bool] = {name: type(getattr(ranking, name))(0) for name in names}
    return replace(ranking, **off)  # type: ignore[arg-type]


def weighed(ranking: Ranking) -> Way:
    """Recall with these weights in the place of the configured ones."""

    def way(memory: Memory, _: BenchCase) -> Find:
        home = memory.vault.home

        def find(question: str) -> list[int]:
            query = Query.from_args(question, now=home.now(), zone=home.zone, limit=DEPTH, inline=ranking.inline)
            return [int(hit.memory.attributes["ref"]) for hit in memory.searcher.recall(query, ranking=ranking)]

        return find

    return way


def ablated() -> dict[str, Way]:
    """A way to search for every variant of the weights with which cases are measured."""
    with scratch() as memory:
        ranking = memory.vault.config.recall
    return {title: weighed(each) for title, each in variants(ranking)}


def differences(measured: Sequence[Measured], title: str) -> list[float]:
    """By how much a variant's share at the cut differs from recall's, file by file and to three places."""
    # Adding nothing turns -0.0 into 0.0.
    return [round(each.tallies[title].share()[CUT] - each.tallies[RECALL].share()[CUT], 3) + 0.0 for each in measured]


def table(measured: Sequence[Measured], titles: Sequence[str]) -> str:
    """The share of gold among the first ten hits for each variant, as Markdown; what changes nothing in one line."""
    changing = [title for title in titles if any(differences(measured, title))]
    head = ["| |", *(f" {each.file} |" for each in measured)]
    lines = ["".join(head), "|---" * (len(measured) + 1) + "|", _row("recall", measured, RECALL)]
    lines += [_row(title, measured, title) for title in changing]
    if idle := [title for title in titles if title not in changing]:
        lines += ["", f"No difference: {'; '.join(idle)}."]
    return "\n".join(lines) + "\n"


def _row(name: str, measured: Sequence[Measured], title: str) -> str:
    cells = [f"{each.tallies[title].share()[CUT]:.3f}" for each in measured]
    if title != RECALL:
        cells = [f"{cell} ({each:+.3f})" for cell, each in zip(cells, differences(measured, title), strict=True)]
    return f"| {name} | {' | '.join(cells)} |"


def figures(paths: Sequence[Path]) -> str:
    """Everything that stands between the two marks."""
    variants = ablated()
    measured = measure(paths, WAYS | variants, progress=show)
    command = f"python -m tools.ablation {' '.join(path.name for path in paths)}"
    parts = [f"```sh\n{command}\n```\n", *map(by_kind, measured)]
    parts.append("The share of gold among the first ten hits, with the difference to recall as it is:\n")
    return "\n".join([*parts, table(measured, list(variants))])


def by_kind(measured: Measured) -> str:
    """One file's shares, for all questions and for each kind, as Markdown."""
    counts = f"cases {measured.cases:,}, turns {measured.turns:,}, questions {measured.questions:,}"
    heads = measured.heads(WAYS)
    lines = [
        f"{measured.file}: {counts}.\n",
        f"| kind | asked | {' | '.join(heads)} |",
        "|---" * (len(heads) + 2) + "|",
    ]
    for name, number, shares in measured.rows(WAYS):
        lines.append(f"| {name} | {number:,} | {' | '.join(f'{share:.3f}' for share in shares)} |")
    return "\n".join(lines) + "\n"


def show(name: str, done: int, total: int) -> None:
    print(f"{name}: {done} of {total} cases", file=sys.stderr)


def updated(text: str, found: str) -> str:
    """The page's text with these figures between its two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE} lacks the marks {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}\n{found}\n{END}{after}"


def main(names: Sequence[str]) -> None:
    if not names:
        sys.exit("name files of cases: python -m tools.ablation FILE…")
    text = PAGE.read_text(encoding="utf-8")
    updated(text, "")  # the marks must be there before minutes are spent
    try:
        found = figures([Path(name) for name in names])
    except MemfolioError as error:
        sys.exit(error.message)
    PAGE.write_text(updated(text, found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
