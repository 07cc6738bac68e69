"""What a question asks: its words and phrases, whom and what time it names, and what kind of answer it wants. Pure.

Names, months and what was told are read in English, times and intents in several languages; where none is found, words
and meaning decide alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import pairwise

from memfolio.index.pages import name_key
from memfolio.recall.asking.dates import Mention, mentions, without_times
from memfolio.recall.asking.intent import Intent, by_words, is_complex
from memfolio.text import MAX_QUERY, match_expression, terms

MAX_PHRASES = 16
MAX_ALIASES = 12
LONGEST_NAME = 4
"""Words."""
MAX_NAMES = 400
SAME_MONTH = 0.5
"""What it counts to have happened in the month of a day that is named, beside that day itself."""

_WORD = re.compile(r"\w+")
_TOLD = re.compile(
    r"\b(?:did|had|have) you\b"
    r"|\byou(?:'ve|'d| had| have)? (?:\w+ )?(?:said|told|gave|recommended|suggested|advised|mentioned|proposed|listed"
    r"|explained|provided|described|helped|shared|outlined)\b"
    r"|\byour (?:advice|earlier|previous|last|suggestions?|recommendations?|answer|response|explanation)\b",
    re.IGNORECASE,
)

_SUMMARY = re.compile(r"\b(?:summar(?:y|ies|i[sz]e)|sum up|recap|overview)\b", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:who|whose|whom|where|which|names?|called)\b", re.IGNORECASE)
_COUNTED = re.compile(r"\bhow (?:many|much|often|long|old|far|big|tall)\b", re.IGNORECASE)
_HELP = re.compile(
    r"\b(?:(?:can|could|would|will) you|should (?:i|we|my)|suggest|recommend|advi[cs]e|help me|tips|ideas|how to|please"
    r"|how (?:do|can|should|would|could|might) (?:i|we|you)|what (?:are|would|should|steps|is the best|do i need))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, understood as far as rules go."""

    words: tuple[str, ...]
    """What to look for: without the names of speakers, who are asked for otherwise."""
    phrases: tuple[str, ...] = ()
    speakers: frozenset[str] = frozenset()
    entities: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    """Words of the other names that these entities have."""
    times: tuple[Mention, ...] = ()
    intent: Intent = Intent.GENERAL
    is_complex: bool = False
    asks_what_was_told: bool = False
    """Whether it is about the assistant's own words."""
    asks_summary: bool = False
    """Whether it is about all that was said, whoever said it."""
    asks_name: bool = False
    asks_number: bool = False
    asks_help: bool = False
    """Whether something is to be done, so that it matters how somebody wants it."""
    without: tuple[str, ...] = ()
    """What has all of these words is found already."""

    @property
    def search(self) -> tuple[str, ...]:
        """Words and phrases to match."""
        return (*self.words, *self.phrases, *self.aliases)

    @property
    def expression(self) -> str:
        """What to ask the index for where something is found already."""
        return f"({match_expression(self.search)}) NOT ({match_expression(self.without, all_of=True)})"

    @property
    def meaning(self) -> str:
        """The text whose meaning is compared."""
        return " ".join(self.words)

    def nearness(self, moment: datetime) -> float:
        """How well a moment fits the times that the question names, from 0 to 1."""
        if any(time.covers(moment) for time in self.times):
            return 1.0
        return SAME_MONTH if any(_is_same_month(time, moment) for time in self.times) else 0.0


def understand(
    text: str,
    *,
    now: datetime,
    zone: tzinfo,
    speakers: Iterable[str] = (),
    entities: Iterable[str] = (),
    aliases: Iterable[str] = (),
    newest: datetime | None = None,
    intent: Intent | None = None,
) -> Question:
    """What a question asks, given who speaks in what is remembered, which entities it names, how else these are called,
    and when the last thing happened."""
    by_word = _by_word(speakers)
    found = _WORD.findall(text[:MAX_QUERY])
    times = tuple(mentions(text, now, zone))
    words = (terms(without_times(text, now, zone, newest)) if times else []) or terms(text)
    rest = [word for word in words if not _is_name(word, by_word, found)] or words
    return Question(
        words=tuple(rest),
        phrases=_phrases(found, rest),
        speakers=frozenset(role for word in found for role in by_word.get(word.casefold(), ())),
        entities=tuple(entities),
        aliases=tuple(_further(aliases, words)),
        times=times,
        intent=by_words(text) or Intent.GENERAL if intent is None else intent,
        is_complex=is_complex(text, words),
        asks_what_was_told=_TOLD.search(text[:MAX_QUERY]) is not None,
        asks_summary=(asks_summary := _SUMMARY.search(text[:MAX_QUERY]) is not None),
        asks_name=_NAMED.search(text[:MAX_QUERY]) is not None,
        asks_number=_COUNTED.search(text[:MAX_QUERY]) is not None,
        asks_help=not asks_summary and _HELP.search(text[:MAX_QUERY]) is not None,
    )


def names_in(text: str) -> Iterator[str]:
    """Whatever in a question may be the name of an entity, as `name_key`s: one to four words in a row."""
    found = re.findall(r"[\w'’.&+-]*\w", text[:MAX_QUERY])[: MAX_NAMES // LONGEST_NAME]
    for start in range(len(found)):
        for count in range(1, LONGEST_NAME + 1):
            yield name_key(" ".join(found[start : start + count]))


def _is_same_month(time: Mention, moment: datetime) -> bool:
    return moment.month in time.months and (not time.years or moment.year in time.years)


def _by_word(speakers: Iterable[str]) -> dict[str, set[str]]:
    """The speakers by each word of their names."""
    found: dict[str, set[str]] = {}
    for speaker in speakers:
        for word in _parts(speaker):
            found.setdefault(word, set()).add(speaker)
    return found


def _is_name(word: str, by_word: Mapping[str, set[str]], found: Sequence[str]) -> bool:
    """Whether a word only names a speaker: of `Invoice_bot`, both words must be there."""
    said = {each.casefold() for each in found}
    return any(_parts(speaker) <= said for speaker in by_word.get(word.casefold(), ()))


def _parts(speaker: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(speaker.replace("_", " "))}


def _further(names: Iterable[str], words: Sequence[str]) -> list[str]:
    """The words of names that are not looked for already."""
    known = {word.casefold() for word in words}
    found = dict.fromkeys(word for name in names for word in terms(name) if len(word) > 2)
    return [word for word in found if word.casefold() not in known][:MAX_ALIASES]


def _phrases(found: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    """Words that matter and stand side by side."""
    known = {word.casefold() for word in words}
    pairs = (f"{one} {two}" for one, two in pairwise(found) if {one.casefold(), two.casefold()} <= known)
    return tuple(dict.fromkeys(pairs))[:MAX_PHRASES]
