"""What a question asks: its words and phrases, the people and the time it names, and what kind of answer it wants.

The cues are English; where none of them is found, words and meaning decide alone. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memfolio.text import terms

MONTHS = "january february march april may june july august september october november december".split()
MAX_PHRASES = 16

_WORD = re.compile(r"\w+")
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_WHEN = re.compile(r"\s*(?:when|how long|what (?:date|day|month|year|time))\b", re.IGNORECASE)
_TOLD = re.compile(
    r"\b(?:did|had|have) you\b"
    r"|\byou(?:'ve|'d| had| have)? (?:\w+ )?(?:said|told|gave|recommended|suggested|advised|mentioned|proposed|listed"
    r"|explained|provided|described|helped|shared|outlined)\b"
    r"|\byour (?:advice|earlier|previous|last|suggestions?|recommendations?|answer|response|explanation)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, understood as far as rules go."""

    words: tuple[str, ...]
    """What to look for: without the names of speakers, who are asked for otherwise."""
    phrases: tuple[str, ...]
    speakers: frozenset[str]
    months: frozenset[int]
    """From 1 to 12."""
    years: frozenset[int]
    asks_when: bool
    asks_what_was_told: bool
    """Whether it is about the assistant's own words."""

    @property
    def search(self) -> tuple[str, ...]:
        """Words and phrases to match."""
        return (*self.words, *self.phrases)

    @property
    def meaning(self) -> str:
        """The text whose meaning is compared."""
        return " ".join(self.words)


def understand(text: str, speakers: Iterable[str] = ()) -> Question:
    """What a question asks, given who speaks in what is remembered."""
    by_word = _by_word(speakers)
    found = _WORD.findall(text[:8192])
    words = terms(text)
    rest = [word for word in words if word.casefold() not in by_word] or words
    return Question(
        words=tuple(rest),
        phrases=_phrases(found, rest),
        speakers=frozenset(role for word in found for role in by_word.get(word.casefold(), ())),
        months=frozenset(_months(found)),
        years=frozenset(map(int, _YEAR.findall(text))),
        asks_when=_WHEN.match(text) is not None,
        asks_what_was_told=_TOLD.search(text[:8192]) is not None,
    )


def _by_word(speakers: Iterable[str]) -> dict[str, set[str]]:
    """The speakers by each word of their names."""
    found: dict[str, set[str]] = {}
    for speaker in speakers:
        for word in _WORD.findall(speaker.replace("_", " ")):
            found.setdefault(word.casefold(), set()).add(speaker)
    return found


def _phrases(found: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    """Words that matter and stand side by side."""
    known = {word.casefold() for word in words}
    pairs = (f"{one} {two}" for one, two in pairwise(found) if {one.casefold(), two.casefold()} <= known)
    return tuple(dict.fromkeys(pairs))[:MAX_PHRASES]


def _months(found: Iterable[str]) -> Iterable[int]:
    for word in found:
        # A small "may" is mostly the verb.
        if word.casefold() in MONTHS and (word != "may"):
            yield MONTHS.index(word.casefold()) + 1
