"""The figures of recall in docs/recall.md: what it finds in files of cases, and what each strategy is worth.

`python -m tools.ablation FILE…` writes them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from memfolio.bench.ablation import RECALL, ablated, table
from memfolio.bench.retrieval import BASELINES, Measured, measure, recalled
from memfolio.errors import MemfolioError

PAGE = Path(__file__).parent.parent / "docs" / "recall.md"
BEGIN, END = "<!-- ablation: begin -->\n", "<!-- ablation: end -->\n"
WAYS = {RECALL: recalled, **BASELINES}


def figures(paths: Sequence[Path]) -> str:
    """Everything that stands between the two marks."""
    variants = ablated()
    measured = measure(paths, WAYS | variants, progress=show)
    command = f"memfolio bench retrieval {' '.join(path.name for path in paths)} --baseline bm25 --ablate"
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
