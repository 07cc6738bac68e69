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
    may_be_file: bool = False
    """Whether one of its files is enough."""

    def fits(self, path: Path) -> bool:
        """Whether a folder has this layout; quick, and never raises."""
        try:
            if path.is_file():
                return self.may_be_file and self._rule(path.name) is not None
            return path.is_dir() and self.marks(self.inside(path))
        except OSError:
            return False

    def count(self, path: Path) -> int:
        """How many files there are."""
        return sum(isinstance(ref, str) and self._rule(ref) is not None for ref in self._files(path))

    def read(self, path: Path) -> Iterator[Incoming]:
        """What the files hold, in the order of their names."""
        root, rest = self._root(path), list[str]()
        for ref in self._files(path):
            if isinstance(ref, Flaw):
                yield ref
            elif (rule := self._rule(ref)) is None:
                rest.append(ref)
            elif isinstance(leaf := read_leaf(root, ref), Flaw):
                yield leaf
            elif leaf.text.strip():
                yield from rule[1](leaf, rule[0])
        if rest and self.tells_rest:
            some = f"{', '.join(rest[:SHOWN])}{', …' if len(rest) > SHOWN else ''}"
            yield Flaw(ref=counted(len(rest), "other file"), why=f"not a note, and left where it is: {some}")

    def _root(self, path: Path) -> Path:
        return self.inside(path) if path.is_dir() else path.parent

    def _files(self, path: Path) -> Iterator[str | Flaw]:
        """The places of the files that are meant: where a folder of the layout is named, of those in it."""
        if not path.is_dir():
            return iter((path.name,))
        root = self._root(path)
        start = f"{path.relative_to(root).as_posix()}/" if path != root and path.is_relative_to(root) else ""
        return files_below(root, start)

    def _rule(self, ref: str) -> tuple[re.Match[str], Reader] | None:
        found = ((match, reader) for pattern, reader in self.rules if (match := _compiled(pattern).fullmatch(ref)))
        return next(found, None)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)
