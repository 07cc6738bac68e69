"""A folder with a known layout: a table of the places in it, and what becomes of the file at each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memfolio.exchange.files import Leaf, files_below, read_leaf
from memfolio.exchange.incoming import Flaw, Incoming
from memfolio.text import counted

SHOWN = 5
"""How many of the files that are left are named."""
Reader = Callable[[Leaf, re.Match[str]], Iterable[Incoming]]
Rule = tuple[str, Reader]
"""A pattern for places relative to the folder, and what reads the files there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A source that is a folder of files; the first rule that fits a file decides, and what fits none is no part."""

    name: str
    rules: tuple[Rule, ...]
    marks: Callable[[Path], bool]
    """Whether a folder has this layout."""
    inside: Callable[[Path], Path] = lambda path: path
    """The folder that has it, where another one is named."""
    tells_rest: bool = False
    """Whether files that fit no rule are told as a flaw."""

    def fits(self, path: Path) -> bool:
        """Whether a folder has this layout; quick, and never raises."""
        try:
            return path.is_dir() and self.marks(self.inside(path))
        except OSError:
            return False

    def count(self, path: Path) -> int:
        """How many files there are."""
        return sum(1 for _ in self._files(path, lambda ref: self._rule(ref) is not None))

    def read(self, path: Path) -> Iterator[Incoming]:
        """What the files hold, in the order of their names."""
        root, rest = self._root(path), list[str]()
        for ref in self._files(path):
            found = None if isinstance(ref, Flaw) else self._rule(ref)
            leaf = read_leaf(root, ref) if found and not isinstance(ref, Flaw) else ref
            if isinstance(leaf, Flaw):
                yield leaf
            elif found is None:
                rest.append(str(leaf))
            elif isinstance(leaf, Leaf) and leaf.text.strip():
                yield from found[1](leaf, found[0])
        if rest and self.tells_rest:
            some = f"{', '.join(rest[:SHOWN])}{', …' if len(rest) > SHOWN else ''}"
            yield Flaw(ref=counted(len(rest), "other file"), why=f"not a note, and left where it is: {some}")

    def _root(self, path: Path) -> Path:
        return self.inside(path) if path.is_dir() else path.parent

    def _files(self, path: Path, wanted: Callable[[str], bool] = lambda ref: True) -> Iterator[str | Flaw]:
        """The places of the files that are meant: where a folder of the layout is named, of those in it."""
        if not path.is_dir():
            return iter((path.name,))
        root = self._root(path)
        start = f"{path.relative_to(root).as_posix()}/" if path != root and path.is_relative_to(root) else ""
        return files_below(root, wanted, start)

    def _rule(self, ref: str) -> tuple[re.Match[str], Reader] | None:
        found = ((match, reader) for pattern, reader in self.rules if (match := _compiled(pattern).fullmatch(ref)))
        return next(found, None)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)
