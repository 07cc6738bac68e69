"""What an import costs beside writing the same bytes: `make bench`, or a part: `python -m bench.imports pages`.

Exits with 1 when a limit is not kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.board import Board, a_folder, run, sentence, timed
from memfolio.exchange.sources import source_named
from memfolio.exchange.take_in import BATCH, take_in
from memfolio.memory import Memory
from memfolio.types import Action
from memfolio.vault.change import Change, PutPage
from memfolio.vault.vault import OWNER

FILES = 10_000
LEAST = 0.7
START = datetime(2000, 1, 1, tzinfo=UTC)


def text(number: int) -> str:
    return f"---\ncreated: 2024-01-01\n---\n# Note {number}\n\n" + "\n\n".join(
        sentence(number * 4 + n) for n in range(4)
    )


def day(number: int) -> str:
    return (START + timedelta(days=number // 10)).date().isoformat()


def compare(
    board: Board, name: str, bare: Callable[[Memory], None], ours: Callable[[Memory], None], folder: Path
) -> None:
    """Both by turns in homes of their own, the better of two, since others may use the disk."""
    took: list[float] = []
    for number, step in enumerate((bare, ours, bare, ours)):
        with Memory.open(folder / f"home-{name}-{number}", background=False, speaker="owner") as memory:
            took.append(timed(lambda step=step, memory=memory: step(memory)))  # type: ignore[misc]
    floor, cost = min(took[::2]), min(took[1::2])
    note = f"{FILES / cost:,.0f} of {FILES / floor:,.0f} files a second"
    board.show(f"import of {FILES:,} files as {name}, of the bare rate", floor / cost, LEAST, most=False, note=note)


def pages(board: Board) -> None:
    """A folder of Markdown files against changes that put the same pages."""
    with a_folder() as folder:
        texts = {f"f{number % 100}/n{number}.md": text(number) for number in range(FILES)}
        for name, content in texts.items():
            (folder / "there" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "there" / name).write_text(content)
        puts = [PutPage(f"agents/main/memory/notes/{name}", each.encode(), None) for name, each in texts.items()]

        def bare(memory: Memory) -> None:
            for start in range(0, FILES, BATCH):
                operations = tuple(puts[start : start + BATCH])
                memory.vault.apply(Change(operations=operations, by=OWNER, action=Action.CREATE))

        def ours(memory: Memory) -> None:
            assert take_in(memory, source_named("markdown"), folder / "there").pages == FILES

        compare(board, "pages", bare, ours, folder)


def days(board: Board) -> None:
    """An OpenClaw workspace with ten notes for each of a thousand days against `observe_many` of the same texts."""
    with a_folder() as folder:
        there = folder / "there" / "memory"
        there.mkdir(parents=True)
        (there.parent / "MEMORY.md").write_text("# Core\n")
        for number in range(FILES):
            (there / f"{day(number)}-{number % 10}.md").write_text(sentence(number) + "\n")
        turns = [
            {
                "role": "user",
                "content": sentence(number),
                "at": START + timedelta(days=number // 10),
                "attributes": {"ref": f"memory/{day(number)}-{number % 10}.md#H-0123456789abcdef"},
                "source": "import:openclaw",
            }
            for number in range(FILES)
        ]

        def bare(memory: Memory) -> None:
            for start in range(0, FILES, BATCH):
                memory.observe_many(turns[start : start + BATCH])

        def ours(memory: Memory) -> None:
            assert take_in(memory, source_named("openclaw"), there.parent).taken == FILES

        compare(board, "memories", bare, ours, folder)


if __name__ == "__main__":
    sys.exit(run({"pages": pages, "days": days}, sys.argv[1:]))
