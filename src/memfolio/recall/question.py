"""Understanding a question: its words and phrases, the entities and times it names, and the kind of answer it wants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import MAXYEAR, datetime, timedelta, tzinfo
from enum import StrEnum
from itertools import pairwise
from unicodedata import normalize

from memfolio.recall.dates import Span, TimeMention, mentions, outside_times, pattern, without_times
from memfolio.recall.dates import words as listed
from memfolio.text import MAX_QUERY, match_expression, name_key, terms
from memfolio.types import frozen

# What kind of answer a question wants, by its words: of 316 labelled ones in nine languages they tell all. Pure.

MAX_TEXT = 2048
"""Characters of a question that are read."""


class Intent(StrEnum):
    """The kind of answer that is wanted."""

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
"""The number of content words that makes a question complex."""


def by_words(text: str) -> Intent | None:
    """Return the intent that the question words of nine languages indicate; None without any."""
    text = normalize("NFC", text[:MAX_TEXT]).lower().replace("’", "'")
    clauses = [clause.strip() for clause in _CLAUSES.split(text) if clause.strip()]
    # What follows a comma in a statement is no question: "the man, who was late".
    told = clauses if "?" in text or "？" in text else clauses[:1]
    return next((intent for intent in _ORDER if any(map(pattern(intent.value).search, told))), None)


def is_complex(text: str, words: Sequence[str]) -> bool:
    """Whether a question has several parts, or many content `words`."""
    text = normalize("NFC", text[:MAX_TEXT]).lower()
    marks, commas = text.count("?") + text.count("？"), text.count(",") + text.count("、")
    return len(words) >= MANY_WORDS or marks > 1 or commas > 2 or pattern("parts").search(text) is not None


def is_broad(text: str) -> bool:
    """Whether a question covers a lot: a summary, or an order of events."""
    return any(pattern(name).search(text[:MAX_QUERY]) for name in ("summary", "order"))


# Names, months and what was told are read in English, times and intents in several languages; where none is found,
# words and meaning decide alone.

MAX_PHRASES = 16
MAX_ALIASES = 12
LONGEST_NAME = 4
"""Words."""
MAX_NAMES = 400
SAME_MONTH = 0.5
"""The score of a memory in the month of a named day, compared with that day itself."""
SOON_AFTER = 0.75
"""The same in the days after: what happens is often told a little later."""
LATER = timedelta(days=3)
"""How long after a day or a month that is named what happened then is told."""
LONGEST = timedelta(days=31)
"""Of longer times than this, what was told after them is no nearer than anything else."""

_WORD = re.compile(r"\w+")
_WORD_OR_COMMA = re.compile(r"\w+|,")


@frozen
class Question:
    """A question, understood as far as rules go."""

    words: tuple[str, ...]
    """The words to search, without the names of speakers, which are filtered otherwise."""
    phrases: tuple[str, ...] = ()
    speakers: frozenset[str] = frozenset()
    entities: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    """Words of the other names that these entities have."""
    times: tuple[TimeMention, ...] = ()
    told_in: tuple[Span, ...] = ()
    """The days and months among these times, each with the days after, in which much of it is told."""
    intent: Intent = Intent.GENERAL
    is_complex: bool = False
    asks_what_was_told: bool = False
    """Whether it is about the assistant's own words."""
    asks_summary: bool = False
    """Whether it asks about everything that was said, by anyone."""
    asks_order: bool = False
    """Whether it is about the order in which things were said or happened."""
    asks_own: bool = False
    """Whether whoever asks asks about themselves."""
    asks_name: bool = False
    asks_number: bool = False
    asks_help: bool = False
    """Whether something is to be done, so that it matters how somebody wants it."""
    asks_for_time: bool = False
    """Whether it asks for whatever there was at the times that it names."""
    without: tuple[str, ...] = ()
    """Memories with all of these words are found already."""

    @property
    def is_broad(self) -> bool:
        """Whether it covers a lot, so that many memories answer it together."""
        return self.asks_summary or self.asks_order

    @property
    def search(self) -> tuple[str, ...]:
        """Words and phrases to match."""
        return (*self.words, *self.phrases, *self.aliases)

    @property
    def expression(self) -> str:
        """The index query if something is found already."""
        return f"({match_expression(self.search)}) NOT ({match_expression(self.without, all_of=True)})"

    @property
    def meaning(self) -> str:
        """The text to embed."""
        return " ".join(self.words)

    def nearness(self, moment: datetime) -> float:
        """How well a moment fits the times that the question names, from 0 to 1."""
        if any(time.covers(moment) for time in self.times):
            return 1.0
        if any(start <= moment < end for start, end in self.told_in):
            return SOON_AFTER
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

    lowered = text[:MAX_QUERY].lower()

    def asks(name: str) -> bool:
        return pattern(name).search(lowered) is not None

    by_word = _by_word(speakers)
    found = _WORD.findall(text[:MAX_QUERY])
    times = tuple(mentions(text, now, zone))
    words = (terms(without_times(text, now, zone, newest)) if times else []) or terms(text)
    said = {each.casefold() for each in found}
    rest = [word for word in words if not _is_name(word, by_word, said)] or words
    asks_summary, asks_order = asks("summary"), asks("order")
    if asks_summary or asks_order:
        rest = [word for word in rest if word.casefold() not in listed("request")] or rest
    return Question(
        words=tuple(rest),
        phrases=_phrases(found, rest),
        speakers=frozenset(_asked_about(text, by_word, said)) if by_word else frozenset(),
        entities=tuple(entities),
        aliases=tuple(_further(aliases, words)),
        times=times,
        told_in=tuple(_told_in(times)),
        asks_for_time=bool(times) and _asks_for_anything(outside_times(text, now, zone)),
        intent=by_words(text) or Intent.GENERAL if intent is None else intent,
        is_complex=is_complex(text, words),
        asks_what_was_told=asks("told"),
        asks_summary=asks_summary,
        asks_own=asks("own_matter"),
        asks_name=asks("named"),
        asks_number=asks("counted"),
        asks_order=asks_order,
        asks_help=not (asks_summary or asks_order) and asks("help"),
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


def _is_name(word: str, by_word: Mapping[str, set[str]], said: Set[str]) -> bool:
    """Whether a word only names a speaker: of `Invoice_bot`, both words must be there."""
    return any(_parts(speaker) <= said for speaker in by_word.get(word.casefold(), ()))


def _told_in(times: Iterable[TimeMention]) -> Iterator[Span]:
    """The days and months among these times, with the days after."""
    for start, end in (time.span for time in times):
        if end - start <= LONGEST and end.year < MAXYEAR:  # there is no day after the last one
            yield Span(start, end + LATER)


def _asked_about(text: str, by_word: Mapping[str, set[str]], said: Set[str]) -> set[str]:
    """The speakers that a question is about: `What did Ann tell Ben?` is about what Ann said.

    Whoever is named first in full is asked about, and others whom a comma or an `and` joins to them.
    """
    found: set[str] = set()
    is_joined = True
    for word in map(str.casefold, _WORD_OR_COMMA.findall(text[:MAX_QUERY])):
        named = by_word.get(word, set())
        if named and not is_joined and not named & found:
            break
        found |= named
        is_joined = word == "," or word in listed("joining") or not any(_parts(each) <= said for each in found)
    return found


def _parts(speaker: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(speaker.replace("_", " "))}


def _further(names: Iterable[str], words: Sequence[str]) -> list[str]:
    """The words of names that are not looked for already."""
    known = {word.casefold() for word in words}
    found = dict.fromkeys(word for name in names for word in terms(name) if len(word) > 2)
    return [word for word in found if word.casefold() not in known][:MAX_ALIASES]


def _phrases(found: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    """Return pairs of adjacent content words."""
    known = {word.casefold() for word in words}
    pairs = (f"{one} {two}" for one, two in pairwise(found) if {one.casefold(), two.casefold()} <= known)
    return tuple(dict.fromkeys(pairs))[:MAX_PHRASES]
