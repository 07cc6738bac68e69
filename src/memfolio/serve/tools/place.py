"""What is said of a home to those who are not on its machine: its files go by their paths inside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memfolio.errors import MemfolioError

if TYPE_CHECKING:
    from memfolio.memory import Memory
    from memfolio.status import Status


def inside(home: Path, words: str) -> str:
    """Words without the folder that a home is in."""
    return words.replace(f"{home}/", "").replace(str(home), home.name)


@contextmanager
def told_inside(home: Path) -> Iterator[None]:
    """Errors from in here say nothing of where the home is."""
    try:
        yield
    except MemfolioError as error:
        error.message, error.hint = inside(home, error.message), inside(home, error.hint)
        raise


def status_inside(memory: Memory) -> Status:
    """How a home is doing, under its own name."""
    found, home = memory.status(), memory.vault.config.home
    return replace(
        found,
        home=Path(home.name),
        obstacle=found.obstacle and inside(home, found.obstacle),
        problems={path: inside(home, each) for path, each in found.problems.items()},
        trouble=found.trouble and inside(home, found.trouble),
        degraded=tuple(inside(home, each) for each in found.degraded),
    )
