"""What a question asks: its words and phrases, whom and what time it names, and what kind of answer it wants. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from enum import StrEnum
from itertools import pairwise
from unicodedata import normalize

from memfolio.recall.dates import TimeMention, mentions, outside_times, pattern, without_times
from memfolio.recall.dates import words as listed
from memfolio.text import MAX_QUERY, match_expression, name_key, terms
from memfolio.types import frozen

# What kind of answer a question wants, by its words: of 316 labelled ones in nine languages they tell all. Pure.

MAX_TEXT = 2048
"""Characters of a question that are read."""


class Intent(StrEnum):
    """What is asked for."""

    WHY = "why"
    WHEN = "when"
    WHO = "who"
    WHAT = "what"
    HOW = "how"
    LATEST = "latest"
    GENERAL = "general"


_ORDER = (Intent.GENERAL, Intent.WHY, Intent.WHEN, Intent.WHO, Intent.HOW, Intent.LATEST, Intent.WHAT)
_CLAUSES = re.compile(r"[.!?;:,\n¿¡…。？！，、]+")
MANY_WORDS = 12
"""So many words that tell something make a question complex."""


def by_words(text: str) -> Intent | None:
    """The intent that the question words of nine languages tell; None where there are none."""
    text = normalize("NFC", text[:MAX_TEXT]).lower().replace("’", "'")
    clauses = [clause.strip() for clause in _CLAUSES.split(text) if clause.strip()]
    # What follows a comma in a statement is no question: "the man, who was late".
    told = clauses if "?" in text or "？" in text else clauses[:1]
    return next((intent for intent in _ORDER if any(map(pattern(intent.value).search, told))), None)


def is_complex(text: str, words: Sequence[str]) -> bool:
    """Whether a question has several parts, or many `words` that tell something."""
    text = normalize("NFC", text[:MAX_TEXT]).lower()
    marks, commas = text.count("?") + text.count("？"), text.count(",") + text.count("、")
    return len(words) >= MANY_WORDS or marks > 1 or commas > 2 or pattern("parts").search(text) is not None


def is_broad(text: str) -> bool:
    """Whether a question is about much of what was said: a summary, or the order of things."""
    return any(pattern(name).search(text[:MAX_QUERY]) for name in ("summary", "order"))


# Names, months and what was told are read in English, times and intents in several languages; where none is found,
# words and meaning decide alone.

MAX_PHRASES = 16
MAX_ALIASES = 12
LONGEST_NAME = 4
"""Words."""
MAX_NAMES = 400
SAME_MONTH = 0.5
"""What it counts to have happened in the month of a day that is named, beside that day itself."""

_WORD = re.compile(r"\w+")


@frozen
class Question:
    """A question, understood as far as rules go."""

    words: tuple[str, ...]
    """What to look for: without the names of speakers, who are asked for otherwise."""
    phrases: tuple[str, ...] = ()
    speakers: frozenset[str] = frozenset()
    entities: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    """Words of the other names that these entities have."""
    times: tuple[TimeMention, ...] = ()
    intent: Intent = Intent.GENERAL
    is_complex: bool = False
    asks_what_was_told: bool = False
    """Whether it is about the assistant's own words."""
    asks_summary: bool = False
    """Whether it is about all that was said, whoever said it."""
    asks_order: bool = False
    """Whether it is about the order in which things were said or happened."""
    asks_name: bool = False
    asks_number: bool = False
    asks_help: bool = False
    """Whether something is to be done, so that it matters how somebody wants it."""
    asks_for_time: bool = False
    """Whether it asks for whatever there was at the times that it names."""
    without: tuple[str, ...] = ()
    """What has all of these words is found already."""

    @property
    def is_broad(self) -> bool:
        """Whether it is about much of what was said, so that many memories answer it together."""
        return self.asks_summary or self.asks_order

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

    def asks(name: str) -> bool:
        return pattern(name).search(text[:MAX_QUERY]) is not None

    by_word = _by_word(speakers)
    found = _WORD.findall(text[:MAX_QUERY])
    times = tuple(mentions(text, now, zone))
    words = (terms(without_times(text, now, zone, newest)) if times else []) or terms(text)
    rest = [word for word in words if not _is_name(word, by_word, found)] or words
    if is_broad(text):
        rest = [word for word in rest if word.casefold() not in listed("request")] or rest
    return Question(
        words=tuple(rest),
        phrases=_phrases(found, rest),
        speakers=frozenset(role for word in found for role in by_word.get(word.casefold(), ())),
        entities=tuple(entities),
        aliases=tuple(_further(aliases, words)),
        times=times,
        asks_for_time=bool(times) and _asks_for_anything(outside_times(text, now, zone)),
        intent=by_words(text) or Intent.GENERAL if intent is None else intent,
        is_complex=is_complex(text, words),
        asks_what_was_told=asks("told"),
        asks_summary=asks("summary"),
        asks_name=asks("named"),
        asks_number=asks("counted"),
        asks_order=asks("order"),
        asks_help=not is_broad(text) and asks("help"),
    )


def _asks_for_anything(text: str) -> bool:
    """Whether a question without its times asks for nothing in particular: `what did I do`, `what happened`."""
    return all(word.casefold() in listed("anything") for word in terms(text, weak=False))


def names_in(text: str) -> Iterator[str]:
    """Whatever in a question may be the name of an entity, as `name_key`s: one to four words in a row."""
    found = re.findall(r"[\w'’.&+-]*\w", text[:MAX_QUERY])[: MAX_NAMES // LONGEST_NAME]
    for start in range(len(found)):
        for count in range(1, LONGEST_NAME + 1):
            yield name_key(" ".join(found[start : start + count]))


def _is_same_month(time: TimeMention, moment: datetime) -> bool:
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
