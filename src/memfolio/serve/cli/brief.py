"""A memory in brief, as lists and trees show it: what it is, when it happened, how it begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from memfolio.serve.cli.output import safe
from memfolio.types import MemoryItem

if TYPE_CHECKING:
    from rich.text import Text

ENOUGH = 400
"""Characters of a memory's beginning that are looked at to find its first words."""
_WORD = re.compile(r"\w+")
_ENDING = re.compile(r"(?:ing|ies|ed|es|s|e|y)$")


def happened(item: MemoryItem, zone: tzinfo) -> str:
    """When it happened, as a clock on the wall shows it."""
    return local(item.event_time or item.created_at, zone)


def local(moment: datetime, zone: tzinfo) -> str:
    from memfolio.vault.fields import local as in_zone

    return f"{in_zone(moment, zone):%Y-%m-%d %H:%M}"


def day(moment: datetime, zone: tzinfo) -> str:
    return local(moment, zone)[:10]


def beginning(text: str, length: int = 70) -> str:
    """The first words of a text, on one line."""
    words = " ".join(text[:ENOUGH].split())
    return words if len(words) <= length and len(text) <= ENOUGH else f"{words[: length - 1].rstrip()}…"


def tagged(item: MemoryItem) -> str:
    return " ".join(f"#{tag}" for tag in item.tags)


def standing(item: MemoryItem) -> list[str]:
    """What became of it, in words: pinned, superseded, forgotten."""
    marks = {"pinned": item.pinned, "superseded": item.superseded_by, "forgotten": item.forgotten_at}
    return [word for word, holds in marks.items() if holds]


def emphasised(text: str, terms: Sequence[str]) -> Text:
    """`text` with the words that were asked for in bold."""
    from rich.text import Text

    shown = Text(safe(text))
    roots = {_root(term) for term in terms if " " not in term}
    for match in _WORD.finditer(shown.plain):
        if _root(match[0]) in roots:
            shown.stylize("bold", match.start(), match.end())
    # Scripts without spaces are asked for as pairs and triples of characters.
    shown.highlight_words([term.replace(" ", "") for term in terms if " " in term], "bold")
    return shown


def _root(word: str) -> str:
    """A word without its ending, roughly as the search compares words."""
    word = word.casefold()
    return _ENDING.sub("", word) if len(word) > 4 else word
