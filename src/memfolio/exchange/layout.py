"""A folder with a known layout: a table of the places in it, and what becomes of the file at each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memfolio.exchange.files import Leaf, files_below, read_leaf
from memfolio.exchange.incoming import Flaw, Incoming

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

    def fits(self, path: Path) -> bool:
        """Whether a folder has this layout; quick, and never raises."""
        try:
            return path.is_dir() and self.marks(self.inside(path))
        except OSError:
            return False

    def count(self, path: Path) -> int:
        """How many files there are."""
        return sum(1 for _ in self._files(path))

    def read(self, path: Path) -> Iterator[Incoming]:
        """What the files hold, in the order of their names."""
        root = self._root(path)
        for ref in files_below(root) if path.is_dir() else (path.name,):
            found = None if isinstance(ref, Flaw) else self._rule(ref)
            leaf = read_leaf(root, ref) if found and not isinstance(ref, Flaw) else ref
            if isinstance(leaf, Flaw):
                yield leaf
            elif found and isinstance(leaf, Leaf) and leaf.text.strip():
                yield from found[1](leaf, found[0])

    def _root(self, path: Path) -> Path:
        return self.inside(path) if path.is_dir() else path.parent

    def _files(self, path: Path) -> Iterator[str | Flaw]:
        if not path.is_dir():
            return iter((path.name,))
        return files_below(self._root(path), lambda ref: self._rule(ref) is not None)

    def _rule(self, ref: str) -> tuple[re.Match[str], Reader] | None:
        found = ((match, reader) for pattern, reader in self.rules if (match := re.fullmatch(pattern, ref)))
        return next(found, None)
