"""Word lists, patterns and tables that a room keeps as data: read when they are first asked for, and compiled once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

_REFERENCE = re.compile(r"\{([a-z_]+)\}")


class Lexicon:
    """The TOML files in a folder: `words.toml` has lists of words, `patterns.toml` regular expressions.

    Words are separated by blanks, or by commas where they have blanks themselves; a list may have rows, and of a table
    the keys count. `{name}` stands for all words of another list, and in a pattern for any one of them, or for another
    pattern; a table of patterns, such as one by languages, for any one of these.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Bound here, so that what is cached goes with the lexicon.
        self.table = cache(self._table)
        self.rows = cache(self._rows)
        self.words = cache(self._words)
        self.pattern = cache(self._pattern)

    def _table(self, file: str) -> dict[str, Any]:
        """A whole file."""
        return tomllib.loads((self._folder / f"{file}.toml").read_text("utf-8"))

    def listed(self, name: str) -> tuple[str, ...]:
        """The words of a list in their order."""
        return tuple(chain.from_iterable(self.rows(name)))

    def _rows(self, name: str) -> list[list[str]]:
        """The words of a list, row by row."""
        given = self.table("words")[name]
        if isinstance(given, dict):
            return [list(given)]
        return [list(self._split(row)) for row in ([given] if isinstance(given, str) else given)]

    def _split(self, text: str) -> Iterator[str]:
        for word in re.split(r"[,\n]", text) if "," in text else text.split():
            other = _REFERENCE.fullmatch(word)
            yield from self.listed(other[1]) if other else filter(None, (word.strip(),))

    def numbers(self, name: str, first: int = 0) -> dict[str, int]:
        """The words of a list, each with the number of its row."""
        return {word: number for number, row in enumerate(self.rows(name), first) for word in row}

    def _words(self, name: str) -> frozenset[str]:
        """The words of a list, to be looked up."""
        return frozenset(self.listed(name))

    def _pattern(self, name: str) -> re.Pattern[str]:
        """A pattern by its name, compiled."""
        return re.compile(self._text(name))

    def _text(self, name: str) -> str:
        given = self.table("patterns").get(name)
        if given is None:
            return "|".join(map(_any_spelling, self.listed(name)))
        parts = [given] if isinstance(given, str) else given.values()
        lines = ("".join(map(str.strip, part.splitlines())) for part in parts)
        return _REFERENCE.sub(lambda found: self._text(found[1]), "|".join(lines))


def _any_spelling(word: str) -> str:
    """A word as a pattern: its parts may be set apart by blanks or low lines, and an apostrophe may be a curly one."""
    return re.escape(word).replace("\\ ", r"[\s_]{1,3}").replace("'", "['’]")


@cache
def lexicon_in(folder: Path) -> Lexicon:
    """The lexicon in a folder, the same for all who ask for it."""
    return Lexicon(folder)
