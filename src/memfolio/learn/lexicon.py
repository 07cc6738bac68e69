"""Word lists, patterns and tables that a room keeps as data: read when they are first asked for, and compiled once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

_REFERENCE = re.compile(r"\{([a-z_]+)\}")


class Lexicon:
    """The TOML files in a folder: `words.toml` has lists of words, `patterns.toml` regular expressions.

    Words are separated by blanks, or by commas where they have blanks themselves; of a table, the keys count.
    `{name}` stands for all words of another list, and in a pattern for any one of them, or for another pattern.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Bound here, so that what is cached goes with the lexicon.
        self.table = cache(self._table)
        self.listed = cache(self._listed)
        self.words = cache(self._words)
        self.pattern = cache(self._pattern)

    def _table(self, file: str) -> dict[str, Any]:
        """A whole file."""
        return tomllib.loads((self._folder / f"{file}.toml").read_text("utf-8"))

    def _listed(self, name: str) -> tuple[str, ...]:
        """The words of a list in their order."""
        given = self.table("words")[name]
        if isinstance(given, dict):
            return tuple(given)
        words = re.split(r"[,\n]+", given) if "," in given else given.split()
        return tuple(self._included(filter(None, map(str.strip, words))))

    def _included(self, words: Iterable[str]) -> Iterable[str]:
        for word in words:
            other = _REFERENCE.fullmatch(word)
            yield from self.listed(other[1]) if other else (word,)

    def _words(self, name: str) -> frozenset[str]:
        """The words of a list, to be looked up."""
        return frozenset(self.listed(name))

    def _pattern(self, name: str) -> re.Pattern[str]:
        """A pattern by its name."""
        return re.compile(self._text(name))

    def _text(self, name: str) -> str:
        patterns = self.table("patterns")
        if name not in patterns:
            return "|".join(map(re.escape, self.listed(name)))
        lines = map(str.strip, patterns[name].splitlines())
        return _REFERENCE.sub(lambda found: self._text(found[1]), "".join(lines))
