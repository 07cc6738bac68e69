"""What each strategy is worth: the same questions with one of them switched off at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from memfolio.bench.retrieval import DEPTH, BenchCase, Find, Measured, Way
from memfolio.bench.scratch import scratch
from memfolio.memory import Memory
from memfolio.recall.query import Query
from memfolio.settings import Ranking

RECALL = "recall"
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
