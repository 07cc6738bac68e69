"""Memories that only ask what is asked: they fit a question best of all, and answer nothing. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from functools import lru_cache
from typing import NamedTuple

from memfolio.recall.asking.intent import Intent, by_words
from memfolio.recall.ranking.cues import KEPT
from memfolio.recall.snippet import stem
from memfolio.text import terms

FEW = 4
"""Words of a question that tells nothing of who asks it."""
QUESTIONS = (Intent.WHY, Intent.WHEN, Intent.WHO, Intent.WHAT, Intent.HOW)
_STATEMENT = re.compile(r"[.!。！]\s")
"""The end of a sentence that is no question."""


class _Asking(NamedTuple):
    """What a text asks for, by the stems of its words, and whether it has a question mark."""

    stems: frozenset[str]
    is_marked: bool


def longest(question: str) -> int:
    """Bytes beyond which a memory asks for more than this question."""
    return 80 + 3 * len(question.encode("utf-8", "replace"))


def echoes(texts: Mapping[int, str], question: str) -> frozenset[int]:
    """The rows whose texts ask what the question asks, in its words or nearly, or for something else in a few words."""
    asked = _stems(question)
    return frozenset(row for row, text in texts.items() if _is_echo(text, asked))


def _is_echo(text: str, asked: Set[str]) -> bool:
    asking = _asking(text)
    if asking is None:
        return False
    beyond, common = asking.stems - asked, asking.stems & asked
    if not asking.is_marked:
        return not beyond
    return 2 * len(beyond) <= len(common) or (len(beyond) <= FEW and not common)


@lru_cache(KEPT)
def _asking(text: str) -> _Asking | None:
    """What a text asks for; None where it also tells something."""
    text = text.strip()
    is_marked = text.endswith(("?", "？"))
    if _STATEMENT.search(text) or not (is_marked or by_words(text) in QUESTIONS):
        return None
    return _Asking(_stems(text), is_marked)


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, terms(text)))
